"""The estimator: scikit-learn's contract, repeatability, new samples, saving, and bad input."""

import dataclasses
import itertools
import re
import threading
import warnings
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from helpers import as_set
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import dmac
from dmac.embedding import PretrainRecord
from dmac.estimators import CollapseWarning, estimator_of, numbered_by_size
from dmac.training import EpochRecord

QUICK = dataclasses.replace(
    dmac.recipes.RELEASED, name="quick", pretrain_epochs=30, epochs=3, lr=1e-4, hidden_dim=32
)
REVISED = dataclasses.replace(dmac.recipes.REVISED, epochs=10, anchor_sets=3, hidden_dim=32)


def quick_model(**changes):
    given = {"n_clusters": 3, "recipe": QUICK, "random_state": 0, **changes}
    return estimator_of(given["recipe"])(**given)


@pytest.fixture(scope="module")
def fitted(small_views):
    views, classes = small_views
    return quick_model().fit(views), views, classes


def test_attributes_after_the_fit(fitted):
    model, _, _ = fitted
    assert [(x.shape, x.dtype) for x in (model.labels_, model.embedding_, model.anchors_)] == [
        ((90,), np.int64),
        ((90, 64), np.float32),
        ((16, 64), np.float32),
    ]
    np.testing.assert_allclose(np.linalg.norm(model.anchors_, axis=1), 1, rtol=1e-5)
    assert model.n_features_ == (7, 5, 9)


def test_the_seed_gives_the_fit_by_every_method_and_the_global_state_is_left_alone(fitted):
    model, views, _ = fitted
    torch.manual_seed(123)
    np.random.seed(123)
    before = [torch.get_rng_state().numpy(), np.random.get_state()[1].copy()]
    again = quick_model()
    assert again.fit(views) is again
    for found in (again.embedding_, quick_model().fit_transform(views)):
        np.testing.assert_array_equal(found, model.embedding_)
    np.testing.assert_array_equal(quick_model().fit_predict(views), model.labels_)
    assert not np.allclose(quick_model(random_state=1).fit(views).embedding_, model.embedding_)
    np.testing.assert_equal([torch.get_rng_state().numpy(), np.random.get_state()[1]], before)


@pytest.mark.parametrize("recipe", [QUICK, REVISED], ids=["quick", "revised"])
def test_sparse_views_give_the_labels_of_dense_ones_and_are_not_modified(recipe, views):
    sparse = [scipy.sparse.csr_matrix(x) for x in views]
    copies = [x.copy() for x in views]
    labels = [quick_model(recipe=recipe).fit_predict(given) for given in (views, sparse)]
    np.testing.assert_array_equal(*labels)
    np.testing.assert_equal((views, [x.toarray() for x in sparse]), (copies, copies))


@pytest.mark.parametrize("recipe", ["closed_form", QUICK], ids=["closed form", "network"])
def test_data_frames_are_lined_up_by_the_names_of_their_rows(recipe, views):
    names = [f"patient {i}" for i in range(90)]
    frames = [pd.DataFrame(x, names).sample(frac=1, random_state=a) for a, x in enumerate(views)]
    frames[0] = frames[0].loc[names]  # the others are in another order
    plain = quick_model(recipe=recipe).fit(views)
    model = quick_model(recipe=recipe).set_output(transform="pandas")
    for out in (model.fit_transform(frames), model.transform(frames)):
        assert out.index.tolist() == names and out.columns.tolist() == list(
            model.get_feature_names_out()
        )
        np.testing.assert_allclose(out, plain.embedding_, atol=1e-5)
    again = model.transform([frames[0].iloc[::-1], *frames[1:]])
    assert again.index.tolist() == names[::-1]
    np.testing.assert_allclose(again, plain.embedding_[::-1], atol=1e-5)
    assert model.transform(views).index.tolist() == list(range(90))
    np.testing.assert_array_equal(model.fit_predict(frames), plain.labels_)
    np.testing.assert_array_equal(model.predict(frames), plain.labels_)
    assert model.score(frames) == plain.score(views)


def test_data_frames_of_other_samples_are_joined(small_views):
    views, classes = small_views
    has = np.random.default_rng(2).random((90, 3)) > 0.3
    has[~has.any(1), 0] = True
    names = np.array([f"patient {i}" for i in range(90)])
    frames = [pd.DataFrame(x[own], names[own]) for x, own in zip(views, has.T)]
    frames[1] = frames[1].iloc[::-1]
    model = quick_model(recipe="closed_form").set_output(transform="pandas")
    order = [int(name.split()[1]) for name in model.fit_transform(frames).index]
    assert sorted(order) == list(range(90))
    plain = quick_model(recipe="closed_form").fit([x[order] for x in views], present=has[order])
    np.testing.assert_equal(
        (model.labels_, model.embedding_, model.predict(frames), model.n_missing_),
        (plain.labels_, plain.embedding_, plain.labels_, (~has).sum(0)),
    )
    assert model.score(frames) == plain.score([x[order] for x in views], present=has[order])
    assert dmac.scores(classes[order], model.labels_)["acc"] > 0.9
    few = [x.iloc[a : a + 9] for a, x in enumerate(frames[::2])]  # new ones: other patterns
    few.insert(1, frames[1].loc[[*few[0].index.intersection(frames[1].index)]])
    out = model.transform(few)
    assert len(out) > 9 and set(out.index) == set().union(*(x.index for x in few))


def test_other_objects_are_refused_by_name_with_what_to_pass(views):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    tables = {name: anndata.AnnData(x) for name, x in zip("abc", views)}
    with warnings.catch_warnings(action="ignore"):  # of mudata itself
        both = mudata.MuData(tables)
    model = dmac.AnchorGraphClustering(3, random_state=0)
    for given, message in (
        ([views[0], tables["b"]], "view 2 is a AnnData: pass .* adata.X or "),
        (tables["a"], "views must be .* not a AnnData: pass "),
        (both, r"not a MuData: pass .* mdata\[name\].X of cells"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(given)


def test_callback_sees_every_epoch_in_the_order_of_the_input_and_changes_nothing(fitted):
    plain, views, _ = fitted
    seen = []
    model = quick_model().fit(views, callback=lambda record, embed: seen.append((record, embed())))
    records, embeddings = zip(*seen)
    assert [(type(r), r.epoch) for r in records] == [
        *((PretrainRecord, e) for e in range(1, 31)),
        *((EpochRecord, e) for e in range(1, 4)),
    ]
    assert [*records] == model.pretrain_history_ + model.history_
    np.testing.assert_array_equal(embeddings[-1], model.embedding_)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "recipe",
    [QUICK, dataclasses.replace(QUICK, perturbation=False, al_weight=0.0), REVISED],
    ids=["quick", "plain", "revised"],
)
def test_new_samples_and_saved_models(recipe, dtype, small_views, tmp_path):
    views, classes = small_views
    new = [x[60:] for x in views]
    with pytest.raises(NotFittedError):
        quick_model().save(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    model = quick_model(recipe=recipe, dtype=dtype).fit([x[:60] for x in views])
    assert model.embedding_.dtype == dtype
    order = np.random.default_rng(0).permutation(60)
    for rows in (order, order[:1]):
        some = [x[rows] for x in views]
        np.testing.assert_allclose(model.transform(some), model.embedding_[rows], atol=1e-5)
        np.testing.assert_array_equal(model.predict(some), model.labels_[rows])
    assert dmac.scores(classes, [*model.labels_, *model.predict(new)])["acc"] > 0.9
    path = tmp_path / "folder" / "model"
    for _ in range(2):  # saving over an old model is fine
        model.save(path)
    assert [p.name for p in path.iterdir()] == ["model.safetensors"]
    loaded = dmac.load_model(path)
    assert vars(loaded).keys() == vars(model).keys()
    assert repr(loaded.history_) == repr(model.history_)  # terms of weight 0 are NaN
    used = {"model_", "pipelines_"}  # by transform and predict
    for name in vars(model).keys() - used - {"history_"}:
        np.testing.assert_equal(getattr(loaded, name), getattr(model, name), name)
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))


def test_a_device_and_numbers_of_numpy_are_saved(views, saved, tmp_path):
    settings = {"device": torch.device("cpu"), "verbose": np.bool_(False)}
    model = dmac.AnchorGraphClustering(np.int64(3), random_state=np.int64(0), **settings)
    assert saved(model.fit(views)).device == "cpu"
    with pytest.raises(FileNotFoundError, match="pass the folder, without model.safetensors"):
        dmac.load_model(tmp_path / "model.safetensors")


def test_what_was_fitted_is_saved_whatever_was_set_since(views, saved):
    model = quick_model().fit(views)
    model.set_params(n_clusters=7, recipe="published", dtype="float64")
    loaded = saved(model)
    assert (loaded.n_clusters, loaded.recipe, loaded.dtype) == (3, QUICK, "float32")
    np.testing.assert_array_equal(loaded.transform(views), model.transform(views))


@pytest.mark.parametrize("starts", [1, 4])
def test_final_kmeans_takes_the_recipes_starts(starts, views, monkeypatch):
    taken = Mock(wraps=dmac.compute.kmeans.kmeans)
    monkeypatch.setattr("dmac.solvers.network_solver.kmeans", taken)
    quick_model(recipe=dataclasses.replace(QUICK, final_n_init=starts)).fit(views)
    assert [call.kwargs for call in taken.call_args_list] == [{"n_init": starts}]


def test_failed_fit_leaves_the_earlier_one_as_it_was(views):
    model = quick_model().fit(views)
    labels, history = model.labels_, model.history_
    last_step = dict(pretrain_epochs=0, epochs=1, lr=1e38)
    for changes in (dict(lr=1e30), dict(pretrain_lr=1e30), last_step):
        model.set_params(recipe=dataclasses.replace(QUICK, **changes))
        with pytest.raises(FloatingPointError, match="lower the lr"):
            model.fit(views)
    assert model.labels_ is labels and model.history_ is history


SETTINGS = {
    "float64": lambda: as_set("default_dtype", torch.float64),
    "another device": lambda: torch.device("meta"),
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "products of less precision": lambda: as_set("float32_matmul_precision", "medium"),
}


@pytest.mark.parametrize("recipe", [QUICK, REVISED, "closed_form"], ids=["quick", "revised", "c"])
def test_a_seed_holds_whatever_pytorch_is_set_to(recipe, views, saved):
    def everything():
        model = quick_model(recipe=recipe, device="cpu").fit(views)
        again = saved(model)
        arrays = model.embedding_, model.labels_, model.predict(views), again.transform(views)
        return *arrays, again.predict(views), model.score(views)

    expected = everything()
    for setting in SETTINGS.values():
        with setting():
            found = everything()
        np.testing.assert_equal(found, expected)


def test_fits_side_by_side_give_the_settings_back_after_the_last(views):
    entered, left = threading.Event(), threading.Event()
    first = threading.Thread(
        target=lambda: quick_model().fit(views, callback=lambda *_: entered.set() or left.wait(60))
    )
    with as_set("default_dtype", torch.float64):
        first.start()
        assert entered.wait(60)
        quick_model().fit(views)
        assert torch.get_default_dtype() is torch.float32  # the other one still needs it
        left.set()
        first.join()


def test_a_view_in_the_place_of_labels_is_refused(fitted):
    model, (rna, protein, other), classes = fitted
    views = [protein, scipy.sparse.csr_matrix(protein), torch.tensor(protein), [protein, other]]
    views += [protein.tolist(), pd.DataFrame(protein), 2 * [protein[:, :1]], protein[:, :1, None]]
    calls = [quick_model().fit, quick_model().fit_predict, quick_model().fit_transform, model.score]
    for call, y in itertools.product(calls, views):
        with pytest.raises(ValueError, match=r"y has the shape .* fit\(\[rna, protein\]\)"):
            call(rna, y)
    with pytest.raises(ValueError, match=r"candidates has the shape .* fit\(\[rna, protein\]\)"):
        dmac.suggest_n_clusters(rna, protein)
    model = dmac.AnchorGraphClustering(3, random_state=0)
    expected = model.fit_predict([rna, protein])
    for y in (
        classes,
        classes[:, None],
        classes[:, None].tolist(),
        classes.astype(str),
        list("ab"),
    ):
        np.testing.assert_array_equal(model.fit_predict([rna, protein], y), expected)


X = np.random.default_rng(0).normal(size=(40, 4))


@pytest.mark.parametrize(
    "kind, settings, n, message",
    [
        (dmac.DMAC, {"n_clusters": True}, 40, "integer"),
        (
            dmac.DMAC,
            {"recipe": dataclasses.replace(dmac.recipes.REVISED, embedding_dim=41)},
            40,
            "embedding_dim is 41, but 40 samples",
        ),
        (dmac.DMAC, {"n_clusters": 2}, 10, "4 anchors are too few for 5 neighbours"),
        (dmac.DMAC, {"recipe": "best"}, 40, "recipe"),
        (dmac.DMAC, {"dtype": "int8"}, 40, "int8"),
        *(
            (
                kind,
                {"recipe": recipe},
                40,
                f"dmac.{kind.__name__} does not take the recipe '{name}': pass it to dmac.{other}$",
            )
            for kind, recipe, name, other in (
                (dmac.DMAC, "closed_form", "closed_form", "AnchorGraphClustering"),
                (
                    dmac.DMAC,
                    dmac.recipes.CLOSED_FORM_2026_11,
                    "closed_form_2026_11",
                    "AnchorGraphClustering",
                ),
                (dmac.AnchorGraphClustering, "released", "released", "DMAC"),
                (dmac.AnchorGraphClustering, REVISED, "revised", "DMAC"),
            )
        ),
    ],
)
def test_bad_input_is_a_clear_error(kind, settings, n, message):
    """Beside what the tests of inputs pass to a fit."""
    model = kind(**{"n_clusters": 3, "recipe": QUICK} | settings)
    with pytest.raises(ValueError, match=message):
        model.fit([X[:n]])
    assert not hasattr(model, "recipe_")


def test_each_class_has_the_parameters_and_attributes_of_its_method(fitted):
    network, views, _ = fitted
    graph = quick_model(recipe="closed_form").fit(views)
    assert vars(graph).keys() - vars(network).keys() == {
        "membership_",
        "confidence_",
        "view_agreement_",
        "support_of_others_",
        "n_missing_",
    }
    assert vars(network).keys() - vars(graph).keys() == {"history_", "pretrain_history_"}
    assert dmac.DMAC(3).recipe == "released" and graph.get_params() == network.get_params() | {
        "recipe": "closed_form"
    }
    assert hasattr(graph, "predict_proba") and not hasattr(network, "predict_proba")
    assert network.predict(views, as_frame=True).columns.tolist() == ["cluster"]
    for model, of_other in ((network, "present"), (graph, "callback")):
        with pytest.raises(TypeError, match=of_other):
            model.fit(views, **{of_other: None})


@pytest.mark.parametrize(
    "recipe, seed", [("closed_form", 1), (REVISED, 0)], ids=["closed form", "network"]
)
def test_a_model_numbered_by_size_is_a_copy(recipe, seed, small_views):
    views, classes = small_views
    few = np.arange(90) < np.array([30, 60, 90])[classes]
    model = quick_model(recipe=recipe, random_state=seed).fit([x[few] for x in views])
    labels, predicted = model.labels_.copy(), model.predict(views)
    numbered = numbered_by_size(model)
    sizes = np.bincount(numbered.labels_)
    assert (np.diff(sizes) <= 0).all() and sizes.tolist() != np.bincount(labels).tolist()
    turned = numbered.labels_[np.unique(labels, return_index=True)[1]]
    np.testing.assert_array_equal(numbered.predict(views), turned[predicted])
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(views), predicted)
    if recipe == "closed_form":
        shares, again = model.predict_proba(views), numbered.predict_proba(views)
        np.testing.assert_allclose(again[:, turned], shares, rtol=1e-12)  # sums in another order
        np.testing.assert_array_equal(numbered.membership_[:, turned], model.membership_)


def test_a_collapsed_embedding_is_told_with_the_name_of_the_other_class(views):
    model = quick_model(recipe=dataclasses.replace(QUICK, lr=5e-3, epochs=15))
    with pytest.warns(
        CollapseWarning, match="'revised' excludes that, and dmac.AnchorGraph"
    ) as said:
        model.fit(views)
    assert len(said) == 1 and said[0].filename == __file__
    z = model.embedding_.astype(float)
    apart = np.square(z[:, None] - z).sum(-1).sum() / (90 * 89)  # 2 s, of unit rows
    assert apart < 0.02 and 1 - model.history_[0].mean_cosine > 10 * apart / 2


@pytest.mark.parametrize("noise, first, told", [(0.02, 0.5, 1), (0.02, 1e-3, 0), (1.0, 0.5, 0)])
def test_an_offset_from_the_start_is_no_collapse(noise, first, told):
    """Rows around a unit vector, whose spread was ``first`` in the first epoch."""
    rng, model = np.random.default_rng(0), dmac.DMAC(3)
    model.embedding_ = np.array([1.0, 0, 0]) + noise * rng.normal(size=(60, 3))
    model.history_ = [EpochRecord(1, 0, 0, 0, 0, 1 - first, 1, 0, 5, 0)]
    with warnings.catch_warnings(record=True, action="always") as said:
        model._warn_of_collapse()
    assert len(said) == told


@pytest.mark.parametrize("recipe", ["closed_form", QUICK], ids=["closed form", "network"])
def test_fewer_distinct_samples_than_clusters_are_counted(recipe):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(3, d))[np.arange(120) % 3] for d in (4, 8)]
    with pytest.warns(ConvergenceWarning, match="3 of 6 clusters have samples: there are only 3 "):
        model = estimator_of(recipe)(6, recipe, random_state=0).fit(views)
    assert dmac.scores(np.arange(120) % 3, model.labels_)["ari"] == 1
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    model = estimator_of(recipe)(3, recipe, random_state=0).fit(views)  # there is nothing to say
    # Of two centres at one place the one with samples is the one that is predicted.
    model.cluster_centers_[0], model.labels_[model.labels_ == 0] = model.cluster_centers_[1], 2
    assert (model.predict(views)[model.labels_ == 1] == 1).all()


@pytest.mark.filterwarnings("ignore:view 2 has 3 rows of zeros in its 5 column")
def test_samples_that_are_zero_in_every_view_are_counted(small_views):
    views = [x.copy() for x in small_views[0]]
    views[0][:20] = 0
    views[2][5:30] = 0
    for x in views:
        x[[7, 40, 41]] = 0
    with pytest.warns(UserWarning, match="3 of 90 samples are zero in every view .* is row 7"):
        model = dmac.AnchorGraphClustering(3, random_state=0).fit(views)
    others = np.delete(np.arange(90), [7, 40, 41])
    assert dmac.scores(small_views[1][others], model.labels_[others])["acc"] > 0.9
    with pytest.warns(UserWarning, match="3 of 90 samples are zero in every view .* is row 7"):
        np.testing.assert_array_equal(model.predict(views), model.labels_)
    dmac.AnchorGraphClustering(3, random_state=0).fit(
        [*views[:2], small_views[0][2]]
    )  # the last one has them all


@pytest.mark.parametrize(
    "recipe",
    [
        dmac.recipes.CLOSED_FORM,
        dataclasses.replace(dmac.recipes.REVISED, epochs=20, anchor_sets=4),
    ],
    ids=lambda recipe: recipe.name,
)
def test_a_narrow_view_is_clustered_by_length_too(recipe):
    classes = np.arange(120) % 2
    x = np.array([[1.0, 1.0], [5.0, 5.0]])[classes]  # which have one direction
    x += 0.5 * np.random.default_rng(0).normal(size=(120, 2))
    model = estimator_of(recipe)(2, recipe, random_state=0).fit([x[:100]])
    assert dmac.scores(classes[:100], model.labels_)["acc"] == 1
    np.testing.assert_array_equal(model.predict([x[:100]]), model.labels_)
    assert dmac.scores(classes[100:], model.predict([x[100:]]))["acc"] == 1


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_blobs_of_few_columns_are_found(d):
    x, classes = make_blobs(500, d, centers=4, random_state=d)
    models = dmac.AnchorGraphClustering(4, random_state=0), KMeans(4, n_init=5, random_state=0)
    acc, by_kmeans = (dmac.scores(classes, model.fit_predict(x))["acc"] for model in models)
    assert acc > by_kmeans - 0.02


@pytest.mark.filterwarnings("ignore::dmac.estimators.CollapseWarning")  # with two columns
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 9, 30])
@pytest.mark.parametrize("name", ["released", "revised"])
def test_advice_on_sizes_leads_to_a_fit(n, name):
    recipe = dataclasses.replace(
        dmac.recipes.get_recipe(name), pretrain_epochs=0, epochs=1, embedding_dim=2, n_neighbors=9
    )
    for _ in range(3):
        try:
            quick_model(n_clusters=2, recipe=recipe).fit([X[:n]])
            break
        except ValueError as error:
            advice = re.findall(r"(n_\w+) to (?:at most |at least )?(\d+)", str(error))
            assert advice
            # one way is enough, but "and" asks for both
            advice = advice if " and n_" in str(error) else advice[:1]
            recipe = dataclasses.replace(recipe, **{field: int(value) for field, value in advice})
    else:
        raise AssertionError(f"the advice leads nowhere: {recipe}")


@pytest.mark.parametrize("n, c", [(n, c) for c in (2, 3, 4, 5) for n in range(2 * c, 12)])
def test_few_samples_are_clustered_down_to_two_a_cluster(n, c):
    rng = np.random.default_rng(n)
    classes = np.arange(n) % c
    views = [6 * rng.normal(size=(c, d))[classes] + rng.normal(size=(n, d)) for d in (9, 3)]
    model = dmac.AnchorGraphClustering(c, random_state=0).fit(views)
    assert dmac.scores(classes, model.labels_)["acc"] > 0.7
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    assert 0 <= model.score(views) <= 1 and len(model.anchors_) == model.n_anchors_ == min(n, 6)


def test_as_many_clusters_as_samples(views):
    assert sorted(quick_model(n_clusters=8).fit_predict([x[:8] for x in views])) == [*range(8)]


def test_sparse_real_data_are_made_dense_a_few_rows_at_a_time(data_folder, monkeypatch):
    data = dmac.load("BBC")
    assert all(scipy.sparse.issparse(x) for x in data.views)
    whole = scipy.sparse.csr_matrix.toarray

    def of_few(x, *args, **kwargs):
        assert x.shape[0] <= 64, "a sparse view was made dense"
        return whole(x, *args, **kwargs)

    monkeypatch.setattr(scipy.sparse.csr_matrix, "toarray", of_few)  # also of `todense`
    recipe = dataclasses.replace(QUICK, pretrain_epochs=2, epochs=1)
    model = dmac.DMAC(data.n_clusters, recipe, random_state=0).fit(data.views)
    np.testing.assert_array_equal(model.predict(data.views), model.labels_)


# --- the revised recipe


def revised(views, **changes):
    """A fitted model of the revised recipe with other values of some fields."""
    return quick_model(recipe=dataclasses.replace(REVISED, **changes)).fit(views)


def test_revised_embedding_is_orthonormal_and_roots_are_of_views_without_negative_entries(
    views,
):
    model = revised(views)
    z = model.embedding_.astype(float)
    np.testing.assert_allclose(z.T @ z / 90, np.eye(3), atol=1e-5)
    assert not any(p.root_ for p in model.pipelines_)  # the views have negative entries
    assert all(p.root_ for p in revised([abs(x) for x in views]).pipelines_)


@pytest.mark.parametrize(
    "changes, widths, anchors",
    [
        # floor(2 sqrt(90 * 3)) anchors, below half of the samples; 2 c columns, if there are as
        # many: the view of five columns has one more
        ({}, [6, 6, 6], 32),
        ({"components": 1.0}, [3, 3, 3], 32),
        ({"components": 0.5}, [2, 2, 2], 32),
        ({"components": 0.1}, [1, 1, 1], 32),
        ({"anchor_share": 0.2}, [6, 6, 6], 18),  # of the samples, and no more
    ],
    ids=str,
)
def test_the_recipe_gives_the_widths_of_the_whitened_views_and_the_anchors(
    changes, widths, anchors, views
):
    model = revised(views, epochs=1, **changes)
    assert [p.n_features_out_ for p in model.pipelines_] == widths
    assert model.n_anchors_ == anchors and model.anchors_.shape == (anchors, 3)


@pytest.mark.parametrize("unit", [True, False])
def test_final_kmeans_sees_unit_rows_when_the_recipe_says_so(unit, views):
    model = revised(views, final_unit_rows=unit)
    rows = model.embedding_.astype(float)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows
    means = [rows[model.labels_ == j].mean(0) for j in range(3)]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-5)
