"""Figures and tables of executed pages as files, on a toy page and on tables of pandas."""

import base64
import csv
import json
import subprocess
import sys

import nbformat
import pandas as pd
import pytest

from experiments import export

PIXEL = base64.b64encode(b"\x89PNG not a real one").decode()


def cell(name, *outputs, **metadata):
    data = [{"output_type": "display_data", "data": output, "metadata": {}} for output in outputs]
    return {"cell_type": "code", "id": name, "metadata": metadata, "source": "", "outputs": data}


def page(*cells):
    text = {"cell_type": "markdown", "id": "text", "metadata": {}, "source": "no output"}
    return {"cells": [text, *cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def rows_of(table):
    """What a reader of the CSV sees, from pandas itself."""
    return export.parse_table(table.to_html()).to_numpy().tolist()


def test_a_plain_table_is_read_cell_by_cell():
    columns = {"ACC": ["1.0 ± 0.5", "−2.0"], "a < b": ["x & y", "–"], "2": ["1.50", "NaN"]}
    assert rows_of(pd.DataFrame(columns, ["PIE", "BBC"])) == [
        ["", "ACC", "a < b", "2"],
        ["PIE", "1.0 ± 0.5", "x & y", "1.50"],
        ["BBC", "−2.0", "–", "NaN"],
    ]


def test_spans_are_repeated_so_that_every_line_can_be_read_by_itself():
    index = pd.MultiIndex.from_product([["PIE", "BBC"], ["ACC", "NMI"]])
    columns = pd.MultiIndex.from_product([["one", "two"], ["mean", "p"]])
    values = [[f"{i}{j}" for j in range(4)] for i in range(4)]
    assert rows_of(pd.DataFrame(values, index, columns)) == [
        ["", "", "one", "one", "two", "two"],
        ["", "", "mean", "p", "mean", "p"],
        ["PIE", "ACC", "00", "01", "02", "03"],
        ["PIE", "NMI", "10", "11", "12", "13"],
        ["BBC", "ACC", "20", "21", "22", "23"],
        ["BBC", "NMI", "30", "31", "32", "33"],
    ]


def test_styles_around_a_table_are_no_cells():
    table = pd.DataFrame({"a": [1]})
    assert export.parse_table(table._repr_html_()).to_numpy().tolist() == [["", "a"], ["0", "1"]]
    assert export.parse_table(pd.DataFrame()._repr_html_()).empty
    assert rows_of(pd.DataFrame(columns=["a", "b"])) == [["", "a", "b"]]
    with pytest.raises(ValueError, match="No tables"):
        export.parse_table("<p>nothing</p>")


@pytest.mark.parametrize(
    "table", [pd.DataFrame({"a": range(99)}), pd.DataFrame({"a": ["word " * 30]})]
)
def test_a_table_that_pandas_cut_is_refused(table):
    with pytest.raises(ValueError, match="left a part of this table out"):
        export.parse_table(table._repr_html_())


def test_files_are_named_after_page_and_cell(tmp_path):
    table, other = pd.DataFrame({"ACC": [1.5]}, ["PIE"]), {"text/plain": "630 runs"}
    shown = {"image/png": PIXEL, "text/plain": "<Figure>"}
    alt = {"image": {"alt": 'a "line"'}, "figure": {"caption": "c", "name": "fig-a"}}
    written = page(
        cell("acc", {"text/html": table._repr_html_(), "text/plain": "ACC"}),
        cell("accuracy", shown, other, mystnb=alt),
        cell("both", shown, {"text/html": [table.to_html()]}),
        cell("nothing", other),
    )
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "01_toy.ipynb").write_text(json.dumps(written), encoding="utf-8")
    names = export.export(tmp_path / "pages", tmp_path / "out")
    assert names == [
        "01_toy-acc.csv",
        "01_toy-accuracy.png",
        "01_toy-both.png",
        "01_toy-both.csv",
    ]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*names, "index.html"}
    assert (tmp_path / "out" / "01_toy-accuracy.png").read_bytes() == base64.b64decode(PIXEL)
    with (tmp_path / "out" / "01_toy-acc.csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == [["", "ACC"], ["PIE", "1.5"]]
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'alt="a &quot;line&quot;"' in index and all(name in index for name in names)


def test_a_drawing_is_written_as_it_is_and_two_figures_of_one_cell_are_refused():
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"/>'
    shown = {"image/svg+xml": drawing, "image/png": PIXEL}
    drawn = cell("drawn", shown, mystnb={"image": {"alt": "x"}})
    found = list(export.named_outputs(nbformat.from_dict(page(drawn))))
    assert found == [("drawn", "svg", drawing.encode(), "x")]
    twice = cell("twice", {"image/png": PIXEL}, {"image/png": PIXEL})
    with pytest.raises(ValueError, match="'twice' shows two of one kind"):
        list(export.named_outputs(nbformat.from_dict(page(twice))))


def test_the_command_says_what_it_wrote(tmp_path):
    (tmp_path / "01_toy.ipynb").write_text(json.dumps(page(cell("a", {"image/png": PIXEL}))))
    command = [sys.executable, export.__file__, str(tmp_path), str(tmp_path / "out")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("1 figures and tables: open ")
    with pytest.raises(FileNotFoundError, match="no executed notebook"):
        export.export(tmp_path / "out", tmp_path)
