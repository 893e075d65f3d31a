"""Make stored runs again, and say how far their last-epoch scores are from the stored ones.

    python scripts/repeat_runs.py --count 3
    python scripts/repeat_runs.py --datasets mfeat --draw 1

The runs are drawn at random. The exit status is 1 if a score differs by
more than --points, or a run is of other data. With the same versions, threads and processor the
difference is 0; another processor rounds differently, and so do other instructions of this one:

    ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE \\
        python scripts/repeat_runs.py --save other-instructions --seeds 3 --datasets Yale-3view PIE

With --save the runs of the comparison are made again into a store of their own, below
notebooks/results/repeated/, which the page on protocols shows.
"""

import argparse
import os
import random
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

from experiments import compare as comparisons
from experiments import plan, records, studies
from experiments.run import Spec, is_retired, make_run

OTHER_DATA = "{} is not what the stored run was made on: its hash is {}"


def repeat(record, **options):
    """The largest difference of ACC and NMI in points, between a stored run and its repetition."""
    run = (record[name] for name in ("dataset", "method", "settings", "seed"))
    spec = Spec(*run, file="repeated")
    data_hash = spec.identity(**options)["data"]
    if data_hash != record["data"]:
        raise ValueError(OTHER_DATA.format(record["dataset"], data_hash))
    scores = make_run(spec, threads=record.get("threads", 1), **options)["scores"]
    return max(100 * abs(scores[name] - record["scores"][name]) for name in ("acc", "nmi"))


def draw(store, given):
    """Repeat some runs, and return the largest difference."""
    retired = [study for study in studies.STUDIES.values() if study.retired]
    gone = [run for study in retired for run in study.variants.values()]
    candidates = [
        record
        for record in store.records.values()
        if "scores" in record
        and record["dataset"] in (given.datasets or [record["dataset"]])
        and not is_retired(record["settings"])
        and "sealed" not in record["settings"]  # of files that few have
        and (record["method"], record["settings"]) not in gone
    ]
    candidates.sort(key=lambda record: record["key"])
    worst = 0.0
    for record in random.Random(given.draw).sample(candidates, min(given.count, len(candidates))):
        far = repeat(record)
        worst = max(worst, far)
        name = f"{record['dataset']}, {record['method']}, seed {record['seed']}"
        print(f"{name} ({record['key'][:12]}): {far:.2f} points apart", flush=True)
    return worst


def save(store, given, variants=studies.REPEATED, **options):
    """Make the comparison's runs again in a store of their own; return the largest difference.

    Without the cache of pre-trained weights: those were computed with the other arithmetic.
    """
    seeds, names = range(1, given.seeds + 1), given.datasets or list(studies.MAIN)
    again = records.open_repeated(given.results, given.save).refresh()
    specs = plan.specs(variants, names, seeds, "comparison")
    first = records.index(store)
    for spec in specs:
        identity = spec.identity(**options)
        data_hash = identity.pop("data")
        record = first.get(records.run_name(**identity))
        if record is not None and record["data"] != data_hash:
            raise ValueError(OTHER_DATA.format(spec.dataset, data_hash))
    for record in records.complete(specs, again, n_jobs=given.jobs, **options):
        print(f"{record['dataset']}, {record['method']}, seed {record['seed']}", flush=True)
    frames = [
        records.runs(found, variants, names, seeds) for found in (first, records.index(again))
    ]
    tables = [comparisons.compare_repeats(*frames, metric) for metric in ("acc", "nmi")]
    print(tables[0].round(2).to_string())
    return max((table.largest.max() for table in tables if len(table)), default=0.0)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--datasets", nargs="+", help="by default all that have stored runs")
    parser.add_argument("--draw", type=int, default=0, help="the seed of the draw of runs")
    parser.add_argument("--points", type=float, default=0.5, help="the largest difference allowed")
    parser.add_argument("--results", type=Path, default=records.RESULTS)
    parser.add_argument("--save", metavar="NAME", help="of the store of repeated runs")
    parser.add_argument(
        "--seeds", type=int, default=studies.FEW, help="with --save: 1, 2, ..., SEEDS"
    )
    parser.add_argument("--jobs", type=int, default=1, help="with --save: processes")
    given = parser.parse_args(arguments)
    store = records.open_store(given.results).refresh()
    worst = save(store, given) if given.save else draw(store, given)
    return int(worst > given.points)


if __name__ == "__main__":
    sys.exit(main())
