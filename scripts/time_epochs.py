"""Time the main epochs of RELEASED on one thread, and write the medians to a JSON file.

Beside them stands what the authors' implementation takes on one processor thread (training alone,
as measured for this project). Run it on a machine that is doing nothing else:

    DMAC_DATA=... python scripts/time_epochs.py notebooks/results/epoch_seconds.json
"""

import dataclasses
import json
import statistics
import sys
from pathlib import Path

import torch

import dmac

AUTHORS = {"PIE": 0.45, "mfeat": 1.40}  # seconds an epoch

if __name__ == "__main__":
    torch.set_num_threads(1)
    # A shorter pre-training: it is not what is timed.
    recipe = dataclasses.replace(dmac.recipes.RELEASED, pretrain_epochs=100)
    result = {}
    for name, authors in AUTHORS.items():
        data = dmac.load(name)
        seconds = []
        for seed in (1, 2, 3):
            model = dmac.DMAC(data.n_clusters, recipe, random_state=seed, device="cpu")
            seconds += [record.seconds for record in model.fit(data.views).history_]
        median = statistics.median(seconds)
        result[name] = {
            "median": round(median, 4),
            "fastest": round(min(seconds), 4),
            "slowest": round(max(seconds), 4),
            "epochs": len(seconds),
            "threads": torch.get_num_threads(),
            "authors": authors,
            "ratio": round(authors / median, 2),
        }
    text = json.dumps(result, indent=1) + "\n"
    Path(sys.argv[1]).write_text(text)
    print(text)
