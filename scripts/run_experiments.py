"""Make the runs behind the experiment pages and chapter 18: JSON in notebooks/results/runs/.

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
import functools
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

import dmac
from experiments import plan, studies
from experiments import records as experiments
from experiments.libraries import is_runnable
from experiments.run import LIBRARIES, PEERS, settings_of

#: Seconds on one thread: an epoch of pre-training, an epoch of RELEASED with its scoring.
SECONDS = {
    "PIE": (0.05, 0.12),
    "Yale-3view": (0.02, 0.05),
    "mfeat": (0.13, 0.25),
    "BBC": (0.52, 0.12),
    "ALOI-10": (0.04, 0.12),
    "100Leaves": (0.07, 0.28),
    "CCV-20d": (0.19, 1.0),
    "BBCSport": (0.14, 0.06),
    "NGs": (0.15, 0.12),
}
#: Seconds a sample of the other systems that train a network, by their published schedules. They
#: differ by a factor of three with the number and the widths of the views; CMGEC grows with n^3.
PEER_SECONDS = {"DealMVC": 0.6, "GCFAggMVC": 0.6, "DFP-GNN": 2.0, "SURER": 1.2}
#: What pre-training depends on: runs that agree in it share one.
SHARED = (
    *("root", "components", "whitening_ridge", "encoder", "embedding_dim", "hidden_dim"),
    *("negative_slope", "normalize_embedding", "pretrain_lr"),
)


@functools.cache
def n_samples(dataset):
    """Of a data set, by its name or path."""
    return dmac.load(dataset).n_samples


def estimate_other(spec):
    """Seconds of a run of another system or library, roughly; the shallow ones take a few."""
    if spec.method in LIBRARIES:
        # Dense eigenvectors of n x n matrices; the co-trained estimator takes most of them.
        slow = 10 if spec.method == "mvlearn, co-trained spectral" else 1
        return 1 + slow * 6e-9 * n_samples(spec.dataset) ** 3
    share = 0.1 if plan.is_short(spec) else 1
    if spec.method == "CMGEC":
        return share * (60 + 2e-7 * n_samples(spec.dataset) ** 3)
    if spec.method in PEER_SECONDS:
        return share * PEER_SECONDS[spec.method] * n_samples(spec.dataset)
    return 3


def estimate(specs, paid):
    """Seconds on one core; ``paid`` holds the longest pre-training of every kind so far."""
    total = 0.0
    for spec in specs:
        if spec.method != "DMAC":
            other = spec.method in PEERS or spec.method in LIBRARIES
            total += estimate_other(spec) if other else 2
            continue
        if "epochs" not in spec.settings:  # nothing is trained
            total += 4 + 25 * spec.keep
            continue
        before, main = SECONDS.get(spec.dataset, (0.5, 1.0))
        kind = (spec.dataset, spec.seed, spec.settings.get("weighting"))
        kind += tuple(spec.settings[name] for name in SHARED)
        wanted = spec.settings["pretrain_epochs"]
        total += before * max(0, wanted - paid.get(kind, 0)) + main * spec.settings["epochs"]
        total += 25 * spec.keep
        paid[kind] = max(paid.get(kind, 0), wanted)
    return total


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
    result = f"{100 * scores['acc']:.2f} {100 * scores['nmi']:.2f}" if scores else record["error"]
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
    paid, total, planned = {}, 0.0, set()
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
        hours = estimate(lacking.values(), paid) / 3600
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
