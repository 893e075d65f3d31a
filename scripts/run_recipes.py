"""Make the stored runs behind chapter 11: a JSON line a run, in notebooks/results/recipes/.

    python scripts/run_recipes.py revised baselines ideas robustness switches walk released unseen
    python scripts/run_recipes.py seconds

A run that is already stored is not made again. `--datasets PIE BBC` restricts, `--jobs` is the
number of processes; each uses one thread. `seconds` times whole fits one after the other with two
threads, for a machine that does nothing else. DMAC_DATA names the folder of data files.
"""

import argparse
import dataclasses
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from joblib import Parallel, delayed

import dmac
from dmac.experiments.run import BASELINES
from dmac.experiments.switches import DATASETS, GROUPS, variant

STORE = Path(__file__).parents[1] / "notebooks" / "results" / "recipes"


def percent(labels, predicted):
    found = dmac.scores(labels, predicted)
    return {key: round(100 * found[key], 2) for key in ("acc", "nmi")}


def trace(history):
    """Every tenth record, and the last: the loss and the measures of collapse."""
    keep = [r for r in history if r.epoch % 10 == 1 or r.epoch == len(history)]
    names = ("epoch", "loss", "mean_cosine", "effective_rank", "empty_anchors")
    return {name: [float(f"{getattr(r, name):.5g}") for r in keep] for name in names}


def fit(group, name, dataset, seed):
    data = dmac.load(dataset)
    start = time.perf_counter()
    if group == "baselines":
        function, settings = BASELINES[name]
        labels = function(data.views, data.n_clusters, seed, **settings)
        return percent(data.labels, labels) | {"seconds": round(time.perf_counter() - start, 2)}
    recipe = variant(GROUPS[group][0][name] if group in GROUPS else {})
    if group == "unseen":
        order = np.random.default_rng(seed).permutation(data.n_samples)
        seen, unseen = np.split(order, [round(0.7 * data.n_samples)])
        model = dmac.DMAC(data.n_clusters, recipe, random_state=seed, device="cpu")
        model.fit([x[seen] for x in data.views])
        predicted = model.predict([x[unseen] for x in data.views])
        return {
            "fitted": percent(data.labels[seen], model.labels_),
            "unseen": percent(data.labels[unseen], predicted),
        }
    model = dmac.DMAC(data.n_clusters, recipe, random_state=seed, device="cpu").fit(data.views)
    found = percent(data.labels, model.labels_)
    found["seconds"] = round(time.perf_counter() - start, 2)
    if group == "revised":
        found["trace"] = trace(model.history_)
    return found


def task(group, name, dataset, seed):
    torch.set_num_threads(2 if group == "seconds" else 1)
    return {"variant": name, "dataset": dataset, "seed": seed} | fit(group, name, dataset, seed)


def main():
    groups = [*GROUPS, "baselines", "unseen", "seconds"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="+", choices=groups)
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    STORE.mkdir(parents=True, exist_ok=True)
    for group in arguments.groups:
        datasets = arguments.datasets
        variants, seeds = GROUPS.get(group, (None, 10))
        if group == "baselines":
            variants = BASELINES
        elif group == "seconds":
            variants, seeds = {"revised": {}}, 3
        elif group == "unseen":
            variants = {"revised": {}}
            datasets = [d for d in datasets if d in ("HandWritten", "100Leaves", "CCV-20d")]
        path = STORE / f"{group}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        done = {(r["variant"], r["dataset"], r["seed"]) for r in map(json.loads, lines)}
        tasks = [
            (group, name, dataset, seed)
            for seed in range(1, seeds + 1)
            for name in variants
            for dataset in datasets
            if (name, dataset, seed) not in done
        ]
        if group in GROUPS:
            fields = {name: dataclasses.asdict(variant(c)) for name, c in variants.items()}
            recipes = json.dumps(fields, indent=1) + "\n"
            described = STORE / f"{group}.recipes.json"
            if lines and described.read_text() != recipes:
                raise SystemExit(f"{described} differs from the recipes of today: move {path} away")
            described.write_text(recipes)
        with path.open("a") as store:
            jobs = 1 if group == "seconds" else arguments.jobs
            runs = Parallel(jobs, return_as="generator_unordered")(
                delayed(task)(*t) for t in tasks
            )
            for run in runs:
                store.write(json.dumps(run) + "\n")
                store.flush()
        print(group, len(tasks), "runs", flush=True)


if __name__ == "__main__":
    main()
