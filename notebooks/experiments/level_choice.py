"""Which details the third level got, by a rule fixed before the runs, and what each level adds.

The page of the Record has the protocol. The sets are those that were at hand: the 66 of the book
and the 34 of the first sealed test. The runs are stored; what made them is at commit 748f2882.
"""

from dataclasses import replace

import pandas as pd

import dmac
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2
from experiments import compare, evidence, field, records, sealed
from experiments.run import BASELINES, retired_settings, run_name, settings_of
from experiments.studies import CLOSED, DEFAULT, EVERY

#: The sets, and the recipe that all candidates are held against.
SETS, BEFORE, AFTER = (*EVERY, *sealed.SETS), CLOSED, DEFAULT
#: The sets that all had been scored on, and those that the first test had sealed.
GROUPS = {"34 of the test": list(sealed.SETS), "66 of the book": list(EVERY)}
SEEDS = (1, 2)
_BASE = replace(CLOSED_FORM_0_2, name="three levels", levels="all")
#: Weights of the levels from the simplest: those by halves do without the guard of row lengths,
#: which acted on none of the sets. It and the weight by rank are gone.
WEIGHTS = {
    "halves": dict(level_weight="halves"),
    "halves and rank": dict(retired="scaled weight both"),
    "equal, with the guard": {},
    "rank, with the guard": dict(retired="scaled weight rank"),
}
#: The weight that was, by `choose`.
CHOSEN = "halves"
#: What is chosen next, each beside that weight: from the simplest, the base among them.
DETAILS = {
    "components": {
        f"{n} components": {"scaled_components": n} if n != 30 else {} for n in (15, 30, 60)
    },
    "columns": {"scaled columns": {}, "normal scores": dict(normal_scores=True)},
    "anchor sets": {f"{n} sets": {"anchor_sets": n} if n != 6 else {} for n in (3, 4, 6)},
}

#: What the protocol does not name: 0.3.0 with one level or two in place of its three.
FEWER_LEVELS = {
    "whitened": dict(levels="whitened"),
    "plain": dict(levels="plain"),
    "scaled": dict(levels="scaled"),
    "whitened and plain": dict(levels="both"),
    "whitened and scaled": dict(without="plain"),
    "plain and scaled": dict(without="whitened"),
}
#: And whole views with their columns centred or standardised first,
#: on the 34 sets as they were published.
COLUMNS = {
    "columns centred": dict(retired="columns centred"),
    "columns standardised": dict(columns="standardised"),
}


def load(name):
    """A data set by its name, or its number in the sealed test."""
    return sealed.load(name) if name in sealed.SETS else dmac.load(name)


def kinds_of(names):
    """What data sets are of, by their names."""
    known = evidence.DATASETS | sealed.SETS
    return pd.Series({name: known[name].kind for name in names})


def _run(changes, start):
    if "retired" in changes:
        settings = settings_of(start, sealed=True, **changes)
    elif changes.keys() <= vars(start).keys():
        settings = settings_of(replace(start, **changes), sealed=True)
    else:
        settings = retired_settings("LevelIdea", start, changes, sealed=True)
    return "DMAC", settings


def steps():
    """What is compared in each step, from the simplest: step to name to method and settings."""
    found = {"weight": {name: _run(changes, _BASE) for name, changes in WEIGHTS.items()}}
    start = replace(_BASE, **WEIGHTS[CHOSEN])
    for step, details in DETAILS.items():
        found[step] = {name: _run(changes, start) for name, changes in details.items()}
    return found


def _scores(store, methods_on, sets):
    """ACC and NMI in %, over the seeds: a row for a set, columns by method and metric.

    A failed fit has the scores of one cluster. A ValueError says which run is not stored.
    """
    found, rows = records.index(store), {}
    for x in sets:
        rows[x] = {}
        for name, run in methods_on(x).items():
            made = [found.get(run_name(x, *run, seed)) for seed in SEEDS]
            if None in made:
                raise ValueError(f"a run of {name} on {x} is not stored")
            scores = [one.get("scores") or one["one_cluster"] for one in made]
            for metric in ("acc", "nmi"):
                rows[x][name, metric] = sum(100 * s[metric] for s in scores) / len(scores)
    return pd.DataFrame.from_dict(rows, orient="index")


def _of_both(scores):
    """The mean of ACC and NMI: a column for each method."""
    return scores.T.groupby(level=0, sort=False).mean().T


def scores_of(store):
    """The mean of ACC and NMI in %, over the seeds: a row for each set, a column a candidate."""
    candidates = {BEFORE: _run({}, CLOSED_FORM_0_2)}
    for step in steps().values():
        candidates |= step
    return _of_both(_scores(store, lambda _: candidates, SETS))


def _of_changes(store, changes, sets):
    """Scores of 0.3.0 and of changes of it, as `scores_of`."""
    runs = {name: _run(fields, CLOSED_FORM) for name, fields in ({AFTER: {}} | changes).items()}
    return _of_both(_scores(store, lambda _: runs, sets))


def of_fewer_levels(store):
    """The scores of 0.3.0 and of `FEWER_LEVELS`, as `scores_of`."""
    return _of_changes(store, FEWER_LEVELS, SETS)


def of_columns(store):
    """What the changes of `COLUMNS` gain over `AFTER`, by kind."""
    scores = _of_changes(store, COLUMNS, sealed.SETS)
    groups = dict(list(scores.groupby(kinds_of(scores.index)))) | {"all": scores}
    rows = {
        kind: {"sets": len(here)}
        | {name: compare.format_change(*gain(here, name, AFTER)) for name in COLUMNS}
        for kind, here in groups.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def gain(scores, candidate, reference):
    """How far a candidate is ahead over sets, in points, with the half width of its interval."""
    return compare.interval(compare.lead(scores, candidate, reference))


def choose(scores, candidates):
    """The first of the candidates, the simplest, that no other beats by its interval."""
    for name in candidates:
        gains = (gain(scores, other, name) for other in candidates if other != name)
        if not any(mean > half for mean, half in gains):
            return name
    return max(candidates, key=lambda name: scores[name].mean())


def by_kind(scores, candidates):
    """What is chosen without each kind of data, and what that gains on it over `BEFORE`.

    Returns
    -------
    pandas.DataFrame
        A row for each kind: ``n`` sets, the ``choice`` on all others, and its mean ``gain``.
    """
    rows = {}
    for kind, here in scores.groupby(kinds_of(scores.index)):
        choice = choose(scores.drop(here.index), candidates)
        gains = here[choice] - here[BEFORE]
        rows[kind] = {"n": len(here), "choice": choice, "gain": gains.mean()}
    return pd.DataFrame.from_dict(rows, orient="index")


def gains_over(scores, reference=BEFORE, said=compare.format_change):
    """What every candidate gains over one of them: on the 66 sets, on the 34, and on all.

    ``said`` gets the mean and the half width of its interval.
    """
    rows = {
        name: {
            group: said(*gain(scores.loc[sets], name, reference))
            for group, sets in (GROUPS | {"all": list(SETS)}).items()
        }
        for name in scores
        if name != reference
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def beside_pipelines(store):
    """ACC and NMI in %, over the same two seeds, of both recipes and of the seven pipelines.

    Returns
    -------
    pandas.DataFrame
        A row for each set, columns by method and metric; the sets of the first test have their
        samples shuffled for all methods, the others for ours.
    """
    ours = {AFTER: _run({}, CLOSED_FORM), BEFORE: _run({}, CLOSED_FORM_0_2)}
    tested = sealed.studies_of()["pipelines"].variants
    older = BASELINES | {name: (name, field.field_settings(name)) for name in field.STANDARD}
    return _scores(store, lambda x: ours | (tested if x in sealed.SETS else older), SETS)


def over_each(scores):
    """How far 0.3.0 is ahead of every other method of `beside_pipelines`, by group and metric."""
    columns = {}
    for group, sets in GROUPS.items():
        for metric in ("acc", "nmi"):
            here = scores.loc[sets].xs(metric, axis=1, level=1)
            columns[f"{metric.upper()}, {group}"] = {
                name: compare.format_change(*gain(here, AFTER, name))
                for name in here
                if name != AFTER
            }
    return pd.DataFrame(columns)


def means_by_kind(scores, metric="acc"):
    """Means of `beside_pipelines` by kind, within each group of sets, and over all of the group.

    Sets with the same samples count once, as in `over_each`.
    """
    tables = {}
    for group, sets in GROUPS.items():
        here = compare.each_once(scores.loc[sets].xs(metric, axis=1, level=1))
        kinds = here.groupby(kinds_of(here.index))
        table = kinds.mean()
        table.insert(0, "sets", kinds.size())
        table.loc["all"] = [len(here), *here.mean()]
        tables[group] = table.astype({"sets": int})
    return pd.concat(tables)
