"""What several test files share: the comparison with the dense reference, random inputs, programs
that are run, the pages of the book, and the cells of notebooks."""

import ast
import contextlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
import yaml
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

import dmac

ROOT = Path(__file__).resolve().parent.parent
#: Sizes of a random problem: n samples, m anchors, d dimensions, k neighbours with k < m.
problems = st.tuples(
    st.integers(4, 40), st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**31 - 1)
).flatmap(lambda s: st.tuples(*map(st.just, s), st.integers(1, s[1] - 1)))


def positive_views(n, dims):
    """Views of three groups, with no negative entry."""
    rng, classes = np.random.default_rng(0), np.arange(n) % 3
    draws = ((rng.normal(size=(3, d)), rng.normal(size=(n, d))) for d in dims)
    return [np.abs(3 * centres[classes] + noise) for centres, noise in draws]


def planted(n=300, c=4, widths=(8, 12, 6), spread=1.0, noise=0.7, seed=0):
    """Views of c groups in random order, and their classes."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(c, size=n)
    centres = [spread * rng.normal(size=(c, d)) for d in widths]
    return [z[classes] + noise * rng.normal(size=(n, z.shape[1])) for z in centres], classes


def where(views, present, value):
    """The views with a value in place of what is missing."""
    return [np.where(present[:, [a]], x, value) for a, x in enumerate(views)]


def accuracy(classes, labels):
    """The share of samples whose cluster is that of their class."""
    return dmac.scores(classes, labels)["acc"]


def random_points(n, m, d, seed):
    """Float64 samples (n, d) and anchors (m, d), both with gradient."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, d, generator=generator, dtype=torch.float64)
    u = torch.randn(m, d, generator=generator, dtype=torch.float64)
    return z.requires_grad_(), u.requires_grad_()


def python(*arguments, **options):
    """What a Python process writes, which has to end well."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pages():
    """The pages of the book in their order, as the table of contents names them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [
        [one["file"], *(s["file"] for s in one.get("sections", []))]
        for part in toc["parts"]
        for one in part["chapters"]
    ]
    return [toc["root"], *(name for names in files for name in names)]


def sources(notebook, kind="code"):
    """The texts of the cells of a kind, by their ids."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == kind}


def imported(source):
    """The top-level packages that a source imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


@contextlib.contextmanager
def as_set(name, value):
    """A global setting of PyTorch, for a while; what runs then has to leave it alone."""
    before = getattr(torch, f"get_{name}")()
    getattr(torch, f"set_{name}")(value)
    try:
        yield
        assert getattr(torch, f"get_{name}")() == value
    finally:
        getattr(torch, f"set_{name}")(before)


class Stopped(Exception):
    """What `stop_at` raises."""


def stop_at(kind, epoch):
    """A callback that stops a fit after an epoch of one kind of record."""

    def callback(record, embed):
        if type(record).__name__ == kind and record.epoch == epoch:
            raise Stopped

    return callback


class Shapes(TorchDispatchMode):
    """Records the shape of every tensor that any operation returns, forward and backward."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        found = out if isinstance(out, (tuple, list)) else [out]
        self.seen |= {tuple(x.shape) for x in found if isinstance(x, torch.Tensor)}
        return out


def assert_matches(fast, reference, *inputs, rtol=1e-6, atol=1e-9):
    """Compare two functions of the same tensors: values, and gradients of a random projection."""
    results = []
    for function in (fast, reference):
        value = function(*inputs)
        generator = torch.Generator().manual_seed(7)
        direction = torch.randn(value.shape, generator=generator, dtype=value.dtype)
        gradient = torch.autograd.grad(
            (value * direction).sum(), inputs, allow_unused=True, materialize_grads=True
        )
        results.append([value.detach(), *gradient])
    torch.testing.assert_close(*results, rtol=rtol, atol=atol)
