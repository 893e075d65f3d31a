"""Did the embedding collapse, and what sets the clusters apart? Label-free looks at a fit.

Chapter 9 of the book follows the measures of an embedding and of its anchors over training, and
tells how to read them for a fit of one's own. Chapter 19 says what its clusters are about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
import torch

from dmac.compute.parallel import count, largest, total
from dmac.compute.streaming import block_slices, take
from dmac.compute.threads import blas_alone
from dmac.data.checks import check_labels, check_views
from dmac.data.named_views import as_named
from dmac.data.names import as_views

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy.typing as npt
    import pandas
    from torch import Tensor

    from dmac._types import Array, Flags, Floats, Matrix, Views

# Rows at a time where a copy in float64 would leave the processor's cache.
_ROWS = 8192


def _as_float64(z: Tensor | Array) -> Tensor:
    return torch.as_tensor(z).detach().to(torch.float64)


def mean_cosine(z: Tensor | Array) -> float:
    r"""Mean cosine between the rows of an embedding.

    :math:`\frac{1}{n(n-1)} \sum_{i \ne j} \cos(z_i, z_j)`, from
    :math:`\|\sum_i z_i / \|z_i\|\|^2` in O(nd). It is 1 when all rows point the same way. For unit
    rows, 1 minus it is the scatter around the mean row divided by n - 1. A common offset of rows of
    other lengths drives it to 1 too, without a collapse.

    Parameters
    ----------
    z : tensor or array of shape (n, d), n >= 2
        The embedding; a zero row has cosine 0 with every other.

    Returns
    -------
    float
        Between -1 / (n - 1) and 1.

    Raises
    ------
    ValueError
        If there are fewer than two rows.
    """
    z = torch.as_tensor(z)
    n = count(z.shape[0])
    if n < 2:
        raise ValueError(f"a mean over pairs needs at least two rows, got {n}")
    sums: Any
    squares: Any
    sums = squares = 0
    for part in z.split(_ROWS):
        unit = torch.nn.functional.normalize(_as_float64(part), dim=1)
        sums, squares = sums + unit.sum(0), squares + unit.square().sum()
    return float((total(sums).square().sum() - total(squares)) / (n * (n - 1)))


def singular_values(z: Tensor | Array, *, centred: bool = True) -> Tensor:
    """Singular values of an embedding, largest first.

    Centred, they show the shape of what is left in a collapsed embedding; their squares sum to the
    scatter around the mean row.

    Parameters
    ----------
    z : tensor or array of shape (n, d)
    centred : bool
        Subtract the mean row first: what is left is what k-means sees.

    Returns
    -------
    torch.Tensor of shape (min(n, d),), float64
    """
    z = _as_float64(z)
    return torch.linalg.svdvals(z - z.mean(0) if centred else z)


def effective_rank(z: Tensor | Array) -> float:
    r"""Effective rank of an embedding, mean row included (Roy and Vetterli 2007).

    :math:`\exp(-\sum_i p_i \log p_i)` with :math:`p_i = \sigma_i / \sum_j \sigma_j` over the
    singular values: d for an isotropic embedding, 1 when all rows are multiples of one vector.

    Parameters
    ----------
    z : tensor or array of shape (n, d)

    Returns
    -------
    float
        Between 1 and min(n, d); 0 for a zero matrix.
    """
    z = torch.as_tensor(z).detach()
    scale = largest(torch.stack([part.abs().max() for part in z.split(_ROWS)]).max().double())
    if scale == 0:
        return 0.0
    gram: Any
    # Through the d x d Gram matrix: O(n d^2) with a small constant, taken every epoch. It loses
    # singular values below 1e-8 of the largest, which weigh nothing in the entropy.
    gram = 0
    for part in z.split(_ROWS):
        part = _as_float64(part) / scale
        gram = gram + part.T @ part
    gram = total(gram)
    p = torch.linalg.eigvalsh(gram).clamp_min(0).sqrt()
    p = p / p.sum()
    return float(torch.exp(-torch.special.xlogy(p, p).sum()))


def empty_anchors(degrees: Tensor | Array) -> int:
    r"""Number of anchors that no sample is connected to.

    Parameters
    ----------
    degrees : tensor or array of shape (m,)
        :math:`d_j = \sum_i s_{ij}`, the column sums of an anchor graph :eq:`eq:anchor-graph`
        (:meth:`dmac.anchor_graph.AnchorGraph.degrees`).

    Returns
    -------
    int
    """
    return int((torch.as_tensor(degrees) <= 0).sum())


def features_that_separate(
    views: Views,
    labels: npt.ArrayLike,
    *,
    view_names: Sequence[Any] | None = None,
    feature_names: Sequence[Sequence[Any] | None] | None = None,
) -> pandas.DataFrame:
    """Table of what sets each cluster apart: its features by how far they differ from the rest.

    Parameters
    ----------
    views : list of v array_likes of shape (n, d_a)
        As for :class:`dmac.DMAC`. Those of a fit, or others of the same samples that it never saw.
    labels : array_like of shape (n,)
        Clusters, such as ``labels_``.
    view_names : sequence of length v, optional
        By default the numbers from 1.
    feature_names : sequence of v sequences of length d_a, or of None, optional
        By default the columns of data frames, and numbers from 0 elsewhere, as where it is None.

    Returns
    -------
    pandas.DataFrame
        A row for each cluster and feature, with the columns "cluster", "view", "feature" and
        "difference" (:func:`dmac.diagnostics.standardized_differences`), the largest magnitude
        first.
        ``table.groupby("cluster").head(3)`` has the first three of each cluster.

    Raises
    ------
    ValueError
        If views or labels are not usable, all labels are the same, or names are too many or few.

    Examples
    --------
    >>> import dmac
    >>> views = [[[0.0, 5.0], [0.1, 5.0], [9.0, 5.0], [9.1, 5.0]]]
    >>> dmac.features_that_separate(views, [0, 0, 1, 1], feature_names=[["size", "constant"]])
       cluster  view   feature  difference
    0        0     1      size   -1.999877
    1        1     1      size    1.999877
    2        0     1  constant    0.000000
    3        1     1  constant    0.000000
    """
    import pandas as pd

    clusters, gaps = standardized_differences(views, labels)
    sources = as_named(views)
    if view_names is None:
        view_names = range(1, len(gaps) + 1)
    if feature_names is None:
        feature_names = [x.features for x in sources]
    for what, names in (("view_names", view_names), ("feature_names", feature_names)):
        if len(names) != len(gaps):
            raise ValueError(f"{what} has {len(names)} entries, and there are {len(gaps)} views")
    parts = []
    for a, (view, names, gap) in enumerate(zip(view_names, feature_names, gaps), 1):
        names = range(gap.shape[1]) if names is None else names
        if len(names) != gap.shape[1]:
            raise ValueError(
                f"feature_names: view {a} has {gap.shape[1]} features, and {len(names)} names"
            )
        index = pd.MultiIndex.from_product([clusters, list(names)], names=["cluster", "feature"])
        part = pd.DataFrame({"difference": gap.ravel()}, index).reset_index()
        part.insert(1, "view", view)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return table.sort_values(
        "difference", key=abs, ascending=False, kind="stable", ignore_index=True
    )


def standardized_differences(views: Views, labels: npt.ArrayLike) -> tuple[Array, list[Floats]]:
    r"""For each cluster and feature: mean in the cluster less mean of the rest, by the deviation.

    .. math:: \delta_{kj} = (\bar x_{kj} - \bar x_{\ne k, j}) / s_j

    with the standard deviation :math:`s_j` over all samples (divisor n), so that it is finite where
    a feature is constant in each cluster: at most :math:`n / \sqrt{n_k (n - n_k)}`. It is 0 for a
    constant feature. A row of zeros is a view that the sample lacks, and is left out.

    Parameters
    ----------
    views : list of v array_likes of shape (n, d_a)
        Sparse ones stay sparse, and those on disk are read in blocks.
    labels : array_like of shape (n,)
        A series with the names of the samples of data frames is lined up by them.

    Returns
    -------
    clusters : numpy.ndarray of shape (c,)
        The distinct labels, sorted.
    differences : list of v numpy.ndarray of shape (c, d_a)
        nan where no sample of the cluster, or of the rest, has the view.

    Raises
    ------
    ValueError
        If views or labels are not usable, or all labels are the same.
    """
    labels = as_views(labels, views)
    views = check_views(views, streamed=True, incomplete=True)
    codes = check_labels(labels, views[0].shape[0])
    first = np.unique(codes, return_index=True)[1]
    if len(first) < 2:
        raise ValueError("labels: all samples are in one cluster, so there is nothing to compare")
    values = labels.detach().cpu() if hasattr(labels, "detach") else labels
    return np.asarray(values).ravel()[first], [_differences(x, codes, len(first)) for x in views]


@np.errstate(over="ignore", invalid="ignore")
def _differences(x: Matrix, codes: Array, c: int, peaks: Array | None = None) -> Floats:
    """Standardised differences of the features of a checked view: (c, d).

    Where squares leave the range of float64 features are divided by their largest magnitudes.
    """
    sizes: Any = np.zeros(c)
    sums: Any = np.zeros((c, x.shape[1]))
    for rows, part, has in _known_rows(x, peaks):
        n = len(codes[rows])
        indicator = scipy.sparse.csr_matrix((np.ones(n), codes[rows], np.arange(n + 1)), (n, c))
        sizes += has @ indicator
        added = indicator.T @ part
        sums += added.toarray() if scipy.sparse.issparse(added) else added
    n, whole = max(sizes.sum(), 1), sums.sum(0)
    mean, squares = whole / n, np.zeros(x.shape[1])
    for _, part, has in _known_rows(x, peaks):  # once more, since x² less mean² loses digits
        if scipy.sparse.issparse(part):
            stored = part.data != 0
            columns, d = part.indices[stored], len(mean)
            squares += np.bincount(columns, (part.data[stored] - mean[columns]) ** 2, d)
            squares += (has.sum() - np.bincount(columns, minlength=d)) * mean**2
        else:
            squares += has @ (part - mean) ** 2
    if peaks is None and not np.isfinite(squares).all():
        found = [abs(part).max(0) for _, part, _ in _known_rows(x, None)]
        found = [row.toarray()[0] if scipy.sparse.issparse(row) else row for row in found]
        return _differences(x, codes, c, np.maximum(np.max(found, axis=0), 1))
    variance, eps = squares / n, np.finfo(float).eps
    constant = variance <= n * eps * variance + (n * eps * mean) ** 2  # as StandardScaler decides
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = sums / sizes[:, None] - (whole - sums) / (n - sizes)[:, None]
    return np.where(constant, 0 * abs(gap), gap / np.sqrt(np.where(constant, 1, variance)))


def gaussian_like(views: Sequence[Matrix], seed: int) -> list[Floats]:
    r"""Data without clusters: one Gaussian with the means and covariances of some views.

    With centred rows X and a matrix R of independent standard normal numbers, the rows of
    :math:`R X / \sqrt{n - 1}` have the covariance of X, within the views and between them. Views
    without negative entries get none, so that their root is taken as well. A sample that lacks a
    view, which is a row of zeros, lacks it here, too.

    Fitting the same model to it is a check that can fail.

    Parameters
    ----------
    views : list of v matrices of shape (n, d_a)
        Dense or sparse.
    seed : int

    Returns
    -------
    list of v numpy.ndarray of shape (n, d_a)
    """
    n = views[0].shape[0]
    mixing = np.random.default_rng(seed).standard_normal((n, n))
    drawn = []
    for x in views:
        has = np.asarray(abs(x).sum(1)).ravel() > 0
        known = x[has].toarray() if scipy.sparse.issparse(x) else x[has]
        mean = known.mean(0)
        with blas_alone():
            y = mixing[:, has] @ (known - mean) / max(len(known) - 1, 1) ** 0.5 + mean
        y = y if (known < 0).any() else np.maximum(y, 0)
        y[~has] = 0
        drawn.append(y)
    return drawn


def _known_rows(x: Matrix, peaks: Array | None) -> Iterator[tuple[slice, Matrix, Flags]]:
    """Blocks of rows of a checked view by ``peaks``, and which of their samples have it."""
    for rows in block_slices([x]):
        part = take(x, rows)
        has = np.asarray(abs(part).sum(1)).ravel() > 0
        if peaks is not None:
            sparse = scipy.sparse.issparse(part)
            part = part.multiply(1 / peaks).tocsr() if sparse else part / peaks
        yield rows, part, has
