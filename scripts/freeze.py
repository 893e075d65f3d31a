"""Freeze what every recipe computes, so that a change of the code can be held against it.

    python scripts/freeze.py before            # writes arrays into the folder "before"
    python scripts/freeze.py after --against before
    python scripts/freeze.py sets --sets      # CLOSED_FORM_0_2 on every data set at hand

It fits the four recipes on mfeat, PIE and BBC (those that ``DMAC_DATA`` has) with two seeds and one
thread; of each fit it keeps labels, Z, centres, the prediction of some samples, and the same after
a save and a load. Epochs are cut: what is compared
is arithmetic, not accuracy. Two folders agree if their arrays are equal to the last bit; otherwise
each difference is printed with its size. The arrays depend on the processor, so both folders come
from one machine.
"""

import os

os.environ["DMAC_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import dataclasses
import hashlib
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

import dmac
from dmac.estimators import CollapseWarning, estimator_of
from dmac.recipes import CLOSED_FORM_0_2, CLOSED_FORM_2026_11, PUBLISHED, RELEASED, REVISED
from experiments import level_choice, sealed

DATASETS, SEEDS = ("mfeat", "PIE", "BBC"), (1, 2)
RECIPES = {
    "published": dataclasses.replace(PUBLISHED, epochs=5),
    "released": dataclasses.replace(RELEASED, pretrain_epochs=5, epochs=25),
    "revised": dataclasses.replace(REVISED, epochs=10),
    "closed_form_0_2": CLOSED_FORM_0_2,
    "closed_form_2026_11": CLOSED_FORM_2026_11,
}


def freeze(data, recipe, seed):
    """The arrays of one fit."""
    model = estimator_of(recipe)(data.n_clusters, recipe, random_state=seed, device="cpu")
    with warnings.catch_warnings(action="ignore", category=CollapseWarning):
        model.fit(data.views)
    new = [x[:50] for x in data.views]
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = dmac.load_model(folder)
    return {
        "labels": model.labels_,
        "z": model.embedding_,
        "centers": model.cluster_centers_,
        "predicted": model.predict(new),
        "transformed": model.transform(new),
        "loaded": again.transform(new),
        "loaded labels": again.predict(new),
    }


def compare(one, other):
    """What differs between two folders, a line each."""
    names = sorted({p.name for p in one.glob("*.npz")} | {p.name for p in other.glob("*.npz")})
    for name in names:
        if not ((one / name).exists() and (other / name).exists()):
            yield f"{name}: in one folder only"
            continue
        a, b = (np.load(f / name, allow_pickle=False) for f in (one, other))
        for key in a.files:
            if a[key].shape != b[key].shape:
                yield f"{name}, {key}: shapes {a[key].shape} and {b[key].shape}"
            elif a[key].tobytes() != b[key].tobytes():
                size = np.abs(a[key].astype(float) - b[key]).max()
                yield f"{name}, {key}: differs by {size:.3g} at most"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the arrays are written")
    parser.add_argument("--against", type=Path, help="a folder that was written before")
    parser.add_argument("--only", default="", help="fits whose name has this in it")
    parser.add_argument("--sets", action="store_true", help="CLOSED_FORM_0_2 on every data set")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.folder.mkdir(parents=True, exist_ok=True)
    fits = {
        f"{dataset}, {name}, {seed}": (dataset, recipe, seed)
        for dataset in DATASETS
        for name, recipe in RECIPES.items()
        for seed in SEEDS
    }
    if given.sets:
        sets = [*dmac.available(), *sealed.SETS]
        fits = {f"closed_form_0_2 on {name}": (name, CLOSED_FORM_0_2, 0) for name in sets}
    for name, (dataset, recipe, seed) in fits.items():
        if given.only not in name:
            continue
        arrays = freeze(level_choice.load(dataset), recipe, seed)
        np.savez(given.folder / f"{name}.npz", **arrays)
        whole = hashlib.sha256(b"".join(x.tobytes() for x in arrays.values())).hexdigest()
        print(f"{name:45} {whole[:16]}", flush=True)
    if given.against:
        differences = list(compare(given.against, given.folder))
        print(*differences, sep="\n")
        print(f"{len(differences)} differences" if differences else "everything is equal")
        sys.exit(bool(differences))


if __name__ == "__main__":
    main()
