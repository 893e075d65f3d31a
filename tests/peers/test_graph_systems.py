"""What CMGEC, DFP-GNN and SURER have to do alike: labels, invariances, odd data, refusals."""

import inspect

import numpy as np
import pytest
import scipy.sparse
import torch
from graph_systems import ENOUGH, easy_views, enough, quick
from sklearn.base import clone

from dmac.metrics import scores
from dmac.peers.cmgec import CMGEC
from dmac.peers.dfp_gnn import DFPGNN
from dmac.peers.surer import SURER


@pytest.fixture(params=list(ENOUGH), ids=lambda system: system.__name__)
def system(request):
    return request.param


def test_finds_easy_clusters(system):
    views, classes = easy_views()
    fitted = enough(system).fit(views)
    assert scores(classes, fitted.labels_)["acc"] > 0.95


def test_order_of_samples_does_not_matter(system):
    views, classes = easy_views()
    order = np.random.default_rng(1).permutation(len(classes))
    model = enough(system)
    labels, permuted = model.fit_predict(views), model.fit_predict([x[order] for x in views])
    assert scores(labels[order], permuted)["acc"] > 0.95
    assert scores(classes[order], permuted)["acc"] > 0.95


def test_same_seed_same_labels_and_no_global_randomness(system):
    views, _ = easy_views()
    global_state, torch_state = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    first, second, other = (quick(system, random_state=seed).fit(views) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert not np.array_equal(first.embedding_, other.embedding_)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], global_state)


def test_labels_are_not_used(system):
    views, classes = easy_views()
    np.testing.assert_array_equal(
        quick(system).fit(views, classes).embedding_, quick(system).fit(views).embedding_
    )


def test_parameters_are_stored_and_cloned(system):
    model = quick(system, lr=0.5)
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == set(inspect.signature(system).parameters)


def degenerate():
    views, _ = easy_views(24)
    zero_row = [x.copy() for x in views]
    for x in zero_row:
        x[3] = 0
    constant = [np.hstack([x, np.ones((24, 1))]) for x in views]
    return {
        "zero row": zero_row,
        "constant column": constant,
        "sparse": [scipy.sparse.csr_matrix(np.abs(x) * (x > 1)) for x in views],
        "one view": views[:1],
        "five views": [*views, *views[:2]],
        "integers": [np.rint(x).astype(int) for x in views],
        "two distinct samples": [x[np.arange(24) % 2] for x in views],
        "all zero": [np.zeros((24, 4))],
        "three samples": [x[:3] for x in views],
        "one feature": [x[:, :1] for x in views],
    }


@pytest.mark.parametrize("kind", degenerate())
def test_degenerate_views_give_finite_results(system, kind):
    views = degenerate()[kind]
    fitted = quick(system).fit(views)
    n = views[0].shape[0]
    assert fitted.labels_.shape == (n,) and set(fitted.labels_) <= {0, 1, 2}
    assert fitted.embedding_.shape == (n, 4) and np.isfinite(fitted.embedding_).all()
    assert all(np.isfinite(record.loss) for record in fitted.history_)


def test_sparse_and_dense_views_give_the_same(system):
    views = [np.abs(x) * (np.arange(x.shape[1]) > 0) for x in easy_views()[0]]
    sparse = [scipy.sparse.csr_matrix(x) for x in views]
    np.testing.assert_allclose(
        quick(system).fit(sparse).embedding_, quick(system).fit(views).embedding_, atol=1e-4
    )


def test_too_much_memory_is_refused_before_anything_is_allocated(system, monkeypatch):
    views, _ = easy_views()
    monkeypatch.setattr(system, "_solve", lambda *args: pytest.fail("it began"))
    with pytest.raises(MemoryError, match=f"{system.__name__} on 90 samples"):
        quick(system, memory_budget=quick(system).memory(90, (7, 5, 9)) - 1).fit(views)


BAD = [
    *((system, dict(n_neighbors=0)) for system in ENOUGH),
    *((system, dict(hidden=())) for system in ENOUGH),
    *((system, dict(refresh=0)) for system in ENOUGH),
    *((system, dict(device="abacus")) for system in ENOUGH),
    (DFPGNN, dict(shared=(3, 0))),
    (DFPGNN, dict(flat=-1)),
    (DFPGNN, dict(lr=np.nan)),
    (DFPGNN, dict(patience=0)),
    (SURER, dict(lambda3=-1)),
    (SURER, dict(pretrain_lr=np.nan)),
    (CMGEC, dict(dropout=1.0)),
    (CMGEC, dict(dropout=-0.1)),
    (CMGEC, dict(metric="best")),
    (CMGEC, dict(discriminator=(0,))),
]


@pytest.mark.parametrize("system, bad", BAD, ids=str)
def test_bad_parameters_are_refused(system, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        quick(system, **bad).fit(easy_views()[0])
