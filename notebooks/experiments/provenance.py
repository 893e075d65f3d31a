"""What made a number: the code, the versions, the machine, the data, and what it cost."""

import contextlib
import datetime
import functools
import gc
import hashlib
import os
import platform
import re
import subprocess
from pathlib import Path

import numpy as np
import scipy
import sklearn
import torch

import dmac
from dmac.data.checks import digest

#: Where the code is: of the package, and of the experiments.
PACKAGE, HERE = Path(dmac.__file__).parent, Path(__file__).parent


@functools.cache
def code_hash(*folders):
    """SHA-256 (16 digits) of the Python files of some folders."""
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_bytes()
            total.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return total.hexdigest()[:16]


@functools.cache
def commit():
    """The commit of the checkout, or None: no checkout, or its code was edited."""
    try:
        edited = _git("status", "--porcelain", "--", PACKAGE, HERE)
        return None if edited else _git("rev-parse", "--short=12", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments):
    command = ["git", "-C", HERE, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@functools.cache
def versions():
    """Versions of Python and of the packages that decide a result."""
    modules = {"numpy": np, "scipy": scipy, "sklearn": sklearn, "torch": torch}
    numbers = {name: module.__version__.split("+")[0] for name, module in modules.items()}
    return {"python": platform.python_version()} | numbers


@functools.cache
def processor():
    """The processor's model as the system names it."""
    about = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:(.+)$", about.read_text() if about.exists() else "", re.M)
    return named[1].strip() if named else platform.processor() or platform.machine()


#: Variables of the environment that choose the instructions of torch and its libraries.
_INSTRUCTIONS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "DNNL_MAX_CPU_ISA", "OPENBLAS_CORETYPE")


def arithmetic():
    """What decides how results are rounded: torch's vector instructions, and who chose them."""
    chosen = {name: os.environ[name] for name in _INSTRUCTIONS if name in os.environ}
    return {"instructions": torch.backends.cpu.get_cpu_capability()} | chosen


def made(*frames):
    """When the runs behind a figure were made, and of which code, for its caption.

    Parameters
    ----------
    *frames : pandas.DataFrame
        Runs with their ``record`` (:func:`experiments.records.runs`).

    Returns
    -------
    str
        Such as "runs of 2026-11-21 to 2026-11-25, commit 073b3add2aef"; of several commits the
        last. Some runs, or all, may have kept no date.
    """
    records = [record for frame in frames for record in frame["record"]]
    dated = [r for r in records if r.get("date") not in (None, "unknown")]
    if not dated:
        return "runs without a date" if records else "no stored runs"
    dated = sorted(dated, key=lambda record: record["date"])
    days = list(dict.fromkeys(record["date"][:10] for record in (dated[0], dated[-1])))
    commits = [record["code"]["commit"] for record in dated]
    commits = list(dict.fromkeys(commit for commit in commits if commit not in (None, "unknown")))
    upto = "commit" if len(commits) == 1 else "up to commit"
    text = f"runs of {' to '.join(days)}" + (f", {upto} {commits[-1]}" if commits else "")
    return text if len(dated) == len(records) else f"{text}, some without a date"


def data_hash(data):
    """SHA-256 (64 digits) of views and labels; sparse and dense views differ."""
    return digest([*data.views, data.labels])


def reset_peak_memory():
    """Start counting this process's peak memory from now, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory():
    """Peak resident memory of this process in MB, since `reset_peak_memory` where that works."""
    status = Path("/proc/self/status")
    peak = re.search(r"^VmHWM:\s+(\d+)", status.read_text() if status.exists() else "", re.M)
    if peak:
        return round(int(peak[1]) / 1e3)
    import resource  # Unix alone has it

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)  # bytes, on macOS


def reset_peak_gb(device):
    """Begin to count the peak memory: of the device, or of the process on a processor."""
    gc.collect()
    if device.startswith("cuda"):
        torch.empty(1, device=device)  # before the first tensor there are no statistics
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    else:
        reset_peak_memory()


def peak_gb(device):
    """Peak memory in 10^9 bytes since `reset_peak_gb`: of the device, or of the process."""
    gpu = device.startswith("cuda")
    mb = torch.cuda.max_memory_allocated() / 1e6 if gpu else peak_memory()
    return round(mb / 1e3, 3)


def _driver():
    """The version of NVIDIA's driver, or None where its program is not there or does not answer."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split("\n")[0].strip() or None if done.returncode == 0 else None


def about(device):
    """What makes a measurement: the card or the processor, versions, code, and when (UTC)."""
    gpu = device.startswith("cuda")
    memory = torch.cuda.get_device_properties(device).total_memory if gpu else None
    return {
        "device": device,
        "card": torch.cuda.get_device_name(device) if gpu else None,
        "card_memory_gb": round(memory / 1e9, 1) if gpu else None,
        "driver": _driver() if gpu else None,
        "cuda": torch.version.cuda if gpu else None,
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "versions": versions() | {"torch": torch.__version__},
        "code": {"sha256": code_hash(PACKAGE, HERE), "commit": commit()},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
