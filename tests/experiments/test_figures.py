"""Every page shows stored runs, complete or not, without training; figures by themselves."""

import hashlib
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import three_variants
from toy_runs import PARAMETERS

from experiments import compare as comparisons
from experiments import figures, plan, sensitivity, studies
from experiments import records as experiments
from experiments.page import Page

FOLDER = Path(__file__).parents[2] / "notebooks"
PAGES = [path.stem for path in sorted(FOLDER.glob("[0-9]*.ipynb"))]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")
    plt.rcdefaults()  # the pages have a style of their own


def record(spec, rng):
    """An invented record, of the form that `experiments.run.make_run` gives."""
    acc, column = float(rng.uniform(0.3, 0.9)), list(rng.uniform(0.1, 0.9, 3))
    made = {name: getattr(spec, name) for name in ("dataset", "method", "settings", "seed")}
    made["data"] = hashlib.sha256(spec.dataset.encode()).hexdigest()
    made["scores"] = dict.fromkeys(("acc", "nmi", "ari", "purity", "f1"), acc)
    if spec.method != "DMAC":
        return made | {"seconds": 1.0}
    names = (
        *("loss", "anchor_learning", "consistency", "structure_preservation"),
        *("effective_rank", "empty_anchors", "one_minus_cosine", "acc", "nmi"),
    )
    measures = dict(one_minus_cosine=1e-6, effective_rank=1.1, neighbors=0.6, silhouette=0.1)
    return made | {
        "oracle": dict.fromkeys(("acc", "nmi"), max(acc, *column)),
        "start": {"acc": acc, "nmi": acc},
        "epochs": dict.fromkeys(names, column),
        "embedding": measures,
        "n_anchors": 12,
        "seconds": {"fit": 10.0, "pretraining": 7.0, "training": 2.5},
    }


def fill(folder, share):
    """Invented records of a share of the runs of the pages, with their arrays."""
    rng, store, seen = np.random.default_rng(0), experiments.open_store(folder), set()
    chapters = set(studies.shown_on("11_network", "13_evidence"))
    chapters -= set(studies.shown_on("01_comparison"))
    pages = (specs for stage, specs in plan.full().items() if stage not in chapters)
    for specs in pages:
        for spec in specs:
            made = record(spec, rng)
            key = store.key(made)
            if key in seen or rng.random() > share:
                continue
            seen.add(key)
            path = store.folder / spec.dataset / f"{spec.file}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(json.dumps({"key": key} | made) + "\n")
            if spec.keep:
                classes = np.repeat(np.arange(5 if spec.dataset == "BBC" else 10), 4)
                arrays = experiments.arrays_path(store, key)
                arrays.parent.mkdir(exist_ok=True)
                np.savez_compressed(
                    arrays,
                    anchors=rng.normal(size=(12, 6)) + 1,
                    anchor_classes=np.arange(12) // 3,
                    plane=rng.normal(size=(len(classes), 2)),
                    classes=classes,
                )
    return len(seen)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    fill(folder, 1.0)
    return folder


@pytest.fixture(scope="module", params=[0.0, 0.3])
def partial(request, tmp_path_factory):
    """A store that has a share of all runs, and how many."""
    folder = tmp_path_factory.mktemp("partial")
    return folder, fill(folder, request.param)


def run_cells(notebook, monkeypatch, **parameters):
    """The code of a notebook in this process, and the names that it glues into its text."""
    glued = set()
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    monkeypatch.setattr("matplotlib_inline.backend_inline.set_matplotlib_formats", lambda _: None)
    monkeypatch.setattr("myst_nb.glue", lambda name, value, display: glued.add(name))
    namespace = {}
    for cell in json.loads((FOLDER / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            code = compile("".join(cell["source"]), f"{notebook}, cell {cell['id']}", "exec")
            exec(code, namespace)
            if "parameters" in cell["metadata"].get("tags", []):
                namespace |= parameters
    return namespace, glued


@pytest.mark.parametrize("notebook", PAGES)
def test_what_a_page_says_fails_on_runs_that_do_not_support_it(notebook, folder, monkeypatch):
    monkeypatch.setattr(experiments, "complete", None)  # nothing may be run
    with pytest.raises(AssertionError):
        run_cells(notebook, monkeypatch, results=str(folder))


@pytest.mark.parametrize("notebook", PAGES)
def test_what_a_page_says_holds_of_the_stored_runs(notebook, monkeypatch):
    """Its assertions hold the tables and statistics; the numbers of its text are its own."""
    monkeypatch.setattr(experiments, "complete", None)
    namespace, glued = run_cells(notebook, monkeypatch)
    assert namespace["page"].is_whole
    text = (FOLDER / f"{notebook}.ipynb").read_text(encoding="utf-8")
    assert set(re.findall(r"\{glue:text\}`([^`]*)`", text)) == glued


@pytest.mark.parametrize("notebook", PAGES)
def test_an_incomplete_store_is_shown_as_far_as_it_goes(notebook, partial, monkeypatch):
    folder, stored = partial
    namespace, _ = run_cells(notebook, monkeypatch, results=str(folder))
    table = namespace["page"].status()
    assert 0 <= table.loc["all", "stored"] < table.loc["all", "asked for"]
    assert table.loc["all", "stored"] <= stored
    assert not namespace["page"].is_whole


def test_grid_has_its_axes_the_right_way(folder):
    page = Page(PARAMETERS | {"results": str(folder), "dataset": "PIE"})
    grid = page.fetch(studies.GRID, "grid", seeds=3)
    cell = grid[[s["cm_weight"] == 0.01 and s["sp_weight"] == 100 for s in grid.settings]]
    means = sensitivity.grid_means(grid, "PIE", "acc")
    assert means.loc[0.01, 100.0] == pytest.approx(cell.acc.mean())
    left, right = sensitivity.plot_grids(grid).axes[:2]
    (line,) = right.lines
    places, heights = line.get_data()
    assert places[5] == 100 and heights[5] == pytest.approx(means[100.0].mean())
    band = right.collections[0].get_paths()[0].vertices
    at = band[np.isclose(band[:, 0], 100), 1]
    assert (at.min(), at.max()) == (
        pytest.approx(means[100.0].min()),
        pytest.approx(means[100.0].max()),
    )
    assert left.get_ylim() == right.get_ylim() and "structure" in right.get_xlabel()


def test_scores_stand_at_their_means_with_what_is_marked():
    runs = three_variants()
    marks = {"closed": 12.0}
    figure = figures.plot_scores(runs, marks=lambda _, name: marks.get(name))
    found = {(round(x, 1), y) for line in figure.axes[0].lines for x, y in zip(*line.get_data())}
    assert {(22.0, 0), (72.0, 1), (12.0, 1), (33.0, 2)} <= found


def test_forest_has_a_row_for_each_difference_and_fills_what_is_clear():
    runs = three_variants()
    table = comparisons.paired_differences(runs, "DMAC", "closed")
    axis = figures.plot_forest({"PIE and BBC": {"DMAC": table}}, over=("all",)).axes[0]
    names = [tick.get_text() for tick in axis.get_yticklabels()]
    faces = {}
    for container in axis.containers:
        x, y = container.lines[0].get_data()
        faces[names[round(y[0])]] = x[0], container.lines[0].get_markerfacecolor()
    assert faces["PIE"] == (pytest.approx(table["mean"]["PIE"]), "C0")
    assert faces["mean of all"] == (pytest.approx(table["mean"].mean()), "white")
    one = comparisons.paired_differences(runs[runs.seed == 1], "DMAC", "closed")
    alone = figures.plot_forest({"one seed": {"DMAC": one}}).axes[0].containers[0].lines[0]
    assert alone.get_markerfacecolor() == "white"  # one seed tells nothing
