"""Tables of the experiment pages, made from frames of runs (:func:`experiments.records.runs`).

Cells read "mean ± sd" over seeds in %, and "(k)" behind them says that there are only k of the
seeds that were asked for. What is not stored is "–". Functions without such text return numbers.
"""

import re
import zlib

import numpy as np
import pandas as pd

from experiments import paper
from experiments.compare import NOTHING, best_of, list_datasets, mean_and_sd


def format_spread(values, of=0, digits=1, failed=0):
    """Mean ± sd as text, and the number of values behind it where it is less than ``of``."""
    (mean, sd), known = mean_and_sd(values), int(pd.notna(values).sum())
    # As pandas rounds: 87.25, which a sum of floats may have as 87.250...1, is 87.2 on every page.
    mean = np.round(np.round(mean, 9), digits)
    text = f"{mean:.{digits}f}" if known else NOTHING
    if known > 1:
        text += f" ± {sd:.{digits}f}"
    text += f" ({known})" if 0 < known < of - failed else ""
    return text.replace("-", "−") + (f" ({failed} failed)" if failed else "")


def format_number(x, digits=2):
    """A number in few digits: 5 rather than 5.0000, and 3 × 10⁻¹⁰ rather than 3e-10.

    Parameters
    ----------
    x : float
    digits : int
        Significant ones, from 1. Zeros at the end are left out.

    Returns
    -------
    str
        With a power of ten below 0.001 and from 100 000 on.
    """
    if not np.isfinite(x):
        return NOTHING
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    if x == 0 or -3 <= int(exponent) < 5:
        return f"{float(f'{x:.{digits}g}'):.10f}".rstrip("0").rstrip(".").replace("-", "−")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    factor = {"1": "", "-1": "-"}.get(mantissa, f"{mantissa} × ")
    return f"{factor}10{power}".replace("-", "−")


def typeset(name):
    """A variant's name with its numbers as `format_number` has them."""
    number = r"(?<![\w.−-])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])"
    return re.sub(number, lambda found: format_number(float(found[0]), 6), str(name))


def format_cell(runs, metric, of=0, digits=1):
    """`format_spread` of a metric of some runs, with those that failed."""
    return format_spread(runs[metric], of, digits, failed=int(runs.error.notna().sum()))


def format_scores(runs, metric, rows="dataset", columns="variant", digits=1):
    """A metric of runs: one row per data set, one column per variant, or the other way round.

    Parameters
    ----------
    runs : pandas.DataFrame
    metric : str
        A column of it.
    rows, columns : {"dataset", "variant"}
    digits : int

    Returns
    -------
    pandas.DataFrame of str
    """
    groups = dict(list(runs.groupby([rows, columns], observed=True)))
    of = max([runs.attrs.get("seeds", 0), *map(len, groups.values())])
    text = {key: format_cell(part, metric, of, digits) for key, part in groups.items()}
    lines, names = (
        [value for value in runs[axis].cat.categories if value in set(runs[axis])]
        for axis in (rows, columns)
    )
    values = [[text.get((line, name), NOTHING) for name in names] for line in lines]
    lines, names = ([typeset(name) for name in axis] for axis in (lines, names))
    return pd.DataFrame(values, index=lines, columns=names, dtype=object)


def compare_recipes(runs, recipes, references, metric="acc"):
    """The paper's DMAC, ours in several recipes, and the best of some pipelines, side by side.

    Parameters
    ----------
    runs : pandas.DataFrame
    recipes, references : list of str
        Variants; of the references the one with the highest mean is shown.
    metric : str

    Returns
    -------
    pandas.io.formats.style.Styler
        One row per data set, the best of ours bold, and the paper's where it is as good. A ° marks
        values of the paper on other views, with which ours cannot be compared.
    """
    best, rows, means = best_of(runs, references, metric), {}, {}
    of = runs.attrs.get("seeds", 0)
    for dataset in list_datasets(runs):
        here, same = runs[runs.dataset == dataset], dataset in paper.SAME
        names = dict(zip(recipes, recipes)) | {"best of four": best.get(dataset)}
        parts = {title: here[here.variant == name] for title, name in names.items()}
        rows[dataset] = {
            "the paper": format_paper(dataset, metric),
            **{title: format_cell(part, metric, of) for title, part in parts.items()},
        }
        means[dataset] = {
            "the paper": paper.value(dataset, metric) if same else np.nan,
            **{title: part[metric].mean() for title, part in parts.items()},
        }
    columns = dict(orient="index", columns=["the paper", *recipes, "best of four"])
    return mark_best(*(pd.DataFrame.from_dict(table, **columns) for table in (rows, means)))


def format_paper(dataset, metric):
    """The paper's score of DMAC, with a ° where its views are others."""
    known, mark = paper.value(dataset, metric), "" if dataset in paper.SAME else "°"
    return NOTHING if known is None else f"{known:.1f}{mark}"


def mark_best(text, values):
    """A table in which the highest value of every row is bold.

    Parameters
    ----------
    text, values : pandas.DataFrame
        What is shown, and the numbers behind it, of the same shape; NaN takes no part. Values that
        are equal when rounded to a decimal are all bold.

    Returns
    -------
    pandas.io.formats.style.Styler
    """
    rounded = values.astype(float).round(1)
    best = rounded.eq(rounded.max(axis=1), axis=0)
    bold = best.map(lambda is_best: "font-weight: bold" if is_best else "")
    name = f"{zlib.crc32(text.to_csv().encode()):x}"  # the same in every build
    style = text.style.apply(lambda _: bold, axis=None).set_uuid(name)
    return style.set_table_attributes('class="dataframe"')


def join_runs(frames):
    """Frames of runs as one, with the variants and data sets of all."""
    frame = pd.concat(
        [f.astype({"variant": str, "dataset": str}) for f in frames], ignore_index=True
    )
    for name in ("variant", "dataset"):
        order = dict.fromkeys(value for f in frames for value in f[name].cat.categories)
        frame[name] = pd.Categorical(frame[name], list(order), ordered=True)
    frame.attrs["seeds"] = max(f.attrs.get("seeds", 0) for f in frames)
    return frame


def format_paper_scores(table=paper.TABLE_2, metric="acc"):
    """A table of the paper, turned: one row per data set, one column per method, the best bold."""
    i = ("acc", "nmi").index(metric)
    values = {name: row[i::2] for name, row in table.items()}
    numbers = pd.DataFrame(values, index=list(paper.DATASETS))
    return mark_best(numbers.map("{:.1f}".format), numbers)


def format_trials(runs, grid):
    """What was tried to come closer to the paper, at the oracle epoch and at the last.

    Metrics stand beside each other and data sets below each other: twice as many columns would be
    wider than a page.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of RELEASED and its variants.
    grid : pandas.DataFrame
        Of the weights; the point with the best mean is added.

    Returns
    -------
    pandas.DataFrame of str
    """
    both, text = with_best_of_grid(runs, grid), {}
    metrics = {"ACC": "oracle_acc", "NMI": "oracle_nmi", "ACC, last epoch": "acc"}
    for dataset in list_datasets(both):
        part = both[both.dataset == dataset]
        columns = [format_scores(part, metric, "variant", "dataset") for metric in metrics.values()]
        table = pd.concat(columns, axis=1).set_axis(list(metrics), axis=1)
        text[dataset] = table.rename(index=typeset)
    return pd.concat(text) if text else pd.DataFrame(columns=list(metrics))


def with_best_of_grid(runs, grid):
    """Runs of RELEASED and its variants, and of the best point of a grid on every data set.

    Parameters
    ----------
    runs, grid : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        The point is the one with the highest mean at the oracle epoch.
    """
    parts, counts = [], grid.groupby("dataset", observed=True).variant.nunique()
    grid = grid[grid.dataset.isin(counts.index[counts > 1])]  # or there is nothing to choose from
    for dataset, point in best_of(grid, list(grid.variant.cat.categories), "oracle_acc").items():
        part = grid[(grid.dataset == dataset) & (grid.variant == point)]
        at = part.settings.iloc[0]
        label = f"best of the grid, CM {at['cm_weight']:g}, SP {at['sp_weight']:g}"
        parts.append(part.assign(variant=pd.Categorical([label] * len(part))))
    return join_runs([runs, *parts]) if parts else runs
