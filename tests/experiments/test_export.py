"""Figures and tables of executed pages as files, on a toy page and on tables of pandas."""

import base64
import csv
import json

import nbformat
import pandas as pd
import pytest
from helpers import python

from experiments import export

PIXEL = base64.b64encode(b"\x89PNG not a real one").decode()


def page(*cells):
    """An executed notebook with named cells, each with its outputs."""
    metadata = {"mystnb": {"image": {"alt": 'a "line"'}}}
    made = {"cell_type": "code", "metadata": metadata, "source": ""}
    shown = {"output_type": "display_data", "metadata": {}}
    written = [
        made | {"id": name, "outputs": [shown | {"data": x} for x in outputs]}
        for name, *outputs in cells
    ]
    return {"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def test_a_plain_table_is_read_cell_by_cell():
    columns = {"ACC": ["1.0 ± 0.5", "−2.0"], "a < b": ["x & y", "–"], "2": ["1.50", "NaN"]}
    table = pd.DataFrame(columns, ["PIE", "BBC"])
    expected = [
        ["", "ACC", "a < b", "2"],
        ["PIE", "1.0 ± 0.5", "x & y", "1.50"],
        ["BBC", "−2.0", "–", "NaN"],
    ]
    for written in (table.to_html(), table._repr_html_()):  # with styles around it
        assert export.parse_table(written).to_numpy().tolist() == expected
    with pytest.raises(ValueError, match="No tables"):
        export.parse_table("<p>nothing</p>")


def test_spans_are_repeated_so_that_every_line_can_be_read_by_itself():
    index = pd.MultiIndex.from_product([["PIE", "BBC"], ["ACC", "NMI"]])
    columns = pd.MultiIndex.from_product([["one", "two"], ["mean", "p"]])
    table = pd.DataFrame([[f"{i}{j}" for j in range(4)] for i in range(4)], index, columns)
    assert export.parse_table(table.to_html()).to_numpy().tolist() == [
        ["", "", "one", "one", "two", "two"],
        ["", "", "mean", "p", "mean", "p"],
        ["PIE", "ACC", "00", "01", "02", "03"],
        ["PIE", "NMI", "10", "11", "12", "13"],
        ["BBC", "ACC", "20", "21", "22", "23"],
        ["BBC", "NMI", "30", "31", "32", "33"],
    ]


@pytest.mark.parametrize(
    "table", [pd.DataFrame({"a": range(99)}), pd.DataFrame({"a": ["word " * 30]})]
)
def test_a_table_that_pandas_cut_is_refused(table):
    with pytest.raises(ValueError, match="left a part of this table out"):
        export.parse_table(table._repr_html_())


def test_files_are_named_after_page_and_cell(tmp_path):
    table, shown = pd.DataFrame({"ACC": [1.5]}, ["PIE"]), {"image/png": PIXEL}
    written = page(
        ("acc", {"text/html": table._repr_html_(), "text/plain": "ACC"}),
        ("both", shown, {"text/html": [table.to_html()]}),
        ("drawn", shown | {"image/svg+xml": "<svg/>"}, {"text/plain": "630 runs"}),
    )
    (tmp_path / "01_toy.ipynb").write_text(json.dumps(written), encoding="utf-8")
    out = tmp_path / "out"
    assert python(export.__file__, tmp_path, out).startswith("4 figures and tables: open ")
    names = [f"01_toy-{n}" for n in ("acc.csv", "both.png", "both.csv", "drawn.svg")]
    assert {path.name for path in out.iterdir()} == {*names, "index.html"}
    assert (out / "01_toy-both.png").read_bytes() == base64.b64decode(PIXEL)
    with (out / "01_toy-acc.csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == [["", "ACC"], ["PIE", "1.5"]]
    index = (out / "index.html").read_text(encoding="utf-8")
    assert 'alt="a &quot;line&quot;"' in index and all(name in index for name in names)
    twice = nbformat.from_dict(page(("twice", shown, shown)))
    with pytest.raises(ValueError, match="'twice' shows two of one kind"):
        list(export.named_outputs(twice))
    with pytest.raises(FileNotFoundError, match="no executed notebook"):
        export.export(out, tmp_path)
