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


def dropout(x, rate, generator):
    """Zero a share ``rate`` of the entries and scale the rest; nothing without a generator."""
    if generator is None or rate == 0:
        return x
    kept = torch.rand(x.shape, generator=generator) >= rate
    return x * (kept.to(x) / (1 - rate))


def repeat(stage, epochs, step):
    """Make epochs, one record each.

    Parameters
    ----------
    stage : str
    epochs : int
        At most so many.
    step : callable
        Number of an epoch, from 0 -> its loss, a number or a tensor of shape (); None to end before
        this epoch.

    Yields
    ------
    EpochRecord

    Raises
    ------
    FloatingPointError
        If the loss is not finite.
    """
    for epoch in range(epochs):
        start = time.perf_counter()
        loss = step(epoch)
        if loss is None:
            return
        loss = float(loss)
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the {stage} loss is {loss} at epoch {epoch + 1}: lower the learning rate"
            )
        yield EpochRecord(stage, epoch + 1, loss, time.perf_counter() - start)


def train(loss, optimizer, epochs, stage, history, stop=None):
    """Full-batch descent.

    Parameters
    ----------
    loss : callable
        Number of an epoch, from 0 -> tensor of shape (), or None to end before this epoch.
    optimizer : torch.optim.Optimizer
    epochs : int
        At most so many.
    stage : str
    history : list
        Gets one ``EpochRecord`` an epoch.
    stop : callable, optional
        An epoch's loss -> whether it was the last one.

    Raises
    ------
    FloatingPointError
        If the loss is not finite.
    """

    def step(epoch):
        optimizer.zero_grad()
        value = loss(epoch)
        if value is not None:
            value.backward()
            optimizer.step()
            value = value.detach()
        return value

    for record in repeat(stage, epochs, step):
        history.append(record)
        if stop is not None and stop(record.loss):
            break


class Patience:
    """When to stop: no better loss for some epochs, or hardly a better one.

    Parameters
    ----------
    epochs : int
        The window.
    flat : float or None
        Stop when the best loss of all epochs is below the best one before the window by less than
        this share of it. None: only when it is not below at all.
    """

    def __init__(self, epochs, flat=None):
        self.epochs, self.flat, self.best = epochs, flat or 0.0, []

    def __call__(self, loss):
        """Take the epoch's loss, a float; True if it was the last epoch."""
        self.best.append(min([loss, *self.best[-1:]]))
        if len(self.best) <= self.epochs:
            return False
        before = self.best[-1 - self.epochs]
        return before - self.best[-1] <= self.flat * abs(before)
