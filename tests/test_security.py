"""Files of strangers: nothing in them is run, and they lead to no other file."""

import io
import os
import pickle
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import torch

import dmac
from dmac.compute import checkpoint, files
from dmac.data import datasets, registry
from dmac.data.readers import read_views
from dmac.data.safe_files import open_hdf5
from dmac.solvers.persistence import NAME
from experiments.store import Store

VIEWS = [np.random.default_rng(a).normal(size=(40, 4)) for a in range(2)]


class Malice:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def mark(tmp_path):
    """What a malicious pickle would make; checked to be missing afterwards."""
    path = tmp_path / "run"
    pickle.loads(pickle.dumps(Malice(path)))
    path.rmdir()  # so the pickle does work
    yield path
    assert not path.exists()


def payload(form, mark):
    """The pickle in a form in which a reader might take it."""
    file = io.BytesIO()
    objects = np.array([[Malice(mark)]], object)
    {
        "plain": lambda: pickle.dump(Malice(mark), file),
        "npy": lambda: np.save(file, objects, allow_pickle=True),
        "npz": lambda: np.savez(file, X1=objects, X2=objects, allow_pickle=True),
        "torch": lambda: torch.save({"about": Malice(mark)}, file),
    }[form]()
    return file.getvalue()


READERS = {
    "x.mat": dmac.load,
    "x.npz": dmac.load,
    "y.mat": lambda path: read_views([path]),
    "y.npz": lambda path: read_views([path]),
    "x.npy": lambda path: read_views([path]),
    "z.npy": dmac.load,
    "z.h5": dmac.load,
    "z.csv.gz": dmac.load,
    "labels.npy": lambda path: read_views([path.parent]),
    "x.csv": lambda path: read_views([path]),
    "x.h5": lambda path: read_views([path]),
    "y.h5": open_hdf5,
    "x.safetensors": files.read_tensors,
    NAME: lambda path: dmac.load_model(path.parent),
    checkpoint.NAME: lambda path: dmac.DMAC(3, "revised", 0, "cpu").fit(
        VIEWS, checkpoint=path.parent
    ),
    "x.jsonl": lambda path: Store(path.parent).refresh(),
}


@pytest.mark.parametrize("form", ["plain", "npy", "npz", "torch"])
@pytest.mark.parametrize("name", READERS)
def test_no_reader_runs_a_pickle(name, form, mark, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    if name == "labels.npy":
        np.save(folder / "a.npy", VIEWS[0])
    # Of a store, binary without a line end is a line that was cut off.
    (folder / name).write_bytes(payload(form, mark) + b"\n" * (name == "x.jsonl"))
    with pytest.raises((ValueError, OSError)):
        READERS[name](folder / name)


def test_pickles_inside_of_matlab_and_hdf5_files_are_bytes(mark, tmp_path):
    text = np.frombuffer(pickle.dumps(Malice(mark)), np.uint8)
    scipy.io.savemat(tmp_path / "x.mat", {"X": np.tile(text, (2, 1)), "Y": [1, 2]})
    assert dmac.load(tmp_path / "x.mat").views[0].shape == (2, len(text))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.tile(text, (2, 1))
        file["opaque"] = np.void(text.tobytes())
        file.attrs["pickle"] = np.void(text.tobytes())
    assert read_views([tmp_path / "x.h5"]).views[0].values.shape == (2, len(text))


def by_link(file):
    file["X"] = h5py.ExternalLink("secret.h5", "/x")


def by_link_in_a_group(file):
    file.create_group("a").create_group("b")["X"] = h5py.ExternalLink("secret.h5", "/x")
    file["a/b/self"] = file["a"]
    file["X"] = h5py.SoftLink("/a/b/X")


def by_storage(file):
    place = [(os.path.join(os.path.dirname(file.filename), "secret.bin"), 0, VIEWS[0].nbytes)]
    file.create_dataset("X", VIEWS[0].shape, "f8", external=place)


def by_virtual(file):
    layout = h5py.VirtualLayout(VIEWS[0].shape, "f8")
    layout[:] = h5py.VirtualSource("secret.h5", "x", VIEWS[0].shape)
    file.create_virtual_dataset("X", layout)


@pytest.mark.parametrize("make", [by_link, by_link_in_a_group, by_storage, by_virtual])
@pytest.mark.parametrize("ending", [".h5", ".mat"])
def test_hdf5_files_lead_to_no_other_file(make, ending, tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = VIEWS[0]
    VIEWS[0].tofile(tmp_path / "secret.bin")
    path = tmp_path / f"x{ending}"
    with h5py.File(path, "w") as file:
        make(file)
        np.testing.assert_array_equal(file["X"][()], VIEWS[0])  # so it would be read
    for reader in (lambda path: read_views([path]), dmac.load if ending == ".mat" else open_hdf5):
        with pytest.raises(ValueError, match="which is not followed"):
            reader(path)


def test_links_within_a_file_are_followed_also_in_a_group_that_holds_itself(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["inner/X"], file["X"] = VIEWS[0], h5py.SoftLink("/inner/X")
        file["inner/again"] = file["inner"]
    for name in ("X", "inner/again/X"):
        np.testing.assert_array_equal(open_hdf5(tmp_path / "x.h5")[name][()], VIEWS[0])


def test_paths_inside_archives_stay_inside(tmp_path):
    folder = tmp_path / "inner" / "files"
    folder.mkdir(parents=True)
    buffer = io.BytesIO()
    np.save(buffer, VIEWS[0])
    with zipfile.ZipFile(folder / "x.npz", "w") as archive:
        for name in ("../../x.npy", str(tmp_path / "absolute.npy"), "X.npy"):
            archive.writestr(name, buffer.getvalue())
    before = sorted(tmp_path.rglob("*"))
    with pytest.warns(UserWarning, match=r"\.\./\.\./x was left out|absolute was left out"):
        data = dmac.load(folder / "x.npz")
    assert [x.shape for x in data.views] == [VIEWS[0].shape]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", ["a/../../x.mat", "../x.mat", "/etc/x.mat", "a/..", "x.mat"])
def test_downloads_stay_in_the_cache(path, tmp_path, monkeypatch):
    places = []

    def retrieve(url, known_hash, fname, path, downloader):
        places.append(Path(path, fname))
        assert known_hash == f"sha256:{'a' * 64}"
        return str(places[0])

    monkeypatch.setattr("pooch.retrieve", retrieve)
    monkeypatch.delenv("DMAC_DATA", raising=False)
    monkeypatch.setenv("DMAC_CACHE", str(tmp_path))
    entry = datasets.Dataset("Toy", "owner/name", "c0ffee", path, "a" * 64, "", "")
    monkeypatch.setitem(datasets.DATASETS, "Toy", entry)
    registry.fetch("Toy")
    assert places[0].resolve().parent == tmp_path.resolve()


@pytest.mark.parametrize(
    "url", ["http://example.org", "ftp://example.org", "file:///etc", "http://localhost.a.org"]
)
def test_downloads_are_https(url, monkeypatch):
    assert datasets.BASE_URL.startswith("https://")
    monkeypatch.delenv("DMAC_DATA", raising=False)
    with pytest.raises(ValueError, match="is not https"):
        registry.fetch("PIE", base_url=url)
