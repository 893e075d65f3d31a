"""Deep multi-view anchor clustering: the small module behind the chapters of the DMAC book.

One module file a chapter: ``views`` (1), ``embedding`` (2), ``anchors`` (3), ``anchor_graph`` (4),
``convolution`` (5), ``consistency`` (6), ``structure`` (7), ``training`` (8), ``diagnostics`` (9),
``recipes`` (11), ``estimator`` (12). Behind them, ``preprocessing`` is what a view goes through,
``network`` the trainable parts together, ``sampling`` where an epoch's anchors come from, and
``ablation`` the variants of chapter 11. ``reference`` is the dense reading of the equations that
the tests compare with.
"""

from dmac import recipes
from dmac.estimator import DMAC
from dmac.metrics import scores
from dmac.views import MultiViewData, available, load

__version__ = "0.1.0"
__all__ = ["DMAC", "MultiViewData", "available", "load", "recipes", "scores"]
