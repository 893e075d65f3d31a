"""One page about a clustering: what was found, and what speaks for it.

``python -m dmac report`` writes it; the chapter on your own data reads one. ``report.html`` is the
page, a template; this module has what is filled in.
"""

from __future__ import annotations

import functools
import numbers
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields
from itertools import combinations
from typing import Any

import jinja2
import numpy as np
import numpy.typing as npt
import sklearn
import torch
from sklearn.base import clone
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from dmac._types import Array, Floats, Integers, Views
from dmac._version import VERSION
from dmac._warn import ViewWarning, warn
from dmac.closed_form.votes import unit_rows
from dmac.data.checks import as_views
from dmac.data.linalg import as_dense
from dmac.data.named_views import NamedView
from dmac.data.names import in_order, index_of
from dmac.data.source import View
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
        warns = solver_of(get_recipe(model.recipe)).takes_incomplete
        checked = as_views(views, streamed=True, incomplete=True, warns=warns)
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
    sure = getattr(model, "confidence_", None)
    return _template().render(
        n=n,
        c=model.n_clusters,
        seeds=seeds,
        model=model,
        method=type(model).__name__,
        spectral=isinstance(model, AnchorGraphClustering),
        warnings=messages,
        views=list(zip(names, model.n_features_, lacking)),
        samples=_listed(samples, model.labels_, sure) if n <= _LISTED else [],
        csv=_csv(_table_of(samples, model.labels_, sure)),
        known={} if classes is None else scores(classes, model.labels_),
        by_class=None if classes is None else _counted(np.asarray(classes), model.labels_),
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
    n, c, seed = checked[0].shape[0], model.n_clusters, model.random_state
    first = int(seed) if isinstance(seed, numbers.Integral) else 0
    rows = np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLES])
    drawn = [x.rows(rows) for x in checked]
    some = [NamedView(x, of.name) for x, of in zip(drawn, checked)]
    # Of some rows, whose zeros may stand for samples that a table lacks, it would be untrue.
    with warnings.catch_warnings(action="ignore", category=ViewWarning):
        fits = _fits(model, some, first, seeds, n <= _SAMPLES)
    # What is said of halves and control is not of the data.
    with warnings.catch_warnings(action="ignore"):
        without = gaussian_like(drawn, seed=first)
        controls = _fits(model, without, first, seeds)
        halves = [_on_halves(model, x, first, seeds) for x in (drawn, without)]
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
    places.filters["number"], places.filters["amount"] = _number, _amount
    return places.get_template("report.html")


def _number(value: float, digits: int = 2, sign: str = "") -> str:
    """A number with a minus sign; a dash where there is none."""
    return "–" if value != value else f"{value + 0.0:{sign}.{digits}f}".replace("-", "−")


def _amount(value: float) -> str:
    """A number in the units of the data: to three digits."""
    return "–" if value != value else f"{value:.3g}".replace("-", "−")


def _csv(table: Any) -> str:
    """A table as a file that other programs read."""
    return table.to_csv(index=False, lineterminator="\r\n")


def _table_of(samples: list[str], labels: Integers, sure: Floats | None) -> Any:
    """The cluster of each sample, and how sure it is."""
    import pandas as pd

    table = pd.DataFrame({"sample": samples, "cluster": labels})
    return table if sure is None else table.assign(confidence=np.round(sure.tolist(), 4))


def _listed(
    samples: list[str], labels: Integers, sure: Floats | None
) -> list[tuple[str, int, float]]:
    """The same for the page; nan where a label has no confidence."""
    shares = np.full(len(samples), np.nan) if sure is None else sure
    return list(zip(samples, labels.tolist(), np.asarray(shares, float).tolist()))


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
    recipe, read = model.recipe_, dict(record.get("read", {}))
    given = "".join(f", {key}={value!r}" for key, value in changes(recipe).items())
    name = recipe.name if recipe.name in RECIPES else "closed_form"
    chosen = f"dmac.recipes.{name.upper()}"
    chosen = f"dataclasses.replace({chosen}{given})" if given else chosen
    measured = read.pop("all_present", False)
    options = "".join(f", {key}={value!r}" for key, value in read.items())
    views = f"dmac.load({[*record['files']]}{options}).views" if record.get("files") else "[...]"
    lines = ["import dataclasses", "import dmac", f"views = {views}"]
    present = ", present=[[True] * len(views)] * len(views[0])" if measured else ""
    kind, seed, c = type(model).__name__, model.random_state, model.n_clusters
    return "\n".join([*lines, f"dmac.{kind}({c}, {chosen}, {seed}).fit(views{present})"])


def _counted(values: Array, labels: Integers) -> list[tuple[str, list[tuple[int, float]]]]:
    """How many samples of each value are in each cluster, and their shares of it."""
    sizes = np.bincount(labels)
    found, codes = np.unique(values.astype(str), return_inverse=True)
    counts = [np.bincount(labels[codes == i], minlength=len(sizes)) for i in range(len(found))]
    clusters = np.flatnonzero(sizes)
    rows = [[(int(x[k]), float(x[k] / sizes[k])) for k in clusters] for x in counts]
    return list(zip(found.tolist(), rows))


def _about(table: Any, samples: list[str], labels: Integers) -> list[tuple[str, Any, Any]]:
    """What is known of the clusters: medians of numbers, or counts of up to so many values."""
    if table is None:
        return []
    rows = dict(zip(map(str, table.index), range(len(table))))
    places = np.array([rows.get(name, -1) for name in samples])
    if (places < 0).all() and len(table) == len(samples):
        places = np.arange(len(samples))
    told: list[tuple[str, Any, Any]] = []
    has = places >= 0
    for j, name in enumerate(table.columns if has.any() else ()):
        x, mine = Column(table.iloc[places[has], j]).typed, labels[has]
        if x.dtype.kind == "f" and len(np.unique(x)) > _VALUES:
            with warnings.catch_warnings(action="ignore"):  # of clusters without a value
                medians = [float(np.nanmedian(x[mine == k])) for k in np.unique(labels)]
            told.append((str(name), medians, []))
        elif len(set(as_text(x))) <= _VALUES:
            told.append((str(name), [], _counted(np.array(as_text(x)), mine)))
    return told


def _check_fit(model: MultiViewEstimator, views: Views, checked: list[View]) -> None:
    """Refuse other samples than those of the fit, in another order, or with what a mask hid."""
    labels, expected = model.predict(views), len(model.labels_)
    if len(labels) != expected:
        raise ValueError(f"the model was fitted on {expected} samples, and there are {len(labels)}")
    if adjusted_rand_score(model.labels_, labels) < 0.5:
        raise ValueError(
            "these are not the samples of the fit, or not in its order: the model puts many of "
            "them into other clusters"
        )
    lacking = getattr(model, "n_missing_", None)
    if lacking is not None and lacking.tolist() != [(~x.filled()).sum() for x in checked]:
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
    model: MultiViewEstimator, views: list[Any], first: int, seeds: int
) -> list[Integers]:
    """Labels of all samples by fits on random halves; none where halves are too small."""
    n, labels = views[0].shape[0], []
    for seed in (
        range(first, first + seeds) if n >= 2 * _SAMPLES_PER_CLUSTER * model.n_clusters else ()
    ):
        rows = np.sort(np.random.default_rng(seed).permutation(n)[: n // 2])
        fresh = clone(model).set_params(random_state=seed, verbose=False)
        labels.append(fresh.fit([x[rows] for x in views]).predict(views))
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
    told: dict[int, list[tuple[str, str, float]]] = {k: [] for k in sizes}
    every = [(a, j) for a, of_view in enumerate(columns) for j in range(len(of_view))]
    chosen: list[int] = []
    gaps = np.zeros((len(sizes), 0))
    if len(sizes) > 1:
        gaps = np.hstack(standardized_differences(views, labels)[1])
        for k, row in zip(sizes, np.nan_to_num(gaps)):
            first = [i for i in np.argsort(-abs(row), kind="stable")[:_FEATURES].tolist() if row[i]]
            told[k] = [(names[a], columns[a][j], row[i]) for i in first for a, j in [every[i]]]
            chosen += [i for i in first if i not in chosen]
    means = _means(checked, labels, [every[i] for i in chosen])
    profile = [
        (names[a], columns[a][j], list(zip(of_clusters, gaps[:, i].tolist())))
        for i, of_clusters in zip(chosen, means)
        for a, j in [every[i]]
    ]
    return {
        "clusters": sizes,
        "features": told,
        "colours": {k: _colour(k) for k in sizes},
        "profile": profile,
        "means_csv": _csv(_table_of_means(profile, list(sizes))),
    }


def _means(
    checked: list[View], labels: Integers, places: list[tuple[int, int]]
) -> list[list[float]]:
    """The mean of some columns in each cluster, over the samples that have the view."""
    means: dict[tuple[int, int], list[float]] = {}
    for a, x in enumerate(checked):
        mine = [j for b, j in places if a == b]
        blocks = [as_dense(x.read(rows)[:, mine]) for rows in x.slices()] if mine else []
        values, has = np.vstack(blocks) if mine else np.zeros((len(labels), 0)), x.filled()
        with warnings.catch_warnings(action="ignore"):  # of clusters that lack the view
            rows = [values[has & (labels == k)].mean(0) for k in np.unique(labels)]
        means |= {(a, j): column.tolist() for j, column in zip(mine, np.transpose(rows))}
    return [means[place] for place in places]


def _table_of_means(
    profile: list[tuple[str, str, list[tuple[float, float]]]], ks: list[int]
) -> Any:
    """The means as a table, a row for each feature."""
    import pandas as pd

    rows = [[view, name, *(mean for mean, _ in both)] for view, name, both in profile]
    return pd.DataFrame(rows, columns=["view", "feature", *(f"cluster {k}" for k in ks)])


def seeds_agree(model: MultiViewEstimator, views: Views) -> float:
    """The mean ARI of a fit with two others of the next seeds, of up to 2000 samples."""
    checked = as_views(views, streamed=True, incomplete=True)
    rows = np.sort(np.random.default_rng(0).permutation(checked[0].shape[0])[:_SAMPLES])
    drawn = [NamedView(x.rows(rows), x.name) for x in checked]
    seed = model.random_state
    first = int(seed) if isinstance(seed, numbers.Integral) else 0
    with warnings.catch_warnings(action="ignore"):  # the fit itself has said it
        fits = _fits(model, drawn, first, 3, len(rows) == len(model.labels_))
    return _mean_ari([fits[0].labels_, fits[1].labels_, fits[2].labels_])


def _supports(*both: list[MultiViewEstimator]) -> list[float]:
    """Mean support by the other views, of the data and of the control, where there is such."""
    fit = both[0][0]
    if not hasattr(fit, "support_of_others_") or len(fit.n_features_) < 2:
        return []
    return [float(np.mean([fit.support_of_others_ for fit in fits])) for fits in both]


def _spectrum(suggestions: list[Suggestion]) -> dict[str, Any]:
    """Where the eigenvalues of data and control lie on a drawing of 640 x 248."""
    values = np.array([suggestion.eigenvalues for suggestion in suggestions])
    count, low = values.shape[1], values.min()
    x, y = 60 + 564 * np.arange(count) / (count - 1), 16 + 200 * (1 - values) / max(1 - low, 1e-9)
    return {
        "gap": x[suggestions[0].n_clusters - 1 :][:2].mean(),
        "numbers": [(x[j], j + 1) for j in range(0, count, 1 + count // 22)],
        "lines": [(16, 1), (116, (1 + low) / 2), (216, low)],
        "dots": [list(zip(x, row)) for row in y],
    }


def _map(model: MultiViewEstimator) -> dict[int, dict[str, Any]]:
    """The embedding in the plane, 640 x 460: dots of each cluster, and where its number stands."""
    rows = np.sort(np.random.default_rng(0).permutation(len(model.labels_))[:_POINTS])
    labels, z = model.labels_[rows], unit_rows(model.embedding_[rows])
    with threadpool_limits(limits=1):  # so that the sums are always the same
        near = min(30.0, (len(z) - 1) / 3)
        flat = TSNE(2, perplexity=near, init="random", random_state=0).fit_transform(z)
    flat = (flat - flat.min(0)) / np.maximum(np.ptp(flat, axis=0), 1e-9) * (600, 420) + 20
    sure = model.confidence_[rows] if hasattr(model, "membership_") else np.ones(len(rows))
    shade = np.searchsorted(list(_SHADES), sure, side="right") - 1
    islands = {k: flat[labels == k] for k in np.unique(labels).tolist()}
    middles = {  # the dot in the middle, since a cluster may be several islands
        k: dots[((dots - np.median(dots, 0)) ** 2).sum(1).argmin()] for k, dots in islands.items()
    }
    return {
        k: {
            "shades": {
                dark: flat[(labels == k) & (shade == s)] for s, dark in enumerate(_SHADES.values())
            },
            "middle": middles[k],
        }
        for k in islands
    }
