"""What all systems have to do alike: labels, invariances, odd data, refusals."""

import inspect
import math

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from systems import ENOUGH, QUICK, easy_views, enough, quick

from dmac import peers
from dmac.metrics import scores
from dmac.peers import ALL

#: Labels are the components of a graph: their number is what it is.
COMPONENTS = ("GMC", "UDBGL")
#: Nothing is drawn before labels are read off.
DRAWS_NOTHING = (*COMPONENTS, "SNF")
#: Not every seed finds easy clusters: a view's clusters are named after what the untrained label
#: head says of that view, and two views can get different names for one cluster.
SEEDS = {"DealMVC": 3}


@pytest.fixture(params=list(ALL))
def name(request):
    return request.param


def test_every_system_is_registered_and_tested():
    assert set(ALL) == set(QUICK) == set(ENOUGH) == set(BAD)
    exported = {getattr(peers, name) for name in peers.__all__ if name != "ALL"}
    assert exported == {*ALL.values(), peers.Peer, peers.Outcome}
    assert all(issubclass(system, peers.Peer) for system in ALL.values())


def found(model):
    """What a fit found beside the labels, as one array."""
    if hasattr(model, "embedding_"):
        return model.embedding_
    graph = model.graph_
    return graph.toarray() if scipy.sparse.issparse(graph) else graph


def test_finds_easy_clusters_in_any_order_of_the_samples(name):
    views, classes = easy_views()
    order = np.argsort(classes, kind="stable")  # as files often are
    for rows in (slice(None), order):
        accuracies = []
        for seed in range(SEEDS.get(name, 1)):
            labels = enough(name, random_state=seed).fit_predict([x[rows] for x in views])
            assert labels.shape == (90,) and labels.dtype == np.int64 and labels.min() >= 0
            accuracies.append(scores(classes[rows], labels)["acc"])
        assert np.median(accuracies) > 0.95, accuracies


def test_same_seed_same_labels_and_no_global_randomness(name):
    views, classes = easy_views(noise=4.0)
    global_state, torch_state = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    first, second, other = (quick(name, random_state=seed).fit(views) for seed in (0, 0, 1))
    given = quick(name).fit(views, classes)  # the classes are not looked at
    for again in (second, given):
        np.testing.assert_array_equal(first.labels_, again.labels_)
        np.testing.assert_array_equal(found(first), found(again))
    if name not in DRAWS_NOTHING:  # where little is random, or nothing
        assert not np.array_equal(found(first), found(other))
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], global_state)


def test_parameters_are_stored_and_cloned(name):
    model = quick(name, memory_budget=12345)
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == set(inspect.signature(ALL[name]).parameters)
    assert ALL[name](4).set_params(n_clusters=3).n_clusters == 3
    section = ALL[name].__doc__.split("\nParameters\n")[1].split("\nAttributes\n")[0]
    heads = [line.split(" : ")[0] for line in section.splitlines() if not line.startswith(" ")]
    assert set(", ".join(heads).split(", ")) >= set(model.get_params())


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
        "a view that says nothing": [views[0], np.ones((24, 2))],
        "all zero": [np.zeros((24, 4))],
        "three samples": [x[:3] for x in views],
        "one feature": [x[:, :1] for x in views],
        "huge range": [x * np.where(np.arange(x.shape[1]) % 2, 1e150, 1e-150) for x in views],
    }


@pytest.mark.filterwarnings("ignore:n_neighbors = 5 needs 7 samples")
@pytest.mark.parametrize("kind", degenerate())
def test_degenerate_views_give_finite_results(name, kind):
    views = degenerate()[kind]
    model = quick(name).fit(views)
    n = views[0].shape[0]
    assert model.labels_.shape == (n,) and model.labels_.min() >= 0
    assert model.labels_.max() < (n if name in COMPONENTS else 3)
    assert len(found(model)) == n and np.isfinite(found(model)).all()
    if hasattr(model, "graph_"):
        graph = model.graph_
        assert np.isfinite(graph.data if scipy.sparse.issparse(graph) else graph).all()
        assert graph.shape[0] == n
    for record in model.history_:
        numbers = [value for value in vars(record).values() if not isinstance(value, (str, tuple))]
        # GMC has no eigenvalue after the c-th where there are c samples.
        least = [x for x in numbers if x != math.inf or name != "GMC"]
        assert np.isfinite(least).all(), record


def test_sparse_and_dense_views_give_the_same(name):
    views = [np.abs(x) * (np.arange(x.shape[1]) > 0) for x in easy_views()[0]]
    sparse = [scipy.sparse.csr_matrix(x) for x in views]
    models = quick(name).fit(sparse), quick(name).fit(views)
    np.testing.assert_allclose(*map(found, models), atol=1e-4)


def test_too_much_memory_is_refused_before_anything_is_allocated(name, monkeypatch):
    views, _ = easy_views()
    monkeypatch.setattr(ALL[name], "_solve", lambda *args: pytest.fail("it began"))
    needed = quick(name).memory(90, (7, 5, 9))
    with pytest.raises(MemoryError, match=f"{ALL[name].__name__} on 90 samples"):
        quick(name, memory_budget=needed - 1).fit(views)


@pytest.mark.parametrize("n_clusters", [0, 1, 91, 2.5, "3", True, None])
def test_wrong_numbers_of_clusters_are_refused(name, n_clusters):
    with pytest.raises(ValueError, match="n_clusters is"):
        quick(name, n_clusters=n_clusters).fit(easy_views()[0])


# Of every system some parameters and values that none of them may have.
BAD = {
    "GMC": dict(n_neighbors=(0, 2.5, None)),
    "MSGL": dict(n_anchors=(2, 91, 7.5), alpha=(-1,), beta=(math.nan,), gamma=(0, 2, math.nan)),
    "LMVSC": dict(n_anchors=(2, 91, 7.5), alpha=(-1, math.nan, math.inf)),
    "UDBGL": dict(
        n_anchors=(2, 91, 7.5), alpha=(-1,), beta=(math.nan, math.inf), scale=("columns",)
    ),
    "CMGEC": dict(
        n_neighbors=(0,),
        hidden=((),),
        refresh=(0,),
        dropout=(1.0, -0.1),
        metric=("best",),
        discriminator=((0,),),
        device=("abacus",),
    ),
    "DealMVC": dict(
        widths=((), (4, 0)),
        batch_size=(1,),
        lr=(-1, math.nan),
        dropout=(1.0,),
        n_heads=(0, 3),
        finetune_epochs=(-1,),
        device=("abacus",),
    ),
    "GCFAggMVC": dict(
        widths=((), (4, 0)),
        batch_size=(1,),
        lr=(-1, math.nan),
        dropout=(1.0,),
        temperature=(0,),
        pretrain_epochs=(-1,),
        device=("abacus",),
    ),
    "DFP-GNN": dict(
        n_neighbors=(0,),
        hidden=((),),
        shared=((3, 0),),
        refresh=(0,),
        patience=(0,),
        flat=(-1,),
        lr=(math.nan,),
        device=("abacus",),
    ),
    "SURER": dict(
        n_neighbors=(0,),
        hidden=((),),
        refresh=(0,),
        lambda3=(-1,),
        pretrain_lr=(math.nan,),
        initial=("abacus",),
        device=("abacus",),
    ),
    "SNF": dict(
        n_neighbors=(0, 2.5, None), mu=(0, -1, math.nan), n_iterations=(-1, 0.5), scale=("rows",)
    ),
}


@pytest.mark.parametrize(
    "system, parameter, value",
    [
        (system, parameter, value)
        for system, parameters in BAD.items()
        for parameter, values in parameters.items()
        for value in values
    ],
)
def test_bad_parameters_are_refused(system, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        quick(system, **{parameter: value}).fit(easy_views()[0])
