"""What all systems have to do alike: labels, invariances, refusals; test_fuzz has odd data."""

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import as_set
from systems import (
    BAD,
    DRAWS_NOTHING,
    ENOUGH,
    QUICK,
    SEEDS,
    SQUARE,
    STAGES,
    easy_views,
    enough,
    quick,
)

from dmac import peers
from dmac.compute.threads import LARGE, VARIABLE
from dmac.metrics import scores
from dmac.peers import ALL


@pytest.fixture(params=list(ALL))
def name(request):
    return request.param


def test_every_system_is_registered_and_tested():
    assert set(ALL) == set(QUICK) == set(ENOUGH) == set(BAD)
    assert set(STAGES) == {name for name in ALL if hasattr(ALL[name], "device")}
    exported = {getattr(peers, name) for name in peers.__all__ if name != "ALL"}
    assert exported == {*ALL.values(), peers.Peer, peers.Outcome}


def found(model):
    """What a fit found beside the labels, as one array."""
    if hasattr(model, "embedding_"):
        return model.embedding_
    graph = model.graph_
    return graph.toarray() if scipy.sparse.issparse(graph) else graph


def test_finds_easy_clusters_in_any_order_of_the_samples(name):
    views, classes = easy_views()
    for rows in (slice(None), np.argsort(classes, kind="stable")):  # as files often are
        accuracies = []
        for seed in range(SEEDS.get(name, 1)):
            labels = enough(name, random_state=seed).fit_predict([x[rows] for x in views])
            assert labels.shape == (90,) and labels.dtype == np.int64 and labels.min() >= 0
            accuracies.append(scores(classes[rows], labels)["acc"])
        assert np.median(accuracies) > 0.95, accuracies


def test_same_seed_same_labels_and_no_global_randomness(name):
    views, classes = easy_views(noise=4.0)
    global_state, torch_state = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    first, other = (quick(name, random_state=seed).fit(views) for seed in (0, 1))
    again = quick(name).fit(views, classes)  # the classes are not looked at
    np.testing.assert_array_equal(first.labels_, again.labels_)
    np.testing.assert_array_equal(found(first), found(again))
    if name not in DRAWS_NOTHING:  # where little is random, or nothing
        assert not np.array_equal(found(first), found(other))
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], global_state)


@pytest.mark.parametrize("name", ["GMC", "UDBGL"])
def test_rows_of_unit_length_do_not_see_how_long_a_document_is(name):
    views, classes = easy_views(noise=0.2, spread=2, widths=(7, 9))
    length = np.random.default_rng(0).lognormal(sigma=1.5, size=(90, 1))
    short, long = ([by * np.exp(x) for x in views] for by in (1, length))
    settings = [(short, "rows"), (long, "rows"), (long, ALL[name](3).scale)]
    models = [ALL[name](3, scale=s, random_state=0).fit(x) for x, s in settings]
    one, other, usual = (scipy.sparse.csr_matrix(model.graph_).toarray() for model in models)
    assert scores(classes, models[0].labels_)["acc"] > 0.95
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_allclose(one, other, atol=1e-9)
    assert np.abs(usual - other).max() > 1e-3


@pytest.mark.parametrize("deep", STAGES)
def test_stages_follow_each_other_and_losses_fall(deep):
    settings, stages = STAGES[deep]
    history = quick(deep, **settings).fit(easy_views()[0]).history_
    assert [r.stage for r in history] == [name for name, n in stages.items() for _ in range(n)]
    for name in stages.keys() - {"tuning"}:  # each new target raises the loss of that one
        losses = [record.loss for record in history if record.stage == name]
        assert losses[-1] < losses[0], name


def test_memory_grows_as_it_is_said_to(name):
    steps = np.diff([ALL[name](3).memory(n, (50, 60)) for n in (10**6, 2 * 10**6, 3 * 10**6)])
    # 4 - 1 and 9 - 4, or 2 - 1 and 3 - 2
    assert steps[1] / steps[0] == pytest.approx(5 / 3 if name in SQUARE else 1, rel=0.01)


@pytest.mark.parametrize("deep", STAGES)
def test_a_small_fit_takes_one_thread_and_a_large_one_all(deep, monkeypatch):
    seen, solve = [], ALL[deep]._solve

    def count(*args):
        seen.append(torch.get_num_threads())
        return solve(*args)

    monkeypatch.setattr(ALL[deep], "_solve", count)
    monkeypatch.delenv(VARIABLE, raising=False)
    with as_set("num_threads", 2):
        quick(deep).fit(easy_views()[0])
    assert seen == [1]
    assert ALL[deep](3)._work(20_000, (1000, 1000)) > LARGE


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


def test_numbers_of_numpy_are_numbers():
    quick("SURER", hidden=[np.int64(8), 4], epochs=np.int64(2), lr=0).fit(easy_views()[0])
    quick("LMVSC", n_anchors=np.int64(5), alpha=0).fit(easy_views()[0])
