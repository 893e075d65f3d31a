"""One page about a clustering: what was found, and what speaks for it.

``python -m dmac report`` writes it; the chapter on your own data reads one. Its sentences are in
``report.html``; this module fills in the numbers and draws.
"""

from __future__ import annotations

import functools
import numbers
import re
import warnings
from dataclasses import replace
from html import escape
from importlib import resources
from itertools import combinations
from string import Template
from typing import TYPE_CHECKING

import numpy as np
import sklearn
import torch
from sklearn.base import clone
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from dmac._version import VERSION
from dmac._warn import warn
from dmac.data.checks import check_views, count_missing
from dmac.data.disk import StreamedArray
from dmac.data.named_views import NamedView, as_named
from dmac.data.names import as_views
from dmac.diagnostics import gaussian_like, standardized_differences
from dmac.metrics import scores
from dmac.model_selection import suggest_n_clusters
from dmac.recipes import SpectralRecipe
from dmac.votes import unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import numpy.typing as npt

    from dmac._types import Array, Integers, Matrix, Views
    from dmac.estimator import DMAC
    from dmac.model_selection import Suggestion

# Samples that the fits on other seeds and the control take, and those on the map.
_MOST, _DOTS = 2000, 1000
# Features that are named of a cluster.
_FIRST = 5
# Halves agree on the data by so much more than on the control, or it is no news.
_MORE = 0.1
# Samples for each cluster that a half must have.
_ENOUGH = 4


def page(
    model: DMAC,
    views: Views,
    *,
    view_names: Sequence[Any] | None = None,
    feature_names: Sequence[Sequence[Any] | None] | None = None,
    classes: npt.ArrayLike | None = None,
    seeds: int = 5,
) -> str:
    """Report on a fit: one HTML page that needs nothing else.

    Parameters
    ----------
    model : dmac.DMAC
        If it is not fitted, it is fitted here. Of a fitted one ``views`` must be those of the fit.
    views : list of v array_likes of shape (n, d_a)
    view_names : sequence of length v, optional
        By default "view 1" and so on.
    feature_names : sequence of v sequences of length d_a, or of None, optional
        By default the columns of data frames, and numbers elsewhere.
    classes : array_like of shape (n,), optional
        Known classes, for a score.
    seeds : int
        Fits that are compared with each other, at least 2: on all samples, on random halves, and
        both on the control. Of more than 2000 samples so many are drawn for that.

    Returns
    -------
    str
        The same for the same data, model and seeds, on the same machine.

    Raises
    ------
    ValueError
        If the views are not usable or not those of the fit, names are too many or few, or there is
        only one seed.
    """
    if not isinstance(seeds, numbers.Integral) or seeds < 2:
        raise ValueError(f"seeds is {seeds!r}: it must be an integer of at least 2")
    if not hasattr(type(model), "view_support_"):
        raise ValueError(f"model is a {type(model).__name__}: pass a dmac.DMAC")
    given = as_named(views)
    checked = check_views(views, streamed=True, incomplete=True)
    names = [str(x) for x in view_names or [x.name or f"view {a}" for a, x in enumerate(given, 1)]]
    columns = feature_names or [x.features for x in given]
    for what, own in (("view_names", names), ("feature_names", columns)):
        if len(own) != len(checked):
            raise ValueError(f"{what} has {len(own)} entries, and there are {len(checked)} views")
    for a, (x, of_view) in enumerate(zip(checked, columns), 1):
        if of_view is not None and len(of_view) != x.shape[1]:
            raise ValueError(
                f"feature_names: view {a} has {x.shape[1]} features, and {len(of_view)} names"
            )
    if view_names is not None:
        views = given = [replace(x, name=name) for x, name in zip(given, names)]
    n, c = checked[0].shape[0], model.n_clusters
    rows = np.sort(np.random.default_rng(0).permutation(n)[:_MOST])
    part = [_take(x, rows) for x in checked]
    named = [NamedView(x, v.name) for x, v in zip(part, given)]
    first = model.random_state if isinstance(model.random_state, numbers.Integral) else 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if hasattr(model, "labels_"):
            _check_fit(model, views, checked)
        else:
            model.fit(views)
        fits = _fits(model, named, first, seeds, n <= _MOST)
    messages = list(dict.fromkeys(str(one.message) for one in said))
    for text in messages:
        warn(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is said of halves and control is not of the data
        halves = [_on_halves(model, part, first, seeds)]
        without = gaussian_like(part, seed=first)
        controls = _fits(model, without, first, seeds)
        halves += [_on_halves(model, without, first, seeds)]
        most = min(max(20, c + 5), len(rows) // 4)
        pairs = (part, without) if most > max(2, c - 1) else ()
        found = [suggest_n_clusters(x, range(2, most + 1)) for x in pairs]
    both = [[one.labels_ for one in models] for models in (fits, controls)]
    aris = {"seeds": [*map(_mean_ari, both)], "random halves": [*map(_mean_ari, halves)]}
    filled = {
        "n": n,
        "c": c,
        "recipe": escape(model.recipe_.name),
        "seed": first,
        "version": VERSION,
        "views_in_words": f"{len(names)} view{'s' * (len(names) > 1)}",
        "warnings": _warnings(messages),
        "data": _data(model, names),
        "clusters": _clusters(views, model.labels_, names, columns),
        "support": _support(model, names),
        "trust": _trust(aris, [fits, controls], len(rows) < n),
        "number": _number(found, c),
        "map": _map(model),
        "drawn": f" ({_DOTS} of {n}, drawn at random)" if n > _DOTS else "",
        "known": _known(as_views(classes, views), model.labels_),
        "methods": _methods(model, names, aris, found, seeds, first),
    }
    return _say("page", **filled)


@functools.cache
def _fragments() -> dict[str, Template]:
    """The sentences, by the names in ``report.html``."""
    text = resources.files("dmac").joinpath("report.html").read_text(encoding="utf-8")
    parts = re.findall(r"<!-- (\w+) -->\n(.*?)(?=<!-- |\Z)", text, re.DOTALL)
    return {name: Template(part) for name, part in parts}


def _say(name: str, **filled: object) -> str:
    return _fragments()[name].substitute(filled)


def _take(x: Matrix, rows: Array) -> Matrix:
    """Some rows of a checked view, in rising order, in memory."""
    if not isinstance(x, StreamedArray):
        return x[rows]
    inside = [(s, rows[(rows >= s.start) & (rows < s.stop)] - s.start) for s in x.slices()]
    return np.concatenate([x.read(s)[chosen] for s, chosen in inside if len(chosen)])


def _check_fit(model: DMAC, views: Views, checked: list[Matrix]) -> None:
    """Refuse other samples than those of the fit, in another order, or with what a mask hid."""
    labels, expected = model.predict(views), len(model.labels_)
    if len(labels) != expected:
        raise ValueError(f"the model was fitted on {expected} samples, and there are {len(labels)}")
    if adjusted_rand_score(model.labels_, labels) < 0.5:
        raise ValueError(
            "these are not the samples of the fit, or not in its order: the model puts many of "
            "them into other clusters"
        )
    lacking = model.n_missing_
    if lacking is not None and lacking.tolist() != [count_missing(x) for x in checked]:
        raise ValueError(
            f"in the fit {', '.join(map(str, lacking))} samples lacked the views, and in these "
            "views others do: make the rows of those that a mask said to be missing NaN"
        )


def _fits(
    model: DMAC, views: list[Any], first: int, seeds: int, is_first: bool = False
) -> list[DMAC]:
    """The model on some seeds; it may be the first of them itself."""
    fresh = [
        clone(model).set_params(random_state=seed, verbose=False)
        for seed in range(first + is_first, first + seeds)
    ]
    return [model] * is_first + [one.fit(views) for one in fresh]


def _on_halves(model: DMAC, views: list[Any], first: int, seeds: int) -> list[Integers]:
    """Labels of all samples by fits on random halves; none where halves are too small."""
    n, labels = views[0].shape[0], []
    for seed in range(first, first + seeds) if n >= 2 * _ENOUGH * model.n_clusters else ():
        rows = np.sort(np.random.default_rng(seed).permutation(n)[: n // 2])
        fresh = clone(model).set_params(random_state=seed, verbose=False)
        labels.append(fresh.fit([x[rows] for x in views]).predict(views))
    return labels


def _mean_ari(labels: list[Integers]) -> float:
    pairs = [adjusted_rand_score(a, b) for a, b in combinations(labels, 2)]
    return float(np.mean(pairs)) if pairs else float("nan")


def _text(value: float, digits: int = 2, sign: str = "") -> str:
    """A number with a minus sign; a dash where there is none."""
    return "–" if value != value else f"{value + 0.0:{sign}.{digits}f}".replace("-", "−")


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of cells in HTML; columns whose title begins with # stand on the right."""
    kinds = [" class=n" * title.startswith("#") for title in head]
    lines = [[f"<th{kind}>{title.lstrip('#')}</th>" for kind, title in zip(kinds, head)]]
    lines += [[f"<td{kind}>{x}</td>" for kind, x in zip(kinds, row)] for row in rows]
    return "\n".join(["<table>", *(f"<tr>{''.join(line)}</tr>" for line in lines), "</table>"])


def _bar(value: float) -> str:
    width = 4 * max(np.nan_to_num(value), 0)
    bar = f'<span class=bar style="width:{width:.2f}rem"></span>'
    return f"<span class=keep>{bar}{_text(value)}</span>"


def _colour(k: int) -> str:
    """One colour a cluster, by the golden angle: neighbours in number are far apart in hue."""
    return f"hsl({(205 + 137.5 * k) % 360:.0f} 58% {(46, 60, 38)[k % 3]}%)"


def _warnings(messages: list[str]) -> str:
    lines = "".join(f"<li>{escape(text)}</li>" for text in messages)
    return _say("warned", lines=lines) if messages else _say("calm")


def _data(model: DMAC, names: list[str]) -> str:
    n, missing = len(model.labels_), model.n_missing_
    lacking = [0] * len(names) if missing is None else missing.tolist()
    rows = [
        (escape(name), width, f"{few} ({100 * few / n:.0f} %)" if few else 0)
        for name, width, few in zip(names, model.n_features_, lacking)
    ]
    return _table(["view", "#features", "#samples that lack it"], rows)


def _clusters(views: Views, labels: Integers, names: list[str], features: Sequence[Any]) -> str:
    """Sizes, and of each cluster the features that differ most from the rest."""
    found, sizes = np.unique(labels, return_counts=True)
    told = [""] * len(found)
    if len(found) > 1:
        _, parts = standardized_differences(views, labels)
        named = [NamedView(None, name, features=x) for name, x in zip(names, features)]
        columns = [x.column(j) for x, part in zip(named, parts) for j in range(part.shape[1])]
        for k, row in enumerate(np.nan_to_num(np.hstack(parts))):
            first = [j for j in np.argsort(-abs(row), kind="stable")[:_FIRST] if row[j]]
            told[k] = " ".join(
                f"<span class=what>{escape(columns[j])} <b>{_text(row[j], sign='+')}</b></span>"
                for j in first
            )
    rows = [
        (f'<span class=dot style="background:{_colour(k)}"></span>{k}', size, features)
        for k, size, features in zip(found, sizes, told)
    ]
    return _table(["cluster", "#samples", "what sets it apart"], rows)


def _support(model: DMAC, names: list[str]) -> str:
    agreement, support = model.view_agreement_, model.view_support_
    if agreement is None or support is None:
        return _say("unsupported")
    rows = [(escape(name), _bar(a), _bar(b)) for name, a, b in zip(names, agreement, support)]
    table = _table(["view", "its own graph", "the other views' graphs"], rows)
    return _say("support", table=table)


def _trust(aris: dict[str, list[float]], fits: list[list[DMAC]], drawn: bool) -> str:
    """The same numbers of the data and of the control."""
    one = fits[0][0]
    rows = [(f"mean ARI of {len(fits[0])} {what}", *map(_text, aris[what])) for what in aris]
    if one.view_support_ is not None and len(one.n_features_) > 1:
        means = [float(np.mean([model.view_support_ for model in models])) for models in fits]
        rows.append(("mean support by the other views", *map(_text, means)))
    note = _say("drawn", n=len(one.labels_)) if drawn else ""
    data, control = aris["random halves"]
    news = "unknown" if data != data else "news" if data > control + _MORE else "no_news"
    return _table(["", "#your data", "#control"], rows) + _say(news) + note


def _number(found: list[Suggestion], c: int) -> str:
    if not found:
        return _say("no_number")
    one = found[0]
    gaps = dict(zip(one.candidates, one.scores["gap"]))
    return _say(
        "number",
        suggested=one.n_clusters,
        c=c,
        largest=_text(gaps[one.n_clusters], 3),
        asked=_text(gaps[c], 3),
        spectrum=_spectrum(found),
    )


def _spectrum(found: list[Suggestion]) -> str:
    """Eigenvalues by their number."""
    values = np.array([one.eigenvalues for one in found])
    count, low = values.shape[1], values.min()
    x, y = 60 + 564 * np.arange(count) / (count - 1), 16 + 200 * (1 - values) / max(1 - low, 1e-9)
    gap = x[found[0].n_clusters - 1 :][:2].mean()
    parts = [f'<path d="M{gap:.1f} 8V224" stroke="var(--mark)" stroke-dasharray="4 3"/>']
    for j in range(0, count, 1 + count // 22):
        parts.append(f'<text x="{x[j]:.1f}" y="242" text-anchor="middle">{j + 1}</text>')
    for value, at in ((1, 16), ((1 + low) / 2, 116), (low, 216)):
        parts.append(f'<path d="M54 {at}H628" stroke="var(--line)"/>')
        parts.append(f'<text x="48" y="{at + 4}" text-anchor="end">{value:.2f}</text>')
    for row, fill in zip(y, ("var(--mark)", "var(--paper)")):
        dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4"/>' for a, b in zip(x, row))
        parts.append(f'<g fill="{fill}" stroke="var(--mark)">{dots}</g>')
    return _svg(248, f"Eigenvalues, gap after {found[0].n_clusters}", parts)


def _map(model: DMAC) -> str:
    """The embedding in the plane, coloured by cluster."""
    n = len(model.labels_)
    rows = np.sort(np.random.default_rng(0).permutation(n)[:_DOTS])
    labels, z = model.labels_[rows], unit_rows(model.embedding_[rows])
    with threadpool_limits(limits=1):  # so that the sums are always the same
        near = min(30.0, (len(z) - 1) / 3)
        flat = TSNE(2, perplexity=near, init="random", random_state=0).fit_transform(z)
    flat = (flat - flat.min(0)) / np.maximum(np.ptp(flat, axis=0), 1e-9) * (600, 420) + 20
    parts, names = [], []
    for k in np.unique(labels):
        mine = flat[labels == k]
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in mine)
        parts.append(f'<path d="{dots}" stroke="{_colour(k)}"/>')
        x, y = np.median(mine[:, 0]), np.percentile(mine[:, 1], 5)  # above its island
        names.append(f'<text x="{x:.1f}" y="{y - 7:.1f}">{k}</text>')
    dots = f'<g fill="none" stroke-width="6" stroke-linecap="round">{"".join(parts)}</g>'
    return _svg(
        460, "A map of the samples, by cluster", [dots, f"<g class=name>{''.join(names)}</g>"]
    )


def _svg(height: int, label: str, parts: list[str]) -> str:
    start = f'<svg viewBox="0 0 640 {height}" role="img" aria-label="{label}">'
    return "\n".join([start, *parts, "</svg>"])


def _known(classes: npt.ArrayLike | None, labels: Integers) -> str:
    if classes is None:
        return ""
    found = scores(classes, labels)
    rows = [(name.upper(), f"{100 * value:.1f} %") for name, value in found.items()]
    return _say("known", table=_table(["score", "#value"], rows))


def _methods(
    model: DMAC,
    names: list[str],
    aris: dict[str, list[float]],
    found: list[Suggestion],
    seeds: int,
    seed: int,
) -> str:
    """The paragraph for a paper."""
    recipe, widths, missing = model.recipe_, model.n_features_, model.n_missing_
    few = [] if missing is None else [(m, escape(name)) for m, name in zip(missing, names) if m]
    lacking = f"Of the samples {', '.join(f'{m} lack {name}' for m, name in few)}."
    return _say(
        "methods",
        n=len(model.labels_),
        c=model.n_clusters,
        recipe=escape(recipe.name.upper()),
        version=VERSION,
        views=", ".join(f"{escape(name)} ({d} features)" for name, d in zip(names, widths)),
        how=_say(
            "spectral" if isinstance(recipe, SpectralRecipe) else "network",
            k=recipe.n_neighbors,
            m=model.n_anchors_,
            sets=recipe.anchor_sets,
            epochs=len(model.history_),
        ).strip(),
        seed=seed,
        sklearn=sklearn.__version__,
        torch=torch.__version__,
        lacking=lacking if few else "",
        seeds=seeds,
        ari=_text(aris["seeds"][0]),
        control=_text(aris["seeds"][1]),
        halves=_text(aris["random halves"][0]),
        halves_of_control=_text(aris["random halves"][1]),
        gap=f"The largest gap of the spectrum is after {found[0].n_clusters} eigenvalues."
        if found
        else "",
    )
