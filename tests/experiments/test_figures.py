"""Every figure and table is drawn from stored runs, complete or not, without training."""

import hashlib
import json

import make_figures
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dmac.experiments import figures, plan, sensitivity, switches
from dmac.experiments import records as experiments
from dmac.experiments.page import Page


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def record(spec, rng):
    """An invented record, of the form that `dmac.experiments.run.make_run` gives."""
    acc = float(rng.uniform(0.3, 0.9))
    names = ("acc", "nmi", "ari", "purity", "f1")
    identity = dict(
        dataset=spec.dataset,
        data=hashlib.sha256(spec.dataset.encode()).hexdigest(),
        method=spec.method,
        settings=spec.settings,
        seed=spec.seed,
    )
    found = identity | {"scores": dict.fromkeys(names, acc), "seconds": 1.0}
    if spec.method != "DMAC":
        return found
    column = list(rng.uniform(0.1, 0.9, 3))
    names = (
        *("loss", "anchor_learning", "consistency", "structure_preservation"),
        *("effective_rank", "empty_anchors", "one_minus_cosine", "acc", "nmi"),
    )
    measures = dict(one_minus_cosine=1e-6, effective_rank=1.1, neighbors=0.6, silhouette=0.1)
    return found | {
        "oracle": {"acc": max(acc, *column), "nmi": max(acc, *column)},
        "start": {"acc": acc, "nmi": acc},
        "epochs": dict.fromkeys(names, column),
        "embedding": measures,
        "n_anchors": 12,
        "seconds": {"fit": 10.0, "pretraining": 7.0, "training": 2.5},
    }


def fill(folder, share):
    """Invented records of a share of the runs of the pages, with their arrays."""
    rng, store, seen = np.random.default_rng(0), experiments.open_store(folder), set()
    pages = (specs for stage, specs in plan.full().items() if stage not in switches.GROUPS)
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
                kept = experiments.arrays_path(store, key)
                kept.parent.mkdir(exist_ok=True)
                np.savez_compressed(
                    kept, anchors=rng.normal(size=(12, 6)) + 1, anchor_classes=np.arange(12) // 3,
                    plane=rng.normal(size=(len(classes), 2)), classes=classes,
                )  # fmt: skip
    return len(seen)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    fill(folder, 1.0)
    return folder


def page(folder, **parameters):
    return Page(make_figures.PARAMETERS | {"results": str(folder)} | parameters)


def test_everything_is_written_from_the_store(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "complete", None)  # nothing may be run
    monkeypatch.delenv("DMAC_DATA", raising=False)
    monkeypatch.setattr("dmac.load", None)
    shown = page(folder)
    names = make_figures.write(tmp_path, shown)
    assert "all that it asks for" in shown.status()
    for title in make_figures.PAGES:
        kinds = {name.rsplit(".", 1)[1] for name in names if name.startswith(title)}
        assert kinds == {"png", "csv"}, title
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    for name in names:
        assert (tmp_path / name).stat().st_size > 0 and name in index
    assert "nan" not in (tmp_path / "01_comparison-trials.csv").read_text()


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_an_incomplete_store_is_drawn_as_far_as_it_goes(share, tmp_path):
    stored = fill(tmp_path, share)
    shown = page(tmp_path)
    names = make_figures.write(tmp_path / "figures", shown)
    assert len(names) > 35
    assert f"drawn from {stored} of the" in shown.status()


def test_every_notebook_has_its_figures_drawn():
    names = [path.stem for path in (make_figures.ROOT / "notebooks").glob("[0-9]*.ipynb")]
    assert sorted(names) == list(make_figures.PAGES)


def test_grid_has_its_axes_the_right_way(folder):
    grid = page(folder, dataset="PIE").fetch(plan.changed(plan.GRID), "grid", seeds=3)
    means = sensitivity.grid_means(grid, "PIE", "acc")
    cell = grid[[s["cm_weight"] == 0.01 and s["sp_weight"] == 100 for s in grid.settings]]
    assert means.loc[0.01, 100.0] == pytest.approx(cell.acc.mean())
    axis = figures.grids(grid, "acc").axes[0]
    image = axis.images[0].get_array()
    assert image[1, 5] == pytest.approx(cell.acc.mean())
    assert axis.get_xticklabels()[5].get_text() == "2" and "structure" in axis.get_xlabel()


def test_lines_stand_at_the_values_of_their_runs(folder):
    runs = page(folder, dataset="PIE").fetch(plan.line_variants(), "lines", seeds=3)
    panels = figures.lines(runs, plan.LINES).axes
    rate = panels[list(plan.LINES).index("learning rate")]
    means = runs[runs.variant == "learning rate = 0.001"].acc.mean()
    place = list(plan.LINES["learning rate"]).index(1e-3)
    assert rate.lines[0].get_ydata()[place] == pytest.approx(means)


def test_paper_is_a_line_only_where_it_has_the_data_set(folder):
    runs = page(folder).fetch(plan.COMPARISON, "comparison", plan.MAIN)
    figure = figures.epochs(runs[runs.variant == "DMAC, released"], {"PIE": 12.0})
    styles = {
        axis.get_title(loc="left") or axis.get_title(): {
            line.get_label(): line.get_linestyle() for line in axis.lines
        }
        for axis in figure.axes
    }
    assert styles["PIE"]["the paper"] == "-" and "best baseline" in styles["PIE"]
    assert styles["Yale-3view"]["the paper, other views"] == ":"
    assert not any(label.startswith("the paper") for label in styles["mfeat"])
