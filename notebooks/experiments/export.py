"""Figures and tables of the executed pages as files, and one HTML page that shows them.

    python -m experiments.export book/experiments _build/figures

The pages have been run already, so nothing is computed twice: an image is written as the page has
it, and a table as its HTML says. The cell's id names the file.
"""

import argparse
import base64
import csv
import html
import json
import time
from html.parser import HTMLParser
from pathlib import Path


class _TableParser(HTMLParser):
    """Reads the cells of a table: their text, and how many rows and columns each spans."""

    def __init__(self):
        super().__init__()
        self.rows, self._cell = [], None

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            spans = {name: int(value) for name, value in attrs if name in ("rowspan", "colspan")}
            self._cell = {"text": ""} | {"rowspan": 1, "colspan": 1} | spans
            self.rows[-1].append(self._cell)

    def handle_data(self, data):
        if self._cell is not None:
            self._cell["text"] += data

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self._cell = None


def parse_table(text):
    """The cells of an HTML table, as a rectangle.

    Parameters
    ----------
    text : str
        Of one table, as ``pandas.DataFrame.to_html`` writes it.

    Returns
    -------
    list of list of str
        Row by row, headings included. A cell that spans several rows or columns is repeated in
        each, so that every line can be read by itself.

    Raises
    ------
    ValueError
        If there is no table, or if pandas left rows, columns or text out of a large one.
    """
    parser = _TableParser()
    parser.feed(text)
    if not parser.rows:
        raise ValueError("there is no table in this HTML")
    cells = {}
    for i, row in enumerate(parser.rows):
        j = 0
        for cell in row:
            while (i, j) in cells:
                j += 1
            for down in range(cell["rowspan"]):
                for right in range(cell["colspan"]):
                    cells[i + down, j + right] = cell["text"].strip()
            j += cell["colspan"]
    if cut := [value for value in cells.values() if value.endswith("...")]:
        raise ValueError(f"pandas left a part of this table out: {cut[0]!r}; show it whole")
    height, width = (1 + max(place) for place in zip(*cells))
    return [[cells.get((i, j), "") for j in range(width)] for i in range(height)]


def named_outputs(notebook):
    """The figures and tables of an executed notebook, by the ids of their cells.

    Parameters
    ----------
    notebook : dict
        As JSON has it.

    Yields
    ------
    name : str
    kind : {"svg", "png", "csv"}
    content : bytes or str
        The image, or the HTML of the table.
    alt : str
        What the page says of the image for those who do not see it; empty for a table.

    Raises
    ------
    ValueError
        If a cell has two figures or two tables, which would have one name.
    """
    for cell in notebook["cells"]:
        kinds = set()
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" in data:
                kind, content = "svg", "".join(data["image/svg+xml"]).encode()
            elif "image/png" in data:
                kind, content = "png", base64.b64decode("".join(data["image/png"]))
            elif "<table" in "".join(data.get("text/html", "")):
                kind, content = "csv", "".join(data["text/html"])
            else:
                continue
            if kind in kinds:
                raise ValueError(f"cell {cell['id']!r} shows two of one kind: give each its cell")
            kinds.add(kind)
            image = cell["metadata"].get("mystnb", {}).get("image", {})
            yield cell["id"], kind, content, "" if kind == "csv" else image.get("alt", "")


def export(pages, folder):
    """Write the figures and tables of executed notebooks, and index.html, which shows them all.

    Parameters
    ----------
    pages : path
        Folder of executed notebooks.
    folder : path
        Files go there, named after page and cell, as "01_comparison-acc.csv".

    Returns
    -------
    list of str
        Names of the files.

    Raises
    ------
    FileNotFoundError
        If there is no notebook.
    """
    notebooks = sorted(Path(pages).glob("*.ipynb"))
    if not notebooks:
        raise FileNotFoundError(f"there is no executed notebook in {pages}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names, parts = [], []
    for path in notebooks:
        parts.append(f"<h2>{html.escape(path.stem)}</h2>")
        for name, kind, content, alt in named_outputs(json.loads(path.read_text("utf-8"))):
            file = folder / f"{path.stem}-{name}.{kind}"
            names.append(file.name)
            parts.append(f"<h3>{html.escape(file.name)}</h3>")
            if kind != "csv":
                file.write_bytes(content)
                parts.append(f'<img src="{file.name}" alt="{html.escape(alt)}">')
            else:
                with file.open("w", encoding="utf-8", newline="") as stream:
                    csv.writer(stream, lineterminator="\n").writerows(parse_table(content))
                parts.append(content)
    head = '<!doctype html><meta charset="utf-8"><title>Figures and tables</title>'
    style = "<style>body{font-family:sans-serif;margin:2em}td,th{padding:0 .6em}img{max-width:60em}"
    text = f"{head}{style}</style><h1>Figures and tables</h1>{''.join(parts)}"
    (folder / "index.html").write_text(text, encoding="utf-8")
    return names


def main():
    """Entry point of ``python -m experiments.export``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, help="folder of executed notebooks")
    parser.add_argument("folder", type=Path, help="where the files go")
    given = parser.parse_args()
    start = time.monotonic()
    names = export(given.pages, given.folder)
    seconds = time.monotonic() - start
    print(f"{len(names)} figures and tables in {seconds:.1f} s: open {given.folder}/index.html")


if __name__ == "__main__":
    main()
