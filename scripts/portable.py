"""Write each page of the rendered book as a notebook that runs alone, for its download button.

``python scripts/portable.py`` comes after ``jupyter-book build``. The text is that of the rendered
page, so every number, reference and formula is resolved and plain Markdown; the code and its
outputs are those of the executed notebook. Cells of set-up and checks are collapsed. What a chapter
reads of the stored runs is packed into its second cell, which the first one can read, in one page
also the package that reads them. Pages of evidence need the whole project, and have no download.
"""

import base64
import hashlib
import json
import lzma
import mimetypes
import re
from pathlib import Path

import nbformat
import yaml
from bs4 import BeautifulSoup
from markdownify import MarkdownConverter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "_build"
#: What the book is rendered from, and where the hashes of a rendered book's sources are.
SOURCES = ("book/*.ipynb", "book/*.md", "book/*.bib", "notebooks/*.ipynb", "_*.yml")
RENDERED = BUILT / "html" / "sources.json"
#: What every download says first.
INSTALL = (
    "> To run this, download the wheel from the page Install of the book, and type in its folder\n"
    "> `pip install dmac-*.whl matplotlib pandas jupyterlab`"
)
#: In the book these numbers go into the text; a notebook has them there already.
GLUE = "def glue(name, value, display=False):\n    pass  # a number for the book's text"
_CELL = "§§cell§§"  # where the text has a cell
#: Files that code names by their place beside the pages, and imports from the project.
_READS = re.compile(r'"(\.\./notebooks|_static)/([^"]+\.\w+)"')
#: What a chapter asks of the runs of a file that it names, where it takes those of one data set.
_OF = re.compile(r'\bdataset(?:"\])? == "([^"]+)"')
_IMPORTS = re.compile(r'"\.\./(notebooks|tests)"|^(from|import) experiments\b', re.MULTILINE)
#: Where chapters read stored runs, by the names of their groups.
_RUNS = "../notebooks/results/runs"
#: Chapters whose downloads carry `experiments`, and what it reads of runs for them: groups, and
#: entries of each run; of the measurements that they name all.
CARRIES = {
    "scaling": (
        *(_RUNS, "comparison", "closed-form", "revised", "revised-new-sets"),
        *("key", "dataset", "data", "method", "settings", "seed", "scores", "acc"),
    )
}
_MEASURED = re.compile(r'measured\("([^"]+)"\)')
#: The argument of a macro, with braces in it, five deep.
_ARGUMENT = r"(?:[^\\{}]|\\.)*"
for _ in range(5):
    _ARGUMENT = rf"(?:[^\\{{}}]|\\.|\{{{_ARGUMENT}\}})*"


class Plain(MarkdownConverter):
    """Markdown of a rendered page, as Jupyter shows it without extensions."""

    def __init__(self, macros, images):
        super().__init__(heading_style="ATX", bullets="-")
        self.macros, self.images, self.attachments = macros, images, {}

    def _formula(self, el):
        return expand(re.sub(r"^\\[(\[]|\\[)\]]$", "", el.get_text().strip()), self.macros).strip()

    def convert_span(self, el, text, parent_tags):
        return f"${self._formula(el)}$" if "math" in el.get("class", []) else text

    def convert_div(self, el, text, parent_tags):
        kinds, text = set(el.get("class", [])), text.strip()
        if "math" in kinds:
            number, tag = el.select_one(".eqno"), ""
            if number is not None:
                tag = rf" \tag{{{number.extract().get_text().strip('()#')}}}"
            text = f"$$\n{self._formula(el)}{tag}\n$$"
        elif any(kind.startswith("highlight-") for kind in kinds):
            language = "python" if {"highlight-default", "highlight-ipython3"} & kinds else ""
            text = f"```{language}\n{el.get_text().strip()}\n```"
        elif "admonition" in kinds:
            text = _box(text, el.select_one("p.admonition-title"), "dropdown" in kinds)
        return f"\n\n{text}\n\n"

    def convert_img(self, el, text, parent_tags):
        file = (self.images / el["src"]).resolve()
        kind, _ = mimetypes.guess_type(file)
        self.attachments[file.name] = {kind: base64.b64encode(file.read_bytes()).decode()}
        alt = el.get("alt", "").replace("[", "(").replace("]", ")").replace("\n", " ")
        return f"![{alt}](attachment:{file.name})"


def _box(text, title, folds):
    """What stands in a box, quoted or folded; with cells in it neither is possible."""
    if title is not None:  # a proof has none, and says so in its first words
        head, text = " ".join(title.get_text().split()), text.partition("\n")[2].strip()
        if folds and _CELL not in text:
            return f"<details><summary>{head}</summary>\n\n{text}\n\n</details>"
        text = f"**{head}**\n\n{text}"
    if _CELL in text:
        return text
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def expand(formula, macros):
    """A formula without the book's macros, which a plain notebook does not know."""
    for name, value in macros.items():
        body, count = (value, 0) if isinstance(value, str) else value
        used = re.compile(rf"\\{name}(?![A-Za-z])" + rf"\s*\{{({_ARGUMENT})\}}" * count)
        while match := used.search(formula):
            filled = body.replace("#1", match[1]) if count else body
            formula = formula[: match.start()] + filled + formula[match.end() :]
    return formula


def runs_alone(name, notebook):
    """Whether a page's notebook needs no more than the wheel and what is packed into it."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return name in CARRIES or not _IMPORTS.search(code)


def packed(source, folder="stored", carried=()):
    """A cell that unpacks what a chapter reads, or None: files, and groups of runs, that it names.

    Each download has a ``folder`` of its own, so that several may stand side by side. What is
    ``carried`` names groups in place of the source.
    """
    runs, notebooks = "".join(f'"{name}"' for name in carried) or source, ROOT / "notebooks"
    files = {name: ROOT / "book" / place / name for place, name in _READS.findall(source)}
    found = notebooks.glob("results/runs/*.jsonl") if f'"{_RUNS}"' in runs else ()
    found = [file for file in found if f'"{file.stem}"' in runs]
    if _IMPORTS.search(source):
        found += notebooks.glob("experiments/**/*.py")
    files |= {str(file.relative_to(notebooks)): file for file in sorted(found)}
    if not files:
        return None
    kept = {name: _kept(file, runs) for name, file in files.items()}
    text = base64.b85encode(lzma.compress(json.dumps(kept).encode(), preset=9)).decode()
    lines = "\n".join(text[i : i + 100] for i in range(0, len(text), 100))
    return (
        f"# The next cell has the files that this page reads, and this writes them to {folder}.\n"
        "import base64\nimport json\nimport lzma\nfrom pathlib import Path\n\n\n"
        "def unpack(packed):\n"
        '    packed = lzma.decompress(base64.b85decode("".join(packed.split())))\n'
        "    for name, text in json.loads(packed).items():\n"
        f'        file = Path("{folder}", name)\n'
        "        file.parent.mkdir(parents=True, exist_ok=True)\n"
        '        file.write_text(text, encoding="utf-8")\n\n\n'
        f'unpack("""\n{lines}\n""")'
    )


def _kept(file, source):
    """The text of a file; of stored runs the entries that the code names, to seven digits."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".jsonl" or file.stem.startswith("bench"):
        return text
    wanted = _OF.findall(source) if f'/{file.name}"' in source else ()

    def named(entries):
        return {n: x for n, x in entries.items() if f'"{n}"' in source or f".{n}" in source}

    kept = ""
    for line in text.splitlines():
        run = json.loads(line, parse_float=lambda x: float(f"{float(x):.7g}"))
        if wanted and run["dataset"] not in wanted:
            continue
        run = named(run)
        run |= {part: named(run[part]) for part in ("scores", "embedding", "epochs") if part in run}
        kept += json.dumps(run) + "\n"
    return kept


def cells_of(html, notebook, macros):
    """The cells of a page, from its rendering and its executed notebook.

    A cell that the page does not show stands before the next one that it shows.
    """
    page = BeautifulSoup(html.read_text(encoding="utf-8"), "html.parser")
    article = page.select_one("article.bd-article")
    for extra in article.select("a.headerlink, .toggle-button, .check, .checks"):
        extra.decompose()
    for link in article.select("a:not([href^=http])"):
        link.unwrap()
    for shown in article.select("div.cell"):
        for caption in shown.select("figcaption:not(.moving figcaption)"):
            shown.insert_after(caption.extract())
            caption.name = "em"
        shown.replace_with(_CELL)
    plain = Plain(macros, html.parent)
    texts = plain.convert(str(article)).split(_CELL)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if len(texts) - 1 != sum("remove-cell" not in _tags(cell) for cell in code):
        raise ValueError(f"{html.name} does not show all cells of its notebook")
    following = iter(code)
    for text in texts:
        text = re.sub(r"\n{3,}", "\n\n", text).strip()
        images = re.findall(r"\(attachment:([^)]+)\)", text)
        more = {"attachments": {name: plain.attachments[name] for name in images}} if images else {}
        yield new_markdown_cell(text, **more)
        for cell in following:
            yield _code_cell(cell)
            if "remove-cell" not in _tags(cell):
                break


def _tags(cell):
    return cell.metadata.get("tags", [])


def _code_cell(cell):
    """A cell without what needs the book, and without the numbers of its text."""
    source = cell.source.replace("from myst_nb import glue", GLUE)
    # The shell may have another Python than the notebook, or none.
    source = re.sub(r"(?m)^(\w+ = )?!python ", r"\1!{sys.executable} ", source)
    outputs = [one for one in cell.outputs if "scrapbook" not in one.get("metadata", {})]
    folded = any(tag.startswith(("hide", "remove")) for tag in _tags(cell))
    more = {"metadata": {"jupyter": {"source_hidden": True}}} if folded else {}
    return new_code_cell(source, outputs=outputs, execution_count=cell.execution_count, **more)


def portable(html, notebook, macros):
    """A notebook that runs alone.

    Parameters
    ----------
    html : path
        The rendered page.
    notebook : nbformat.NotebookNode
        Executed.
    macros : dict
        Of the formulas.

    Returns
    -------
    nbformat.NotebookNode
    """
    cells = [cell for cell in cells_of(html, notebook, macros) if cell.source]
    code = [cell for cell in cells if cell.cell_type == "code"]
    source = "\n".join(cell.source for cell in code)
    if "{sys.executable}" in source:
        code[0].source = f"import sys\n\n{code[0].source}"
    carried, own = CARRIES.get(html.stem, ()), f"stored/{html.stem}"
    if carried:
        carried += tuple(f"bench-{part}" for part in _MEASURED.findall(source))
    title, _, text = cells[0].source.partition("\n")
    if files := packed(source, own, carried):
        for cell in cells:
            cell.source = cell.source.replace('"../notebooks', f'"{own}')
            cell.source = cell.source.replace('"_static/', f'"{own}/')
        reader, _, files = files.partition("\n\n\nunpack(")
        hidden = {"jupyter": {"source_hidden": True}}
        cells[1:1] = [new_code_cell(reader), new_code_cell(f"unpack({files}", metadata=hidden)]
    cells[0].source = f"{title}\n\n{INSTALL}\n{text}"
    for number, cell in enumerate(cells):
        cell["id"] = f"c{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def digests():
    """SHA-256 of every source of the book, by its path in the project."""
    paths = sorted(path for kind in SOURCES for path in ROOT.glob(kind))
    return {str(p.relative_to(ROOT)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}


def main():
    """Give each page with code a portable notebook for its download button."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    macros = settings["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    for executed in sorted(BUILT.glob("jupyter_execute/**/*.ipynb")):
        name = executed.relative_to(BUILT / "jupyter_execute")
        html = (BUILT / "html" / name).with_suffix(".html")
        notebook, target = nbformat.read(executed, 4), BUILT / "html" / "_sources" / name
        if runs_alone(name.stem, notebook):
            nbformat.write(portable(html, notebook, macros), target)
        else:
            target.unlink(missing_ok=True)
    RENDERED.write_text(json.dumps(digests(), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
