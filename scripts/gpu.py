"""Tests, run times and scores on the GPU of this machine, into one file; `make gpu` runs it.

    python scripts/gpu.py --out FOLDER [--budget SECONDS] [--profile full|quick] [--parts PART ...]

It needs torch, numpy, scipy, scikit-learn, h5py, joblib, safetensors and pytest, and nothing
installed of this project. :mod:`experiments.gpu` says what it does.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "notebooks")]

from experiments.gpu import main

if __name__ == "__main__":  # the process of the measurements imports this file again
    main()
