"""Reading views and preparing them, in NumPy and SciPy alone.

:mod:`~dmac.data.datasets` says where the public data sets come from, :mod:`~dmac.data.registry`
finds or downloads them, :mod:`~dmac.data.matfiles` and :mod:`~dmac.data.safe_files` read files,
:mod:`~dmac.data.readers` joins them with :mod:`~dmac.data.tables` of text and knows by
:mod:`~dmac.data.known_classes` what is no view, :mod:`~dmac.data.checks` checks what comes from
outside, :mod:`~dmac.data.disk` leaves it there, :mod:`~dmac.data.digest` tells data apart, and
:mod:`~dmac.data.pipeline` with :mod:`~dmac.data.whitening` puts views on one scale.
"""

from typing import TYPE_CHECKING

from dmac._lazy import on_demand

if TYPE_CHECKING:
    from dmac.data import (  # noqa: I001  # one list, not a line for each
        checks as checks,
        datasets as datasets,
        digest as digest,
        disk as disk,
        feature_names as feature_names,
        known_classes as known_classes,
        levels as levels,
        linalg as linalg,
        matfiles as matfiles,
        named_views as named_views,
        pipeline as pipeline,
        readers as readers,
        registry as registry,
        safe_files as safe_files,
        sample_names as sample_names,
        tables as tables,
        whitening as whitening,
    )
else:
    __getattr__ = on_demand(__name__)
