"""Every kind of view that is accepted, and every one that is refused: for the test and the page.

It stands with the tests, since nothing in `dmac` needs it; `book/inputs.md` runs in the repository
and imports it from here, so that the page shows what was tested.
"""

import itertools
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import scipy.sparse
import torch
import zarr

rng = np.random.default_rng(0)
#: 40 samples around two centres: small counts, which every type of number can hold.
COUNTS = rng.poisson(np.where(np.arange(40)[:, None] % 2, [9, 1, 6, 1], [1, 8, 1, 5])).clip(0, 15)
SECOND = rng.poisson(np.where(np.arange(40)[:, None] % 2, [7, 2, 1], [1, 2, 9]))
X = COUNTS.astype(np.float64)


@dataclass
class Case:
    """One way to pass views.

    ``make`` gives what a user passes to `DMAC.fit`. Of an accepted one ``equals`` is the view that
    it stands for, where that is not `X`; of a refused one ``says`` is part of the message.
    """

    group: str
    kind: str
    make: object
    equals: object = None
    says: str | None = None
    warns: str | None = None
    settings: dict = field(default_factory=dict)


class Wrapped:
    """Something of another package that NumPy can make an array of."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x.astype(dtype or self.x.dtype)


# Files live as long as the process: a memory map must not outlive its file.
_folder = tempfile.TemporaryDirectory()
_numbers = itertools.count()


def memory_map(x):
    """The array in a file of its own, opened for reading."""
    path = Path(_folder.name) / f"{next(_numbers)}.npy"
    np.save(path, x)
    return np.load(path, mmap_mode="r")


def hdf5(x):
    """The array as a data set of an HDF5 file that is kept in memory."""
    file = h5py.File(f"{next(_numbers)}.h5", "w", driver="core", backing_store=False)
    return file.create_dataset("x", data=x)


def read_only(x):
    """A copy that cannot be written to."""
    x = x.copy()
    x.flags.writeable = False
    return x


def with_entry(value, dtype=float, row=3, column=1):
    """X with one other entry."""
    x = X.astype(dtype)
    x[row, column] = value
    return x


def duplicates():
    """A sparse matrix in which every entry is stored as two halves."""
    coo = scipy.sparse.coo_matrix(X)
    half = np.tile(coo.data / 2, 2)
    return scipy.sparse.coo_matrix((half, (np.tile(coo.row, 2), np.tile(coo.col, 2))), X.shape)


def frame(**columns):
    """X as a data frame, some columns otherwise."""
    out = pd.DataFrame(COUNTS, columns=list("abcd"))
    return out.assign(**columns)


DENSE = {
    **{np.dtype(t).name: lambda t=t: X.astype(t) for t in ("f8", "f4", "f2", np.longdouble)},
    "int8 to uint64": lambda: COUNTS.astype(np.uint8),
    "Fortran order": lambda: np.asfortranarray(X),
    "not contiguous": lambda: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda: read_only(X),
    "big-endian": lambda: X.astype(">f4"),
    "objects that are numbers": lambda: X.astype(object),
    "masked array, nothing masked": lambda: np.ma.masked_array(X),
    "anything with __array__": lambda: Wrapped(X),
}
TENSORS = {
    "float32": lambda: torch.tensor(X).float(),
    "float16, bfloat16": lambda: torch.tensor(X, dtype=torch.bfloat16),
    "integers": lambda: torch.tensor(COUNTS),
    "with gradient": lambda: torch.tensor(X, requires_grad=True),
    "not contiguous": lambda: torch.tensor(X.T.copy()).T,
    "sparse COO": lambda: torch.tensor(X).to_sparse(),
    **({"on a GPU": lambda: torch.tensor(X, device="cuda")} if torch.cuda.is_available() else {}),
}
SPARSE = {
    **{
        f"{name}_matrix, {name}_array": lambda name=name: [
            getattr(scipy.sparse, f"{name}_{kind}")(X) for kind in ("matrix", "array")
        ]
        for name in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
    },
    "integers": lambda: scipy.sparse.csr_array(COUNTS),
    "entries stored twice": duplicates,
    "zeros that are stored": lambda: scipy.sparse.csr_matrix(
        (X.ravel(), np.tile(np.arange(4), 40), np.arange(0, 161, 4)), X.shape
    ),
}
FRAMES = {
    "integers and fractions": lambda: frame(b=X[:, 1], c=X[:, 2].astype(np.float32)),
    "nullable types, nothing missing": lambda: frame().convert_dtypes(),
    "sparse columns": lambda: frame().astype(pd.SparseDtype(float, 0)),
}
#: Names of the samples, and an order in which the second view has them.
NAMES, ORDER = [f"patient {i}" for i in range(40)], rng.permutation(40)


def named(x, order=slice(None), names=NAMES):
    """A view as a data frame with names of samples, in some order."""
    return pd.DataFrame(x, index=names).iloc[order]


DISK = {
    "memory map": lambda: memory_map(X),
    "memory map, float16": lambda: memory_map(X.astype(np.float16)),
    "HDF5 data set": lambda: hdf5(X),
    "Zarr array": lambda: zarr.array(X),
}
ACCEPTED = [
    *(Case("NumPy", kind, make) for kind, make in DENSE.items()),
    Case("NumPy", "bool", lambda: X > 3, equals=(X > 3).astype(float)),
    Case("Python", "nested list, in a list of views", lambda: [X.tolist()]),
    *(Case("SciPy", kind, make) for kind, make in SPARSE.items()),
    *(Case("torch", kind, make) for kind, make in TENSORS.items()),
    *(Case("pandas", kind, make) for kind, make in FRAMES.items()),
    Case(
        "pandas",
        "the same samples in another order, lined up by the index",
        lambda: [named(X), named(SECOND, ORDER)],
    ),
    Case(
        "pandas",
        "some of the samples: the others lack the view",
        lambda: [named(X), named(SECOND, ORDER[:36])],
    ),
    *(Case("on disk", kind, make) for kind, make in DISK.items()),
    Case("values", "few samples, two a cluster", lambda: X[:4], equals=X[:4]),
    Case("a list", "of one view", lambda: [X]),
    Case("a list", "a tuple", lambda: (X,)),
    Case("a list", "an object array of views", lambda: np.array([X, SECOND, None], object)[:2]),
    Case("a list", "of views of several kinds", lambda: [X, scipy.sparse.csr_array(SECOND)]),
    Case("values", "a view of zeros beside another", lambda: [X, np.zeros((40, 2))]),
    Case("values", "a constant view beside another", lambda: [X, np.ones((40, 2))]),
    Case("values", "rows of zeros", lambda: [X, SECOND * (np.arange(40) > 4)[:, None]]),
    Case(
        "values",
        "every sample ten times",
        lambda: np.repeat(X[:4], 10, 0),
        equals=np.repeat(X[:4], 10, 0),
    ),
    Case(
        "values",
        "nothing but zeros",
        lambda: np.zeros((40, 4)),
        equals=np.zeros((40, 4)),
        warns="40 of 40 samples are zero in every view|1 of 2 clusters came out",
    ),
    Case("values", "around 1e300", lambda: 1e300 * X, equals=1e300 * X),
    Case("values", "denormal, around 1e-310", lambda: 1e-310 * X, equals=1e-310 * X),
    Case(
        "values",
        "one feature",
        lambda: X[:, :1] + 1,
        equals=X[:, :1] + 1,
        warns="a view has one feature",
    ),
]

MISSING = pd.array([1.0, None] + [2.0] * 38, dtype="Float64")
REFUSED = [
    Case("views", "None", lambda: None, says="must be a list of 2-D arrays, not a NoneType"),
    Case("views", "None in a list", lambda: [X, None], says="view 2 is None: pass a 2-D array"),
    Case("views", "a string", lambda: "mfeat", says="must be a list of 2-D arrays, not a str"),
    Case("views", "a dictionary", lambda: {"a": X}, says="not a dict"),
    Case("views", "an empty list", list, says="no views: the list is empty"),
    Case("views", "one array of 1 dimension", lambda: X[0], says="one array of shape (4,)"),
    Case("views", "one array of 3", lambda: X[None], says="one array of shape (1, 40, 4)"),
    Case("views", "1 dimension", lambda: [X, X[:, 0]], says="view 2 has 1 dimension(s)"),
    Case("views", "3 dimensions", lambda: [X, X[None]], says="view 2 has 3 dimension(s)"),
    Case("views", "a pandas series", lambda: [frame()["a"]], says="view 1 has 1 dimension(s)"),
    Case(
        "views",
        "a sparse vector",
        lambda: [scipy.sparse.coo_array(X[0])],
        says="view 1 has 1 dimension(s)",
    ),
    Case("views", "rows of two lengths", lambda: [[[1, 2], [3]]], says="rows of different lengths"),
    Case("views", "no samples", lambda: [X[:0]], says="view 1 has no samples"),
    Case("views", "no features", lambda: [X, X[:, :0]], says="view 2 has no features"),
    Case(
        "views",
        "other numbers of samples",
        lambda: [X, SECOND[1:]],
        says="view 2 has 39 samples, view 1 has 40",
    ),
    Case("values", "NaN", lambda: [X, with_entry(np.nan)], says="the first (nan) at row 3"),
    Case("values", "infinity", lambda: with_entry(-np.inf), says="the first (-inf) at row 3"),
    Case(
        "values",
        "NaN, sparse",
        lambda: scipy.sparse.csc_array(with_entry(np.nan)),
        says="the first (nan) at row 3, column 1",
    ),
    Case(
        "values",
        "NaN, on disk",
        lambda: memory_map(with_entry(np.nan)),
        says="entry (nan) at row 3, column 1",
    ),
    Case("values", "masked entries", lambda: np.ma.masked_equal(X, X[0, 0]), says="or missing"),
    Case("values", "complex", lambda: X + 1j, says="view 1 is complex"),
    Case("values", "complex, on disk", lambda: hdf5(X + 1j), says="complex128 values on disk"),
    Case("values", "strings", lambda: X.astype(str), says="not numbers; encode them"),
    Case(
        "values",
        "one text among objects",
        lambda: with_entry("3.5", object),
        says="holds '3.5' at row 3, column 1",
    ),
    Case("values", "None", lambda: with_entry(None, object), says="holds None at row 3, column 1"),
    Case("values", "dates", lambda: COUNTS.astype("datetime64[s]"), says="datetime64"),
    Case("values", "records", lambda: X.view([("a", float), ("b", float)]), says="not numbers"),
    Case(
        "values",
        "an integer beyond float64",
        lambda: with_entry(10**400, object),
        says="integer beyond the range",
    ),
    Case("pandas", "a column of text", lambda: frame(b="x"), says="holds 'x' at row 0, column 1"),
    Case(
        "pandas",
        "a column of categories",
        lambda: frame(b=pd.Categorical(["x", "y"] * 20)),
        says="holds 'x' at row 0, column 1",
    ),
    Case("pandas", "a missing entry", lambda: frame(b=MISSING), says="row 1, column 1"),
    Case(
        "pandas",
        "other samples",
        lambda: [named(X), named(SECOND, names=[f"case {i}" for i in range(40)])],
        says="0 names are in both, 40 only in view 1 (patient 0, patient 1, patient 2, ...)",
    ),
    Case(
        "pandas",
        "other samples in part, beside an array",
        lambda: [named(X), named(SECOND, slice(3, None)), X],
        says="37 names are in both, 3 only in view 1 (patient 0, patient 1, patient 2), and view 3",
    ),
    Case(
        "pandas",
        "a sample that lacks all views",
        lambda: [named(with_entry(np.nan, column=slice(None))), named(SECOND, [*range(3)])],
        says="sample patient 3 lacks all views: drop it",
    ),
    Case(
        "pandas",
        "a sample twice, beside another frame",
        lambda: [named(X), named(SECOND, names=[*NAMES[:39], NAMES[0]])],
        says="view 2 is a data frame of 40 samples with 39 names",
    ),
    Case(
        "torch",
        "on the meta device",
        lambda: torch.empty(40, 4, device="meta"),
        says="on the device meta",
    ),
    Case("torch", "complex", lambda: torch.tensor(X + 0j), says="view 1 is complex"),
    Case("sizes", "one sample", lambda: X[:1], says="there are only 1 samples"),
    Case(
        "sizes",
        "fewer samples than clusters",
        lambda: X[:7],
        settings={"n_clusters": 8},
        says="n_clusters is 8, but there are only 7 samples",
    ),
    Case(
        "sizes",
        "fewer than two samples a cluster",
        lambda: X[:5],
        settings={"n_clusters": 3},
        says="5 samples are too few for n_clusters = 3: pass at least two a cluster, 6",
    ),
    Case("sizes", "one cluster", lambda: X, settings={"n_clusters": 1}, says="at least 2"),
    Case(
        "sizes",
        "a fraction of clusters",
        lambda: X,
        settings={"n_clusters": 2.5},
        says="it must be an integer",
    ),
]
