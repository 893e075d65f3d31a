"""scikit-learn's own checks, and its tools around a list of views: of every estimator here.

Whoever writes an estimator for scikit-learn runs `check_estimator`. It passes one array, which is
one view here. What it asks of everyone and an estimator of views does otherwise is listed below,
with the reason; a listed check that passes fails the test, so the list stays short.
Where the reason is rounding it may pass, since that depends on the processor.
"""

import contextlib
import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from peers.systems import quick
from sklearn.base import is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks, get_tags

import dmac
from dmac.peers import ALL

CLASSES = "what has predict_proba is taken for a classifier of four classes"
ROUNDING = "in another order sums are added otherwise, and float32 differs in the eighth digit"
#: Checks that cannot pass, with the reason.
EVERYWHERE = {
    "check_complex_data": "the message names the view: it is complex",
    "check_dtype_object": "the error names row and column of what is no number, as a ValueError",
    "check_estimators_empty_data_messages": "the message names the view: it has no features",
    "check_clustering": "it passes nested lists, and here a list is a list of views",
}
OF_BOTH = EVERYWHERE | {
    "check_transformer_data_not_an_array": "it passes nested lists as well",
    "check_n_features_in_after_fitting": "the message names the view that has another width",
}
OF_GRAPH = OF_BOTH | {
    "check_estimator_sparse_array": CLASSES,
    "check_estimator_sparse_matrix": CLASSES,
}
OF_FLOAT32 = {"check_methods_sample_order_invariance": ROUNDING}
SHORT = dataclasses.replace(dmac.recipes.REVISED, epochs=3, n_neighbors=2)


def with_two_clusters(model):
    """The model, of a class in which n_clusters is at least 2."""

    def put(self, value):
        vars(self)["n_clusters"] = value

    given = property(lambda self: max(2, vars(self)["n_clusters"]), put)
    kind = type(model)
    return type(kind.__name__, (kind,), {"n_clusters": given})(**model.get_params())


MODELS = {
    "graph": (dmac.AnchorGraphClustering(3, random_state=0), OF_GRAPH | OF_FLOAT32),
    "graph, float64": (dmac.AnchorGraphClustering(3, random_state=0, dtype="float64"), OF_GRAPH),
    "network": (dmac.DMAC(3, SHORT, random_state=0), OF_BOTH | OF_FLOAT32),
    **{name: (quick(name), EVERYWHERE) for name in ALL},
}
#: Checks that set n_clusters to 1.
ONE_CLUSTER = {
    *("check_dont_overwrite_parameters", "check_methods_subset_invariance"),
    *("check_fit2d_1sample", "check_fit2d_1feature", "check_fit2d_predict1d"),
}
CASES = [
    pytest.param(name, model, check, id=f"{name}-{number}-{check.func.__name__}")
    for name, (model, _) in MODELS.items()
    for number, (model, check) in enumerate(estimator_checks.estimator_checks_generator(model))
    if check.func.__name__ != "check_array_api_input"  # which looks at scikit-learn's own
]


@pytest.mark.filterwarnings("ignore:view 1 has one feature")
@pytest.mark.filterwarnings(r"ignore:\d+ of 40 samples are zero in every view")
@pytest.mark.filterwarnings("ignore:n_neighbors = 5 needs 7 samples")
@pytest.mark.parametrize("name, model, check", CASES)
def test_checks_of_scikit_learn(name, model, check):
    if check.func.__name__ in ONE_CLUSTER:
        model = with_two_clusters(model)
    refused = pytest.raises((AssertionError, ValueError))
    outcomes = {
        None: contextlib.nullcontext(),
        ROUNDING: contextlib.suppress(AssertionError),  # the last digit depends on the processor
    }
    with outcomes.get(MODELS[name][1].get(check.func.__name__), refused):
        check(model)


@pytest.mark.filterwarnings("ignore:the model was fitted with feature names")
@pytest.mark.parametrize(
    "check",
    [
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_dataframe_column_names_consistency",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_global_output_transform_pandas",
    ],
)
@pytest.mark.parametrize("name", ["graph", "network"])
def test_names_and_kinds_of_what_comes_out(name, check):
    model = MODELS[name][0]
    getattr(estimator_checks, check)(type(model).__name__, model)


@pytest.fixture(scope="module")
def mfeat():
    data = dmac.load("mfeat")
    return [x[::8] for x in data.views], data.labels[::8]


@pytest.mark.parametrize("name", MODELS)
def test_tags(name):
    model = MODELS[name][0]
    tags = get_tags(model)
    assert is_clusterer(model) and tags.input_tags.sparse and not tags.target_tags.required
    assert (tags.transformer_tags is not None) == (name not in ALL)


def test_grid_search_without_labels(mfeat):
    # A search cuts its input into folds, so samples have to be its rows: the views stand side by
    # side, and the first step takes them apart.
    views, classes = mfeat
    stops = np.cumsum([x.shape[1] for x in views])[:-1]
    cut = FunctionTransformer(np.hsplit, kw_args={"indices_or_sections": stops})
    poor = dataclasses.replace(
        dmac.recipes.CLOSED_FORM,
        name="poor",
        levels="plain",
        anchor_sets=1,
        filter="cut",
        blocks="views",
        components=0.1,
        vote_rounds=0,
    )
    steps = make_pipeline(cut, dmac.AnchorGraphClustering(10, random_state=0))
    grid = {"anchorgraphclustering__recipe": [poor, dmac.recipes.CLOSED_FORM]}
    search = GridSearchCV(steps, grid, cv=3).fit(np.hstack(views))
    found = search.cv_results_["mean_test_score"]
    assert np.isfinite(found).all() and found[1] > found[0]
    assert search.best_params_["anchorgraphclustering__recipe"] is dmac.recipes.CLOSED_FORM
    assert dmac.scores(classes, search.predict(np.hstack(views)))["acc"] > 0.7
    assert len(cross_val_score(steps, np.hstack(views), cv=2)) == 2


def test_score_prefers_the_clusters(mfeat):
    views, classes = mfeat
    model = dmac.AnchorGraphClustering(10, random_state=0).fit(views)
    score = model.score(views)
    assert 0 < score < 1 and model.score(views, classes) == score  # classes are not looked at
    rng = np.random.default_rng(0)
    model.cluster_centers_ = model.embedding_[rng.permutation(250)[:10]].astype(float)
    assert model.score(views) < score
    assert model.score([scipy.sparse.csr_matrix(x) for x in views]) == pytest.approx(
        model.score(views), abs=0.01
    )
    with pytest.raises(NotFittedError):
        dmac.AnchorGraphClustering(10).score(views)
    with pytest.raises(ValueError, match="10, but there are only 5 samples"):
        model.score([x[:5] for x in views])


def test_columns_of_data_frames(mfeat, saved):
    views = [x[:, :12] for x in mfeat[0][:2]]
    frames = [
        pd.DataFrame(x, columns=[f"{kind}{j}" for j in range(12)]) for kind, x in zip("ab", views)
    ]
    model = dmac.AnchorGraphClustering(10, random_state=0).fit(frames)
    assert model.n_features_in_ == 24 and model.feature_names_in_[[0, 12]].tolist() == ["a0", "b0"]
    for one in (model, saved(model)):
        with pytest.raises(ValueError, match="view 2: .*\n.*same order"):
            one.predict([frames[0], frames[1][frames[1].columns[::-1]]])
    assert not hasattr(model.fit(views), "feature_names_in_")
