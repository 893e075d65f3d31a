"""Files that people have: what is read from them, and what is said where that is not clear."""

import contextlib
import gzip
import re
import warnings

import h5py
import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse

import dmac
from dmac.data.checks import check_views
from dmac.data.readers import read_views

pytestmark = pytest.mark.filterwarnings("ignore:.* do not name their samples")


class Read:
    """What `read_views` gives, with the parts of its views side by side."""

    def __init__(self, paths, **options):
        self.read = read_views(paths, **options)
        self.views = [x.values for x in self.read.views]
        self.names = [x.name for x in self.read.views]
        self.columns = [x.features for x in self.read.views]
        self.sources = [x.source for x in self.read.views]
        self.lacking = [x.lacking for x in self.read.views]
        self.samples = self.read.views[0].samples

    def __getattr__(self, name):
        return getattr(self.read, name)


def read_csv(path, **options):
    """The one view of a table, and the names of its samples."""
    found = Read([path], **options)
    return found.views[0], found.samples


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


def write_compressed(folder):
    for file in write_csv(folder)[0].iterdir():
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()
    return [folder]


def write_h5(folder):
    with h5py.File(folder / "all.h5", "w") as file:
        file["views/a9"], file["views/a10"], file["truth"] = *VIEWS, LABELS
        file["about"] = "text"
    return [folder / "all.h5"]


def test_a_damaged_byte_anywhere_in_hdf5_is_an_error_of_ours_or_none(tmp_path):
    (path,) = write_h5(tmp_path)
    content, errors = path.read_bytes(), 0
    for at in range(0, len(content), 23):
        path.write_bytes(content[:at] + b"\xf3" + content[at + 1 :])
        try:
            check_views(Read([path]).read.views)
        except ValueError as error:
            assert re.search("all.h5|view", str(error))
            errors += 1
    assert errors > 10


def write_named_npz(folder):
    np.savez(folder / "all.npz", z=VIEWS[0], a=VIEWS[1], target=LABELS, about="text")
    return [folder / "all.npz"]


WRITERS = [write_named_npz, write_mat, write_npz, write_npy, write_csv, write_tsv, write_h5]
WRITERS += [write_compressed]


@pytest.mark.parametrize("write", WRITERS)
def test_the_same_views_from_every_kind_of_file(write, tmp_path):
    paths = write(tmp_path)
    found = Read(paths)
    assert len(found.views) == len(found.names) == 2
    for x, expected in zip(found.views, VIEWS):
        np.testing.assert_array_equal(np.asarray(x), expected)
    np.testing.assert_array_equal(found.labels, LABELS)
    assert found.samples is None
    assert Read(paths, labels_key=False).labels is None


def test_views_are_called_as_their_file_calls_them(tmp_path):
    assert Read(write_mat(tmp_path)).names == ["X1", "X2"]
    found = Read(write_named_npz(tmp_path))
    assert found.names == ["z", "a"] and found.known == "target"  # in the order of the file
    cell = np.empty((1, 2), object)
    cell[0, :] = VIEWS
    scipy.io.savemat(tmp_path / "cell.mat", {"X": cell, "Y": LABELS})
    assert Read([tmp_path / "cell.mat"]).names == ["X 1", "X 2"]
    assert Read([tmp_path / "all.npz"], views_key=["a"]).names == ["a"]


def test_a_folder_has_more_than_its_tables(tmp_path):
    write_csv(tmp_path)
    for name in (".hidden.csv", "._view9.csv"):  # macOS puts the second beside a file
        (tmp_path / name).write_bytes(b"\0\5\x16\7")
    (tmp_path / "deeper.csv").mkdir()
    for name in ("more.xlsx", "all.npz", "notes.md", "notes.txt"):
        (tmp_path / name).write_text("")
    found = Read([tmp_path])
    left_out = ["all.npz", "more.xlsx", "notes.md", "notes.txt"]
    assert found.names == ["view9", "view10"] and list(found.left_out) == left_out
    assert "of a folder only .csv, .tsv," in found.left_out["more.xlsx"]


def test_a_file_of_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    write_csv(tmp_path)
    (tmp_path / "notes.md").write_text("")
    (tenx, _) = write_cell_ranger(tmp_path)

    def refuse(path, *args, of=open, **options):
        if str(path).endswith(("view10.csv", "notes.md", "barcodes.tsv.gz")):
            raise PermissionError(13, "Permission denied", str(path))
        return of(path, *args, **options)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match="view10.csv may not be read: change its mode"):
        Read([tmp_path])
    with pytest.raises(ValueError, match="tenx .*Permission denied.*barcodes.tsv.gz"):
        Read([tenx])
    (tmp_path / "view10.csv").unlink()
    assert Read([tmp_path]).names == ["view9"]  # what would not be read anyway does not matter


def test_several_files_are_read_in_the_order_given(tmp_path):
    write_csv(tmp_path)
    found = Read([tmp_path / "view10.csv", tmp_path / "view9.csv"])
    assert found.names == ["view10", "view9"] and found.labels is None
    assert found.views[0].shape == (12, 2)


@pytest.mark.parametrize(
    "text, samples",
    [
        ("\ufeff1,2\n3,4\n", None),
        ("a,b\n1,2\n3,4\n", None),
        ("7,b\n1,2\n3,4\n", None),
        ("\ufeffa;b\r\n1;2\r\n3;4\r\n\r\n", None),
        ("a;b\n1,0;2\n3;4,00\n", None),
        ("1,0;2,0\n3,0;40,0e-1\n", None),
        ("x;1,0;2,0\ny;3,0;,4e1\n", ["x", "y"]),
        ("name,a,b\nx,1,2\ny,3,4\n", ["x", "y"]),
        (",0,1\n7,1,2\n8,3,4\n", ["7", "8"]),  # as pandas writes it
        ("id,a,b\n1,1,2\n2,3,4\n", ["1", "2"]),
        ("x,1,2\ny,3,4\n", ["x", "y"]),
        ("id,a,b\n007,1,2\n07,3,4\n", ["007", "07"]),
        ("patient_id,a,b\n1,1,2\n2,3,4\n", ["1", "2"]),
        ("a,b\n1,1,2\n2,3,4\n", ["1", "2"]),  # as R writes it
        ('"x, 1",1,2\n"y",3,4\n', ["x, 1", "y"]),
        ("1e0, +2\n3,4.\n", None),
    ],
)
def test_headers_and_names_of_samples(text, samples, tmp_path):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8", newline="")
    x, found = read_csv(tmp_path / "x.csv")
    assert x.tolist() == [[1, 2], [3, 4]] and found == samples


@pytest.mark.parametrize(
    "text, warns, shape, samples",
    [
        ("0,1,2\n4,5,7\n", "x.csv: the first line counts 0, 1, 2, ...", (1, 3), None),
        ("0,1,2,0\n4,5,7,1\n", None, (2, 4), None),
        ("0,1\n4,5\n", None, (2, 2), None),
        ("a,b\n2026-01-02,1\n2026-01-03,2\n", None, (2, 1), ["2026-01-02"]),
        ("id,b\n5 %,1\n5 %,2\n", None, (2, 1), ["5 %"]),
        ("id,a,b\nu,1,2\n", None, (1, 2), ["u"]),  # one new sample
        ("id,a,b\n7,1,2\n", None, (1, 2), ["7"]),
        ("u,5.0\nv,2\nw,1\nx,2\ny,1\n", None, (5, 1), ["u"]),
        ("id;b\n1.001;0,5\n1.002;1,5\n", None, (2, 1), ["1.001"]),
    ],
)
def test_a_first_line_or_column_that_may_be_something_else(text, warns, shape, samples, tmp_path):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match=warns) if warns else contextlib.nullcontext():
        x, found = read_csv(tmp_path / "x.csv")
    assert x.shape == shape and (found and found[:1]) == samples


@pytest.mark.parametrize(
    "text, samples",
    [
        ("1,3\n2,4\n", None),
        ("a,1,3\nb,2,4\n", None),
        ("p,q\n1,3\n2,4\n", ["p", "q"]),
        ("gene,7,8\na,1,3\nb,2,4\n", ["7", "8"]),
        (",7,8\n0,1,3\n1,2,4\n", ["7", "8"]),
        ("p,q\na,1,3\nb,2,4\n", ["p", "q"]),  # as R writes it
    ],
)
def test_samples_are_columns(text, samples, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    x, found = read_csv(tmp_path / "x.csv", transposed=True)
    assert x.tolist() == [[1, 2], [3, 4]] and found == samples


ZIPPED = gzip.compress(b"1.5,2.5,3.5\n" * 40, mtime=0)


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("x.csv", b"", "x.csv is empty"),
        ("x.csv", b"id,b\n", "no table of numbers that is a view. It has x .0 x"),
        ("x.csv", "a,b\nü,1\n".encode("latin-1"), "not a table of text in UTF-8: .utf-8. codec"),
        (
            "x.csv",
            b"a;b\n1;0,5\n2;1.234,5\n",
            "line 3, column 2 holds '1.234,5' among numbers with a decimal comma: pandas.read_csv",
        ),
        ("x.csv", b"a;b\n1.234;0,5\n", "line 2, column 1 holds '1.234' among numbers with a dec"),
        (
            "x.csv",
            b"a b\nx 1\n",
            "not numbers: column 1 .a b, ....; its cells may be parted by ' ': pandas.read_csv",
        ),
        ("x.csv", b"1,2\n3\n", "line 2, column 2 is empty"),
        (
            "x.csv",
            b"1,2\n3,4\n5,6,7\n",
            "x.csv is not a table of text in UTF-8: .* 2 fields in line 3, saw 3",
        ),
        (
            "x.csv",
            b"n,b\n5 %,1\n5 %,2\n5 %,2\n",
            "columns of words, .*: n .5 %, ....; n may be numbers with u",
        ),
        (
            "x.csv",
            b"1,2\n3,\n",
            "line 2, column 2 is empty; write a number, .* or empty the whole row",
        ),
        (
            "x.csv",
            b"1,2\n3,NA\n",
            "line 2, column 2 holds 'NA', not a number; write a number, as by frame.fillna",
        ),
        ("x.csv", b"a,b\n1,2\n3,no\n", "line 3, column 2 holds 'no', not a number"),
        ("x.csv", b"1,2\n3,inf\n", "line 2, column 2 holds 'inf'"),
        ("x.csv", b"id,b,d,c\n1,k,5,u\n2,l,6,v\n", "words, not numbers: b .k, ....; c|b .k, ....,"),
        ("x.csv", b"x\ny\n", "columns of words, not numbers: column 1"),
        ("x.csv", b"\xff\xfe1,2\n", "x.csv is not a table of text"),
        ("x.tsv.gz", b"1,2\n", "x.tsv.gz is not a table of text"),
        ("x.tsv.gz", ZIPPED[:-20], "x.tsv.gz is not a table of text"),
        ("x.tsv.gz", ZIPPED[:20] + b"xxxx" + ZIPPED[24:], "x.tsv.gz is not a table of text"),
    ],
)
def test_bad_tables_are_refused_with_line_and_column(name, text, message, tmp_path):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_csv(tmp_path / name)


def write_transposed(file, rows, samples, x):
    """A table with a sample in each column, as of genes in rows."""
    pandas.DataFrame(x.T, list(rows)[: x.shape[1]], samples).to_csv(file, index_label="gene")


@pytest.mark.filterwarnings("ignore:view 1 .a. has names of samples, and view 3")
def test_transposed_tables_of_all_kinds(tmp_path):
    names = [f"s{i}" for i in range(12)]
    for name, x in zip("ab", VIEWS):
        write_transposed(tmp_path / f"{name}.csv", [f"{name}{j}" for j in range(3)], names, x)
    np.save(tmp_path / "c.npy", VIEWS[1].T)
    row = ",".join(map(str, LABELS))
    (tmp_path / "labels.csv").write_text(f"id,{','.join(names)}\nk,{row}")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"], file["y"] = VIEWS[0].T, LABELS
    found, other = Read([tmp_path], transposed=True), Read([tmp_path / "x.h5"], transposed=True)
    assert found.names == ["a", "b", "c"] and found.samples == names
    for x, expected in zip([*found.views, *other.views], [*VIEWS, VIEWS[1], VIEWS[0]]):
        np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal([found.labels, other.labels], [LABELS, LABELS])
    (tmp_path / "labels.csv").write_text(row)
    np.testing.assert_array_equal(Read([tmp_path], transposed=True).labels, LABELS)


@pytest.mark.parametrize(
    "text, message",
    [
        ("gene,p,q\nx,1,2\ny,3,no\n", "a.csv, line 3, column 3 holds 'no'"),
        ("gene,p,q\nx,a,1\ny,b,3", "a.csv has columns of words, not numbers: p .a, ...."),
    ],
)
def test_faults_of_transposed_tables_are_where_they_are_in_the_file(text, message, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_csv(tmp_path / "a.csv", transposed=True)


def write_named(file, rows, x):
    """A table with a header and a name for each sample."""
    columns = [f"{file.stem}{j}" for j in range(x.shape[1])]
    pandas.DataFrame(x, rows, columns).to_csv(file, index_label="id")


def test_tables_that_lack_samples_are_joined(tmp_path):
    names = [f"s{i}" for i in range(12)]
    write_named(tmp_path / "a.csv", names[:8], VIEWS[0][:8])
    write_named(tmp_path / "b.csv", names[:5:-1], VIEWS[1][:5:-1])
    (tmp_path / "labels.csv").write_text("\n".join(f"{n},k{y}" for n, y in zip(names, LABELS)))
    found = Read([tmp_path])
    assert found.samples == [*names[:8], *names[:7:-1]]
    assert found.columns == [["a0", "a1", "a2"], ["b0", "b1"]]
    rows = [int(name[1:]) for name in found.samples]
    np.testing.assert_array_equal(found.labels, LABELS[rows])
    has = np.array([[i < 8, i > 5] for i in rows])
    np.testing.assert_array_equal(np.transpose(found.lacking), ~has)
    for x, expected, present in zip(check_views(found.read.views, incomplete=True), VIEWS, has.T):
        np.testing.assert_array_equal(x, np.where(present[:, None], expected[rows], 0))


@pytest.mark.parametrize("empty", [",", "NA,nan", "n/a, null", "#N/A,<NA>"])
def test_an_empty_row_is_a_sample_that_lacks_the_view(empty, tmp_path):
    for a, b in (
        (f"a,b\n1,2\n{empty}\n3,4\n", "1\n2\n3\n"),
        (f"id,a,b\np,1,2\nq,{empty}\nr,3,4\n,,\n", "id,c\np,1\nq,2\nr,3\n"),
    ):
        (tmp_path / "a.csv").write_text(a)
        (tmp_path / "b.csv").write_text(b)
        found = Read([tmp_path])
        assert found.views[0].tolist() == [[1, 2], [0, 0], [3, 4]]
        assert found.lacking[0].tolist() == [False, True, False] and not found.lacking[1].any()
    assert found.samples == ["p", "q", "r"]
    (tmp_path / "b.csv").write_text("id,c\np,1\nq,\nr,3\n")
    with pytest.raises(ValueError, match="sample q lacks all views: drop it"):
        check_views(read_views([tmp_path]).views, incomplete=True)


def test_tables_of_the_same_columns_are_refused_until_one_says_which_way_round(tmp_path):
    """Genes in rows, some of them in both tables, and patients in columns."""
    names = [f"s{i}" for i in range(12)]
    for name, x in zip("ab", VIEWS):
        write_transposed(tmp_path / f"{name}.csv", f"u{name}v", names, x)
    says = "have the same columns and other rows, .*say transposed=True; otherwise transposed=F"
    with pytest.raises(ValueError, match=says):
        Read([tmp_path])
    assert Read([tmp_path], transposed=True).samples == names
    assert len(Read([tmp_path], transposed=False).samples) == 4


WAYS = {
    "x.txt.zip": "unpack it",
    "x.xls": "save it as .xlsx or .csv",
    "x.mtx": "name its folder, if barcodes and features are there",
    "x.rds": "write it in R by write.csv",
    "x.pkl": "it is never unpickled: write it by numpy.savez",
    "x.loom": "write it by scanpy.read_loom",
    "x.weird": "write it as .csv, .npz, .mat or .h5",
    "x": "write it as .csv, .npz, .mat or .h5",
}


@pytest.mark.parametrize("name", WAYS)
def test_every_other_ending_has_a_way(name, tmp_path):
    (tmp_path / name).write_text("1,2\n")
    with pytest.raises(ValueError, match=f"{name} is not read, .*: {WAYS[name]}"):
        Read([tmp_path / name])


def test_what_is_not_clear_is_said(tmp_path):
    for name in ("b.npy", "b.h5"):
        (tmp_path / name).write_bytes(b"nothing")
    (tmp_path / "empty").mkdir()
    for match, path in (
        ("has no file that ends in .csv, .tsv, .txt, .csv.gz, .tsv.gz, .txt.gz, .par", "empty"),
        ("b.npy cannot be read: it is corrupt, truncated or not what", "b.npy"),
        ("b.h5 cannot be read: it is no HDF5 file", "b.h5"),
        ("the name of a file is empty", ""),  # a folder, to pathlib
    ):
        with pytest.raises(ValueError, match=match):
            Read([path and tmp_path / path])
    with pytest.raises(FileNotFoundError, match="no file or folder .*lost.csv"):
        Read([tmp_path / "lost.csv"])


NOISE = [RNG.normal(size=(30, d)).round(6) for d in (3, 4)]
KINDS = np.arange(30) % 3
AS_NUMBERS = "\n".join(map(str, KINDS))
AS_WORDS = "subtype\n" + "\n".join(f"k{y}" for y in KINDS)
WITH_NAMES = "patient_id,stage\n" + "\n".join(f"{i},{y}" for i, y in enumerate(KINDS))
ONE_HOT = "\n".join(",".join(map(str, row)) for row in np.eye(3, dtype=int)[KINDS])
CLINICAL = "age,sex,kind\n" + "\n".join(f"{40 + i}.5,{'fm'[i % 2]},{KINDS[i]}" for i in range(30))
AGES = "\n".join(f"{40 + i}.5" for i in range(30))


def noise_in(folder):
    for name, x in zip(("a", "b"), NOISE):
        np.savetxt(folder / f"{name}.csv", x, delimiter=",", fmt="%.6f")


NAMES = "class classes target subtype cell_type CellTypes BRCA_subtype group cell-type y_true"
OTHER = "\n".join(map(str, KINDS % 2))
SEVERAL = {"clinical": CLINICAL, "class": AS_NUMBERS, "subtype": OTHER}
TIMES = "\n".join(["time,event", *(f"{30.5 + 7 * i},{i % 2}" for i in range(30))])
NARROW = {"target": "\n".join(f"{i}.5,{i}.25" for i in range(30)), "target_genes": ONE_HOT}
ALL_LEFT, SEX = ["class.csv", "clinical.csv", "subtype.csv"], np.arange(30) % 2
#: Tables beside a.csv and b.csv, and options; then the views, where the classes are, what is left
#: out, and the classes.
BESIDE = [
    *(({x: AS_NUMBERS}, {}, "ab", f"{x}.csv", [], KINDS) for x in NAMES.split()),
    ({"subtype": AS_WORDS}, {}, "ab", "subtype.csv", [], KINDS),
    ({"subtype": WITH_NAMES}, {}, "ab", "subtype.csv", [], KINDS),
    *(
        ({"CellTypes": x}, {}, "ab", None, ["CellTypes.csv"], None)
        for x in (ONE_HOT, CLINICAL, AGES)
    ),
    *(
        ({x: TIMES}, {}, "ab", None, [f"{x}.csv"], None)
        for x in ("survival", "outcome", "clinical", "labels")
    ),
    (
        {"survival": TIMES},
        {"labels_key": "event"},
        "ab",
        "survival.csv, column event",
        ["survival.csv"],
        SEX,
    ),
    (SEVERAL, {}, "ab", None, ALL_LEFT, None),
    (SEVERAL, {"labels_key": "class"}, "ab", "class.csv", ["clinical.csv", "subtype.csv"], KINDS),
    (SEVERAL, {"labels_key": "sex"}, "ab", "clinical.csv, column sex", ALL_LEFT, SEX),
    (SEVERAL | {"subtype": AS_WORDS}, {}, "ab", "class.csv", ["clinical.csv"], KINDS),
    (SEVERAL, {"views_key": ["b"], "labels_key": False}, "b", None, ALL_LEFT, None),
    (NARROW, {}, ["a", "b", "target_genes"], None, ["target.csv"], None),
    (NARROW, {"views_key": ["target", "b.csv"]}, ["target", "b"], None, [], None),
]


@pytest.mark.parametrize("tables, options, names, known, left_out, classes", BESIDE)
def test_known_classes_are_never_a_view(tables, options, names, known, left_out, classes, tmp_path):
    noise_in(tmp_path)
    for name, text in tables.items():
        (tmp_path / f"{name}.csv").write_text(text)
    found = Read([tmp_path], **options)
    assert found.names == list(names) and found.known == known
    assert sorted(found.left_out) == left_out
    np.testing.assert_array_equal(found.labels, classes)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"labels_key": "a"}, "a has several columns .no names., and which has them is not cl"),
        ({"labels_key": "lost"}, "lost is no variable, file or column. There are a.csv, b.csv"),
        ({"labels_key": "clinical"}, "clinical has several columns .age, sex, kind., and which"),
        ({"views_key": ["lost"]}, "views_key: 'lost' is not there. There are a.csv, b.csv, class"),
    ],
)
def test_a_key_that_names_nothing_of_use_is_told_what_there_is(options, message, tmp_path):
    noise_in(tmp_path)
    for name, text in SEVERAL.items():
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        Read([tmp_path], **options)


def test_classes_alone_are_no_views(tmp_path):
    for name in ("class", "subtype"):
        (tmp_path / f"{name}.csv").write_text(AS_WORDS)
    with pytest.raises(ValueError, match="subtype.csv: there are no views beside class.csv, "):
        Read([tmp_path])


def test_known_classes_are_put_into_the_order_of_the_samples(tmp_path):
    names = [f"s{i}" for i in range(30)]
    for name in "ab":
        write_named(tmp_path / f"{name}.csv", names, NOISE[0])
    lines = [f"{n},k{y}" for n, y in zip(names, KINDS)]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(lines[::-1]))
    np.testing.assert_array_equal(Read([tmp_path]).labels, KINDS)
    for written, reason in (
        (
            lines[5:],
            "it has 25 entries, and there are 30 samples: not one for each (the first with none ",
        ),
        (["id,class", *lines[::-1], "s3,k0"], "none or several is s3)"),
        (["id,class", *lines[:-1], "s29,NA"], "1 samples have no class, the first is s29"),
        (["class", *(f"k{y}" for y in KINDS[1:])], "it has 29 entries, and there are 30 samples"),
    ):
        labels.write_text("\n".join(written))
        found = Read([tmp_path])  # which scores nothing, and is told
        assert found.labels is None and reason in found.left_out["labels.csv"]
        with pytest.raises(ValueError, match=re.escape(reason)):
            Read([tmp_path], labels_key="labels")


WORDS = [f"k{y}" for y in KINDS]
SIZES, WIDTHS = NOISE[0].T[:2]


@pytest.mark.parametrize(
    "columns, key, known, kept",
    [
        ({"size": SIZES, "class": KINDS, "width": WIDTHS}, None, "class", ["size", "width"]),
        ({"size": SIZES, "class": WORDS, "width": WIDTHS}, None, "class", ["size", "width"]),
        ({"size": SIZES, "class": WORDS}, "class", "class", ["size"]),
        ({"size": SIZES, "height": KINDS}, None, None, ["size", "height"]),
        ({"size": SIZES, "height": KINDS}, "height", "height", ["size"]),
        ({"class": KINDS, "subtype": SIZES}, None, "class", ["subtype"]),  # fractions are none
        ({"class": KINDS, "size": SIZES, "subtype": KINDS % 2}, None, None, ["size"]),  # which?
        ({"class": KINDS, "size": SIZES}, False, None, ["class", "size"]),
    ],
)
def test_columns_of_known_classes_are_taken_out_of_a_table(columns, key, known, kept, tmp_path):
    pandas.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    found = Read([tmp_path / "a.csv"], labels_key=key)
    assert found.columns == [kept] and found.known == (known and f"a.csv, column {known}")
    np.testing.assert_array_equal(found.views[0], np.transpose([columns[name] for name in kept]))
    if known:
        np.testing.assert_array_equal(found.labels, KINDS)
    assert len(found.left_out) == len(columns) - len(kept) - bool(known)


@pytest.mark.parametrize("name", ["gene_groups", "categories", "labels", "cell_type", "clusters"])
def test_a_matrix_of_many_columns_is_a_view_whatever_its_name(name, tmp_path):
    counts = RNG.poisson(2, (30, 40))
    np.savez(tmp_path / "x.npz", taxa=NOISE[0], **{name: counts}, subtype=KINDS)
    found = Read([tmp_path / "x.npz"])
    assert found.names == ["taxa", name] and found.known == "subtype" and not found.left_out
    np.testing.assert_array_equal(found.views[1], counts)


def test_known_classes_in_hdf5_are_never_a_view(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["rna"], file["mirna"] = NOISE
        file["class"], file["subtype_onehot/group"] = KINDS[:, None], np.eye(3)[KINDS]
    found = Read([tmp_path / "x.h5"])
    assert found.names == ["mirna", "rna"] and found.known == "class"
    np.testing.assert_array_equal(found.labels, KINDS)
    assert list(found.left_out) == ["subtype_onehot/group"]
    found = Read([tmp_path / "x.h5"], labels_key="group")  # rows with a single 1
    np.testing.assert_array_equal(found.labels, KINDS)
    assert Read([tmp_path / "x.h5"], views_key=["class"], labels_key=False).names == ["class"]
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["rna"], file["a/class"] = NOISE[0], KINDS[::-1]
        file["class"] = [f"k{y}" for y in KINDS]
    found = Read([tmp_path / "y.h5"], labels_key="class")
    assert found.known == "class" and found.labels.tolist() == KINDS.tolist()


@pytest.fixture
def write_cells(tmp_path):
    """Write views as AnnData and return the path."""
    anndata = pytest.importorskip("anndata", reason="needs the extra: pip install 'dmac[cells]'")

    def write(x, names, types=None, **more):
        cells = anndata.AnnData(x, None if x is not None else {"kind": names})
        if types:
            cells.var["feature_types"] = types
        cells.obs_names, cells.obs["kind"] = names, [f"k{y}" for y in LABELS]
        cells.obs["age"] = LABELS + 0.5
        cells.obsm.update(more)
        with anndata.settings.override(allow_write_nullable_strings=True):  # those of pandas 3
            cells.write_h5ad(tmp_path / "cells.h5ad")
        return tmp_path / "cells.h5ad"

    return write


PROTEIN = RNG.poisson(4, (12, 5)).astype(float)


def test_of_cells_x_is_the_view_and_of_obsm_what_is_named(write_cells):
    names = [f"cell {i}" for i in range(12)]
    more = {"X_pca": PROTEIN, "protein": pandas.DataFrame(VIEWS[1], names, ["CD3", "CD4"])}
    path = write_cells(scipy.sparse.csr_matrix(VIEWS[0]), names, **more)
    found = Read([path], labels_key="kind")
    assert found.names == ["X"] and found.samples == names
    assert found.labels.tolist() == LABELS.tolist() and found.known == "obs.kind"
    np.testing.assert_array_equal(found.views[0].toarray(), VIEWS[0])
    assert found.columns[0][:2] == ["0", "1"]
    assert list(found.left_out) == ["obsm.X_pca", "obsm.protein", "obs.age"]
    found = Read([path], views_key=["X", "protein", "obsm.X_pca"])
    assert found.names == ["X", "obsm.protein", "obsm.X_pca"] and found.left_out == {}
    assert found.columns[1:] == [["CD3", "CD4"], None] and found.labels is None
    np.testing.assert_array_equal(found.views[2], PROTEIN)
    for options, message in (
        ({"transposed": True}, "rows are the samples by its format"),
        ({"views_key": ["lost"]}, "views_key: 'lost' is not there. There are X, "),
        ({"labels_key": "lost"}, "lost is no variable, file or column. There are .* obs.kind"),
        ({"labels_key": "age"}, "obs.age: labels: entry 0 .* is 0.5, which is not a class"),
    ):
        with pytest.raises(ValueError, match=message):
            Read([path], **options)
    with pytest.warns(UserWarning, match="obs.age was left out, since .*; views_key= names"):
        assert dmac.load(path).n_views == 1
    with pytest.raises(ValueError, match="cells.h5ad has no table of numbers that is a view"):
        Read([write_cells(None, names)])


def test_types_of_features_are_a_view_each(write_cells):
    types = [*["Gene Expression"] * 3, *["Antibody Capture"] * 2]
    found = Read([write_cells(np.hstack(VIEWS), [f"cell {i}" for i in range(12)], types)])
    assert found.names == ["Gene Expression", "Antibody Capture"]
    for x, expected in zip(found.views, VIEWS):
        np.testing.assert_array_equal(x, expected)


def write_cell_ranger(folder):
    """Counts of Cell Ranger as a folder and as a file: two types of features, in rows."""
    counts = scipy.sparse.csc_matrix(np.hstack([np.round(9 * x) for x in VIEWS]).T)
    names, types = [f"f{j}" for j in range(5)], [*["Gene Expression"] * 3, *["Antibody"] * 2]
    (folder / "tenx").mkdir()
    for name, rows in (
        ("features", zip(names, names, types)),
        ("barcodes", [[f"c{i}"] for i in range(12)]),
    ):
        text = "\n".join("\t".join(row) for row in rows)
        (folder / "tenx" / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    scipy.io.mmwrite(folder / "tenx" / "matrix.mtx", counts)
    with h5py.File(folder / "tenx.h5", "w") as file:
        group = file.create_group("matrix")
        group["data"], group["indices"], group["indptr"] = (
            counts.data,
            counts.indices,
            counts.indptr,
        )
        group["shape"], group["barcodes"] = counts.shape, [f"c{i}" for i in range(12)]
        group["features/name"], group["features/feature_type"] = names, types
    return [folder / "tenx", folder / "tenx.h5"]


def test_counts_of_cell_ranger_are_read_from_its_folder_and_its_file(tmp_path):
    paths = write_cell_ranger(tmp_path)
    for path in paths:
        found = Read([path])
        assert found.names == ["Gene Expression", "Antibody"] and found.samples[:2] == ["c0", "c1"]
        assert found.columns[1] == ["f3", "f4"]
        for x, expected in zip(found.views, VIEWS):
            np.testing.assert_array_equal(x.toarray(), np.round(9 * expected))
    (paths[0] / "barcodes.tsv.gz").write_bytes(gzip.compress(b"c0\n"))
    with pytest.raises(
        ValueError, match="cannot be read as a folder of Cell Ranger .*scanpy.read_10x"
    ):
        Read(paths[:1])


def write_mudata(path, sparse=False, apart=False):
    """Twelve cells, of which two lack the second modality; read as warnings of libraries permit."""
    anndata = pytest.importorskip("anndata", reason="needs the extra: pip install 'dmac[cells]'")
    mudata = pytest.importorskip("mudata", reason="needs the extra: pip install 'dmac[cells]'")
    parts = {}
    for name, x, rows in (("rna", VIEWS[0], range(12)), ("atac", VIEWS[1], range(11, 1, -1))):
        part = anndata.AnnData(scipy.sparse.csr_matrix(x[list(rows)]) if sparse else x[list(rows)])
        part.obs_names = [f"{name if apart else 'cell'} {i}" for i in rows]
        part.var_names = [f"{name} {j}" for j in range(x.shape[1])]
        parts[name] = part
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with anndata.settings.override(allow_write_nullable_strings=True):
            cells = mudata.MuData(parts)
            if not apart:
                cells.obs["kind"] = [f"k{y}" for y in LABELS]
            cells.write(path)


@pytest.mark.parametrize("sparse", [False, True])
def test_cells_that_lack_a_modality_have_zeros_there(sparse, tmp_path):
    write_mudata(tmp_path / "cells.h5mu", sparse)
    found = Read([tmp_path / "cells.h5mu"], labels_key="kind")
    assert found.names == ["rna", "atac"]
    assert found.samples == [f"cell {i}" for i in range(12)]
    assert found.columns == [["rna 0", "rna 1", "rna 2"], ["atac 0", "atac 1"]]
    np.testing.assert_array_equal(found.labels, LABELS)
    lacking = np.arange(12) < 2
    assert found.lacking[0] is None and found.lacking[1].tolist() == lacking.tolist()
    views = check_views(found.read.views, incomplete=True)
    for x, expected in zip(views, (VIEWS[0], np.where(lacking[:, None], 0, VIEWS[1]))):
        assert scipy.sparse.issparse(x) == sparse
        np.testing.assert_array_equal(x.toarray() if sparse else x, expected)


@pytest.mark.parametrize("ending, package", [(".h5ad", "anndata"), (".h5mu", "mudata")])
def test_hdf5_without_cells_is_refused(ending, package, tmp_path):
    pytest.importorskip(package, reason="needs the extra: pip install 'dmac[cells]'")
    path = tmp_path / f"cells{ending}"
    with h5py.File(path, "w") as file:
        file["X"] = "no cells"
    with pytest.raises(ValueError, match=f"cells{ending} cannot be read by {package}: "):
        Read([path])


def test_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    (tmp_path / "cells.h5ad").touch()
    with pytest.raises(ImportError, match=r"pip install 'dmac\[cells\]'"):
        Read([tmp_path / "cells.h5ad"])


def test_modalities_without_a_common_cell_are_refused_as_tables_are(tmp_path):
    write_mudata(tmp_path / "cells.h5mu", apart=True)
    with pytest.raises(ValueError, match=r"view 1 \(rna\) and view 2 \(atac\) .* share no sample"):
        Read([tmp_path / "cells.h5mu"])


def test_what_is_no_view_is_told(tmp_path):
    ages = np.arange(12.0)
    scipy.io.savemat(
        tmp_path / "x.mat", {"X1": VIEWS[0], "X2": VIEWS[1], "Y": LABELS, "Z": VIEWS[0]}
    )
    np.savez(tmp_path / "x.npz", a=VIEWS[0], b=VIEWS[1], ages=ages, k=3)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"], file["ages"], file["k"] = *VIEWS, ages, [1, 2]
        for part in ("data", "indices", "indptr"):
            file[f"counts/{part}"] = np.arange(5)
    for name, left_out in (
        ("x.mat", {"Z": "by their names others are the views"}),
        ("x.npz", {"ages": "a view is a table of numbers", "k": "a view is"}),
        ("x.h5", {"ages": "a view is a table", "k": "a view is", "counts": "a view is"}),
    ):
        found = Read([tmp_path / name])
        assert found.left_out.keys() >= left_out.keys()
        assert all(why in found.left_out[key] for key, why in left_out.items())
        assert Read([tmp_path / name], views_key=found.names).left_out == {}
    with pytest.warns(UserWarning, match="Z was left out, since by their .* views_key= names"):
        assert dmac.load(tmp_path / "x.mat").n_views == 2


@pytest.mark.parametrize("name", ["samples", "sample_names", "ids", "barcodes"])
def test_a_vector_of_names_beside_the_views_names_the_samples(name, tmp_path):
    names = [f"s{i}" for i in range(12)]
    np.savez(tmp_path / "x.npz", a=VIEWS[0], b=VIEWS[1], **{name: names})
    scipy.io.savemat(
        tmp_path / "x.mat", {"X1": VIEWS[0], "X2": VIEWS[1], name: np.array(names, object)}
    )
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"], file[name] = *VIEWS, names
    for ending in ("npz", "mat", "h5"):
        found = Read([tmp_path / f"x.{ending}"])
        assert found.samples == names and len(found.views) == 2 and name not in found.left_out
