"""From views to labels: what solvers have in common, that of the network, and saved models.

A recipe names its solver; :class:`dmac.DMAC` asks it through :mod:`dmac.solvers.contract` alone.
"""
