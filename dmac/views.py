"""Multi-view data: loading it, and the two transformations that put views on one scale.

Chapter 1 of the book shows each on a toy.
"""

import difflib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

from dmac import registry
from dmac.checks import check_labels, check_views
from dmac.linalg import largest_exponent, scaled_rows, shifted, top_right_singular
from dmac.matfiles import read_mat

__all__ = [
    "MultiViewData",
    "RowNormalizer",
    "Whitening",
    "available",
    "check_labels",
    "check_views",
    "load",
    "normalize_rows",
]
_EMBEDDED = Path(__file__).parent / "data" / "mfeat.npz"
_EMBEDDED_ABOUT = "UCI Multiple Features: 2000 handwritten numerals, six feature sets (CC BY 4.0)"


@dataclass(frozen=True, eq=False, repr=False)
class MultiViewData:
    """The same n samples described by v views.

    Attributes
    ----------
    name : str
    views : list of v matrices of shape (n, d_a)
        ``numpy.ndarray`` or ``scipy.sparse.csr_matrix``, float64; row i is sample i in every view.
    labels : numpy.ndarray of shape (n,), int64, or None
        Known classes ``0 .. c-1``, for scoring only.
    n_clusters : int or None
        The number of classes c.
    description : str
    """

    name: str
    views: list
    labels: np.ndarray | None = None
    n_clusters: int | None = None
    description: str = ""

    @property
    def n_samples(self):
        """The number of samples n."""
        return self.views[0].shape[0]

    @property
    def n_views(self):
        """The number of views v."""
        return len(self.views)

    @property
    def dims(self):
        """The number of features of each view, ``(d_1, ..., d_v)``."""
        return tuple(x.shape[1] for x in self.views)

    def __repr__(self):
        sparse = ", sparse" if any(scipy.sparse.issparse(x) for x in self.views) else ""
        sizes = f"n={self.n_samples}, dims={self.dims}, c={self.n_clusters}"
        return f"MultiViewData({self.name!r}, {sizes}{sparse})"


def available():
    """Names that :func:`load` knows: the embedded ``"mfeat"``, then the registered data sets."""
    return ["mfeat", *registry.DATASETS]


def load(source="mfeat", *, views_key=None, labels_key=None, transposed=None):
    """Load multi-view data by name or from a file.

    Parameters
    ----------
    source : str or path
        A name from :func:`available`, in any case, or the path of a ``.mat`` or ``.npz`` file.
        ``"mfeat"`` comes with the package; the others are looked for in the folder named by the
        environment variable ``DMAC_DATA``, then downloaded (:func:`dmac.registry.fetch`).
    views_key, labels_key, transposed
        Which variables to read, and which way round; see :func:`dmac.matfiles.read_mat`. Needed
        only for a file that can be read in more than one way.

    Returns
    -------
    MultiViewData

    Raises
    ------
    ValueError
        If the name is unknown, or the file is corrupt, ambiguous or not usable as views.
    FileNotFoundError
        If the path does not exist.
    dmac.registry.DownloadError
        If a registered file can be neither found nor downloaded.
    """
    if not isinstance(source, (str, Path)):
        raise ValueError(f"source is {source!r}, it must be a name or a path")
    known = {name.lower(): name for name in available()}
    name = known.get(source.lower()) if isinstance(source, str) else None
    if name == "mfeat":
        path, about = _EMBEDDED, _EMBEDDED_ABOUT
    elif name is not None:
        path, about = registry.fetch(name), registry.DATASETS[name].description
    else:
        path, about = Path(source).expanduser(), ""
        if path.suffix.lower() not in (".mat", ".npz"):
            close = difflib.get_close_matches(str(source).lower(), known, n=1)
            hint = f"; did you mean {known[close[0]]!r}?" if close else ""
            raise ValueError(
                f"{str(source)!r} is neither a known name ({', '.join(available())}) nor the path "
                f"of a .mat or .npz file{hint}"
            )
    views, labels = read_mat(
        path, views_key=views_key, labels_key=labels_key, transposed=transposed
    )
    try:
        views = check_views(views)
        labels = None if labels is None else check_labels(labels, views[0].shape[0])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    n_clusters = None if labels is None else int(labels.max()) + 1
    return MultiViewData(name or path.stem, views, labels, n_clusters, about)


class RowNormalizer:
    r"""Scale every row (sample) of one view to unit length, without promoting noise.

    .. math:: x_i \leftarrow x_i / \max(\|x_i\|_2, \varepsilon),

    where the floor :math:`\varepsilon` is :math:`10^{-6}` times the median norm of the non-zero
    training rows. A zero row stays zero (plain division gives 0/0), and a row that is numerically
    zero stays near zero instead of becoming a unit vector of rounding noise. Both occur: in the
    20-dimensional CCV features, where the median norm is 0.94 in view 1 and 0.96 in view 3, 11 rows
    of view 1 and 46 of view 3 lie below the floor (7 and 9 of them below 1e-14, none exactly zero;
    the smallest is 4e-17), and none of view 2. No row of the other registered sets does.

    Attributes
    ----------
    floor_ : float
        :math:`\varepsilon`; 1.0 if all training rows are zero. New samples are scaled with it.
    """

    def fit(self, x):
        """Set the floor from a view of shape (n, d); dense or CSR. Returns self."""
        (x,) = check_views([x])
        _, exponent, norms = scaled_rows(x)
        nonzero = norms > 0
        # 1e-6 first: the norm itself may be beyond the range of float64
        floors = np.ldexp(1e-6 * norms[nonzero], exponent[nonzero])
        self.floor_ = max(float(np.median(floors)), np.finfo(float).tiny) if nonzero.any() else 1.0
        return self

    def transform(self, x):
        """Scale a view of shape (n, d), dense or CSR, to a new one of the same kind and shape."""
        if not hasattr(self, "floor_"):
            raise NotFittedError("this RowNormalizer is not fitted: call fit first")
        (x,) = check_views([x])
        scaled, exponent, norms = scaled_rows(x)
        with np.errstate(over="ignore"):
            above = np.ldexp(norms, exponent) > self.floor_
        if scipy.sparse.issparse(x):
            rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
            above, norms = above[rows], norms[rows]
            out = x.copy()
            out.data = np.divide(x.data, self.floor_, out=scaled / norms, where=~above)
            return out
        below = ~above
        scaled[above] /= norms[above, None]
        scaled[below] = x[below] / self.floor_
        return scaled

    def fit_transform(self, x):
        """Set the floor from ``x`` and scale ``x``."""
        return self.fit(x).transform(x)


def normalize_rows(x, floor=None):
    """Scale the rows of one view to unit length; see :class:`RowNormalizer`.

    Parameters
    ----------
    x : array or sparse matrix of shape (n, d)
    floor : float > 0, optional
        Rows shorter than this are divided by it instead. Taken from ``x`` if not given.

    Returns
    -------
    numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d)
    """
    normalizer = RowNormalizer()
    if floor is None:
        return normalizer.fit_transform(x)
    if not 0 < floor < np.inf:
        raise ValueError(f"floor must be a positive number, got {floor}")
    normalizer.floor_ = float(floor)
    return normalizer.transform(x)


class Whitening:
    r"""Centre one view and scale its leading principal directions to unit variance.

    With the singular value decomposition of the centred training rows,
    :math:`X - 1 \bar x^T = U \Sigma V^T`, and its r leading components, a row x becomes

    .. math:: h = \sqrt n \, \Sigma_r^{-1} V_r^T (x - \bar x),

    so that the training rows become :math:`H = \sqrt n \, U_r`, with mean 0 and
    :math:`H^T H / n = I`. With a ridge :math:`\rho` the divisor :math:`\sigma_j`, the standard
    deviation along direction j, becomes :math:`\sqrt{\sigma_j^2 + \rho \bar{\sigma^2}}` (the mean
    over the r directions): directions far below the average, mostly noise, are not blown up to
    full size. Components with a singular value at rounding level are dropped: at most
    :math:`\max(n, d) \, \epsilon \, s_1` or :math:`\sqrt n \, \epsilon \, \|\bar x\|`, with
    :math:`\epsilon` the machine precision. So constant and repeated columns do no harm, and r may
    be smaller than asked for; it is 0 if all rows are equal.

    Parameters
    ----------
    n_components : int, optional
        The largest r; all components by default. A sparse view is centred implicitly and never
        stored densely as long as r is below half of min(n, d).
    ridge : float
        :math:`\rho`, at least 0. A very large one leaves the scale of the directions as it is.

    Attributes
    ----------
    mean_ : numpy.ndarray of shape (d,)
    components_ : numpy.ndarray of shape (r, d)
        Rows of :math:`V_r^T`; the entry of largest magnitude in each is positive.
    scale_ : numpy.ndarray of shape (r,)
        What each component is divided by: without a ridge :math:`\Sigma_r / \sqrt n`, the standard
        deviations along the components; largest first.
    """

    def __init__(self, n_components=None, ridge=0.0):
        self.n_components = n_components
        self.ridge = ridge

    def fit(self, x):
        """Find the components of a view of shape (n, d), dense or CSR. Returns self."""
        rank = self.n_components
        if rank is not None and (not isinstance(rank, (int, np.integer)) or rank < 1):
            raise ValueError(f"n_components must be None or an integer of at least 1, got {rank!r}")
        if not 0 <= self.ridge < np.inf:
            raise ValueError(f"ridge must be a number of at least 0, got {self.ridge!r}")
        (x,) = check_views([x])
        sparse = scipy.sparse.issparse(x)
        n, d = x.shape
        exponent = largest_exponent(x)
        x = shifted(x, -exponent)  # the largest entry is near 1: no sum overflows
        mean = np.asarray(x.mean(0)).ravel()
        few = rank is not None and 2 * rank < min(n, d)
        if few and (sparse or min(n, d) > 500):
            s, vt = top_right_singular(
                lambda q: x @ q - mean @ q,  # centring without forming x - mean
                lambda q: x.T @ q - np.outer(mean, q.sum(0)),
                (n, d),
                rank,
            )
        else:
            centred = (x.toarray() if sparse else x) - mean
            _, s, vt = np.linalg.svd(centred, full_matrices=False)
        eps = np.finfo(float).eps
        tolerance = eps * max(max(n, d) * s[0], np.sqrt(n) * np.linalg.norm(mean))
        keep = np.flatnonzero(s > tolerance)[:rank]
        s, vt = s[keep], vt[keep]
        largest = np.abs(vt).argmax(1)[:, None]
        self.components_ = vt * np.sign(np.take_along_axis(vt, largest, 1))
        if self.ridge and len(s):
            s = np.sqrt(s**2 + self.ridge * np.mean(s**2))
        self.mean_, self.scale_ = shifted(mean, exponent), shifted(s / np.sqrt(n), exponent)
        return self

    def transform(self, x):
        """Whiten a view of shape (n, d), dense or CSR, to an array of shape (n, r)."""
        if not hasattr(self, "components_"):
            raise NotFittedError("this Whitening is not fitted: call fit first")
        (x,) = check_views([x], n_features=self.mean_.shape)
        exponent = largest_exponent(x, self.mean_)
        x, mean = shifted(x, -exponent), shifted(self.mean_, -exponent)
        if scipy.sparse.issparse(x):
            projected = x @ self.components_.T - self.components_ @ mean
        else:
            projected = (x - mean) @ self.components_.T
        return shifted(projected / self.scale_, exponent)

    def fit_transform(self, x):
        """Find the components of ``x`` and whiten ``x``."""
        return self.fit(x).transform(x)
