"""Every line that a message about a table shows runs on that table, and what it makes is read."""

import pathlib
import re
import warnings

import networkx
import numpy as np
import pandas
import pytest
import reader_cases
from reader_cases import COUNTS, LONG, VIEWS, WORDS, N, turned, with_columns

from dmac.data import readers, vocabulary
from dmac.data.checks import check_views
from dmac.data.readers import read_views


def of_cells(*cells):
    """A table with names, a column of numbers and one of such cells."""
    n = len(cells)
    return pandas.DataFrame({"id": WORDS[:n], "a": VIEWS[0][:n, 0], "b": cells}).to_csv(index=False)


def lines_of(message):
    """The lines of Python in a message: each from its first word to where its brackets close."""
    found = []
    for start in re.finditer(r"(?<![\w.(])(?:frame[.\[]|pandas\.|networkx\.|pathlib\.)", message):
        if found and start.start() < found[-1][1]:
            continue
        depth, end = 0, start.start()
        for end in range(start.start(), len(message)):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(message[end], 0)
            following = message[end + 1 : end + 2]
            if (
                depth == 0
                and message[end] in ")]"
                and (following not in "[.(" or message[end + 1 : end + 3] == ". ")
                and not re.match(r" [=+] ", message[end + 1 :])
            ):
                break
        found.append((start.start(), end + 1))
    return [message[a:b] for a, b in found]


def run(line, path, frame):
    """What a line makes of a table: a frame, or a file of its own."""
    name = path.with_name(f"made{path.suffix}")
    names = {"frame": frame, "pandas": pandas, "networkx": networkx, "pathlib": pathlib}
    names |= {"file": path, "name": name}
    if re.match(r"frame\[.*?\]+ = ", line):
        exec(line, names)
        names["frame"].to_csv(name, index=False)
    else:
        made = eval(line, names)  # noqa: S307  # to run it is the test
        if isinstance(made, pandas.DataFrame):
            keeps = made.index.name is not None or made.index.dtype.kind not in "iu"
            made.to_csv(name, index=keeps)
    return name


def said_of(path, **options):
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError) as raised:
        check_views(read_views([path], **options).views, incomplete=True)
    return str(raised.value)


THOUSANDS = [f"{x:,.2f}" for x in np.linspace(0.5, 98765.25, 12)]
KINDS = {
    "numbers with commas between thousands": (THOUSANDS, [0.5, 98765.25]),
    "numbers with decimal commas": (["1.234,5", "17,25", "0,5"], [1234.5, 0.5]),
    "numbers with signs between thousands": (["1 234,5", "17", "2 000"], [1234.5, 2000]),
    "dates with the day first": (["16.01.2024", "01.02.2024", "28.02.2024"], [738901, 738944]),
    "dates": (["2024-01-16", "2024-02-01", "2024-02-28"], [738901, 738944]),
    "numbers with units and commas between thousands": (
        ["1,234 kg", "5.5 kg", "0.25 kg"],
        [1234, 0.25],
    ),
    "times": (["7:15", "12:30:30", "0:45"], [26100, 2700]),
    "numbers with units and points between thousands": (
        ["€ 17,00", "€ 1.234,50", "€ 0,25"],
        [17, 0.25],
    ),
    "numbers with units": (["1,5 kg", "17,25 kg", "0,5 kg"], [1.5, 0.5]),
}
OTHER_DATES = [
    ["01-Jan-2024", "16-Feb-2024"],
    ["01/16/2024", "02/28/2024"],
    ["2024/1/16", "2025/2/3"],
]


@pytest.mark.parametrize(
    ("kind", "cells", "ends"),
    [
        *((kind, *case) for kind, case in KINDS.items()),
        *(("dates", cells, None) for cells in OTHER_DATES),
        ("numbers with units and commas between thousands", ["5%", "17%", "0.5%"], [5, 0.5]),
        ("numbers with units", ["5mg", "17mg", "1,5mg"], [5, 1.5]),
        (
            "numbers with units and commas between thousands",
            ["$1,234.50", "$17.00", "$0.50"],
            [1234.5, 0.5],
        ),
        ("numbers with units and commas between thousands", ["<0.01", "<0.05", "<2"], [0.01, 2]),
    ],
)
def test_the_line_for_a_column_makes_its_numbers(kind, cells, ends, tmp_path):
    assert set(KINDS) == set(vocabulary._KINDS)
    (tmp_path / "x.csv").write_text(of_cells(*cells))
    message = said_of(tmp_path / "x.csv")
    assert f"b may be {kind}: " in message
    (line,) = lines_of(message)
    made = run(line, tmp_path / "x.csv", pandas.read_csv(tmp_path / "x.csv"))
    (x,) = check_views(read_views([made]).views)
    assert x.shape == (len(cells), 2)
    assert ends is None or x[[0, -1], 1].tolist() == ends


HALVES = {"country": np.repeat(["A", "B", "C"], 10), "year": np.tile(COUNTS[:10], 3)}
NODES = [f"n{i}" for i in range(12)]
EDGES = pandas.DataFrame(
    [(NODES[i], NODES[j]) for i in range(12) for j in range(i) if (i + j) % 3], columns=["a", "b"]
)
LINES = {
    "names": (with_columns(who=WORDS), {}, (N, 6)),
    "categories": (with_columns(site=reader_cases.PLACES_OF), {}, (N, 9)),
    "free text": (with_columns(text=[f"of {x}" for x in WORDS], id=WORDS), {}, None),
    "two halves of a name": (with_columns(**HALVES), {}, (N, 6)),
    "a long table": (LONG.to_csv(), {}, (N, 6)),
    "a long table with views": (
        LONG.assign(view=np.where(LONG.feature < "g3", "rna", "meth")).to_csv(index_label="who"),
        {},
        (N, 6),
    ),
    "a sign between cells": ("a:b\n1:2\n3:4\n", {}, (2, 2)),
    "Latin-1": ("id,ü,b\nx,1,2\ny,3,4\n".encode("latin-1"), {}, (2, 2)),
    "Latin-1, semicolons": ("id;ü;b\nx;1,5;2\ny;3;4\n".encode("latin-1"), {}, (2, 2)),
    "titles": ("Table S1\nmade by hand\nid,a,b\nx,1,2\ny,3,4\n", {}, (2, 2)),
    "titles, semicolons, a blank line": ("Table, S1\n\nid;a;b\nx;1;2\ny;3;4\n", {}, (2, 2)),
    "groups of columns": (",A,,B,\nid,a,b,a,b\nx,1,2,3,4\ny,3,4,1,2\n", {}, (2, 4)),
    "points between thousands": ("a;b\n1;0,5\n2;1.234,5\n", {}, (2, 2)),
    "gaps": ("id,a,b\nx,1,\ny,3,4\nz,4,8\n", {}, (3, 2)),
    "a word among numbers": ("id,a,b\nx,1,n.d.\ny,3,4\nz,4,8\n", {}, None),
    "units": ("id,a,b\n,kg,cm\nx,1,5\ny,3,4\nz,4,8\n", {}, (3, 2)),
    "edges": (EDGES.to_csv(index=False), {}, (12, 12)),
    "edges with weights": (EDGES.assign(w=1.5).to_csv(index=False), {}, (12, 12)),
    "edges between bars": (EDGES.to_csv(index=False, sep="|"), {}, (12, 12)),
    "edges of Gephi": (
        EDGES.set_axis(["Source", "Target"], axis=1)
        .assign(Type="Undirected", Id=range(len(EDGES)), Label="", Weight=1.5)
        .to_csv(index=False),
        {},
        (12, 12),
    ),
    "edges of Gephi without weights": (
        EDGES.set_axis(["Source", "Target"], axis=1)
        .assign(Type="Directed", Id=range(len(EDGES)))
        .to_csv(index=False),
        {},
        (12, 12),
    ),
    "edges of a kind": (EDGES.assign(kind="binds").to_csv(index=False), {}, (12, 12)),
    "units among numbers": ("id,a,b\nx,1,5 kg\ny,3,4\nz,4,8\n", {}, (3, 2)),
    "units between semicolons": ("id;a;b\n;kg;cm\nx;1,5;5\ny;3;4\nz;4;8\n", {}, (3, 2)),
    "groups of columns between tabs": (
        "\tA\t\tB\t\nid\ta\tb\ta\tb\nx\t1\t2\t3\t4\ny\t3\t4\t1\t2\n",
        {},
        (2, 4),
    ),
    "edges without a header": (EDGES.to_csv(index=False, header=False), {}, (12, 12)),
}


@pytest.mark.parametrize("kind", LINES)
def test_every_line_of_a_message_runs_on_the_table_that_brings_it_about(kind, tmp_path):
    text, options, shape = LINES[kind]
    path = tmp_path / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    message = said_of(path, **options)
    lines = lines_of(message)
    assert lines, message
    for line in lines:
        try:
            frame = pandas.read_csv(path)
        except (UnicodeDecodeError, pandas.errors.ParserError):
            frame = None
        made = run(line, path, frame)
        if shape:
            (x,) = check_views(read_views([made]).views, incomplete=True)
            assert x.shape == shape, line


def test_other_columns_of_features_are_left_out_by_the_line(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(turned(VIEWS[0], WORDS, [("Chr", [f"chr{j}" for j in range(6)])]))
    (line,) = lines_of(said_of(path, transposed=True))
    made = run(line, path, pandas.read_csv(path))
    (x,) = check_views(read_views([made], transposed=True).views)
    assert x.shape == (N, 6)


@pytest.mark.parametrize(
    "ending, write",
    [
        (".graphml", networkx.write_graphml),
        (".gexf", networkx.write_gexf),
        (".gml", networkx.write_gml),
        (".net", networkx.write_pajek),
        (".edgelist", networkx.write_edgelist),
    ],
)
def test_files_of_networks_have_a_line_that_makes_a_table(ending, write, tmp_path):
    path = tmp_path / f"x{ending}"
    write(networkx.from_pandas_edgelist(EDGES, "a", "b"), path)
    (line,) = lines_of(readers.WAYS[ending])
    names = {"networkx": networkx, "file": path, "name": tmp_path / "made.csv"}
    eval(line, names)  # noqa: S307
    assert read_views([names["name"]]).views[0].values.shape == (12, 12)
