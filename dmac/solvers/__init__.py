"""From views to labels: what solvers have in common, that of the network, and saved models.

A recipe names its solver; the estimators ask it through :mod:`dmac.solvers.contract` alone.
"""
