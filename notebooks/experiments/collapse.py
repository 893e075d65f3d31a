"""RELEASED and its variants on every fifth numeral, watched epoch by epoch: the runs of chapter 9.

They are short and made while the page is rendered; those of the store are whole ones.
:mod:`experiments.collapse_figures` draws them.
"""

import math
from dataclasses import asdict, replace

import pandas as pd
import torch

import dmac
from dmac import diagnostics
from dmac.compute import kmeans
from dmac.data.whitening import normalize_rows
from dmac.embedding import pretrain
from dmac.network import Network
from dmac.recipes import RELEASED
from dmac.sampling import EmbeddingAnchors
from dmac.training import train


class Watched(EmbeddingAnchors):
    """A source of anchors that keeps what a record lacks: the embedding before the step.

    ``z`` is the fused embedding, (n, d), and ``f`` the mean entropy of the rows of all F over
    log c.
    """

    def draws(self, zs, z, k):
        """Those of :class:`~dmac.sampling.EmbeddingAnchors`, with the state kept."""
        (draw,) = super().draws(zs, z, k)
        self.z = z.detach().double()
        both = zip(self.network.convolutions, *draw.convolution_inputs(zs))
        f = torch.stack([agcn(s, u).detach() for agcn, s, u in both])
        entropy = -torch.special.xlogy(f, f).sum(2).mean().item()
        self.f = entropy / math.log(f.shape[2])
        return [draw]


class Numerals:
    """Every fifth numeral, and RELEASED pre-trained on them from several seeds.

    Parameters
    ----------
    seeds : int
    pretrain_epochs : int

    Attributes
    ----------
    rows : list of array of shape (400, d_a)
        The views with rows of unit length; ``views`` are the same as tensors of float32.
    truth : array of shape (400,)
        The digits.
    n_clusters, n_anchors : int
        10 and 63.
    """

    def __init__(self, seeds=3, pretrain_epochs=30):
        data = dmac.load("mfeat")
        self.rows = [normalize_rows(x[::5]) for x in data.views]
        self.views = [torch.as_tensor(x).float() for x in self.rows]
        self.truth, self.n_clusters = data.labels[::5], data.n_clusters
        self.n_anchors = math.isqrt(len(self.truth) * self.n_clusters)
        self._pretrained = [self._pretrain(seed, pretrain_epochs) for seed in range(seeds)]

    def _pretrain(self, seed, epochs):
        network = self._untrained(RELEASED, torch.Generator().manual_seed(seed))
        parts = network.encoders, network.decoders
        list(pretrain(*parts, self.views, epochs=epochs, lr=RELEASED.pretrain_lr, normalize=True))
        return network.state_dict()

    def _untrained(self, recipe, generator):
        dims = [x.shape[1] for x in self.views]
        return Network(dims, self.n_clusters, recipe, generator=generator)

    def network(self, seed, recipe=RELEASED, generator=None):
        """The network of a recipe, pre-trained from a seed."""
        network = self._untrained(recipe, generator)
        network.load_state_dict(self._pretrained[seed], strict=False)
        return network

    def run(self, seed, epochs, **changes):
        """Train RELEASED with some fields changed.

        Yields
        ------
        dict
            The record of an epoch, with its ``seed``, the ``spread`` (1 − mean cosine), and ``z``
            and ``f`` of `Watched`; all of them describe the state before the epoch's step.
        """
        recipe = replace(RELEASED, epochs=epochs, **changes)
        generator = torch.Generator().manual_seed(seed)
        network = self.network(seed, recipe, generator)
        source = Watched(network, self.n_anchors, recipe, generator)
        for r in train(network, self.views, self.n_clusters, source, recipe):
            seen = {"seed": seed, "f": source.f, "z": source.z}
            yield asdict(r) | seen | {"spread": 1 - r.mean_cosine}

    def runs(self, epochs=10, **changes):
        """The records of `run` from all seeds.

        Returns
        -------
        pandas.DataFrame
            By ``seed`` and ``epoch``; ``entropy`` is the anchor learning loss over log m and
            ``empty`` the share of empty anchors.
        """
        seeds = range(len(self._pretrained))
        table = pd.DataFrame([r for seed in seeds for r in self.run(seed, epochs, **changes)])
        table["entropy"] = table.anchor_learning / math.log(self.n_anchors)
        table["empty"] = table.empty_anchors / self.n_anchors
        return table.set_index(["seed", "epoch"])

    def residuals(self, embeddings):
        """What is left of an embedding when its mean is subtracted.

        Parameters
        ----------
        embeddings : pandas.Series of tensor of shape (n, d)
            By ``seed`` and ``epoch``.

        Returns
        -------
        pandas.DataFrame
            Of every embedding the effective ``rank`` of the residual, its share in the ``first
            ten`` principal directions of the views side by side in %, and the ``acc`` of k-means
            in %.
        """
        joint = torch.cat(self.views, 1).double()
        top = torch.linalg.svd(joint - joint.mean(0))[0][:, :10]
        rows = []
        for (seed, _), z in embeddings.items():
            z = z - z.mean(0)
            found = kmeans.kmeans(z.numpy(), self.n_clusters, seed, n_init=10).labels_
            share = ((top.T @ z).norm() / z.norm()).square().item()
            acc = dmac.scores(self.truth, found)["acc"]
            rows.append([diagnostics.effective_rank(z), 100 * share, 100 * acc])
        return pd.DataFrame(rows, embeddings.index, ["rank", "first ten", "acc"])


def checkup(model):
    """Four numbers that tell whether a fitted model's embedding has collapsed, without labels.

    Parameters
    ----------
    model : dmac.DMAC
        Of a recipe that trains.

    Returns
    -------
    dict of str to float
        Near 1, 1, 0 and 1 at a collapse.
    """
    z = torch.as_tensor(model.embedding_).double()
    return {
        "mean cosine": diagnostics.mean_cosine(z),
        "effective rank": diagnostics.effective_rank(z),
        "centred part": (diagnostics.singular_values(z).norm() / z.norm()).item(),
        "empty anchors": model.history_[-1].empty_anchors / model.n_anchors_,
    }
