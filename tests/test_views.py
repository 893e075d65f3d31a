"""Loading of views, and what is known of the registered ones."""

import hashlib
import os
from pathlib import Path

import make_mfeat
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse

from dmac import views
from dmac.data.datasets import DATASETS, KINDS, Dataset
from dmac.views import MultiViewData, load

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.filterwarnings("ignore:.* do not name their samples")


def real(filename):
    """A file under the folder named by DMAC_DATA; skips the test where there is none."""
    folder = os.environ.get("DMAC_DATA")
    found = sorted(Path(folder).rglob(filename)) if folder else []
    return (found or pytest.skip(f"{filename} is not in the folder named by DMAC_DATA"))[0]


def load_real(name):
    real(DATASETS[name].filename)
    return load(name)


# --- the embedded data set and the registered ones


def test_mfeat():
    data = load()
    assert (data.name, data.n_samples, data.n_views, data.n_clusters) == ("mfeat", 2000, 6, 10)
    assert all(x.dtype == np.float64 and x.flags.c_contiguous for x in data.views)
    assert data.labels.dtype == np.int64
    np.testing.assert_array_equal(data.labels, np.repeat(np.arange(10), 200))
    assert data.views[0][0, 0] == 0.065882 and data.views[5][0, 5] == 1620.2
    assert repr(data) == "MultiViewData('mfeat', n=2000, dims=(76, 216, 64, 240, 47, 6), c=10)"


def test_mfeat_equals_handwritten_to_five_digits():
    full, rounded = load_real("HandWritten"), load("MFEAT")
    np.testing.assert_array_equal(full.labels, rounded.labels)
    for x in rounded.views:
        (other,) = [y for y in full.views if y.shape == x.shape]
        # half a unit of the fifth digit is at most 5e-5 of the value; the CSV stop at 7 decimals
        np.testing.assert_allclose(x, other, rtol=5e-5 * (1 + 1e-9), atol=5e-8)


def test_script_makes_the_embedded_file_byte_for_byte(tmp_path):
    made = make_mfeat.make(real("mfeat-fou.csv").parent, tmp_path / "mfeat.npz").read_bytes()
    kept = (ROOT / "dmac" / "data" / "mfeat.npz").read_bytes()
    assert hashlib.sha256(made).digest() == hashlib.sha256(kept).digest()


def test_attribution_stands_beside_the_data():
    text = (ROOT / "dmac" / "data" / "README.md").read_text(encoding="utf-8")
    for part in ("Duin", "UCI Machine Learning Repository", "10.24432/C5HC70", "CC BY 4.0"):
        assert part in text


def test_sets_that_are_the_same_samples():
    """Means over data sets count each of these pairs once."""
    five, six = load_real("MSRC-v1-5view"), load_real("MSRC-v1-6view")
    np.testing.assert_array_equal(five.labels, six.labels)
    gist = [next(x for x in data.views if x.shape[1] == 512) for data in (five, six)]
    alike = np.corrcoef(*gist)[:210, 210:]  # an image is most like itself
    np.testing.assert_array_equal(alike.argmax(1), np.arange(210))
    whole, part = load_real("Wiki"), load_real("WikipediaArticles")
    for x, y in zip(*([*data.views, data.labels] for data in (whole, part)), strict=True):
        np.testing.assert_array_equal(x[2173:2866], y)


def test_available_by_kind():
    groups = views.available(by_kind=True)
    assert list(groups) == list(KINDS) and min(map(len, groups.values())) > 0
    assert sorted(name for names in groups.values() for name in names) == sorted(views.available())
    assert {"mfeat", "PIE"} < set(groups["images"]) and "ROSMAP-351" in groups["omics"]


def test_a_registered_entry_says_what_to_read(tmp_path, monkeypatch):
    path = tmp_path / "odd.npz"
    np.savez(path, rna=np.eye(4), protein=np.ones((4, 2)), kind_of=[3, 3, 5, 5], more=np.ones(2))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    more = dict(views_key=("protein", "rna"), labels_key="kind_of", kind="cells", made="by a test")
    monkeypatch.setitem(
        DATASETS, "Odd", Dataset("Odd", "o/n", "", "odd.npz", digest, "", "", **more)
    )
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    data = load("odd")
    assert data.dims == (2, 4) and data.n_clusters == 2
    data = load("odd", views_key="rna", labels_key=False)
    assert data.dims == (4,) and data.labels is None


def test_load_reads_what_the_command_line_reads(tmp_path):
    rng, classes = np.random.default_rng(0), np.arange(12) % 3
    tables = {"mirna": rng.normal(size=(12, 2)), "rna": rng.normal(size=(12, 3))}
    names = [f"s{i}" for i in range(12)]
    for name, x in tables.items():
        pd.DataFrame(x, names).to_csv(tmp_path / f"{name}.csv")
    (tmp_path / "labels.csv").write_text("\n".join(map(str, classes)))
    files = [tmp_path / f"{name}.csv" for name in (*tables, "labels")]
    for source in (tmp_path, files):
        data = load(source)
        assert {(type(x), x.dtype.name) for x in data.views} == {(np.ndarray, "float64")}
        np.testing.assert_equal(data.views, [*tables.values()])
        assert data.names == ["mirna", "rna"] and data.samples == names
        np.testing.assert_array_equal(data.labels, classes)
    assert load(files, labels_key=False).labels is None  # and nothing is said of the classes
    data = load(str(tmp_path), views_key="rna")
    assert (data.name, data.names) == (tmp_path.name, ["rna"])
    assert load(str(files[0])).name == "mirna"


def test_load_errors(tmp_path):
    assert views.available() == ["mfeat", *DATASETS]
    gone, bad = tmp_path / "gone", tmp_path / "bad.npz"
    np.savez(bad, X1=np.array([[1.0, np.nan]]), Y=[0])
    for source, kind, message in (
        *(
            (odd, ValueError, "source is .*, it must be a name or a path")
            for odd in (3, None, b"mfeat", [], [3])
        ),
        ("mfeet", ValueError, "'mfeet'.*mfeat, PIE.*did you mean 'mfeat'"),
        (tmp_path / "gone.mat", FileNotFoundError, r"gone\.mat"),
        ([gone], FileNotFoundError, "no file or folder .*gone"),
        (gone, ValueError, "neither a known name .* nor the path of a file or folder"),
        (bad, ValueError, r"bad\.npz: view 1 \(X1\) has NaN"),
    ):
        with pytest.raises(kind, match=message):
            load(source)


def test_multi_view_data_says_when_a_view_is_sparse():
    data = MultiViewData("toy", [np.ones((2, 3)), scipy.sparse.csr_matrix((2, 4))])
    assert repr(data) == "MultiViewData('toy', n=2, dims=(3, 4), c=None, sparse)"
