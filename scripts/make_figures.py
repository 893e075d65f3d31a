"""Draw every figure and write every table of the experiments from the stored runs; nothing is run.

    python scripts/make_figures.py

They go to _build/figures, or the folder that is named. Figures are PNG files, tables CSV files, and
index.html shows all of them.
"""

import argparse
import html
import json
import os
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd

from dmac.experiments import (
    compare as comparisons,
)
from dmac.experiments import (
    figures,
    geometry,
    paper,
    plan,
    tables,
)
from dmac.experiments import protocols as scoring
from dmac.experiments import (
    records as experiments,
)
from dmac.experiments import (
    runtime as timings,
)
from dmac.experiments import sensitivity as numbers
from dmac.experiments.page import Page
from dmac.experiments.run import BASELINES

ROOT = Path(__file__).parents[1]
ALL = (*plan.MAIN, *plan.OTHERS)
PARAMETERS = dict(
    dataset="", profile="stored", seeds=plan.SEEDS, pretrain_epochs=None, epochs=None,
    device="cpu", n_jobs=1, results="",
)  # fmt: skip


def comparison(page):
    """Table 2, and what was tried to come closer to it."""
    runs = page.fetch(plan.COMPARISON, "comparison", ALL)
    yield "paper", tables.paper_scores()
    for metric in ("acc", "nmi", "ari", "purity", "f1", "oracle_acc", "oracle_nmi"):
        yield metric, tables.cells(runs, metric)
    yield "accuracy", figures.accuracy(runs)
    recipes = [name for name in plan.COMPARISON if name.startswith("DMAC")]
    for metric in ("acc", "nmi"):
        test = comparisons.significance(runs, recipes, list(BASELINES), metric)
        yield f"significance-{metric}", comparisons.differences(test)
    released = runs[runs.variant == "DMAC, released"]
    yield "beside-paper", tables.beside_paper(runs)
    attempts = [page.fetch(file="trials", **attempt) for attempt in plan.ATTEMPTS]
    grid = page.fetch(plan.changed(plan.GRID), "grid", ("PIE", "BBC"), plan.FEW)
    yield "trials", tables.trials(tables.joined(attempts), grid)
    yield "collapse", figures.collapse(released[released.dataset.isin(plan.MAIN)])


def ablation(page):
    """Table 3, and every other choice."""
    runs = page.fetch(plan.ABLATED, "ablation", ALL)
    yield "paper", tables.paper_scores(paper.TABLE_3)
    yield "ablation", tables.ablation(runs)
    for part in plan.ABLATION:
        for what, metric in (("", "acc"), ("-oracle", "oracle_acc")):
            pair = comparisons.paired(runs, "DMAC", part, metric)
            yield f"against-{part.replace('/', '')}{what}", comparisons.differences(pair)
    yield "choices", tables.choices(plan.BEYOND)
    beyond = page.fetch(plan.changed({"RELEASED": {}} | plan.BEYOND), "beyond", plan.MAIN, plan.FEW)
    yield "beyond", comparisons.changes_shown(beyond)
    yield "beyond-figure", figures.changes(comparisons.changes(beyond))


def similarity(page):
    """Figure 3."""
    runs = page.fetch(plan.ABLATED, "ablation", plan.SHOWN)
    arrays = page.arrays(runs)
    for name in plan.SHOWN:
        yield name, geometry.similarities(arrays, [name])
    yield "anchors", geometry.anchors_shown(geometry.anchors(arrays))
    yield "empty", geometry.empty_shown(runs)


def embedding(page):
    """Figure 4."""
    runs = page.fetch(plan.ABLATED, "ablation", plan.SHOWN)
    yield "planes", geometry.planes(page.arrays(runs), plan.SHOWN)
    yield "measures", geometry.embeddings(runs)


def runtime(page):
    """Figure 2, and what an epoch costs, from the stored timings."""
    runs = page.fetch(plan.COMPARISON, "comparison", plan.MAIN)
    stored = json.loads((experiments.RESULTS / "runtime.json").read_text())
    times = timings.table(runs, stored["runs"])
    yield "run-times", times
    yield "run-times-figure", timings.drawn(times)
    yield "seconds", timings.seconds(stored["runs"])
    figure, fits = timings.growth(stored["runs"])
    yield "growth", figure
    yield "exponents", fits.round(3)
    frame = pd.DataFrame([r for r in stored["runs"] if r["name"] != "growth"])
    yield "timings", frame.pivot_table("median", "name", "system").round(4)


def sensitivity(page):
    """Figure 5, and one number at a time."""
    grid = page.fetch(plan.changed(plan.GRID), "grid", plan.MAIN, plan.FEW)
    yield "grid-oracle", figures.grids(grid)
    yield "grid-last", figures.grids(grid, "acc")
    yield "weights", numbers.weights(grid)
    yield "weights-last", numbers.weights(grid, "acc")
    lines = page.fetch(plan.line_variants(), "lines", plan.MAIN, plan.FEW)
    yield "lines-figure", figures.lines(lines, plan.LINES)
    yield "lines", tables.cells(lines, "acc", "variant", "dataset")
    yield "spreads", numbers.spreads(lines, plan.LINES).round(4)


def protocols(page):
    """What choosing by the labels is worth."""
    grid = page.fetch(plan.changed(plan.GRID), "grid", plan.MAIN, plan.FEW)
    frame = scoring.scored(grid)
    yield "protocols", scoring.shown(frame)
    yield "gains", scoring.gains(frame)
    yield "protocols-figure", figures.protocols(frame)
    runs = page.fetch(plan.COMPARISON, "comparison", plan.MAIN)
    best = comparisons.best_of(runs, list(BASELINES))
    means = runs.groupby(["dataset", "variant"], observed=True).acc.mean()
    lines = {dataset: means[dataset, name] for dataset, name in best.items()}
    yield "epochs", figures.epochs(runs[runs.variant == "DMAC, released"], lines)
    asked = plan.COMPARISON, plan.MAIN, range(1, plan.FEW + 1)
    for name in ("same-instructions", "other-instructions"):
        again = experiments.open_repeated(page.results, name).refresh()
        again = experiments.runs(experiments.index(again), *asked)
        yield name, comparisons.repeated(runs, again).round(2)


PAGES = {
    "01_comparison": comparison,
    "02_ablation": ablation,
    "03_anchor_similarity": similarity,
    "04_embedding": embedding,
    "05_runtime": runtime,
    "06_sensitivity": sensitivity,
    "07_protocols": protocols,
}


def write(folder, page):
    """Write everything below a folder, and return the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written, shown = [], []
    for title, make in PAGES.items():
        shown.append(f"<h2>{title}</h2>")
        for name, item in make(page):
            path = folder / f"{title}-{name}"
            if isinstance(item, pd.DataFrame):
                path = path.with_name(f"{path.name}.csv")
                item.to_csv(path)
                shown.append(f"<h3>{html.escape(path.name)}</h3>{item.to_html()}")
            else:
                path = path.with_name(f"{path.name}.png")
                item.savefig(path)
                plt.close(item)
                shown.append(f'<h3>{path.name}</h3><img src="{path.name}" alt="{path.stem}">')
            written.append(path.name)
    head = '<!doctype html><meta charset="utf-8"><title>Figures and tables</title>'
    style = "<style>body{font-family:sans-serif;margin:2em}td,th{padding:0 .6em}img{max-width:60em}"
    status = f"<p>{html.escape(page.status())}</p>"
    text = f"{head}{style}</style><h1>Figures and tables</h1>{status}{''.join(shown)}"
    (folder / "index.html").write_text(text, encoding="utf-8")
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "figures")
    parser.add_argument("--results", type=Path, default=experiments.RESULTS, help="stored runs")
    given = parser.parse_args()
    plt.style.use(ROOT / "book" / "dmac.mplstyle")
    start = time.monotonic()
    page = Page(PARAMETERS | {"results": str(given.results)})
    written = write(given.folder, page)
    seconds = time.monotonic() - start
    where = os.path.relpath(given.folder / "index.html")
    print(f"{len(written)} figures and tables in {seconds:.0f} s: open {where}. {page.status()}")


if __name__ == "__main__":
    main()
