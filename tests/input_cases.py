"""Every kind of view that is accepted, and every one that is refused: for the test and the page.

It stands with the tests, since nothing in `dmac` needs it; `book/inputs.md` runs in the repository
and imports it from here, so that the page shows what was tested.
"""

import itertools
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import dask.array
import h5py
import numpy as np
import pandas as pd
import scipy.sparse
import torch
import zarr

import dmac

rng = np.random.default_rng(0)
#: 40 samples around two centres: small counts, which every type of number can hold.
COUNTS = rng.poisson(np.where(np.arange(40)[:, None] % 2, [9, 1, 6, 1], [1, 8, 1, 5])).clip(0, 15)
SECOND = rng.poisson(np.where(np.arange(40)[:, None] % 2, [7, 2, 1, 5, 3, 1], [1, 2, 9, 1, 4, 6]))
X = COUNTS.astype(np.float64)


@dataclass
class Case:
    """One way to pass views.

    ``make`` gives what a user passes to `fit`. Of an accepted one ``equals`` is the view that
    it stands for, where that is not `X`; of a refused one ``says`` is part of the message.
    """

    group: str
    kind: str
    make: object
    equals: object = None
    says: str | None = None
    warns: str | None = None
    settings: dict = field(default_factory=dict)


@dataclass
class Wrapped:
    """Something of another package that NumPy can make an array of."""

    x: object

    def __array__(self, dtype=None, copy=None):
        return self.x.astype(dtype or self.x.dtype)


class Delayed(Wrapped):
    """A frame as dask has it: no numbers until it is asked."""

    compute = columns = index = iloc = None


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


def lazy(x):
    """The array as a Dask array in chunks of ten rows."""
    return dask.array.from_array(x, chunks={0: 10})


def lacking_objects():
    """Numbers as objects, of which two rows are missing."""
    x = SECOND.astype(object)
    x[3], x[7] = None, pd.NA
    return x


def closed():
    """A data set whose file is closed, as after a with block."""
    x = hdf5(X)
    x.file.close()
    return [x, SECOND]


def damaged():
    """A sparse matrix with an entry beyond its columns."""
    x = scipy.sparse.csr_array(X)
    x.indices[0] = 4
    return [x, SECOND]


def read_only(x):
    """The array, which cannot be written to."""
    return np.broadcast_to(x, x.shape)


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
    return pd.DataFrame(COUNTS, columns=list("abcd")).assign(**columns)


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
    "nullable types": lambda: frame().convert_dtypes(),
    "sparse columns": lambda: frame().astype(pd.SparseDtype(float, 0)),
}
#: Names of the samples, and an order in which the second view has them.
NAMES, ORDER = [f"patient {i}" for i in range(40)], rng.permutation(40)


def named(x, order=slice(None), names=NAMES):
    """A view as a data frame with names of samples, in some order."""
    return pd.DataFrame(x, index=names).iloc[order]


def values(kind, x, warns=None):
    """Other numbers than X."""
    return Case("values", kind, lambda: x, equals=x, warns=warns)


DISK = {
    "memory map": lambda: memory_map(X),
    "memory map, float16": lambda: memory_map(X.astype(np.float16)),
    "HDF5 data set": lambda: hdf5(X),
    "Zarr array": lambda: zarr.array(X),
}
ACCEPTED = [
    *(Case("NumPy", kind, make) for kind, make in DENSE.items()),
    Case(
        "NumPy",
        "objects, with None or NA all along a row: that sample lacks the view",
        lambda: [X, lacking_objects()],
    ),
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
    values("few samples, two a cluster", X[:4]),
    Case("a list", "of one view", lambda: [X]),
    Case("a list", "a tuple", lambda: (X,)),
    Case("a list", "an object array of views", lambda: np.array([X, SECOND, None], object)[:2]),
    Case("a list", "of views of several kinds", lambda: [X, scipy.sparse.csr_array(SECOND)]),
    Case("values", "a view of zeros beside another", lambda: [X, np.zeros((40, 2))]),
    Case("values", "a constant view beside another", lambda: [X, np.ones((40, 2))]),
    Case("values", "rows of zeros", lambda: [X, SECOND * (np.arange(40) > 4)[:, None]]),
    values("every sample ten times", np.repeat(X[:4], 10, 0)),
    values(
        "nothing but zeros",
        np.zeros((40, 4)),
        warns="40 of 40 samples are zero in every view|only 1 of 2 clusters have samples",
    ),
    values("around 1e300", 1e300 * X),
    values("denormal, around 1e-310", 1e-310 * X),
    values("one feature", X[:, :1] + 1, warns="view 1 has one feature"),
]

MISSING = pd.array([1.0, None] + [2.0] * 38, dtype="Float64")
#: By their groups: the kind, the view, a part of the message and perhaps settings.
BAD = {
    "views": [
        ("None", lambda: None, "not a NoneType"),
        ("None in a list", lambda: [X, None], "view 2 is a NoneType: pass 2-D arrays"),
        ("a string", lambda: "mfeat", "not a str"),
        (
            "names of files",
            lambda: ["a.csv", Path("b.csv")],
            "view 1 is a str: pass 2-D arrays, as",
        ),
        ("a dictionary", lambda: {"a": X}, "not a dict: pass 2-D arrays"),
        (
            "what dmac.load returns",
            lambda: dmac.load("mfeat"),
            "not a MultiViewData: pass",
        ),
        ("an empty list", list, "no views: the list is empty"),
        (
            "one array of 1 dimension",
            lambda: X[0],
            "Reshape your data with x[:, None]",
        ),
        ("one array of 3", lambda: X[None], "not one of shape (1, 40, 4)"),
        ("1 dimension", lambda: [X, X[:, 0]], "view 2 has 1 dimension(s)"),
        ("3 dimensions", lambda: [X, X[None]], "view 2 has 3 dimension(s)"),
        ("a nested list by itself", X.tolist, "A nested list is a list of views: pass [x]"),
        ("a dictionary in a list", lambda: [{"a": X}], "view 1 is a dict: pass 2-D arrays"),
        ("a generator in a list", lambda: [iter(X)], "view 1 is a"),
        ("a pandas series", lambda: [frame()["a"]], "view 1 has 1 dimension(s)"),
        ("a sparse vector", lambda: [scipy.sparse.coo_array(X[0])], "view 1 has 1 dimension(s)"),
        ("rows of two lengths", lambda: [[[1, 2], [3]]], "rows of different lengths"),
        ("no samples", lambda: [X[:0]], "view 1 has no samples"),
        ("no features", lambda: [X, X[:, :0]], "view 2 has no features"),
        ("other numbers of samples", lambda: [X, SECOND[1:]], "view 2 has 39 samples"),
    ],
    "values": [
        ("NaN", lambda: [X, with_entry(np.nan)], "the first (nan) at row 3"),
        ("infinity", lambda: with_entry(-np.inf), "the first (-inf) at row 3"),
        (
            "NaN, sparse",
            lambda: scipy.sparse.csc_array(with_entry(np.nan)),
            "(nan) at row 3, column 1",
        ),
        (
            "NaN, on disk",
            lambda: memory_map(with_entry(np.nan)),
            "(nan) at row 3, column 1 (views are counted from 1, rows and columns from 0); fill",
        ),
        ("a data set of a file that was closed", closed, "view 1 is in an HDF5 file that was cl"),
        ("masked entries", lambda: np.ma.masked_equal(X, X[0, 0]), "or missing"),
        ("complex", lambda: X + 1j, "view 1 holds complex128 values, not real numbers"),
        (
            "complex, sparse",
            lambda: scipy.sparse.csr_matrix(X + 1j),
            "view 1 holds complex128 values",
        ),
        ("strings, on disk", lambda: hdf5(X.astype("S3")), "view 1 holds |S3 values, not real"),
        ("1 dimension, on disk", lambda: [X, hdf5(X[0])], "view 2 has 1 dimension(s)"),
        ("complex, on disk", lambda: hdf5(X + 1j), "view 1 holds complex128 values"),
        ("strings", lambda: X.astype(str), "values, not real numbers: pass codes of words"),
        ("one text among objects", lambda: with_entry("3.5", object), "'3.5' at row 3, column 1"),
        ("an array", lambda: with_entry(np.ones((40, 9)), object), "view 1 holds array([["),
        ("None", lambda: with_entry(None, object), "(nan) at row 3, column 1"),
        (
            "NaN for a feature",
            lambda: [X, with_entry(np.nan, row=slice(None))],
            "(nan) at row 0, column 1 (views are counted from 1, rows and columns from 0); fill "
            "them in, or drop the sample or the feature",
        ),
        (
            "None for a row, to a network",
            lambda: [[None, *X[1:].tolist()], SECOND],
            "the whole row is NaN, and only dmac.AnchorGraphClustering",
            {"recipe": "revised"},
        ),
        (
            "a row of NaN on disk, to a network",
            lambda: [memory_map(with_entry(np.nan, column=slice(None))), SECOND],
            "the whole row is NaN, and only dmac.AnchorGraphClustering",
            {"recipe": "revised"},
        ),
        ("a sparse matrix that is damaged", damaged, "view 1 is a sparse matrix that is damaged"),
        ("dates", lambda: COUNTS.astype("datetime64[s]"), "datetime64"),
        ("records", lambda: X.view([("a", float), ("b", float)]), "not real numbers"),
        ("a table of records", lambda: [frame().to_records()], "pandas.DataFrame(x) of records"),
        (
            "an integer beyond float64",
            lambda: with_entry(10**400, object),
            "integer beyond the range",
        ),
    ],
    "pandas": [
        ("a column of text", lambda: frame(b="x"), "'x' at row 0, column 1"),
        (
            "a column of categories",
            lambda: frame(b=pd.Categorical(["x", "y"] * 20)),
            "'x' at row 0, column 1",
        ),
        ("a missing entry", lambda: frame(b=MISSING), "row 1, column 1"),
        (
            "a frame of dask",
            lambda: [X, Delayed(X)],
            "a Delayed: pass 2-D arrays, as adata.X or mdata[name].X of cells, x.compute()",
        ),
        (
            "other samples",
            lambda: [named(X), named(SECOND, names=[f"case {i}" for i in range(40)])],
            "0 names are in both, 40 only in view 1 (patient 0, patient 1, patient 2, ...)",
        ),
        (
            "other samples in part, beside an array",
            lambda: [named(X), named(SECOND, slice(3, None)), X],
            "view 3 has no names of samples, and the other views have",
        ),
        (
            "a sample that lacks all views",
            lambda: [named(with_entry(np.nan, column=slice(None))), named(SECOND, [*range(3)])],
            "sample patient 3 lacks all views: remove it",
        ),
        (
            "a name that is missing, beside another frame",
            lambda: [named(X), named(SECOND, names=[*NAMES[:39], None])],
            "view 2 names samples twice, or not at all (nan), and views are",
        ),
        (
            "a sample twice, beside another frame",
            lambda: [named(X), named(SECOND, names=[*NAMES[:39], NAMES[0]])],
            "view 2 names samples twice, or not at all ('patient 0'), and",
        ),
    ],
    "torch": [
        ("on the meta device", lambda: torch.empty(40, 4, device="meta"), "on the device meta"),
        (
            "complex",
            lambda: torch.tensor(X + 0j),
            "view 1 holds complex128 values, not real numbers",
        ),
        ("sparse, 3 dimensions", lambda: [torch.tensor(X[None]).to_sparse()], "3 dimension(s)"),
    ],
    "Dask": [
        (
            "to a network",
            lambda: lazy(X),
            "view 1 is a Dask array, which only dmac.AnchorGraphClustering takes: pass numpy.asarr",
            {"recipe": "revised"},
        ),
        (
            "beside an array",
            lambda: [lazy(X), SECOND],
            "view 2 is no Dask array (ndarray), and other views are: pass all of them",
        ),
        ("a size that is unknown", lambda: lazy(X)[lazy(X)[:, 0] > 3], "x.compute_chunk_sizes()"),
        (
            "sparse chunks",
            lambda: lazy(X).map_blocks(scipy.sparse.csr_matrix),
            "view 1 has chunks of the type csr_matrix: make them NumPy arrays by x.map_blocks",
        ),
        ("complex", lambda: lazy(X + 1j), "view 1 holds complex128 values, not real numbers"),
        ("3 dimensions", lambda: [lazy(X[None])], "view 1 has 3 dimension(s)"),
        ("other numbers of samples", lambda: [lazy(X), lazy(SECOND[1:])], "view 2 has 39 samples"),
        (
            "NaN in a block",
            lambda: [lazy(X), lazy(with_entry(np.nan, row=33))],
            "view 2 has NaN or infinite (or missing) entries, 1 in one block, the first (nan) at"
            " row 33, column 1",
        ),
    ],
    "sizes": [
        ("one sample", lambda: X[:1], "there are only 1 samples"),
        (
            "fewer samples than clusters",
            lambda: X[:7],
            "there are only 7 samples",
            {"n_clusters": 8},
        ),
        (
            "fewer than two samples a cluster",
            lambda: X[:5],
            "at least two a cluster, 6",
            {"n_clusters": 3},
        ),
        ("one cluster", lambda: X, "at least 2", {"n_clusters": 1}),
        ("a fraction of clusters", lambda: X, "it must be an integer", {"n_clusters": 2.5}),
    ],
    "settings": [
        ("a negative seed", lambda: X, "random_state is -1: it must be", {"random_state": -1}),
        ("text for a seed", lambda: X, "a numpy.random.RandomState, or", {"random_state": "0"}),
        ("a device of no use", lambda: X, "device 'meta' is not usable here", {"device": "meta"}),
        ("no device", lambda: X, "here: pass 'cpu', 'cuda' or 'auto'", {"device": "gpu"}),
    ],
}
REFUSED = [
    Case(group, *case[:2], says=case[2], settings=dict(*case[3:]))
    for group, cases in BAD.items()
    for case in cases
]
