"""Files as people bring them, what is read from them, and what is said where that is not clear.

A case is a row of the table: files, options, and what comes of them. It stands beside
`input_cases.py`, which has the views that are passed in Python.
"""

import gzip
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import scipy.io

RNG = np.random.default_rng(0)
N = 30
#: Two views of 30 samples, with three decimals, and their classes.
VIEWS = [RNG.normal(size=(N, d)).round(3) for d in (6, 7)]
CLASSES = np.arange(N) % 3
ORDER = RNG.permutation(N)
#: Ids of the samples: words, whole numbers, and what only counts them.
WORDS = [f"p{i:02}" for i in range(N)]
IDS = RNG.permutation(9000)[:N] + 1000
COUNTS = np.arange(N)
BARCODES = [f"TCGA-A0-{1000 + i}-01" for i in range(N)]
TRANSPOSED = {"transposed": True}
PLACES = "do not name their samples: row i is taken for the same one in each"


@dataclass
class Case:
    """Files in a folder, how they are read, and what comes of it; what is ... is not compared.

    ``files`` has by their names a text, bytes, arrays by their names, one array, or None for a
    folder. ``paths`` are those that are named; the folder by default. Of a refused case ``error``
    is a pattern of what is said.
    """

    kind: str
    files: dict
    options: dict = field(default_factory=dict)
    paths: list | None = None
    names: object = ...
    values: object = ...
    samples: object = ...
    features: object = ...
    lacking: object = ...
    known: object = ...
    classes: object = ...
    left_out: object = ...
    warns: str | None = None
    error: str | None = None

    def write(self, folder):
        """Make the files; returns the paths that are read."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.mkdir()
            elif isinstance(content, dict):
                write_arrays(path, content)
            elif isinstance(content, np.ndarray):
                np.save(path, content)
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        return [folder / name if name else name for name in self.paths or ["."]]


def write_arrays(path, arrays):
    """Arrays by their names in a file of MATLAB, NumPy or HDF5; a list is a cell."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".mat":
        scipy.io.savemat(path, {name: cell(x) for name, x in arrays.items()})
    else:
        with h5py.File(path, "w") as file:
            for name, x in arrays.items():
                file[name] = x
                if name.endswith("block0_values"):
                    file[name].parent.attrs["pandas_type"] = "frame"


def cell(x):
    """A cell of MATLAB from a list; all else as it is."""
    if not isinstance(x, list):
        return x
    out = np.empty((1, len(x)), object)
    out[0, :] = x
    return out


def table(x, names=None, header="id", place=0, order=slice(None), start="g", **options):
    """The text of a table, with a column of names at some place."""
    frame = pd.DataFrame(x).rename(columns=lambda j: f"{start}{j}" if isinstance(j, int) else j)
    if names is not None:
        frame.insert(place if place >= 0 else frame.shape[1], header, list(names))
    return frame.iloc[order].to_csv(index=False, **options)


def turned(x, samples, about=(), start="g"):
    """The text of a table with a sample in each column, and columns about the features."""
    frame = pd.DataFrame(np.transpose(x), columns=samples)
    for header, cells in reversed(about):
        frame.insert(0, header, cells)
    frame.insert(0, "gene", [f"{start}{j}" for j in range(len(frame))])
    return frame.to_csv(index=False)


def column(values, header=None):
    """The text of one column."""
    return "\n".join(map(str, [*([header] if header else []), *values])) + "\n"


def pair(names, others, header="id", **options):
    """Two tables whose samples have these names."""
    return {
        "a.csv": table(VIEWS[0][: len(names)], names, header, start="a", **options),
        "b.csv": table(VIEWS[1][: len(others)], others, header, start="b", **options),
    }


def read_as(kind, text, values, samples=..., name="x.csv", **more):
    """A table of text and its numbers."""
    return Case(kind, {name: text}, values=[values], samples=samples, paths=[name], **more)


def refused(kind, text, error, name="x.csv", **more):
    """A table of text that is none, and what is said of it."""
    return Case(kind, {name: text}, error=error, paths=[name], **more)


def beside(kind, tables, names, known=None, left_out=(), classes=None, **options):
    """Two tables of noise, and others beside them, all without names of samples."""
    texts = {name: table(x) for name, x in zip("ab", VIEWS)} | tables
    return Case(
        f"beside two tables: {kind}",
        {f"{name}.csv": text for name, text in texts.items()},
        options,
        names=list(names),
        known=known,
        classes=classes,
        left_out=list(left_out),
    )


def with_columns(**columns):
    """The text of a table without names that has more columns."""
    return pd.DataFrame(VIEWS[0]).add_prefix("g").assign(**columns).to_csv(index=False)


DATES = [f"2020-{1 + i % 12:02}-{1 + i // 2:02}" for i in ORDER]
PLACES_OF = np.array(["north", "south", "east"])[CLASSES]
#: A value a line: samples, features and values.
LONG = pd.DataFrame(VIEWS[0], pd.Index(WORDS, name="sample")).add_prefix("g")
LONG = LONG.melt(var_name="feature", ignore_index=False)
AB = [[1, 2], [3, 4]]
ZIPPED = gzip.compress(b"1.5,2.5,3.5\n" * 40, mtime=0)
FILES = {
    "MATLAB": {"all.mat": {"X1": VIEWS[0], "X2": VIEWS[1], "Y": CLASSES + 1}},
    "MATLAB, a cell": {"all.mat": {"X": list(VIEWS), "Y": CLASSES + 1}},
    "NumPy": {"all.npz": {"X1": VIEWS[0], "X2": VIEWS[1], "labels": CLASSES}},
    "NumPy, other names": {
        "all.npz": {"z": VIEWS[0], "a": VIEWS[1], "target": CLASSES, "about": "text"}
    },
    "NumPy, a file each": {"0.npy": VIEWS[0], "1.npy": VIEWS[1], "labels.npy": CLASSES},
    "HDF5": {"all.h5": {"views/a9": VIEWS[0], "views/a10": VIEWS[1], "truth": CLASSES, "t": "x"}},
    **{
        f"text, {ending}": {
            f"view9.{ending}": table(VIEWS[0], header=False, sep=sign),
            f"view10.{ending}": table(VIEWS[1], header=False, sep=sign),
            f"labels.{ending}": column((f"k{y}" for y in CLASSES), "class"),
        }
        for ending, sign in (("csv", ","), ("tsv", "\t"))
    },
    "text, compressed": {
        f"{name}.csv.gz": gzip.compress(text.encode())
        for name, text in {
            "view9": table(VIEWS[0], header=False),
            "view10": table(VIEWS[1], header=False),
            "labels": column(CLASSES),
        }.items()
    },
}
EVERY_KIND = [
    Case(
        kind, files, paths=[*files][:1] if len(files) == 1 else None, values=VIEWS, classes=CLASSES
    )
    for kind, files in FILES.items()
]
CALLED = [
    Case("variables", FILES["MATLAB"], paths=["all.mat"], names=["X1", "X2"], left_out=[]),
    Case("cells", FILES["MATLAB, a cell"], paths=["all.mat"], names=["X 1", "X 2"]),
    Case(
        "in the order of the file",
        FILES["NumPy, other names"],
        paths=["all.npz"],
        names=["z", "a"],
        known="target",
    ),
    Case("one by its name", FILES["NumPy"], {"views_key": ["X2"]}, ["all.npz"], names=["X2"]),
    Case("no classes", FILES["NumPy"], {"labels_key": False}, ["all.npz"], classes=None),
    Case(
        "files in the order in which they are named",
        FILES["text, csv"],
        paths=["view10.csv", "view9.csv"],
        names=["view10", "view9"],
        classes=None,
    ),
    Case(
        "a folder has more than its tables",
        FILES["text, csv"]
        | {".hidden.csv": b"\0\5", "._view9.csv": b"\0\5\x16\7", "deeper.csv": None}
        | dict.fromkeys(("more.xlsx", "all.npz", "notes.md", "notes.txt"), ""),
        names=["view9", "view10"],
        left_out={name: "of a folder only .csv" for name in ("all.npz", "more.xlsx", "notes.md")}
        | {"notes.txt": "not what fit or predict has written"},
    ),
    Case(
        "what is no view, in MATLAB's file",
        {"x.mat": {"X1": VIEWS[0], "X2": VIEWS[1], "Y": CLASSES, "Z": VIEWS[0]}},
        paths=["x.mat"],
        left_out={"Z": "by their names others are the views"},
    ),
    Case(
        "what is no view, in NumPy's",
        {"x.npz": {"a": VIEWS[0], "b": VIEWS[1], "ages": COUNTS + 0.5, "k": 3}},
        paths=["x.npz"],
        left_out={"ages": "a view is a table of numbers", "k": "a view is"},
    ),
    Case(
        "what is no view, in HDF5",
        {
            "x.h5": {"a": VIEWS[0], "b": VIEWS[1], "ages": COUNTS + 0.5, "k": [1, 2]}
            | {f"counts/{x}": COUNTS for x in ("data", "indices", "indptr")}
        },
        paths=["x.h5"],
        left_out={"ages": "a view", "k": "a view", "counts": "a view"}
        | {f"counts/{x}": "a view" for x in ("data", "indices", "indptr")},
    ),
    Case(
        "two families of variables",
        {"x.npz": {"X1": VIEWS[0], "X2": VIEWS[1], "data": VIEWS[0]}},
        paths=["x.npz"],
        error="which variables are the views is not clear .X1, X2, data.; views_key= names them",
    ),
    Case(
        "one family, though others have its first letters",
        {"x.npz": {"X2": VIEWS[1], "X1": VIEWS[0], "Xtra": VIEWS[0]}},
        paths=["x.npz"],
        names=["X1", "X2"],
    ),
    *(
        Case(
            f"{name} beside the views name the samples, {ending}",
            {f"x.{ending}": {"X1": VIEWS[0], "X2": VIEWS[1], name: WORDS}},
            paths=[f"x.{ending}"],
            samples=WORDS,
            names=["X1", "X2"],
            left_out=[],
        )
        for ending, name in zip(
            ("npz", "h5", "npz", "mat"), ("samples", "ids", "barcodes", "sample_names")
        )
    ),
]
HEADERS = [
    *(
        read_as(kind, text, AB, samples)
        for kind, text, samples in (
            ("no header", "\ufeff1,2\n3,4\n", None),
            ("a header", "a,b\n1,2\n3,4\n", None),
            ("a header with a number", "7,b\n1,2\n3,4\n", None),
            ("semicolons, Windows", "\ufeffa;b\r\n1;2\r\n3;4\r\n\r\n", None),
            ("decimal commas", "a;b\n1,0;2\n3;4,00\n", None),
            ("decimal commas, no header", "1,0;2,0\n3,0;40,0e-1\n", None),
            ("decimal commas, names", "x;1,0;2,0\ny;3,0;,4e1\n", ["x", "y"]),
            ("bars", "a|b\n1|2\n3|4\n", None),
            ("names", "name,a,b\nx,1,2\ny,3,4\n", ["x", "y"]),
            ("an index of pandas", ",0,1\n7,1,2\n8,3,4\n", ["7", "8"]),
            ("ids", "id,a,b\n1,1,2\n2,3,4\n", ["1", "2"]),
            ("names without a header", "x,1,2\ny,3,4\n", ["x", "y"]),
            ("zeros in front of ids", "id,a,b\n007,1,2\n07,3,4\n", ["007", "07"]),
            ("ids of patients", "patient_id,a,b\n1,1,2\n2,3,4\n", ["1", "2"]),
            ("a table of R", "a,b\n1,1,2\n2,3,4\n", ["1", "2"]),
            ("names with commas", '"x, 1",1,2\n"y",3,4\n', ["x, 1", "y"]),
            ("a header of the index above another", "0,1,2\nid,a,b\nx,1,2\ny,3,4\n", ["x", "y"]),
            ("numbers in several forms", "1e0, +2\n3,4.\n", None),
            *(
                (f"commas at the end{end!r}", f"id,a,b{end}\nx,1,2{end}\ny,3,4{end}", ["x", "y"])
                for end in (",", ",,", ", ,")
            ),
            ("commas at the end of data", "id,a,b\nx,1,2,\ny,3,4,", ["x", "y"]),
        )
    ),
    *(
        Case(
            f"a .txt with {sign!r} between cells",
            {"x.txt": table(VIEWS[0], header=False, sep=sign)},
            paths=["x.txt"],
            values=VIEWS[:1],
        )
        for sign in " \t,;"
    ),
    read_as(
        "TRUE and FALSE are numbers",
        "id,a,b,c\nx,TRUE,true,1\ny,FALSE,,2\n\nz,,False,3\n".replace(",,", ",FALSE,"),
        [[1, 1, 1], [0, 0, 2], [0, 0, 3]],
        ["x", "y", "z"],
    ),
    read_as(
        "comments above the header",
        "# made by hand, twice\n# on a day\n\nid,a,b\nx,1,2\ny,3,4\n",
        AB,
        ["x", "y"],
        warns="x.csv: the lines above the table that begin with # are left out",
        features=[["a", "b"]],
    ),
    read_as(
        "a table of BIOM, whose header begins with #",
        "# Constructed from biom file\n#OTU ID\tx\ty\na\t1\t3\nb\t2\t4\n",
        AB,
        ["x", "y"],
        name="x.tsv",
        warns="x.tsv: the lines above",
        options=TRANSPOSED,
    ),
    read_as("NumPy's header", "# a,b\n1,2\n3,4\n", AB, None, features=[["a", "b"]]),
    read_as("a header that begins with #", "#,a,b\nx,1,2\ny,3,4\n", AB, ["x", "y"]),
    read_as(
        "a first line that counts",
        "0,1,2\n4,5,7\n",
        [[4, 5, 7]],
        None,
        warns="x.csv: the first line counts 0, 1, 2, ...",
    ),
    read_as("a first line that does not", "0,1,2,0\n4,5,7,1\n", [[0, 1, 2, 0], [4, 5, 7, 1]], None),
    read_as("two cells that count", "0,1\n4,5\n", [[0, 1], [4, 5]], None),
    read_as(
        "dates are names",
        "a,b\n2026-01-02,1\n2026-01-03,2\n",
        [[1], [2]],
        ["2026-01-02", "2026-01-03"],
    ),
    read_as("names twice, of one view", "id,b\n5 %,1\n5 %,2\n", [[1], [2]], ["5 %", "5 %"]),
    read_as("one new sample", "id,a,b\nu,1,2\n", [[1, 2]], ["u"]),
    read_as("one new sample with a number", "id,a,b\n7,1,2\n", [[1, 2]], ["7"]),
    read_as("one new sample with a running number", "Nr.,a,b\n1,1,2\n", [[1, 2]], ["1"]),
    read_as("one new sample without a name", "1,5.5\n", [[1, 5.5]], None),
    read_as("names first", "u,5.0\nv,2\nw,1\n", [[5], [2], [1]], ["u", "v", "w"]),
    read_as("ids with points", "id;b\n1.001;0,5\n1.002;1,5\n", [[0.5], [1.5]], ["1.001", "1.002"]),
    *(
        read_as(f"samples are columns, {kind}", text, AB, samples, options=TRANSPOSED)
        for kind, text, samples in (
            ("no names", "1,3\n2,4\n", None),
            ("names of features", "a,1,3\nb,2,4\n", None),
            ("names of samples", "p,q\n1,3\n2,4\n", ["p", "q"]),
            ("both", "gene,7,8\na,1,3\nb,2,4\n", ["7", "8"]),
            ("an index of pandas", ",7,8\n0,1,3\n1,2,4\n", ["7", "8"]),
            ("a table of R", "p,q\na,1,3\nb,2,4\n", ["p", "q"]),
            ("an index of pandas before the names", ",g,p,q\n0,a,1,3\n1,b,2,4\n", ["p", "q"]),
        )
    ),
]
BAD = [
    *(
        refused(kind, text, error)
        for kind, text, error in (
            ("nothing", b"", "x.csv cannot be read: it is empty"),
            ("comments alone", b"# a\n# b\n", "x.csv cannot be read: it is empty"),
            ("a header alone", b"id,b\n", "no table of numbers that is a view. It has x .0 x"),
            ("Latin-1", "a,b\nü,1\n".encode("latin-1"), r"x.csv .*codec.*read_text\(.latin-1.\)"),
            ("UTF-16 cut short", b"\xff\xfe1,2\n", "x.csv "),
            (
                "a point between thousands",
                "a;b\n1;0,5\n2;1.234,5\n",
                "line 3, column 2 .*'1.234,5'",
            ),
            ("perhaps thousands", b"a;b\n1.234;0,5\n", "line 2, column 1 holds '1.234' .*decimal="),
            ("perhaps thousands, all", b"a;b\n0,5;1.234\n1;2.345\n", "line 2, column 2 holds '1.2"),
            ("too few cells", b"1,2\n3\n", "line 2, column 2 is empty"),
            ("too many", b"1,2\n3,4\n5,6,7\n", "Expected 2 fields in line 3, saw 3; a cell with"),
            (
                "an empty cell",
                b"1,2\n3,\n",
                "line 2, column 2 is empty; fill='median' fills gaps, as frame",
            ),
            (
                "empty cells",
                b"1,2,\n3,,4\n",
                "line 1, column 3 is empty, the first of 2 such cells;",
            ),
            ("NA", b"1,2\n3,NA\n", "line 2, column 2 holds 'NA', not a number; fill="),
            ("a word", b"a,b\n1,2\n3,no\n", "line 3, column 2 holds 'no', not a number"),
            ("infinity", b"1,2\n3,inf\n", "line 2, column 2 holds 'inf'"),
            ("below comments", b"# x\na,b\n1,2\n3,no\n", "line 4, column 2 holds 'no'"),
            (
                "a title",
                "Table S1, growth\nid,a,b,c,d\nx,1,2,3,4\n",
                "expected 5 fields in line 1, saw 2; lin",
            ),
        )
    ),
    *(
        refused(f"words: {kind}", text, f"x.csv has columns of words, not numbers: .*{error}")
        for kind, text, error in (
            ("two columns", "id,b,d,c\n1,k,5,u\n2,l,6,v\n", r"b .k, ....; ?|b .k, ...., c .u, "),
            ("a column alone", "x\ny\n", "column 1 .x, ..."),
            ("spaces", "a b\nx 1\n", r"parted by ' ': pandas.read_csv.file, sep=' '."),
            ("colons", "a:b\n1:2\n3:4\n", "sep=':'"),
            (
                "units",
                "n,b\n5 %,1\n5 %,2\n5 %,2\n",
                "n may be numbers with units and commas between thousands: frame..'n'.. = ",
            ),
            (
                "thousands",
                'a,b\n"1,234.50",1\n"2,345.60",2\n"0.50",3\n',
                "a may be numbers with commas between thousands: .*replace",
            ),
            ("thousands, spaces", "a,b\n1 234.5,1\n2 345,2\n17,3\n", "a may be numbers with signs"),
            (
                "decimal commas between commas",
                'a,b\n"1,5",1\n"2,25",2\n"0,5",3\n',
                "numbers with decimal commas: .*replace",
            ),
            (
                "dates",
                with_columns(seen=DATES),
                "seen may be dates: frame..'seen'.. = .*pandas.to_da",
            ),
            (
                "categories",
                with_columns(site=PLACES_OF, sex=np.where(CLASSES, "f", "m")),
                r"site, sex may be categories: pandas.get_dummies\(frame, columns=\['site', 'sex'",
            ),
            ("an id", with_columns(who=WORDS), r"who may be names: frame.set_index\('who'"),
            (
                "half of a key",
                with_columns(country=np.repeat(["A", "B", "C"], 10), year=np.tile(COUNTS[:10], 3)),
                r"country and year look like two halves of a name: frame.set_index.frame\['coun",
            ),
            (
                "a long table",
                LONG.to_csv(),
                r"frame.assign\(_=frame\['feature'\].*pivot\(index=frame.columns\[0\]",
            ),
            (
                "a long table with views",
                LONG.assign(view=np.where(LONG.feature < "g3", "rna", "meth")).to_csv(
                    index_label="who"
                ),
                r"frame.assign\(_=.*'feature'.*'view'.*pivot\(index='who', columns='_'",
            ),
        )
    ),
    refused(
        "samples are columns, a word",
        "gene,p,q\nx,1,2\ny,3,no\n",
        "x.csv, line 3, column 3 holds 'no'",
        options=TRANSPOSED,
    ),
    refused(
        "samples are columns, words about features",
        turned(VIEWS[0], WORDS, [("Chr", [f"chr{j}" for j in range(6)])]),
        r"Chr .chr0, ....; they describe features: frame.drop\(columns=\['Chr'\]\)",
        options=TRANSPOSED,
    ),
    *(
        refused(f"compressed: {kind}", text, "x.tsv.gz cannot be read: ", name="x.tsv.gz")
        for kind, text in (
            ("no", b"1,2\n"),
            ("cut short", ZIPPED[:-20]),
            ("damaged", ZIPPED[:20] + b"xxxx" + ZIPPED[24:]),
        )
    ),
    *(
        Case(
            f"the ending of {name}",
            {name: "1,2\n"},
            paths=[name],
            error=f"{name} is not read, .*: {way}",
        )
        for name, way in {
            "x.txt.zip": "unpack it",
            "x.xls": "save it as .xlsx or .csv",
            "x.mtx": "name its folder, if barcodes and features are there",
            "x.rds": "write it in R by write.csv",
            "x.pkl": "it is never unpickled: write it by numpy.savez",
            "x.loom": "write it by scanpy.read_loom",
            "x.biom": "write it by biom convert -i file -o name.tsv --to-tsv",
            "x.weird": "write it as .csv, .npz, .mat or .h5",
            "x": "write it as .csv, .npz, .mat or .h5",
        }.items()
    ),
    Case("no array", {"b.npy": b"nothing"}, paths=["b.npy"], error="b.npy cannot be read: "),
    Case(
        "no HDF5", {"b.h5": b"nothing"}, paths=["b.h5"], error="b.h5 cannot be read: it is corrupt"
    ),
    Case(
        "an empty folder", {"empty": None}, paths=["empty"], error="has no file that ends in .csv, "
    ),
    Case("no name", {}, paths=[""], error="the name of a file is empty"),
    Case("no file", {}, paths=["lost.csv"], error="no file or folder .*lost.csv"),
    Case(
        "a file twice", {"a.csv": "1,2\n"}, paths=["a.csv", "./a.csv"], error="a.csv would be two v"
    ),
    Case(
        "a file and its folder", {"a.csv": "1,2\n"}, paths=["a.csv", "."], error="a.csv would be tw"
    ),
]


# --- names of samples


def counted(ids, header, start):
    """Two tables with ids and, before them, what counts the rows; the second in another order."""
    frames = [
        pd.DataFrame({header: ids}).join(pd.DataFrame(x).add_prefix(a)) for a, x in zip("ab", VIEWS)
    ]
    frames[1] = frames[1].iloc[ORDER]
    return {f"{a}.csv": x.set_axis(range(start, start + N)) for a, x in zip("ab", frames)}


def indexed(names, others, **options):
    """Two tables with these names as pandas writes an index without a name."""
    frames = (pd.DataFrame(x[: len(rows)], rows) for x, rows in zip(VIEWS, (names, others)))
    return {f"{a}.csv": x.add_prefix(a).to_csv(**options) for a, x in zip("ab", frames)}


OTHER = [f"q{i:02}" for i in range(N)]
KEPT = np.sort(RNG.permutation(N)[:20])
DECOMPOSED = [unicodedata.normalize("NFD", f"{x}é") for x in WORDS[:20]]
NAMED = [
    *(
        Case(
            f"ids of {kind} under {header!r}, behind a count under {index!r}",
            {
                name: frame.to_csv(index_label=index)
                for name, frame in counted(
                    ids, header, start=int(index not in ("", "Unnamed: 0"))
                ).items()
            },
            values=VIEWS,
            samples=[str(x) for x in ids],
            left_out={
                f"{name}.csv, {index if index[1:] else 'column 1'}": "it only numbers the rows"
                for name in "ab"
            },
        )
        for kind, ids in (("words", WORDS), ("numbers", IDS))
        for header in ("patient_id", "run", "Patient")
        for index in ("", "Unnamed: 0", "Nr.", "#")
    ),
    *(
        Case(
            f"ids under {header!r} behind an index of pandas that is {kind}",
            {
                f"{a}.csv": pd.DataFrame(x)
                .add_prefix(a)
                .assign(**{header: ids})[[header, *(f"{a}{j}" for j in range(x.shape[1]))]]
                .set_axis(index)
                .iloc[rows]
                .to_csv()
                for a, x, rows in (("a", VIEWS[0], slice(None)), ("b", VIEWS[1], ORDER))
            },
            values=VIEWS,
            samples=[str(x) for x in ids],
        )
        for header, ids in (("patient_id", IDS), ("patient_id", WORDS), ("case", WORDS))
        for kind, index in (
            ("in another order", COUNTS),
            ("of some rows", np.sort(RNG.permutation(90)[:N])),
        )
    ),
    *(
        Case(
            f"{kind} under {header!r} in column {place} and {other}",
            pair(ids, ids, header, place=place)
            | {"b.csv": table(VIEWS[1], ids, header, other, ORDER, "b")},
            values=VIEWS,
            samples=[str(x) for x in ids],
            left_out=[],
        )
        for kind, ids in (("counts", 1 + COUNTS), ("numbers", IDS), ("words", WORDS))
        for header in ("participant_id", "run", "Nr.")
        for place, other in ((0, 0), (1, 2), (-1, 1))
    ),
    Case(
        "ids of most samples are ids",
        {
            "a.csv": table(VIEWS[0], IDS, "run", order=ORDER[:25]),
            "b.csv": table(VIEWS[1], IDS, "run", order=ORDER[3:]),
        },
        samples=[str(IDS[i]) for i in [*ORDER[:25], *ORDER[25:]]],
        lacking=[5, 3],
    ),
    Case(
        "ids of few samples beside those of all",
        {
            "a.csv": table(VIEWS[0], IDS, "run"),
            "b.csv": table(VIEWS[1], IDS, "run", order=ORDER[:12]),
        },
        samples=[str(x) for x in IDS],
        lacking=[0, 18],
    ),
    *(
        Case(
            f"a feature that both have is no id: {kind}",
            pair(shared, others, "age"),
            samples=None,
            features=[["age", *(f"{a}{j}" for j in range(d))] for a, d in (("a", 6), ("b", 7))],
            warns=PLACES,
        )
        for kind, shared, others in (
            ("fractions", VIEWS[0][:, 0], VIEWS[0][:, 0]),
            ("repeated", COUNTS % 7, COUNTS % 7),
            ("others in each", IDS, RNG.permutation(IDS + 20_000)),
        )
    ),
    Case(
        "half of the names in both are not enough to name a column",
        pair(IDS, [*IDS[:15], *(IDS[15:] + 20_000)], "age"),
        samples=None,
        warns=PLACES,
    ),
    Case(
        "a first column of words, though less than half are in both",
        pair(WORDS, [*WORDS[:10], *(f"q{i}" for i in range(20))], "run"),
        lacking=[20, 20],
    ),
    *(
        Case(
            f"first columns that share {shared} of 30 words, and numbers that all share",
            {
                "a.csv": table(pd.DataFrame(VIEWS[0]).assign(run=IDS), WORDS, "name"),
                "b.csv": table(
                    pd.DataFrame(VIEWS[1]).assign(run=IDS),
                    [*WORDS[:shared], *OTHER[shared:]],
                    "name",
                ),
            },
            samples=samples,
            error=error,
        )
        for shared, samples, error in (
            (15, [*WORDS, *OTHER[15:]], None),
            (14, ..., "name .p00, ....; name may be free text|name .p00, ....; name may be names"),
        )
    ),
    Case(
        "a first column of the ids that another table has without a header",
        {
            "a.csv": indexed(IDS, IDS)["a.csv"],
            "b.csv": table(VIEWS[1], IDS, "plot", order=ORDER, start="b"),
        },
        values=VIEWS,
        samples=[str(x) for x in IDS],
        left_out=[],
    ),
    Case("counts alone are places", indexed(COUNTS, COUNTS), values=VIEWS, warns=PLACES),
    Case("counts from 0 and from 1", indexed(COUNTS, COUNTS + 1), values=VIEWS, warns=PLACES),
    Case(
        "counts of other lengths",
        indexed(COUNTS, COUNTS[:20]),
        warns=PLACES,
        error="view 2 .b. has 20 sam",
    ),
    Case(
        "counts without a header are no feature",
        {"a.csv": table(np.column_stack([COUNTS, VIEWS[0]])).partition("\n")[2]},
        paths=["a.csv"],
        values=VIEWS[:1],
        samples=[str(i) for i in COUNTS],
    ),
    Case(
        "counts beside other whole numbers",
        indexed(COUNTS[:20], KEPT),
        error=r"view 1 \(a\) only counts its samples \(0, 1, 2, ...\), and view 2 \(b\) has o",
    ),
    Case(
        "other whole numbers beside counts",
        indexed(KEPT, COUNTS[:20]),
        error=r"view 2 \(b\) only counts its samples \(0, 1, 2, ...\), and view 1 \(a\) has o",
    ),
    Case(
        "a part of what is counted",
        indexed(COUNTS, KEPT),
        lacking=[0, 10],
        warns=r"view 1 \(a\) only counts its samples .*, and view 2 \(b\) has other whole numbers",
    ),
    Case(
        "ids of patients may count, which is told",
        indexed(COUNTS + 1, COUNTS + 11, index_label="patient_id"),
        warns=r"view 1 \(a\) only counts its samples .*, and view 2 \(b\) has other whole numbers",
        lacking=[10, 10],
        samples=[str(i) for i in range(1, 41)],
    ),
    Case(
        "a longer name",
        pair(BARCODES, [x + "A-11R" if i % 3 else x for i, x in enumerate(BARCODES)]),
        lacking=[20, 20],
        warns="20 samples may have two names, .* 'TCGA-A0-1001-01' and 'TCGA-A0-1001-01A-11R'",
    ),
    Case(
        "two suffixes",
        pair(
            *([x + end if i % 3 else x for i, x in enumerate(WORDS)] for end in ("_rna", "_prot"))
        ),
        lacking=[20, 20],
        warns="20 samples may have two names, .*'p01_rna' and 'p01_prot'",
    ),
    Case(
        "two forms of Unicode",
        pair([f"{x}é" for x in WORDS[:20]] + WORDS[20:], DECOMPOSED + WORDS[20:]),
        lacking=[20, 20],
        warns=r"20 samples may have two names, .*'p00\\xe9' and 'p00e\\u0301'",
    ),
    Case(
        "a line that adds up",
        pair([*WORDS[:29], "Total"], [*WORDS[:29], "Total"]),
        error=r"view 1 \(a\) has 'Total' where samples are named: .* out of a.csv",
    ),
    Case(
        "ids and places of features among the samples",
        {"a.csv": turned(VIEWS[0], WORDS, [("Entrez_Gene_Id", IDS[:6]), ("Start", IDS[6:12])])},
        TRANSPOSED,
        error="'Entrez_Gene_Id', 'Start' where samples are named: what describes features or adds",
    ),
    Case(
        "tables of the same columns",
        {f"{a}.csv": turned(x, WORDS, start=a) for a, x in zip("ab", VIEWS)},
        error="have the same columns and other rows.*say transposed=True; otherwise transposed=F",
    ),
    Case(
        "tables of the same columns, turned",
        {f"{a}.csv": turned(x, WORDS, start=a) for a, x in zip("ab", VIEWS)},
        TRANSPOSED,
        samples=WORDS,
        values=VIEWS,
    ),
    Case(
        "tables of the same columns, as they are",
        {f"{a}.csv": turned(x, WORDS, start=a) for a, x in zip("ab", VIEWS)},
        {"transposed": False},
        samples=[*(f"a{j}" for j in range(6)), *(f"b{j}" for j in range(7))],
        error="they share no sample",
    ),
    Case(
        "tables that lack samples, and their classes",
        {
            "a.csv": table(VIEWS[0][:20], WORDS[:20], start="a"),
            "b.csv": table(VIEWS[1][:9:-1], WORDS[:9:-1], start="b"),
            "labels.csv": column(f"{x},k{y}" for x, y in zip(WORDS, CLASSES)),
        },
        samples=[*WORDS[:20], *WORDS[:19:-1]],
        features=[[f"a{j}" for j in range(6)], [f"b{j}" for j in range(7)]],
        classes=[*CLASSES[:20], *CLASSES[:19:-1]],
        lacking=[10, 10],
    ),
    *(
        Case(
            f"an empty row, {empty}, {'with' if named else 'without'} names",
            {
                "a.csv": f"id,a,b\np,1,2\nq,{empty}\nr,3,4\n,,\n"
                if named
                else f"a,b\n1,2\n{empty}\n3,4\n",
                "b.csv": "id,c\np,1\nq,2\nr,3\n" if named else "1\n2\n3\n",
            },
            samples=["p", "q", "r"] if named else None,
            values=[[[1, 2], [0, 0], [3, 4]], [[1], [2], [3]]],
            lacking=[1, 0],
        )
        for empty in (",", "NA,nan", "n/a, null", "#N/A,<NA>")
        for named in (True, False)
    ),
    Case(
        "a sample that lacks all",
        {"a.csv": "id,a,b\np,1,2\nq,,\nr,3,4\n", "b.csv": "id,c\np,1\nq,\nr,3\n"},
        error="sample q lacks all views: remove it",
    ),
    Case(
        "tables, an array and classes in one line, turned",
        {f"{a}.csv": turned(x, WORDS, start=a) for a, x in zip("ab", VIEWS)}
        | {
            "c.npy": VIEWS[1].T,
            "labels.csv": f"id,{','.join(WORDS)}\nk,{','.join(map(str, CLASSES))}",
        },
        TRANSPOSED,
        names=["a", "b", "c"],
        values=[*VIEWS, VIEWS[1]],
        classes=CLASSES,
        warns="view 1 .a. has names of samples, and view 3 .c. has none",
    ),
    Case(
        "HDF5 with classes, turned",
        {"x.h5": {"x": VIEWS[0].T, "y": CLASSES}},
        TRANSPOSED,
        ["x.h5"],
        values=VIEWS[:1],
        classes=CLASSES,
    ),
    Case(
        "classes in a table that is not turned with the others",
        {f"{a}.csv": turned(x, WORDS, start=a) for a, x in zip("gm", VIEWS)}
        | {
            "clinical.csv": pd.DataFrame(
                {"age": 40 + COUNTS, "where": "left", "subtype": CLASSES}, WORDS
            ).to_csv()
        },
        TRANSPOSED | {"labels_key": "subtype"},
        names=["g", "m"],
        samples=WORDS,
        values=VIEWS,
        known="clinical.csv, column subtype",
        classes=CLASSES,
        left_out={"clinical.csv": "its name is that of what is known of samples"},
    ),
]

# --- known classes

ONE_HOT = pd.DataFrame(np.eye(3, dtype=int)[CLASSES]).to_csv(index=False, header=False)
SEX = COUNTS % 2
CLINICAL = pd.DataFrame(
    {"age": 40.5 + COUNTS, "sex": np.array(["f", "m"])[SEX], "kind": CLASSES}
).to_csv(index=False)
TIMES = pd.DataFrame({"time": 30.5 + 7 * COUNTS, "event": SEX}).to_csv(index=False)
SEVERAL = {"clinical": CLINICAL, "class": column(CLASSES), "subtype": column(SEX)}
HEADED = column((f"k{y}" for y in CLASSES), "genotype")
NOT_TWO = pd.DataFrame({"target": COUNTS + 0.5, "other": COUNTS + 0.25}).to_csv(index=False)
SPECIES = pd.DataFrame(RNG.poisson(2, (N, 8))).add_prefix("s").to_csv(index=False)
KNOWN = [
    *(
        beside(f"{name}.csv", {name: column(CLASSES)}, "ab", f"{name}.csv", classes=CLASSES)
        for name in (
            *("class", "classes", "target", "subtype", "cell_type", "CellTypes", "BRCA_subtype"),
            *("group", "cell-type", "y_true"),
        )
    ),
    beside(
        "words with a header",
        {"subtype": column(WORDS, "subtype").replace("p0", "")},
        "ab",
        None,
        ["subtype.csv"],
    ),
    beside(
        "words of classes",
        {"subtype": column([f"k{y}" for y in CLASSES], "subtype")},
        "ab",
        "subtype.csv, column subtype",
        classes=CLASSES,
    ),
    beside(
        "ids and a stage",
        {"subtype": pd.DataFrame({"patient_id": COUNTS, "stage": CLASSES}).to_csv(index=False)},
        "ab",
        "subtype.csv",
        classes=CLASSES,
    ),
    *(
        beside(f"{kind} called CellTypes", {"CellTypes": text}, "ab", None, ["CellTypes.csv"])
        for kind, text in (
            ("columns of 0 and 1", ONE_HOT),
            ("a table", CLINICAL),
            ("ages", column(COUNTS + 0.5)),
        )
    ),
    *(
        beside(f"times in {name}.csv", {name: TIMES}, "ab", None, [f"{name}.csv"])
        for name in ("survival", "outcome", "clinical", "labels", "TCGA_survival")
    ),
    beside(
        "a column by its name",
        {"survival": TIMES},
        "ab",
        "survival.csv, column event",
        ["survival.csv"],
        SEX,
        labels_key="event",
    ),
    beside("several", SEVERAL, "ab", None, ["class.csv", "clinical.csv", "subtype.csv"]),
    beside(
        "several, one by name",
        SEVERAL,
        "ab",
        "class.csv",
        ["clinical.csv", "subtype.csv"],
        CLASSES,
        labels_key="class",
    ),
    beside(
        "several, a column by name",
        SEVERAL,
        "ab",
        "clinical.csv, column sex",
        ["class.csv", "clinical.csv", "subtype.csv"],
        SEX,
        labels_key="sex",
    ),
    beside(
        "two that agree",
        SEVERAL | {"subtype": column([f"k{y}" for y in CLASSES])},
        "ab",
        "class.csv",
        ["clinical.csv"],
        CLASSES,
    ),
    beside(
        "one view by its name",
        SEVERAL,
        "b",
        None,
        ["class.csv", "clinical.csv", "subtype.csv"],
        views_key=["b"],
        labels_key=False,
    ),
    beside(
        "a view whose last word is no name of classes",
        {"target": NOT_TWO, "target_genes": ONE_HOT},
        ["a", "b", "target_genes"],
        None,
        ["target.csv"],
    ),
    beside(
        "both by their names", {"target": NOT_TWO}, ["target", "b"], views_key=["target", "b.csv"]
    ),
    beside("a table of species", {"fish_species": SPECIES}, ["a", "b", "fish_species"]),
    beside(
        "words with a header that names them",
        {"genotype": HEADED},
        "ab",
        "genotype.csv, column genotype",
        [],
        CLASSES,
        labels_key="genotype",
    ),
    beside(
        "words whose header nothing names",
        {"mice": HEADED},
        "ab",
        "mice.csv",
        [],
        CLASSES,
        labels_key="mice",
    ),
    beside(
        "a column of a file that its header names",
        {"mice": HEADED},
        "ab",
        "mice.csv, column genotype",
        [],
        CLASSES,
        labels_key="genotype",
    ),
    Case(
        "classes above samples that are columns",
        {"a.csv": "genotype,k0,k1,k2\n", "b.csv": "id,x,y\np,1,2\nq,3,5\nr,4,1\n"},
        {"labels_key": "genotype"},
        error="a.csv, column genotype has a header and no entries: write a row for each sample",
    ),
    beside(
        "two columns of words, by header",
        {
            "mice": pd.DataFrame(
                {"diet": np.where(SEX, "fat", "lean"), "genotype": [f"k{y}" for y in CLASSES]}
            ).to_csv(index=False)
        },
        "ab",
        "mice.csv, column genotype",
        ["mice.csv"],
        CLASSES,
        labels_key="genotype",
        views_key=["a", "b"],
    ),
    beside(
        "a column of words that nothing names", {"genotype": HEADED}, "ab", None, ["genotype.csv"]
    ),
    *(
        Case(
            f"a key that is wrong: {options}",
            {f"{x}.csv": table(v) for x, v in zip("ab", VIEWS)}
            | {f"{x}.csv": text for x, text in SEVERAL.items()},
            options,
            error=error,
        )
        for options, error in (
            (
                {"labels_key": "a"},
                "a has several columns .g0, g1, .*, and which has them is not cl",
            ),
            ({"labels_key": "lost"}, "lost is no variable, file or column. There are a.csv, b.csv"),
            (
                {"labels_key": "clinical"},
                "clinical has several columns .age, sex, kind., and which",
            ),
            (
                {"views_key": ["lost"]},
                "views_key= names 'lost', which is not there. There are a.csv, b.c",
            ),
        )
    ),
    Case(
        "classes alone",
        {f"{x}.csv": HEADED for x in ("class", "subtype")},
        error="class.csv, subtype.csv: there are no views beside class.csv, ",
    ),
    *(
        Case(
            f"classes that {kind}",
            pair(WORDS, WORDS) | {"labels.csv": text},
            samples=WORDS,
            classes=classes,
            left_out={f"labels.csv{', column class' * ('class' in text)}": reason}
            if reason
            else [],
        )
        for kind, text, classes, reason in (
            (
                "are in another order",
                column(f"{x},k{y}" for x, y in zip(WORDS[::-1], CLASSES[::-1])),
                CLASSES,
                "",
            ),
            (
                "lack samples",
                column(f"{x},k0" for x in WORDS[5:]),
                None,
                "it has 25 entries, and there are 30 samples: not one for each (the first",
            ),
            (
                "name one twice",
                column([*(f"{x},k{y}" for x, y in zip(WORDS, CLASSES)), "p03,k0"], "id,class"),
                None,
                "none or several is p03",
            ),
            (
                "lack one",
                column([*(f"{x},k{y}" for x, y in zip(WORDS[:29], CLASSES)), "p29,NA"], "id,class"),
                None,
                "1 samples have no class, the first is p29",
            ),
            (
                "are too few",
                column((f"k{y}" for y in CLASSES[1:]), "class"),
                None,
                "it has 29 entries, and there are 30 samples",
            ),
        )
    ),
    Case(
        "classes by name that lack samples",
        pair(WORDS, WORDS) | {"labels.csv": column(f"{x},k0" for x in WORDS[5:])},
        {"labels_key": "labels"},
        error="known classes: labels.csv: it has 25 entries, .* .labels_key= names them",
    ),
    *(
        Case(
            f"columns {', '.join(columns)}, key {key}",
            {"a.csv": pd.DataFrame(columns).to_csv(index=False)},
            {"labels_key": key},
            ["a.csv"],
            features=[kept],
            values=[np.transpose([columns[name] for name in kept])],
            known=known and f"a.csv, column {known}",
            classes=CLASSES if known else None,
            left_out=[f"a.csv, column {name}" for name in columns if name not in (*kept, known)],
        )
        for columns, key, known, kept in (
            (
                {"size": VIEWS[0][:, 0], "class": CLASSES, "width": VIEWS[0][:, 1]},
                None,
                "class",
                ["size", "width"],
            ),
            (
                {"size": VIEWS[0][:, 0], "class": [f"k{y}" for y in CLASSES]},
                "class",
                "class",
                ["size"],
            ),
            ({"size": VIEWS[0][:, 0], "height": CLASSES}, None, None, ["size", "height"]),
            ({"size": VIEWS[0][:, 0], "height": CLASSES}, "height", "height", ["size"]),
            ({"class": CLASSES, "subtype": VIEWS[0][:, 0]}, None, "class", ["subtype"]),
            ({"class": CLASSES, "size": VIEWS[0][:, 0], "subtype": SEX}, None, None, ["size"]),
            ({"class": CLASSES, "size": VIEWS[0][:, 0]}, False, None, ["class", "size"]),
        )
    ),
    Case(
        "features whose last words are names of classes",
        {
            "a.csv": pd.DataFrame(
                CLASSES[:, None] + np.arange(5),
                columns=[
                    "Cladonia species_9",
                    "Number.of.species",
                    "age_group",
                    "social class",
                    "y",
                ],
            ).to_csv(index=False)
        },
        paths=["a.csv"],
        features=[["Cladonia species_9", "Number.of.species", "age_group", "social class", "y"]],
        left_out=[],
        known=None,
    ),
    *(
        Case(
            f"a matrix of many columns called {name}",
            {"x.npz": {"taxa": VIEWS[0], name: RNG.poisson(2, (N, 21)), "subtype": CLASSES}},
            paths=["x.npz"],
            names=["taxa", name],
            known="subtype",
            left_out=[],
        )
        for name in ("gene_groups", "categories", "labels", "cell_type", "clusters")
    ),
    Case(
        "an array of twenty columns that is called categories",
        {"x.npz": {"taxa": VIEWS[0], "categories": RNG.poisson(2, (N, 20))}},
        paths=["x.npz"],
        names=["taxa"],
        left_out=["categories"],
    ),
    Case(
        "HDF5, a column and columns of 0 and 1",
        {
            "x.h5": {
                "rna": VIEWS[0],
                "mirna": VIEWS[1],
                "class": CLASSES[:, None],
                "subtype_onehot/group": np.eye(3)[CLASSES],
            }
        },
        paths=["x.h5"],
        names=["mirna", "rna"],
        known="class",
        classes=CLASSES,
        left_out=["subtype_onehot/group"],
    ),
    Case(
        "HDF5, columns of 0 and 1 by their name",
        {
            "x.h5": {
                "rna": VIEWS[0],
                "class": CLASSES[:, None],
                "subtype_onehot/group": np.eye(3)[CLASSES],
            }
        },
        {"labels_key": "group"},
        ["x.h5"],
        classes=CLASSES,
    ),
    Case(
        "HDF5, a view that is called class",
        {"x.h5": {"rna": VIEWS[0], "class": CLASSES[:, None]}},
        {"views_key": ["class"], "labels_key": False},
        ["x.h5"],
        names=["class"],
    ),
    Case(
        "HDF5, the name in full before that in a group",
        {"y.h5": {"rna": VIEWS[0], "a/class": CLASSES[::-1], "class": [f"k{y}" for y in CLASSES]}},
        {"labels_key": "class"},
        ["y.h5"],
        known="class",
        classes=CLASSES,
    ),
]
# --- what strangers brought: rows of other people, codes, headers, networks

SHUFFLED = [WORDS[i] for i in ORDER]
OF_IDS = {"rna": VIEWS[0], "protein": VIEWS[1][ORDER]}
GROUPED = {
    "prefixes": OF_IDS | {"rna_samples": WORDS, "protein_samples": SHUFFLED},
    "words behind": OF_IDS | {"ids_rna": WORDS, "ids_protein": SHUFFLED},
    "another language": OF_IDS | {"rna_Proben": WORDS, "protein_Proben": SHUFFLED},
    "numbers": {"X1": VIEWS[0], "names1": WORDS, "X2": VIEWS[1][ORDER], "names2": SHUFFLED},
    "bytes": OF_IDS
    | {"rna_samples": np.array(WORDS, "S"), "protein_samples": np.array(SHUFFLED, "S")},
    "ids that are numbers": OF_IDS | {"rna_ids": IDS, "protein_ids": IDS[ORDER]},
    "one for both, and names of columns": {
        **{"rna": VIEWS[0], "protein": VIEWS[1], "samples": WORDS},
        **{"rna_genes": [f"g{j}" for j in range(6)], "protein_names": [f"p{j}" for j in range(7)]},
    },
}
YEARS = [str(2019 + j) for j in range(6)]
FLAT = [f"{400.5 + 2.25 * j}" for j in range(6)]
ENTREZ = ["7157", "1956", "4609", "3845", "672", "675"]


def under(header, word, x=VIEWS[0], names=WORDS):
    """The text of a table with this header."""
    return table(x, names, word, start="g").replace(",g0,g1,g2,g3,g4,g5", f",{','.join(header)}")


def summed(what, name="Ukupno"):
    """The text of a table that ends with a line of sums or means."""
    x = 5 + VIEWS[0]
    return table(np.vstack([x, getattr(x, what)(0).round(3)]), [*WORDS, name])


def edges(*pairs, header="one,other"):
    """The text of a list of edges."""
    return "\n".join([*([header] if header else []), *(f"{a},{b}" for a, b in pairs)]) + "\n"


LINKS = [(WORDS[i], WORDS[j]) for i in range(N) for j in (i + 1, i + 7) if j < N]
NUMBERED_LINKS = [(i, j) for i in range(N) for j in (i + 1, i + 7) if j < N]
SEVERAL_WAYS = pd.DataFrame(VIEWS[0], WORDS).rename(columns="g{}".format)
GAPS = SEVERAL_WAYS.assign(site="a", g1=[np.nan, *VIEWS[0][1:, 1]])
STRANGE = [
    *(
        Case(
            f"vectors of names, {kind}, {ending}",
            {
                f"x.{ending}": {
                    name: np.array(x, h5py.string_dtype()) if isinstance(x, list) else x
                    for name, x in arrays.items()
                }
                if ending == "h5"
                else arrays
            },
            paths=[f"x.{ending}"],
            values=VIEWS if ending == "npz" else ...,
            samples=[str(x) for x in (IDS if "ids" in kind else WORDS)] if ending == "npz" else ...,
            left_out=[],
        )
        for kind, arrays in GROUPED.items()
        for ending in ("npz", "h5")
    ),
    Case(
        "vectors of names in groups of HDF5",
        {
            "x.h5": {
                "rna/x": VIEWS[0],
                "rna/id": np.array(WORDS, h5py.string_dtype()),
                "protein/x": VIEWS[1][ORDER],
                "protein/id": np.array(SHUFFLED, h5py.string_dtype()),
            }
        },
        paths=["x.h5"],
        names=["protein/x", "rna/x"],
        values=[VIEWS[1][ORDER], VIEWS[0][ORDER]],
        samples=SHUFFLED,
    ),
    Case(
        "vectors of names in structures",
        {
            "x.mat": {
                "rna": {"x": VIEWS[0], "samples": WORDS},
                "protein": {"x": VIEWS[1][ORDER], "samples": SHUFFLED},
            }
        },
        paths=["x.mat"],
        values=VIEWS,
        samples=WORDS,
    ),
    Case(
        "vectors of names, and which is whose is not clear",
        {"x.npz": OF_IDS | {"n": WORDS, "m": SHUFFLED}},
        paths=["x.npz"],
        error="x.npz: n and m have the same names in other orders, and which are those of rna is",
    ),
    Case(
        "classes beside views of other orders",
        {"x.npz": GROUPED["prefixes"] | {"labels": CLASSES}},
        paths=["x.npz"],
        values=VIEWS,
        known=None,
        left_out={"labels": "it names no samples, and the views have them in other orders"},
    ),
    *(
        read_as(
            f"a header of {kind} under {word!r}",
            under(header, word),
            VIEWS[0],
            WORDS,
            features=[header],
            warns=None if word in ("id", "gene") else r"x.csv: the first line \(.* as those of a h",
        )
        for kind, header in (
            *(("years", YEARS), ("wavelengths", FLAT), ("ids", ENTREZ)),
            ("doses", [f"{10.0**j:g}" for j in range(-2, 4)]),
        )
        for word in ("id", "gene", "country", "Größe 1", "šifra", "wavelength_nm")
    ),
    Case(
        "a header of ids above counts",
        {"x.csv": under(ENTREZ, "plot", RNG.poisson(3, (N, 6)))},
        paths=["x.csv"],
        samples=WORDS,
        features=[ENTREZ],
        warns="as those of a header",
    ),
    Case(
        "a header of wavelengths alone",
        {
            "x.csv": ",".join(map(str, range(400, 460, 10)))
            + "\n"
            + table(VIEWS[0]).partition("\n")[2]
        },
        paths=["x.csv"],
        values=VIEWS[:1],
        features=[[str(x) for x in range(400, 460, 10)]],
        warns="as those of a header",
    ),
    *(
        refused(
            f"two lines of names: {kind}", text + "s1,.1,.2,.3,.5\ns2,.2,.3,.5,.1\n", "its first l"
        )
        for kind, text in (
            ("gaps", ",A,,B,\nsample,1,2,1,2\n"),
            ("gaps, words", ",A,,B,\nid,x,y,x,y\n"),
            ("repeats", "of,A,A,B,B\nsample,1,2,1,2\n"),
            ("repeats, words", "of,A,A,B,B\nname,x,y,x,y\n"),
        )
    ),
    *(
        refused(
            f"a last line that is the {what}",
            summed(what, name),
            rf"the last row of view 1 \(x\) \({name}\) is the {what} of the others",
        )
        for what in ("sum", "mean")
        for name in ("Ukupno", "Összesen", "s99")
    ),
    *(
        read_as(
            f"a sign in a header: {sign!r}, {quoted}", text, AB, ["x", "y"], features=[[name, "b"]]
        )
        for sign in "\t;|"
        for name in [f"a{sign} years"]
        for quoted, text in (
            ("quoted", f'id,"{name}",b\nx,1,2\ny,3,4\n'),
            ("not quoted", f"id,{name},b\nx,1,2\ny,3,4\n"),
        )
    ),
    Case(
        "a table that another sign parts is no column of words",
        {"a.csv": table(VIEWS[0], WORDS, sep=":"), "b.csv": table(VIEWS[1], WORDS)},
        error="a.csv has columns of words, not numbers: .*parted by ':': pandas.read_csv.file, sep",
    ),
    Case(
        "UTF-16, as spreadsheets write it",
        {"x.txt": "id\ta\tb\nx\t1\t2\ny\t3\t4\n".encode("utf-16")},
        paths=["x.txt"],
        values=[AB],
        samples=["x", "y"],
    ),
    Case(
        "trips have more columns, and are samples",
        {
            "x.csv": pd.DataFrame(NUMBERED_LINKS, columns=["from_stop", "to_stop"])
            .assign(minutes=RNG.normal(size=len(NUMBERED_LINKS)).round(2), cost=2.5)
            .to_csv(index=False)
        },
        paths=["x.csv"],
        features=[["from_stop", "to_stop", "minutes", "cost"]],
    ),
    Case(
        "ids with a point for nothing are whole numbers",
        {
            "a.csv": table(VIEWS[0], IDS, "run"),
            "b.csv": table(VIEWS[1], [f"{x}.0" for x in IDS], "run", order=ORDER),
        },
        values=VIEWS,
        samples=[str(x) for x in IDS],
    ),
    read_as("an end as in DOS", b"id,a,b\r\nx,1,2\r\ny,3,4\r\n\x1a", AB, ["x", "y"]),
    *(
        Case(
            f"a row and cells of {code}",
            {
                "a.csv": f"id,a,b\nx,1,2\ny,{code},{code}\nz,3,4\n",
                "b.csv": "id,c\nx,1\ny,2\nz,3\n",
            },
            {"missing": [given]},
            values=[[[1, 2], [0, 0], [3, 4]], [[1], [2], [3]]],
            lacking=[1, 0],
        )
        for code, given in (("-999", -999), ("-9.99e2", "-999"), ("1e20", 1e20), ("n.d.", "n.d."))
    ),
    refused(
        "a cell of a code",
        "id,a,b\nx,1,2\ny,-999,3\nz,3,4\n",
        "line 3, column 2 holds '-999', not a number; fill='median' fills gaps",
        options={"missing": [-999]},
    ),
    read_as(
        "a cell of a code that is filled",
        "id,a,b\nx,1,2\ny,-999,3\nz,5,4\n",
        [[1, 2], [3, 3], [5, 4]],
        options={"missing": [-999], "fill": "median"},
    ),
    Case(
        "codes in arrays",
        {"x.npz": {"X1": VIEWS[0], "X2": np.where(CLASSES[:, None] == 0, -99, VIEWS[1])}},
        {"missing": [-99]},
        ["x.npz"],
        values=[VIEWS[0], np.where(CLASSES[:, None] == 0, 0, VIEWS[1])],
    ),
    Case(
        "columns of words and gaps, both left out and filled",
        {"x.csv": GAPS.to_csv()},
        {"drop": ["site"], "fill": "mean"},
        ["x.csv"],
        features=[["g0", "g1", "g2", "g3", "g4", "g5"]],
        left_out={"what drop= names site": "it was asked for"},
    ),
    refused(
        "another way to fill",
        GAPS.to_csv(),
        "fill='most' is neither 'median' nor 'mean'",
        options={"fill": "most", "drop": ["site"]},
    ),
    refused(
        "no such column",
        GAPS.to_csv(),
        "drop: there is no column 'h.'. There are g0, g1",
        options={"drop": ["h*"]},
    ),
    Case(
        "groups of columns are views",
        {"x.csv": GAPS.to_csv()},
        {"columns": {"first": "g0, g[23]", "last": "g4,g5"}},
        ["x.csv"],
        names=["first", "last"],
        features=[["g0", "g2", "g3"], ["g4", "g5"]],
        samples=WORDS,
    ),
    Case(
        "columns with commas and brackets in their names",
        {"x.csv": SEVERAL_WAYS.rename(columns={"g0": "a, b", "g1": "Sig(x[1])"}).to_csv()},
        {"drop": ["a, b", "Sig(x[1])"]},
        ["x.csv"],
        features=[["g2", "g3", "g4", "g5"]],
    ),
    *(
        Case(
            f"tables that lie either way, {' before '.join(names)}",
            {
                f"{names[0]}.csv": table(VIEWS[0], WORDS),
                f"{names[1]}.csv": turned(VIEWS[1], WORDS, start="h"),
            },
            samples=... if names[0] == "b" else WORDS,
            lacking=[0, 0],
            warns=r"the columns of .\.csv have the names of the rows of .\.csv, and are",
        )
        for names in ("ab", "ba")
    ),
    *(
        refused(f"edges, {kind}", text, r"looks like a list of edges.*networkx.to_pandas_adjacency")
        for kind, text in (
            ("words", edges(*LINKS)),
            ("words without a header", edges(*LINKS, header="")),
            (
                "weights",
                "one,other,w\n" + "".join(f"{a},{b},{i}.5\n" for i, (a, b) in enumerate(LINKS)),
            ),
            ("numbers", edges(*NUMBERED_LINKS, header="source,target")),
            ("bars between cells", edges(*LINKS).replace(",", "|")),
            (
                "as Gephi writes them",
                "Source,Target,Type,Id,Label,Weight\n"
                + "".join(f"{a},{b},Undirected,{i},,1.5\n" for i, (a, b) in enumerate(LINKS)),
            ),
        )
    ),
    Case(
        "edges of numbers under other names are told",
        {"x.csv": edges(*NUMBERED_LINKS, header="a,b")},
        paths=["x.csv"],
        warns="looks like a list of edges",
    ),
    *(
        Case(
            f"a file for each sample or part, {kind}",
            {
                f"{name}.csv": table(x, names)
                for name, x in zip("abc", (VIEWS[0], 2 * VIEWS[0], -VIEWS[0]))
            },
            warns=warns,
            error=error,
        )
        for kind, names, warns, error in (
            (
                "without names",
                None,
                None,
                r"a.csv, b.csv, c.csv have the same columns: are they parts o",
            ),
            (
                "with names",
                WORDS,
                "have the same columns: are they parts of one table .*taken for a",
                None,
            ),
        )
    ),
    Case(
        "files that a spreadsheet holds open",
        {"a.csv": table(VIEWS[0]), "~$a.xlsx": b"\5", "~$b.csv": b"\5"},
        values=VIEWS[:1],
        left_out=[],
    ),
    Case(
        "a frame in HDF5 of pandas",
        {"x.h5": {"df/axis0": [1, 2], "df/block0_values": VIEWS[0]}},
        paths=["x.h5"],
        error=r"x.h5 .* it has frames as pandas writes them: pandas.read_hdf\(file, 'df'\)",
    ),
]
CASES = [*EVERY_KIND, *STRANGE, *CALLED, *HEADERS, *BAD, *NAMED, *KNOWN]

#: Real files in the forms of the trade: their samples, widths and number of classes, or an error.
INPUTS = Path(__file__).parents[2] / "shared" / "inputs"
BROUGHT = [
    (["tcga_breast"], {"transposed": True, "labels_key": "subtype"}, 379, [184, 142], 4),
    (["h5mu/v0.1.2_axis0.h5mu"], {}, 100, [30, 20], None),
    (["h5mu/v0.4.1_axis0.h5mu"], {}, 100, [30, 20], None),
    (["h5mu/v0.4.1_axis1.h5mu"], {}, "they share no sample", None, None),
    (["spatial/test_data.h5ad"], {}, 49, [1999], 5),
    (["tenx/filtered_feature_bc_matrix.h5"], {}, 1107, [507], None),
    (["tenx/filtered_feature_bc_matrix"], {}, 1107, [507], None),
    (["rppa/protein_RPPA.txt"], {}, "columns of words, not numbers: ProteinAntibody", None, None),
    (
        ["rppa/protein_RPPA.txt"],
        TRANSPOSED,
        "ProteinAntibody .*; they describe features",
        None,
        None,
    ),
    (["plant"], {}, "Accession .Q9FUY7, ...., Description .*frame.drop", None, None),
    (["plant/metabolomics.csv"], {}, 494, [6], None),
    (["mice"], {"labels_key": "genotype"}, 40, [120, 21], 2),
    (["mice"], {"labels_key": "diet"}, 40, [120, 21], 5),
    (["grasslands/grasslands-spe.csv"], {}, 48, [171], None),
    (
        ["grasslands"],
        {},
        "classification .JmFo, ...., and 5 empty cells in aspect, .*; classification may be c",
        None,
        None,
    ),
    (["river"], {}, 30, [11, 2, 27], None),
]
