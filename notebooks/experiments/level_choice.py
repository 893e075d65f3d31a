"""Which details the third level gets, by a rule fixed before the runs, and what each level adds.

    python -m experiments.level_choice --dry-run    # what is missing
    python -m experiments.level_choice --jobs 2     # makes the missing runs, and stores them

The page of the Record has the protocol. The sets are those at hand: the 66 of the book and the 34
of the first sealed test. It can be stopped at any time, and goes on where it was.
"""

import argparse
from dataclasses import replace

import pandas as pd

import dmac
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2
from experiments import compare, evidence, field, records, sealed
from experiments.ideas.level_ideas import LevelIdea
from experiments.run import BASELINES, Spec, run_name, settings_of
from experiments.studies import CLOSED, DEFAULT, EVERY, SAME_SAMPLES

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
#: What is chosen next, each beside the weight that was: from the simplest, the base among them.
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


def kind_of(name):
    """What a data set is of."""
    return sealed.SETS[name].kind if name in sealed.SETS else evidence.DATASETS[name].kind


def _run(changes, start):
    beside = {name: changes[name] for name in ("retired",) if name in changes}
    fields = {name: value for name, value in changes.items() if name not in beside}
    kind = LevelIdea if {"normal_scores", "without"} & changes.keys() else type(start)
    return "DMAC", settings_of(kind(**vars(start) | fields), sealed=True, **beside)


def steps(weight=None):
    """What is compared in each step, from the simplest: step to name to method and settings.

    Parameters
    ----------
    weight : str, optional
        The key of `WEIGHTS` that was chosen, beside which further details are.
    """
    found = {"weight": {name: _run(changes, _BASE) for name, changes in WEIGHTS.items()}}
    if weight is not None:
        start = replace(_BASE, **WEIGHTS[weight])
        for step, details in DETAILS.items():
            found[step] = {name: _run(changes, start) for name, changes in details.items()}
    return found


def scores_of(store, weight=None):
    """The mean of ACC and NMI in %, over the seeds: a row for a set, a column for each candidate.

    A candidate of which a run lacks is not there.
    """
    candidates = {BEFORE: ("DMAC", settings_of(CLOSED_FORM_0_2, sealed=True))}
    for step in steps(weight).values():
        candidates |= step
    return _means(store, candidates, SETS)


def _means(store, candidates, sets, seeds=SEEDS):
    found, columns = records.index(store), {}
    for name, run in candidates.items():
        rows = [[found.get(run_name(x, *run, seed)) for seed in seeds] for x in sets]
        if all(record is not None for row in rows for record in row):
            columns[name] = [sum(map(_score, row)) / len(row) for row in rows]
    return pd.DataFrame(columns, index=list(sets), dtype=float)


def _changed(store, changes, *about):
    runs = {name: _run(fields, CLOSED_FORM) for name, fields in ({AFTER: {}} | changes).items()}
    return _means(store, runs, *about)


def of_fewer_levels(store):
    """The seeds, and the scores of 0.3.0 and of `FEWER_LEVELS` as those of `scores_of`.

    There is one seed where not all have both.
    """
    for seeds in (SEEDS, SEEDS[:1]):
        scores = _changed(store, FEWER_LEVELS, SETS, seeds)
        if set(FEWER_LEVELS) <= set(scores):
            break
    return seeds, scores


def of_columns(store):
    """What the changes of `COLUMNS` gain over `AFTER` by kind; None while a run lacks."""
    scores, rows = _changed(store, COLUMNS, sealed.SETS), {}
    if not {AFTER, *COLUMNS} <= set(scores):
        return None
    kinds = pd.Series({name: kind_of(name) for name in scores.index})
    for kind in [*sorted(kinds.unique()), "all"]:
        here = scores if kind == "all" else scores[kinds == kind]
        gains = {name: gain(here, name, AFTER) for name in COLUMNS}
        rows[kind] = {"sets": len(here)}
        rows[kind] |= {name: compare.format_change(*one) for name, one in gains.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def _score(record):
    scores = record.get("scores") or record["one_cluster"]
    return 50 * (scores["acc"] + scores["nmi"])


def gain(scores, candidate, reference):
    """How far a candidate is ahead over sets, in points, with the half width of its interval."""
    change = scores[candidate] - scores[reference]
    same = [SAME_SAMPLES.get(name, name) for name in change.index]
    return compare.interval(change.groupby(same).mean())


def choose(scores, candidates):
    """The first of the candidates, the simplest, that no other beats by its interval."""
    for name in candidates:
        gains = (gain(scores, other, name) for other in candidates if other != name)
        if not any(mean > half for mean, half in gains):
            return name
    return max(candidates, key=lambda name: scores[name].mean())


def chosen_weight(scores):
    """The choice of the first step; None while its runs lack."""
    return choose(scores, WEIGHTS) if set(WEIGHTS) <= set(scores) else None


def by_kind(scores, candidates):
    """What is chosen without each kind of data, and what that gains on it over `BEFORE`.

    Returns
    -------
    pandas.DataFrame
        A row for each kind: ``n`` sets, the ``choice`` on all others, and its mean ``gain``.
    """
    kinds, rows = pd.Series({name: kind_of(name) for name in scores.index}), {}
    for kind in sorted(kinds.unique()):
        here = scores[kinds == kind]
        choice = choose(scores[kinds != kind], candidates)
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
        if name != reference and reference in scores
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def beside_pipelines(store):
    """ACC and NMI in %, over the same two seeds, of both recipes and of the seven pipelines.

    Returns
    -------
    pandas.DataFrame or None
        A row for each set, columns by method and metric; the sets of the first test have their
        samples shuffled for all methods, the others for ours. None while a run lacks.
    """
    found, rows = records.index(store), {}
    ours = {AFTER: CLOSED_FORM, BEFORE: CLOSED_FORM_0_2}
    ours = {name: ("DMAC", settings_of(recipe, sealed=True)) for name, recipe in ours.items()}
    tested = sealed.studies_of()["pipelines"].variants
    older = BASELINES | {name: (name, field.field_settings(name)) for name in field.STANDARD}
    for x in SETS:
        for name, run in (ours | (tested if x in sealed.SETS else older)).items():
            made = [found.get(run_name(x, *run, seed)) for seed in SEEDS]
            if None in made:
                return None
            for metric in ("acc", "nmi"):
                scores = [100 * (one.get("scores") or one["one_cluster"])[metric] for one in made]
                rows.setdefault(x, {})[name, metric] = sum(scores) / len(scores)
    return pd.DataFrame.from_dict(rows, orient="index")


def over_each(scores):
    """How far 0.3.0 is ahead of every other method of `beside_pipelines`, by group and metric."""
    others = [name for name in scores.columns.unique(0) if name != AFTER]
    rows = {
        name: {
            f"{metric.upper()}, {group}": compare.format_change(
                *gain(scores.loc[sets].xs(metric, axis=1, level=1), AFTER, name)
            )
            for group, sets in GROUPS.items()
            for metric in ("acc", "nmi")
        }
        for name in others
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def means_by_kind(scores, metric="acc"):
    """Means of `beside_pipelines` by kind, within each group of sets, and over all of the group."""
    kinds, tables = pd.Series({name: kind_of(name) for name in scores.index}), {}
    for group, sets in GROUPS.items():
        here = scores.loc[sets].xs(metric, axis=1, level=1)
        table = here.groupby(kinds[sets]).mean()
        table.loc["all"] = here.mean()
        table.insert(
            0, "sets", kinds[sets].value_counts().reindex(table.index, fill_value=len(sets))
        )
        tables[group] = table
    return pd.concat(tables)


def asked(store):
    """Every run that is to be made, seed by seed, those of the first step before the others."""
    weight, specs = chosen_weight(scores_of(store)), []
    runs = [("DMAC", settings_of(CLOSED_FORM_0_2, sealed=True))]
    runs += [run for step in steps(weight).values() for run in step.values()]
    for seed in SEEDS:
        for run in runs:
            # Runs of the test itself are in its own file.
            specs += [Spec(name, *run, seed, "level choice") for name in SETS]
    whole = ({}, *FEWER_LEVELS.values())  # first all that was chosen in one recipe
    beside = [(_run(changes, CLOSED_FORM), SETS) for changes in whole]
    beside += [(_run(changes, CLOSED_FORM), sealed.SETS) for changes in COLUMNS.values()]
    return specs + [
        Spec(name, *run, seed, "level choice")
        for seed in SEEDS
        for run, sets in beside
        for name in sets
    ]


def missing(store):
    """Those of the runs `asked` for that the store lacks."""
    found = records.index(store)
    named = ((s, run_name(s.dataset, s.method, s.settings, s.seed)) for s in asked(store))
    return [spec for spec, name in named if name not in found]


def main(arguments=None):
    """The command: see the head of this module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--dry-run", action="store_true", help="only say what is missing")
    given = parser.parse_args(arguments)
    store = records.open_store()
    while specs := missing(store.refresh()):
        print(f"{len(specs)} runs are missing", flush=True)
        if given.dry_run:
            break
        for record in records.complete(specs, store, n_jobs=given.jobs, load=load):
            print(record["dataset"], record["seed"], record.get("error", ""), flush=True)


if __name__ == "__main__":
    main()
