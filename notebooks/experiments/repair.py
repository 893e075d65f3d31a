"""The few numbers of stored runs that chapters 11 and 12 and "Your own data" show beside their own.

``python -m experiments.repair`` writes ``results/repair.json`` again from the stored runs.
"""

import json

from experiments import evidence, level_choice, records, sealed, studies

FILE = records.RESULTS / "repair.json"
#: What "Your own data" shows beside CLOSED_FORM by kind of data.
KMEANS, LEIDEN = "k-means, concatenated", "PCA + Leiden"
#: The data sets in groups, by what happened to them before REVISED was final.
GROUPS = {
    "chosen on": studies.DEVELOPMENT,
    "looked at": [name for name in studies.NINE if name not in studies.DEVELOPMENT],
    "touched once": studies.NEW,
}


def of_levels():
    """What 0.3.0 gains with one level or two in place of three: means and half widths by group."""
    scores = level_choice.of_fewer_levels(records.open_store().refresh())
    gains = level_choice.gains_over(
        scores, level_choice.AFTER, said=lambda *both: [round(x, 4) for x in both]
    )
    return {"seeds": len(level_choice.SEEDS), "gains": gains.to_dict("index")}


def of_sealed():
    """What both versions gain over two pipelines on the 34 sets, by kind.

    Those of 0.2.0 are from the test, ten seeds; those of 0.3.0 from two, with the sets known. Then
    how sure labels of 0.2.0 are, and how far the number of clusters that it suggests is off.
    """
    store = records.open_store().refresh()
    runs = sealed.asked(store)
    versions = {
        studies.CLOSED: sealed.whole_scores(runs),
        studies.DEFAULT: level_choice.beside_pipelines(store),
    }
    return {
        name: {
            other: _plain(evidence.gains(scores, other, name, sealed.groups_of()).T)
            for other in (LEIDEN, KMEANS)
        }
        for name, scores in versions.items()
    } | {
        "confidence": _plain(sealed.confidence(runs).T)["all"],
        "clusters": _plain(sealed.suggested(runs).T)["gap"],
    }


def tables(runs):
    """Every table of these chapters, as nested dicts of numbers.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame
        Of :func:`experiments.evidence.read_runs`.

    Returns
    -------
    dict
    """
    scores = evidence.beside(runs)
    revised, dated = runs["revised"], runs["closed form, 2026-11"]
    curves = records.curves(revised)
    curves = curves[(curves.epoch % 10 == 1) | (curves.epoch == 120)]  # some have no others
    held = evidence.scores_of(runs, (evidence.CLOSED, "REVISED"), studies.HELD_OUT)
    sets = {"never scored": studies.NEVER_SCORED, "held out": studies.HELD_OUT}
    pairs = (
        (evidence.CLOSED, "best single"),
        ("REVISED", "best single"),
        (evidence.CLOSED, "REVISED"),
    )
    every = evidence.scores_of(runs, (evidence.CLOSED, LEIDEN), studies.EVERY)
    kinds = evidence.by_kind(studies.EVERY)
    every = evidence.with_study(every, studies.DEFAULT)
    beside = {
        version: {
            name: _plain(evidence.gains(every, name, version, kinds).T) for name in (KMEANS, LEIDEN)
        }
        for version in (studies.CLOSED, studies.DEFAULT)
    }
    switched = evidence.over_datasets(runs["switches"], revised)
    robust = evidence.by_variant(runs["robustness"], revised)["mean ACC"]
    by_set = evidence.by_variant(runs["closed form, parts"], dated).iloc[:, :-4]
    return {
        "groups": {name: list(names) for name, names in GROUPS.items()},
        "scores": {m: _plain(scores[m]) for m in (evidence.CLOSED, "REVISED", "best single")},
        "curves": {
            "mean cosine": 1 - curves.one_minus_cosine.min(),
            "empty anchors": curves.empty_anchors.max(),
        },
        **{
            group: {
                f"{method} over {other}": _plain(evidence.gains(held, other, method, sets).T)[group]
                for method, other in pairs
            }
            for group in sets
        },
        "kinds": beside[studies.CLOSED],
        f"kinds, {studies.DEFAULT}": beside[studies.DEFAULT],
        "switches": _plain(switched.drop("graph of Z alone beside")),  # no choice of the code now
        "robustness": robust.round(4).to_dict(),
        "parts": _plain(evidence.by_part(runs["closed form, parts"], dated)),
        "parts by set": _plain(by_set),
        "levels": of_levels(),
        "as published": of_sealed(),
        "constants": _plain(evidence.by_part(runs["closed form, constants"], dated)),
    }


def _plain(frame):
    """Columns of a table as dicts; what is not known is None."""
    return json.loads(frame.to_json(double_precision=4))


if __name__ == "__main__":
    text = json.dumps(tables(evidence.read_runs()), indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
