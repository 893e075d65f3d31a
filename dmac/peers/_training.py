"""Full-batch descent with its record, its end, and what it needs checked.

Chapter 13 of the book uses it for the systems with graph convolutions.
"""

import math
import numbers
import time
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Record:
    """One epoch.

    Attributes
    ----------
    stage : str
        Which part of the training.
    epoch : int
        From 0, in its stage.
    loss : float
        Before the epoch's step.
    seconds : float
        That the epoch took.
    """

    stage: str
    epoch: int
    loss: float
    seconds: float


def check_numbers(estimator, integers=(), reals=()):
    """Refuse parameters out of range.

    Parameters
    ----------
    estimator : object
        Has the parameters as attributes.
    integers, reals : sequences of (str, number)
        Name of a parameter, and the least that it may be.

    Raises
    ------
    ValueError
        Unless it is a finite number of the kind, at least as large.
    """
    for kind, which, expected in (
        ("an integer", integers, numbers.Integral),
        ("a finite number", reals, numbers.Real),
    ):
        for name, least in which:
            value = getattr(estimator, name)
            good = isinstance(value, expected) and not isinstance(value, bool)
            if not good or not least <= value < math.inf:
                raise ValueError(f"{name} is {value!r}, it must be {kind} of at least {least}")


def check_widths(estimator, *names):
    """Refuse widths of layers that are not a non-empty sequence of positive integers."""
    for name in names:
        value = getattr(estimator, name)
        good = isinstance(value, (tuple, list)) and len(value) > 0
        if not good or any(not isinstance(d, numbers.Integral) or d < 1 for d in value):
            raise ValueError(f"{name} is {value!r}, it must be a tuple of integers of at least 1")


def find_device(device):
    """The device of a name, "auto" being a GPU when there is one; ValueError if unusable."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise ValueError(f"device {device!r} is not usable here: {error}") from error
    return found


def torch_generator(generator):
    """A generator of PyTorch on the CPU, seeded from one of NumPy."""
    return torch.Generator().manual_seed(int(generator.integers(2**31 - 1)))


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


def train(loss, optimizer, epochs, stage, history, stop=None):
    """Full-batch descent.

    Parameters
    ----------
    loss : callable
        Number of an epoch -> tensor of shape (), or None to stop before this epoch.
    optimizer : torch.optim.Optimizer
    epochs : int
        At most so many.
    stage : str
    history : list
        Gets one ``Record`` an epoch.
    stop : callable, optional
        An epoch's loss -> whether it was the last one.
    """
    for epoch in range(epochs):
        start = time.perf_counter()
        optimizer.zero_grad()
        value = loss(epoch)
        if value is None:
            break
        value.backward()
        optimizer.step()
        number = value.item()
        history.append(Record(stage, epoch, number, time.perf_counter() - start))
        if stop is not None and stop(number):
            break
