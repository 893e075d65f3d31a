"""What sets the clusters of a fit apart: the features by how far each cluster differs in them.

"Your own data" in the book reads such a table. No classes are needed, and one outlying sample does
not decide the result.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dmac._types import Array, Floats, Matrix, Views
from dmac.data.checks import View, as_views, check_labels
from dmac.data.linalg import as_dense
from dmac.data.names import as_named, in_order, index_of

if TYPE_CHECKING:
    import pandas

# A value counts up to so many median absolute deviations: 3 standard deviations of a Gaussian.
_REACH = 3 * 1.4826
# Samples of a cluster from which its medians are taken.
_SAMPLES = 200
# A cluster of fewer samples has no spread of its own.
_MIN_SAMPLES = 3
# Numbers of a view that are sorted at a time.
_NUMBERS = 2**22
# Distances from a median below this share of the usual value are 0, but for rounding.
_ROUNDING = 1e-12


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
        As for :class:`dmac.AnchorGraphClustering`. Those of a fit, or others of the same samples
        that it never saw.
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
        "difference" (:func:`dmac.separation.standardized_differences`), the largest magnitude
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
    view_names = range(1, len(gaps) + 1) if view_names is None else view_names
    _check_count("view_names", view_names, len(gaps))
    columns = [x.features for x in as_named(views)] if feature_names is None else feature_names
    _check_count("feature_names", columns, len(gaps))
    for a, (gap, names) in enumerate(zip(gaps, columns), 1):
        if names is not None and len(names) != gap.shape[1]:
            raise ValueError(
                f"feature_names: view {a} has {gap.shape[1]} features, and {len(names)} names"
            )
    tables = [
        pd.DataFrame(
            {
                "cluster": np.repeat(clusters, gap.shape[1]),
                "view": view,
                "feature": list(range(gap.shape[1]) if names is None else names) * len(clusters),
                "difference": gap.ravel(),
            }
        )
        for view, names, gap in zip(view_names, columns, gaps)
    ]
    return pd.concat(tables, ignore_index=True).sort_values(
        "difference", key=abs, ascending=False, kind="stable", ignore_index=True
    )


def _check_count(what: str, given: Sequence[Any], count: int) -> None:
    """Refuse names that are more or fewer than the views."""
    if len(given) != count:
        raise ValueError(f"{what} has {len(given)} entries, and there are {count} views")


def standardized_differences(views: Views, labels: npt.ArrayLike) -> tuple[Array, list[Floats]]:
    r"""For each cluster and feature: mean in the cluster less mean of the rest, by the deviation.

    .. math:: \delta_{kj} = (\bar x_{kj} - \bar x_{\ne k, j}) / s_j

    with the standard deviation :math:`s_j` over all samples (divisor n), so that it is finite where
    a feature is constant in each cluster: at most :math:`n / \sqrt{n_k (n - n_k)}`. It is 0 for a
    constant feature. A row of zeros is a view that the sample lacks, and is left out.

    Values far from those of their cluster are brought nearer first, so that one sample does not
    level what all others say: x becomes the nearest number in

    .. math:: \tilde x_{kj} \pm 3 \cdot 1.4826 \max(d_{kj}, d_j)

    with the cluster's median :math:`\tilde x_{kj}`, the median :math:`d_{kj}` of the distances from
    it, and the median :math:`d_j` of the distances, of all clusters, that are not 0. Of a Gaussian
    these are 3 standard deviations: 1 value in 400 moves, and :math:`\delta_{kj}` by about 0.01. A
    cluster of fewer than three samples has the median of all samples, and their distances from it;
    of one of more than 200, medians are those of 200, drawn at random.

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
    labels = in_order(labels, index_of(views), "labels", "views")
    sources = as_views(views, streamed=True, incomplete=True)
    codes = check_labels(labels, sources[0].shape[0])
    first = np.unique(codes, return_index=True)[1]
    if len(first) < 2:
        raise ValueError("labels: all samples are in one cluster, so there is nothing to compare")
    values = labels.detach().cpu() if hasattr(labels, "detach") else labels
    return np.asarray(values).ravel()[first], [_differences(x, codes, len(first)) for x in sources]


@np.errstate(over="ignore")
def _differences(x: View, codes: Array, c: int) -> Floats:
    """Standardised differences of the features of a checked view: (c, d)."""
    unit, low, high = _limits(x, codes, c)
    blocks = functools.partial(_moved_rows, x, codes, unit, low, high)
    zero = np.clip(0.0, low, high)  # where the zeros go that a sparse matrix does not store
    sizes = np.zeros((c, 1))
    zeros = np.zeros_like(low)
    sums = np.zeros_like(low)
    for values, stored, indicator in blocks():
        sizes += indicator.sum(1).reshape(-1, 1)
        zeros += indicator.sum(1).reshape(-1, 1) - as_dense(indicator @ stored)
        sums += as_dense(indicator @ values)
    sums += zeros * zero
    n = max(sizes.sum(), 1)
    mean = sums.sum(0) / n
    squares = (zeros * (zero - mean) ** 2).sum(0)
    for values, stored, indicator in blocks():  # again: squares less the mean's loses digits
        off = values - stored * mean
        squares += as_dense(indicator @ off**2).sum(0)
    variance = squares / n
    eps = np.finfo(float).eps
    constant = variance <= n * eps * variance + (n * eps * mean) ** 2  # as StandardScaler decides
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = sums / sizes - (sums.sum(0) - sums) / (n - sizes)
    return np.where(constant, 0 * abs(gap), gap / np.sqrt(np.where(constant, 1, variance)))


def _moved_rows(
    x: View, codes: Array, unit: Floats, low: Floats, high: Floats
) -> Iterator[tuple[Matrix, Matrix, Matrix]]:
    """Blocks of a checked view: values within the limits, and where they are stored.

    Third is, (c, b), which samples are in a cluster, and have the view.
    """
    for rows in x.slices():
        part = x.part(rows)
        values = part.values
        clusters = codes[rows]
        at = clusters, np.arange(len(clusters))
        present = part.present.astype(float)
        indicator = scipy.sparse.csr_array((present, at), (len(low), len(clusters)))
        if x.sparse:
            values = scipy.sparse.csr_array(values, copy=True)
            values.eliminate_zeros()
            k = np.repeat(clusters, np.diff(values.indptr))
            j = values.indices
            values.data = np.clip(values.data / unit[j], low[k, j], high[k, j])
            stored = scipy.sparse.csr_array((np.ones(values.nnz), j, values.indptr), values.shape)
        else:
            values = np.clip(values / unit, low[clusters], high[clusters])
            stored = np.ones(values.shape)
        yield values, stored, indicator


def _limits(x: View, codes: Array, c: int) -> tuple[Floats, Floats, Floats]:
    """Units of the features (d,), in which the least and the largest value of a cluster: (c, d)."""
    order = np.random.default_rng(0).permutation(len(codes))
    rows = np.sort(np.concatenate([order[codes[order] == k][:_SAMPLES] for k in range(c)]))
    part = x.part(rows)
    sample = part.there.tocsc() if x.sparse else part.there
    codes = codes[rows][part.present]
    step = max(1, _NUMBERS // max(1, len(codes)))
    parts = [
        _limits_of(as_dense(sample[:, j : j + step]), codes, c) for j in range(0, x.shape[1], step)
    ]
    unit, low, high = (np.concatenate(each, -1) for each in zip(*parts))
    return unit, low, high


def _limits_of(x: Floats, codes: Array, c: int) -> tuple[Floats, Floats, Floats]:
    """The limits of some features (n, d)."""
    x = np.ascontiguousarray(x.T)  # rows are sorted faster than columns
    unit = _median_above(abs(x), 0)
    unit[unit == 0] = 1
    x = x / unit[:, None]  # so that no square of what is usual overflows
    centre = np.tile(np.median(x, 1), (c, 1))
    spread = np.tile(np.median(abs(x - centre[0, :, None]), 1), (c, 1))
    for k in range(c):
        mine = x[:, codes == k]
        if mine.shape[1] >= _MIN_SAMPLES:
            centre[k] = np.median(mine, 1)
            spread[k] = np.median(abs(mine - centre[k, :, None]), 1)
    common = _median_above(abs(x - centre[codes].T), _ROUNDING)
    reach = _REACH * np.maximum(spread, common)
    return unit, centre - reach, centre + reach


def _median_above(x: Floats, least: float) -> Floats:
    """The median of what is above ``least`` in each row, 0 where there is nothing."""
    x = np.sort(x)
    below = (x <= least).sum(1)
    middle = np.minimum((below + x.shape[1]) // 2, x.shape[1] - 1)
    return np.where(below < x.shape[1], x[np.arange(len(x)), middle], 0)
