"""Features and a graph that omics, cells and web pages seem to ask for: none gained enough.

``python -m experiments.kinds`` writes ``notebooks/results/kinds_ideas.csv`` anew.
"""

import contextlib
import dataclasses
import itertools
import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from scipy.stats import skew
from sklearn.preprocessing import StandardScaler

import dmac
from dmac.averaged_graph import AnchorSets, blocks_of, draw_graphs
from dmac.recipes import CLOSED_FORM
from dmac.solvers import spectral
from experiments.measure import measure
from experiments.studies import BROUGHT, SIXTEEN

PATH = Path(__file__).resolve().parents[1] / "results" / "kinds_ideas.csv"


def _dense(x):
    return not scipy.sparse.issparse(x) and np.count_nonzero(x) >= 0.1 * x.size and x.shape[1] > 5


def _rooted(x):
    return np.sqrt(x) if x.min() >= 0 else x


def logarithm(x):
    """log(1 + x) of a dense view of which most columns lean to the right after the root."""
    if not _dense(x) or x.min() < 0:
        return x
    columns = [column[column > 0] for column in np.sqrt(x).T]
    leans = [skew(c) for c in columns if len(c) >= 20 and np.ptp(c) > 1e-9 * c.max()]
    return np.log1p(x) ** 2 if np.median(leans or [0]) > 0.5 else x  # the recipe takes a root


def of_most_variance(x):
    """Of a view with more columns than rows those of most variance, which have 90 % of all."""
    if x.shape[1] <= x.shape[0]:
        return x
    variance = StandardScaler(with_mean=False).fit(_rooted(x)).var_
    order = np.argsort(-variance, kind="stable")
    count = np.searchsorted(variance[order].cumsum() / variance.sum(), 0.9) + 1
    return x[:, np.sort(order[:count])]


def centred_rows(x):
    """Rows of a dense view less their mean, by which the cosine of two is their correlation."""
    if not _dense(x):
        return x
    y = _rooted(x)
    return np.where(y.any(1, keepdims=True), y - y.mean(1, keepdims=True), 0)


def neighbours(x, k=10):
    """The factor of a graph of nearest samples with local bandwidths, as SNF has them: (n, n)."""
    x = x.double()
    d2 = (torch.cdist(x, x) ** 2).fill_diagonal_(torch.inf)
    near, at = (part.numpy() for part in d2.topk(k, 1, largest=False))
    width = np.sqrt(near[:, min(6, k - 1)]) + 1e-9  # to the seventh neighbour
    weights = np.exp(-near / (width[:, None] * width[at])) + 1e-12
    start = np.arange(0, at.size + 1, k)
    weights = (weights / weights.sum(1, keepdims=True)).ravel()
    shares = scipy.sparse.csr_matrix((weights, at.ravel(), start), (len(x), len(x)))
    degrees = np.maximum(np.asarray(shares.sum(0)).ravel(), 1e-300)
    return (shares @ scipy.sparse.diags(degrees**-0.5)).tocsr().sorted_indices()


def _with_twins(*about):
    """The blocks, and after each a twin that gets a graph of nearest samples."""
    found = []
    for block in blocks_of(*about):
        level, *view = block.name.split()
        found += [block, dataclasses.replace(block, name=" ".join([f"{level}+", *view]))]
    return found


def _draw(blocks, *about, voting=False):
    blocks = list(blocks)
    own = [block for block in blocks if "+" not in block.name]
    drawn = zip(*draw_graphs(own, *about, voting=voting))
    pairs = []
    for block in blocks:
        anchors = AnchorSets(block.x[None], torch.zeros(1, len(block.x)))  # all samples
        twin = "+" in block.name
        pairs.append((anchors, neighbours(block.x)) if twin else next(drawn))
    return [list(part) for part in zip(*pairs)]


#: Name to a function of a view; of "nearest samples" it is the graph that differs.
VARIANTS = {
    "CLOSED_FORM": lambda x: x,
    "logarithm": logarithm,
    "nearest samples": lambda x: x,
    "of most variance": of_most_variance,
    "centred rows": centred_rows,
}


def fit(data, variant, seed):
    """A record of CLOSED_FORM with a variant, of a data set of :func:`dmac.load`."""
    views = [VARIANTS[variant](x) for x in data.views]
    with contextlib.ExitStack() as within, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of views that are signed now
        if variant == "nearest samples" and len(data.labels) < 600:
            within.enter_context(mock.patch.object(spectral, "blocks_of", _with_twins))
            within.enter_context(mock.patch.object(spectral, "draw_graphs", _draw))
        return measure(dataclasses.replace(data, views=views), CLOSED_FORM, seed)


if __name__ == "__main__":
    rows = []
    for name in sys.argv[1:] or (*BROUGHT, *SIXTEEN):
        data = dmac.load(name)
        for variant, seed in itertools.product(VARIANTS, (1, 2)):
            found = fit(data, variant, seed)["scores"]
            scored = {key: round(100 * found[key], 2) for key in ("acc", "nmi")}
            rows.append(dict(variant=variant, data=name, seed=seed) | scored)
        pd.DataFrame(rows).to_csv(PATH, index=False)
