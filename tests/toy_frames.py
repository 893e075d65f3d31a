"""Frames of runs whose answers are known, and what a styled table marks."""

import re

import numpy as np
import pandas as pd


def frame(rows, variants=None, datasets=None, seeds=0):
    """Runs from dicts; what they leave out is as of a run without epochs."""
    empty = {"error": None, "epochs": {}, "settings": {}, "start_acc": np.nan}
    blank = dict.fromkeys(("acc", "nmi", "nmi_max", "oracle_acc", "oracle_nmi"), np.nan)
    runs = pd.DataFrame([empty | blank | row for row in rows])
    for name, order in (("variant", variants), ("dataset", datasets)):
        order = order or list(dict.fromkeys(runs[name]))
        runs[name] = pd.Categorical(runs[name], order, ordered=True)
    runs.attrs["seeds"] = seeds
    return runs


def several(dataset, variant, values, **more):
    return [
        {"dataset": dataset, "variant": variant, "seed": s, "acc": a} | scores | more
        for s, a in enumerate(values, 1)
        for scores in ({"nmi": a + 10, "nmi_max": a + 5},)
    ]


def three_variants():
    """Two data sets; the last variant lacks a run."""
    return frame(
        [
            *several("PIE", "k-means", [20.0, 22.0, 24.0]),
            *several("PIE", "closed", [70.0, 71.0, 75.0]),
            *several("PIE", "DMAC", [30.0, 35.0, 34.0]),
            *several("BBC", "k-means", [70.0, 75.0, 71.0]),
            *several("BBC", "closed", [60.0, 60.5, 61.0]),
            *several("BBC", "DMAC", [90.0, 91.0]),
        ],
        seeds=3,
    )


def grid_frame(dataset="PIE", seeds=(1, 2)):
    """RELEASED's own weights and two other points, one better by ACC and one by NMI."""
    points = {(1e3, 1e3): (40.0, 60.0), (1.0, 1e3): (50.0, 61.0), (1e-3, 1.0): (45.0, 70.0)}
    return frame(
        [
            {
                "dataset": dataset,
                "variant": str((cm, sp)),
                "seed": seed,
                "acc": acc - 3,
                "nmi": nmi - 3,
                "oracle_acc": acc,
                "oracle_nmi": nmi,
                "epochs": {
                    "acc": [acc / 100 - 0.05, acc / 100],
                    "nmi": [nmi / 100, nmi / 100 - 0.02],
                },
                "settings": {"cm_weight": cm, "sp_weight": sp},
            }
            for (cm, sp), (acc, nmi) in points.items()
            for seed in seeds
        ]
    )


def bold(table):
    """Row and column of the bold cells of a styled table."""
    rows, columns = table.data.index, table.data.columns
    rules = table.to_html().split("</style>")[0]
    assert rules.count("font-weight: bold") == rules.count("{") <= 1
    return {(rows[int(i)], columns[int(j)]) for i, j in re.findall(r"row(\d+)_col(\d+)", rules)}
