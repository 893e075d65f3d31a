"""Files that people have: what is read from them, and what is said where that is not clear."""

import re

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from dmac.data.readers import ENDINGS, natural, read_csv, read_views

RNG = np.random.default_rng(0)
VIEWS = [np.abs(RNG.normal(size=(12, d))).round(3) for d in (3, 2)]
LABELS = np.arange(12) % 3


def write_mat(folder):
    scipy.io.savemat(folder / "all.mat", {"X1": VIEWS[0], "X2": VIEWS[1], "Y": LABELS + 1})
    return [folder / "all.mat"]


def write_npz(folder):
    np.savez(folder / "all.npz", X1=VIEWS[0], X2=VIEWS[1], labels=LABELS)
    return [folder / "all.npz"]


def write_npy(folder):
    for a, x in enumerate([*VIEWS, LABELS]):
        np.save(folder / ("labels.npy" if a == 2 else f"{a}.npy"), x)
    return [folder]


def write_csv(folder, delimiter=",", ending=".csv"):
    for a, x in enumerate(VIEWS):
        rows = [delimiter.join(map(repr, row)) for row in x.tolist()]
        (folder / f"view{9 + a}{ending}").write_text("\n".join(rows) + "\n")
    (folder / f"labels{ending}").write_text("class\n" + "\n".join(f"k{y}" for y in LABELS))
    return [folder]


def write_tsv(folder):
    return write_csv(folder, "\t", ".tsv")


def write_h5(folder):
    with h5py.File(folder / "all.h5", "w") as file:
        file["views/a9"], file["views/a10"], file["truth"] = *VIEWS, LABELS
        file["about"] = "text"
    return [folder / "all.h5"]


WRITERS = [write_mat, write_npz, write_npy, write_csv, write_tsv, write_h5]


@pytest.mark.parametrize("write", WRITERS)
def test_the_same_views_from_every_kind_of_file(write, tmp_path):
    paths = write(tmp_path)
    found = read_views(paths)
    assert len(found.views) == len(found.names) == 2
    for x, expected in zip(found.views, VIEWS):
        np.testing.assert_array_equal(np.asarray(x), expected)
    np.testing.assert_array_equal(found.labels, LABELS)
    assert found.samples is None
    assert read_views(paths, labels_key=False).labels is None


def test_several_files_are_read_in_the_order_given(tmp_path):
    write_csv(tmp_path)
    found = read_views([tmp_path / "view10.csv", tmp_path / "view9.csv"])
    assert found.names == ["view10", "view9"] and found.labels is None
    assert found.views[0].shape == (12, 2)
    assert sorted(["view10", "view9", "View1"], key=natural) == ["View1", "view9", "view10"]


@pytest.mark.parametrize(
    "text, shape, samples",
    [
        ("1,2\n3,4\n", (2, 2), None),
        ("a,b\n1,2\n3,4\n", (2, 2), None),
        ("\ufeffa;b\r\n1;2\r\n3;4\r\n\r\n", (2, 2), None),
        ("name,a,b\nx,1,2\ny,3,4\n", (2, 2), ["x", "y"]),
        (",0,1\n7,1,2\n8,3,4\n", (2, 2), ["7", "8"]),  # as pandas writes it
        ("id,a,b\n1,1,2\n2,3,4\n", (2, 2), ["1", "2"]),
        ("x,1,2\ny,3,4\n", (2, 2), ["x", "y"]),
        ('"x, 1",1,2\n"y",3,4\n', (2, 2), ["x, 1", "y"]),
        ("a\n1\n3\n", (2, 1), None),
        ("1e-3, -2\n+3,4.\n", (2, 2), None),
    ],
)
def test_headers_and_names_of_samples(text, shape, samples, tmp_path):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8", newline="")
    x, found = read_csv(tmp_path / "x.csv")
    assert x.shape == shape and found == samples
    assert x[1].tolist() == [3, 4][: shape[1]]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "x.csv is empty"),
        ("a,b\n", "a header and no samples"),
        ("1,2\n3\n", "line 2 has 1 cells, the lines before it have 2"),
        ("1,2\n3,\n", "line 2, column 2 is empty"),
        ("a,b\n1,2\n3,no\n", "line 3, column 2 holds 'no', not a number"),
        ("1,2\n3,nan\n", "line 2, column 2 holds 'nan'"),
        ("1,2\n3,inf\n", "line 2, column 2 holds 'inf'"),
        ("x\ny\n", "no column of numbers"),
    ],
)
def test_bad_tables_are_refused_with_line_and_column(text, message, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=f"x.csv.*{re.escape(message)}|{re.escape(message)}"):
        read_csv(tmp_path / "x.csv")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe1,2\n")
    with pytest.raises(ValueError, match="x.csv is not a table of text"):
        read_csv(tmp_path / "x.csv")


def test_samples_in_another_order_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\np,1\nq,2\n")
    (tmp_path / "b.csv").write_text("id,x\np,1\nq,2\n")
    assert read_views([tmp_path]).samples == ["p", "q"]
    (tmp_path / "b.csv").write_text("id,x\nq,2\np,1\n")
    with pytest.raises(ValueError, match="a.csv and .*b.csv do not name the same.*at sample 1"):
        read_views([tmp_path])
    (tmp_path / "b.csv").write_text("id,x\np,1\n")
    with pytest.raises(ValueError, match="at sample 2"):
        read_views([tmp_path])


def test_what_is_not_clear_is_said(tmp_path):
    def refused(match, *paths, error=ValueError, **options):
        with pytest.raises(error, match=match):
            read_views([tmp_path / path for path in paths], **options)

    refused("no file or folder .*lost.csv", "lost.csv", error=FileNotFoundError)
    refused("no files", *())
    refused("has no file that ends in .csv, .tsv, .npy", "")
    (tmp_path / "a.txt").touch()
    refused(f"none of the known endings: {', '.join(ENDINGS)}", "a.txt")
    for name in ("y", "labels"):
        (tmp_path / f"{name}.csv").write_text("1\n2\n")
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    refused("both have the name of known classes", "")
    (tmp_path / "b.npy").write_bytes(b"nothing")
    refused("b.npy cannot be read as an array", "b.npy")
    (tmp_path / "b.h5").write_bytes(b"nothing")
    refused("b.h5 cannot be read: it is no HDF5 file", "b.h5")
    write_h5(tmp_path)
    refused(
        "no table of numbers lost. The file has about .*views/a9 ", "all.h5", views_key=["lost"]
    )
    refused("there is no such data set", "all.h5", labels_key="lost")
    with h5py.File(tmp_path / "all.h5", "a") as file:
        file["y"] = LABELS
    refused(r"several may be the known classes \(truth, y\)", "all.h5")
    assert read_views([tmp_path / "all.h5"], labels_key="y").labels.tolist() == LABELS.tolist()


def test_bad_labels_of_their_own_file_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", VIEWS[0])
    np.save(tmp_path / "labels.npy", np.where(LABELS, LABELS, np.nan))
    with pytest.raises(ValueError, match=r"labels\.npy: .*(NaN|nan)"):
        read_views([tmp_path])


def test_names_of_classes_are_read_from_hdf5(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"], file["label"] = VIEWS[0], [f"k{y}" for y in LABELS]
    found = read_views([tmp_path / "x.h5"])
    assert found.names == ["x"] and found.labels.tolist() == LABELS.tolist()


def test_views_of_cells(tmp_path):
    anndata = pytest.importorskip("anndata", reason="needs the extra: pip install 'dmac[cells]'")
    names = [f"cell {i}" for i in range(12)]
    cells = anndata.AnnData(scipy.sparse.csr_matrix(VIEWS[0]))
    cells.obs_names, cells.obs["kind"] = names, [f"k{y}" for y in LABELS]
    cells.obsm["protein"], cells.obsm["X_pca"] = VIEWS[1], VIEWS[1]
    with anndata.settings.override(allow_write_nullable_strings=True):  # the strings of pandas 3
        cells.write_h5ad(tmp_path / "cells.h5ad")
    found = read_views([tmp_path / "cells.h5ad"], labels_key="kind")
    assert found.names == ["X", "protein"] and found.samples == names
    assert found.labels.tolist() == LABELS.tolist()
    np.testing.assert_array_equal(found.views[0].toarray(), VIEWS[0])
    np.testing.assert_array_equal(found.views[1], VIEWS[1])
    found = read_views([tmp_path / "cells.h5ad"], views_key=["X_pca"])
    assert found.names == ["X_pca"] and found.labels is None
    with pytest.raises(ValueError, match="has no view lost; it has X, "):
        read_views([tmp_path / "cells.h5ad"], views_key=["lost"])
    with pytest.raises(ValueError, match="obs has no column lost"):
        read_views([tmp_path / "cells.h5ad"], labels_key="lost")


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_cells_that_all_modalities_have(tmp_path):
    anndata = pytest.importorskip("anndata", reason="needs the extra: pip install 'dmac[cells]'")
    mudata = pytest.importorskip("mudata", reason="needs the extra: pip install 'dmac[cells]'")
    parts = {}
    for name, x, rows in (("rna", VIEWS[0], range(12)), ("atac", VIEWS[1], range(11, 1, -1))):
        part = anndata.AnnData(x[list(rows)])
        part.obs_names = [f"cell {i}" for i in rows]
        part.var_names = [f"{name} {j}" for j in range(x.shape[1])]
        parts[name] = part
    with anndata.settings.override(allow_write_nullable_strings=True):
        mudata.MuData(parts).write(tmp_path / "cells.h5mu")
    found = read_views([tmp_path / "cells.h5mu"])
    assert found.names == ["rna", "atac"] and len(found.samples) == 10
    rows = [int(name.split()[1]) for name in found.samples]
    for x, expected in zip(found.views, VIEWS):
        np.testing.assert_array_equal(x, expected[rows])


@pytest.mark.parametrize("ending, package", [(".h5ad", "anndata"), (".h5mu", "mudata")])
def test_hdf5_without_cells_is_refused(ending, package, tmp_path):
    pytest.importorskip(package, reason="needs the extra: pip install 'dmac[cells]'")
    path = tmp_path / f"cells{ending}"
    with h5py.File(path, "w") as file:
        file["X"] = "no cells"
    with pytest.raises(ValueError, match=f"cells{ending} cannot be read by {package}: "):
        read_views([path])


def test_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    (tmp_path / "cells.h5ad").touch()
    with pytest.raises(ImportError, match=r"pip install 'dmac\[cells\]'"):
        read_views([tmp_path / "cells.h5ad"])


@pytest.mark.parametrize("header", ["", "id,a,b\n"])
def test_a_row_of_nothing_is_a_missing_row(header, tmp_path):
    file = tmp_path / "view.csv"
    file.write_text(f"{header}p,,\nq,1,2\nr,NaN,nan\n")
    x, samples = read_csv(file)
    np.testing.assert_array_equal(x, [[np.nan] * 2, [1, 2], [np.nan] * 2])
    assert samples == ["p", "q", "r"]
    file.write_text("NaN,NaN\n1,2\n")
    np.testing.assert_array_equal(read_csv(file)[0], [[np.nan] * 2, [1, 2]])
    file.write_text(f"{header}p,,2\nq,1,2\n" if header else "1,2\n,3\n")
    with pytest.raises(ValueError, match="is empty; .*write NaN in the whole row"):
        read_csv(file)
