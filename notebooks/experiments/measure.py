"""One fit of DMAC, measured: its scores epoch by epoch, its embedding, and its seconds.

Labels score the fit here; no fit sees them.
"""

import dataclasses
import os
import time
from unittest import mock

import numpy as np
import torch
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from dmac.agc.membership import memberships
from dmac.agc.model import SpectralModel
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans
from dmac.compute.threads import VARIABLE
from dmac.data.checks import as_views
from dmac.diagnostics import effective_rank, mean_cosine
from dmac.estimators import DMAC, AnchorGraphClustering, estimator_of
from dmac.metrics import matched, scores
from dmac.training import EpochRecord
from experiments.pretraining import Kept
from experiments.store import round_floats

_NEIGHBORS = 5  # of a sample, for the agreement of their labels
#: Points of a stored curve, at most.
CURVE = 60


class _Follower:
    """The callback of a fit: scores the start of the main training and each of its epochs."""

    def __init__(self, data, seed, pretrain_epochs):
        self._data, self._seed, self._pretrain_epochs = data, seed, pretrain_epochs
        self.epochs, self.start = [], {}
        self.loaded = 0  # epochs of pre-training that were read and not computed
        self._since = time.perf_counter()

    def seconds(self):
        """Of the fit until now, without those spent here, and without reading a pre-training."""
        return time.perf_counter() - self._since

    def __call__(self, record, embed):
        called = time.perf_counter()
        if isinstance(record, EpochRecord):
            self.epochs.append(_column(record) | self._score(embed()))
        else:
            if isinstance(record, Kept):
                self.loaded = record.epoch
                self._since = called  # until now it was read, or waited for
            if record.epoch == self._pretrain_epochs:
                z = embed()
                self.start = self._score(z) | _shape(z)
        self._since += time.perf_counter() - called

    def _score(self, z):
        if not np.isfinite(z).all():
            raise FloatingPointError("the embedding is not finite")
        predicted = kmeans(z.astype(np.float64), self._data.n_clusters, self._seed).labels_
        score = scores(self._data.labels, predicted)
        return {"acc": score["acc"], "nmi": score["nmi"]}


def measure(data, recipe, seed, *, device="cpu", keep=False):
    """Fit all samples, and score the result and every epoch on the way.

    The record has ``scores`` of the returned labels, of the best epoch (``oracle``), after the
    pre-training (``start``), and column by column of every epoch (``epochs``), as fractions;
    measures of the final ``embedding``; ``n_anchors``; ``seconds`` of the ``fit`` without its
    scoring, of its ``pretraining`` as if it had been computed here, and of its ``training``; and
    with ``keep`` the ``arrays`` that figures need.
    """
    model = estimator_of(recipe)(data.n_clusters, recipe, random_state=seed, device=device)
    follower = _Follower(data, seed, getattr(recipe, "pretrain_epochs", 0))
    trains = isinstance(model, DMAC)
    model.fit(data.views, **({"callback": follower} if trains else {}))
    seconds = follower.seconds()
    pretrained, trained = (model.pretrain_history_, model.history_) if trains else ([], [])
    pretraining = [record.seconds for record in pretrained]
    training = [record.seconds for record in trained]
    final, epochs, z = scores(data.labels, model.labels_), follower.epochs, model.embedding_
    record = {
        "scores": round_floats(final),
        "oracle": round_floats(_oracle(epochs, final)),
        "start": round_floats(follower.start),
        "epochs": {n: round_floats([e[n] for e in epochs], 5) for n in (epochs or [{}])[0]},
        "embedding": round_floats(_shape(z) | _agreement(z, data.labels)),
        "n_anchors": model.n_anchors_,
        "pretraining_loss": round_floats([r.loss for r in pretrained][-1:]),
        "seconds": round_floats(
            {
                "fit": seconds + sum(pretraining[: follower.loaded]),
                "pretraining": sum(pretraining),
                "training": sum(training),
            },
            5,
        ),
    }
    if keep:
        record["arrays"] = _arrays(model, data.labels)
    return record


def measure_held_out(data, recipe, seed, share, *, device="cpu"):
    """Fit all but a share of the samples, drawn by the seed, and predict that share.

    The record has ``scores`` of the predicted samples, ``fitted`` with those of the others, and
    ``seconds``.
    """
    order = np.random.default_rng(seed).permutation(data.n_samples)
    seen, unseen = np.split(order, [round((1 - share) * data.n_samples)])
    model = estimator_of(recipe)(data.n_clusters, recipe, random_state=seed, device=device)
    start = time.perf_counter()
    model.fit([x[seen] for x in data.views])
    seconds = time.perf_counter() - start
    predicted = model.predict([x[unseen] for x in data.views])
    return {
        "scores": round_floats(scores(data.labels[unseen], predicted)),
        "fitted": round_floats(scores(data.labels[seen], model.labels_)),
        "seconds": round_floats({"fit": seconds}, 5),
    }


def compare_threads(data, recipe, seed, threads):
    """Fit with one number of threads and with another, and count who changed the cluster.

    The record has the number of ``samples`` and of those with ``other_labels``, the ``ari`` of both
    fits, how far the ``embeddings_apart`` are, and of a closed form the share of `ties` (``tied``).
    """
    labels, embeddings = [], []
    for number in threads:
        with mock.patch.dict(os.environ, {VARIABLE: str(number)}):
            model = estimator_of(recipe)(data.n_clusters, recipe, random_state=seed, device="cpu")
            labels.append(model.fit_predict(data.views))
        embeddings.append(model.embedding_)
    agreed = scores(*labels)  # clusters are matched first
    # Columns of an embedding may come out with another sign.
    apart = np.abs(np.abs(embeddings[0]) - np.abs(embeddings[1])).max()
    return {
        "samples": data.n_samples,
        "other_labels": round(data.n_samples * (1 - agreed["acc"])),
        "ari": round(agreed["ari"], 4),
        "embeddings_apart": float(f"{apart:.1e}"),
        "tied": ties(model, data.views) if isinstance(model.model_, SpectralModel) else None,
    }


def ties(model, views):
    """The largest share, over blocks, of samples to which their k-th and next anchor are as near.

    Rounding decides which of the two such a sample takes.
    """
    fitted, k = model.model_, model.recipe_.n_neighbors
    checked = as_views(views, incomplete=True)
    prepared = [
        torch.as_tensor(pipeline.of_part(x)).to(fitted.dtype)
        for pipeline, x in zip(model.pipelines_, checked)
    ]
    shares = []
    for one in fitted.on_first_graph(prepared, np.column_stack([x.present for x in checked]))[0]:
        x, present = one.block.x.double(), one.block.present
        if one.sets.widths and present is not None:
            x = x[present.all(1)]
        far = torch.cdist(x, one.sets.u[0].double()).square().sort(1).values[:, k - 1 : k + 1]
        shares.append(float((far[:, 1] - far[:, 0] < 1e-6 * far[:, 1]).double().mean()))
    return round(max(shares), 4)


def sureness(true, predicted, sure, seed=0):
    """How well numbers ``sure`` (n,) tell right labels from wrong ones; clusters are matched.

    The area under the curve ``auc``, None where all are right or wrong; the accuracy of the surest
    tenth, two tenths and so on to all, ``curve``; and the ``mean`` of the numbers. Equal ones are
    put in a random order, since files are often sorted by class.
    """
    right = matched(true, predicted) == true
    order = np.lexsort((np.random.default_rng(seed).permutation(len(true)), -sure))
    ends = np.ceil(len(true) * np.arange(1, 11) / 10).astype(int)
    differ = 0 < right.sum() < len(true)
    return round_floats(
        {
            "auc": float(roc_auc_score(right, sure)) if differ else None,
            "curve": (right[order].cumsum()[ends - 1] / ends).tolist(),
            "mean": float(sure.mean()),
        }
    )


def stays(labels):
    """How often each sample stays with its cluster of the first fit in the others: (n,)."""
    return np.mean([matched(labels[0], other) == labels[0] for other in labels[1:]], axis=0)


def measure_sureness(fit, data, seed, fits):
    """Several fits and how sure their labels are: lists of `sureness`, one entry a fit.

    By ``membership``; of the closed form by the ``margin`` between the two nearest centres, too,
    and the rank correlation of the first fit's memberships with how often samples stay (`stays`),
    of which ``stay`` is the share that always do.
    """
    record, labels, first = {"membership": [], "margin": []}, [], None
    for number in range(seed, seed + fits):
        model = fit(number)
        labels.append(model.labels_)
        about = data.labels, model.labels_
        if isinstance(model, AnchorGraphClustering):
            shares = model.membership_
            far = np.sort(cdist(model.embedding_, model.cluster_centers_), axis=1)
            record["margin"].append(sureness(*about, far[:, 1] - far[:, 0], number))
        else:
            shares = memberships(model.graph_, np.eye(data.n_clusters)[model.labels_])
        own = shares[np.arange(len(shares)), model.labels_]
        first = own if first is None else first
        record["membership"].append(sureness(*about, own, number))
    if fits > 1:
        stay = stays(labels)
        record["stay"] = round(float((stay == 1).mean()), 4)
        rank = spearmanr(stay, first).statistic if np.ptp(stay) > 0 else None
        record["rank_correlation"] = rank and round(float(rank), 4)
    return record


def _column(record):
    others = ("epoch", "seconds", "n_neighbors", "mean_cosine")
    column = {k: v for k, v in dataclasses.asdict(record).items() if k not in others}
    return column | {"one_minus_cosine": 1 - record.mean_cosine}


def _oracle(epochs, final):
    """The best of the epochs and of the final labels by each metric, and the epoch from 1."""
    best = {}
    for metric in ("acc", "nmi"):
        values = [epoch[metric] for epoch in epochs] + [final[metric]]
        place = int(np.argmax(values))
        best |= {metric: values[place], f"{metric}_epoch": min(place + 1, len(epochs))}
    return best


def _shape(z):
    return {"one_minus_cosine": 1 - mean_cosine(z), "effective_rank": effective_rank(z)}


def _agreement(z, labels):
    """How well neighbours in an embedding share their labels, and how far the classes are apart."""
    from sklearn.metrics import silhouette_score
    from sklearn.neighbors import NearestNeighbors

    z = z.astype(np.float64)
    nearest = NearestNeighbors(n_neighbors=_NEIGHBORS, algorithm="brute").fit(z).kneighbors()[1]
    return {
        "neighbors": float((labels[nearest] == labels[:, None]).mean()),
        "silhouette": float(silhouette_score(z, labels)),
    }


def _arrays(model, labels):
    """For the figures: anchors, the class most of their samples have, and Z in the plane."""
    z, u = torch.as_tensor(model.embedding_), torch.as_tensor(model.anchors_)
    d2 = squared_distances(z.double(), u.double()).numpy()
    classes = labels[d2.argmin(0)]  # of the nearest sample, for an anchor without samples
    for anchor, members in enumerate(d2.argmin(1) == np.arange(len(u))[:, None]):
        if members.any():
            classes[anchor] = np.bincount(labels[members]).argmax()
    return {
        "anchors": model.anchors_.astype(np.float32),
        "anchor_classes": classes.astype(np.int16),
        "plane": plane(model.embedding_).astype(np.float32),
        "classes": labels.astype(np.int16),
    }


def plane(z, seed=0):
    """UMAP of an embedding in two dimensions (McInnes et al. 2018): (n, d) -> (n, 2)."""
    import warnings

    # Of compiled code, and that a seed means one thread.
    with warnings.catch_warnings(action="ignore"):
        import umap

        return umap.UMAP(random_state=seed).fit_transform(z)


def curves_of(history):
    """The losses of every stage of another system's training, at most `CURVE` of them.

    Stage to how many ``epochs`` it had, and the lists ``epoch``, evenly spaced on a log scale from
    the first to the last, and ``loss``. Empty for a system without stages.
    """
    stages = {}
    for record in history:
        if hasattr(record, "stage"):
            stages.setdefault(record.stage, []).append(record.loss)
    curves = {}
    for stage, losses in stages.items():
        kept = np.unique(np.geomspace(1, len(losses), CURVE).round().astype(int)).tolist()
        values = round_floats([float(losses[epoch - 1]) for epoch in kept])
        curves[stage] = {"epochs": len(losses), "epoch": kept, "loss": values}
    return curves
