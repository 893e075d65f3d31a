"""Reading multi-view data from MATLAB files, whatever their author called the variables.

Chapter 1 of the book lists the layouts that occur.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
import scipy.sparse

from dmac.data.known_classes import LABEL_NAMES, Suspect, choose, named_like_classes, no_view
from dmac.data.named_views import NamedViews, natural, unread
from dmac.data.safe_files import loadmat, open_hdf5

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from dmac._types import Array, Integers, Matrix, PathLike

#: Names under which views are looked for, in any case.
VIEW_NAMES = ("x", "data", "fea", "feas", "feat", "feature", "features", "view", "views")


class _Unread(ValueError):
    """A sound file that holds what is not read."""


# Read, a variable is an array, a sparse matrix, a list (a cell, column by column) or None (else).


def _check_indices(matrix: Matrix) -> Matrix:
    """The sparse matrix itself, once its indices are known to point inside it."""
    if (np.diff(matrix.indptr) < 0).any():  # SciPy looks at this only where there are entries
        raise ValueError("a sparse matrix has column starts that decrease")
    matrix.check_format(full_check=True)
    return matrix


def _from_mat5(value: Any) -> Any:
    if scipy.sparse.issparse(value):
        return _check_indices(value)
    if not isinstance(value, np.ndarray) or value.dtype.names:
        return None
    if value.dtype.kind == "O":
        return [_from_mat5(item) for item in value.ravel(order="F")]
    return value


def _from_hdf5(item: Any, file: h5py.File) -> Any:
    """MATLAB 7.3 stores arrays with axes reversed, cells as references, sparse ones as groups."""
    if isinstance(item, h5py.Group):
        if "MATLAB_sparse" not in item.attrs:
            return None
        columns = item["jc"][()].astype(np.int64)
        rows = item["ir"][()].astype(np.int64) if "ir" in item else np.empty(0, np.int64)
        data = item["data"][()] if "data" in item else np.empty(0)
        shape = int(item.attrs["MATLAB_sparse"]), len(columns) - 1
        matrix = scipy.sparse.csc_matrix((data, rows, columns), shape=shape)
        return _check_indices(matrix)
    if item.attrs.get("MATLAB_empty", 0):
        return np.empty(tuple(int(size) for size in item[()].ravel()))
    values = item[()]
    if h5py.check_ref_dtype(item.dtype) is not None:
        return [_from_hdf5(file[reference], file) for reference in values.ravel()]
    if not isinstance(values, np.ndarray):
        values = np.asarray(values)
    if item.attrs.get("MATLAB_class", b"") in (b"char", "char"):
        return np.array(["".join(map(chr, values.ravel()))])
    if values.dtype.names == ("real", "imag"):
        values = values["real"] + 1j * values["imag"]
    return values.T if values.dtype.kind in "biufc" else None


def _variables(path: Path) -> dict[str, Any]:
    """All variables of a .mat (MATLAB 5 or 7.3) or .npz file, by name."""
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    try:
        if path.suffix.lower() == ".npz":
            return _members(path)
        if h5py.is_hdf5(path):
            with open_hdf5(path) as file:
                return {key: _from_hdf5(file[key], file) for key in file if not key.startswith("#")}
        return {key: _from_mat5(value) for key, value in loadmat(path).items()}
    except _Unread as error:
        raise ValueError(f"{path}: {error}") from error
    except Exception as error:  # a damaged file can fail anywhere in its reader
        raise ValueError(
            f"{path} cannot be read: it is corrupt, truncated or not a .mat or .npz file "
            f"({type(error).__name__}: {error})"
        ) from error


def _members(path: Path) -> dict[str, Any]:
    """The arrays of an ``.npz`` file by name."""
    with np.load(path, allow_pickle=False) as file:
        if {"indptr", "indices", "data", "format"} <= set(file.files):
            raise _Unread(
                "it is a sparse matrix of scipy.sparse.save_npz, which is not read here: write "
                "several into a .mat file, by scipy.io.savemat"
            )
        members = {}
        for key in file.files:
            try:
                members[key] = file[key]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                raise _Unread(
                    f"{key} holds Python objects, which are never read: save numbers, and words "
                    "by .astype(str)"
                ) from error
    return {key: x if isinstance(x, np.ndarray) else None for key, x in members.items()}


def _describe(value: Any) -> str:
    if isinstance(value, list):
        return f"cell of {len(value)} ({', '.join(sorted({_describe(item) for item in value}))})"
    if value is None:
        return "neither array nor cell"
    size = " x ".join(map(str, value.shape))
    return size + (" sparse" if scipy.sparse.issparse(value) else "")


def _contents(variables: dict[str, Any]) -> str:
    return "; ".join(f"{key}: {_describe(value)}" for key, value in variables.items()) or "nothing"


def _is_matrix(value: Any) -> bool:
    if scipy.sparse.issparse(value):
        return True
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and value.ndim == 2


def _cell(key: str, value: Any) -> list[tuple[str, Any]]:
    """The matrices of a variable with their names."""
    if not isinstance(value, list):
        return [(key, value)]
    return [(f"{key} {i}" if len(value) > 1 else key, x) for i, x in enumerate(value, 1)]


def _family(key: str) -> str:
    """The name of a variable without its number, in lower case."""
    return re.sub(r"[_ ]?\d+$", "", key).lower()


def _find_views(
    variables: dict[str, Any],
    views_key: str | Sequence[str] | None,
    no_views: set[str],
    named: bool,
) -> list[tuple[str, Matrix]]:
    """Names and views: those of ``views_key`` or, without it, of the only known name there is.

    If there is none, every matrix is one where ``named`` says so, without ``no_views``.
    """
    if views_key is not None:
        keys = [views_key] if isinstance(views_key, str) else list(views_key)
        missing = [key for key in keys if key not in variables]
        if missing or not keys:
            raise ValueError(f"views_key={views_key!r}: there is no variable {', '.join(missing)}")
        views = [pair for key in keys for pair in _cell(key, variables[key])]
        if not views or not all(_is_matrix(view) for _, view in views):
            raise ValueError(f"views_key={views_key!r} does not hold numeric matrices")
        return views
    candidates: dict[str, list[tuple[str, Any]]] = {}
    for key, value in variables.items():
        numbered = re.fullmatch(r"(.*?)_?(\d+)", key)
        if key.lower() in VIEW_NAMES:
            cell = _cell(key, value)
            if cell and all(_is_matrix(view) for _, view in cell):
                candidates[key] = cell
        elif numbered and numbered[1].lower() in VIEW_NAMES and _is_matrix(value):
            family = f"{numbered[1]}1, {numbered[1]}2, ..."
            candidates.setdefault(family, []).append((key, value))
    if not candidates and named:
        tables = [(k, x) for k, x in variables.items() if _is_matrix(x) and k not in no_views]
        if tables:
            candidates["tables"] = tables
    if len(candidates) != 1:
        names = f"several candidates ({', '.join(candidates)})" if candidates else "none found"
        raise ValueError(
            f"which variables are the views is not clear: {names}; pass views_key= with the name "
            "of a cell or matrix, or a list of names"
        )
    ((kind, found),) = candidates.items()
    return found if kind in variables else sorted(found, key=lambda pair: natural(pair[0]))


def _label_vector(value: Any) -> Array | None:
    """A label vector out of one, a cell of equal ones or of scalars, or one-hot rows; or None."""
    if isinstance(value, list):
        read = [_label_vector(item) for item in value]
        vectors = [vector for vector in read if vector is not None]
        if not vectors or len(vectors) < len(read):
            return None
        if len(vectors) > 1 and all(len(vector) == 1 for vector in vectors):
            return np.concatenate(vectors)
        same = all(np.array_equal(vector, vectors[0]) for vector in vectors)
        return vectors[0] if same else None
    if scipy.sparse.issparse(value):
        value = value.toarray() if 1 in value.shape else None
    if value is None or value.dtype.kind not in "biufSU" or value.size == 0:
        return None
    if value.size == max(value.shape, default=1):
        return value.ravel()
    return value.argmax(1) if _is_one_hot(value) else None


def _is_one_hot(value: Array) -> bool:
    """Whether every row of a table has a single 1 among zeros, and there are fewer columns."""
    if value.ndim != 2 or value.dtype.kind in "SU" or value.shape[1] >= value.shape[0]:
        return False
    ones = value == 1
    return bool((ones | (value == 0)).all() and (ones.sum(1) == 1).all())


def _find_labels(
    variables: dict[str, Any], labels_key: str | Literal[False] | None
) -> tuple[str | None, Integers | None]:
    """Labels as int64 from 0 with their name, or None if no variable has a known one."""
    if labels_key is False:
        return None, None
    if labels_key is not None and labels_key not in variables:
        raise ValueError(
            f"labels_key={labels_key!r}: there is no such variable; labels_key=False reads none"
        )
    named = [key for key in variables if key.lower() in LABEL_NAMES]
    coded = {}
    for key in named if labels_key is None else [labels_key]:
        vector = _label_vector(variables[key])
        if vector is None:
            raise ValueError(
                f"{key} is not one vector of labels; pass labels_key= with the name of one, or "
                "labels_key=False to read none"
            )
        coded[key] = _codes(key, vector)
    labels = list(coded.values())
    if any(not np.array_equal(other, labels[0]) for other in labels[1:]):
        raise ValueError(f"{' and '.join(coded)} are different labels; pass labels_key=")
    return (next(iter(coded)), labels[0]) if labels else (None, None)


def _codes(key: str, vector: Array) -> Integers:
    if vector.dtype.kind == "f" and not (np.isfinite(vector) & (vector % 1 == 0)).all():
        raise ValueError(f"{key} holds values that are no class labels (NaN or fractions)")
    return np.unique(vector, return_inverse=True)[1].astype(np.int64)


def _of_classes(variables: dict[str, Any]) -> list[str]:
    return [key for key in variables if key.lower() in LABEL_NAMES]


def _suspects(variables: dict[str, Any], views: Sequence[str]) -> dict[str, Suspect]:
    """Arrays that may hold known classes by name and values, beside those named as views."""
    found = {}
    for key, x in variables.items():
        if key in views or not isinstance(x, np.ndarray) or x.dtype.kind not in "biufSU":
            continue
        if named_like_classes(key) and x.ndim in (1, 2) and x.size:
            one = Suspect(list(x.reshape(len(x), -1).T))
            if no_view(one) is not None:
                found[key] = one
    return found


def _is_transposed(shapes: list[tuple[int, int]], n_labels: int | None) -> bool:
    """Whether the samples are the columns; only if the shapes leave no other reading."""
    if n_labels is not None:
        as_rows = all(rows == n_labels for rows, _ in shapes)
        as_columns = all(columns == n_labels for _, columns in shapes)
        reason = f"there are {n_labels} labels"
    else:
        as_rows = len({rows for rows, _ in shapes}) == 1
        as_columns = len({columns for _, columns in shapes}) == 1
        reason = "there are no labels to tell"
    if as_rows != as_columns:
        return as_columns
    sizes = ", ".join(f"{rows} x {columns}" for rows, columns in shapes)
    if as_rows:
        raise ValueError(
            f"views of {sizes}: whether rows or columns are the samples is ambiguous ({reason}); "
            "pass transposed=False (samples are rows) or transposed=True"
        )
    raise ValueError(
        f"views of {sizes}: neither all rows nor all columns can be the samples ({reason}); pass "
        "views_key= or labels_key= if these are the wrong variables"
    )


def read_mat(
    path: PathLike,
    views_key: str | Sequence[str] | None = None,
    labels_key: str | Literal[False] | None = None,
    transposed: bool | None = None,
) -> tuple[list[Matrix], Integers | None]:
    """Read views and labels from a ``.mat`` (MATLAB 5 or 7.3) or ``.npz`` file.

    Understood without help: views in one cell (row or column) or in numbered variables (``X1``,
    ``X2``, ...), or a single matrix, under the names in `VIEW_NAMES`; dense or sparse, of any
    numeric type; n x d or d x n; labels under the names in
    :data:`~dmac.data.known_classes.LABEL_NAMES`, from 0 or 1, as a row, a
    column, or a cell that repeats the same vector. Upper and lower case are the same in names. In
    an ``.npz`` file without such names every table of numbers is a view, in the order of their
    names, but for those that :mod:`dmac.data.known_classes` takes for classes.

    Parameters
    ----------
    path : str or path
    views_key : str or list of str, optional
        The variable(s) that hold the views, in order.
    labels_key : str or False, optional
        The variable that holds the labels: a vector, a cell of equal ones, or a table with a row
        for every sample that has a single 1, in the column of its class. False reads none.
    transposed : bool, optional
        True if samples are columns (d x n), False if rows. By default a ``.mat`` file is read the
        way in which every view has as many samples as there are labels (without labels: all views
        have equally many); an ``.npz`` file is taken to have samples as rows.

    Returns
    -------
    views : list of numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d_a)
        In the type in which they are stored.
    labels : numpy.ndarray of shape (n,), int64, or None
        Numbered from 0 in the order of the distinct stored labels.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is corrupt or truncated, or can be read in more than one way or in none; the
        error lists the variables with their sizes and says what to pass.
    """
    found = read_variables(path, views_key, labels_key, transposed)
    return found.views, found.labels


def read_variables(
    path: PathLike,
    views_key: str | Sequence[str] | None = None,
    labels_key: str | Literal[False] | None = None,
    transposed: bool | None = None,
) -> NamedViews:
    """The same as :func:`read_mat`, with the names of what was read and what was left out.

    Parameters
    ----------
    path, views_key, labels_key, transposed
        As :func:`read_mat` takes them, with the same errors.

    Returns
    -------
    NamedViews
    """
    path = Path(path)
    variables = _variables(path)
    numpy_file = path.suffix.lower() == ".npz"
    try:
        known, labels = _find_labels(variables, labels_key)
        keys = [views_key] if isinstance(views_key, str) else list(views_key or ())
        suspects = _suspects(variables, keys) if numpy_file else {}
        one = choose(suspects, labels_key if known is None else False)
        if one.source is not None and one.values is not None:
            known, labels = one.source, _codes(one.source, one.values)
        no_views = {*suspects, known or "", *_of_classes(variables)}
        found = _find_views(variables, views_key, no_views, numpy_file)
        names, views = [name for name, _ in found], [x for _, x in found]
        if transposed is None:
            n_labels = None if labels is None else len(labels)
            transposed = not numpy_file and _is_transposed([x.shape for x in views], n_labels)
        views = [x.T if transposed else x for x in views]
        for a, x in enumerate(views, 1):
            if labels is not None and x.shape[0] != len(labels):
                raise ValueError(
                    f"view {a} has {x.shape[0]} samples, but there are {len(labels)} labels; if "
                    f"samples are {'rows' if transposed else 'columns'}, pass "
                    f"transposed={not transposed}"
                )
    except ValueError as error:
        raise ValueError(f"{path}: {error}. The file has {_contents(variables)}") from error
    views = [scipy.sparse.csr_matrix(x) if scipy.sparse.issparse(x) else x for x in views]
    if views_key is not None:
        return NamedViews(names, views, labels, known=known)
    n, used = views[0].shape[0], {*names, known, *_of_classes(variables)}
    left_out = {
        key: unread(getattr(x, "ndim", 2) == 2 and 1 not in x.shape and _is_matrix(x))
        for key, x in variables.items()
        if key not in used and hasattr(x, "shape") and n in x.shape
    }
    if _family(names[0]) not in VIEW_NAMES:  # every table would be a view
        told = {k: why for k, why in one.left_out.items() if k != known}
        left_out |= {k: why for k, why in told.items() if _is_matrix(variables[k])}
    return NamedViews(names, views, labels, known=known, left_out=left_out)
