"""Reading views and preparing them, in NumPy and SciPy alone.

:mod:`~dmac.data.datasets` says where the public data sets come from, :mod:`~dmac.data.registry`
finds or downloads them, :mod:`~dmac.data.matfiles` and :mod:`~dmac.data.mat5` read files,
:mod:`~dmac.data.checks` checks what comes from outside, :mod:`~dmac.data.disk` leaves it there,
:mod:`~dmac.data.digest` tells data apart, and :mod:`~dmac.data.pipeline` with
:mod:`~dmac.data.whitening` puts views on one scale.
"""

from dmac._lazy import on_demand

__getattr__ = on_demand(__name__)
