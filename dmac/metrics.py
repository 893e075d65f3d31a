"""How well a clustering agrees with known classes.

Labels enter here and nowhere else: nothing in the package fits, stops or selects with them.
Chapter 1 of the book introduces the measures.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from dmac._types import Integers
from dmac.data.checks import check_labels
from dmac.data.names import in_order


def contingency(true: npt.ArrayLike, predicted: npt.ArrayLike) -> Integers:
    """Count the samples of every class in every cluster.

    Parameters
    ----------
    true, predicted : array_like of shape (n,)
        Class and cluster of every sample.

    Returns
    -------
    numpy.ndarray of shape (n_classes, n_clusters), int64
        Entry (j, k) is the number of samples of class j in cluster k.

    Raises
    ------
    ValueError
        If the two label vectors differ in length or either is not a label vector.

    Examples
    --------
    >>> from dmac.metrics import contingency
    >>> contingency(["a", "a", "b", "b"], [1, 1, 1, 0])
    array([[0, 2],
           [1, 1]])
    """
    true = check_labels(true, name="true")
    predicted = check_labels(predicted, name="predicted")
    if true.size != predicted.size:
        raise ValueError(f"true has {true.size} labels, predicted has {predicted.size}")
    return contingency_matrix(true, predicted)


def matched(true: npt.ArrayLike, predicted: npt.ArrayLike) -> Integers:
    """Clusters under the names of the classes that they are matched to, as for ``acc``.

    Parameters
    ----------
    true, predicted : array_like of shape (n,)
        As for :func:`dmac.scores`.

    Returns
    -------
    numpy.ndarray of shape (n,), int64
        Numbers of classes, in sorted order; -1 for a cluster without a partner.
    """
    table = contingency(true, predicted)
    partner = np.full(table.shape[1], -1)
    classes, clusters = linear_sum_assignment(-table)
    partner[clusters] = classes
    return partner[check_labels(predicted, name="predicted")]


def scores(true: npt.ArrayLike, predicted: npt.ArrayLike) -> dict[str, float]:
    r"""Score a clustering against known classes.

    Parameters
    ----------
    true, predicted : array_like of shape (n,)
        Class and cluster of every sample; any integers or strings, and the numbers of classes and
        of clusters may differ. Two series of pandas are lined up by their index.

    Returns
    -------
    dict of str to float
        Fractions in [0, 1] (``ari`` may be negative):

        ``acc``
            accuracy under the best one-to-one matching :math:`\pi` of clusters to classes
            (Hungarian method, Kuhn 1955), :math:`\frac1n \sum_j n_{j, \pi(j)}`; the samples of a
            cluster without a partner count as errors.
        ``nmi``
            mutual information over the arithmetic mean of the two entropies.
        ``ari``
            Rand index adjusted for chance (Hubert and Arabie 1985).
        ``purity``
            share of samples in the largest class of their cluster; grows with the number of
            clusters, so it is never read alone.
        ``f1``
            mean over classes of :math:`2 n_{j, \pi(j)} / (n_{j \cdot} + n_{\cdot \pi(j)})` under
            the matching of ``acc``, or the largest such mean where several matchings have that
            accuracy; a class without a partner scores 0.

    Raises
    ------
    ValueError
        If the two label vectors differ in length or either is not a label vector.

    Warns
    -----
    UserWarning
        If two series name other samples: they are taken by position.

    Examples
    --------
    >>> import dmac
    >>> dmac.scores(["a", "a", "b", "b"], [7, 7, 3, 3])["acc"]
    1.0
    >>> dmac.scores(["a", "a", "b", "b"], [7, 7, 7, 3])["purity"]
    0.75
    """
    names = getattr(predicted, "index", None) if hasattr(predicted, "iloc") else None
    true = in_order(true, names, "true", "predicted")
    true = check_labels(true, name="true")
    predicted = check_labels(predicted, name="predicted")
    table = contingency(true, predicted)
    n = table.sum()
    f1 = 2 * table / (table.sum(1, keepdims=True) + table.sum(0))
    # One sample weighs more than all of F1 together, which only decides among
    # equal accuracies: otherwise the names of the clusters would.
    gain = (1 + min(table.shape)) * table + f1
    classes, clusters = linear_sum_assignment(gain, maximize=True)
    return {
        "acc": float(table[classes, clusters].sum() / n),
        "nmi": float(normalized_mutual_info_score(true, predicted, average_method="arithmetic")),
        "ari": float(adjusted_rand_score(true, predicted)),
        "purity": float(table.max(0).sum() / n),
        "f1": float(f1[classes, clusters].sum() / len(table)),
    }
