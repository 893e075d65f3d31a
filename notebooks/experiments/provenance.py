"""What made a number: the code, the versions, the machine, the data, and what it cost."""

import ast
import datetime
import functools
import hashlib
import io
import os
import platform
import subprocess
import tokenize
from pathlib import Path

import numpy as np

import dmac
from dmac.data.digest import digest

_PACKAGE = Path(dmac.__file__).parent


def essence(source):
    """Python source without its comments, docstrings and blank lines: what it does."""
    lines = source.splitlines()
    drop = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            drop.update(range(body[0].lineno, body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    code = (line.rstrip() for i, line in enumerate(lines, 1) if i not in drop)
    return "\n".join(line for line in code if line)


def _imports(path):
    """Modules of the package that a module imports, by their names without the package's.

    What only a type checker imports does nothing in a run.
    """
    found = ast.parse(path.read_text(encoding="utf-8"))
    for_types = [
        node
        for node in ast.walk(found)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    unused = {id(node) for block in for_types for part in block.body for node in ast.walk(part)}
    for node in ast.walk(found):
        if id(node) in unused:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dmac":
            parts = node.module.split(".")[1:]
            if parts:
                yield ".".join(parts)
            # What is imported may be a module itself; where it is none, no file has that name.
            yield from (".".join([*parts, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            yield from (name.removeprefix("dmac.") for name in names if name.startswith("dmac."))


@functools.cache
def code_identity(modules=("estimator", "baselines", "metrics"), package=_PACKAGE):
    """SHA-256 (16 digits) of what modules of the package and all they import do.

    Comments, docstrings and blank lines do not count, so that explaining the code better does not
    make stored results look foreign.
    """
    reached, waiting = set(), list(modules)
    while waiting:
        name = waiting.pop()
        path = package / f"{name.replace('.', '/')}.py"
        if name not in reached and path.exists():
            reached.add(name)
            waiting += _imports(path)
    digest = hashlib.sha256()
    for name in sorted(reached):
        path = package / f"{name.replace('.', '/')}.py"
        digest.update(f"{name}\n{essence(path.read_text(encoding='utf-8'))}\n".encode())
    return digest.hexdigest()[:16]


@functools.cache
def commit():
    """The commit of the package's checkout, or None: no checkout, or its code was edited."""
    git = ["git", "-C", str(_PACKAGE)]
    try:
        edited = subprocess.run(
            [*git, "status", "--porcelain", "--", "."], capture_output=True, check=True, text=True
        )
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return None if edited.stdout.strip() else head.stdout.strip()


@functools.cache
def versions():
    """Versions of Python and of the packages that decide a result."""
    import scipy
    import sklearn
    import torch

    modules = {"numpy": np, "scipy": scipy, "sklearn": sklearn, "torch": torch}
    numbers = {name: module.__version__.split("+")[0] for name, module in modules.items()}
    return {"python": platform.python_version()} | numbers


@functools.cache
def processor():
    """The processor's model as the system names it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1] for line in text.splitlines() if line.startswith("model name")]
    return names[0].strip() if names else platform.machine()


def machine():
    """Where and when a timing was made: ``processor``, ``cores`` and ``date`` (UTC)."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


#: Variables of the environment that choose the instructions of torch and its libraries.
_INSTRUCTIONS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "DNNL_MAX_CPU_ISA", "OPENBLAS_CORETYPE")


def arithmetic():
    """What decides how results are rounded: torch's vector instructions, and who chose them."""
    import torch

    chosen = {name: os.environ[name] for name in _INSTRUCTIONS if name in os.environ}
    return {"instructions": torch.backends.cpu.get_cpu_capability()} | chosen


def data_hash(data):
    """SHA-256 (64 digits) of views and labels; sparse and dense views differ."""
    return digest([*data.views, data.labels])


def reset_peak_memory():
    """Start counting this process's peak memory from now; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_memory():
    """Peak resident memory of this process in MB, since `reset_peak_memory` where that works."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1e3)
    except OSError:
        pass
    import resource  # Unix alone has it

    scale = 1e6 if os.uname().sysname == "Darwin" else 1e3
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale)
