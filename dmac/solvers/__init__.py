"""The two ways from views to labels behind one contract, and fitted models on disk.

A recipe names its solver; :class:`dmac.DMAC` asks it through :mod:`dmac.solvers.contract` alone.
"""
