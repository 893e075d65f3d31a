"""Sentences of the experiment pages: what agrees with the paper and what does not.

Every number is computed, and so is the wording that depends on its sign. Where nothing is stored
yet, the sentence says that.
"""

import numpy as np

from dmac import comparisons, paper, tables
from dmac.experiments import curves
from dmac.protocols import gains as gains_of

_NOTHING = "The runs that this compares are not stored yet."


def _present(runs):
    return [d for d in runs.dataset.cat.categories if d in set(runs.dataset)]


def _list(names):
    names = [str(name) for name in names]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _lines(sentences):
    """Several sentences as a list, one as itself."""
    if len(sentences) < 2:
        return "".join(sentences) or _NOTHING
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _sets(count):
    return f"{count} data set{'' if count == 1 else 's'}"


def _points(x):
    text = f"{abs(x):.1f}"
    return f"{text} point{'' if text == '1.0' else 's'}"


def _than(x):
    """How far a value lies from another, in words."""
    return f"{_points(x)} {'more' if x > 0 else 'less'}"


def _signed(x):
    return f"{x:.3f}".replace("-", "−")


def _percent(fraction):
    return f"{100 * fraction:.0f} %"


def paper_table():
    """How often the paper's DMAC is the best of its Table 2."""
    best = {}
    for metric in ("acc", "nmi"):
        best[metric] = sum(
            paper.value(d, metric) == max(paper.value(d, metric, m) for m in paper.TABLE_2)
            for d in paper.DATASETS
        )
    return (
        f"In the paper DMAC has the best accuracy on {best['acc']} of {len(paper.DATASETS)} "
        f"data sets and the best NMI on {best['nmi']}."
    )


def comparison(runs, references, variants=("DMAC, released", "DMAC, revised")):
    """Where recipes of DMAC stand against the best pipeline without training."""
    best, sentences = comparisons.best_of(runs, references), []
    for variant in variants:
        found = comparisons.paired(runs, variant, best)
        if not len(found):
            continue
        above = list(found.index[found["mean"] > 0])
        far = found["mean"].abs().idxmax()
        sentences.append(
            f'"{variant}" is above the best pipeline without training on '
            f"{len(above)} of {_sets(len(found))}{' (' + _list(above) + ')' if above else ''}; "
            f"the largest difference is {comparisons.change(found['mean'][far])} points, on {far}."
        )
    return _lines(sentences)


def significance(table, variant, level=0.05):
    """How many of the differences of a variant are significant, and in which direction."""
    if variant not in table.index.get_level_values("variant"):
        return _NOTHING
    part = table.xs(variant, level="variant")
    clear = part[part.p < level]
    up, down = (clear["mean"] > 0).sum(), (clear["mean"] < 0).sum()
    untested = int(part.p.isna().sum())
    more = f" {untested} could not be tested yet." if untested else ""
    gains = f"{up} {'is a gain' if up == 1 else 'are gains'}"
    losses = f"{down} {'a loss' if down == 1 else 'losses'}"
    return (
        f'"{variant}": {len(part)} difference{"" if len(part) == 1 else "s"}, of which {gains} and '
        f"{losses} with an adjusted p below {level}, and "
        f"{len(part) - untested - len(clear)} neither.{more}"
    )


def beside_paper(closest):
    """How far RELEASED and the best trial are from the paper, from `dmac.tables.closest`."""
    sentences = []
    for dataset, row in closest.iterrows():
        if np.isnan(row.released):
            continue
        gap, left = row.released - row.paper, row.best - row.paper
        text = (
            f"On {dataset} the paper has {row.paper:.2f} %; RELEASED has {row.released:.1f} % at "
            f"the epoch that the labels pick, {_than(gap)}."
        )
        if row.trial != "RELEASED":
            text += (
                f' The best of what was tried, "{row.trial}" ({row.seeds} seeds), has '
                f"{row.best:.1f} %, {_than(left)} than the paper."
            )
        elif row.others:
            text += f" None of the {row.others} trials that are stored has a higher mean."
        else:
            text += " No other trial is stored yet."
        sentences.append(text)
    return _lines(sentences)


def authors_code(runs, variant="DMAC, released", dataset="PIE"):
    """RELEASED beside the authors' implementation."""
    part = runs[(runs.dataset == dataset) & (runs.variant == variant)]
    if not len(part):
        return _NOTHING
    known = paper.AUTHORS_CODE[dataset]
    (oracle, oracle_sd), (last, last_sd) = known["oracle_acc"], known["last_acc"]
    return (
        f"The authors' implementation, run for this project on {dataset}, has "
        f"{oracle} ± {oracle_sd} % at the best epoch and {last} ± {last_sd} % at the last; ours "
        "has "
        f"{tables.spread(part.oracle_acc)} % and {tables.spread(part.acc)} %."
    )


def collapse(runs):
    """How far apart the rows of Z are at the end, and where the anchor learning loss stands."""
    lines = curves(runs)
    if lines.empty:
        return _NOTHING
    lines = lines.merge(runs[["dataset", "seed", "variant", "n_anchors"]])
    last = lines[lines.epoch == lines.groupby(["dataset", "seed", "variant"], observed=True)
                 .epoch.transform("max")]  # fmt: skip
    share = last.anchor_learning / np.log(last.n_anchors.astype(float))
    return (
        f"After the last epoch of {len(last)} runs of RELEASED the mean cosine between rows of Z "
        f"is at least {1 - last.one_minus_cosine.max():.5f}, the effective rank at most "
        f"{last.effective_rank.max():.2f}, and the anchor learning loss between "
        f"{100 * share.min():.2f} % and {100 * share.max():.2f} % of its maximum."
    )


def ablation(runs, full="DMAC"):
    """Whether taking a part out costs accuracy here, as it does in the paper."""
    sentences = []
    for part, name in (("wo/PD", "perturbation and anchor learning"), ("wo/CM", "consistency")):
        drops = [
            paper.value(d, "acc", full, paper.TABLE_3) - paper.value(d, "acc", part, paper.TABLE_3)
            for d in paper.DATASETS
        ]
        found = comparisons.paired(runs, full, part)
        if not len(found):
            continue
        clear = found[found.p < 0.05]
        gain, loss = list(clear.index[clear["mean"] > 0]), list(clear.index[clear["mean"] < 0])
        least, most = (comparisons.change(x) for x in (found["mean"].min(), found["mean"].max()))
        between = f"between {least} and {most} points" if least != most else f"{least} points"
        text = (
            f"Without {name} the paper's accuracy is {min(drops):.1f} to {max(drops):.1f} "
            f"points lower. Here the difference of the full model and {part} is {between}: "
            "the full model is"
        )
        text += f" clearly ahead on {_list(gain)}" if gain else " clearly ahead nowhere"
        text += f" and clearly behind on {_list(loss)}" if loss else ""
        text += ", at p below 0.05 on each by itself."
        sentences.append(text)
    return _lines(sentences)


def consistency(runs):
    """What the consistency loss was in all epochs."""
    lines = curves(runs)
    if lines.empty:
        return _NOTHING
    most = lines.consistency.abs().max()
    return (
        f"In all {len(lines)} epochs of these runs the consistency loss was within {most:.0e} of "
        'zero, so "wo/CM" and the full model differ by rounding alone.'
        if most < 1e-4
        else f"The consistency loss of these runs reached {most:.1e}."
    )


def beyond(table):
    """The largest changes among the variants."""
    means = table["mean"].dropna() if "mean" in table else table
    if not len(means):
        return _NOTHING
    best, worst = means.idxmax(), means.idxmin()
    up = int((means > 1).sum())
    if means[best] > 0:
        text = f'"{best}" raises the accuracy most ({comparisons.change(means[best])} points)'
    else:
        text = (
            f'no variant raises the accuracy (best "{best}", {comparisons.change(means[best])} points)'
        )
    if means[worst] < 0:
        text += f' and "{worst}" lowers it most ({comparisons.change(means[worst])})'
    return (
        f"In the mean over the data sets that all variants have, {text}; {up} of {len(means)} "
        "variants gain more than a point."
    )


def anchors(table, full="DMAC"):
    """Which of the variants has the most dissimilar anchors."""
    sentences = []
    for dataset in dict.fromkeys(table.index.get_level_values(0)) if len(table) else ():
        part = table.loc[dataset]
        apart, rank = part["1 − mean cosine"], part["effective rank"]
        if full not in apart or len(apart) < 2:
            continue
        most = apart.idxmax()
        text = f"On {dataset} the mean cosine between two anchors of the full model is "
        text += f"{apart[full]:.1e} below 1, and their effective rank {rank[full]:.2f}; "
        if most == full:
            text += "no variant has less similar anchors, as the paper's picture has it."
        else:
            text += f"the least similar are those of {most} ({apart[most]:.1e}), "
            text += "unlike in the paper's picture."
        sentences.append(text)
    return _lines(sentences)


def embedding(runs, full="DMAC"):
    """Which of the variants has the best neighbours, and the best silhouette."""
    sentences = []
    for dataset in _present(runs):
        part = runs[runs.dataset == dataset].groupby("variant", observed=True)
        near, apart = 100 * part.neighbors.mean(), part.silhouette.mean()
        if full not in near or len(near) < 2:
            continue
        best, wide = near.idxmax(), apart.idxmax()
        agree = "the full model" if best == full else best
        sentences.append(
            f"On {dataset} {agree} has the largest share of neighbours of the same class, "
            f"{near[best]:.1f} %"
            + ("" if best == full else f" (the full model {near[full]:.1f} %)")
            + f", and {'the full model' if wide == full else wide} the largest silhouette, "
            f"{_signed(apart[wide])}"
            + ("." if wide == full else f" (the full model {_signed(apart[full])}).")
        )
    return _lines(sentences)


def sensitivity(grid, metric="oracle_acc"):
    """Which weight matters, and whether large weights are good."""
    sentences = []
    for dataset in _present(grid):
        means = tables.grid_means(grid, dataset, metric)
        cm, sp, _ = tables.shares(means)
        if np.isnan(cm):
            continue
        cm_best, sp_best = means.stack().idxmax()
        corner = means.iloc[-1, -1]
        sentences.append(
            f"On {dataset} the weight of the structure accounts for {_percent(sp)} of the variance "
            f"over the grid and that of CM for {_percent(cm)}; the best point is "
            f"({cm_best:g}, {sp_best:g}), and the corner with both weights largest is "
            f"{_points(means.max(axis=None) - corner)} below."
        )
    if not sentences:
        return _NOTHING if not len(grid) else "No data set has the whole grid yet."
    return _lines(sentences)


def lines(runs, groups):
    """By number of the recipe, the largest spread of the mean accuracy over its values."""
    sentences = []
    for what, values in groups.items():
        part = runs[runs.variant.isin([f"{what} = {v}" for v in values])]
        means = part.groupby(["dataset", "variant"], observed=True).acc.mean().unstack()
        means = means.dropna(how="all").T
        if len(means) < 2 or means.empty:
            continue
        width = means.max() - means.min()
        where = width.idxmax()
        sentences.append(
            f"The choice of the {what if len(what) > 1 else f'number {what}'} moves the mean "
            f"accuracy by up to {_points(width[where])} (on {where}, best at "
            f"{means[where].idxmax().split(' = ')[1]})."
        )
    return _lines(sentences)


def protocols(frame):
    """What the choices by the labels add."""
    gains = gains_of(frame)
    if not len(gains):
        return _NOTHING
    sentences = []
    for dataset, row in gains.iterrows():
        part = frame[frame.dataset == dataset]
        text = f"On {dataset} the choice of the epoch adds {_points(row['epoch, ACC'])} of accuracy"
        last = "epoch"
        if not np.isnan(row["grid, ACC"]):
            last = "grid"
            text += f", the choice among {int(part.points.max())} pairs of weights another "
            text += _points(row["grid, ACC"])
        known = paper.value(dataset, "acc")
        if known is not None and dataset in paper.SAME:
            mean = part[part.protocol == last].acc.mean()
            text += f", which leaves {_than(mean - known)} than the paper's {known:.2f} %"
        sentences.append(f"{text}.")
    nmi = gains["own epoch, NMI"]
    sentences.append(
        f"Reading NMI at its own best epoch instead of at that of the accuracy adds up to "
        f"{_points(nmi.max())}."
    )
    return _lines(sentences)


def epochs(runs):
    """Where over the epochs the mean accuracy is best, and where it ends."""
    sentences, curve = [], curves(runs)
    for dataset in [d for d in _present(runs) if d in set(curve.dataset)]:
        mean = curve[curve.dataset == dataset].groupby("epoch").acc.mean()
        start = runs[runs.dataset == dataset].start_acc.mean()
        before = "" if np.isnan(start) else f"{start:.1f} % after the pre-training, "
        sentences.append(
            f"On {dataset} the mean accuracy is {before}{mean.max():.1f} % at its best epoch "
            f"({mean.idxmax()} of {len(mean)}) and {mean.iloc[-1]:.1f} % at the last."
        )
    return _lines(sentences)


def run_times(table):
    """How our seconds compare with the paper's for DMAC."""
    sentences = []
    for row, what in (
        ("100 epochs here", "A hundred epochs of the main training"),
        ("with pre-training here", "A whole run with its 1000 epochs of pre-training, on one thread,"),
    ):
        ratio = (table.loc[row] / table.loc["DMAC"]).dropna()
        if len(ratio):
            shares = [_percent(x) if x < 2 else f"{x:.0f} times as long" for x in ratio]
            parts = [f"{share} on {name}" for share, name in zip(shares, ratio.index)]
            sentences.append(f"{what} took, relative to the paper's DMAC: {_list(parts)}.")
    return _lines(sentences)
