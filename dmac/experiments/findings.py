"""Sentences of the experiment pages: what agrees with the paper and what does not.

Every number is computed, and so is the wording that depends on its sign. Where nothing is stored
yet, the sentence says that.
"""

import numpy as np

from dmac.experiments import compare as comparisons
from dmac.experiments import paper, plan, tables, wording
from dmac.experiments.compare import present
from dmac.experiments.records import curves


def counted(runs):
    """How many runs there are, and of how many seeds."""
    if not len(runs):
        return wording.NOTHING
    each = runs.groupby(["dataset", "variant"], observed=True).seed.nunique()
    names, few, many = present(runs), each.min(), each.max()
    seeds = f"{few} seed{'' if many == 1 else 's'}" if few == many else f"{few} to {many} seeds"
    variants = runs.variant.nunique()
    return (
        f"{len(runs)} run{'' if len(runs) == 1 else 's'}: "
        f"{variants} variant{'' if variants == 1 else 's'} on "
        f"{wording.sets(len(names))}, each with {seeds}."
    )


def paper_table():
    """How often the paper's DMAC is the best of its Table 2, and what trains no network."""
    best, shallow = {}, 0
    for metric in ("acc", "nmi"):
        best[metric] = sum(
            paper.value(d, metric) == max(paper.value(d, metric, m) for m in paper.TABLE_2)
            for d in paper.DATASETS
        )
    deep = [m for m in paper.TABLE_2 if m not in paper.SHALLOW]
    for d in paper.DATASETS:
        highest = [max(paper.value(d, "acc", m) for m in names) for names in (paper.SHALLOW, deep)]
        shallow += highest[0] > highest[1]
    count = len(paper.DATASETS)
    return (
        f"In the paper DMAC has the best accuracy on {best['acc']} of {count} data sets and the "
        f"best NMI on {best['nmi']}, and a method that trains no network "
        f"({wording.listed(paper.SHALLOW)}) has the best accuracy on "
        f"{shallow or 'none'}{f' of {count}' if shallow else ''}. "
        "None of its nine competitors was run for this page."
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
            f"{len(above)} of {wording.sets(len(found))}"
            f"{' (' + wording.listed(above) + ')' if above else ''}; "
            f"the largest difference is {comparisons.change(found['mean'][far])} points, on {far}."
        )
    return wording.lines(sentences)


def significance(table, variant, level=0.05):
    """How many of the differences of a variant are significant, and in which direction."""
    if variant not in table.index.get_level_values("variant"):
        return wording.NOTHING
    return f'"{variant}": {_counts(table.xs(variant, level="variant"), level)}'


def _counts(part, level):
    clear = part[part.p < level]
    up, down = (clear["mean"] > 0).sum(), (clear["mean"] < 0).sum()
    untested = int(part.p.isna().sum())
    more = f" {untested} could not be tested yet." if untested else ""
    gains = f"{up} {'is a gain' if up == 1 else 'are gains'}"
    losses = f"{down} {'a loss' if down == 1 else 'losses'}"
    return (
        f"{len(part)} difference{'' if len(part) == 1 else 's'}, of which {gains} and "
        f"{losses} with an adjusted p below {level}, and "
        f"{len(part) - untested - len(clear)} neither.{more}"
    )


def development(table, variant="DMAC, revised", level=0.05):
    """The same for the data sets that REVISED was developed on, and for the others."""
    if variant not in table.index.get_level_values("variant"):
        return wording.NOTHING
    part, sentences = table.xs(variant, level="variant"), []
    seen = part.index.isin(plan.DEVELOPMENT)
    for some, what in (
        (part[seen], "which it was developed on"),
        (part[~seen], "which it was not developed on"),
    ):
        if len(some):
            sentences.append(
                f"On {wording.listed(some.index)}, {what}: {_counts(some, level)} "
                f"The mean difference is {comparisons.change(some['mean'].mean())} points."
            )
    return wording.lines(sentences)


def beside_paper(closest):
    """How far RELEASED and the best trial are from the paper, from `dmac.experiments.tables.closest`."""
    sentences = []
    for dataset, row in closest.iterrows():
        if np.isnan(row.released):
            continue
        gap, left = row.released - row.paper, row.best - row.paper
        text = (
            f"On {dataset} the paper has {row.paper:.2f} %; RELEASED has {row.released:.1f} % at "
            f"the epoch that the labels pick, {wording.than(gap)}."
        )
        if row.trial != "RELEASED":
            text += (
                f" The best of {row.others} other settings that were tried, picked by the labels, "
                f'"{row.trial}" ({row.seeds} seeds), has '
                f"{row.best:.1f} %, {wording.than(left)} than the paper. The highest single run, "
                f'of "{row.of}", has {row.top:.1f} %.'
            )
            for other, value in row.elsewhere.items():
                text += f" On {other} the same setting has {value:.1f} %."
        elif row.others:
            text += f" None of the {row.others} trials that are stored has a higher mean."
        else:
            text += " No other trial is stored yet."
        sentences.append(text)
    return wording.lines(sentences)


def authors_code(runs, variant="DMAC, released", dataset="PIE"):
    """RELEASED beside the authors' implementation."""
    part = runs[(runs.dataset == dataset) & (runs.variant == variant)]
    if not len(part):
        return wording.NOTHING
    known = paper.AUTHORS_CODE[dataset]
    (oracle, oracle_sd), (last, last_sd) = known["oracle_acc"], known["last_acc"]
    return (
        f"The authors' implementation, run for this project on {dataset} with "
        f"{known['seeds']} seeds, has {oracle} ± {oracle_sd} % at the best epoch and "
        f"{last} ± {last_sd} % at the last; ours has "
        f"{tables.spread(part.oracle_acc)} % and {tables.spread(part.acc)} %."
    )


def collapse(runs):
    """How far apart the rows of Z are at the end, and where the anchor learning loss stands."""
    lines = curves(runs)
    if lines.empty:
        return wording.NOTHING
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
        drops = {
            d: paper.value(d, "acc", full, paper.TABLE_3)
            - paper.value(d, "acc", part, paper.TABLE_3)
            for d in paper.DATASETS
        }
        same = [f"{wording.points(drops[d])} on {ours}" for ours, d in paper.SAME.items()]
        text = (
            f"Without {name} the paper's accuracy is lower by {wording.listed(same)} (on its six "
            f"data sets by {min(drops.values()):.1f} to {max(drops.values()):.1f})."
        )
        found = {
            "At the epoch that the labels pick, as in the paper,": "oracle_acc",
            "At the last epoch": "acc",
        }
        found = {when: comparisons.paired(runs, full, part, m) for when, m in found.items()}
        found = {when: table for when, table in found.items() if len(table)}
        sentences += (
            [text + "".join(_ahead(part, *pair) for pair in found.items())] if found else []
        )
    return wording.lines(sentences)


def _ahead(part, when, found, level=0.05):
    """Where the full model is ahead of one without a part, each by itself and all together."""
    same = [d for d in paper.SAME if d in found.index]
    here = [f"{comparisons.change(found['mean'][d], found.half[d])} on {d}" for d in same]
    least, most = (comparisons.change(x) for x in (found["mean"].min(), found["mean"].max()))
    between = f"between {least} and {most} points" if least != most else f"{least} points"
    text = f" {when} the full model less {part} is here "
    text += f"{wording.listed(here)}, and " if here else ""
    clear = found[found.p < level]
    gain, loss = list(clear.index[clear["mean"] > 0]), list(clear.index[clear["mean"] < 0])
    text += f"{between} over {wording.sets(len(found))}; at p below {level} it is ahead "
    text += f"on {wording.listed(gain)}" if gain else "nowhere"
    text += f" and behind on {wording.listed(loss)}" if loss else ""
    if len(clear):
        left = int((comparisons.holm(found.p) < level).sum())
        text += f", each by itself ({left or 'none'} after Holm's adjustment for all {len(found)})"
    return f"{text}."


def consistency(runs):
    """What the consistency loss was in all epochs."""
    lines = curves(runs)
    if lines.empty:
        return wording.NOTHING
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
        return wording.NOTHING
    best, worst = means.idxmax(), means.idxmin()
    up = int((means > 1).sum())
    if means[best] > 0:
        text = f'"{best}" raises the accuracy most ({comparisons.change(means[best])} points)'
    else:
        change = comparisons.change(means[best])
        text = f'no variant raises the accuracy (best "{best}", {change} points)'
    if means[worst] < 0:
        text += f' and "{worst}" lowers it most ({comparisons.change(means[worst])})'
    return (
        f"In the mean over the data sets that all variants have, {text}; {up} of {len(means)} "
        "variants gain more than a point."
    )


def epochs(runs):
    """Where over the epochs the mean accuracy is best, and where it ends."""
    sentences, curve = [], curves(runs)
    for dataset in [d for d in present(runs) if d in set(curve.dataset)]:
        mean = curve[curve.dataset == dataset].groupby("epoch").acc.mean()
        start = runs[runs.dataset == dataset].start_acc.mean()
        before = "" if np.isnan(start) else f"{start:.1f} % after the pre-training, "
        sentences.append(
            f"On {dataset} the mean accuracy is {before}{mean.max():.1f} % at its best epoch "
            f"({mean.idxmax()} of {len(mean)}) and {mean.iloc[-1]:.1f} % at the last."
        )
    return wording.lines(sentences)


def repeated(table):
    """How far the variants' runs come out when they are made again."""
    if not len(table):
        return wording.NOTHING
    largest = table.largest.groupby(level=0, sort=False).max()
    near, sentences = largest[largest <= 0.5], []
    if len(near):
        names = wording.listed(f'"{name}"' for name in near.index)
        text = f"Every run of {names} came out within half a point of the stored one: "
        sentences.append(f"{text}at most {wording.points(near.max())} away.")
    for variant in largest.index.difference(near.index, sort=False):
        part = table.loc[variant]
        sentences.append(
            f'A run of "{variant}" came out up to {wording.points(largest[variant])} away (on '
            f"{part.largest.idxmax()}), and the mean over the seeds up to "
            f"{wording.points(part['of means'].max())}."
        )
    return wording.lines(sentences)
