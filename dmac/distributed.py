r"""Fit views on disk with several processes, on one machine or many.

    torchrun --nproc-per-node 4 -m dmac.distributed a.npy b.npy --clusters 10 \
        --checkpoint run --labels labels.npy

The samples of a network are sharded: a process keeps its part of the prepared views and of every
embedding, and only sums travel (:mod:`dmac.compute.parallel`). Of the closed form the first process
fits a part of the samples, and every process places its own; the model travels once, and before it
the moments of the views are added up. The labels are those of one process, up to rounding. When a
process is lost the others stop with an error, and the same command goes on from the checkpoint.
On several machines every node runs the command with ``--nnodes``,
``--rdzv-backend c10d`` and ``--rdzv-endpoint`` of torchrun, and sees the same files.

Each process takes a GPU of its machine if there is one for each of them, and all take the processor
otherwise.

The page on costs in the record of the book derives why the gradient is the same.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
import torch.distributed as dist

from dmac._types import Views
from dmac.compute import parallel
from dmac.data.checks import check_views
from dmac.data.safe_files import open_hdf5
from dmac.estimator import DMAC


def open_view(path: str) -> Any:
    """Open a view on disk without reading it.

    Parameters
    ----------
    path : str
        ``name.npy``, or ``name.h5:key`` for a data set in an HDF5 file.

    Returns
    -------
    numpy.memmap or h5py.Dataset

    Raises
    ------
    FileNotFoundError
    ValueError
        If the name has no known ending, or the file names others.
    """
    file, _, key = str(path).partition(":")
    if file.endswith(".npy"):
        return np.lib.format.open_memmap(file, mode="r")  # np.load would take an archive as well
    if file.endswith((".h5", ".hdf5")):
        return open_hdf5(file)[key or "view"]
    raise ValueError(f"{path} is no view on disk: pass name.npy or name.h5:key")


def fit_sharded(model: DMAC, views: Views, **options: Any) -> DMAC:
    """Fit an estimator within a process group that is already initialised.

    With GPUs the group has two backends, ``init_process_group("cpu:gloo,cuda:nccl")``.

    Parameters
    ----------
    model : dmac.DMAC
        The same in every process. Where ``random_state`` is None the first process draws the seed.
    views : list of v array_likes of shape (n, d_a)
        The whole views in every process, best on disk: each keeps its own samples only.
    **options
        For :meth:`dmac.DMAC.fit`.

    Returns
    -------
    dmac.DMAC
        The model, fitted; the same in every process.

    Raises
    ------
    ValueError
        As :meth:`dmac.DMAC.fit`.
    RuntimeError
        If a process is lost, or the group cannot add up tensors on the processor.
    """
    checked = check_views(views, streamed=True, incomplete=True, present=options.get("present"))
    with parallel.sharded(checked[0].shape[0]):
        return model.fit(views, **options)


@click.command(help=__doc__.splitlines()[0])
@click.argument("views", nargs=-1, required=True, metavar="NAME.npy|NAME.h5:KEY...")
@click.option("--clusters", type=int, required=True)
@click.option("--recipe", default="closed_form", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--dtype", default="float32", show_default=True)
@click.option("--checkpoint", help="A folder for the state of the fit.")
@click.option("--checkpoint-every", type=int, default=10, show_default=True, help="Epochs.")
@click.option("--labels", "out", default="labels.npy", show_default=True, help="Where labels go.")
@click.option("--model", "folder", help="A folder for the fitted model.")
def main(
    views: tuple[str, ...],
    clusters: int,
    recipe: str,
    seed: int,
    dtype: str,
    checkpoint: str | None,
    checkpoint_every: int,
    out: str,
    folder: str | None,
) -> None:
    """Entry point of ``python -m dmac.distributed``, one process of a torchrun."""
    if "RANK" not in os.environ:
        sys.exit("start this with torchrun, as in: torchrun --nproc-per-node 2 -m dmac.distributed")
    # NCCL refuses two processes on one GPU.
    gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = f"cuda:{os.environ['LOCAL_RANK']}" if gpu else "cpu"
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group(parallel.GPU_BACKENDS if gpu else "gloo")
    try:
        model = DMAC(clusters, recipe, random_state=seed, device=device, dtype=dtype)
        opened, labels = [open_view(path) for path in views], Path(out)
        n = opened[0].shape[0]
        unfinished = labels.with_name(f"{labels.name}.unfinished")
        if dist.get_rank() == 0:
            np.lib.format.open_memmap(unfinished, "w+", np.int64, (n,))
        dist.barrier()
        into = np.lib.format.open_memmap(unfinished, "r+")
        with parallel.sharded(n):
            model._fit(opened, None, None, checkpoint, checkpoint_every, into)
        if dist.get_rank() == 0:
            into[:] = model.labels_
            into.flush()
            unfinished.replace(labels)
            if folder:
                model.save(folder)
            print(f"{labels}: {n} labels", flush=True)
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
