"""Every experiment notebook runs in its quick profile, and refuses what it does not understand.

The chapters are run by nbval, which `make test` calls on them beside these tests.
"""

import ast
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import papermill
import pytest

from experiments import changes, export
from experiments import records as experiments
from experiments.run import BASELINES

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9]*.ipynb"))
BOOK = FOLDER.parent / "book"
CHAPTERS = sorted(BOOK.glob("[0-9]*.ipynb"))
#: What readers see of the book, but for the pages of the module.
PAGES = [*NOTEBOOKS, *CHAPTERS, *(p for p in sorted(BOOK.glob("*.md")) if "api" not in p.stem)]
#: The pages of runs; that of the seconds measures its own, and has its own form.
OF_RUNS = [path for path in NOTEBOOKS if "runtime" not in path.stem]

# papermill and what it calls announce changes of their own future.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One store of quick runs for all notebooks: some of them show the same ones."""
    return tmp_path_factory.mktemp("results")


def run(notebook, tmp_path, monkeypatch, **parameters):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    out = tmp_path / notebook.name
    papermill.execute_notebook(
        notebook,
        out,
        parameters,
        cwd=FOLDER,
        kernel_name="python3",
        progress_bar=False,
    )
    return nbformat.read(out, as_version=4)


def cells_of(notebook, kind):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def glued_names(cells):
    """First arguments of the calls of glue in some code cells."""
    for cell in cells:
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "glue":
                yield ast.literal_eval(node.args[0])


def mentioned_names(cells):
    """Names of glued numbers in some Markdown cells."""
    for cell in cells:
        yield from re.findall(r"\{glue:text\}`([^`]*)`", "".join(cell["source"]))


#: Bytes of the sources of all cells of a chapter.
LENGTH = 25_000


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_no_longer_than_a_reader_has_patience(chapter):
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    length = sum(len("".join(cell["source"]).encode()) for cell in cells)
    assert length <= LENGTH, "move code into a module, or cut"


#: Where code names the copy of the numerals that it reads, and chapter 1 that explains it.
_CALLS = re.compile(
    r"""dmac\.load\("mfeat"\)|Code loads it as `mfeat`|dataset: str = "mfeat"|-p dataset mfeat"""
    r"""|\["mfeat", "HandWritten"\]|apart\["mfeat"\]"""
)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_readers_meet_the_numerals_under_one_name(page):
    """Tables, captions, sentences: HandWritten, or the numerals; mfeat is a name for code."""
    text = page.read_text(encoding="utf-8").replace('\\"', '"')
    assert "mfeat" not in _CALLS.sub("", text)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_numbers_of_the_text_are_glued_by_the_same_notebook(notebook):
    glued = list(glued_names(cells_of(notebook, "code")))
    assert len(glued) == len(set(glued)) > 3
    assert set(mentioned_names(cells_of(notebook, "markdown"))) == set(glued)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_author_writes_the_text_and_asserts_what_it_claims(notebook):
    code = cells_of(notebook, "code")
    for cell in code:
        assert "Markdown" not in "".join(cell["source"]), cell["id"]
    for i, cell in enumerate(cells := json.loads(notebook.read_text("utf-8"))["cells"]):
        # A number in a sentence stands beside the cell that checks the sentence.
        if cell["cell_type"] == "markdown" and cell["id"].endswith("-text"):
            beside = "".join("".join(c["source"]) for c in (cells[i - 1], *cells[i + 1 : i + 2]))
            assert "assert" in beside, cell["id"]
    assert not re.search(r"\ba row a\b|\ba panel a\b|\ba line a\b|\bless the\b", json.dumps(cells))


def test_make_bench_ends_though_a_machine_keeps_no_claim_of_the_page():
    """Claims about stored timings hold for the machines that made them, and no other."""
    (page,) = (path for path in NOTEBOOKS if path.stem == "05_runtime")
    guarded = 0
    for cell in cells_of(page, "code"):
        for node in ast.parse(source_of(cell)).body:
            if isinstance(node, ast.Assert):
                assert "on_gpu" in ast.unparse(node)  # it is not measured by make bench
            if isinstance(node, ast.If) and ast.unparse(node.test) == "is_book":
                assert not node.orelse
                guarded += sum(isinstance(one, ast.Assert) for one in node.body)
    assert guarded > 20
    code = "\n".join(map(source_of, cells_of(page, "code")))
    assert "is_book = not save_to" in code.splitlines()
    makefile = (page.parents[1] / "Makefile").read_text(encoding="utf-8")
    bench = makefile.split("\nbench:")[1].split("\n\n")[0]
    assert "05_runtime.ipynb" in bench and "-p save_to results/runtime.json" in bench


def source_of(cell):
    return "".join(cell["source"])


@pytest.mark.parametrize("notebook", OF_RUNS, ids=lambda path: path.stem)
def test_a_page_opens_with_its_question_and_the_answer(notebook):
    texts = [source_of(cell) for cell in cells_of(notebook, "markdown")]
    label, title, _, question = texts[0].split("\n")
    assert label.startswith("(exp-") and title.startswith("# ") and question.endswith("?")
    assert texts[1].startswith("```{admonition} In short\n:class: tip\n")
    assert 2 <= len(texts[1].splitlines()) - 3 <= 4  # sentences
    assert re.search(r"\{(ref|doc)\}`", texts[-1]), "the page leads nowhere"


@pytest.mark.parametrize("notebook", OF_RUNS, ids=lambda path: path.stem)
def test_readers_see_no_glue_and_fold_what_only_checks(notebook):
    for cell in cells_of(notebook, "code"):
        source, tags = source_of(cell), cell["metadata"].get("tags", [])
        if re.search(r"^ *glue\(", source, re.MULTILINE) or "parameters" in tags:
            assert "remove-cell" in tags, cell["id"]
        if re.search(r"^ *assert ", source, re.MULTILINE):
            prompt = cell["metadata"]["mystnb"]["code_prompt_show"]
            assert "hide-input" in tags and prompt == "Check", cell["id"]
        assert max(map(len, source.splitlines())) <= 78, cell["id"]


@pytest.mark.parametrize("notebook", OF_RUNS, ids=lambda path: path.stem)
def test_no_paragraph_has_more_than_five_numbers(notebook):
    for cell in cells_of(notebook, "markdown"):
        for paragraph in re.split(r"\n\n|\n(?=- )", source_of(cell)):
            assert count_numbers(paragraph) <= 5, paragraph


def count_numbers(text):
    """Glued and typed numbers of a paragraph; an interval or a power of ten is one."""
    glued = text.count("{glue:text}")
    text = re.sub(r"\{[\w:]+\}`[^`]*`", "", text)
    typed = r"(?<![\w.-])\d[\d.]*(?: \\times 10\^\{-?\d+\}|\^\{-?\d+\})?"
    return glued + len(re.findall(typed, text))


def test_numbers_are_counted():
    text = "Of 25 rows {glue:text}`a-1` has $3 \\times 10^{-5}$, and CCV-20d 0.5 ({ref}`exp-2`)."
    assert count_numbers(text) == 4
    assert count_numbers("Table 2 has $10^{-6}$ of nine") == 2


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_have_names_that_files_can_have(notebook):
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not re.fullmatch(r"c\d+|[0-9a-f]{8}", cell["id"]), cell["id"]


def test_no_module_composes_sentences():
    names = {path.stem for path in (FOLDER.parent / "dmac" / "experiments").glob("*.py")}
    assert "export" in names and not names & {"findings", "wording"}


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def declared(notebook):
    return papermill.inspect_notebook(notebook)


def test_every_table_and_figure_of_the_paper_has_a_notebook():
    assert [path.stem for path in NOTEBOOKS] == [
        "01_comparison",
        "02_ablation",
        "03_anchor_similarity",
        "04_embedding",
        "05_runtime",
        "06_sensitivity",
        "07_protocols",
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_quick_profile_runs_on_the_embedded_data(notebook, tmp_path, monkeypatch, results):
    more = {"results": str(results)} if "results" in declared(notebook) else {}
    executed = run(notebook, tmp_path, monkeypatch, dataset="mfeat", profile="quick", **more)
    shown = outputs(executed)
    assert not [o for o in shown if o.output_type == "stream" and o.name == "stderr"]
    assert any({"image/png", "image/svg+xml"} & o.get("data", {}).keys() for o in shown)
    assert any("text/html" in o.get("data", {}) for o in shown)
    assert not any("text/markdown" in o.get("data", {}) for o in shown)
    page = json.dumps(shown)
    assert "HandWritten" in page and "mfeat" not in page
    assert len(export.export(tmp_path, tmp_path / "figures")) > 1


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_parameter_has_a_type_and_help(notebook):
    parameters = declared(notebook)
    assert {"dataset", "profile"} <= set(parameters)
    for name, parameter in parameters.items():
        assert parameter["inferred_type_name"] != "None", name
        assert parameter["help"], name


def test_stored_profile_makes_no_run_and_is_the_default(tmp_path, monkeypatch):
    executed = run(FOLDER / "01_comparison.ipynb", tmp_path, monkeypatch, results=str(tmp_path))
    page = json.dumps(outputs(executed))
    assert "asked for" in page and "GCFAggMVC" in page
    assert not list(tmp_path.rglob("*.jsonl"))


def test_full_profile_stores_what_it_makes_of_a_file(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = {
        f"X{i}": 5 * rng.normal(size=(3, 4))[classes] + rng.normal(size=(60, 4)) for i in (1, 2)
    }
    np.savez(tmp_path / "toy.npz", Y=classes, **views)
    monkeypatch.setenv("DMAC_CACHE", str(tmp_path / "cache"))
    executed = run(
        FOLDER / "07_protocols.ipynb",
        tmp_path,
        monkeypatch,
        profile="full",
        dataset=str(tmp_path / "toy.npz"),
        seeds=2,
        pretrain_epochs=2,
        epochs=2,
        n_jobs=1,
        results=str(tmp_path),
    )
    made = experiments.open_store(tmp_path).refresh().records()
    assert {(record["dataset"], record["seed"]) for record in made} == {("toy", 1), ("toy", 2)}
    assert len(made) == 2 * (len(changes.GRID) + len(BASELINES))
    page = json.dumps(outputs(executed))
    assert "toy ACC" in page and re.search(rf"all\s+{len(made)}\s+{len(made)}", page)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"seed": 3}, "unknown parameter.*seed"),
        ({"seeds": "three"}, "seeds is 'three'"),
        ({"profile": "fast"}, "profile is 'fast'"),
        ({"recipe": "best"}, "'best'"),
        ({"dataset": "mfeet"}, "mfeat"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message, tmp_path, monkeypatch):
    with pytest.raises(papermill.PapermillExecutionError, match=message):
        run(FOLDER / "01_comparison.ipynb", tmp_path, monkeypatch, **wrong)
    assert not list(tmp_path.rglob("*.jsonl"))
