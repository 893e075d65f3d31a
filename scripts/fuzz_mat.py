"""Damaged .mat and .npz files, mutated where they reach new code: `make fuzz-mat` runs it.

libFuzzer mutates small files of every format that MATLAB and NumPy write, and keeps those that
reach new branches of the reader's Python code. Whatever the bytes are,
:func:`dmac.data.readers.read_views` has to return views that can be checked or raise a
``ValueError``. Anything else stops the run, as a crash, a hang of 20 s or more than 4 GB do; the
file is then left in the folder that is named.

    python scripts/fuzz_mat.py FOLDER [SECONDS]
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dmac.data", "scipy.io.matlab"]):
    import scipy.io.matlab

    from dmac.data.checks import check_views
    from dmac.data.readers import read_views

import h5py
import numpy as np
import scipy.io
import scipy.sparse

SCRATCH = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())


def written(kind, save, *arguments, **options):
    """The bytes of a file, after the one that names its format."""
    file = io.BytesIO()
    save(file, *arguments, **options)
    return kind + file.getvalue()


def seeds():
    """One small file of every format and layout."""
    rng = np.random.default_rng(0)
    dense, counts = rng.normal(size=(6, 3)), scipy.sparse.csc_matrix(rng.poisson(0.5, (6, 4)) * 1.0)
    labels = np.arange(6) % 2
    cell = np.empty((1, 2), object)
    cell[:] = [[dense, counts]]
    variables = {"X": cell, "Y": labels[:, None]}
    for settings in ({}, {"do_compression": True}):
        yield written(b"m", scipy.io.savemat, variables, **settings)
        odd = {"X1": dense + 1j, "X2": dense > 0, "gt": "abc"}
        yield written(b"m", scipy.io.savemat, odd, **settings)
    yield written(b"m", scipy.io.savemat, {"X1": dense, "Y": labels[:, None]}, format="4")
    for save in (np.savez, np.savez_compressed):
        yield written(b"z", save, X1=dense, X2=dense.astype("f4"), labels=labels)
    for options in ({}, {"compression": "gzip", "chunks": (2, 2)}):
        file = io.BytesIO()
        with h5py.File(file, "w") as hdf5:
            refs = hdf5.create_group("#refs#")
            refs.create_dataset("a", data=dense.T, **options)
            group = refs.create_group("b")
            group.attrs["MATLAB_sparse"] = np.uint64(6)
            group["jc"], group["ir"], group["data"] = counts.indptr, counts.indices, counts.data
            targets = np.array([[refs["a"].ref], [refs["b"].ref]], h5py.ref_dtype)
            hdf5.create_dataset("X", data=targets, dtype=h5py.ref_dtype)
            hdf5["Y"] = labels[None].astype(float)
            hdf5["Y"].attrs["MATLAB_class"] = np.bytes_("double")
        yield b"m" + file.getvalue()


def read(data):
    """Read the bytes as a file; errors other than ValueError are findings."""
    path = SCRATCH / f"fuzz-{NAME}{'.npz' if data[:1] == b'z' else '.mat'}"
    path.write_bytes(data[1:])
    for settings in ({}, {"transposed": False, "labels_key": False}):
        with contextlib.suppress(ValueError):
            read = read_views([path], **settings)
            check_views(read.views)
            assert read.labels is None or len(read.labels) == read.views[0].values.shape[0]


if __name__ == "__main__":
    folder, seconds = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "600"
    NAME = folder.name
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds()):
        (folder / "corpus" / f"seed{number}").write_bytes(data)
        read(data)
    options = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-max_len=20000"]
    options += ["-print_final_stats=1", f"-artifact_prefix={folder}/", str(folder / "corpus")]
    atheris.Setup([sys.argv[0], *options], read)
    atheris.Fuzz()
