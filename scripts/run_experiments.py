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

from experiments import libraries, plan, records, sealed, studies
from experiments.store import key_of

#: Seconds that a run is taken to need where none like it is stored.
UNKNOWN = 60


def seconds_of(runs):
    """Median seconds of stored runs by data set and method, and for DMAC by its epochs."""
    seconds = defaultdict(list)
    for record in runs:
        taken = record.get("seconds")
        taken = taken["fit"] if isinstance(taken, dict) else taken
        if taken is not None:
            seconds[alike(record["dataset"], record["method"], record["settings"])].append(taken)
    return {key: statistics.median(taken) for key, taken in seconds.items()}


def alike(dataset, method, settings):
    """What runs of about the same length agree in."""
    return dataset, method, settings.get("pretrain_epochs"), settings.get("epochs")


def show(stage, record):
    """One line about a record of a stage."""
    run = record["method"], record["settings"]
    names = [name for name, one in studies.STUDIES[stage].variants.items() if one == run]
    result, scores = record.get("error", "done"), record.get("scores")
    if scores:
        result = f"{100 * scores['acc']:.2f} {100 * scores['nmi']:.2f}"
    what = names[0] if names else record["method"]
    return f"{stage}: {record['dataset']} seed {record['seed']}, {what}: {result}"


def chosen(given):
    """The runs that were asked for, by stage."""
    return {
        stage: [spec for spec in specs if spec.method in given.methods]
        for stage, specs in plan.full(given.datasets).items()
        if stage in given.stages
    }


def plan_missing(stages, store):
    """Say what is missing, stage by stage, and return what can be made: stages, and how many runs.

    A run that several stages ask for counts in the first.
    """
    seconds, planned, total, possible = seconds_of(store.records.values()), set(), 0.0, {}
    said = "{:18s} {:5d} runs missing, about {:5.2f} core hours"
    for stage, specs in stages.items():
        missing = records.missing(specs, store)
        possible[stage] = [s for s in missing if libraries.is_runnable(s.method, s.settings)]
        if absent := len(missing) - len(possible[stage]):
            print(f"{stage:18s} {absent:5d} runs need a library that is not here")
        keys = {key_of(spec.identity()): spec for spec in possible[stage]}
        new = {
            k: alike(s.dataset, s.method, s.settings) for k, s in keys.items() if k not in planned
        }
        hours = sum(seconds.get(kind, UNKNOWN) for kind in new.values()) / 3600
        print(said.format(stage, len(new), hours), flush=True)
        planned |= set(new)
        total += hours
    print(said.format("total", len(planned), total), flush=True)
    return possible, len(planned)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    stages = dict(choices=studies.STUDIES, default=studies.STUDIES, metavar="STAGE")
    parser.add_argument("--stages", nargs="+", help="by default all, in order", **stages)
    parser.add_argument("--datasets", nargs="+", help="by default all that are at hand")
    names = {run[0] for study in studies.STUDIES.values() for run in study.variants.values()}
    methods = dict(choices=sorted(names), default=names, metavar="METHOD")
    parser.add_argument("--methods", nargs="+", help="by default all of the stages", **methods)
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--results", type=Path, default=records.RESULTS, help="their folder")
    parser.add_argument("--cache", type=Path, default=records.cache(), help="of weights")
    parser.add_argument("--dry-run", action="store_true", help="only say what is missing")
    given = parser.parse_args()
    store = records.open_store(given.results).refresh()
    stages, number = plan_missing(chosen(given), store)
    if given.dry_run:
        print(sealed.state(sealed.asked(store)), "See python -m experiments.sealed --dry-run.")
        return
    with tqdm(total=number, unit="run", smoothing=0, dynamic_ncols=True) as bar:
        for stage, specs in stages.items():
            bar.set_description(stage)
            jobs = 1 if stage.endswith("seconds") else given.jobs
            for record in records.complete(specs, store, n_jobs=jobs, pretrained=given.cache):
                bar.update()
                bar.write(show(stage, record))


if __name__ == "__main__":
    main()
