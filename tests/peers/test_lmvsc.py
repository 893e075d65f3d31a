"""LMVSC: its weights against a general solver, its fusion against a singular value decomposition,
the whole on easy and on degenerate views."""

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from sklearn.base import clone

from dmac.compute.kmeans import kmeans
from dmac.data.whitening import RowNormalizer
from dmac.metrics import scores
from dmac.peers.lmvsc import LMVSC

WIDTHS = (7, 12, 9)


def easy_views(n=150, c=4, seed=0, noise=0.3):
    """Three views of samples around c far centres, unsorted, and their classes."""
    generator = np.random.default_rng(seed)
    classes = generator.permutation(np.arange(n) % c)
    views = []
    for d in WIDTHS:
        centres = 2 * generator.normal(size=(c, d))
        views.append(centres[classes] + noise * generator.normal(size=(n, d)))
    return views, classes


def weights_of(model, views):
    """The graph that the paper's formulas give with the anchors that the model draws."""
    seed = np.random.RandomState(model.random_state).randint(2**31 - 1)
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(views[0]))
    m, parts = model.n_anchors, []
    for x in views:
        x = RowNormalizer().fit_transform(x[order])
        a = kmeans(x, m, int(generator.integers(2**31)), 10).cluster_centers_
        rows = []
        for sample in x:
            rows.append(
                minimize(
                    lambda z: ((sample - z @ a) ** 2).sum() + model.alpha * z @ z,
                    np.full(m, 1 / m),
                    jac=lambda z: -2 * a @ (sample - z @ a) + 2 * model.alpha * z,
                    bounds=[(0, 1)] * m,
                    constraints={"type": "eq", "fun": lambda z: z.sum() - 1, "jac": np.ones_like},
                    method="SLSQP",
                    options={"ftol": 1e-14, "maxiter": 300},
                ).x
            )
        parts.append(np.array(rows)[np.argsort(order)])
    return np.hstack(parts) / np.sqrt(len(views))


def test_weights_and_embedding_are_those_of_the_formulas():
    views, _ = easy_views(n=30)
    model = LMVSC(3, n_anchors=6, alpha=0.5, random_state=3).fit(views)
    expected = weights_of(model, views)
    np.testing.assert_allclose(model.graph_, expected, atol=2e-3)
    u, s, _ = np.linalg.svd(model.graph_, full_matrices=False)
    # The same subspace, and orthonormal: signs are free.
    np.testing.assert_allclose(np.abs(u[:, :3].T @ model.embedding_), np.eye(3), atol=1e-6)
    assert s[2] > s[3]


def test_every_programme_ends_with_a_certified_gap_and_its_objective():
    views, _ = easy_views()
    model = LMVSC(4, n_anchors=20, alpha=0.3, random_state=0).fit(views)
    assert [record.view for record in model.history_] == [1, 2, 3]
    assert all(record.gap <= 1e-6 for record in model.history_)
    z = np.sqrt(3) * model.graph_
    np.testing.assert_allclose(z.reshape(150, 3, 20).sum(2), 1)
    # A part of the objective is not below the penalty, nor above one anchor for all samples.
    for a, record in enumerate(model.history_):
        penalty = 0.3 * (z[:, 20 * a : 20 * (a + 1)] ** 2).sum()
        assert penalty < record.objective < 150 * (4 + 0.3)


def test_finds_easy_clusters():
    views, classes = easy_views()
    model = LMVSC(4, random_state=0).fit(views)
    assert scores(classes, model.labels_)["acc"] > 0.95
    assert model.graph_.shape == (150, 300) and model.embedding_.shape == (150, 4)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_samples_does_not_help(seed):
    views, classes = easy_views(noise=1.0, seed=seed)
    in_order = np.argsort(classes, kind="stable")
    shuffled = [LMVSC(4, random_state=s).fit_predict(views) for s in range(3)]
    sorted_ = [LMVSC(4, random_state=s).fit_predict([x[in_order] for x in views]) for s in range(3)]
    a = np.mean([scores(classes, labels)["acc"] for labels in shuffled])
    b = np.mean([scores(classes[in_order], labels)["acc"] for labels in sorted_])
    assert abs(a - b) < 0.1


def test_the_same_seed_gives_the_same_bits():
    views, _ = easy_views(noise=1.0)
    models = [LMVSC(4, n_anchors=15, random_state=5).fit(views) for _ in range(2)]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_array_equal(models[0].graph_, models[1].graph_)


def test_sparse_views_give_what_dense_ones_give():
    generator = np.random.default_rng(0)
    counts = generator.poisson(0.3, size=(80, 30))
    counts[:40, :10] += 2
    counts[40:, 10:20] += 2
    dense = LMVSC(2, n_anchors=8, random_state=0).fit([counts, counts])
    sparse = [scipy.sparse.csr_matrix(counts), scipy.sparse.csr_matrix(counts)]
    sparse = LMVSC(2, n_anchors=8, random_state=0).fit(sparse)
    np.testing.assert_allclose(dense.graph_, sparse.graph_, atol=1e-6)
    assert scores(np.arange(80) < 40, sparse.labels_)["acc"] > 0.95
    for a, b in zip(dense.history_, sparse.history_):
        assert a.objective == pytest.approx(b.objective)


def test_unit_rows_make_the_scale_of_a_view_irrelevant():
    views, _ = easy_views()
    model = LMVSC(4, n_anchors=10, random_state=0).fit(views)
    other = LMVSC(4, n_anchors=10, random_state=0).fit([1000 * views[0], *views[1:]])
    np.testing.assert_allclose(model.graph_, other.graph_, atol=1e-6)
    raw = LMVSC(4, n_anchors=10, normalize=False, random_state=0).fit([1000 * views[0], *views[1:]])
    assert np.abs(raw.graph_ - other.graph_).max() > 0.1


@pytest.mark.parametrize("normalize", [True, False])
def test_degenerate_views_stay_finite(normalize):
    views, _ = easy_views(n=30)
    views[0][3] = 0
    views[1][:, 2] = 7
    views[2][:] = 1
    views = [np.repeat(x[:3], 10, axis=0) for x in views]
    model = LMVSC(4, n_anchors=9, normalize=normalize, random_state=0).fit(views)
    assert np.isfinite(model.graph_).all() and np.isfinite(model.embedding_).all()
    same = [model.labels_[i : i + 10] for i in (0, 10, 20)]
    assert all(len(set(labels)) == 1 for labels in same)


def test_one_view_and_zero_views_and_no_penalty():
    views, classes = easy_views(n=40, c=2)
    model = LMVSC(2, n_anchors=5, alpha=0, random_state=0).fit(views[0])
    assert scores(classes, model.labels_)["acc"] > 0.95
    model = LMVSC(2, n_anchors=5, random_state=0).fit([np.zeros((12, 3))])
    assert np.isfinite(model.embedding_).all()


def test_default_anchors():
    views, _ = easy_views(n=130, c=3)
    assert LMVSC(3, random_state=0).fit(views[:1]).graph_.shape == (130, 100)
    assert LMVSC(110, random_state=0).fit(views[:1]).graph_.shape == (130, 110)
    assert LMVSC(3, random_state=0).fit([x[:50] for x in views[:1]]).graph_.shape == (50, 50)


def test_impossible_settings_are_refused():
    views, _ = easy_views()
    for m in (3, 151, 7.5):
        with pytest.raises(ValueError, match="n_anchors is .* from n_clusters = 4 to .* 150"):
            LMVSC(4, n_anchors=m).fit(views)
    for alpha in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="alpha"):
            LMVSC(4, alpha=alpha).fit(views)


def test_parameters_and_memory():
    model = LMVSC(
        3, n_anchors=8, alpha=2, normalize=False, random_state=1, memory_budget=10
    )
    assert clone(model).get_params() == model.get_params() == {
        "n_clusters": 3, "n_anchors": 8, "alpha": 2, "normalize": False, "random_state": 1,
        "memory_budget": 10,
    }
    with pytest.raises(MemoryError, match="memory_budget"):
        model.fit(easy_views()[0])
