r"""Sums over samples that lie in several processes.

The losses depend on the samples only through sums (:math:`S^T 1`, :math:`S^T Z`, :math:`S^T S U`,
entropies, moments). With the samples sharded over processes, each adds up its own, `total` adds the
processes', and every process then holds the same loss. Outside of `sharded` there is one process,
and all of this does nothing.

The gradient is that of one process: every process differentiates the loss divided by their number,
`total` adds up the gradients that arrive at a sum, and `sum_gradients` those of the parameters.

Chapter 17 of the book shows the command line; :mod:`dmac.distributed` is behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import load, save
from torch import Tensor


@dataclass(frozen=True)
class Shards:
    """Which samples this process holds: ``rows`` of n, the same split in every process.

    Parameters
    ----------
    n_samples, rank, n_processes : int
        n, of all processes together; the number of this process, from 0; and how many there are.
    """

    n_samples: int
    rank: int
    n_processes: int

    @property
    def rows(self) -> slice:
        """The slice of samples of this process."""
        return slice(*(self.n_samples * r // self.n_processes for r in (self.rank, self.rank + 1)))


_active: Shards | None = None

#: What a process group needs on a machine with GPUs: the embeddings are there, but the numbers of
#: samples and the losses of the pre-training are added up on the CPU.
GPU_BACKENDS = "cpu:gloo,cuda:nccl"

#: Samples above which the comparison with the anchors, its gradient and k-means fall into pieces, a
#: thread each, and Lloyd's steps see a part. That saves little below, where anchors are few, and up
#: to it the results stay those of the stored runs to the last bit.
MANY = 20_000

# How gloo and NCCL say that a process cannot be reached. They have no exception class for it.
_LOST = re.compile(
    "connection|timed out|timeout|pair closure|broken pipe|remote ?(error|process)", re.IGNORECASE
)


def shards() -> Shards | None:
    """The `Shards` of the fit that is running, or None."""
    return _active


def sharded(n_samples: int) -> AbstractContextManager[Shards | None]:
    """Within it, tensors of samples hold this process's rows of ``n_samples``."""
    return _within(Shards(n_samples, dist.get_rank(), dist.get_world_size()))


def alone() -> AbstractContextManager[Shards | None]:
    """Within it, a process of several has all samples to itself, and waits for no other."""
    return _within(None)


@contextmanager
def _within(held: Shards | None) -> Iterator[Shards | None]:
    """Within it, these samples are what this process holds."""
    global _active
    before, _active = _active, held
    try:
        yield held
    finally:
        _active = before


def from_first(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that the first process passes, by name, in all of them."""
    first = my_rank() == 0
    content = torch.frombuffer(bytearray(save(dict(tensors)) if first else b"0"), dtype=torch.uint8)
    size = count(len(content) if first else 0)
    return load(bytes(_reduce(content if first else content.new_zeros(size)).numpy()))


def my_rank() -> int:
    """The number of this process, from 0."""
    return 0 if _active is None else _active.rank


def n_processes() -> int:
    """Over how many processes the samples are spread."""
    return 1 if _active is None else _active.n_processes


def many(n: int) -> bool:
    """Whether n samples of this process, or those of all that are in the fit, are above `MANY`."""
    return (n if _active is None else _active.n_samples) > MANY


def my_rows(n_samples: int) -> slice:
    """The slice of ``n_samples`` rows that this process holds."""
    return slice(0, n_samples) if _active is None else _active.rows


def _reduce(x: Tensor, op: Any = dist.ReduceOp.SUM) -> Tensor:
    try:
        dist.all_reduce(x, op)
    except RuntimeError as error:
        if _LOST.search(str(error)):
            raise RuntimeError(
                "another process of this fit has ended or cannot be reached, so the sums over its "
                "samples are missing: start the same command again, it resumes from its checkpoint"
            ) from error
        if "No backend" in str(error):
            raise RuntimeError(
                f"the process group cannot add up tensors on the {x.device.type}: open it with "
                f'torch.distributed.init_process_group("{GPU_BACKENDS}")'
            ) from error
        raise
    return x


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return _reduce(x.clone())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _reduce(grad.clone())


def total(x: Tensor) -> Tensor:
    """The sum of a tensor over the processes, in all of them; differentiable."""
    return x if _active is None else _Total.apply(x.contiguous())


def count(n: int) -> int:
    """The sum of a number of samples over the processes."""
    return n if _active is None else int(_reduce(torch.tensor(n)))


def largest(x: Tensor) -> Tensor:
    """The maximum of a tensor of shape () over the processes."""
    return x if _active is None else _reduce(x.clone(), dist.ReduceOp.MAX)


def broadcast_seed(n: int) -> int:
    """The first process's seed, in all of them."""
    return count(n if my_rank() == 0 else 0)


def everywhere(flag: bool) -> bool:
    """Whether a condition holds in all processes."""
    return flag if _active is None else count(int(not flag)) == 0


def mean(x: Tensor) -> Tensor:
    """Mean row over the samples of all processes: (n, d) -> (d,)."""
    return total(x.sum(0)) / count(len(x))


def mean_square(x: Tensor) -> Tensor:
    """Mean of the squared entries over the samples of all processes: (n, d) -> ()."""
    return total(x.square().sum()) / (count(len(x)) * x[:1].numel())


def gather(x: Tensor) -> Tensor:
    """The rows of all processes, in the order of the processes, without gradient."""
    if _active is None:
        return x
    sizes = torch.zeros(_active.n_processes, dtype=torch.long)
    sizes[_active.rank] = len(x)
    sizes = _reduce(sizes)
    start = int(sizes[: _active.rank].sum())
    whole = x.new_zeros(int(sizes.sum()), *x.shape[1:])
    whole[start : start + len(x)] = x
    return _reduce(whole)


def take(x: Tensor, indices: Tensor) -> Tensor:
    """Rows by their number among the samples of all processes, without gradient."""
    if _active is None:
        return x[indices.to(x.device)]
    start, stop = _active.rows.start, _active.rows.stop
    mine = ((indices >= start) & (indices < stop)).nonzero()[:, 0]
    rows = x.new_zeros(len(indices), *x.shape[1:])
    rows[mine] = x[indices[mine] - start]
    return _reduce(rows)


def sum_gradients(parameters: Iterable[Tensor]) -> None:
    """Add up the gradients of the parameters over the processes."""
    if _active is None:
        return
    for p in parameters:
        if p.grad is not None:
            _reduce(p.grad)
