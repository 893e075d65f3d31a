"""What samples that lack views cost."""

import time

import dmac
from experiments import incomplete, provenance
from experiments.bench.measuring import Job, alone
from experiments.bench.shapes import CLUSTERS, synthetic_views

#: Samples and columns of the views where their cost is measured; a recipe, and the share missing.
MANY, LACKING_DIMS = 100_000, (30, 30, 30, 30)

LACKING = (("closed_form", 0.0), ("unfilled", 0.5), ("closed_form", 0.5))


def fit_lacking(recipe, rate, n=MANY):
    """Seconds of the processor of a fit of generated views in this process, and its peak memory."""
    views = synthetic_views(n, LACKING_DIMS, CLUSTERS)
    views = incomplete.without(views, incomplete.random_pattern(n, len(views), rate, 0))
    before, start = provenance.peak_memory() / 1e3, time.process_time()
    model = dmac.AnchorGraphClustering(CLUSTERS, incomplete.OURS[recipe], 0, "cpu").fit(views)
    seconds = round(time.process_time() - start, 1)
    peak = provenance.peak_memory() / 1e3
    filled = model.model_.completion is not None
    return {"seconds": seconds, "peak_gb": peak, "before_gb": before, "filled": filled}


def jobs(*_, n=MANY):
    for recipe, rate in LACKING:
        about = {"recipe": recipe, "rate": rate, "n": n}
        own = dict(threads=1, environment={"DMAC_NUM_THREADS": "1"})
        yield Job("fits", about, alone, fit_lacking, **about, **own)
