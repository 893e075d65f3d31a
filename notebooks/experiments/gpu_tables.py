"""What ``make gpu`` stored, as the run-time page shows it beside the processor's run times.

:mod:`experiments.gpu` writes the file; this reads it, or does without it.
"""

import json
from pathlib import Path

import pandas as pd

from dmac.data.datasets import title_of

#: The page's systems, and their names in the runs of ``make bench``.
_SYSTEMS = {
    "PUBLISHED": None,
    "RELEASED": "released",
    "RELEASED, pre-training": None,
    "REVISED": "revised",
}
_NONE = "–"


def read(path):
    """The stored file, or None where there is none.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict or None

    Raises
    ------
    ValueError
        If it is no such file, or was made without a GPU or with small sizes.
    """
    path = Path(path)
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        card, profile = found["card"], found["profile"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a file of `make gpu`: {error!r}; remove it") from error
    if card is None or profile != "full":
        raise ValueError(
            f"{path} has the profile {profile!r} of {card or found.get('processor')!r}; the page "
            "shows a full run on a GPU: run `make gpu` there, or remove the file"
        )
    return found


def label_shape(on):
    """A shape's name in a table: that of its data set, or its number of samples."""
    return f"n = {on:,}" if isinstance(on, int) else title_of(on)


def _seconds(value):
    return _NONE if value is None or pd.isna(value) else f"{value:.3g}"


def epochs_table(found, stored):
    """Seconds of an epoch on the GPU beside those of the processor, and the GPU's peak memory.

    Parameters
    ----------
    found : dict or None
        From `read`.
    stored : list of dict
        The runs of ``make bench`` (:func:`experiments.bench.measure`).

    Returns
    -------
    pandas.DataFrame of str
        One row per shape; of every system the seconds on the GPU and, where ``make bench`` has
        them,
        on the processor, and the largest peak in GB. Where there is no number, – stands, or the
        reason if it is the memory.
    """
    gpu, peak = {}, {}
    for one in found["epochs"] if found else []:
        key = one["system"], label_shape(one["on"])
        gpu[key] = _seconds(one.get("epoch_s"))
        if "memory" in one.get("missing", ""):
            gpu[key] = "memory"
        elif "peak_gb" in one:
            peak[key[1]] = max(one["peak_gb"], peak.get(key[1], 0))
    processor, sizes = {}, []
    for one in stored:
        grown = one["name"] == "growth"
        if (grown and one["m"] != 512) or one["name"].endswith("views"):
            continue
        shape = label_shape(one["n"] if grown else one["name"])
        processor[one["system"], shape] = _seconds(one.get("median"))
        sizes.append(shape)
    rows = {}
    for shape in dict.fromkeys([*sizes, *(shape for _, shape in gpu)]):
        row = {}
        for system, name in _SYSTEMS.items():
            row[f"{system}, GPU"] = gpu.get((system, shape), _NONE)
            if name is not None:
                row[f"{system}, processor"] = processor.get((name, shape), _NONE)
        rows[shape] = row | {"GPU, GB": _seconds(peak.get(shape))}
    return pd.DataFrame.from_dict(rows, orient="index")


def page_facts(found):
    """What the page's sentences say about the stored run, or that there is none.

    Parameters
    ----------
    found : dict or None
        From `read`.

    Returns
    -------
    dict of str to str
        ``card``, ``driver``, ``torch`` and ``made`` (the day); ``tests``, how many passed of how
        many that ran; ``released`` and ``revised``, the seconds of the whole fits that have a
        target, with the recipe as it is; ``missing``, how many measurements are.
    """
    if found is None:
        nothing = dict.fromkeys(("driver", "torch", "made", "tests", "missing"), _NONE)
        never = dict.fromkeys(("released", "revised"), "not run")
        return {"card": "none, since no GPU was at hand"} | nothing | never
    tests = found["tests"][0] if found["tests"] else {"passed": 0, "failed": 0}
    seconds = {}
    for one in found["fits"]:
        if one.get("target_s") is not None and not one["changes"]:
            seconds[one["system"].lower()] = f"{one['fit_s']:.0f} s"
    measured = [one for part in ("epochs", "fits", "scores") for one in found[part]]
    return {
        "card": found["card"],
        "driver": found["driver"] or _NONE,
        "torch": found["versions"]["torch"],
        "made": found["made"][:10],
        "tests": f"{tests['passed']} of {tests['passed'] + tests['failed']}",
        "released": seconds.get("released", "not reached"),
        "revised": seconds.get("revised", "not reached"),
        "missing": str(sum("missing" in one for one in measured)),
    }
