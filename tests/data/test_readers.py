"""Files that people have: what is read from them, and what is said where that is not clear.

Nearly all of it is the table of cases in `reader_cases.py`.
"""

import gzip
import re
import sys
import warnings

import h5py
import numpy as np
import pandas as pd
import pytest
import reader_cases
import scipy.io
import scipy.sparse
from reader_cases import BROUGHT, CASES, CLASSES, INPUTS, PLACES, VIEWS, WORDS, N

import dmac
from dmac.data.checks import check_views
from dmac.data.readers import read_views


def read(paths, **options):
    """What is read and checked, and all warnings in one text."""
    with warnings.catch_warnings(record=True, action="always") as said:
        found = read_views(paths, **options)
        checked = check_views(found.views, incomplete=True)
    return found, checked, "\n".join(str(x.message) for x in said)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_what_is_read(case, tmp_path):
    paths = case.write(tmp_path)
    if case.error:
        with warnings.catch_warnings(action="ignore"), pytest.raises(Exception) as raised:
            read(paths, **case.options)
        assert re.search(case.error, str(raised.value), re.S), raised.value
        assert isinstance(raised.value, (ValueError, OSError))
        return
    found, checked, said = read(paths, **case.options)
    if case.warns or PLACES not in said:
        assert re.search(case.warns or r"\A\Z", said), said
    views = found.views
    expected = {
        "names": [x.name for x in views],
        "samples": views[0].samples,
        "features": [x.features for x in views],
        "lacking": [int(0 if x.present is None else (~x.present).sum()) for x in views],
        "known": found.known,
        "classes": None if found.labels is None else found.labels.tolist(),
    }
    for name, value in expected.items():
        wanted = getattr(case, name)
        wanted = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
        assert wanted is ... or value == wanted, name
    if case.values is not ...:
        for x, wanted in zip(checked, case.values, strict=True):
            np.testing.assert_array_equal(x, wanted)
    if case.left_out is not ...:
        assert sorted(found.left_out) == sorted(case.left_out)
        for name in case.left_out if isinstance(case.left_out, dict) else ():
            assert case.left_out[name] in found.left_out[name]
    if case.left_out not in (..., []) or any(
        x in case.options for x in ("views_key", "labels_key", "columns")
    ):
        return
    with warnings.catch_warnings(action="ignore"):  # by its names the same is read again
        again = read_views(paths, views_key=[x.name for x in views], **case.options)
    assert [x.values.shape for x in again.views] == [x.values.shape for x in views]


@pytest.mark.skipif(not INPUTS.is_dir(), reason="these files are in no copy of the project")
@pytest.mark.parametrize(("paths", "options", "n", "widths", "classes"), BROUGHT)
def test_files_of_the_trade(paths, options, n, widths, classes):
    paths = [INPUTS / path for path in paths]
    if any(path.suffix in (".h5ad", ".h5mu") for path in paths):
        pytest.importorskip("mudata", reason="needs the extra: pip install 'dmac[cells]'")
    if isinstance(n, str):
        with pytest.raises(ValueError, match=n):
            read(paths, **options)
        return
    found, checked, _ = read(paths, **options)
    assert sorted(x.shape for x in checked) == sorted((n, d) for d in widths)
    assert (None if found.labels is None else found.labels.max() + 1) == classes


def test_dmac_load_tells_what_is_left_out(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"X1": VIEWS[0], "X2": VIEWS[1], "Z": VIEWS[0]})
    with pytest.warns(UserWarning, match="Z was left out, since by their .* views_key= names"):
        assert dmac.load(tmp_path / "x.mat").n_views == 2


def test_a_damaged_byte_anywhere_in_hdf5_is_an_error_of_ours_or_none(tmp_path):
    path = tmp_path / "all.h5"
    reader_cases.write_arrays(path, reader_cases.FILES["HDF5"]["all.h5"])
    content, errors = path.read_bytes(), 0
    for at in range(0, len(content), 41):
        path.write_bytes(content[:at] + b"\xf3" + content[at + 1 :])
        try:
            read([path])
        except ValueError as error:
            assert re.search("all.h5|view", str(error))
            errors += 1
    assert errors > 10


def test_a_file_of_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    for name in ("view9.csv", "view10.csv", "notes.md"):
        (tmp_path / name).write_text("1,2\n3,4\n")
    (tenx, _) = write_cell_ranger(tmp_path)

    def refuse(path, *args, of=open, **options):
        if str(path).endswith(("view10.csv", "notes.md", "barcodes.tsv.gz")):
            raise PermissionError(13, "Permission denied", str(path))
        return of(path, *args, **options)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match="view10.csv may not be read: change its mode"):
        read([tmp_path])
    with pytest.raises(ValueError, match="tenx .*Permission denied.*barcodes.tsv.gz"):
        read([tenx])
    (tmp_path / "view10.csv").unlink()
    assert [x.name for x in read([tmp_path])[0].views] == ["view9"]  # what is not read is no matter


FRAME = pd.DataFrame(VIEWS[0], index=WORDS).rename(columns=str)


@pytest.mark.parametrize(
    "ending, write", [(".parquet", FRAME.to_parquet), (".xlsx", FRAME.to_excel)]
)
def test_parquet_and_excel_are_read_where_their_engines_are(ending, write, tmp_path):
    path = tmp_path / f"x{ending}"
    try:
        write(path)  # by pyarrow and openpyxl
    except ImportError:
        path.write_bytes(b"nothing")
        with pytest.raises(ImportError, match=f"x{ending} needs another package, pip inst"):
            read([path])
        return
    found, (x,), _ = read([path])
    np.testing.assert_allclose(x, VIEWS[0])
    assert found.views[0].samples == WORDS


# --- cells


@pytest.fixture
def write_cells(tmp_path):
    """Write views as AnnData and return the path."""
    anndata = pytest.importorskip("anndata", reason="needs the extra: pip install 'dmac[cells]'")

    def write(x, names, types=None, place="cells.h5ad", **more):
        cells = anndata.AnnData(x)
        if types:
            cells.var["feature_types"] = types
        if names is not None:
            cells.obs_names = names
        cells.obs["kind"], cells.obs["age"] = [f"k{y}" for y in CLASSES], CLASSES + 0.5
        cells.obsm.update(more)
        with anndata.settings.override(allow_write_nullable_strings=True):  # those of pandas 3
            cells.write_h5ad(tmp_path / place)
        return tmp_path / place

    return write


PROTEIN = np.random.default_rng(0).poisson(4, (N, 5)).astype(float)


def test_of_cells_x_is_the_view_and_of_obsm_what_is_named(write_cells):
    more = {"X_pca": PROTEIN, "protein": pd.DataFrame(VIEWS[1][:, :2], WORDS, ["CD3", "CD4"])}
    path = write_cells(scipy.sparse.csr_matrix(VIEWS[0]), WORDS, **more)
    found, (x,), _ = read([path], labels_key="kind")
    (view,) = found.views
    assert (view.name, view.samples, view.features[:2]) == ("X", WORDS, ["0", "1"])
    assert found.labels.tolist() == CLASSES.tolist() and found.known == "obs.kind"
    np.testing.assert_array_equal(x.toarray(), VIEWS[0])
    assert list(found.left_out) == ["obsm.X_pca", "obsm.protein", "obs.age"]
    found, checked, _ = read([path], views_key=["X", "protein", "obsm.X_pca"])
    assert [x.name for x in found.views] == ["X", "obsm.protein", "obsm.X_pca"]
    assert [x.features for x in found.views][1:] == [["CD3", "CD4"], None]
    assert found.labels is None and found.left_out == {}
    np.testing.assert_array_equal(checked[2], PROTEIN)
    for options, message in (
        ({"transposed": True}, "rows are the samples by its format"),
        ({"views_key": ["lost"]}, "views_key= names 'lost', which is not there. There are X, "),
        ({"labels_key": "lost"}, "lost is no variable, file or column. There are .* obs.kind"),
        ({"labels_key": "age"}, "obs.age: labels: entry 0 .* is 0.5, which is not a class"),
    ):
        with pytest.raises(ValueError, match=message):
            read([path], **options)
    with pytest.raises(ValueError, match="cells.h5ad has no table of numbers that is a view"):
        read([write_cells(None, None)])


def test_types_of_features_are_a_view_each(write_cells):
    types = [*["Gene Expression"] * 6, *["Antibody Capture"] * 7]
    found, checked, _ = read([write_cells(np.hstack(VIEWS), WORDS, types)])
    assert [x.name for x in found.views] == ["Gene Expression", "Antibody Capture"]
    for x, expected in zip(checked, VIEWS):
        np.testing.assert_array_equal(x, expected)


def test_cells_without_names_are_only_counted(write_cells):
    paths = [write_cells(VIEWS[0], None), write_cells(VIEWS[1], None, place="more.h5ad")]
    np.testing.assert_array_equal(read(paths)[1][1], VIEWS[1])
    write_cells(VIEWS[1], [str(i) for i in range(40, 70)], place="more.h5ad")
    says = "only counts its samples .0, 1, 2, ...., and view 2 .*40, 41"
    with pytest.raises(ValueError, match=says):
        read(paths)


def write_cell_ranger(folder):
    """Counts of Cell Ranger as a folder and as a file: two types of features, in rows."""
    counts = scipy.sparse.csc_matrix(np.hstack([np.round(abs(9 * x)) for x in VIEWS]).T)
    names, types = [f"f{j}" for j in range(13)], [*["Gene Expression"] * 6, *["Antibody"] * 7]
    barcodes = [f"c{i}" for i in range(N)]
    (folder / "tenx").mkdir()
    for name, rows in (
        ("features", map("\t".join, zip(names, names, types))),
        ("barcodes", barcodes),
    ):
        text = gzip.compress("\n".join(rows).encode())
        (folder / "tenx" / f"{name}.tsv.gz").write_bytes(text)
    scipy.io.mmwrite(folder / "tenx" / "matrix.mtx", counts)
    with h5py.File(folder / "tenx.h5", "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr", "shape"):
            group[name] = getattr(counts, name)
        group["barcodes"] = barcodes
        group["features/name"], group["features/feature_type"] = names, types
    return [folder / "tenx", folder / "tenx.h5"]


def test_counts_of_cell_ranger_are_read_from_its_folder_and_its_file(tmp_path):
    paths = write_cell_ranger(tmp_path)
    for path in paths:
        found, checked, _ = read([path])
        genes, proteins = found.views
        assert (genes.name, genes.samples[:2]) == ("Gene Expression", ["c0", "c1"])
        assert (proteins.name, proteins.features[:2]) == ("Antibody", ["f6", "f7"])
        for x, expected in zip(checked, VIEWS):
            np.testing.assert_array_equal(x.toarray(), np.round(abs(9 * expected)))
    (paths[0] / "barcodes.tsv.gz").write_bytes(gzip.compress(b"c0\n"))
    with pytest.raises(ValueError, match="tenx cannot be read: .13, 30. counts for 13 x 1 names"):
        read(paths[:1])


@pytest.fixture
def write_mudata(tmp_path):
    """Write MuData of thirty cells, of which two lack the second modality."""
    anndata = pytest.importorskip("anndata", reason="needs the extra: pip install 'dmac[cells]'")
    mudata = pytest.importorskip("mudata", reason="needs the extra: pip install 'dmac[cells]'")

    def write(names=("rna", "atac"), sparse=False, apart=False):
        parts = {}
        for name, x, rows in zip(names, VIEWS, (np.arange(N), np.arange(N - 1, 1, -1))):
            part = anndata.AnnData(scipy.sparse.csr_matrix(x[rows]) if sparse else x[rows])
            part.obs_names = [f"{name if apart else 'cell'} {i}" for i in rows]
            part.var_names = [f"{name} {j}" for j in range(x.shape[1])]
            parts[name] = part
        with (
            warnings.catch_warnings(action="ignore"),
            anndata.settings.override(allow_write_nullable_strings=True),
        ):
            cells = mudata.MuData(parts)
            if not apart:
                cells.obs["kind"] = [f"k{y}" for y in CLASSES]
            cells.write(tmp_path / "cells.h5mu")
        return [tmp_path / "cells.h5mu"]

    return write


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("names", [("rna", "atac"), ("rna", "y")])  # no name makes it classes
def test_cells_that_lack_a_modality_have_zeros_there(names, sparse, write_mudata):
    found, checked, _ = read(write_mudata(names, sparse), labels_key="kind")
    assert [(x.name, x.features[0]) for x in found.views] == [(x, f"{x} 0") for x in names]
    assert found.views[0].samples == [f"cell {i}" for i in range(N)]
    np.testing.assert_array_equal(found.labels, CLASSES)
    lacking = np.arange(N) < 2
    assert found.views[0].present is None and found.views[1].present.tolist() == (~lacking).tolist()
    for x, expected in zip(checked, (VIEWS[0], np.where(lacking[:, None], 0, VIEWS[1]))):
        assert scipy.sparse.issparse(x) == sparse
        np.testing.assert_array_equal(x.toarray() if sparse else x, expected)


def test_modalities_without_a_common_cell_are_refused_as_tables_are(write_mudata):
    with pytest.raises(ValueError, match=r"view 1 \(rna\) and view 2 \(atac\) .* share no sample"):
        read(write_mudata(apart=True))


@pytest.mark.parametrize(("ending", "package"), [(".h5ad", "anndata"), (".h5mu", "mudata")])
def test_hdf5_without_cells_is_refused_and_a_missing_package_named(
    ending, package, tmp_path, monkeypatch
):
    pytest.importorskip(package, reason="needs the extra: pip install 'dmac[cells]'")
    path = tmp_path / f"cells{ending}"
    with h5py.File(path, "w") as file:
        file["X"] = "no cells"
    with pytest.raises(ValueError, match=f"cells{ending} cannot be read: "):
        read([path])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"cells{ending} .*pip install 'dmac\[cells\]'"):
        read([path])
