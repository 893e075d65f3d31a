"""Every experiment notebook runs in its quick profile, and refuses what it does not understand.

The chapters are run by nbval, which `make test` calls on them beside these tests.
"""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import papermill
import pytest
from toy_runs import load

from experiments import export, records, studies
from experiments.run import BASELINES

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9]*.ipynb"))

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
        notebook, out, parameters, cwd=FOLDER, kernel_name="python3", progress_bar=False
    )
    return nbformat.read(out, as_version=4)


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_quick_profile_runs_on_the_embedded_data(notebook, tmp_path, monkeypatch, results):
    more = {"results": str(results)} if "results" in papermill.inspect_notebook(notebook) else {}
    shown = outputs(run(notebook, tmp_path, monkeypatch, dataset="mfeat", profile="quick", **more))
    assert not [o for o in shown if o.output_type == "stream" and o.name == "stderr"]
    assert any({"image/png", "image/svg+xml"} & o.get("data", {}).keys() for o in shown)
    assert any("text/html" in o.get("data", {}) for o in shown)
    assert "HandWritten" in json.dumps(shown)
    assert len(export.export(tmp_path, tmp_path / "figures")) > 1


def test_full_profile_stores_what_it_makes_of_a_file(tmp_path, monkeypatch):
    data = load("toy")
    np.savez(tmp_path / "toy.npz", Y=data.labels, X1=data.views[0], X2=data.views[1])
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
    made = records.open_store(tmp_path).refresh().records.values()
    assert {(record["dataset"], record["seed"]) for record in made} == {("toy", 1), ("toy", 2)}
    # RELEASED is a point of the grid.
    assert len(made) == 2 * (len(studies.GRID) + len(BASELINES))
    page = json.dumps(outputs(executed))
    assert "toy ACC" in page and re.search(rf"all\s+{len(made)}\s+{len(made)}", page)


def test_wrong_parameters_are_refused(tmp_path, monkeypatch):
    with pytest.raises(papermill.PapermillExecutionError, match="unknown parameter.*seed"):
        run(FOLDER / "01_comparison.ipynb", tmp_path, monkeypatch, seed=3)
    assert not list(tmp_path.rglob("*.jsonl"))


def run_cells(notebook, monkeypatch, **parameters):
    """The code of a notebook in this process, and the names that it glues into its text."""
    glued = set()
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    monkeypatch.setattr("matplotlib_inline.backend_inline.set_matplotlib_formats", lambda _: None)
    monkeypatch.setattr("myst_nb.glue", lambda name, value, display: glued.add(name))
    namespace = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            code = compile("".join(cell["source"]), f"{notebook.stem}, cell {cell['id']}", "exec")
            exec(code, namespace)
            if "parameters" in cell["metadata"].get("tags", []):
                namespace |= parameters
    plt.close("all")
    plt.rcdefaults()  # the pages have a style of their own
    return namespace, glued


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_page_says_holds_of_the_stored_runs(notebook, monkeypatch):
    """Its assertions hold the tables and statistics; the numbers of its text are its own."""
    monkeypatch.setattr(records, "complete", None)
    namespace, glued = run_cells(notebook, monkeypatch)
    assert namespace["page"].is_whole
    assert set(re.findall(r"\{glue:text\}`([^`]*)`", notebook.read_text("utf-8"))) == glued


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_without_stored_runs_says_so(notebook, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "complete", None)
    namespace, _ = run_cells(notebook, monkeypatch, results=str(tmp_path))
    assert namespace["page"].status().loc["all", "stored"] == 0
    assert not namespace["page"].is_whole
