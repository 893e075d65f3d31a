"""Tables as people bring them: what names their samples, and which lines are none."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dmac
from dmac.data.readers import read_views

RNG = np.random.default_rng(0)
N = 30
VIEWS = [RNG.normal(size=(N, d)).round(3) for d in (6, 7)]
ORDER = RNG.permutation(N)


def write(path, x, names, header, place=0, rows=slice(None)):
    """A table with a column of names at some place."""
    table = pd.DataFrame(x, columns=[f"{path.stem}{j}" for j in range(x.shape[1])])
    table.insert(place if place >= 0 else x.shape[1], header, names)
    table.iloc[rows].to_csv(path, index=False)
    return path


def assert_lined_up(read, names):
    assert read.views[0].samples == [str(name) for name in names]
    for view, expected in zip(read.views, VIEWS):
        np.testing.assert_array_equal(view.values, expected)


@pytest.mark.parametrize("place", [0, 1, -1])
@pytest.mark.parametrize("header", ["participant_id", "run", "Nr."])
@pytest.mark.parametrize("kind", ["counted", "numbers", "words"])
def test_a_column_of_the_same_values_in_every_table_names_the_samples(
    kind, header, place, tmp_path
):
    """Whatever it is called, wherever it stands, in another order."""
    names = {
        "counted": np.arange(1, N + 1),
        "numbers": RNG.permutation(9000)[:N] + 1000,
        "words": np.array([f"p{i:02}" for i in range(N)]),
    }[kind]
    paths = [
        write(tmp_path / "g.csv", VIEWS[0], names, header, place),
        write(tmp_path / "m.csv", VIEWS[1], names, header, place, ORDER),
    ]
    assert_lined_up(read_views(paths), names)
    assert dmac.load(paths).samples == [str(name) for name in names]
    other = write(tmp_path / "m.csv", VIEWS[1], names, header, place and 2, ORDER)
    assert_lined_up(read_views([paths[0], other]), names)


def test_ids_of_most_samples_are_ids(tmp_path):
    names = RNG.permutation(9000)[:N] + 1000
    paths = [
        write(tmp_path / "g.csv", VIEWS[0], names, "run", 0, ORDER[:25]),
        write(tmp_path / "m.csv", VIEWS[1], names, "run", 0, ORDER[3:]),
    ]
    read = read_views(paths)
    assert len(read.views[0].samples) == N and read.views[1].lacking.sum() == 3


def test_a_feature_that_tables_share_is_no_id(tmp_path):
    """Of fractions, with repeated values, or with others in every table."""
    for shared in (VIEWS[0][:, 0], np.arange(N) % 7, None):
        paths = []
        for name, x in zip("gm", VIEWS):
            values = RNG.permutation(10_000)[:N] if shared is None else shared
            paths.append(write(tmp_path / f"{name}.csv", x, values, "age"))
        with pytest.warns(UserWarning, match="g.csv, m.csv do not name their samples: row i is"):
            read = read_views(paths)
        assert [x.values.shape[1] for x in read.views] == [7, 8]
    np.savetxt(tmp_path / "m.csv", VIEWS[1][1:, 1:], delimiter=",")
    with (
        pytest.warns(UserWarning, match="do not name their samples"),
        pytest.raises(ValueError, match="view 2 .m. has 29 samples, view 1 .g. has 30"),
    ):
        dmac.load(paths)


def transposed(path, lines):
    """A table of these lines."""
    path.write_text("\n".join(",".join(map(str, line)) for line in lines))
    return path


def test_a_column_that_describes_features_is_refused_where_samples_are_columns(tmp_path):
    """Words as all columns of words are, and ids of numbers by their header."""
    samples = [f"s{i}" for i in range(N)]
    for about, says in (
        (
            ["Entrez_Gene_Id", *(7000 + 37 * np.arange(6))],
            "'Entrez_Gene_Id' where samples are named: what describes features",
        ),
        (
            ["Chr", *(f"chr{j}" for j in range(6))],
            "columns of words, .*: Chr .chr0, ....; they describe features: frame.drop",
        ),
    ):
        rows = [["Symbol", *(f"gene{j}" for j in range(6))], about]
        rows += [[s, *row] for s, row in zip(samples, VIEWS[0].tolist())]
        with pytest.raises(ValueError, match=says):
            read_views([transposed(tmp_path / "g.csv", zip(*rows))], transposed=True)


def test_the_table_that_has_the_column_of_the_classes_is_not_turned_with_the_others(tmp_path):
    samples = [f"s{i}" for i in range(N)]
    for name, x in zip("gm", VIEWS):
        rows = [["", *samples], *([f"{name}{j}", *column] for j, column in enumerate(x.T.tolist()))]
        transposed(tmp_path / f"{name}.csv", rows)
    rows = [["", "age", "region", "subtype"]]
    rows += [[s, 40 + i, "left", f"t{i % 3}"] for i, s in enumerate(samples)]
    transposed(tmp_path / "clinical.csv", rows)
    read = read_views([tmp_path], transposed=True, labels_key="subtype")
    assert_lined_up(read, samples)
    assert [x.name for x in read.views] == [
        "g",
        "m",
    ] and read.known == "clinical.csv, column subtype"
    np.testing.assert_array_equal(read.labels, np.arange(N) % 3)
    assert "known of samples" in read.left_out["clinical.csv"]


@pytest.mark.parametrize("end", [",", ",,", ", ,"])
@pytest.mark.parametrize("header", [True, False])
def test_commas_at_the_end_of_every_line_are_no_column(header, end, tmp_path):
    lines = ["id,a,b" + (end if header else ""), f"x,1,2{end}", f"y,3,4{end}"]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    read = read_views([tmp_path / "x.csv"])
    assert read.views[0].values.tolist() == [[1, 2], [3, 4]]
    assert (read.views[0].samples, read.views[0].features) == (["x", "y"], ["a", "b"])


@pytest.mark.parametrize("delimiter", [" ", "\t", ",", ";"])
def test_a_text_is_a_table_whatever_separates_its_cells(delimiter, tmp_path):
    np.savetxt(tmp_path / "x.txt", VIEWS[0], delimiter=delimiter, fmt="%.3f")
    np.testing.assert_array_equal(read_views([tmp_path / "x.txt"]).views[0].values, VIEWS[0])


def test_parquet_and_excel_are_read_where_their_engines_are(tmp_path):
    frame = pd.DataFrame(VIEWS[0], index=[f"s{i}" for i in range(N)]).rename(columns=str)
    for ending in (".parquet", ".xlsx"):  # by pyarrow and openpyxl
        path = tmp_path / f"x{ending}"
        try:
            getattr(frame, {".parquet": "to_parquet", ".xlsx": "to_excel"}[ending])(path)
        except ImportError:
            path.write_bytes(b"nothing")
            with pytest.raises(ImportError, match="needs another package, or save it as .csv: "):
                read_views([path])
            continue
        read = read_views([path])
        np.testing.assert_allclose(read.views[0].values, VIEWS[0])
        assert read.views[0].samples == list(frame.index)


INPUTS = Path(os.environ.get("DMAC_INPUTS", Path(__file__).parents[3] / "shared" / "inputs"))
#: Real files in the forms of the trade, and what comes of them.
BROUGHT = [
    (["tcga_breast"], {"transposed": True, "labels_key": "subtype"}, 379, [184, 142], 4),
    (["h5mu/v0.1.2_axis0.h5mu"], {}, 100, [30, 20], None),
    (["h5mu/v0.4.1_axis0.h5mu"], {}, 100, [30, 20], None),
    (["h5mu/v0.4.1_axis1.h5mu"], {}, "they share no sample", None, None),
    (["spatial/test_data.h5ad"], {}, 49, [1999], 5),
    (["tenx/filtered_feature_bc_matrix.h5"], {}, 1107, [507], None),
    (["tenx/filtered_feature_bc_matrix"], {}, 1107, [507], None),
    (["rppa/protein_RPPA.txt"], {}, "columns of words, not numbers: ProteinAntibody", None, None),
    (["rppa/protein_RPPA.txt"], {"transposed": True}, "of words, .*: ProteinAntibody", None, None),
    (
        ["plant"],
        {},
        "Accession .Q9FUY7, ...., Description .* may be names: frame.set_index",
        None,
        None,
    ),
    (["plant/metabolomics.csv"], {}, 494, [6], None),
]


@pytest.mark.skipif(not INPUTS.is_dir(), reason="these files are in no copy of the project")
@pytest.mark.parametrize(("paths", "options", "n", "widths", "classes"), BROUGHT)
def test_files_of_the_trade(paths, options, n, widths, classes):
    paths = [INPUTS / path for path in paths]
    if any(path.suffix in (".h5ad", ".h5mu") for path in paths):
        pytest.importorskip("mudata", reason="needs the extra: pip install 'dmac[cells]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries
        if isinstance(n, str):
            with pytest.raises(ValueError, match=n):
                dmac.AnchorGraphClustering(2, random_state=0).fit(
                    read_views(paths, **options).views
                )
            return
        read = read_views(paths, **options)
    assert sorted(x.values.shape for x in read.views) == sorted((n, d) for d in widths)
    assert (None if read.labels is None else read.labels.max() + 1) == classes
