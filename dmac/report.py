"""One page about a clustering: what was found, and what speaks for it.

``python -m dmac report`` writes it; the chapter on your own data reads one. ``report.html`` is the
page, a template; this module has what is filled in.
"""

from __future__ import annotations

import functools
import numbers
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import combinations
from typing import Any

import jinja2
import numpy as np
import numpy.typing as npt
import pandas as pd
import sklearn
import torch
from sklearn.base import clone
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from dmac._types import Array, Integers, Views
from dmac._version import VERSION
from dmac._warn import ViewWarning, warn
from dmac.agc.votes import unit_rows
from dmac.data.checks import View, as_views
from dmac.data.linalg import as_dense
from dmac.data.names import in_order, index_of
from dmac.data.vocabulary import Column, as_text
from dmac.diagnostics import gaussian_like
from dmac.estimators import AnchorGraphClustering, MultiViewEstimator, numbered_by_size
from dmac.metrics import matched, scores
from dmac.model_selection import Suggestion, suggest_n_clusters
from dmac.recipes import RECIPES, BaseRecipe, SpectralRecipe, get_recipe
from dmac.separation import standardized_differences
from dmac.solvers.contract import solver_of

# Limits: samples for the refits and the control, points on the map, samples listed, and samples in
# the table of the least sure ones.
_SAMPLES = 2000
_POINTS = 1000
_LISTED = 5000
_UNSURE = 10
# How dark a point is, by the confidence from which on it is.
_SHADES = {0.0: 0.3, 0.6: 0.6, 0.9: 1.0}
# Features named for a cluster.
_FEATURES = 5
# Minimum advantage of the data over the control that counts as evidence.
_ADVANTAGE = 0.1
# Samples a cluster that a half must have.
_SAMPLES_PER_CLUSTER = 4
# A column with so many values or fewer is counted, and of others there is a median.
_VALUES = 8
#: Fits with other seeds that agree less give other groups.
OFTEN = 0.8


def page(
    model: MultiViewEstimator,
    views: Views,
    *,
    classes: npt.ArrayLike | None = None,
    seeds: int = 5,
    by_size: bool = False,
    about: Any = None,
    record: Mapping[str, Any] | None = None,
) -> str:
    """Report on a fit: one HTML page that needs nothing else.

    Parameters
    ----------
    model : dmac.AnchorGraphClustering or dmac.DMAC
        If it is not fitted, it is fitted here. Of a fitted one ``views`` must be those of the fit.
    views : list of v array_likes of shape (n, d_a)
        Data frames and files name their samples and features, and files their views; elsewhere
        these are numbered from 1.
    classes : array_like of shape (n,), optional
        Known classes, for a score and a table.
    seeds : int
        Fits that are compared with each other, at least 2: on all samples, on random halves, and
        both on the control. Of more than 2000 samples so many are drawn for that.
    by_size : bool
        Number the clusters on the page by their size, the largest first; the model stays as it is.
    about : pandas.DataFrame, optional
        What else is known of the samples, a row each: lined up by the index, if it has their names.
    record : dict, optional
        How the data came: "command", "files" by their names with their SHA-256, and "read", the
        options of :func:`dmac.load`. By default what a model from the command line has kept.

    Returns
    -------
    str
        The same for the same data, model and seeds, on the same machine.

    Raises
    ------
    ValueError
        If the views are not usable or not those of the fit, or there is only one seed.
    """
    _check_settings(model, seeds)
    with warnings.catch_warnings(record=True, action="always") as said:
        incomplete = solver_of(get_recipe(model.recipe)).takes_incomplete
        checked = as_views(views, streamed=True, incomplete=incomplete, warns=incomplete)
        n = checked[0].shape[0]
        samples = _as_text(checked[0].samples, "", n)
        columns = [_as_text(x.features, "column ", x.shape[1]) for x in checked]
        classes = in_order(classes, index_of(views), "classes", "views")
        if hasattr(model, "labels_"):
            _check_fit(model, views, checked)
        else:
            model.fit(views)
        if by_size:
            model = numbered_by_size(model)
        compared = _compared(model, checked, seeds)
    messages = {str(warning.message): warning.category for warning in said}
    for text, category in messages.items():
        warn(text, category)
    names = [x.name or x.where for x in checked]
    lacking = np.asarray(getattr(model, "n_missing_", np.zeros(len(names), int))).tolist()
    kept = record or getattr(model, "record_", {})
    table = table_of(model)
    table.insert(0, "sample", samples)
    listed = table.reindex(columns=["sample", "cluster", "confidence"])
    return _template().render(
        n=n,
        c=model.n_clusters,
        seeds=seeds,
        model=model,
        method=type(model).__name__,
        spectral=isinstance(model, AnchorGraphClustering),
        warnings=messages,
        views=list(zip(names, model.n_features_, lacking)),
        samples=listed.to_numpy().tolist() if n <= _LISTED else [],
        csv=_csv(table.round(4)),
        known={} if classes is None else scores(classes, model.labels_),
        by_class=None if classes is None else _counted(np.asarray(classes).ravel(), model.labels_),
        about=_about(about, samples, model.labels_),
        record=kept,
        again=lines_of_python(model, kept),
        changed=changes(model.recipe_),
        map=_map(model),
        unsure=_unsure(model, samples, compared["stays"]),
        dots=_POINTS,
        version=VERSION,
        sklearn=sklearn.__version__,
        torch=torch.__version__,
        **_features(views, checked, model.labels_, names, columns),
        **compared,
    )


def _check_settings(model: Any, seeds: Any) -> None:
    if not isinstance(seeds, numbers.Integral) or seeds < 2:
        raise ValueError(f"seeds is {seeds!r}: it must be an integer of at least 2")
    if not isinstance(model, MultiViewEstimator):
        raise ValueError(
            f"model is a {type(model).__name__}: pass a dmac.AnchorGraphClustering or a dmac.DMAC"
        )


def _as_text(given: Iterable[Any] | None, what: str, count: int) -> list[str]:
    """Names as text; where there are none, or they only count from 0, numbers from 1."""
    names = None if given is None else list(given)
    if names is None or names == list(range(len(names))):
        return [f"{what}{i}" for i in range(1, count + 1)]
    return list(map(str, names))


def _compared(model: MultiViewEstimator, checked: list[View], seeds: int) -> dict[str, Any]:
    """What fits of the data, of their halves, and of the control say."""
    first = _seed(model)
    rows, drawn = _drawn(checked)
    # Of some rows, whose zeros may stand for samples that a table lacks, it would be untrue.
    with warnings.catch_warnings(action="ignore", category=ViewWarning):
        fits = _fits(model, drawn, first, seeds, len(rows) == checked[0].shape[0])
    # What is said of halves and control is not of the data.
    with warnings.catch_warnings(action="ignore"):
        without = as_views(gaussian_like(drawn, seed=first), incomplete=True)
        controls = _fits(model, without, first, seeds)
        halves = [_on_halves(model, x, first, seeds) for x in (drawn, without)]
        c = model.n_clusters
        most = min(max(20, c + 5), len(rows) // 4)
        pairs = (drawn, without) if most > max(2, c - 1) else ()
        suggestions = [suggest_n_clusters(x, range(2, most + 1)) for x in pairs]
    labels = [[fit.labels_ for fit in models] for models in (fits, controls)]
    return {
        "seed": first,
        "aris": {"seeds": [*map(_mean_ari, labels)], "random halves": [*map(_mean_ari, halves)]},
        "supports": _supports(fits, controls),
        "more": _ADVANTAGE,
        "often": OFTEN,
        "n_drawn": len(rows),
        "stays": dict(zip(rows.tolist(), _stays(labels[0]))),
        "suggestion": suggestions[0] if suggestions else None,
        "gaps": suggestions and dict(zip(suggestions[0].candidates, suggestions[0].scores["gap"])),
        "spectrum": suggestions and _spectrum(suggestions),
    }


@functools.cache
def _template() -> jinja2.Template:
    places = jinja2.Environment(
        loader=jinja2.PackageLoader("dmac", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    places.filters["number"] = _number
    return places.get_template("report.html")


def _number(value: float, digits: int = 2, sign: str = "", kind: str = "f") -> str:
    """A number with a minus sign; a dash where there is none."""
    return "–" if value != value else f"{value + 0.0:{sign}.{digits}{kind}}".replace("-", "−")


def _csv(table: Any) -> str:
    """A table as a file that other programs read."""
    return table.to_csv(index=False, lineterminator="\r\n")


def table_of(model: MultiViewEstimator) -> pd.DataFrame:
    """The cluster of each sample, and how sure it is, where the model says it."""
    table = pd.DataFrame({"cluster": model.labels_})
    sure = getattr(model, "confidence_", None)
    return table if sure is None else table.assign(confidence=np.asarray(sure, float))


def changes(recipe: BaseRecipe) -> dict[str, Any]:
    """The fields of a recipe that differ from the recipe of its name, or from CLOSED_FORM.

    Of a recipe of the network that has another name they are those that differ from RELEASED.
    """
    other = "closed_form" if isinstance(recipe, SpectralRecipe) else "released"
    named = RECIPES.get(recipe.name, RECIPES[other])
    values = {field.name: getattr(recipe, field.name) for field in fields(recipe)}
    return {key: x for key, x in values.items() if key != "name" and x != getattr(named, key)}


def lines_of_python(model: MultiViewEstimator, record: Mapping[str, Any]) -> str:
    """The lines that make a fit again; of data that came from no file with views to fill in."""
    recipe = model.recipe_
    read = dict(record.get("read", {}))
    given = "".join(f", {key}={value!r}" for key, value in changes(recipe).items())
    name = recipe.name if recipe.name in RECIPES else "closed_form"
    chosen = f"dmac.recipes.{name.upper()}"
    chosen = f"dataclasses.replace({chosen}{given})" if given else chosen
    measured = read.pop("all_present", False)
    options = "".join(f", {key}={value!r}" for key, value in read.items())
    views = f"dmac.load({[*record['files']]}{options}).views" if record.get("files") else "[...]"
    lines = ["import dataclasses", "import dmac", f"views = {views}"]
    present = ", present=[[True] * len(views)] * len(views[0])" if measured else ""
    made = f"dmac.{type(model).__name__}({model.n_clusters}, {chosen}, {model.random_state})"
    return "\n".join([*lines, f"{made}.fit(views{present})"])


def _counted(
    values: Array, labels: Integers, clusters: Array | None = None
) -> list[tuple[str, list[tuple[int, float]]]]:
    """How many samples of each value are in each cluster, and their shares of it."""
    counts = pd.crosstab(values.astype(str), labels)
    counts = counts if clusters is None else counts.reindex(columns=clusters, fill_value=0)
    both = np.stack([counts, counts / counts.sum()], axis=2)
    return [(name, [(int(n), share) for n, share in row]) for name, row in zip(counts.index, both)]


def _about(table: Any, samples: list[str], labels: Integers) -> list[tuple[str, Any, Any]]:
    """What is known of the clusters: medians of numbers, or counts of up to so many values."""
    told: list[tuple[str, Any, Any]] = []
    if table is None:
        return told
    names = pd.Index(samples)
    clusters = np.unique(labels)
    table = table.set_axis(table.index.map(str))
    if len(table) == len(names) and not names.isin(table.index).any():
        table = table.set_axis(names)
    has = names.isin(table.index)
    table = table[~table.index.duplicated()].reindex(names[has])
    for j, name in enumerate(table.columns if has.any() else ()):
        x = Column(table.iloc[:, j]).typed
        if x.dtype.kind == "f" and len(np.unique(x)) > _VALUES:
            medians = pd.Series(x).groupby(labels[has]).median().reindex(clusters)
            told.append((str(name), medians.tolist(), []))
        elif len(set(as_text(x))) <= _VALUES:
            told.append((str(name), [], _counted(np.array(as_text(x)), labels[has], clusters)))
    return told


def _check_fit(model: MultiViewEstimator, views: Views, checked: list[View]) -> None:
    """Refuse other samples than those of the fit, in another order, or with what a mask hid."""
    labels = model.predict(views)
    expected = len(model.labels_)
    if len(labels) != expected:
        raise ValueError(f"the model was fitted on {expected} samples, and there are {len(labels)}")
    if adjusted_rand_score(model.labels_, labels) < 0.5:
        raise ValueError(
            "these are not the samples of the fit, or not in its order: the model puts many of "
            "them into other clusters"
        )
    lacking = getattr(model, "n_missing_", None)
    if lacking is not None and lacking.tolist() != [(~x.presence()).sum() for x in checked]:
        raise ValueError(
            f"in the fit {', '.join(map(str, lacking))} samples lacked the views, and in these "
            "views others do: make the rows of those that a mask said to be missing NaN"
        )


def _fits(
    model: MultiViewEstimator, views: list[Any], first: int, seeds: int, is_first: bool = False
) -> list[MultiViewEstimator]:
    """The model on some seeds; it may be the first of them itself."""
    fresh = [
        clone(model).set_params(random_state=seed, verbose=False)
        for seed in range(first + is_first, first + seeds)
    ]
    return [model] * is_first + [copy.fit(views) for copy in fresh]


def _on_halves(
    model: MultiViewEstimator, views: Sequence[View], first: int, seeds: int
) -> list[Integers]:
    """Labels of all samples by fits on random halves; none where halves are too small."""
    n = views[0].shape[0]
    if n < 2 * _SAMPLES_PER_CLUSTER * model.n_clusters:
        return []
    labels = []
    for seed in range(first, first + seeds):
        rows = np.sort(np.random.default_rng(seed).permutation(n)[: n // 2])
        fresh = clone(model).set_params(random_state=seed, verbose=False)
        labels.append(fresh.fit([x.part(rows) for x in views]).predict(views))
    return labels


def _stays(labels: list[Integers]) -> list[float]:
    """How often each sample stays with its cluster of the first fit in the others."""
    kept = [matched(labels[0], other) == labels[0] for other in labels[1:]]
    return np.mean(kept, axis=0).tolist()


def _unsure(
    model: MultiViewEstimator, samples: list[str], stays: dict[int, float]
) -> list[dict[str, Any]]:
    """The samples whose labels are the least sure, with the cluster that is next."""
    if not hasattr(model, "membership_"):
        return []
    rows = sorted(stays, key=lambda i: model.confidence_[i])[:_UNSURE]
    shares = model.membership_[rows]
    np.put_along_axis(shares, model.labels_[rows, None], -1, axis=1)
    return [
        {
            "sample": samples[i],
            "cluster": int(model.labels_[i]),
            "share": model.confidence_[i],
            "next": other,
            "next_share": model.membership_[i, other],
            "stays": stays[i],
        }
        for i, other in zip(rows, shares.argmax(1).tolist())
    ]


def _mean_ari(labels: list[Integers]) -> float:
    pairs = [adjusted_rand_score(a, b) for a, b in combinations(labels, 2)]
    return float(np.mean(pairs)) if pairs else float("nan")


def _colour(k: int) -> str:
    """A colour for each cluster, by the golden angle: neighbours in number differ much in hue."""
    return f"hsl({(205 + 137.5 * k) % 360:.0f} 58% {(46, 60, 38)[k % 3]}%)"


def _features(
    views: Views,
    checked: list[View],
    labels: Integers,
    names: list[str],
    columns: list[list[str]],
) -> dict[str, Any]:
    """Sizes of the clusters by number, and the features of each that differ most from the rest.

    ``profile`` has the means of all these features in each cluster, in their units, beside how far
    they are from the rest.
    """
    sizes = dict(zip(*(x.tolist() for x in np.unique(labels, return_counts=True))))
    both = [(name, column) for name, of_view in zip(names, columns) for column in of_view]
    gaps = np.zeros((1, len(both)))
    if len(sizes) > 1:
        gaps = np.hstack(standardized_differences(views, labels)[1])
    first = {
        k: row[row != 0].nlargest(_FEATURES).index.tolist()
        for k, row in pd.DataFrame(abs(gaps), [*sizes]).iterrows()
    }
    chosen = list(dict.fromkeys(i for of_k in first.values() for i in of_k))
    means = _means(checked, labels, chosen)
    table = pd.DataFrame(
        [[*both[i], *means[i]] for i in chosen],
        columns=["view", "feature", *(f"cluster {k}" for k in sizes)],
    )
    return {
        "clusters": sizes,
        "features": {
            k: [(*both[i], row[i]) for i in of_k] for (k, of_k), row in zip(first.items(), gaps)
        },
        "colours": {k: _colour(k) for k in sizes},
        "profile": [
            (*both[i], list(zip(means[i], gaps[:, i].tolist())), _digits(means[i])) for i in chosen
        ],
        "means_csv": _csv(table),
    }


def _digits(means: list[float]) -> int:
    """Significant digits by which the largest of some means can be told from the others."""
    told = [x for x in means if x == x] or [0.0]
    between = max(map(abs, told)) / (np.ptp(told) or np.inf)
    return int(np.clip(2 + np.ceil(np.log10(max(between, 10))), 3, 6))


def _means(checked: list[View], labels: Integers, chosen: list[int]) -> dict[int, list[float]]:
    """The mean of some columns in each cluster, over the samples that have the view.

    The columns of all views are counted in one row.
    """
    means: dict[int, list[float]] = {}
    start = 0
    for x in checked:
        mine = [i for i in chosen if start <= i < start + x.shape[1]]
        if mine:
            places = np.array(mine) - start
            parts = [x.part(rows) for rows in x.slices()]
            values = np.vstack([as_dense(part.values[:, places]) for part in parts])
            values[~np.concatenate([part.present for part in parts])] = np.nan
            means |= zip(mine, pd.DataFrame(values).groupby(labels).mean().to_numpy().T.tolist())
        start += x.shape[1]
    return means


def seeds_agree(model: MultiViewEstimator, views: Views) -> float:
    """The mean ARI of a fit with two others of the next seeds, of up to 2000 samples."""
    checked = as_views(views, streamed=True, incomplete=True)
    rows, some = _drawn(checked)
    with warnings.catch_warnings(action="ignore"):  # the fit itself has said it
        fits = _fits(model, some, _seed(model), 3, len(rows) == len(model.labels_))
    return _mean_ari([fit.labels_ for fit in fits])


def _drawn(checked: list[View]) -> tuple[Integers, list[View]]:
    """The samples that are fitted again, in their order, and their views."""
    rows = np.sort(np.random.default_rng(0).permutation(checked[0].shape[0])[:_SAMPLES])
    return rows, [x.part(rows) for x in checked]


def _seed(model: MultiViewEstimator) -> int:
    """The seed of the first fit; 0 of a generator or None."""
    seed = model.random_state
    return int(seed) if isinstance(seed, numbers.Integral) else 0


def _supports(*both: list[MultiViewEstimator]) -> list[float]:
    """Mean support by the other views, of the data and of the control, where there is such."""
    fit = both[0][0]
    if not hasattr(fit, "support_of_others_") or len(fit.n_features_) < 2:
        return []
    return [float(np.mean([fit.support_of_others_ for fit in fits])) for fits in both]


def _spectrum(suggestions: list[Suggestion]) -> dict[str, Any]:
    """Where the eigenvalues of data and control lie on a drawing of 640 x 248."""
    values = np.array([suggestion.eigenvalues for suggestion in suggestions])
    low = values.min()
    count = values.shape[1]
    x = 60 + 564 * np.arange(count) / (count - 1)
    y = 16 + 200 * (1 - values) / max(1 - low, 1e-9)
    return {
        "gap": x[suggestions[0].n_clusters - 1 :][:2].mean(),
        "numbers": [(x[j], j + 1) for j in range(0, count, 1 + count // 22)],
        "lines": [(16, 1), (116, (1 + low) / 2), (216, low)],
        "dots": [list(zip(x, row)) for row in y],
    }


def _map(model: MultiViewEstimator) -> dict[int, dict[str, Any]]:
    """The embedding in the plane, 640 x 460: dots of each cluster, and where its number stands."""
    rows = np.sort(np.random.default_rng(0).permutation(len(model.labels_))[:_POINTS])
    labels = model.labels_[rows]
    z = unit_rows(model.embedding_[rows])
    with threadpool_limits(limits=1):  # so that the sums are always the same
        near = min(30.0, (len(z) - 1) / 3)
        flat = TSNE(2, perplexity=near, init="random", random_state=0).fit_transform(z)
    flat = (flat - flat.min(0)) / np.maximum(np.ptp(flat, axis=0), 1e-9) * (600, 420) + 20
    sure = model.confidence_[rows] if hasattr(model, "membership_") else np.ones(len(rows))
    shade = np.searchsorted(list(_SHADES), sure, side="right") - 1
    return {
        k: {
            "shades": {
                dark: dots[shade[labels == k] == s] for s, dark in enumerate(_SHADES.values())
            },
            # A dot, since a cluster may be several islands.
            "middle": dots[((dots - np.median(dots, 0)) ** 2).sum(1).argmin()],
        }
        for k, dots in ((k, flat[labels == k]) for k in np.unique(labels).tolist())
    }
