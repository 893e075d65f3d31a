"""Kept pre-training: fits end exactly as without it, and share what they have in common."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from helpers import Stopped, positive_views, stop_at

import dmac
from dmac import embedding
from dmac.recipes import RELEASED
from experiments import pretraining

# The steps of RELEASED collapse an embedding in a few epochs, which is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::dmac.estimators.CollapseWarning")
SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=7, epochs=3)


def fit(seed=0, sparse=False, callback=None, **fields):
    kind = scipy.sparse.csr_matrix if sparse else np.asarray
    model = dmac.DMAC(3, dataclasses.replace(SHORT, **fields), random_state=seed, device="cpu")
    return model.fit([kind(x) for x in positive_views(66, (7, 12))], callback=callback)


def assert_same(one, other):
    for name in ("embedding_", "labels_", "anchors_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("history_", "pretrain_history_"):
        losses = [[r.loss for r in getattr(model, name)] for model in (one, other)]
        assert losses[0] == losses[1]


@pytest.fixture
def epochs(monkeypatch):
    """Counts the epochs of pre-training that are computed."""
    counted = []

    def pretrain(*arguments, **options):
        for record in embedding.pretrain(*arguments, **options):
            counted.append(record.epoch)
            yield record

    monkeypatch.setattr("dmac.solvers.network_solver.pretrain", pretrain)
    return counted


@pytest.mark.parametrize("sparse", [False, True])
def test_fit_is_the_same_with_and_without(sparse, tmp_path, epochs):
    after = dict(perturbation=False, cm_weight=0.0, lr=1e-4, optimizer="adam", n_neighbors=2)
    alone, other = fit(sparse=sparse), fit(sparse=sparse, **after)
    epochs.clear()
    with pretraining.share(tmp_path):
        for _ in range(2):
            assert_same(fit(sparse=sparse), alone)
        assert_same(fit(sparse=sparse, **after), other)  # what comes after shares it
    assert len(epochs) == 7
    fit(sparse=sparse)
    assert len(epochs) == 14  # it ends with the context


@pytest.mark.parametrize(
    "change",
    [
        *(dict(pretrain_lr=1e-2), dict(hidden_dim=8), dict(embedding_dim=5), dict(seed=1)),
        *(dict(negative_slope=0.2), dict(normalize_embedding=False), dict(encoder="residual")),
        *(dict(root=True), dict(components=1.0), dict(code="another")),
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_it_depends_on_makes_another(change, tmp_path, epochs, monkeypatch):
    code, fields = change.get("code"), {k: v for k, v in change.items() if k != "code"}
    alone = fit(**fields)
    with pretraining.share(tmp_path):
        fit()
        epochs.clear()
        if code:
            monkeypatch.setattr(pretraining, "code_hash", lambda folder: code)
        assert_same(fit(**fields), alone)
    assert len(epochs) == 7


def test_lengths_continue_each_other(tmp_path, epochs):
    alone = {e: fit(pretrain_epochs=e) for e in (0, 3, 5, 7, 9)}
    epochs.clear()
    with pretraining.share(tmp_path, at=(3,)):
        for length, computed in ((7, 7), (3, 0), (9, 2), (5, 2), (0, 0)):
            assert_same(fit(pretrain_epochs=length), alone[length])
            assert len(epochs) == computed, length
            epochs.clear()


def test_damaged_and_half_written_files_are_made_again(tmp_path, epochs):
    alone = fit()
    with pretraining.share(tmp_path, at=(2, 4)):
        with pytest.raises(Stopped):
            fit(callback=stop_at("PretrainRecord", 5))
        epochs.clear()
        assert_same(fit(), alone)
        assert epochs == [5, 6, 7]  # it goes on from what was kept
        for path in tmp_path.rglob("*.safetensors"):
            path.with_name(".7.123").write_bytes(b"a writer that was killed")
            path.write_bytes(path.read_bytes()[:1000])
        epochs.clear()
        assert_same(fit(), alone)
        assert_same(fit(), alone)
    assert len(epochs) == 7
