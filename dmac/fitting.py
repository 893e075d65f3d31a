"""From checked views to a trained network: the fit behind the estimator, whole or in shards.

Chapter 8 of the book walks through its steps.
"""

import contextlib
import dataclasses
from dataclasses import dataclass

import numpy as np
import torch

from dmac.compute import parallel
from dmac.compute.checkpoint import Checkpoint, Progress
from dmac.compute.layers import view_tensor
from dmac.compute.streaming import StreamedView
from dmac.data.disk import StreamedArray
from dmac.data.pipeline import ViewPipeline
from dmac.embedding import PretrainRecord, pretrain
from dmac.network import Network
from dmac.training import EpochRecord, anchor_source, train


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves; the rows of the embedding (n, d) are the samples ``order`` of the views."""

    pipelines: list
    network: Network
    embedding: np.ndarray
    anchors: np.ndarray
    order: np.ndarray
    pretrain_history: list
    history: list


def pretrain_network(network, views, recipe, progress, log):
    """`dmac.embedding.pretrain` of a network under a recipe.

    Parameters
    ----------
    network : dmac.network.Network
        Its encoders and decoders are trained in place.
    views : list of v tensors, SparseViews or StreamedViews
    recipe : dmac.recipes.Recipe
    progress : dmac.compute.checkpoint.Progress
        Where an earlier run stopped, and where this one is.
    log : list of dmac.embedding.PretrainRecord
        The records of the epochs that are done; whoever iterates appends to it.

    Yields
    ------
    dmac.embedding.PretrainRecord
    """
    return pretrain(
        network.encoders,
        network.decoders,
        views,
        epochs=recipe.pretrain_epochs,
        lr=recipe.pretrain_lr,
        normalize=recipe.normalize_embedding,
        progress=progress,
    )


_pretraining = pretrain_network


@contextlib.contextmanager
def pretrained_by(function):
    """Within it, fits of this process pre-train by another function of the same arguments.

    The experiments use it to share one pre-training among many fits.

    Parameters
    ----------
    function : callable
        As `pretrain_network`.
    """
    global _pretraining
    before, _pretraining = _pretraining, function
    try:
        yield
    finally:
        _pretraining = before


def fit_network(
    views, n_clusters, recipe, *, n_anchors, seed, generator, device, dtype, callback, checkpoint
):
    """Shuffle, prepare the views, pre-train and train; see :meth:`dmac.DMAC.fit`.

    Within :func:`dmac.compute.parallel.sharded` every process keeps its part of the shuffled samples, and
    all return the same.

    Parameters
    ----------
    views : list of v checked views
    n_clusters : int
    recipe : dmac.recipes.Recipe
    n_anchors : int
    seed : int
        What ``generator`` was seeded with, for the checkpoint.
    generator : torch.Generator
    device : torch.device
    dtype : torch.dtype
    callback : callable or None
    checkpoint : (folder, int) or None
        Where to keep the state of the fit, and every how many epochs.

    Returns
    -------
    Fitted
    """
    n = views[0].shape[0]
    order = torch.randperm(n, generator=generator).numpy()
    back = np.argsort(order)
    width = max(1, round(recipe.components * n_clusters)) if recipe.components else None
    pipelines = [ViewPipeline(recipe.root, width, recipe.whitening_ridge) for _ in views]
    streams = any(isinstance(x, StreamedArray) for x in views)
    whole = width is not None or parallel.shards() is not None
    prepare = _streamed if streams and not whole else _prepared
    tensors = [prepare(p, x, order, dtype, device) for p, x in zip(pipelines, views)]
    dims = tuple(pipeline.n_features_out_ for pipeline in pipelines)
    network = Network(dims, n_clusters, recipe, generator=generator).to_device(device, dtype)
    network.store_for(tensors)
    source = anchor_source(network, tensors, n_anchors, recipe, generator)

    def embed():
        with torch.no_grad():
            return parallel.gather(network.embed(tensors)[1]).cpu().numpy()

    kept, stored = None, None
    if checkpoint is not None:
        about = {
            "recipe": dataclasses.asdict(recipe),
            "n_clusters": int(n_clusters),
            "seed": seed,
            "shapes": [list(x.shape) for x in views],
            "dtype": str(dtype),
        }
        kept = Checkpoint(*checkpoint, about)
        stored = kept.load()
    histories, progress = ([], []), [Progress(), Progress()]
    if stored:
        network.load_state_dict(stored["network"])
        network.to_device(device, dtype)
        generator.set_state(stored["generator"])
        source.restore({k: v.to(device) for k, v in stored["source"].items()})
        for log, kind, found in zip(histories, (PretrainRecord, EpochRecord), stored["histories"]):
            log.extend(kind(**record) for record in found)
        progress[stored["phase"]] = stored["progress"]
        if stored["phase"] == 1:
            progress[0] = Progress(recipe.pretrain_epochs)
    phases = (
        _pretraining(network, tensors, recipe, progress[0], histories[0]),
        train(network, tensors, n_clusters, source, recipe, progress[1]),
    )
    lengths = recipe.pretrain_epochs, recipe.epochs
    with torch.enable_grad():  # whatever the caller has switched off
        for phase, (records, log) in enumerate(zip(phases, histories)):
            for record in records:
                log.append(record)
                if kept and (record.epoch % kept.every == 0 or record.epoch == lengths[phase]):
                    kept.save(phase, progress[phase], network, generator, source, histories)
                if callback is not None:
                    callback(record, lambda: embed()[back])

    embedding = embed()
    if not np.isfinite(embedding).all():
        raise FloatingPointError("the embedding is not finite at the last epoch: lower the lr")
    with torch.no_grad():
        mine = embedding[parallel.my_rows(n)]
        anchors = source.anchors(torch.as_tensor(mine, device=device)).cpu().numpy()
    network.store_factor(tensors)
    return Fitted(pipelines, network, embedding, anchors, order, *histories)


def _prepared(pipeline, x, order, dtype, device):
    """Fit a view's pipeline and move this process's samples, in the fit's order, to the device.

    The pipeline is fitted on all samples in every process: from disk that is a few passes.
    """
    rows = parallel.my_rows(x.shape[0])
    if not isinstance(x, StreamedArray):
        return view_tensor(pipeline.fit_transform(x[order])[rows], dtype, device)
    whitened = pipeline.fit_streamed(x)
    if whitened is not None:
        return view_tensor(whitened[order[rows]], dtype, device)
    out = torch.empty(rows.stop - rows.start, x.shape[1], dtype=dtype)
    place = np.full(x.shape[0], -1)
    place[order[rows]] = np.arange(len(out))
    for part in x.slices():
        mine = place[part] >= 0
        if mine.any():
            found = pipeline.transform(x.read(part)[mine])
            out[place[part][mine]] = torch.as_tensor(found, dtype=dtype)
    return out.to(device)


def _streamed(pipeline, x, order, dtype, device):
    """The same in blocks in the order of the disk, for all views as soon as one is there."""
    if isinstance(x, StreamedArray):
        pipeline.fit_streamed(x)
        return StreamedView(
            lambda rows: pipeline.transform(x.read(rows)), x.shape, order, dtype, device
        )
    x = pipeline.fit_transform(x)
    return StreamedView(lambda rows: x[rows], x.shape, order, dtype, device)
