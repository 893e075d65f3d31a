"""What a fit shows while it runs: a bar of epochs with loss and time left, or of stages.

The estimators show it with ``verbose=True``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

#: The bar of the fit that is running, None where it shows nothing.
_active: ContextVar[ProgressBar | None] = ContextVar("bar", default=None)
_NAMES = {"PretrainRecord": "pre-training", "EpochRecord": "training"}


class ProgressBar:
    """The bar of one fit.

    ``n_stages`` says how often `stage` will be called, ``lengths`` how many epochs there are of
    every kind of record, by the name of its class.
    """

    def __init__(self, n_stages: int, lengths: Mapping[str, int]) -> None:
        self._lengths = lengths
        self._kind: str | None = None
        self._running = 0  # 1 while a stage is
        self.bar = _bar(total=n_stages, desc="preparing", unit="stage")

    def stage(self, text: str) -> None:
        """Say what begins; the stage before it is done."""
        self.done()
        self._running = 1
        self.bar.set_description(text)

    def epoch(self, record: Any) -> None:
        """Show a record of an epoch that is done."""
        kind = type(record).__name__
        if kind != self._kind:
            self.done()
            self.bar.close()
            at = {"total": self._lengths[kind], "initial": record.epoch - 1}
            self._kind, self.bar = kind, _bar(**at, desc=_NAMES[kind], unit="epoch")
        self.bar.set_postfix(loss=f"{record.loss:.4g}", refresh=False)
        self.bar.update(record.epoch - self.bar.n)

    def done(self) -> None:
        """Count the stage that is running."""
        self.bar.update(self._running)
        self._running = 0


def _bar(**given: Any) -> Any:
    from tqdm import tqdm  # a fit that shows nothing does without it

    return tqdm(**given)


@contextlib.contextmanager
def shown(verbose: bool, n_stages: int, lengths: Mapping[str, int]) -> Iterator[None]:
    """Within it, a fit shows how far it is, if ``verbose``.

    A fit in a callback of another has a bar of its own, or none.
    """
    token = _active.set(ProgressBar(n_stages, lengths) if verbose else None)
    try:
        yield
        if bar := _active.get():
            bar.done()
    finally:
        if bar := _active.get():
            bar.bar.close()
        _active.reset(token)


def is_shown() -> bool:
    """Whether a bar stands on the line where the next thing would be written."""
    return _active.get() is not None


def count_epoch(record: Any) -> None:
    """Show a record of an epoch that is done, where a fit is shown."""
    if bar := _active.get():
        bar.epoch(record)


def announce(text: str) -> None:
    """Say which part of a fit begins, where one is shown."""
    if bar := _active.get():
        bar.stage(text)
