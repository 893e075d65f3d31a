"""Multi-view data: what it is, and loading it.

Chapter 1 of the book shows it; :mod:`dmac.data.whitening` puts views on one scale.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import scipy.sparse

from dmac._types import Integers, Matrix
from dmac._warn import warn
from dmac.data import registry
from dmac.data.checks import check_views, is_on_disk
from dmac.data.datasets import DATASETS, KINDS
from dmac.data.names import stem
from dmac.data.readers import Reading, read_views

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
    names : list of v str, or None
        What the file calls the views.
    samples : list of n str, or None
        Names of the samples, where the file has them.

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
    names: list[str] | None = None
    samples: list[str] | None = None

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
        sensors, synthetic. :data:`dmac.data.datasets.KINDS` says what these are.

    Returns
    -------
    list of str, or dict of str to list of str

    Examples
    --------
    >>> import dmac
    >>> dmac.available()[:3]
    ['mfeat', 'PIE', 'BBC']
    >>> dmac.available(by_kind=True)["patients"]
    ['BreastCancer-3', 'Dermatology']
    """
    kinds = {"mfeat": "images"} | {name: entry.kind for name, entry in DATASETS.items()}
    if not by_kind:
        return list(kinds)
    return {kind: [name for name in kinds if kinds[name] == kind] for kind in KINDS}


def load(
    source: str | Path | Sequence[str | Path] = "mfeat",
    *,
    views_key: str | Sequence[str] | None = None,
    labels_key: str | Literal[False] | None = None,
    transposed: bool | None = None,
    missing: str | float | Sequence[str | float] = (),
    columns: Mapping[str, str] | None = None,
    drop: str | Sequence[str] = (),
    fill: str | float | None = None,
) -> MultiViewData:
    """Load multi-view data by name, from a file, or from several.

    Parameters
    ----------
    source : str, path, or list of them
        A name from :func:`available`, in any case, or a path: of a file that holds all views
        (``.mat``, ``.npz``, HDF5, ``.h5ad``, ``.h5mu``) or of a folder with a file per view
        (``.csv``, ``.tsv``, ``.npy``, ``.parquet``, ``.xlsx``, also compressed text). A list of
        paths is a file per view.
        What :func:`dmac.data.readers.read_views` reads for the command line is read here, and put
        into memory. ``"mfeat"`` comes with the package; the others are looked for in the folder
        named by the environment variable ``DMAC_DATA``, then downloaded
        (:func:`dmac.data.registry.fetch`).
    views_key, labels_key, transposed
        Which variables or files to read, and which way round; see
        :func:`dmac.data.readers.read_views`. Needed only where there is more than one way.
    missing : str, float or list of those
        Codes that stand for what is missing, as -999: a row of them is a sample that lacks the
        view, and one in a row that has values is refused, where ``fill`` does not say what stands
        there.
    columns, drop, fill
        Groups of columns that are views, columns that are left out, and what stands in gaps; see
        :func:`dmac.data.readers.read_views`.

    Returns
    -------
    MultiViewData

    Warns
    -----
    UserWarning
        Of what was left out, and of tables that are put side by side by the places of their rows.

    Raises
    ------
    ValueError
        If the name is unknown, or a file is corrupt, ambiguous or not usable as views.
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
    paths, name, about, views_key, labels_key = _found(source, views_key, labels_key)
    read = read_views(
        paths,
        views_key=views_key,
        labels_key=labels_key,
        transposed=transposed,
        missing=_several(missing),
        columns=columns,
        drop=_several(drop),
        fill=fill,
    )
    told = [f"{item} was left out, since {reason}" for item, reason in read.left_out.items()]
    if name is None and told and not (views_key or labels_key is False):
        warn("; ".join([*told, "views_key= names the views"]))
    in_memory = [
        replace(x, values=np.array(x.values)) if is_on_disk(x.values) else x for x in read.views
    ]
    try:
        views = check_views(in_memory, incomplete=True)
    except ValueError as error:
        raise ValueError(f"{', '.join(map(str, paths))}: {error}") from error
    return MultiViewData(
        name=name or ", ".join(stem(Path(path)) for path in paths),
        views=views,
        labels=read.labels,
        n_clusters=None if read.labels is None else int(read.labels.max()) + 1,
        description=about,
        names=[x.name for x in read.views],
        samples=read.views[0].samples,
    )


def read(
    sources: Sequence[str | Path], *, views_key: Any, labels_key: Any, **options: Any
) -> Reading:
    """Read what :func:`dmac.load` loads as the command line does, with all that was decided.

    Parameters
    ----------
    sources : list of str or path
        A name from :func:`dmac.available`, or paths.
    views_key, labels_key, **options
        As :func:`dmac.data.readers.read_views` takes them.

    Returns
    -------
    dmac.data.readers.Reading
    """
    source = sources[0] if len(sources) == 1 else list(sources)
    paths, _, _, views_key, labels_key = _found(source, views_key, labels_key)
    return read_views(paths, views_key=views_key, labels_key=labels_key, **options)


def _found(
    source: str | Path | Sequence[str | Path], views_key: Any, labels_key: Any
) -> tuple[list[str | Path], str | None, str, list[str] | None, Any]:
    """The files of a source, its name and description if it is a known one, and what to read."""
    paths = [source] if isinstance(source, (str, Path)) else source
    are_paths = isinstance(paths, (list, tuple)) and all(isinstance(x, (str, Path)) for x in paths)
    if not are_paths or not paths:
        raise ValueError(
            f"source is {source!r:.60}, it must be a name or a path, or a list of paths"
        )
    keys = [views_key] if isinstance(views_key, str) else list(views_key or []) or None
    name = _known_name(paths[0]) if paths == [source] else None
    if name is None:
        return list(paths), None, "", keys, labels_key
    if name == "mfeat":
        return [_EMBEDDED], name, _EMBEDDED_ABOUT, keys, labels_key
    entry = DATASETS[name]
    labels_key = entry.labels_key if labels_key is None else labels_key
    return [registry.fetch(name)], name, entry.description, keys or [*entry.views_key], labels_key


def _several(given: Any) -> list[Any]:
    """One thing, or several of them, as a list."""
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _known_name(source: str | Path) -> str | None:
    """The name of a known data set, whatever its case; None of a path."""
    by_name = {name.lower(): name for name in available()}
    name = by_name.get(source.lower()) if isinstance(source, str) else None
    if name is None and not (Path(source).suffix or Path(source).expanduser().exists()):
        close = difflib.get_close_matches(str(source).lower(), by_name, n=1)
        hint = f"; did you mean {by_name[close[0]]!r}?" if close else ""
        raise ValueError(
            f"{str(source)!r} is neither a known name ({', '.join(available())}) nor the path of a "
            f"file or folder{hint}"
        )
    return name
