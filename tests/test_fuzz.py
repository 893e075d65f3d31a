"""Odd views through every recipe and every system: labels in range, or an error that is ours.

`make fuzz` takes thousands of them, `make test` a seeded hundred.
"""

import collections
import dataclasses
import os
import re
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from helpers import where
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from input_cases import read_only
from peers.systems import QUICK

import dmac
from dmac.estimators import estimator_of
from dmac.peers import ALL

#: Every warning that a fit may give.
OUR_WARNINGS = (
    r"view .* (has|have) one feature",
    r"\d+ of the \d+ entries of (a )?view.* are negative",
    r"n_neighbors = \d+ needs \d+ samples",
    r"\d+ of \d+ samples have all views",
    r"view \d+ has \d+ rows of zeros in its \d column",
    r"view \d+ has \S+ % of its variance in column \d+",
    r"\d+ of \d+ samples are zero in every view",
    r"\d+ of \d+ clusters have samples",
    r"view \d+ has \d+ samples, fewer than the \d+ clusters",
    r"the clusters go with what is missing",
    r"view \d+ decides alone",
    r"the embedding has collapsed",
)
#: Trained recipes are cut short: how they go on does not depend on how odd the views are.
RECIPES = {
    recipe.name: dataclasses.replace(
        recipe,
        **(
            dict(pretrain_epochs=min(recipe.pretrain_epochs, 2), epochs=2, hidden_dim=16)
            if isinstance(recipe, dmac.recipes.NetworkRecipe)
            else {}
        ),
        n_neighbors=2,  # few samples are refused otherwise
        anchor_sets=min(recipe.anchor_sets, 6),
    )
    for recipe in (
        *(dmac.recipes.PUBLISHED, dmac.recipes.RELEASED),
        *(dmac.recipes.REVISED, dmac.recipes.CLOSED_FORM),
    )
}


def _values(n, d, c, rng):
    """What draws (n, d) numbers, float64, by the kind of these."""
    classes = rng.integers(c, size=n)
    blobs = 4 * rng.normal(size=(c, d))[classes] + 0.5 * rng.normal(size=(n, d))
    return {
        "blobs": lambda: blobs,
        "noise": lambda: rng.normal(size=(n, d)),
        "counts": lambda: rng.poisson(2, size=(n, d)).astype(float),
        "mostly zeros": lambda: rng.poisson(0.1, size=(n, d)).astype(float),
        "zeros": lambda: np.zeros((n, d)),
        "all equal": lambda: np.full((n, d), rng.normal()),
        "equal samples": lambda: np.repeat(rng.normal(size=(1, d)), n, 0),
        "equal columns": lambda: np.repeat(rng.normal(size=(n, 1)), d, 1),
        "few distinct": lambda: rng.normal(size=(max(1, c - 1), d))[
            rng.integers(max(1, c - 1), size=n)
        ],
        "one entry": lambda: np.where(np.arange(n * d).reshape(n, d) == n * d // 2, 3.0, 0.0),
        "denormal": lambda: 1e-310 * blobs,
        "tiny": lambda: 1e-30 * blobs,
        "huge": lambda: 1e30 * blobs,
        "at the edge": lambda: 1e300 * blobs / np.abs(blobs).max(),
        "columns of all sizes": lambda: blobs * 10.0 ** rng.integers(-150, 150, size=d),
        "rows of all sizes": lambda: blobs * 10.0 ** rng.integers(-150, 150, size=(n, 1)),
        "on one line": lambda: np.outer(np.arange(n), rng.normal(size=d)),
        "far from 0": lambda: 1e8 + blobs,
        "one outlier": lambda: np.where(np.arange(n)[:, None] == 0, 1e12, blobs),
        "half zeros": lambda: blobs * (np.arange(n) % 2)[:, None],
        "few negative": lambda: (
            np.abs(blobs) - 2 * np.abs(blobs) * (np.arange(n * d) == 1).reshape(n, d)
        ),
    }


KINDS = tuple(_values(2, 2, 2, np.random.default_rng(0)))
TYPES = ("float64", "float64", "float32", "float16", "int64", "int8", "uint8", "bool")
#: What makes an array one of another form.
IN_MEMORY = {
    "C": np.asarray,
    "F": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "read-only": read_only,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_array,
}
FORMS = ("C", *IN_MEMORY)


def _cast(x, kind, form):
    """The numbers as another type, cut to half of its range, and in another form."""
    limits = np.finfo if np.dtype(kind).kind == "f" else np.iinfo
    low, high = (0, 1) if kind == "bool" else (limits(kind).min, limits(kind).max)
    with np.errstate(over="ignore"):
        x = x.clip(float(low) / 2, float(high) / 2).astype(kind)
    # SciPy has no sparse float16.
    x = x.astype(np.float32) if form in ("csr", "csc") and kind == "float16" else x
    return IN_MEMORY[form](x)


@dataclasses.dataclass
class Problem:
    """Views with the number of clusters that is asked for, and how they were made."""

    n_clusters: int
    n: int
    views: list
    made: list
    broken: bool
    present: np.ndarray | None = None

    def __repr__(self):
        return f"{self.n} samples, {self.n_clusters} clusters, {self.made}"


@st.composite
def problems(draw):
    """A `Problem`: small, and seldom a good one."""
    c = draw(st.integers(2, 5))
    few = draw(st.integers(0, 4)) == 4
    n = draw(st.integers(c - 1, c + 3) if few else st.integers(12, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    broken = draw(st.integers(0, 19)) == 19
    views, made = [], []
    for a in range(draw(st.integers(1, 3))):
        d = draw(st.one_of(st.just(1), st.integers(2, 12), st.integers(2, 80)))
        how = draw(st.tuples(*map(st.sampled_from, (KINDS, TYPES, FORMS))))
        x = _values(n, d, c, rng)[how[0]]()
        if broken and a == 0:
            bad = ("nan", "inf", "-inf") if d > 1 else ("inf", "-inf")  # NaN alone: a row of it
            how = (draw(st.sampled_from(bad)), "float64", how[2])
            x = x.copy()
            x[n // 2, d // 2] = float(how[0])
            views.append(scipy.sparse.csr_array(x) if how[2] == "csr" else x)
        else:
            views.append(_cast(x, *how[1:]))
        made.append((d, *how))
    return Problem(c, n, views, made, broken)


@st.composite
def partials(draw):
    """A `Problem` with a mask. The first and last samples have all views; now and then one none."""
    c, n, v = draw(st.integers(2, 4)), draw(st.integers(20, 50)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rate = draw(st.sampled_from((0.1, 0.3, 0.5, 0.7)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=v, max_size=v))
    views = [_values(n, int(rng.integers(1, 12)), c, rng)[kind]() for kind in kinds]
    present = rng.random((n, v)) >= rate
    none = np.flatnonzero(~present.any(1))
    present[none, rng.integers(v, size=len(none))] = True
    present[[0, -1]] = True
    if draw(st.integers(0, 4)) == 4:
        present[n // 2] = False
    return Problem(c, n, views, [rate, *kinds], broken=False, present=present)


def judge_partial(problem):
    """NaN and a mask mean the same, but for rows of zeros; who lacks all views is named.

    Returns
    -------
    str
        "labels" or "refused".
    """
    views, present, c = problem.views, problem.present, problem.n_clusters
    present = present & np.transpose([x.any(1) for x in views])  # True would be a zero that counts
    plain, hidden = (where(views, present, value) for value in (np.nan, 1e9))
    nothing = np.flatnonzero(~present.any(1))
    with warnings.catch_warnings(action="ignore"):
        if len(nothing):
            for given, said in ((plain, None), (hidden, present)):
                with pytest.raises(ValueError, match=f"sample {nothing[0]} lacks all views"):
                    make("closed_form", c).fit(given, present=said)
            return "refused"
        model = make("closed_form", c).fit(plain)
        masked = make("closed_form", c).fit(hidden, present=present)
        new = model.predict(views, present=present[::-1])
    np.testing.assert_array_equal(masked.labels_, model.labels_)
    np.testing.assert_array_equal(masked.embedding_, model.embedding_)
    assert np.isfinite(model.embedding_).all()
    assert new.min() >= 0 and max(new.max(), model.labels_.max()) < c
    return "labels"


def make(method, n_clusters, seed=0):
    """A recipe or a system by its name."""
    if method in RECIPES:
        return estimator_of(method)(n_clusters, RECIPES[method], seed, "cpu")
    given = QUICK[method] | ({"n_anchors": 5} if "n_anchors" in QUICK[method] else {})
    model = ALL[method](n_clusters, random_state=seed, **given)
    return model.set_params(device="cpu") if "device" in model.get_params() else model


def judge(method, problem):
    """Fit, and raise AssertionError for everything but labels in range or an error of our own.

    Returns
    -------
    str
        "labels", or the kind of the error.
    """
    model = make(method, problem.n_clusters)
    with warnings.catch_warnings(record=True, action="always") as told:
        try:
            labels = model.fit_predict(problem.views)
        except (ValueError, FloatingPointError) as error:
            where = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
            assert where.is_relative_to(Path(dmac.__file__).parent), (
                f"an error that is not ours: {error!r}"
            )
            assert len(str(error)) > 20, error
            labels, refused = None, type(error).__name__
        predicts = labels is not None and hasattr(model, "predict")
        again = model.predict(problem.views) if predicts else labels
    for warning in told:
        ours = issubclass(warning.category, UserWarning)
        known = any(re.match(text, str(warning.message)) for text in OUR_WARNINGS)
        assert ours and known, f"a warning that is not ours: {warning}"
    if labels is None:
        return refused
    assert not problem.broken, "NaN or infinity went in, and labels came out"
    if method != "published":  # without unit rows, rounding parts equal samples where centres meet
        np.testing.assert_array_equal(again, labels)
    most = problem.n_clusters if method in RECIPES else problem.n
    for found in (labels, again):
        assert found.shape == (problem.n,) and found.dtype == np.int64
        assert found.min() >= 0 and found.max() < most
    for name in ("embedding_", "anchors_", "cluster_centers_", "graph_"):
        x = getattr(model, name, np.zeros(1))
        x = x.data if scipy.sparse.issparse(x) else x
        assert np.isfinite(x).all(), f"{name} is not finite"
    for record in getattr(model, "history_", []) if method in RECIPES else []:
        terms = {"anchor_learning": 1.0, "consistency": 1.0}  # NaN where their weight is 0
        assert np.isfinite(dataclasses.astuple(dataclasses.replace(record, **terms))).all(), record
    return "labels"


#: Cases a method; `make fuzz` sets more, and draws new ones.
CASES = int(os.environ.get("DMAC_FUZZ_CASES", 8))


def examples(n):
    """Settings of so many cases: the same ones, or new ones where there are many."""
    return settings(max_examples=n, derandomize=CASES <= 100, suppress_health_check=[*HealthCheck])


@pytest.mark.parametrize("method", [*RECIPES, *ALL])
def test_odd_views(method):
    outcomes, cases = collections.Counter(), CASES * (3 if method in RECIPES else 1)

    @examples(cases)
    @given(problem=problems())
    def run(problem):
        outcomes[judge(method, problem)] += 1

    run()
    assert outcomes["labels"] >= 0.4 * cases  # not everything is refused
    print(method, dict(outcomes))


def test_samples_that_lack_views():
    outcomes = collections.Counter()

    @examples(2 * CASES)
    @given(problem=partials())
    def run(problem):
        outcomes[judge_partial(problem)] += 1

    run()
    assert outcomes["labels"] >= 0.4 * CASES and outcomes["refused"] >= 1
    print(dict(outcomes))
