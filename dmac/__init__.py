"""Deep multi-view anchor clustering: the module behind the chapters of the DMAC book.

Modules of chapters, in the order of the book: ``views`` with ``metrics`` and ``baselines``,
``embedding``, ``anchors``, ``anchor_graph``, ``convolution``, ``consistency``, ``structure``,
``training``, ``diagnostics``, ``recipes``, ``estimators`` and ``separation``, ``scaling``.
``network`` and ``sampling`` join the parts of the network, ``model_selection`` judges labels on the
averaged graph, ``report`` writes a page about a fit, ``command_line`` is ``python -m dmac``, and
``reference`` is the dense reading of the equations that the tests compare with.

Wings: ``agc`` has the parts of anchor-graph clustering, ``solvers`` leads from views to labels
behind one contract, ``data`` reads and prepares views, ``compute`` is what the mathematics runs on,
and ``peers`` has the nine other systems of the paper's comparison and SNF, one class each.

PyTorch and scikit-learn take seconds to import, so that happens when a name that needs them is used
for the first time; :func:`dmac.load` needs neither.
"""

from typing import TYPE_CHECKING

from dmac._lazy import on_demand
from dmac._version import VERSION

if TYPE_CHECKING:  # what on_demand finds, for those who read a program without running it
    from dmac import (  # noqa: I001  # one list, not a line for each
        agc as agc,
        anchor_graph as anchor_graph,
        anchors as anchors,
        baselines as baselines,
        command_line as command_line,
        compute as compute,
        consistency as consistency,
        convolution as convolution,
        data as data,
        diagnostics as diagnostics,
        embedding as embedding,
        estimators as estimators,
        metrics as metrics,
        model_selection as model_selection,
        network as network,
        peers as peers,
        recipes as recipes,
        reference as reference,
        report as report,
        sampling as sampling,
        scaling as scaling,
        separation as separation,
        solvers as solvers,
        structure as structure,
        training as training,
        views as views,
    )
    from dmac.estimators import DMAC, AnchorGraphClustering, load_model
    from dmac.metrics import scores
    from dmac.model_selection import suggest_n_clusters
    from dmac.separation import features_that_separate
    from dmac.views import MultiViewData, available, load

__version__ = VERSION
__all__ = [
    "DMAC",
    "AnchorGraphClustering",
    "MultiViewData",
    "available",
    "features_that_separate",
    "load",
    "load_model",
    "peers",
    "recipes",
    "scores",
    "suggest_n_clusters",
]
if not TYPE_CHECKING:  # or every name that is spelt wrongly would be one
    __getattr__ = on_demand(
        __name__,
        {
            "features_that_separate": "dmac.separation",
            "scores": "dmac.metrics",
            "suggest_n_clusters": "dmac.model_selection",
            **dict.fromkeys(("AnchorGraphClustering", "DMAC", "load_model"), "dmac.estimators"),
            **dict.fromkeys(("MultiViewData", "available", "load"), "dmac.views"),
        },
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
