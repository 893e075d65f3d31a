"""A fit that can be interrupted: everything it needs to go on, in one file, without pickle.

"The costs of a fit" in the book says when it is needed; :meth:`dmac.DMAC.fit` takes the folder.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dmac._types import PathLike
from dmac.compute.files import leaves, read_tensors, tensors_of, tree_of, write_tensors

NAME = "checkpoint.safetensors"


@dataclasses.dataclass
class Progress:
    """How far a phase of training is, and the optimiser that takes it there.

    Attributes
    ----------
    epoch : int
        So many epochs are done.
    stored : dict or None
        The state of the optimiser then, in which a loop begins.
    optimiser : torch.optim.Optimizer or None
        The loop's, as soon as there is a loop.
    """

    epoch: int = 0
    stored: dict[str, Any] | None = None
    optimiser: torch.optim.Optimizer | None = None

    def begin(self, optimiser: torch.optim.Optimizer) -> None:
        """Take the loop's optimiser, and put it where the stored one was."""
        self.optimiser = optimiser
        if self.stored is not None:
            optimiser.load_state_dict(self.stored)

    def optimiser_state(self) -> dict[str, Any] | None:
        """State of the loop's optimiser, or the stored one until there is a loop; None without."""
        return self.stored if self.optimiser is None else self.optimiser.state_dict()


def optimiser_state(tensors: dict[str, Tensor], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The state whose entries are the `leaves` "optimiser"; ``groups`` are its parameter groups."""
    entries = tree_of(tensors_of(tensors, "optimiser"))
    state = {
        int(i): {name: torch.as_tensor(value) for name, value in of_parameter.items()}
        for i, of_parameter in entries.items()
    }
    return {"state": state, "param_groups": groups}


class Checkpoint:
    """One fit's state in a folder, written every few epochs.

    The folder is made if it is missing. ``about`` identifies the fit; a checkpoint of another one
    is refused.
    """

    def __init__(self, folder: PathLike, every: int, about: dict[str, Any]) -> None:
        self.path = Path(folder).expanduser() / NAME
        self.every = every
        self.about = json.loads(json.dumps(about))
        if every < 1:
            raise ValueError(f"checkpoint_every is {every}, it must be at least 1")

    def save(self, state: Any) -> None:
        """Write the state of a fit after an epoch: what it trains, how far, and its records."""
        progress = state.progress[state.phase]
        tree = {
            "network": state.network.state_dict(),
            "source": state.source.state(),
            "generator": state.generator.get_state(),
        }
        numbers = {
            "about": self.about,
            "phase": state.phase,
            "epoch": progress.epoch,
            "histories": [[dataclasses.asdict(r) for r in log] for log in state.histories],
        }
        if (optimiser := progress.optimiser_state()) is not None:
            numbers["groups"] = optimiser["param_groups"]
            tree["optimiser"] = optimiser["state"]
        write_tensors(self.path, dict(leaves(tree)), numbers)

    def load(self) -> dict[str, Any] | None:
        """Read what `save` wrote: a dict, or None if there is nothing yet.

        ``ValueError`` if the file is damaged, or of a fit with another recipe, seed or data.
        """
        if not self.path.exists():
            return None
        try:
            tensors, numbers = read_tensors(self.path)
        except ValueError as error:
            raise ValueError(f"{error}; remove it to start anew") from error
        about = numbers.get("about", {})
        for key, value in self.about.items():
            if about.get(key) != value:
                raise ValueError(
                    f"{self.path} belongs to another fit: its {key} is {about.get(key)}, here it "
                    f"is {value}; name another folder, or remove it to start anew"
                )
        groups = numbers.get("groups")
        optimiser = None if groups is None else optimiser_state(tensors, groups)
        return {
            "phase": numbers["phase"],
            "progress": Progress(numbers["epoch"], optimiser),
            "network": tensors_of(tensors, "network"),
            "source": tensors_of(tensors, "source"),
            "generator": tensors["generator"],
            "histories": numbers["histories"],
        }
