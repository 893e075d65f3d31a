"""The solver of :class:`dmac.recipes.NetworkRecipe`: a network is trained, and its Z clustered.

Chapter 8 of the book walks through the algorithm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from dmac._types import Array, PathLike
from dmac._warn import warn
from dmac.anchors import n_anchors_for
from dmac.compute.checkpoint import Checkpoint, Progress
from dmac.compute.interruption import deferred
from dmac.compute.kmeans import kmeans
from dmac.compute.progress_bar import count_epoch
from dmac.compute.streaming import PreparedView
from dmac.data.checks import digest
from dmac.data.pipeline import ViewPipeline
from dmac.embedding import PretrainRecord, pretrain
from dmac.network import Network
from dmac.recipes import NetworkRecipe
from dmac.sampling import AnchorSource
from dmac.solvers.contract import (
    Callback,
    Outcome,
    Plan,
    Prepared,
    Solver,
    check_anchors,
    check_clusters,
    final_rows,
)
from dmac.training import EpochRecord, anchor_source, neighbors_at, train


class NetworkSolver(Solver):
    """Encoders that are trained on the joint loss :eq:`eq:joint-loss`, and k-means on the last Z.

    Samples must have all views: the fusion is the mean over them, and an encoder takes zeros for
    values.

    Parameters
    ----------
    recipe : dmac.recipes.NetworkRecipe
    """

    def plan(self, n_samples: int, widths: Sequence[int], n_clusters: int) -> Plan:
        r"""The plan of a fit; c, d, m and k that do not fit n samples are refused.

        An epoch takes :math:`n \sum_a (r_a h + h d) + n m \sum_a r_a` multiplications, about. The
        first sum is that of the encoders, the second that of the distances to the anchors, which in
        the embedding have the width d for every view :eq:`eq:epoch-operations`. Views are whitened
        to :math:`r_a` directions, the recipe's number or all.
        """
        recipe = self.recipe
        check_clusters(n_samples, n_clusters)
        d = n_clusters if recipe.embedding_dim is None else recipe.embedding_dim
        if recipe.orthonormal and d > n_samples:
            raise ValueError(
                f"embedding_dim is {d}, but {n_samples} samples have no {d} orthogonal columns: "
                f"set it to at most {n_samples} in the recipe, or orthonormal to False"
            )
        m = recipe.n_anchors
        if m is None:
            m = n_anchors_for(n_samples, n_clusters, recipe.anchor_factor, recipe.anchor_share)
        epochs = range(1, max(recipe.epochs, 1) + 1)
        check_anchors(
            n_samples, m, max(neighbors_at(epoch, recipe, m, n_clusters) for epoch in epochs)
        )
        most = max(1, round(recipe.components * n_clusters)) if recipe.components else None
        inputs = sum(width if most is None else min(width, most) for width in widths)
        encoders = recipe.hidden_dim * (inputs + len(widths) * d)
        compared = inputs if recipe.anchor_space == "views" else len(widths) * d
        return Plan(
            recipe=recipe,
            n_clusters=n_clusters,
            n_fitted=n_samples,
            n_anchors=m,
            pipelines=[
                ViewPipeline(recipe.root, most, recipe.whitening_ridge, recipe.columns)
                for _ in widths
            ],
            work=encoders + m * compared,
            epochs={"PretrainRecord": recipe.pretrain_epochs, "EpochRecord": recipe.epochs},
        )

    def network(
        self, widths: Sequence[int], n_clusters: int, generator: torch.Generator
    ) -> Network:
        """The network for views of some widths, its weights drawn."""
        return Network(widths, n_clusters, self.recipe, generator=generator)

    def source(
        self,
        network: Network,
        views: Sequence[PreparedView],
        n_anchors: int,
        generator: torch.Generator,
    ) -> AnchorSource:
        """The source of each epoch's anchors and graphs."""
        return anchor_source(network, views, n_anchors, self.recipe, generator)

    def pretrain(
        self, network: Network, views: Sequence[PreparedView], progress: Progress
    ) -> Iterator[PretrainRecord]:
        """Train encoders and decoders in place, from where an earlier run stopped."""
        return pretrain(
            network.encoders,
            network.decoders,
            views,
            epochs=self.recipe.pretrain_epochs,
            lr=self.recipe.pretrain_lr,
            normalize=self.recipe.normalize_embedding,
            progress=progress,
        )

    def solve(
        self,
        prepared: Prepared,
        plan: Plan,
        generator: torch.Generator,
        callback: Callback | None = None,
        checkpoint: tuple[PathLike, int] | None = None,
    ) -> Outcome:
        """Pre-train, train and cluster; see :meth:`dmac.DMAC.fit`.

        ``checkpoint`` is a folder for the state of the fit, and the epochs between two writes.

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
        recipe = self.recipe
        views = prepared.views
        n_clusters = plan.n_clusters
        widths = [pipeline.n_features_out_ for pipeline in prepared.pipelines]
        network = self.network(widths, n_clusters, generator)
        network.to_device(prepared.device, prepared.dtype).store_for(views)
        source = self.source(network, views, plan.n_anchors, generator)

        def embed() -> Array:
            with torch.no_grad():
                return network.embed(views)[1].cpu().numpy()

        state = _State(network, source, generator)
        file = None
        if checkpoint is not None:
            file = Checkpoint(*checkpoint, self._identity(prepared, n_clusters, generator))
            state.resume(file.load(), recipe)
        before, now = state.progress
        phases = (
            self.pretrain(network, views, before),
            train(network, views, n_clusters, source, recipe, now),
        )
        lengths = recipe.pretrain_epochs, recipe.epochs
        with torch.enable_grad(), deferred() as asked:  # whatever the caller has switched off
            for record in state.run(phases, lengths, file):
                count_epoch(record)
                if callback is not None:
                    callback(record, lambda: embed()[prepared.back])
                if asked.is_set() and not state.is_done(lengths):
                    _interrupt(state, lengths, file)
                    break

        z = embed()
        if not np.isfinite(z).all():
            raise FloatingPointError("the embedding is not finite at the last epoch: lower the lr")
        with torch.no_grad():
            anchors = source.anchors(torch.as_tensor(z, device=prepared.device)).cpu().numpy()
        network.store_factor(views)
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        last = kmeans(final_rows(z, recipe), n_clusters, seed, n_init=recipe.final_n_init)
        return Outcome(last.labels_, z, anchors, last.cluster_centers_, network, *state.histories)

    def restore(
        self,
        state: dict[str, Tensor],
        pipelines: list[ViewPipeline],
        n_clusters: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> Network:
        """A network with stored weights."""
        widths = [pipeline.n_features_out_ for pipeline in pipelines]
        network = self.network(widths, n_clusters, torch.Generator())
        network.to_device(device, dtype)  # first: loading would round to the network's own type
        network.load_state_dict(state)
        return network

    def _identity(
        self, prepared: Prepared, n_clusters: int, generator: torch.Generator
    ) -> dict[str, Any]:
        """Identifies a fit: a checkpoint with another identity is refused."""
        return {
            "recipe": dataclasses.asdict(self.recipe),
            "n_clusters": int(n_clusters),
            "seed": generator.initial_seed(),
            "shapes": [list(x.shape) for x in prepared.sources],
            "data": digest(prepared.sources),
            "dtype": str(prepared.dtype),
        }


def _interrupt(state: _State, lengths: tuple[int, int], file: Checkpoint | None) -> None:
    """Ctrl-C was pressed: keep the state and stop, or say that the fit ends here."""
    phase = state.phase
    done = f"epoch {state.progress[phase].epoch} of {lengths[phase]}"
    where = f"{'training' if phase else 'pre-training'} {done}"
    if file:
        file.save(state)
        raise KeyboardInterrupt(
            f"interrupted after {where}: the same call goes on from {file.path}"
        )
    warn(
        f"interrupted after {where}: the model is the one of that epoch; a fit with checkpoint= "
        "can go on where it was",
        ConvergenceWarning,
    )


class _State:
    """Everything that a fit changes and a checkpoint holds.

    There are two phases, pre-training and training, each with its records and its progress.
    """

    def __init__(self, network: Network, source: AnchorSource, generator: torch.Generator) -> None:
        self.network = network
        self.source = source
        self.generator = generator
        self.histories: tuple[list[Any], list[Any]] = ([], [])
        self.progress = [Progress(), Progress()]
        self.phase = 0

    def resume(self, stored: dict[str, Any] | None, recipe: NetworkRecipe) -> None:
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
                    file.save(self)
                yield record

    def is_done(self, lengths: tuple[int, int]) -> bool:
        """Whether the last epoch of all was done."""
        return sum(progress.epoch for progress in self.progress) >= sum(lengths)
