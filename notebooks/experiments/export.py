"""Figures and tables of the executed pages as files, and one HTML page that shows them.

    python -m experiments.export book/experiments _build/figures

The pages have been run already, so nothing is computed twice: an image is written as the page has
it, and a table as its HTML says. The cell's id names the file.
"""

import argparse
import base64
import html
import io
import re
from pathlib import Path

import nbformat
import pandas as pd


def parse_table(text):
    """The cells of an HTML table of pandas as a frame of text, headings included.

    A cell that spans several rows or columns is repeated in each, so that every line can be read by
    itself.

    Raises
    ------
    ValueError
        If there is no table, or if pandas left rows, columns or text out of a large one.
    """
    body = re.sub(r"<(/?)th(ead)?\b", lambda m: f"<{m[1]}{'tbody' if m[2] else 'td'}", text)
    tables = pd.read_html(io.StringIO(body), flavor="lxml")
    if not tables:
        return pd.DataFrame()  # a table without a row
    as_text = dict.fromkeys(range(tables[0].shape[1]), str)  # 1.50 stays 1.50
    more = {"flavor": "lxml", "keep_default_na": False, "converters": as_text}
    (table,) = pd.read_html(io.StringIO(body), **more)
    if cut := [value for value in table.to_numpy().flat if value.endswith("...")]:
        raise ValueError(f"pandas left a part of this table out: {cut[0]!r}; show it whole")
    return table


def named_outputs(notebook):
    """The figures and tables of an executed notebook, by the ids of their cells.

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
    for cell in notebook.cells:
        kinds = set()
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" in data:
                kind, content = "svg", data["image/svg+xml"].encode()
            elif "image/png" in data:
                kind, content = "png", base64.b64decode(data["image/png"])
            elif "<table" in data.get("text/html", ""):
                kind, content = "csv", data["text/html"]
            else:
                continue
            if kind in kinds:
                raise ValueError(f"cell {cell['id']!r} shows two of one kind: give each its cell")
            kinds.add(kind)
            image = cell.metadata.get("mystnb", {}).get("image", {})
            yield cell["id"], kind, content, "" if kind == "csv" else image.get("alt", "")


def export(pages, folder):
    """Write the figures and tables of executed notebooks, and index.html, which shows them all.

    Files are named after page and cell, as "01_comparison-acc.csv"; their names are returned.

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
        for name, kind, content, alt in named_outputs(nbformat.read(path, as_version=4)):
            file = folder / f"{path.stem}-{name}.{kind}"
            names.append(file.name)
            parts.append(f"<h3>{html.escape(file.name)}</h3>")
            if kind == "csv":
                parse_table(content).to_csv(file, index=False, header=False)
                parts.append(content)
            else:
                file.write_bytes(content)
                parts.append(f'<img src="{file.name}" alt="{html.escape(alt)}">')
    head = '<!doctype html><meta charset="utf-8"><title>Figures and tables</title>'
    style = "<style>body{font-family:sans-serif;margin:2em}td,th{padding:0 .6em}img{max-width:60em}"
    text = f"{head}{style}</style><h1>Figures and tables</h1>{''.join(parts)}"
    (folder / "index.html").write_text(text, encoding="utf-8")
    return names


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, help="folder of executed notebooks")
    parser.add_argument("folder", type=Path, help="where the files go")
    given = parser.parse_args()
    names = export(given.pages, given.folder)
    print(f"{len(names)} figures and tables: open {given.folder}/index.html")
