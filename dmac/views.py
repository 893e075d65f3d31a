"""Multi-view data: what it is, and loading it.

Chapter 1 of the book shows it; :mod:`dmac.data.whitening` puts views on one scale.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

import scipy.sparse

from dmac.data import registry
from dmac.data.checks import check_labels, check_views
from dmac.data.datasets import DATASETS, KINDS
from dmac.data.matfiles import read_mat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from dmac._types import Integers, Matrix


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

    Examples
    --------
    >>> import numpy as np
    >>> from dmac import MultiViewData
    >>> data = MultiViewData("toy", [np.eye(4), np.ones((4, 2))])
    >>> data
    MultiViewData('toy', n=4, dims=(4, 2), c=None)
    >>> data.n_views
    2
    """

    name: str
    views: list[Matrix]
    labels: Integers | None = None
    n_clusters: int | None = None
    description: str = ""

    @property
    def n_samples(self) -> int:
        """The number of samples n."""
        return self.views[0].shape[0]

    @property
    def n_views(self) -> int:
        """The number of views v."""
        return len(self.views)

    @property
    def dims(self) -> tuple[int, ...]:
        """The number of features of each view, ``(d_1, ..., d_v)``."""
        return tuple(x.shape[1] for x in self.views)

    def __repr__(self) -> str:
        sparse = ", sparse" if any(scipy.sparse.issparse(x) for x in self.views) else ""
        sizes = f"n={self.n_samples}, dims={self.dims}, c={self.n_clusters}"
        return f"MultiViewData({self.name!r}, {sizes}{sparse})"


@overload
def available(*, by_kind: Literal[False] = False) -> list[str]: ...


@overload
def available(*, by_kind: Literal[True]) -> dict[str, list[str]]: ...


def available(*, by_kind: bool = False) -> list[str] | dict[str, list[str]]:
    """Names that :func:`load` knows: the embedded ``"mfeat"``, then the registered data sets.

    Parameters
    ----------
    by_kind : bool
        Whether to group them by what they hold: images, text, links, omics, cells, patients,
        synthetic. :data:`dmac.data.datasets.KINDS` says what these are.

    Returns
    -------
    list of str, or dict of str to list of str

    Examples
    --------
    >>> import dmac
    >>> dmac.available()[:3]
    ['mfeat', 'PIE', 'BBC']
    >>> dmac.available(by_kind=True)["cells"]
    ['CITEseq-PBMC-1182']
    """
    kinds = {"mfeat": "images"} | {name: entry.kind for name, entry in DATASETS.items()}
    if not by_kind:
        return list(kinds)
    return {kind: [name for name in kinds if kinds[name] == kind] for kind in KINDS}


def load(
    source: str | Path = "mfeat",
    *,
    views_key: str | Sequence[str] | None = None,
    labels_key: str | Literal[False] | None = None,
    transposed: bool | None = None,
) -> MultiViewData:
    """Load multi-view data by name or from a file.

    Parameters
    ----------
    source : str or path
        A name from :func:`available`, in any case, or the path of a ``.mat`` or ``.npz`` file.
        ``"mfeat"`` comes with the package; the others are looked for in the folder named by the
        environment variable ``DMAC_DATA``, then downloaded (:func:`dmac.data.registry.fetch`).
    views_key, labels_key, transposed
        Which variables to read, and which way round; see :func:`dmac.data.matfiles.read_mat`.
        Needed only for a file that can be read in more than one way.

    Returns
    -------
    MultiViewData

    Raises
    ------
    ValueError
        If the name is unknown, or the file is corrupt, ambiguous or not usable as views.
    FileNotFoundError
        If the path does not exist.
    dmac.data.registry.DownloadError
        If a registered file can be neither found nor downloaded.

    Examples
    --------
    >>> import dmac
    >>> data = dmac.load("mfeat")
    >>> data
    MultiViewData('mfeat', n=2000, dims=(76, 216, 64, 240, 47, 6), c=10)
    >>> data.labels[[0, 999, 1999]]
    array([0, 4, 9])
    """
    if not isinstance(source, (str, Path)):
        raise ValueError(f"source is {source!r}, it must be a name or a path")
    known = {name.lower(): name for name in available()}
    name = known.get(source.lower()) if isinstance(source, str) else None
    if name == "mfeat":
        path, about = _EMBEDDED, _EMBEDDED_ABOUT
    elif name is not None:
        entry = DATASETS[name]
        path, about = registry.fetch(name), entry.description
        views_key = list(entry.views_key) or None if views_key is None else views_key
        labels_key = entry.labels_key if labels_key is None else labels_key
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
