"""What the start page, the errata and the README say of data in general, computed.

Another data set is another draw of data sets, so the intervals are over the data sets: those over
seeds only say how far a result holds on the sets at hand. The errata and the start page of the book
call these functions.
"""

import pandas as pd

from experiments import paper, records, switch_tables


def _runs(group, results):
    return records.read_study(group, results)


def beside_shallow(results=records.RESULTS):
    """REVISED against the one of four shallow pipelines with the best mean over the data sets.

    Parameters
    ----------
    results : str or path
        Folder of the store.

    Returns
    -------
    pandas.Series
        The difference of the mean ACC over the seeds, by data set, in points.
    """
    revised = _runs("revised", results).groupby("dataset", observed=True).acc.mean()
    names = ["variant", "dataset"]
    shallow = _runs("baselines", results).groupby(names, observed=True).acc.mean()
    best = shallow.groupby("variant", observed=True).mean().idxmax()
    return revised - shallow[best]


def of_training(results=records.RESULTS):
    """REVISED against its own start in closed form, which no epoch has trained.

    Parameters
    ----------
    results : str or path
        Folder of the store.

    Returns
    -------
    pandas.Series
        The mean difference of ACC at equal seeds, by data set, in points.
    """
    changes = switch_tables.changes(_runs("switches", results), _runs("revised", results))
    untrained = changes[changes.variant == "nothing trained (0 epochs)"]
    return -untrained.groupby("dataset", observed=True).acc.mean()


def whole_samples(datasets=("Yale", "PIE", "BBC")):
    """Which accuracies of Table 2 are those of a whole number of samples.

    Of n samples a single run gets a whole number right. The mean of ten runs is a multiple of
    1 / (10 n), and one in ten of those is a multiple of 1 / n.

    Parameters
    ----------
    datasets : tuple of str
        Of the paper, small enough that the two decimals of the table tell.

    Returns
    -------
    pandas.DataFrame
        A row for each method and data set: ``method``, ``dataset``, ``acc`` as printed, in %, the
        nearest number of samples ``hits`` of ``n``, whether that is the accuracy as printed
        (``whole``), and the ``chance`` of this for a mean of ten runs, all multiples of
        1 / (10 n) being equally likely.
    """
    rows = []
    for dataset in datasets:
        n = paper.DATASETS[dataset][0]
        printed = {f"{100 * hits / n:.2f}" for hits in range(n + 1)}
        means = [f"{10 * hits / n:.2f}" for hits in range(10 * n + 1)]
        chance = sum(mean in printed for mean in means) / len(means)
        for method in paper.TABLE_2:
            acc = paper.value(dataset, "acc", method)
            hits = round(acc * n / 100)
            whole = f"{100 * hits / n:.2f}" == f"{acc:.2f}"
            rows.append((method, dataset, acc, hits, n, whole, chance))
    columns = ["method", "dataset", "acc", "hits", "n", "whole", "chance"]
    return pd.DataFrame(rows, columns=columns)
