"""Every experiment notebook runs in its quick profile, and refuses what it does not understand.

The chapters are run by nbval, which `make test` calls on them beside these tests.
"""

import json
from pathlib import Path

import nbformat
import papermill
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9]*.ipynb"))

# papermill and what it calls announce changes of their own future.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


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


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_quick_profile_runs_on_the_embedded_data(notebook, tmp_path, monkeypatch):
    executed = run(notebook, tmp_path, monkeypatch, dataset="mfeat", profile="quick")
    found = outputs(executed)
    assert not [o for o in found if o.output_type == "stream" and o.name == "stderr"]
    assert any("image/png" in o.get("data", {}) for o in found)
    assert any("text/html" in o.get("data", {}) for o in found)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_parameter_has_a_type_and_help(notebook):
    declared = papermill.inspect_notebook(notebook)
    assert {"dataset", "profile"} <= set(declared)
    for name, parameter in declared.items():
        assert parameter["inferred_type_name"] != "None", name
        assert parameter["help"], name


def test_comparison_shows_every_method_and_saves_its_runs(tmp_path, monkeypatch):
    target = tmp_path / "runs.json"
    executed = run(
        FOLDER / "01_comparison.ipynb",
        tmp_path,
        monkeypatch,
        profile="quick",
        recipe="published, revised",
        save_to=str(target),
    )
    page = json.dumps(outputs(executed))
    saved = json.loads(target.read_text())["runs"]
    methods = {r["method"] for r in saved}
    assert methods == {
        "k-means, concatenated",
        "k-means, whitened",
        "closed form, whitened",
        "closed form, whitened, k = 10",
        "DMAC, published",
        "DMAC, revised",
    }
    assert all(method in page for method in methods)
    assert "oracle epoch" in page


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"seed": 3}, "unknown parameter.*seed"),
        ({"seeds": "three"}, "seeds is 'three'"),
        ({"profile": "fast"}, "profile is 'fast'"),
        ({"recipe": "best"}, "recipe is 'best'"),
        ({"dataset": "mfeet"}, "mfeat"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message, tmp_path, monkeypatch):
    with pytest.raises(papermill.PapermillExecutionError, match=message):
        run(FOLDER / "01_comparison.ipynb", tmp_path, monkeypatch, **wrong)
