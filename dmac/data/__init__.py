"""Reading views and preparing them, without torch.

:mod:`~dmac.data.datasets` says where the public data sets come from, :mod:`~dmac.data.registry`
finds or downloads them. :mod:`~dmac.data.tables`, :mod:`~dmac.data.variables`
and :mod:`~dmac.data.safe_files` read files, :mod:`~dmac.data.readers` says
what in them is a view, :mod:`~dmac.data.known_classes` what is not, both by the words of
:mod:`~dmac.data.vocabulary`. :mod:`~dmac.data.names` has a view's names, and lines views up by
them. :mod:`~dmac.data.checks` checks what comes from outside; a checked view may stay on disk or be
one of Dask. Last, :mod:`~dmac.data.pipeline` with :mod:`~dmac.data.levels`,
:mod:`~dmac.data.whitening` and :mod:`~dmac.data.linalg` puts views on one scale.
"""

from typing import TYPE_CHECKING

from dmac._lazy import on_demand

if TYPE_CHECKING:
    from dmac.data import (  # noqa: I001  # one list, not a line for each
        checks as checks,
        datasets as datasets,
        known_classes as known_classes,
        levels as levels,
        linalg as linalg,
        names as names,
        pipeline as pipeline,
        readers as readers,
        registry as registry,
        safe_files as safe_files,
        tables as tables,
        variables as variables,
        vocabulary as vocabulary,
        whitening as whitening,
    )
else:
    __getattr__ = on_demand(__name__)
