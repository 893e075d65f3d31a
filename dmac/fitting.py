"""From checked views to a trained network: the fit behind the estimator, whole or in shards.

Chapter 8 of the book walks through its steps.
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

from dmac.compute import parallel
from dmac.compute.checkpoint import Checkpoint, Progress
from dmac.compute.interruption import deferred
from dmac.compute.kmeans import kmeans
from dmac.compute.layers import view_tensor
from dmac.compute.progress_bar import announce
from dmac.compute.streaming import StreamedView
from dmac.data.digest import digest
from dmac.data.disk import StreamedArray
from dmac.data.levels import LevelPipeline
from dmac.data.pipeline import ViewPipeline
from dmac.data.whitening import RowNormalizer
from dmac.embedding import PretrainRecord, pretrain
from dmac.network import Network
from dmac.spectral import fit_spectral
from dmac.training import EpochRecord, anchor_source, train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    from torch import Tensor

    from dmac._types import Array, Floats, Integers, Matrix, PathLike
    from dmac.compute.streaming import PreparedView
    from dmac.recipes import Recipe
    from dmac.sampling import AnchorSource
    from dmac.spectral_model import SpectralModel

    Callback: TypeAlias = Callable[[Any, Callable[[], Array]], object]
    Pretraining: TypeAlias = Callable[..., Iterator[PretrainRecord]]


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves; labels (n,) and embedding (n, d) are in the caller's order."""

    pipelines: list[Any]
    network: Network | SpectralModel
    labels: Integers
    embedding: Floats
    anchors: Floats
    centers: Floats
    pretrain_history: list[PretrainRecord]
    history: list[EpochRecord]


def pretrain_network(
    network: Network,
    views: Sequence[PreparedView],
    recipe: Recipe,
    progress: Progress,
    log: list[PretrainRecord],
) -> Iterator[PretrainRecord]:
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
def pretrain_with(function: Pretraining) -> Iterator[None]:
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
    views: Sequence[Matrix],
    n_clusters: int,
    recipe: Recipe,
    *,
    n_anchors: int,
    seed: int,
    device: torch.device,
    dtype: torch.dtype,
    callback: Callback | None = None,
    checkpoint: tuple[PathLike, int] | None = None,
) -> Fitted:
    """Shuffle, prepare the views, pre-train, train and cluster; see :meth:`dmac.DMAC.fit`.

    The samples are shuffled here and put back here: nothing outside sees the fit's own order.
    Within :func:`dmac.compute.parallel.sharded` every process keeps its part of the shuffled
    samples, and all return the same.

    Parameters
    ----------
    views : list of v checked views
    n_clusters : int
    recipe : dmac.recipes.Recipe
    n_anchors : int
    seed : int
        Draws everything that is random.
    device : torch.device
    dtype : torch.dtype
    callback : callable or None
    checkpoint : (folder, int) or None
        Where to keep the state of the fit, and every how many epochs.

    Returns
    -------
    Fitted

    Raises
    ------
    FloatingPointError
        If a loss or the embedding stops being finite.
    KeyboardInterrupt
        If Ctrl-C was pressed in a fit with a checkpoint: it is written before.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If Ctrl-C was pressed in a fit without one: it ends after the epoch that was running.
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(views[0].shape[0], generator=generator).numpy()
    back = np.argsort(order)
    pipelines, tensors = prepare_views(views, n_clusters, recipe, order, dtype, device)
    if recipe.solver == "spectral":
        return _without_network(
            pipelines, tensors, n_clusters, recipe, n_anchors, generator, back, dtype
        )
    dims = tuple(pipeline.n_features_out_ for pipeline in pipelines)
    network = Network(dims, n_clusters, recipe, generator=generator).to_device(device, dtype)
    network.store_for(tensors)
    source = anchor_source(network, tensors, n_anchors, recipe, generator)

    def embed() -> Array:
        with torch.no_grad():
            return parallel.gather(network.embed(tensors)[1]).cpu().numpy()

    state = _State(network, source, generator)
    file = None
    if checkpoint is not None:
        file = Checkpoint(*checkpoint, _identity(views, n_clusters, recipe, seed, dtype))
        state.resume(file.load(), recipe)
    phases = (
        _pretraining(network, tensors, recipe, state.progress[0], state.histories[0]),
        train(network, tensors, n_clusters, source, recipe, state.progress[1], state.histories[1]),
    )
    lengths = recipe.pretrain_epochs, recipe.epochs
    with torch.enable_grad(), deferred() as request:  # whatever the caller has switched off
        for record in state.run(phases, lengths, file):
            if callback is not None:
                callback(record, lambda: embed()[back])
            if request.made and not state.is_done(lengths):
                _interrupt(state, lengths, file)
                break

    z = embed()
    if not np.isfinite(z).all():
        raise FloatingPointError("the embedding is not finite at the last epoch: lower the lr")
    with torch.no_grad():
        mine = torch.as_tensor(z[parallel.my_rows(len(z))], device=device)
        anchors = source.anchors(mine).cpu().numpy()
    network.store_factor(tensors)
    last = kmeans(
        final_rows(z, recipe),
        n_clusters,
        int(torch.randint(2**31 - 1, (), generator=generator)),
        n_init=recipe.final_n_init,
    )
    labels = last.labels_[back].astype(np.int64)
    return Fitted(
        pipelines, network, labels, z[back], anchors, last.cluster_centers_, *state.histories
    )


def _interrupt(state: _State, lengths: tuple[int, int], file: Checkpoint | None) -> None:
    """Ctrl-C was pressed: keep the state and stop, or say that the fit ends here."""
    phase = state.phase
    done = f"epoch {state.progress[phase].epoch} of {lengths[phase]}"
    where = f"{'training' if phase else 'pre-training'} {done}"
    if file:
        state.write(file)
        raise KeyboardInterrupt(
            f"interrupted after {where}: the same call goes on from {file.path}"
        )
    warnings.warn(
        f"interrupted after {where}: the model is the one of that epoch; a fit with checkpoint= "
        "can go on where it was",
        ConvergenceWarning,
        stacklevel=4,
    )


def _without_network(
    pipelines: list[LevelPipeline],
    tensors: list[Tensor],
    n_clusters: int,
    recipe: Recipe,
    n_anchors: int,
    generator: torch.Generator,
    back: Array,
    dtype: torch.dtype,
) -> Fitted:
    """The spectral recipe; it has no epochs, so there is nothing to call back or to resume."""
    found = fit_spectral(
        tensors,
        [pipeline.widths_ for pipeline in pipelines],
        [pipeline.spread_ for pipeline in pipelines],
        n_clusters,
        recipe,
        n_anchors=n_anchors,
        generator=generator,
    )
    kind = torch.empty(0, dtype=dtype).numpy().dtype
    return Fitted(
        pipelines,
        found.model,
        found.labels[back].astype(np.int64),
        found.embedding[back].astype(kind),
        found.anchors.astype(kind),
        found.centers,
        [],
        [],
    )


def final_rows(z: Array, recipe: Recipe) -> Floats:
    """What the final k-means sees of an embedding (n, d): float64, of unit length if asked for."""
    z = z.astype(np.float64)
    return RowNormalizer.with_floor(1e-9).transform(z) if recipe.final_unit_rows else z


def _identity(
    views: Sequence[Matrix], n_clusters: int, recipe: Recipe, seed: int, dtype: torch.dtype
) -> dict[str, Any]:
    """What a fit that goes on from a checkpoint must have in common with the one that wrote it."""
    return {
        "recipe": dataclasses.asdict(recipe),
        "n_clusters": int(n_clusters),
        "seed": seed,
        "shapes": [list(x.shape) for x in views],
        "data": digest(views),
        "dtype": str(dtype),
    }


class _State:
    """What changes in the course of a fit, and what a checkpoint holds of it.

    There are two phases, pre-training and training, each with its records and its progress.
    """

    def __init__(self, network: Network, source: AnchorSource, generator: torch.Generator) -> None:
        self.network, self.source, self.generator = network, source, generator
        self.histories: tuple[list[Any], list[Any]] = ([], [])
        self.progress = [Progress(), Progress()]
        self.phase = 0

    def resume(self, stored: dict[str, Any] | None, recipe: Recipe) -> None:
        """Take over what :meth:`dmac.compute.checkpoint.Checkpoint.load` returned, if anything."""
        if stored is None:
            return
        like = next(self.network.parameters())
        self.network.load_state_dict(stored["network"])
        self.network.to_device(like.device, like.dtype)
        self.generator.set_state(stored["generator"])
        self.source.restore({k: v.to(like.device) for k, v in stored["source"].items()})
        kinds = PretrainRecord, EpochRecord
        for history, kind, records in zip(self.histories, kinds, stored["histories"]):
            history.extend(kind(**record) for record in records)
        self.progress[stored["phase"]] = stored["progress"]
        if stored["phase"] == 1:
            self.progress[0] = Progress(recipe.pretrain_epochs)

    def run(
        self,
        phases: tuple[Iterable[Any], Iterable[Any]],
        lengths: tuple[int, int],
        file: Checkpoint | None = None,
    ) -> Iterator[Any]:
        """Run both phases, keep and yield their records, and write checkpoints on the way."""
        for phase, (records, history) in enumerate(zip(phases, self.histories)):
            for record in records:
                history.append(record)
                self.phase = phase
                if file and (record.epoch % file.every == 0 or record.epoch == lengths[phase]):
                    self.write(file)
                yield record

    def write(self, file: Checkpoint) -> None:
        """Write a checkpoint of the last epoch that was done."""
        parts = self.network, self.generator, self.source, self.histories
        file.save(self.phase, self.progress[self.phase], *parts)

    def is_done(self, lengths: tuple[int, int]) -> bool:
        """Whether the last epoch of all was done."""
        last = max((phase for phase in (0, 1) if lengths[phase]), default=0)
        return self.phase == last and self.progress[last].epoch >= lengths[last]


def prepare_views(
    views: Sequence[Matrix],
    n_clusters: int,
    recipe: Recipe,
    order: Array,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[list[Any], list[Any]]:
    """Fit the views' pipelines; what they give goes to the device, in the fit's order.

    Parameters
    ----------
    views : list of v checked views
    n_clusters : int
    recipe : dmac.recipes.Recipe
    order : numpy.ndarray of shape (n,)
        A permutation of the samples.
    dtype : torch.dtype
    device : torch.device

    Returns
    -------
    pipelines : list of v fitted pipelines
    tensors : list of v prepared views
        Of this process's samples.
    """
    width = max(1, round(recipe.components * n_clusters)) if recipe.components else None
    pipelines: list[Any]
    if recipe.solver == "spectral":
        given = recipe.root, recipe.levels, width, recipe.whitening_ridge, recipe.plain_components
        pipelines = [LevelPipeline(*given) for _ in views]
    else:
        pipelines = [ViewPipeline(recipe.root, width, recipe.whitening_ridge) for _ in views]
    streams = any(isinstance(x, StreamedArray) for x in views)
    whole = width is not None or recipe.solver == "spectral" or parallel.shards() is not None
    prepare = _prepare_blocks if streams and not whole else _prepare_whole
    tensors = []
    for a, (pipeline, x) in enumerate(zip(pipelines, views), 1):
        announce(f"view {a}")
        tensors.append(prepare(pipeline, x, order, dtype, device))
    return pipelines, tensors


def _prepare_whole(
    pipeline: ViewPipeline | LevelPipeline,
    x: Matrix,
    order: Array,
    dtype: torch.dtype,
    device: torch.device,
) -> PreparedView:
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
            rows = pipeline.transform(x.read(part)[mine])
            out[place[part][mine]] = torch.as_tensor(rows, dtype=dtype)
    return out.to(device)


def _prepare_blocks(
    pipeline: ViewPipeline | LevelPipeline,
    x: Matrix,
    order: Array,
    dtype: torch.dtype,
    device: torch.device,
) -> PreparedView:
    """The same in blocks in the order of the disk, for all views as soon as one is there."""
    if isinstance(x, StreamedArray):
        pipeline.fit_streamed(x)
        return StreamedView(
            lambda rows: pipeline.transform(x.read(rows)), x.shape, order, dtype, device
        )
    x = pipeline.fit_transform(x)
    return StreamedView(lambda rows: x[rows], x.shape, order, dtype, device)
