"""Other last steps than k-means on every set at hand, and rules without labels that take one.

``results/last_step.json`` has scores of labels that start from one fit, and what the rules ask of
them, a list over the seeds each; the record of the trials shows it. What made it is at commit
748f2882: ``python -m experiments.last_step`` there.
"""

import json

import numpy as np
import pandas as pd

from dmac.data.datasets import DATASETS
from experiments import level_choice, records, sealed
from experiments.studies import EVERY

FILE = records.RESULTS / "last_step.json"
METRICS = ("acc", "nmi")
#: The recipe's own labels, and Leiden on its averaged graph, between which the rules choose.
OWN, GRAPH = "AGC", "Leiden, graph"
#: Samples above which a set is large, and what a step may lose on the others, in points.
LARGE, LOSS = 3000, 0.5
GROUPS = f"above {LARGE:,} samples", "the others", "all"


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
