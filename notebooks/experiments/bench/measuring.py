"""Measurements: each is made once, in a process of its own, and stored with what made it."""

import functools
import json
import math
import os
import time
from pathlib import Path

from experiments import provenance
from experiments.harness import Child
from experiments.records import RESULTS
from experiments.store import Store, key_of, round_floats, slug
from experiments.studies import CLOSED, RECIPES

#: What tables call a recipe that has another name in the store: 0.2.0's has the one of then.
TITLES = {"CLOSED_FORM": CLOSED}
#: Recipes by their names in the store.
OURS = RECIPES | {name: RECIPES[title] for name, title in TITLES.items()}


class Job:
    """A measurement: what it is of, what names it there, and what makes it.

    Without a name it is the only one of its kind. ``run(limit=seconds)`` returns what was found; it
    is the function with the arguments that follow.
    """

    def __init__(self, of, about, function, *arguments, **options):
        self.of, self.about = of, about
        self.run = functools.partial(function, *arguments, **options)

    def identity(self, part):
        """What names the measurement in a store."""
        settings = {"part": part, "of": self.of} | self.about
        return dict(dataset="", data="", method="bench", settings=settings, seed=0)


def measure(folder, part, jobs, *, device="cpu", seconds=math.inf):
    """Make the measurements that a store lacks, and return how many failed.

    What is not done after some seconds is left to the next time. What does not fit the memory is a
    result.

    Parameters
    ----------
    folder : path
        Of results, with a store of runs.
    part : str
    jobs : iterable of Job
    device : str
        Of which the records tell.
    seconds : float

    Returns
    -------
    int
    """
    store, end, failed = Store(Path(folder) / "runs"), time.monotonic() + seconds, 0
    for job in jobs:
        run = job.identity(part)
        if key_of(run) in store.refresh().records:
            continue
        left = end - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError("the time was up before")
            found = job.run(limit=left if left < math.inf else None)
        except MemoryError as error:
            found = {"error": f"MemoryError: {error}"}
        except (TimeoutError, RuntimeError) as error:
            failed += isinstance(error, RuntimeError)
            print(f"{job.of} {job.about} not measured: {error}", flush=True)
            continue
        made = {"found": round_floats(found), "load": round(os.getloadavg()[0], 2)}
        store.append(run | made | provenance.about(device), slug(f"bench {part}"))
        print(f"{job.of} {job.about}: {json.dumps(made['found'])}", flush=True)
    return failed


def measured(part, folder=RESULTS, titles=TITLES):
    """What was measured of a part.

    Parameters
    ----------
    part : str
    folder : path
        Of results, with a store of runs.
    titles : dict of str to str
        What to call recipes, by their names in the store.

    Returns
    -------
    dict
        By `Job.of`: a list of dicts, each with what names the measurement (recipes by their
        titles), what was found and the ``load`` of the machine; of a measurement without
        a name what was found. Under "machine" the whole of the last record.
    """
    path, found = Path(folder) / "runs" / f"{slug(f'bench {part}')}.jsonl", {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        record = json.loads(line)
        about = {k: v for k, v in record["settings"].items() if k not in ("part", "of")}
        of = record["settings"]["of"]
        if about:
            one = about | record["found"] | {"load": record.get("load")}
            for name in {"system", "recipe"} & one.keys():
                one[name] = titles.get(one[name], one[name])
            found.setdefault(of, []).append(one)
        else:
            found[of] = record["found"]
        found["machine"] = record
    return found


def alone(function, *arguments, limit=None, threads=2, memory_gb=None, environment=None, **options):
    """What a function returns in a process of its own."""
    about = dict(threads=threads, memory_gb=memory_gb, environment=environment)
    with Child(**about) as child:
        return child.call(function, *arguments, limit=limit, **options)


def stopped_after(most, call, limit=None):
    """What ``call(limit=seconds)`` returns, or an ``error`` where ``most`` seconds did not suffice.

    A ``limit`` below these stops it, too, and is no result: a ``TimeoutError``.
    """
    seconds = most if limit is None else min(most, limit)
    try:
        return call(limit=seconds)
    except TimeoutError as error:
        if seconds < most:
            raise
        return {"error": str(error)}


def timed(function):
    """What a function returns, with ``seconds`` on the clock and ``processor_seconds``."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function()
    seconds = {"seconds": time.perf_counter() - wall}
    return result, seconds | {"processor_seconds": time.process_time() - processor}
