"""Make the runs behind the experiment pages and chapter 13: JSON in notebooks/results/runs/.

    python scripts/run_experiments.py --dry-run
    python scripts/run_experiments.py --jobs 2
    python scripts/run_experiments.py --stages comparison grid --datasets PIE mfeat
    python scripts/run_experiments.py --stages "peers, shallow" --jobs 2

A run that is stored is not made again, so this can be stopped at any moment (also by kill -9) and
started again; several of them can work on one store. Each run takes one thread, but for the stages
whose names end in "seconds": they time whole fits with two, one after the other, on a machine that
does nothing else.
Pre-trained weights are kept in a cache folder, since many runs share them. DMAC_DATA names the
folder of data files; `--datasets` also takes paths of files with labels. The stage "libraries"
and those of NEMO need what `pip install "dmac[libraries]"` brings, and those that begin with
"field" what `pip install "dmac[field]"` does; runs whose library is not installed are left out.
"""

import argparse
import os
import statistics
import sys
from collections import defaultdict
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

from experiments import field, libraries, plan, sealed, studies
from experiments import records as experiments
from experiments.run import settings_of

#: Seconds that a run is taken to need where none like it is stored.
UNKNOWN = 60


def seconds_of(records):
    """Median seconds of stored runs by data set and method, and for DMAC by its epochs."""
    seconds = defaultdict(list)
    for record in records:
        taken = record.get("seconds")
        taken = taken["fit"] if isinstance(taken, dict) else taken
        if taken is not None:
            seconds[alike(record["dataset"], record["method"], record["settings"])].append(taken)
    return {key: statistics.median(taken) for key, taken in seconds.items()}


def alike(dataset, method, settings):
    """What runs of about the same length agree in."""
    return dataset, method, settings.get("pretrain_epochs"), settings.get("epochs")


def is_possible(spec):
    """Whether a run can be made with what is installed."""
    tools = [module for module in (libraries, field) if spec.method in module.EVERY]
    return all(module.is_runnable(spec.method, spec.settings) for module in tools)


def show(record):
    """One line about a record."""
    settings = record["settings"]
    what = record["method"]
    if what == "DMAC":
        recipes = [n for n, r in studies.RECIPES.items() if settings_of(r) == settings]
        released = settings_of(studies.RECIPES["released"])
        changes = {k: v for k, v in settings.items() if released.get(k) != v}
        what = recipes[0] if recipes else " ".join(f"{k}={v}" for k, v in changes.items())
    scores = record.get("scores")
    result = record.get("error", "done")
    if scores:
        result = f"{100 * scores['acc']:.2f} {100 * scores['nmi']:.2f}"
    return f"{record['dataset']} seed {record['seed']}, {what}: {result}"


def chosen(parser, given):
    """The runs that were asked for, by stage."""
    stages = plan.full(given.datasets)
    methods = {spec.method for specs in stages.values() for spec in specs}
    for what, asked, known in (
        ("stage", given.stages, stages),
        ("method", given.methods, sorted(methods)),
    ):
        if unknown := set(asked or ()) - set(known):
            parser.error(f"no {what} {sorted(unknown)}; there are {', '.join(known)}")
    methods = set(given.methods or methods)
    return {
        stage: [spec for spec in specs if spec.method in methods]
        for stage, specs in stages.items()
        if stage in (given.stages or stages)
    }


def plan_missing(stages, store):
    """Say what is missing, stage by stage, and return what can be made: stages, and how many runs.

    A run that several stages ask for counts in the first.
    """
    seconds, planned, total, possible = seconds_of(store.records()), set(), 0.0, {}
    said = "{:18s} {:5d} runs missing, about {:5.2f} core hours"
    for stage, specs in stages.items():
        missing = experiments.missing(specs, store)
        possible[stage] = [spec for spec in missing if is_possible(spec)]
        if absent := len(missing) - len(possible[stage]):
            print(f"{stage:18s} {absent:5d} runs need a library that is not here")
        keys = {store.key(spec.identity()): spec for spec in possible[stage]}
        new = {key: alike(s.dataset, s.method, s.settings) for key, s in keys.items()}
        new = {key: kind for key, kind in new.items() if key not in planned}
        hours = sum(seconds.get(kind, UNKNOWN) for kind in new.values()) / 3600
        print(said.format(stage, len(new), hours), flush=True)
        planned |= set(new)
        total += hours
    print(said.format("total", len(planned), total), flush=True)
    return possible, len(planned)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stages", nargs="+", metavar="STAGE", help="by default all, in order")
    parser.add_argument("--datasets", nargs="+", help="by default all that are at hand")
    parser.add_argument("--methods", nargs="+", help="by default all, as the stages list them")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--results", type=Path, default=experiments.RESULTS, help="their folder")
    parser.add_argument("--cache", type=Path, default=experiments.cache(), help="of weights")
    parser.add_argument("--dry-run", action="store_true", help="only say what is missing")
    given = parser.parse_args()
    store = experiments.open_store(given.results).refresh()
    stages, number = plan_missing(chosen(parser, given), store)
    if given.dry_run:
        print(sealed.state(sealed.asked(store)), "See python -m experiments.sealed --dry-run.")
        return
    with tqdm(total=number, unit="run", smoothing=0, dynamic_ncols=True) as bar:
        for stage, specs in stages.items():
            bar.set_description(stage)
            jobs = 1 if stage.endswith("seconds") else given.jobs
            for record in experiments.complete(specs, store, n_jobs=jobs, pretrained=given.cache):
                bar.update()
                bar.write(f"{stage}: {show(record)}")


if __name__ == "__main__":
    main()
