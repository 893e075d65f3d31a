"""One run of one method on one data set with one seed, and all that a record says of it.

Only here do labels meet a fit, and only to score it.
"""

import contextlib
import dataclasses
import datetime
import functools
import time
from dataclasses import dataclass

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import dmac
from dmac import baselines
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans
from dmac.compute.threads import exactly
from dmac.diagnostics import effective_rank, mean_cosine
from dmac.estimator import DMAC
from dmac.experiments import pretraining, provenance
from dmac.experiments.store import rounded
from dmac.metrics import scores
from dmac.recipes import Recipe
from dmac.training import EpochRecord

#: The shallow pipelines of chapter 1: name in a table, function, settings.
BASELINES = {
    "k-means, concatenated": (baselines.raw_kmeans, {}),
    "k-means, whitened": (baselines.whitened_kmeans, {}),
    "closed form, whitened": (baselines.closed_form, {"n_neighbors": 5}),
    "closed form, whitened, k = 10": (baselines.closed_form, {"n_neighbors": 10}),
}
#: Every method that is a function of views, number of clusters and seed, and returns labels. A peer
#: joins the comparison by an entry here: its name in a table, the function, its settings.
METHODS = dict(BASELINES)
_FLOATS = {field.name for field in dataclasses.fields(Recipe) if field.type is float}
_NEIGHBORS = 5  # of a sample, for the agreement of their labels


@dataclass(frozen=True)
class Spec:
    """A run to be made.

    Attributes
    ----------
    dataset : str
        A name in ``dmac.available()``, or the path of a file.
    method : str
        "DMAC", or a key of `METHODS`.
    settings : dict
        Every parameter of the method: for DMAC the fields of its recipe but the name.
    seed : int
    file : str
        Group of records in the store.
    keep : bool
        Whether the anchors and a map of the embedding in the plane are kept for the figures.
    """

    dataset: str
    method: str
    settings: dict
    seed: int
    file: str
    keep: bool = False

    def identity(self, load=dmac.load):
        """What names the run in a store; it reads the data, for their hash."""
        name, data_hash = _named(self.dataset, load)
        return dict(
            dataset=name,
            data=data_hash,
            method=self.method,
            settings=self.settings,
            seed=self.seed,
        )


@functools.lru_cache(maxsize=4)
def _data(source, load):
    return load(source)


@functools.cache
def _named(source, load):
    data = _data(source, load)
    if data.labels is None:
        raise ValueError(f"{source} has no labels, so nothing can be scored")
    return data.name, provenance.data_hash(data)


def settings_of(recipe, **more):
    """The settings of a `Spec`: a recipe's fields without its name, and what is beside them.

    ``weighting="tf-idf"`` is the one thing there is: views of counts are weighted by term first.
    """
    fields = dataclasses.asdict(recipe)
    del fields["name"]
    # 1000 and 1000.0 are the same weight, and must not be two runs.
    plain = {k: float(v) if k in _FLOATS else v for k, v in fields.items()}
    return plain | more


def complete_settings(method, settings):
    """Settings of a stored record, with recipe fields added since at their defaults."""
    if method != "DMAC":
        return settings
    return _defaults() | settings


@functools.cache
def _defaults():
    return settings_of(Recipe(name=""))


def recipe_of(settings, name="variant"):
    """The recipe of a DMAC run's settings."""
    return Recipe(name=name, **{k: v for k, v in settings.items() if k != "weighting"})


def make_run(spec, device="cpu", threads=1, pretrained=None, pretrained_at=(), load=dmac.load):
    """Make a run and return the part of its record that its identity does not hold.

    Parameters
    ----------
    spec : Spec
    device : str
    threads : int
        Of each operation: rounding, and so the last digits of a result, depends on it.
    pretrained : path, optional
        Where pre-trained weights are kept (:func:`dmac.experiments.pretraining.kept`).
    pretrained_at : sequence of int
        See there.
    load : callable
        Reads the data set.

    Returns
    -------
    dict
        ``scores`` of the returned labels, and for DMAC of the best epoch (``oracle``) and, column
        by column, of every ``epochs``; what the run cost and what made it. A fit that failed by
        its own doing has ``error`` instead of scores. With ``spec.keep`` also ``arrays``.
    """
    data = _data(spec.dataset, load)
    if spec.settings.get("weighting") == "tf-idf":
        data = dataclasses.replace(data, views=[tf_idf(x) for x in data.views])
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    provenance.reset_peak_memory()
    keeping = contextlib.nullcontext()
    if pretrained is not None:
        keeping = pretraining.kept(pretrained, pretrained_at)
    try:
        with threadpool_limits(threads), exactly(threads), keeping:
            found = _dmac(data, spec, device) if spec.method == "DMAC" else _baseline(data, spec)
    except (FloatingPointError, torch.linalg.LinAlgError) as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    finally:
        torch.set_num_threads(before)
    return found | {
        "peak_mb": provenance.peak_memory(),
        "device": torch.cuda.get_device_name(device) if "cuda" in device else device,
        "processor": provenance.processor(),
        "arithmetic": provenance.arithmetic(),
        "threads": threads,
        "versions": provenance.versions(),
        "code": {"sha256": provenance.code_identity(), "commit": provenance.commit()},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def tf_idf(counts):
    """Counts of terms times the logarithm of how rare each is: n documents by d terms."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(norm=None).fit_transform(counts)


def _baseline(data, spec):
    function, _ = METHODS[spec.method]
    start = time.perf_counter()
    labels = function(data.views, data.n_clusters, spec.seed, **spec.settings)
    seconds = time.perf_counter() - start
    return {
        "scores": rounded(scores(data.labels, labels)),
        "seconds": round(seconds, 3),
    }


def _dmac(data, spec, device):
    recipe = recipe_of(spec.settings)
    epochs, start_scores, outside, loaded = [], {}, 0.0, None

    def score(z):
        if not np.isfinite(z).all():
            raise FloatingPointError("the embedding is not finite")
        found = kmeans(z.astype(np.float64), data.n_clusters, spec.seed).labels_
        found = scores(data.labels, found)
        return {"acc": found["acc"], "nmi": found["nmi"]}

    def follow(record, embed):
        nonlocal begun, outside, loaded
        start = time.perf_counter()
        if isinstance(record, EpochRecord):
            epochs.append(_column(record) | score(embed()))
        else:
            if loaded is None:  # a kept pre-training begins with its last record
                loaded = record.epoch if record.epoch > 1 else 0
                if loaded:  # until now it was read, or waited for while another run made it
                    begun, outside = start, 0.0
            if record.epoch == recipe.pretrain_epochs:
                z = embed()
                start_scores.update(score(z), **_shape(z))
        outside += time.perf_counter() - start

    model = DMAC(data.n_clusters, recipe, random_state=spec.seed, device=device)
    begun = time.perf_counter()
    model.fit(data.views, callback=follow)
    seconds = time.perf_counter() - begun - outside
    before = [r.seconds for r in model.pretrain_history_]
    seconds += sum(before[:loaded])  # as if they had been computed here
    main = sum(r.seconds for r in model.history_)
    final = scores(data.labels, model.labels_)
    found = {
        "scores": rounded(final),
        "oracle": rounded(_oracle(epochs, final)),
        "start": rounded(start_scores),
        "epochs": {name: rounded([e[name] for e in epochs], 5) for name in (epochs or [{}])[0]},
        "embedding": rounded(_shape(model.embedding_) | _agreement(model.embedding_, data.labels)),
        "n_anchors": model.n_anchors_,
        "pretraining_loss": rounded([r.loss for r in model.pretrain_history_][-1:]),
        "seconds": rounded({"fit": seconds, "pretraining": sum(before), "training": main}, 5),
    }
    if spec.keep:
        found["arrays"] = _arrays(model, data.labels)
    return found


def _column(record):
    found = dataclasses.asdict(record)
    cosine = found.pop("mean_cosine")
    for name in ("epoch", "seconds", "n_neighbors"):
        del found[name]
    return found | {"one_minus_cosine": 1 - cosine}


def _oracle(epochs, final):
    """The best of the epochs and of the final labels by each metric, and the epoch from 1."""
    found = {}
    for metric in ("acc", "nmi"):
        values = [epoch[metric] for epoch in epochs] + [final[metric]]
        best = int(np.argmax(values))
        found |= {metric: values[best], f"{metric}_epoch": min(best + 1, len(epochs))}
    return found


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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of compiled code, and that a seed means one thread
        import umap

        return umap.UMAP(random_state=seed).fit_transform(z)
