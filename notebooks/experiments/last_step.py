"""Other last steps than k-means on every set at hand, and rules without labels that take one.

``python -m experiments.last_step`` writes ``results/last_step.json``, which the record of the
trials shows: scores of labels that start from one fit, and what the rules ask of them. It can be
stopped at any time, and goes on where it was; the largest sets come first.
"""

import json
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

import dmac
from dmac.agc.votes import association
from dmac.data.datasets import DATASETS
from experiments import level_choice, records, sealed
from experiments.ideas.last_step import GRAPH, OWN, labels_of
from experiments.store import round_floats
from experiments.studies import EVERY

FILE = records.RESULTS / "last_step.json"
SEEDS, METRICS = level_choice.SEEDS, ("acc", "nmi")
#: Samples above which a set is large, and what a step may lose on the others, in points.
LARGE, LOSS = 3000, 0.5
GROUPS = f"above {LARGE:,} samples", "the others", "all"


def measured(name, load=level_choice.load):
    """What is stored of a set: lists have an entry for each seed.

    ``scores`` and numbers of ``clusters`` of all last steps, and of the recipe's labels and Leiden
    on its graph the ``association`` and the agreement between the fits of both seeds, ``repeats``.
    """
    data, every = load(name), {}
    c, stored = data.n_clusters, {"scores": {}, "clusters": {}, "association": {}}
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(data.n_samples)
        found, graph = labels_of([x[order] for x in data.views], c, seed)
        for step, labels in found.items():
            scored = dmac.scores(data.labels[order], labels)
            stored["scores"].setdefault(step, []).append([scored[x] for x in METRICS])
            stored["clusters"].setdefault(step, []).append(len(np.unique(labels)))
            every.setdefault(step, []).append(labels[np.argsort(order)])
        for step in (OWN, GRAPH):
            stays = association(graph, found[step], c)
            stored["association"].setdefault(step, []).append(stays)
    stored["repeats"] = {step: adjusted_rand_score(*every[step]) for step in (OWN, GRAPH)}
    return round_floats(stored)


def read(stored=None):
    """ACC and NMI in % over the seeds, of all last steps and of both rules.

    Returns
    -------
    pandas.DataFrame
        A row for each set; columns by last step and metric.
    """
    rows = {}
    for name, one in (stored or json.loads(FILE.read_text(encoding="utf-8"))).items():
        scores = {step: np.array(x) for step, x in one["scores"].items()}
        larger = np.greater(one["association"][GRAPH], one["association"][OWN])
        scores["by association"] = np.where(larger[:, None], scores[GRAPH], scores[OWN])
        repeats = one["repeats"]
        scores["by repetition"] = scores[GRAPH if repeats[GRAPH] > repeats[OWN] else OWN]
        rows[name] = {
            (step, metric): 100 * mean
            for step, x in scores.items()
            for metric, mean in zip(METRICS, x.mean(0))
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def sizes():
    """How many samples each set has."""
    found = {name: DATASETS[name].n_samples for name in EVERY}
    return pd.Series(found | {name: about.samples for name, about in sealed.SETS.items()})


def gains(scores, samples):
    """What each last step gains over the recipe's labels, by group of sets.

    Parameters
    ----------
    scores : pandas.DataFrame
        Of `read`.
    samples : pandas.Series
        Of `sizes`.

    Returns
    -------
    pandas.DataFrame
        ``mean`` and ``half`` width of the interval: a row for each step, columns by `GROUPS`.
    """
    means, large = scores.T.groupby(level=0, sort=False).mean().T, samples > LARGE
    steps, found = [step for step in means if step != OWN], {}
    for group, some in zip(GROUPS, (large, ~large, large | ~large)):
        both = [level_choice.gain(means.loc[samples.index[some]], step, OWN) for step in steps]
        found |= {(group, of): x for of, x in zip(("mean", "half"), zip(*both))}
    return pd.DataFrame(found, steps)


def passing(table):
    """Which steps of `gains` are ahead on large sets, and which of these lose nothing elsewhere."""
    large, others = (table[group] for group in GROUPS[:2])
    ahead = large["mean"] > large["half"]
    keeps = (others["mean"] >= -LOSS) & (others["mean"] + others["half"] >= 0)
    return list(table.index[ahead]), list(table.index[ahead & keeps])


def main():
    """Make what is missing, set by set."""
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    samples = sizes()
    for name in sorted(samples.index, key=lambda x: (samples[x] <= LARGE, samples[x])):
        if name not in stored:
            with warnings.catch_warnings(action="ignore"):
                stored[name] = measured(name)
            lines = [f"{json.dumps(key)}: {json.dumps(one)}" for key, one in stored.items()]
            FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            print(len(stored), name, flush=True)


if __name__ == "__main__":
    main()
