"""The downloads of the book: plain notebooks that run in an empty folder with the wheel alone."""

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import portable
import pytest
import yaml
from helpers import ROOT, pages
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import dmac

HTML = ROOT / "_build" / "html"
MACROS = {"norm": [r"\lVert #1 \rVert", 1], "mZ": r"\mathbf{Z}", "T": r"^{\mathsf{T}}"}
#: What Jupyter would show as it stands: the roles and fences of MyST, and of reStructuredText.
RAW = re.compile(r"\{(glue|doc|ref|eq|cite|numref|prf)[:a-z]*\}`|^(`{3,}|:{3,})\{|:[a-z]+:`", re.M)
#: Pages that need more of the project than the wheel, and have no download.
EVIDENCE = re.compile(
    r"experiments/.*|10_.*|13_.*|record_(trials|evidence|costs|levels|sealed(_second)?)|errata|index|inputs|running_again"
)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (
            r"\norm{\frac{a}{\sqrt{\mathbf{x_{i}}}} - c}^2",
            r"\lVert \frac{a}{\sqrt{\mathbf{x_{i}}}} - c \rVert^2",
        ),
        (r"\mZ\T \mathbb{Z}", r"\mathbf{Z}^{\mathsf{T}} \mathbb{Z}"),
        (r"\norm{\norm{\{x\}}} + \norm{y}", r"\lVert \lVert \{x\} \rVert \rVert + \lVert y \rVert"),
    ],
)
def test_macros_are_expanded_at_any_depth(formula, expected):
    assert portable.expand(formula, MACROS) == expected


PAGE = """<article class="bd-article"><h1>Title<a class="headerlink">#</a></h1>
<p>Text with <span class="math">\\(\\mZ\\)</span>.</p>
<div class="cell">shown</div>
<div class="admonition solution"><p class="admonition-title">Solution</p><p>Before.</p>
<div class="cell">inside<figcaption>What it shows.</figcaption></div><p>After.</p></div>
<div class="admonition tip"><p class="admonition-title">Change it</p><p>Do.</p></div></article>"""


@pytest.fixture
def page(tmp_path):
    """A rendered page, and its executed notebook."""
    path = tmp_path / "page.html"
    path.write_text(PAGE, encoding="utf-8")
    record = new_output("display_data", metadata={"scrapbook": {"name": "x"}})
    result = new_output("execute_result", {"text/plain": "3"}, execution_count=7)
    hidden = {"tags": ["remove-cell"]}
    cells = [
        new_markdown_cell("# Title"),
        new_code_cell("from myst_nb import glue\nx = 1", metadata=hidden),
        new_code_cell("x + 2", outputs=[result], execution_count=7),
        new_code_cell("glue('x', x, display=False)", metadata=hidden, outputs=[record]),
        new_code_cell("x", metadata={"tags": ["hide-input"]}),
        new_code_cell("assert x == 1", metadata=hidden),
    ]
    return path, new_notebook(cells=cells)


def test_cells_come_in_order_between_the_text_of_the_page(page):
    notebook = portable.portable(*page, MACROS)
    assert "".join(cell.cell_type[0] for cell in notebook.cells) == "mccmccmc"
    first, solution, after = (c.source for c in notebook.cells if c.cell_type == "markdown")
    assert first.startswith(f"# Title\n\n{portable.INSTALL}\n") and r"$\mathbf{Z}$" in first
    assert solution == "**Solution**\n\nBefore."
    assert after.startswith("*What it shows.*") and after.endswith("> **Change it**\n>\n> Do.")
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == [None, 7, None, None, None]
    assert code[1].outputs[0].execution_count == 7 and code[2].outputs == []
    folded = [c.metadata.get("jupyter", {}).get("source_hidden", False) for c in code]
    assert folded == [True, False, True, True, True]
    exec("\n".join(c.source for c in code), {})


def test_the_first_cell_of_what_is_packed_can_be_read(page, monkeypatch):
    monkeypatch.setattr(portable, "packed", lambda *_: '# It unpacks.\n\n\nunpack("""x""")')
    code = [c for c in portable.portable(*page, MACROS).cells if c.cell_type == "code"]
    assert [c.source for c in code[:2]] == ["# It unpacks.", 'unpack("""x""")']


def test_the_command_line_is_that_of_the_notebooks_python(page):
    path, notebook = page
    notebook.cells[4].source = "out = !python -m dmac info\n!python -m dmac"
    code = [c for c in portable.portable(path, notebook, MACROS).cells if c.cell_type == "code"]
    assert code[3].source == "out = !{sys.executable} -m dmac info\n!{sys.executable} -m dmac"
    assert code[0].source.startswith("import sys\n")


def test_a_page_that_lacks_a_cell_is_refused(page):
    path, notebook = page
    path.write_text(PAGE.replace('<div class="cell">shown</div>', ""), encoding="utf-8")
    with pytest.raises(ValueError, match="page.html"):
        portable.portable(path, notebook, MACROS)


def test_what_a_page_names_is_packed_and_no_more(tmp_path, monkeypatch):
    stored = '{"dataset": "PIE", "tied": 0.123456789, "scores": {"acc": 0.5, "nmi": 0.5}}\n'
    files = {
        **{
            f"notebooks/results/runs/{name}.jsonl": stored + stored.replace("PIE", "BBC")
            for name in ("threads", "threads-revised", "grid", "peers")
        },
        "notebooks/experiments/run.py": "x = 1",
        "book/_static/moving/film.html": "<p>film</p>",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(portable, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)

    def unpacked(source, *more):
        exec(portable.packed(source, *more), {})
        files = [p for p in Path("stored").rglob("*") if p.is_file()]
        found = {str(p.relative_to("stored")): p.read_text() for p in files}
        shutil.rmtree("stored")
        return found

    reads = [
        'Path("../notebooks/results/runs", f"{group}.jsonl") for group in ("threads",)',
        '"../notebooks/results/runs/grid.jsonl", "_static/moving/film.html"',
        'frame.tied, run["scores"]["acc"], frame[frame.dataset == "PIE"]',
    ]
    found = unpacked("\n".join(reads))
    run = '{"dataset": "PIE", "tied": 0.1234568, "scores": {"acc": 0.5}}\n'
    assert found == {
        "moving/film.html": "<p>film</p>",
        "results/runs/grid.jsonl": run,  # named by its path, for one data set
        "results/runs/threads.jsonl": run + run.replace("PIE", "BBC"),
    }
    # The runs of a chapter that reads them by the package are named elsewhere.
    named = ("../notebooks/results/runs", "peers", "tied")
    found = unpacked("from experiments import run", "stored", named)
    assert found == {
        "experiments/run.py": "x = 1",
        "results/runs/peers.jsonl": 2 * '{"tied": 0.1234568}\n',
    }
    assert portable.packed('x = "peers"') is None


def test_the_install_page_names_the_wheel():
    page = (ROOT / "book" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"dmac-[0-9][^ \"<]*\.whl", page)) == {
        f"dmac-{dmac.__version__}-py3-none-any.whl"
    }


@pytest.fixture(scope="module")
def downloads(rendered):
    """Every notebook of the rendered book, by its page."""
    folder = HTML / "_sources" / "book"
    found = {str(p.relative_to(folder).with_suffix("")): p for p in folder.rglob("*.ipynb")}
    return {name: nbformat.read(path, 4) for name, path in found.items()}


def test_downloads_are_plain_notebooks(downloads):
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    names = settings["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    macros = re.compile(rf"\\(?:{'|'.join(names)})(?![A-Za-z])")
    assert len(downloads) > 20
    for page in pages():
        source = ROOT / f"{page}.md"
        if not source.exists() or "{code-cell}" in source.read_text(encoding="utf-8"):
            name = page.removeprefix("book/")
            assert (name in downloads) != bool(EVIDENCE.fullmatch(name)), name
    for name, notebook in downloads.items():
        nbformat.validate(notebook)
        text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        assert text.startswith("# ") and text.partition("\n\n")[2].startswith(portable.INSTALL), (
            name
        )
        assert not (raw := RAW.search(text)), (name, text[raw.start() - 60 : raw.end() + 60])
        assert not (left := macros.search(text)), (name, text[left.start() - 60 : left.end() + 60])
        for formula in re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL):
            plain = re.sub(r"\\.", "", formula)
            assert plain.count("{") == plain.count("}"), (name, formula)


def test_downloads_hold_python_that_was_run(downloads):
    for name, notebook in downloads.items():
        code = [c for c in notebook.cells if c.cell_type == "code"]
        own = [c for c in code if not c.source.startswith(("# The next cell has", "unpack("))]
        assert [c.execution_count for c in own] == [*range(1, len(own) + 1)], name
        assert max(len(c.source) for c in code) < 300_000, name
        for cell in code:
            if not re.search(r"(?m)(^|= )[!%]", cell.source):
                imports = [n for n in ast.walk(ast.parse(cell.source)) if hasattr(n, "module")]
                assert "myst_nb" not in {node.module for node in imports}, name
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                for listing in re.findall(r"(?ms)^```python\n(.*?)^```", cell.source):
                    ast.parse(listing)


@pytest.mark.parametrize("name", ["04_anchor_graph", "12_recipes", "closed_form_one_page"])
def test_a_download_runs_in_an_empty_folder_with_the_wheel(downloads, name, tmp_path):
    (wheel,) = HTML.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "wheel")
    folder = tmp_path / "empty"
    folder.mkdir()
    path = folder / f"{name}.ipynb"
    nbformat.write(downloads[name], path)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DMAC_DATA")}
    environment["PYTHONPATH"] = str(tmp_path / "wheel")
    command = [sys.executable, "-m", "jupyter", "execute", "--timeout=600", path.name]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
