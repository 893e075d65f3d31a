"""The input contract: every accepted kind of view gives the labels of plain arrays, and every
refusal says what is wrong, where, and what to do. The page of the book shows the same cases."""

import contextlib
import re

import numpy as np
import pytest
import scipy.sparse
from input_cases import ACCEPTED, REFUSED, X

import dmac
from dmac.data.checks import as_views, check_views
from dmac.estimators import estimator_of

WHERE = "view|n_clusters|anchors|random_state|device"


def model(case):
    kind = estimator_of(case.settings.get("recipe", "closed_form"))
    return kind(**({"n_clusters": 2, "random_state": 0} | case.settings))


def told(case):
    said = case.warns
    return pytest.warns(UserWarning, match=said) if said else contextlib.nullcontext()


def name(case):
    return f"{case.group}-{case.kind}"


@pytest.mark.parametrize("case", ACCEPTED, ids=name)
def test_accepted(case):
    views = case.make()
    plain = [
        np.concatenate([x.toarray() if scipy.sparse.issparse(x) else x for x in view])
        for view in as_views(views, streamed=True, incomplete=True)
    ]
    np.testing.assert_array_equal(plain[0], X if case.equals is None else case.equals)
    assert all(x.dtype == np.float64 for x in plain)
    for _ in range(2):  # the second time it is what the first has left of it
        with told(case):
            fitted = model(case).fit(views)
            np.testing.assert_array_equal(fitted.predict(views), fitted.labels_)
    with told(case):
        labels = model(case).fit_predict(plain)
    assert set(labels) <= {0, 1} and np.isfinite(fitted.embedding_).all()
    if case.group != "SciPy":  # of a sparse view, the directions come out with other rounding
        np.testing.assert_array_equal(fitted.labels_, labels)
    else:
        assert dmac.scores(labels, fitted.labels_)["ari"] == 1


@pytest.mark.parametrize("case", REFUSED, ids=name)
def test_refused(case):
    fresh = model(case)
    with pytest.raises(ValueError, match=re.escape(case.says)) as caught:
        fresh.fit(case.make())
    assert re.search(WHERE, str(caught.value)) and len(str(caught.value)) < 300
    assert not hasattr(fresh, "labels_")


@pytest.mark.parametrize("code", np.typecodes["AllInteger"])
def test_integers_of_every_width_are_numbers(code):
    np.testing.assert_array_equal(check_views(X.astype(code))[0], X)
