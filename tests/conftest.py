"""Settings of the whole test run."""

import contextlib
import json
import os

# As `make test` has it, before anything that computes is loaded: threads that wait for each other
# take a core from the other processes of the run.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import chromium
import h5py
import hypothesis
import numpy as np
import pytest
import torch
import zarr

from dmac import load_model
from dmac.command_line import main

ROOT = Path(__file__).resolve().parent.parent
#: Files of tests that take a minute and more, the longest first.
LONG = (
    *("test_print_book.py", "test_book.py", "test_report.py", "test_sklearn_contract.py"),
    *("test_dask.py", "test_types.py"),
)

# `experiments` for the processes that tests start, too.
_PATHS = (str(ROOT / "notebooks"), os.environ.get("PYTHONPATH"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, _PATHS))

hypothesis.settings.register_profile(
    "dmac", max_examples=40, deadline=None, derandomize=True, print_blob=True
)
hypothesis.settings.load_profile("dmac")


def pytest_collection_modifyitems(items):
    """Long files come first, then notebooks, or at the end one process works alone."""

    def place(item):
        return (*LONG, item.path.name).index(item.path.name), item.path.suffix != ".ipynb"

    items.sort(key=place)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data files named by DMAC_DATA; without one the test is skipped."""
    return Path(
        os.environ.get("DMAC_DATA")
        or pytest.skip("set DMAC_DATA to the folder of data files to run this test")
    )


@pytest.fixture(scope="module")  # its event loop would be in the way of other files' tests
def browser():
    """One running Chromium for the tests of a file; where there is none they are skipped."""
    if chromium.find() is None:
        pytest.skip(chromium.HELP)
    with chromium.started() as running:
        yield running


@pytest.fixture(scope="session")
def rendered():
    """When the book was rendered; without one, or with one of other sources, tests are skipped."""
    from portable import RENDERED, digests

    if not RENDERED.exists():
        pytest.skip("the book is not rendered: run make book first")
    before, now = json.loads(RENDERED.read_text("utf-8")), digests()
    if changed := [name for name in {**before, **now} if before.get(name) != now.get(name)]:
        pytest.skip(f"the book has another {min(changed)}: run make book first")
    return RENDERED.stat().st_mtime


@pytest.fixture
def generator():
    """A seeded generator on the CPU."""
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def small_views():
    """Three views of 90 samples around 3 well separated centres, and their classes."""
    classes = torch.arange(90) % 3
    options = {"generator": torch.Generator().manual_seed(3), "dtype": torch.float64}
    views = (
        4 * torch.randn(3, d, **options)[classes] + 0.5 * torch.randn(90, d, **options)
        for d in (7, 5, 9)
    )
    return [x.numpy() for x in views], classes.numpy()


@pytest.fixture(scope="session")
def views(small_views):
    """The three views alone."""
    return small_views[0]


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run a command in a folder of its own: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(part) for part in arguments])
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def ok(call):
    """Run a command that has to end well: what it writes to the standard output."""

    def run(*arguments):
        code, out, err = call(*arguments)
        assert code == 0, err
        return out

    return run


@pytest.fixture
def saved(tmp_path):
    """Save a model, and read it again."""

    def again(model):
        model.save(tmp_path)
        return load_model(tmp_path)

    return again


@pytest.fixture
def on_disk(tmp_path):
    """Write the views as memory maps, into one HDF5 file or as Zarr arrays, and open them."""
    ways = {
        "npy": (np.save, lambda place: np.load(place, mmap_mode="r")),
        "zarr": (zarr.save_array, lambda place: zarr.open_array(place, mode="r")),
    }
    with contextlib.ExitStack() as files:

        def write(kind, arrays):
            if kind == "h5":
                file = files.enter_context(h5py.File(tmp_path / "views.h5", "w"))
                return [file.create_dataset(str(a), data=x) for a, x in enumerate(arrays)]
            save, read = ways[kind]
            places = [tmp_path / f"{a}.{kind}" for a in range(len(arrays))]
            for place, x in zip(places, arrays):
                save(place, x)
            return [read(place) for place in places]

        yield write
