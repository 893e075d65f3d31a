"""Write each page of the rendered book as a notebook that runs alone, for its download button.

``python scripts/portable.py`` comes after ``jupyter-book build``. The text is that of the rendered
page, so every number, reference and formula is resolved and plain Markdown; the code and its
outputs are those of the executed notebook. Cells of set-up and checks are collapsed, and what a
chapter reads of the stored runs is packed into its first cell, in one also the package that reads
them.
"""

import base64
import json
import lzma
import re
from pathlib import Path

import nbformat
import yaml
from bs4 import BeautifulSoup
from markdownify import MarkdownConverter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "_build"
RESULTS = ROOT / "notebooks" / "results"
#: What every download says first, and what those of the pages of evidence say instead.
INSTALL = (
    "> To run this, download the wheel from the page Install of the book, and type in its folder\n"
    "> `pip install dmac-*.whl matplotlib pandas jupyterlab`"
)
CLONE = (
    "> This page reads the stored runs: it runs in a copy of the whole project, from the folder\n"
    "> `{folder}`, as the page Install of the book says. What is below was executed there."
)
#: In the book these numbers go into the text; a notebook has them there already.
GLUE = "def glue(name, value, display=False):\n    pass  # a number for the book's text"
_NOTEBOOKS = "../notebooks"
_FOLDER = f"{_NOTEBOOKS}/results"  # where chapters read stored runs
_MOVING = "_static/moving"  # and the figures that their readers move
_UNPACKED = "stored"  # what their downloads have in place of the first and of the last
_CELL = "§§cell§§"  # where the text has a cell
#: Chapters whose downloads carry `experiments`, and the groups of stored runs that they read by it.
CARRIES = {
    "17_scaling": (
        *("comparison", "closed form", "revised", "revised, new sets"),  # next to fits on a GPU
    )
}
#: What such a record keeps: what it is found by, and what the chapter reads of it.
_READ = ("key", "dataset", "data", "method", "settings", "seed", "scores", "seconds", "error")


class Plain(MarkdownConverter):
    """Markdown of a rendered page, as Jupyter shows it without extensions."""

    def __init__(self, macros, images):
        super().__init__(heading_style="ATX", bullets="-", escape_misc=False)
        self.macros, self.images, self.attachments = macros, images, {}

    def escape(self, text, parent_tags):
        return text.replace("*", r"\*").replace("_", r"\_")

    def _formula(self, el):
        return expand(re.sub(r"^\\[(\[]|\\[)\]]$", "", el.get_text().strip()), self.macros).strip()

    def convert_span(self, el, text, parent_tags):
        return f"${self._formula(el)}$" if "math" in el.get("class", []) else text

    def convert_div(self, el, text, parent_tags):
        kinds = set(el.get("class", []))
        if "math" in kinds:
            number, tag = el.select_one(".eqno"), ""
            if number is not None:
                tag = rf" \tag{{{number.extract().get_text().strip('()#')}}}"
            return f"\n\n$$\n{self._formula(el)}{tag}\n$$\n\n"
        if any(kind.startswith("highlight-") for kind in kinds):
            language = "python" if {"highlight-default", "highlight-ipython3"} & kinds else ""
            return f"\n\n```{language}\n{el.get_text().strip()}\n```\n\n"
        if "admonition" not in kinds:
            return f"\n\n{text.strip()}\n\n"
        title, text = el.select_one("p.admonition-title"), text.strip()
        if title is not None:  # a proof has none, and says so in its first words
            head, text = " ".join(title.get_text().split()), text.partition("\n")[2].strip()
            if "dropdown" in kinds:
                return _fold(head, text)
            text = f"**{head}**\n\n{text}"
        return "\n\n" + "\n".join(f"> {line}".rstrip() for line in text.splitlines()) + "\n\n"

    def convert_a(self, el, text, parent_tags):
        outside = el.get("href", "").startswith("http")
        return super().convert_a(el, text, parent_tags) if outside else text

    def convert_img(self, el, text, parent_tags):
        source = el["src"]
        if source.startswith(("http", "data:")):
            return ""
        file = (self.images / source).resolve()
        kind = {".svg": "image/svg+xml", ".png": "image/png"}[file.suffix]
        self.attachments[file.name] = {kind: base64.b64encode(file.read_bytes()).decode()}
        alt = el.get("alt", "").replace("[", "(").replace("]", ")").replace("\n", " ")
        return f"![{alt}](attachment:{file.name})"

    def convert_dl(self, el, text, parent_tags):
        return f"\n\n{text.strip()}\n\n"

    def convert_dt(self, el, text, parent_tags):
        return f"\n\n**{text.strip()}**\n\n"

    def convert_dd(self, el, text, parent_tags):
        return f"{text.strip()}\n\n"

    def convert_details(self, el, text, parent_tags):
        return _fold(el.select_one("summary").get_text().strip(), text.strip())

    def convert_summary(self, el, text, parent_tags):
        return ""


def _fold(head, text):
    return f"\n\n<details><summary>{head}</summary>\n\n{text}\n\n</details>\n\n"


def expand(formula, macros):
    """A formula without the book's macros, which a plain notebook does not know."""
    for name, value in macros.items():
        body, count = (value, 0) if isinstance(value, str) else value
        used = re.compile(rf"\\{name}(?![A-Za-z])" + r"\s*" * count)
        while match := used.search(formula):
            end, filled = match.end(), body
            if count:
                end = argument_end(formula, end)
                given = formula[match.end() : end]
                filled = body.replace("#1", given[1:-1] if given[0] == "{" else given)
            elif body[-1].isalpha() and formula[end : end + 1].isalpha():
                filled += " "
            formula = formula[: match.start()] + expand(filled, macros) + formula[end:]
    return formula


def argument_end(formula, start):
    """Where the argument of a macro ends: braces of any depth, a command, or a character."""
    depth = 0
    for token in re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL).finditer(formula, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    raise ValueError(f"a brace is not closed: {formula}")


def packed(source, results=RESULTS, groups=None, folder=_UNPACKED):
    """A cell that unpacks what a chapter reads of stored runs and moving figures, or None.

    Each download has a ``folder`` of its own, so that several may stand side by side.
    Records keep the entries whose names stand in the chapter's code. With
    ``groups`` of runs these are packed as well, and the package `experiments`, which reads them.
    """
    files = {}
    for name in re.findall(rf'"{_FOLDER}/([^"]+\.(?:csv|json|jsonl))"', source):
        if (results / name).exists():
            files[f"results/{name}"] = results / name
    patterns = re.findall(r'"(\*/[^"]+\.jsonl)"', source)
    for file in sorted(results.glob("runs/*/*.jsonl")):
        named = f'"{file.stem}"' in source or any(map(file.match, patterns))
        by_name = f'"{_FOLDER}/runs"' in source and named
        if by_name or file.stem in (groups or ()):
            files[f"results/{file.relative_to(results)}"] = file
    for name in re.findall(rf'"{_MOVING}/([^"]+)"', source):
        files[f"moving/{name}"] = ROOT / "book" / _MOVING / name
    for file in sorted((ROOT / "notebooks").glob("experiments/**/*.py") if groups else ()):
        files[str(file.relative_to(ROOT / "notebooks"))] = file
    if not files:
        return None
    kept = {name: _kept(file, source, groups) for name, file in files.items()}
    text = base64.b85encode(lzma.compress(json.dumps(kept).encode(), preset=9)).decode()
    return (
        "# The files that this chapter reads, packed.\n"
        "import base64\nimport json\nimport lzma\nfrom pathlib import Path\n\n"
        f'packed = "{text}"\n'
        "for name, text in json.loads(lzma.decompress(base64.b85decode(packed))).items():\n"
        f'    file = Path("{folder}", name)\n'
        "    file.parent.mkdir(parents=True, exist_ok=True)\n"
        '    file.write_text(text, encoding="utf-8")'
    )


def _kept(file, source, groups):
    """The text of a file; of records what is read, to seven digits."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".jsonl":
        return text
    rows = [json.loads(line, parse_float=_seven_digits) for line in text.splitlines()]

    def read(record):
        return {n: x for n, x in record.items() if f'"{n}"' in source or f".{n}" in source}

    parts = {"scores", "embedding", "epochs"}  # of which few are read
    kept = [{n: row[n] for n in row if n in _READ} if groups else read(row) for row in rows]
    kept = [{n: read(x) if n in parts else x for n, x in row.items()} for row in kept]
    return "".join(json.dumps(row) + "\n" for row in kept)


def _seven_digits(number):
    return float(f"{float(number):.7g}")


def cells_of(html, notebook, macros):
    """The cells of a page, from its rendering and its executed notebook.

    A cell that the page does not show stands before the next one that it shows.
    """
    page = BeautifulSoup(html.read_text(encoding="utf-8"), "html.parser")
    article = page.select_one("article.bd-article")
    for extra in article.select("a.headerlink, .toggle-button"):
        extra.decompose()
    for shown in article.select("div.cell"):
        for around in shown.find_parents("div", "admonition"):  # no cell stands in a box
            around["class"] = []
            for title in around.select("p.admonition-title"):
                title.name = "strong"
        for caption in shown.select("figcaption:not(.moving figcaption)"):
            shown.insert_after(caption.extract())
            caption.name = "em"
        shown.replace_with(_CELL)
    plain = Plain(macros, html.parent)
    texts = plain.convert(str(article)).split(_CELL)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for text in texts:
        text = re.sub(r"\n{3,}", "\n\n", text).strip()
        images = re.findall(r"\(attachment:([^)]+)\)", text)
        more = {"attachments": {name: plain.attachments[name] for name in images}} if images else {}
        yield new_markdown_cell(text, **more)
        while code:
            cell = code.pop(0)
            tags = cell.metadata.get("tags", [])
            yield _code_cell(cell, any(tag.startswith(("hide", "remove")) for tag in tags))
            if "remove-cell" not in tags:
                break
    if code or len(texts) - 1 > len(notebook.cells):
        raise ValueError(f"{html.name} does not show all cells of its notebook")


def _code_cell(cell, folded):
    """A cell without what needs the book, and without the numbers of its text."""
    source = cell.source.replace("from myst_nb import glue", GLUE)
    outputs = [one for one in cell.get("outputs", []) if "scrapbook" not in one.get("metadata", {})]
    more = {"metadata": {"jupyter": {"source_hidden": True}}} if folded else {}
    return new_code_cell(source, outputs=outputs, **more)


def portable(html, notebook, macros, folder):
    """A notebook that runs alone.

    Parameters
    ----------
    html : path
        The rendered page.
    notebook : nbformat.NotebookNode
        Executed.
    macros : dict
        Of the formulas.
    folder : str
        Where the page runs that needs a clone.

    Returns
    -------
    nbformat.NotebookNode
    """
    cells = [cell for cell in cells_of(html, notebook, macros) if cell.source]
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    groups, own = CARRIES.get(html.stem), f"{_UNPACKED}/{html.stem}"
    title, _, text = cells[0].source.partition("\n")
    first = INSTALL
    needs = rf'"{_NOTEBOOKS}"|^(from|import) experiments\b'  # `experiments`, or where it is
    if groups is None and re.search(needs, source, re.MULTILINE):
        first = CLONE.format(folder=folder)
    elif files := packed(source, groups=groups, folder=own):
        for cell in cells:
            cell.source = cell.source.replace(f'"{_NOTEBOOKS}', f'"{own}')
            cell.source = cell.source.replace(f'"{_MOVING}', f'"{own}/moving')
        cells.insert(1, new_code_cell(files, metadata={"jupyter": {"source_hidden": True}}))
    cells[0].source = f"{title}\n\n{first}\n{text}"
    for number, cell in enumerate(cells):
        cell["id"] = f"c{number}"
    for count, cell in enumerate((c for c in cells if c.cell_type == "code"), 1):
        for result in [cell, *(out for out in cell.outputs if "execution_count" in out)]:
            result["execution_count"] = count
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def main():
    """Give each page with code a portable notebook for its download button."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    macros = settings["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    for html in sorted(BUILT.glob("html/book/**/*.html")):
        name = html.relative_to(BUILT / "html").with_suffix(".ipynb")
        # A page of experiments comes executed.
        places = [folder / name for folder in (BUILT / "jupyter_execute", ROOT)]
        for executed in [place for place in places if place.exists()][:1]:
            notebook = nbformat.read(executed, 4)
            folder = "notebooks" if "experiments" in name.parts else "book"
            done = portable(html, notebook, macros, folder)
            nbformat.write(done, BUILT / "html" / "_sources" / name)


if __name__ == "__main__":
    main()
