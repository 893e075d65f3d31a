"""What training takes: epochs with their record, when to end, and draws that a seed decides.

Everything random is drawn on the CPU from the generator that is passed in, so that a seed gives the
same numbers on every device and no global random state is touched.
"""

import math
import time
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch of training did.

    Attributes
    ----------
    stage : str
        Which part of the training.
    epoch : int
        From 1 in every stage.
    loss : float
        Before the steps of the epoch; a mean over its batches.
    seconds : float
        Wall-clock time.
    """

    stage: str
    epoch: int
    loss: float
    seconds: float


def torch_generator(generator):
    """A generator of PyTorch on the CPU, seeded from one of NumPy."""
    return torch.Generator().manual_seed(int(generator.integers(2**31 - 1)))


def adam(parameters, lr):
    """Adam with one pass over the weights a step: a third of the time where there are millions."""
    return torch.optim.Adam(parameters, lr=lr, fused=True)


def dropout(x, rate, generator):
    """Zero a share ``rate`` of the entries and scale the rest; nothing without a generator."""
    if generator is None or rate == 0:
        return x
    kept = torch.rand(x.shape, generator=generator) >= rate
    return x * (kept.to(x) / (1 - rate))


def train(loss, optimizer, epochs, stage, history, batches=None, full_batch=False, stop=None):
    """Descend for some epochs.

    Parameters
    ----------
    loss : callable
        Row numbers of a batch -> tensor of shape (), a mean over the rows. Without batches it gets
        the number of the epoch, from 0, and may return None to end before this epoch.
    optimizer : torch.optim.Optimizer
    epochs : int
        At most so many.
    stage : str
    history : list
        Gets one ``EpochRecord`` an epoch.
    batches : callable, optional
        Returns the batches of an epoch: tensors of row numbers. One step each.
    full_batch : bool
        One step an epoch, along the sum of the batches' gradients weighed by their sizes: what the
        whole data as one batch would give, in the memory of one.
    stop : callable, optional
        An epoch's loss -> whether it was the last one.

    Raises
    ------
    FloatingPointError
        If the loss is not finite.
    """
    for epoch in range(epochs):
        start = time.perf_counter()
        total = 0.0
        steps = [epoch] if batches is None else batches()
        sizes = [1] if batches is None else [len(rows) for rows in steps]
        optimizer.zero_grad()
        for step, size in zip(steps, sizes):
            value = loss(step)
            if value is None:
                return
            share = size / sum(sizes)
            (value * share if full_batch else value).backward()
            if not full_batch:
                optimizer.step()
                optimizer.zero_grad()
            total = total + value.detach() * share
        if full_batch:
            optimizer.step()
        total = float(total)
        if not math.isfinite(total):
            raise FloatingPointError(
                f"the {stage} loss is {total} at epoch {epoch + 1}: lower the learning rate"
            )
        history.append(EpochRecord(stage, epoch + 1, total, time.perf_counter() - start))
        if stop is not None and stop(total):
            break
