"""The labels of one seed with one thread and with two, on each of the sixteen data sets.

    python scripts/compare_threads.py [DATASET ...]

writes the rows of ``notebooks/results/threads.csv`` anew, one for every recipe and data set, each
as soon as it is there. On a machine with other work set OMP_WAIT_POLICY=PASSIVE. Everything is on
the CPU. REVISED trains, so it is compared on data sets of up to 600 samples.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

import dmac
from dmac.averaged_graph import known
from dmac.compute.threads import VARIABLE
from dmac.solvers.spectral_model import SpectralModel
from experiments.studies import SIXTEEN

PATH = Path(__file__).resolve().parents[1] / "notebooks" / "results" / "threads.csv"
#: With more samples than this REVISED is left out.
TRAINED = 600


def compare(name, data, recipe, seed=0):
    """Fit with one thread and with two, and count how many samples changed their cluster."""
    labels, embeddings = [], []
    for threads in (1, 2):
        os.environ[VARIABLE] = str(threads)
        model = dmac.DMAC(data.n_clusters, recipe, random_state=seed, device="cpu")
        labels.append(model.fit_predict(data.views))
        embeddings.append(model.embedding_)
    scores = dmac.scores(*labels)  # clusters are matched first
    # Columns of an embedding may come out with another sign.
    apart = np.abs(np.abs(embeddings[0]) - np.abs(embeddings[1])).max()
    return dict(
        recipe=recipe,
        dataset=name,
        samples=len(labels[0]),
        other_labels=round(len(labels[0]) * (1 - scores["acc"])),
        ari=round(scores["ari"], 4),
        embeddings_apart=float(f"{apart:.1e}"),
        tied=ties(model, data.views) if isinstance(model.network_, SpectralModel) else None,
    )


def ties(model, views):
    """The largest share, over blocks, of samples to which their k-th and next anchor are as near.

    Rounding decides which of the two such a sample takes.
    """
    fitted, k = model.network_, model.recipe_.n_neighbors
    prepared = [
        torch.as_tensor(pipeline.transform(x)).to(fitted.dtype)
        for pipeline, x in zip(model.pipelines_, views)
    ]
    blocks, _ = fitted.blocks(prepared)
    shares = []
    for block, sets in zip(blocks, fitted.stages[0].base):
        x = block.x[known(block.x, sets.widths).all(1)].double()
        far = torch.cdist(x, sets.u[0].double()).square().sort(1).values[:, k - 1 : k + 1]
        shares.append(float((far[:, 1] - far[:, 0] < 1e-6 * far[:, 1]).double().mean()))
    return round(max(shares), 4)


def main(names):
    """Compare, smallest data sets first, and write every row when it is there."""
    names = names or ["mfeat", *SIXTEEN]
    data = [dmac.load(name) for name in names]
    names = dict(zip(map(id, data), names))
    data.sort(key=lambda one: one.views[0].shape[0])
    work = [("closed_form", one) for one in data]
    work += [("revised", one) for one in data if one.views[0].shape[0] <= TRAINED]
    for recipe, one in work:
        began = time.perf_counter()
        row = compare(names[id(one)], one, recipe)
        print(row, f"{time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        table = pd.DataFrame([row])
        if PATH.exists():
            old = pd.read_csv(PATH)
            same = (old.recipe == recipe) & (old.dataset == row["dataset"])
            table = pd.concat([old[~same], table])
        table.sort_values(["recipe", "samples", "dataset"]).to_csv(PATH, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
