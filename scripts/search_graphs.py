"""The search before there was a network: spectral embeddings of averaged anchor graphs.

    python scripts/search_graphs.py

Every row of VARIANTS changes one choice; development sets and seeds as below. Appends a JSON line a
run to notebooks/results/recipes/search.jsonl; stored runs are not made again.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse
import torch
from joblib import Parallel, delayed
from scipy.sparse.linalg import LinearOperator, eigsh

import dmac
from dmac.anchor_graph import anchor_graph
from dmac.anchors import n_anchors_for
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans, sampled_anchors
from dmac.data.pipeline import ViewPipeline
from dmac.data.whitening import RowNormalizer, normalize_rows

STORE = Path(__file__).parents[1] / "notebooks" / "results" / "recipes" / "search.jsonl"
DEVELOPMENT = ("PIE", "BBC", "HandWritten", "100Leaves")
SEEDS = (1, 2, 3)

BASE = dict(
    power=1.0, components=2.0, ridge=0.0, factor=1.0, k=5, sets=30, lloyd=5, joint=True, again=0
)
VARIANTS = {
    "one anchor set": dict(sets=1),
    "5 anchor sets": dict(sets=5),
    "30 anchor sets": dict(),
    "a graph a view": dict(joint=False),
    "random samples as anchors": dict(lloyd=0),
    "k = 10": dict(k=10),
    "components x 0.5": dict(components=1.0),
    "components x 2": dict(components=4.0),
    "no whitening": dict(ridge=1e6),
    "twice the anchors": dict(factor=2.0),
    "three times the anchors": dict(factor=3.0),
    "twice, ridge 0.03": dict(factor=2.0, ridge=0.03),
    "twice, ridge 0.1": dict(factor=2.0, ridge=0.1),
    "twice, ridge 0.3": dict(factor=2.0, ridge=0.3),
    "twice, signed power 0.7": dict(factor=2.0, power=0.7),
    "twice, signed root": dict(factor=2.0, power=0.5),
    "twice, signed power 0.33": dict(factor=2.0, power=1 / 3),
    "twice, signed root, ridge 0.03": dict(factor=2.0, power=0.5, ridge=0.03),
    "the same, graph of Z mixed in once": dict(factor=2.0, power=0.5, ridge=0.03, again=1),
    "the same, twice": dict(factor=2.0, power=0.5, ridge=0.03, again=2),
    "the same, four times": dict(factor=2.0, power=0.5, ridge=0.03, again=4),
}


def prepared(x, power, rank, ridge):
    if power != 1:
        x = x.copy() if scipy.sparse.issparse(x) else np.array(x, dtype=float)
        data = x.data if scipy.sparse.issparse(x) else x
        data[...] = np.sign(data) * np.abs(data) ** power
    return torch.as_tensor(ViewPipeline(False, rank, ridge).fit_transform(x), dtype=torch.float32)


def factor_of(points, m, k, sets, lloyd, generator):
    """B (n, sets m) with B B^T the average of S D^-1 S^T over anchor sets."""
    blocks = []
    for _ in range(sets):
        graph = anchor_graph(
            squared_distances(points, sampled_anchors(points, m, generator, lloyd)), k
        )
        weights = graph.weights * graph.inverse_degrees().sqrt()[graph.indices]
        rows = np.arange(0, weights.numel() + 1, k)
        parts = (weights.flatten().numpy(), graph.indices.flatten().numpy(), rows)
        blocks.append(scipy.sparse.csr_matrix(parts, shape=(len(points), m)))
    return scipy.sparse.hstack(blocks).tocsr().astype(float) / np.sqrt(sets)


def embedding(factors, c):
    """Top c eigenvectors of the sum of B B^T."""
    n = factors[0].shape[0]
    transposed = [b.T.tocsr() for b in factors]
    apply = LinearOperator((n, n), lambda v: sum(b @ (t @ v) for b, t in zip(factors, transposed)))
    return eigsh(apply, k=c, which="LA", v0=np.ones(n))[1]


def run(name, dataset, seed):
    torch.set_num_threads(1)
    choice = BASE | VARIANTS[name]
    data = dmac.load(dataset)
    n, c = data.n_samples, data.n_clusters
    generator = torch.Generator().manual_seed(seed)
    m = n_anchors_for(n, c, choice["factor"])
    rank = max(1, round(choice["components"] * c))
    views = [prepared(x, choice["power"], rank, choice["ridge"]) for x in data.views]
    spaces = [torch.cat(views, 1) / len(views) ** 0.5] if choice["joint"] else views
    settings = m, choice["k"], choice["sets"], choice["lloyd"], generator
    factors = [factor_of(x, *settings) / len(spaces) ** 0.5 for x in spaces]
    z = embedding(factors, c)
    for _ in range(choice["again"]):
        rows = torch.as_tensor(normalize_rows(z), dtype=torch.float32)
        z = embedding([*factors, factor_of(rows, *settings)], c)
    rows = RowNormalizer().fit_transform(z)
    labels = kmeans(rows, c, seed, n_init=10).labels_
    found = dmac.scores(data.labels, labels)
    scores = {key: round(100 * found[key], 2) for key in ("acc", "nmi")}
    return {"variant": name, "dataset": dataset, "seed": seed} | scores


def main():
    STORE.parent.mkdir(parents=True, exist_ok=True)
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    done = {(r["variant"], r["dataset"], r["seed"]) for r in map(json.loads, lines)}
    tasks = [
        (name, dataset, seed)
        for name in VARIANTS
        for seed in SEEDS
        for dataset in DEVELOPMENT
        if (name, dataset, seed) not in done
    ]
    with STORE.open("a") as store:
        for found in Parallel(-1, return_as="generator")(delayed(run)(*t) for t in tasks):
            store.write(json.dumps(found) + "\n")
            store.flush()


if __name__ == "__main__":
    main()
