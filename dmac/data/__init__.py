"""Reading views and preparing them, in NumPy and SciPy alone.

:mod:`~dmac.data.registry` says where the public data sets come from, :mod:`~dmac.data.matfiles`
and :mod:`~dmac.data.mat5` read files, :mod:`~dmac.data.checks` checks what comes from outside,
:mod:`~dmac.data.disk` leaves it there, and :mod:`~dmac.data.pipeline` with
:mod:`~dmac.data.whitening` puts views on one scale.
"""
