"""Sealed tests: data sets that nobody who made the methods has scored, and what is run on them.

    python -m experiments.sealed --dry-run      # what is missing, files and runs
    python -m experiments.sealed --jobs 2       # makes the missing runs, stores them, and draws
    python -m experiments.sealed --stand-ins    # the same on random files of the same shapes
    python -m experiments.sealed --test sealed2 ...  # the second test

``sealed.toml`` and ``sealed2.toml`` name the sets of a test by number, with sizes, kind and
SHA-256; the files lie in the folder of its name in the one that ``DMAC_DATA`` names. A page of the
Record has its protocol. It can be stopped at any time, and goes on where it was.
"""

import argparse
import functools
import itertools
import os
import tempfile
import tomllib
from collections import Counter, namedtuple
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import dmac
from dmac.model_selection import CRITERIA
from dmac.recipes import (
    CLOSED_FORM,
    CLOSED_FORM_0_2,
    CLOSED_FORM_2026_11,
    RELEASED,
    REVISED,
)
from experiments import compare, evidence, field, figures, libraries, records
from experiments.evidence import DATED
from experiments.run import (
    BASELINES,
    SUGGESTED,
    SURE,
    Spec,
    peer_settings,
    run_name,
    settings_of,
)
from experiments.studies import CLOSED, DEFAULT, FEW, PRETRAINED, SEEDS, Study

#: What is known of a sealed data set: its samples, the columns of each view, its classes, its kind,
#: and the SHA-256 of its file's bytes; opened later, its name, what it is, its source, and the
#: steps from that to the views.
SealedSet = namedtuple(
    "SealedSet", "samples columns classes kind sha256 name about source steps", defaults=("",) * 4
)


@dataclass(frozen=True)
class SealedTest:
    """A test: its sets, and what differs between the protocols.

    Attributes
    ----------
    name : str
        Of its manifest, of the folder of its files, and of the group of its records.
    sets : dict of str to SealedSet
        By number.
    sealed, opened : datetime.date or None
        When the files were fixed, and when they were opened.
    commit : str
        Whose methods run; empty while it is sealed.
    related : list of list of str
        Groups of sets with the same source, opened with the names.
    page : str
        That of its protocol.
    recipes : dict of str to dmac.recipes.SpectralRecipe
        The default under test, first, and the one before it.
    reference : str or None
        The pipeline of the primary comparison, if the protocol names it; else it is the best of
        the seven on average over these very sets.
    beside : dict of str to dmac.recipes.Recipe
        What the protocol does not name: shown beside its methods, and run last.
    """

    name: str
    sets: dict
    sealed: object
    opened: object
    commit: str
    related: list
    page: str
    recipes: dict
    reference: str | None
    beside: dict

    @property
    def tested(self):
        """What tables call the default under test."""
        return next(iter(self.recipes))


def _read(name, *protocol):
    path = Path(__file__).with_name(f"{name}.toml")
    about = tomllib.loads(path.read_text(encoding="utf-8"))
    sets = {
        number: SealedSet(**entry | {"columns": tuple(entry["columns"])})
        for number, entry in about["sets"].items()
    }
    days = about["sealed"], about.get("opened")
    return SealedTest(name, sets, *days, about["commit"], about["related"], *protocol)


FIRST = _read(
    *("sealed", "record_sealed", {CLOSED: CLOSED_FORM_0_2, DATED: CLOSED_FORM_2026_11}, None),
    {PRETRAINED.name: PRETRAINED},
)
SECOND = _read(
    *("sealed2", "record_sealed_second", {DEFAULT: CLOSED_FORM, CLOSED: CLOSED_FORM_0_2}),
    *("PCA + Leiden", {}),
)
TESTS = {test.name: test for test in (FIRST, SECOND)}
SETS = FIRST.sets
#: Kinds for which methods for cells and omics are made.
ASSAYS = ("cells", "bulk")

#: The pipelines without training: the best of them, on average over the sets, is compared with.
PIPELINES = (*BASELINES, *field.STANDARD)
SYSTEMS = ("SNF", "LMVSC", "GMC", "MSGL", "UDBGL")
RECIPES = {"REVISED": REVISED, "RELEASED": RELEASED}
#: Systems that train a network get one seed where the first fit takes `LIMIT` seconds of a
#: processor.
TRAINED = ("CMGEC", "DealMVC", "GCFAggMVC", "DFP-GNN", "SURER")
LIMIT = 1200
#: Candidates for the number of clusters: all small ones, then steps of a half.
CANDIDATES = [*range(2, 13), 15, 20, 30, 45, 68, 100]
#: Studies whose runs have scores; the other two say how sure labels are, and how many clusters.
SCORED = (
    *("closed form", "pipelines", "systems", "cells and bulk", "recipes", "trained systems"),
    "beside the protocol",
)
_SURE, _COUNT, _TRAINED, _BESIDE = "how sure", "number of clusters", *SCORED[-2:]
_METRICS = {"acc": "ACC", "nmi": "NMI"}


def _recipe(recipe):
    return "DMAC", settings_of(recipe, sealed=True)


def _peers(names):
    return {name: (name, peer_settings(name) | {"sealed": True}) for name in names}


def _tools(names):
    # The protocol stops no fit, however long it takes.
    more = {"limit": None, "sealed": True}
    return {name: (name, field.field_settings(name) | more) for name in names}


def studies_of(test=FIRST):
    """The methods of the protocol, with default arguments, by study."""
    sets, pages = test.sets, test.page
    every = tuple(sets)
    small_first = tuple(sorted(sets, key=lambda name: sets[name].samples))
    assays = tuple(name for name in sets if sets[name].kind in ASSAYS)
    closed = {name: _recipe(recipe) for name, recipe in test.recipes.items()}
    networks = RECIPES if test.beside else RECIPES | {PRETRAINED.name: PRETRAINED}
    plain = {name: (method, more | {"sealed": True}) for name, (method, more) in BASELINES.items()}
    sure = settings_of(test.recipes[test.tested], of="DMAC", fits=1, sealed=True)
    count = {"candidates": CANDIDATES, "sealed": True}
    return {
        "closed form": Study(closed, every, SEEDS, pages),
        "pipelines": Study(plain | _tools(field.STANDARD), every, SEEDS, pages),
        "systems": Study(_peers(SYSTEMS), every, FEW, pages),
        "cells and bulk": Study(_tools(field.CELLS_ONLY), assays, FEW, pages),
        _SURE: Study({test.tested: (SURE, sure)}, every, SEEDS, pages),
        _COUNT: Study({SUGGESTED: (SUGGESTED, count)}, every, FEW, pages),
        "recipes": Study({name: _recipe(x) for name, x in networks.items()}, every, FEW, pages),
        _TRAINED: Study(_peers(TRAINED), every, FEW, pages),
        _BESIDE: Study(
            {name: _recipe(x) for name, x in test.beside.items()}, small_first, FEW, pages
        ),
    }


def folder(test=FIRST):
    """Where the files have to lie; without ``DMAC_DATA`` its name stands in what is said."""
    return Path(os.environ.get("DMAC_DATA") or "DMAC_DATA", test.name)


def absent(test=FIRST):
    """The sets whose files are not there."""
    return [name for name in test.sets if not (folder(test) / f"{name}.npz").is_file()]


def load(name, test=FIRST):
    """A sealed data set, from its file.

    Parameters
    ----------
    name : str
        The number of one of the sets.
    test : SealedTest

    Returns
    -------
    dmac.MultiViewData

    Raises
    ------
    ValueError
        If the file has another SHA-256, or its arrays other shapes than the manifest says.
    """
    import pooch

    wanted, path = test.sets[name], folder(test) / f"{name}.npz"
    if (found := pooch.file_hash(path)) != wanted.sha256:
        raise ValueError(
            f"{path} is not the sealed file of {name}: expected SHA-256 {wanted.sha256}, found "
            f"{found}. Replace it by the file that was sealed; nothing is run on another one"
        )
    with np.load(path, allow_pickle=False) as arrays:
        keys = [key for key in arrays.files if key != "labels"]
    data = dmac.load(path, views_key=keys, labels_key="labels")
    shape = data.n_samples, tuple(x.shape[1] for x in data.views), data.n_clusters
    if shape != (wanted.samples, wanted.columns, wanted.classes):
        raise ValueError(
            f"{path} has {shape[0]} samples, views of {shape[1]} columns and {shape[2]} classes, "
            f"and the manifest says {wanted.samples}, {wanted.columns} and {wanted.classes} of "
            f"{name}: correct {test.name}.toml, or replace the file"
        )
    return data


@dataclass(frozen=True)
class Asked:
    """A run that the protocol asks for, and its record where it is stored."""

    study: str
    variant: str
    spec: object
    record: dict | None

    @property
    def failed(self):
        """Whether the fit failed."""
        return self.record is not None and "error" in self.record


def asked(store, test=FIRST):
    """Every run of the protocol, in the order in which they are made.

    Later seeds of a system that trains are asked for where the first is stored, did not fail, and
    took less than `LIMIT`.
    """
    found, listed = records.index(store), []
    for name, study in studies_of(test).items():
        for seed, dataset, variant in itertools.product(
            study.all_seeds, study.datasets, study.variants
        ):
            run = study.variants[variant]
            first, record = (found.get(run_name(dataset, *run, i)) for i in (1, seed))
            short = first is not None and "error" not in first and first["cpu_seconds"] < LIMIT
            if seed == 1 or name != _TRAINED or short:
                listed.append(Asked(name, variant, Spec(dataset, *run, seed, test.name), record))
    return listed


def make(store, test=FIRST, n_jobs=1):
    """Make the runs that the store lacks, and yield their records.

    Raises
    ------
    ValueError
        If files are not there or not the sealed ones, or libraries are not installed; no run is
        made then.
    """
    if missing := absent(test):
        where, names = folder(test), ", ".join(missing)
        raise ValueError(f"{where} lacks {names}: place the sealed files there")
    specs = [run.spec for run in asked(store, test)]
    if lacking := {x.method for x in specs if not libraries.is_runnable(x.method, x.settings)}:
        raise ValueError(
            f'{", ".join(sorted(lacking))} cannot be run here: pip install -e ".[field]" '
            "-c constraints.txt"
        )
    reader = functools.partial(load, test=test)
    for name in test.sets:
        reader(name)  # before the first fit, all are looked at
    while specs := [run.spec for run in asked(store.refresh(), test) if run.record is None]:
        yield from records.complete(specs, store, n_jobs=n_jobs, load=reader)


def counts(runs):
    """How many runs are asked for, stored and failed, and on how many sets: a row for a method."""
    rows = [(r.study, r.variant, r.spec.dataset, r.record is not None, r.failed) for r in runs]
    frame = pd.DataFrame(rows, columns=["study", "method", "set", "stored", "failed"])
    sums = {name: (name, "sum") for name in ("stored", "failed")}
    groups = frame.groupby(["study", "method"], sort=False)
    return groups.agg(sets=("set", "nunique"), runs=("set", "size"), **sums)


def tested_of(methods):
    """The default under test among some methods; in the second test the one before it is, too."""
    return DEFAULT if DEFAULT in methods else CLOSED


def code_of(runs):
    """Which code made the stored runs: commit, SHA-256 of all modules, and the number of runs."""
    made = [run.record["code"] for run in runs if run.record is not None]
    table = pd.DataFrame(made, columns=["commit", "sha256"], dtype=object).fillna(compare.NOTHING)
    return table.value_counts().rename("runs").reset_index()


def frame_of(runs):
    """The scores of all methods whose runs are all stored, in %.

    A fit of the closed form that failed has those of one cluster with all samples; of another
    method, the set has no score of it.

    Parameters
    ----------
    runs : list of Asked

    Returns
    -------
    pandas.DataFrame
        ``variant``, ``dataset``, ``seed``, ``acc`` and ``nmi``.
    """
    partial = {run.variant for run in runs if run.record is None and run.study in SCORED}
    ours = tested_of({run.variant for run in runs})
    out = {(r.variant, r.spec.dataset) for r in runs if r.failed and r.variant != ours}
    rows = []
    for run in runs:
        if run.study in SCORED and run.variant not in partial:
            scores = run.record.get("scores") or run.record["one_cluster"]
            about = run.variant, run.spec.dataset, run.spec.seed
            known = np.nan if about[:2] in out else 100
            rows.append((*about, known * scores["acc"], known * scores["nmi"]))
    return pd.DataFrame(rows, columns=["variant", "dataset", "seed", "acc", "nmi"])


def scores_of(frame):
    """Means over the seeds: a row for each set, columns (method, "acc" or "nmi").

    A set that a method failed on has no value in its columns.
    """
    means = frame.groupby(["dataset", "variant"], sort=False)[["acc", "nmi"]].mean()
    means = means.rename_axis([None, None]).unstack()
    return means.swaplevel(axis=1).sort_index(axis=1)


def best_pipeline(scores):
    """Which of `PIPELINES` has the highest mean ACC over the sets on which none of them failed."""
    acc = scores.xs("acc", axis=1, level=1)[list(PIPELINES)].dropna(axis=1, how="all")
    return acc.dropna().mean().idxmax()


def differences(scores, other, related=()):
    """How far the closed form is ahead of a method, in points: ``acc`` and ``nmi`` by set.

    Parameters
    ----------
    scores : pandas.DataFrame
        Of `scores_of`.
    other : str
        A method; sets that it failed on are left out.
    related : sequence of sequence of str
        Groups of sets of which each counts as one, by their mean.
    """
    first = {name: group[0] for group in related for name in group}
    return compare.lead(scores, tested_of(scores), other, first)


def against_methods(scores, related=(), beside=FIRST.beside):
    """The closed form against each other method, with p adjusted by Holm's method over them.

    Returns
    -------
    pandas.DataFrame
        A row for each other method, in points: the mean difference of ``acc`` and ``nmi`` over the
        ``n`` sets that it did not fail on, and on how many the closed form is ``ahead`` in ACC; the
        half widths ``±acc`` and ``±nmi`` of Student's 95 % intervals over the sets, and the p
        values ``p acc`` and ``p nmi``.
    """
    ours = tested_of(scores)
    others = [name for name in scores.columns.unique(0) if name not in (ours, *beside)]
    rows = {name: compare.lead_over_sets(differences(scores, name, related)) for name in others}
    table = pd.DataFrame.from_dict(rows, orient="index").sort_values("acc", kind="stable")
    return table.assign(**{p: compare.holm(table[p]) for p in ("p acc", "p nmi")})


def groups_of(sets=SETS):
    """The sets of the protocol's groups: all, by kind, by number of views and of samples."""
    kinds = sorted({about.kind for about in sets.values()})
    conditions = {
        "all": lambda about: True,
        **{kind: lambda about, kind=kind: about.kind == kind for kind in kinds},
        "two views": lambda about: len(about.columns) == 2,
        "more views": lambda about: len(about.columns) != 2,
        "below 1,000 samples": lambda about: about.samples < 1000,
        "1,000 samples and more": lambda about: about.samples >= 1000,
    }
    groups = {
        group: [name for name, about in sets.items() if belongs(about)]
        for group, belongs in conditions.items()
    }
    return {group: names for group, names in groups.items() if names}


def by_group(scores, other, sets=SETS, related=()):
    """The closed form against a method over all sets, and on each of `groups_of`.

    Returns
    -------
    pandas.DataFrame
        A row for each group, with the columns of `against_methods`; p is not adjusted.
    """
    rows = {
        group: compare.lead_over_sets(differences(scores.loc[names], other, related))
        for group, names in groups_of(sets).items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def lead(scores, other, metric="acc"):
    """The mean lead of the closed form over a method as text, or a dash where it is not known.

    Parameters
    ----------
    scores : pandas.DataFrame or None
        Of `whole_scores`.
    other : str
    metric : str
    """
    if scores is None or other not in scores:
        return compare.NOTHING
    return compare.format_change(*compare.interval(differences(scores, other)[metric]))


def titles(sets=SETS):
    """What tables and figures call the sets: number and name."""
    return {number: f"{number} {about.name}".strip() for number, about in sets.items()}


def confidence(runs, sets=SETS):
    """Whether confidence ranks labels, on each of `groups_of`.

    Parameters
    ----------
    runs : list of Asked
    sets : dict of str to SealedSet

    Returns
    -------
    pandas.DataFrame
        Means over ``n`` sets without a failed fit: the ``area`` under the curve, over fits with
        right and wrong labels; ``all``, the accuracy, and ``surer half``, that of the samples with
        the higher confidence, in %; ``gain``, their difference, with the half width ``±gain`` of
        Student's 95 % interval.
    """
    failed = [{"auc": None, "curve": [np.nan] * 10}]
    fits = [
        (r.spec.dataset, r.record.get("membership", failed)[0]) for r in runs if r.study == _SURE
    ]
    rows = [(name, fit["auc"], 100 * fit["curve"][9], 100 * fit["curve"][4]) for name, fit in fits]
    frame = pd.DataFrame(rows, columns=["set", "area", "all", "surer half"]).astype({"area": float})
    whole = frame["all"].notna().groupby(frame["set"]).all()
    by_set = frame.groupby("set").mean()[whole]
    by_set["gain"] = by_set["surer half"] - by_set["all"]
    rows = {}
    for group, names in groups_of(sets).items():
        some = by_set[by_set.index.isin(names)]
        half = compare.interval(some.gain)[1]
        rows[group] = {"n": len(some), **some.mean(), "±gain": half}
    return pd.DataFrame.from_dict(rows, orient="index")


def suggested(runs, sets=SETS):
    """How near the suggested number of clusters is to the number of classes, by criterion.

    Returns
    -------
    pandas.DataFrame
        Over the sets, the median of the seeds each: ``n``, how many are ``right``, how many are
        ``within 1.5`` times the number of classes or less, and the ``median factor``.
    """
    rows = {
        (run.spec.dataset, run.spec.seed): run.record["suggested"]
        for run in runs
        if run.study == _COUNT and not run.failed
    }
    by_set = pd.DataFrame(rows).T.astype(float).groupby(level=0).median()
    ratio = by_set.div([sets[name].classes for name in by_set.index], axis=0)
    factor = ratio.where(ratio > 1, 1 / ratio)[list(CRITERIA)]
    return pd.DataFrame(
        {
            "n": len(factor),
            "right": (factor == 1).sum(),
            "within 1.5": (factor <= 1.5).sum(),
            "median factor": factor.median(),
        }
    )


def _in_words(table, p="p"):
    """A table of comparisons as text; the title of p says how it is adjusted."""
    text = evidence.format_gains(table)
    shown = {"n": table.n, "ahead": table.ahead}
    for metric, name in _METRICS.items():
        values = table[f"p {metric}"].where(table.n >= evidence.FEWEST)
        shown |= {name: text[name], f"{p} ({name})": values.map(compare.format_p)}
    return pd.DataFrame(shown)


def tables(runs, test=FIRST):
    """The tables of the test as text, by their titles; none before the primary one can be made.

    Parameters
    ----------
    runs : list of Asked
    test : SealedTest
        Where it has groups of related sets, each comparison comes a second time, with one mean for
        each group.
    """
    scores, out, sets = whole_scores(runs), {}, test.sets
    if scores is None:
        return out
    best, stored = best_pipeline(scores), {r.study for r in runs}
    references = {best: ", the best pipeline on average"}
    if test.reference:
        references = {test.reference: ", named beforehand"} | references
    stored -= {run.study for run in runs if run.record is None}
    failed = {(r.variant, r.spec.dataset) for r in runs if r.failed and r.study in SCORED}
    left_out = Counter(variant for variant, _ in failed)
    for of, groups in {"": (), ", related sets as one": test.related}.items():
        if groups or not of:
            for reference, why in references.items():
                title = f"{test.tested} against {reference}{why}{of}"
                out[title] = _in_words(by_group(scores, reference, sets, groups))
            text = _in_words(against_methods(scores, groups, test.beside), "p, Holm")
            text.insert(1, "left out", [left_out[name] for name in text.index])
            out[f"{test.tested} against each method{of}"] = text
    for name in [name for name in test.beside if name in scores]:
        title = f"{test.tested} against {name}, which the protocol does not name"
        out[title] = _in_words(by_group(scores, name, sets))
    if _SURE in stored:
        sure = confidence(runs, sets)
        pairs = zip(sure.gain, sure["±gain"].where(sure.n >= evidence.FEWEST))
        columns = {
            "n": sure.n.astype(int),
            "area": sure.area.map("{:.2f}".format),
            "ACC, all": sure["all"].map("{:.1f}".format),
            "ACC, surer half": sure["surer half"].map("{:.1f}".format),
            "gain": [compare.format_change(*pair) for pair in pairs],
        }
        out["Confidence"] = pd.DataFrame(columns).replace("nan", compare.NOTHING)
    if _COUNT in stored:
        out["Number of clusters"] = suggested(runs, sets).round({"median factor": 2})
    return out


def whole_scores(runs):
    """The scores of all methods whose runs are stored; None if those of a pipeline are not.

    Returns
    -------
    pandas.DataFrame or None
        Of `scores_of`.
    """
    frame, ours = frame_of(runs), tested_of({run.variant for run in runs})
    return scores_of(frame) if {ours, *PIPELINES} <= set(frame.variant) else None


def score_tables(runs, sets=SETS):
    """The mean of each method on each set, then over them, in %: titles to text, as `tables`."""
    scores, out = whole_scores(runs), {}
    if scores is None:
        return out
    for (metric, name), study in itertools.product(_METRICS.items(), SCORED):
        methods = dict.fromkeys(run.variant for run in runs if run.study == study)
        if methods := [method for method in methods if method in scores]:
            some = scores.xs(metric, axis=1, level=1)[methods].dropna(how="all")
            some = some.rename(titles(sets))
            some.loc["mean"] = some.mean(skipna=False)
            out[f"{name}, {study}"] = some.map(
                lambda x: compare.NOTHING if np.isnan(x) else f"{x:.1f}"
            )
    return out


def plot_by_set(runs, sets=SETS):
    """The closed form minus `best_pipeline` on each set, with intervals over the seeds.

    Sets are sorted by accuracy, and last is the mean over them. No marker of a set is filled: what
    seeds repeat says nothing of other sets. None before the primary table can be made.
    """
    scores, frame = whole_scores(runs), frame_of(runs).dropna()
    if scores is None:
        return None
    best, ours = best_pipeline(scores), tested_of(scores)
    frame["dataset"] = frame.dataset.map(titles(sets))
    panels = {}
    for metric, name in _METRICS.items():
        table = compare.paired_differences(frame, ours, best, metric).assign(p=1.0)
        panels[name] = {"": table.sort_values("mean")}
    return figures.plot_forest(panels, over=["all"], label=f"{ours} minus\n{best}, points")


def plot_by_method(runs, beside=FIRST.beside):
    """The closed form minus each other method: means over the sets, with intervals over them.

    None before the primary table can be made.
    """
    scores = whole_scores(runs)
    if scores is None:
        return None
    table, panels = against_methods(scores, (), beside), {}
    for metric, name in _METRICS.items():
        columns = {metric: "mean", f"±{metric}": "half", f"p {metric}": "p"}
        panels[name] = {f"{tested_of(scores)} minus each": table.rename(columns=columns)}
    return figures.plot_forest(panels, label="difference, points")


def state(runs, test=FIRST):
    """In a sentence, whether the test is sealed, and how many runs are stored."""
    stored = sum(run.record is not None for run in runs)
    opened = f"was opened at commit {test.commit[:12]}" if test.commit else "is sealed"
    return f"The test {opened}: {stored:,} of {len(runs):,} runs are stored."


def make_stand_ins(target, test=FIRST):
    """Write random files of the same shapes into a folder, and return a test with these sets.

    They have weak clusters, which are the classes.
    """
    import pooch

    place, rng, made = Path(target, test.name), np.random.default_rng(0), {}
    place.mkdir(parents=True)
    for name, about in test.sets.items():
        labels, views = rng.permutation(about.samples) % about.classes, {}
        for a, width in enumerate(about.columns):
            views[f"view{a}"] = rng.standard_normal((about.samples, width), dtype=np.float32)
            centres = rng.standard_normal((about.classes, width), dtype=np.float32)
            views[f"view{a}"] += centres[labels]
        np.savez(place / f"{name}.npz", labels=labels, **views)
        made[name] = about._replace(sha256=pooch.file_hash(place / f"{name}.npz"))
    return replace(test, sets=made)


def rehearse(test=FIRST):
    """List every run on stand-ins of all shapes, and make those of one cheap pipeline."""
    cheap = next(iter(BASELINES))
    with tempfile.TemporaryDirectory() as target:
        made = make_stand_ins(target, test)
        with mock.patch.dict(os.environ, {"DMAC_DATA": target}):
            store = records.open_store(target)
            runs = asked(store, made)
            print(counts(runs).to_string())
            print(f"{len(runs)} runs at least, {len(absent(made))} files are missing")
            some = [run.spec for run in runs if run.variant == cheap and run.spec.seed == 1]
            reader = functools.partial(load, test=made)
            for record in records.complete(some, store, load=reader):
                print(record["dataset"], cheap, f"{record['seconds']} s", record.get("error", ""))


def main(arguments=None):
    """The command: see the head of this module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--results", type=Path, default=records.RESULTS, help="their folder")
    parser.add_argument("--test", choices=TESTS, default=FIRST.name, help="which one (sealed)")
    parser.add_argument("--out", type=Path, default=Path("_build"), help="of what is drawn")
    parser.add_argument("--dry-run", action="store_true", help="only say what is missing")
    parser.add_argument("--stand-ins", action="store_true", help="rehearse on random files")
    given = parser.parse_args(arguments)
    test = TESTS[given.test]
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # scanpy's; others are limited in each run
    if given.stand_ins:
        rehearse(test)
        return
    store = records.open_store(given.results).refresh()
    runs = asked(store, test)
    print(counts(runs).to_string())
    print(state(runs, test))
    if missing := absent(test):
        print(f"{folder(test)} lacks {', '.join(missing)}")
    if given.dry_run:
        return
    if not test.commit:
        manifest = f"{test.name}.toml"
        parser.error(f"name the commit whose methods run, `commit` in {manifest}, to open the test")
    try:
        for record in make(store, test, n_jobs=given.jobs):
            print(record["dataset"], record["method"], record["seed"], record.get("error", ""))
    except ValueError as error:
        parser.error(str(error))
    draw(asked(store, test), given.out / test.name, test)


def draw(runs, out, test=FIRST):
    """Write the tables, which are printed too, and the figures into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    shown = tables(runs, test) | score_tables(runs, test.sets)
    for title, table in (shown | {"Runs": counts(runs), "Code": code_of(runs)}).items():
        print(f"\n{title}\n\n{table.to_string()}")
        table.to_csv(out / f"{title}.csv")
    drawn = {"sets": plot_by_set(runs, test.sets), "methods": plot_by_method(runs, test.beside)}
    for name, figure in drawn.items():
        if figure is not None:
            figure.savefig(out / f"by {name}.svg")


if __name__ == "__main__":
    main()
