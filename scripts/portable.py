"""Write each page of the rendered book as a notebook that runs alone, for its download button.

``python scripts/portable.py`` comes after ``jupyter-book build``. The text is that of the rendered
page, so every number, reference and formula is resolved and plain Markdown; the code and its
outputs are those of the executed notebook. Cells of set-up and checks are collapsed, and what a
chapter reads of the stored runs is packed into its first cell, in one also the package that reads
them.

Pages that have moved get a page at their old address, which leads to the new one.
"""

import ast
import base64
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import nbformat
import yaml
from bs4 import BeautifulSoup
from markdownify import MarkdownConverter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "_build"
RESULTS = ROOT / "notebooks" / "results"
#: What the pages of evidence say first: they read more stored runs than a notebook should carry.
CLONE = (
    "> This page reads the stored runs and the package `experiments`: it runs in a copy of the "
    "whole project, from the folder `{folder}`. What is below was executed there."
)
_NOTEBOOKS = "../notebooks"
_FOLDER = f"{_NOTEBOOKS}/results"  # where chapters read stored runs
_MOVING = "_static/moving"  # and the figures that their readers move
_UNPACKED = "stored"  # what their downloads have in place of the first and of the last
#: Chapters whose downloads carry `experiments`, and the groups of stored runs that they read by it.
CARRIES = {
    "22_scaling": (
        *("comparison", "peers", "CMGEC, cosine", "released, new sets"),
        *("closed form", "revised", "revised, new sets"),  # beside the fits on a GPU
    )
}
#: What such a record keeps: what it is found by, and what the chapter reads of it.
_READ = ("key", "dataset", "data", "method", "settings", "seed", "scores", "seconds", "error")

#: Where pages of the book were, and where they are now.
MOVED = {
    "10_scaling.html": "22_scaling.html",
    "11_recipes.html": "17_recipes.html",
    "12_your_data.html": "19_your_data.html",
    "13_the_field.html": "23_the_field.html",
    "14_network.html": "16_network.html",
    "15_evidence.html": "18_evidence.html",
    "24_the_field.html": "23_the_field.html",
    "api_rest.html": "api_components.html",
    "experiments/05_runtime.html": "../22_scaling.html#exp-runtime",
}
#: Scripts keep the section that the old address names; without them the page is found.
_LEADS = """<!doctype html>
<meta charset="utf-8">
<title>This page has moved</title>
<link rel="canonical" href="{new}">
<noscript><meta http-equiv="refresh" content="0; url={new}"></noscript>
<p>This page <a href="{new}">has moved</a>.</p>
<script>
  const there = new URL("{new}", location);
  there.hash = location.hash || there.hash;
  location.replace(there);
</script>
"""


class Plain(MarkdownConverter):
    """Markdown of a piece of a rendered page, as Jupyter shows it without extensions."""

    def __init__(self, macros, images, **options):
        super().__init__(heading_style="ATX", bullets="-", escape_misc=False, **options)
        self.macros, self.images, self.attachments = macros, images, {}

    def escape(self, text, parent_tags):
        return text.replace("*", r"\*").replace("_", r"\_") if "_" in text or "*" in text else text

    def _formula(self, el):
        return expand(re.sub(r"^\\[(\[]|\\[)\]]$", "", el.get_text().strip()), self.macros).strip()

    def convert_span(self, el, text, parent_tags):
        return f"${self._formula(el)}$" if "math" in el.get("class", []) else text

    def convert_div(self, el, text, parent_tags):
        kinds = set(el.get("class", []))
        if "math" in kinds:
            number = el.select_one(".eqno")
            tag = ""
            if number is not None:
                tag = rf" \tag{{{number.get_text().strip('()#')}}}"
                number.decompose()
            return f"\n\n$$\n{self._formula(el)}{tag}\n$$\n\n"
        if any(kind.startswith("highlight-") for kind in kinds):
            language = "python" if {"highlight-default", "highlight-ipython3"} & kinds else ""
            return f"\n\n```{language}\n{el.get_text().strip()}\n```\n\n"
        if "admonition" in kinds:
            title, body = el.select_one("p.admonition-title"), text.strip()
            if title is None:  # a proof, which says so in its first words
                return "\n\n" + quote(body) + "\n\n"
            head = " ".join(title.get_text().split())
            body = body.partition("\n")[2].strip()
            if "dropdown" in kinds:
                return f"\n\n<details><summary>{head}</summary>\n\n{body}\n\n</details>\n\n"
            return "\n\n" + quote(f"**{head}**\n\n{body}") + "\n\n"
        return f"\n\n{text.strip()}\n\n"

    def convert_a(self, el, text, parent_tags):
        address = el.get("href", "")
        if "headerlink" in el.get("class", []):
            return ""
        return super().convert_a(el, text, parent_tags) if address.startswith("http") else text

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
        head = el.select_one("summary").get_text().strip()
        return f"\n\n<details><summary>{head}</summary>\n\n{text.strip()}\n\n</details>\n\n"

    def convert_summary(self, el, text, parent_tags):
        return ""


def quote(text):
    """Lines as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def expand(formula, macros):
    """A formula without the book's macros, which a plain notebook does not know."""
    for _ in range(3):  # a macro may use another one
        for name, value in macros.items():
            body, count = (value, 0) if isinstance(value, str) else value
            pattern = rf"\\{name}(?![A-Za-z])"
            if count:
                pattern += r"\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|\\[A-Za-z]+|\S)"
            formula = re.sub(pattern, lambda m, b=body, n=count: _filled(m, b, n), formula)
    return formula


def _filled(match, body, count):
    if not count:
        after = match.string[match.end() : match.end() + 1]
        return body + (" " if body[-1].isalpha() and after.isalpha() else "")
    given = match[1]
    return body.replace("#1", given[1:-1] if given.startswith("{") else given)


def runnable(source):
    """Code without what needs the book: gluing of numbers into its text."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell for the shell
        return source
    lines = source.splitlines()
    for node in ast.walk(tree):
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(body, list):
                continue
            gone = [one for one in body if _is_glue(one)]
            for i, one in enumerate(gone):
                indent = " " * one.col_offset
                keep = isinstance(node, ast.Module) or len(gone) < len(body) or i
                lines[one.lineno - 1] = "\0" if keep else f"{indent}pass"
                for k in range(one.lineno, one.end_lineno):
                    lines[k] = "\0"
    return "\n".join(line for line in lines if line != "\0").strip()


def _is_glue(node):
    if isinstance(node, ast.ImportFrom):
        return node.module == "myst_nb"
    call = getattr(node, "value", None)
    return isinstance(call, ast.Call) and getattr(call.func, "id", "") == "glue"


def packed(source, results=RESULTS, groups=None, folder=_UNPACKED):
    """A cell that unpacks what a chapter reads of stored runs and moving figures, or None.

    Each download has a ``folder`` of its own, so that several may stand side by side.
    Records keep the entries whose names stand in the chapter's code. With ``groups`` of runs these
    are packed as well, and the package `experiments`, which reads them.
    """
    if _FOLDER not in source and _MOVING not in source:
        return None
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        named = re.findall(rf'"{_FOLDER}/([^"]+\.(?:csv|json|jsonl))"', source)
        files = [results / name for name in named if (results / name).exists()]
        if f'"{_FOLDER}/runs", name' in source:
            files += [f for f in sorted(results.glob("runs/*/*.jsonl")) if f'"{f.stem}"' in source]
        for file in dict.fromkeys(files):
            archive.writestr(f"results/{file.relative_to(results)}", _kept(file, source))
        if groups is not None:
            runs = [file for file in sorted(results.glob("runs/*/*.jsonl")) if file.stem in groups]
            for file in runs:
                archive.writestr(f"results/{file.relative_to(results)}", _only(file, _READ))
            notebooks = ROOT / "notebooks"
            for file in sorted(notebooks.glob("experiments/**/*.py")):
                archive.write(file, file.relative_to(notebooks))
        for name in re.findall(rf'"{_MOVING}/([^"]+)"', source):
            archive.write(ROOT / "book" / _MOVING / name, f"moving/{name}")
    text = base64.b64encode(buffer.getvalue()).decode()
    return (
        "# The files that this chapter reads, packed.\n"
        "import base64\nimport io\nimport zipfile\n\n"
        f'packed = "{text}"\n'
        f'zipfile.ZipFile(io.BytesIO(base64.b64decode(packed))).extractall("{folder}")'
    )


def _kept(file, source):
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".jsonl" or file.parent.name == "times":  # read by `experiments.times`
        return text
    keys = set().union(*map(json.loads, text.splitlines()))
    return _only(file, {key for key in keys if f'"{key}"' in source or f".{key}" in source})


def _only(file, names):
    """The records of a file with some of their entries."""
    records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    kept = ({key: one[key] for key in one if key in names} for one in records)
    return "".join(json.dumps(one) + "\n" for one in kept)


class Page:
    """The cells of one page, put together from its rendering and its executed notebook."""

    def __init__(self, html, notebook, macros):
        self.plain = Plain(macros, html.parent)
        page = BeautifulSoup(html.read_text(encoding="utf-8"), "html.parser")
        self.article = page.select_one("article.bd-article")
        for extra in self.article.select("a.headerlink, .toggle-button"):
            extra.decompose()
        self.code = [*_located(notebook)]
        self.cells, self.text, self.headings = [], [], 0

    def build(self):
        """The cells."""
        self._walk(self.article)
        self._flush()
        self._hidden(sys.maxsize)
        if any("hidden" not in one for one in self.code):
            raise ValueError("a visible cell of the notebook is not on the page")
        return self.cells

    def _walk(self, node):
        for child in node.children:
            kinds = set(child.get("class", [])) if child.name else set()
            if child.name in ("h1", "h2", "h3", "h4", "h5"):
                self._flush()
                self._hidden(self.headings)
                self.headings += 1
                self.text.append(str(child))
            elif "cell" in kinds:
                self._flush()
                self._cell(child)
            elif child.name and (child.name == "section" or child.select_one("div.cell")):
                self._walk(child)
            elif "admonition-title" in kinds:
                self.text.append(f"<p><strong>{child.decode_contents()}</strong></p>")
            elif str(child).strip():
                self.text.append(str(child))

    def _flush(self):
        text = self.plain.convert("".join(self.text)).strip()
        self.text = []
        if text:
            cell = new_markdown_cell(re.sub(r"\n{3,}", "\n\n", text))
            if self.plain.attachments:
                cell["attachments"], self.plain.attachments = self.plain.attachments, {}
            self.cells.append(cell)

    def _hidden(self, section):
        """Cells that the page does not show, up to the end of a section."""
        while self.code and self.code[0].get("hidden") and self.code[0]["section"] <= section:
            self._add(self.code.pop(0)["cell"], folded=True)

    def _cell(self, node):
        while self.code and self.code[0].get("hidden"):
            self._add(self.code.pop(0)["cell"], folded=True)
        cell = self.code.pop(0)["cell"]
        tags = cell.metadata.get("tags", [])
        self._add(cell, folded=any(tag.startswith(("hide", "remove")) for tag in tags))
        for caption in node.select("figcaption:not(.moving figcaption)"):
            words = self.plain.convert(caption.decode_contents()).strip()
            self.cells.append(new_markdown_cell(f"*{words}*"))

    def _add(self, cell, folded):
        source = runnable(cell.source)
        if not source:
            return
        outputs = [one for one in cell.get("outputs", []) if not _is_record(one)]
        more = {"metadata": {"jupyter": {"source_hidden": True}}} if folded else {}
        self.cells.append(new_code_cell(source, outputs=outputs, **more))


def _is_record(output):
    """Whether an output is a number for the text, which is in the text by now."""
    return "scrapbook" in output.get("metadata", {})


def _located(notebook):
    """Code cells with the number of headings before them; whether the page shows them."""
    headings = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"(?ms)^(`{3,}|:{3,}).*?^\1", "", cell.source)
            headings += len(re.findall(r"(?m)^#{1,5} ", text))
        elif cell.cell_type == "code":
            entry = {"cell": cell, "section": headings}
            if "remove-cell" in cell.metadata.get("tags", []):
                entry["hidden"] = True
            yield entry


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
    source = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    cells = Page(html, notebook, macros).build()
    groups, own = CARRIES.get(html.stem), f"{_UNPACKED}/{html.stem}"
    if groups is None and re.search(r"(?m)^(from|import) experiments", source):
        cells.insert(1, new_markdown_cell(CLONE.format(folder=folder)))
    elif first := packed(source, groups=groups, folder=own):
        for cell in cells:
            cell.source = cell.source.replace(f'"{_NOTEBOOKS}', f'"{own}')
            cell.source = cell.source.replace(f'"{_MOVING}', f'"{own}/moving')
        cells.insert(1, new_code_cell(first, metadata={"jupyter": {"source_hidden": True}}))
    for number, cell in enumerate(cells):
        cell["id"] = f"c{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def lead_on(book):
    """Write a page at every old address in the folder of the rendered ``book``."""
    for old, new in MOVED.items():
        (book / old).write_text(_LEADS.format(new=new), encoding="utf-8")


def main():
    """Replace the sources that the download buttons give by portable notebooks; lead on."""
    lead_on(BUILT / "html" / "book")
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    macros = settings["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    for target in sorted(BUILT.glob("html/_sources/book/**/*.ipynb")):
        name = target.relative_to(BUILT / "html/_sources").with_suffix("")
        executed = BUILT / "jupyter_execute" / name.with_suffix(".ipynb")
        if not executed.exists():  # a page of experiments comes executed
            executed = ROOT / name.with_suffix(".ipynb")
        notebook = nbformat.read(executed, 4)
        folder = "notebooks" if "experiments" in name.parts else "book"
        done = portable(BUILT / "html" / name.with_suffix(".html"), notebook, macros, folder)
        nbformat.write(done, target)


if __name__ == "__main__":
    main()
