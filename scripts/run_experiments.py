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
and those of NEMO need what `pip install "dmac[libraries]"` brings; runs whose library is not
installed are left out.
"""

import argparse
import os
import statistics
import sys
from collections import defaultdict
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

from experiments import plan, studies
from experiments import records as experiments
from experiments.libraries import is_runnable
from experiments.run import LIBRARIES, settings_of

#: Seconds that a run is taken to need where none like it is stored.
UNKNOWN = 60


def seconds_of(records):
    """Median seconds of stored runs by data set and method, and for DMAC by its epochs."""
    seconds = defaultdict(list)
    for record in records:
        taken = None if "timed" in record["settings"] else record.get("seconds")
        taken = taken["fit"] if isinstance(taken, dict) else taken
        if taken is not None:
            seconds[alike(record["dataset"], record["method"], record["settings"])].append(taken)
    return {key: statistics.median(taken) for key, taken in seconds.items()}


def alike(dataset, method, settings):
    """What runs of about the same length agree in."""
    return dataset, method, settings.get("pretrain_epochs"), settings.get("epochs")


def is_possible(spec):
    """Whether a run can be made with what is installed."""
    return spec.method not in LIBRARIES or is_runnable(spec.method, spec.settings)


def say(what, runs, hours):
    print(f"{what:18s} {len(runs):5d} runs missing, about {hours:5.2f} core hours", flush=True)


def show(record):
    """One line about a record."""
    settings = record["settings"]
    base = studies.RECIPES["released"]
    what = record["method"]
    if what == "DMAC":
        recipes = [n for n, r in studies.RECIPES.items() if settings_of(r) == settings]
        released = settings_of(base)
        changes = {k: v for k, v in settings.items() if released.get(k) != v}
        what = recipes[0] if recipes else " ".join(f"{k}={v}" for k, v in changes.items())
    scores = record.get("scores")
    result = record.get("error", "done")
    if scores:
        result = f"{100 * scores['acc']:.2f} {100 * scores['nmi']:.2f}"
    return f"{record['dataset']} seed {record['seed']}, {what}: {result}"


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
    stages = plan.full(given.datasets)
    if unknown := set(given.stages or ()) - set(stages):
        parser.error(f"no stage {sorted(unknown)}; there are {', '.join(stages)}")
    known = {spec.method for specs in stages.values() for spec in specs}
    if unknown := set(given.methods or ()) - known:
        parser.error(f"no method {sorted(unknown)}; there are {', '.join(sorted(known))}")
    store = experiments.open_store(given.results).refresh()
    seconds, total, planned = seconds_of(store.records()), 0.0, set()
    for stage, specs in stages.items():
        if given.stages and stage not in given.stages:
            continue
        if given.methods:
            specs = [spec for spec in specs if spec.method in given.methods]
        lacking, unmade = {}, experiments.missing(specs, store)
        stages[stage] = possible = [spec for spec in unmade if is_possible(spec)]
        if len(possible) < len(unmade):
            absent = len(unmade) - len(possible)
            print(f"{stage:18s} {absent:5d} runs need a library that is not here")
        for spec in possible:
            lacking[store.key(spec.identity())] = spec
        lacking = {key: spec for key, spec in lacking.items() if key not in planned}
        planned |= set(lacking)
        kinds = [alike(s.dataset, s.method, s.settings) for s in lacking.values()]
        hours = sum(seconds.get(kind, UNKNOWN) for kind in kinds) / 3600
        total += hours
        say(stage, lacking, hours)
    say("total", planned, total)
    if given.dry_run:
        return
    with tqdm(total=len(planned), unit="run", smoothing=0, dynamic_ncols=True) as bar:
        for stage, specs in stages.items():
            if given.stages and stage not in given.stages:
                continue
            bar.set_description(stage)
            for record in experiments.complete(
                specs,
                store,
                n_jobs=1 if stage.endswith("seconds") else given.jobs,
                pretrained=given.cache,
            ):
                bar.update()
                bar.write(f"{stage}: {show(record)}")


if __name__ == "__main__":
    main()
