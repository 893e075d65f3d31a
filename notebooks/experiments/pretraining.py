"""Pre-trained weights that are kept, so that fits which differ only afterwards share them.

Within `share` a fit of DMAC looks for the outcome of its own pre-training in a folder, and puts it
there if it has to compute it. What pre-training computes is decided by the prepared views, the
initial weights and a few numbers; the hash of those names the file, so the result of a fit is the
same with the folder as without, to the last bit.
"""

import contextlib
import dataclasses
import functools
from pathlib import Path
from unittest import mock

import joblib
import torch
from filelock import FileLock

from dmac.compute.checkpoint import optimiser_state
from dmac.compute.files import leaves, read_tensors, write_tensors
from dmac.compute.layers import SparseView
from dmac.embedding import PretrainRecord
from dmac.solvers.network_solver import NetworkSolver
from experiments.provenance import PACKAGE, code_hash, processor


@contextlib.contextmanager
def share(folder, at=()):
    """Within it, fits of this process keep the outcome of their pre-training in a folder.

    Several processes may share it. Kept are the epochs ``at``, too, besides the last: a shorter
    pre-training is the beginning of a longer one, and an interrupted one goes on from there.
    """
    pretrain = functools.partialmethod(
        _pretraining, NetworkSolver.pretrain, Path(folder), frozenset(at)
    )
    with mock.patch.object(NetworkSolver, "pretrain", pretrain):
        yield


class Kept(PretrainRecord):
    """The record of an epoch that was read, and not computed."""


def _pretraining(solver, pretrain, folder, at, network, views, progress):
    """A pre-training that begins with the epochs of a kept one."""
    recipe = solver.recipe
    tensors = all(isinstance(x, (torch.Tensor, SparseView)) for x in views)
    if not tensors or progress.epoch or not recipe.pretrain_epochs:
        yield from pretrain(solver, network, views, progress)
        return
    about = recipe.encoder, recipe.negative_slope, recipe.normalize_embedding, recipe.pretrain_lr
    with _shelf(folder, about, _weights_of(network), views) as shelf:
        log = _load(shelf, network, recipe.pretrain_epochs, progress)
        yield from log
        for record in pretrain(solver, network, views, progress):
            log.append(record)
            yield record
            if record.epoch in at or record.epoch == recipe.pretrain_epochs:
                _save(shelf, network, progress, log)


def _weights_of(network):
    """The tensors that pre-training changes, by name."""
    state = network.state_dict()
    return {k: v for k, v in state.items() if k.split(".")[0] in ("encoders", "decoders")}


@contextlib.contextmanager
def _shelf(folder, *decides):
    """The folder of a pre-training, named by what decides it, for one process at a time."""
    about = code_hash(PACKAGE), torch.__version__, torch.get_num_threads(), processor()
    shelf = folder / joblib.hash(_plain((about, decides)))
    with FileLock(shelf / "lock"):  # makes the folder; another process may be computing just this
        yield shelf


def _plain(value):
    """Numbers, texts and tensors as joblib can hash them."""
    if isinstance(value, SparseView):
        value = value.shape, value.rows, value.columns, value.values
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, torch.Tensor):
        return str(value.device), value.detach().cpu().numpy()
    return value


def _load(shelf, network, epochs, progress):
    """Take the longest kept state of at most so many epochs: its records, or an empty list."""
    kept_epochs = sorted((int(path.stem) for path in shelf.glob("*.safetensors")), reverse=True)
    for epoch in (e for e in kept_epochs if e <= epochs):
        try:
            tensors, numbers = read_tensors(shelf / f"{epoch}.safetensors")
        except ValueError:
            continue  # damaged: it is computed again
        weights = {k: v for k, v in tensors.items() if not k.startswith("optimiser.")}
        network.load_state_dict(network.state_dict() | weights)
        progress.epoch, progress.stored = epoch, optimiser_state(tensors, numbers["groups"])
        return [Kept(*values) for values in numbers["records"]]
    return []


def _save(shelf, network, progress, log):
    optimiser = progress.optimiser_state()
    numbers = {
        "groups": optimiser["param_groups"],
        "records": [dataclasses.astuple(record) for record in log],
    }
    tensors = _weights_of(network) | dict(leaves({"optimiser": optimiser["state"]}))
    write_tensors(shelf / f"{progress.epoch}.safetensors", tensors, numbers)
