"""Kept pre-training: fits end exactly as without it, and share what they have in common."""

import dataclasses
import functools
import time

import numpy as np
import pytest
import scipy.sparse

import dmac
from dmac import embedding
from dmac.recipes import RELEASED
from experiments import changes, pretraining

SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=7, epochs=3)


def views(sparse=False):
    rng = np.random.default_rng(0)
    classes = np.arange(66) % 3
    found = [
        np.abs(3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(66, d))) for d in (7, 12)
    ]
    return [scipy.sparse.csr_matrix(x) for x in found] if sparse else found


def fit(recipe=SHORT, seed=0, sparse=False, **options):
    model = dmac.DMAC(3, recipe, random_state=seed, device="cpu")
    return model.fit(views(sparse), **options)


def assert_same(one, other):
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.anchors_, other.anchors_)
    assert [r.loss for r in one.history_] == [r.loss for r in other.history_]
    assert [r.loss for r in one.pretrain_history_] == [r.loss for r in other.pretrain_history_]


@pytest.fixture
def epochs(monkeypatch):
    """Counts the epochs of pre-training that are computed."""
    counted = []

    def pretrain(*arguments, **options):
        for record in embedding.pretrain(*arguments, **options):
            counted.append(record.epoch)
            yield record

    monkeypatch.setattr("dmac.fitting.pretrain", pretrain)
    return counted


def test_a_checkpoint_of_a_kept_state_holds_its_optimiser(tmp_path):
    """The first record comes from the folder, before the loop has an optimiser of its own."""
    alone = fit()

    class Stop(Exception):
        pass

    def stop(record, embed):
        raise Stop

    with pretraining.share(tmp_path / "kept"):
        fit(dataclasses.replace(SHORT, pretrain_epochs=4))
        with pytest.raises(Stop):
            fit(checkpoint=tmp_path / "run", checkpoint_every=4, callback=stop)
    assert_same(fit(checkpoint=tmp_path / "run"), alone)


@pytest.mark.parametrize("sparse", [False, True])
def test_fit_is_the_same_with_and_without(sparse, tmp_path, epochs):
    alone = fit(sparse=sparse)
    with pretraining.share(tmp_path):
        first, second = fit(sparse=sparse), fit(sparse=sparse)
    assert len(epochs) == 14
    assert_same(first, alone)
    assert_same(second, alone)


@pytest.mark.parametrize(
    "changes",
    [
        dict(perturbation=False, al_weight=0.0),
        dict(cm_weight=0.0, sp_weight=1.0),
        dict(lr=1e-4, optimizer="adam", schedule="cosine"),
        dict(anchor_factor=0.5, anchor_start="sample", n_neighbors=2),
        dict(orthonormal=True, sigma="softplus", mutual_information="joint"),
    ],
)
def test_what_comes_after_shares_it(changes, tmp_path, epochs):
    recipe = dataclasses.replace(SHORT, **changes)
    alone = fit(recipe)
    with pretraining.share(tmp_path):
        fit()
        epochs.clear()
        assert_same(fit(recipe), alone)
    assert not epochs


@pytest.mark.parametrize(
    "change",
    [
        dict(pretrain_lr=1e-2),
        dict(hidden_dim=8),
        dict(embedding_dim=5),
        dict(negative_slope=0.2),
        dict(normalize_embedding=False),
        dict(encoder="residual"),
        dict(root=True),
        dict(components=1.0),
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_it_depends_on_makes_another(change, tmp_path, epochs):
    recipe = dataclasses.replace(SHORT, **change)
    alone = fit(recipe)
    with pretraining.share(tmp_path):
        fit()
        epochs.clear()
        assert_same(fit(recipe), alone)
        assert len(epochs) == 7
        epochs.clear()
        fit(seed=1)
    assert len(epochs) == 7


def test_lengths_continue_each_other(tmp_path, epochs):
    with_epochs = functools.partial(dataclasses.replace, SHORT)
    alone = {e: fit(with_epochs(pretrain_epochs=e)) for e in (0, 3, 5, 7, 9)}
    epochs.clear()
    with pretraining.share(tmp_path, at=(3,)):
        for length, computed in ((7, 7), (3, 0), (9, 2), (5, 2), (0, 0)):
            assert_same(fit(with_epochs(pretrain_epochs=length)), alone[length])
            assert len(epochs) == computed, length
            epochs.clear()


def test_callback_sees_the_state_between_the_phases(tmp_path):
    seen = {}

    def callback(record, embed):
        if type(record).__name__ == "PretrainRecord" and record.epoch == 7:
            seen.setdefault("between", []).append(embed())

    with pretraining.share(tmp_path):
        fit(callback=callback)
        fit(callback=callback)
    np.testing.assert_array_equal(*seen["between"])


def test_a_stopped_pretraining_goes_on_from_what_was_kept(tmp_path, epochs):
    def stop(record, embed):
        if record.epoch == 5:
            raise KeyboardInterrupt

    with pretraining.share(tmp_path, at=(2, 4)):
        with pytest.raises(KeyboardInterrupt):
            fit(callback=stop)
        epochs.clear()
        assert_same(fit(), fit())
    assert epochs == [5, 6, 7]


def test_damaged_and_half_written_files_are_made_again(tmp_path, epochs):
    alone = fit()
    with pretraining.share(tmp_path):
        fit()
        (path,) = tmp_path.rglob("*.safetensors")
        path.with_name(".7.123").write_bytes(b"a writer that was killed")
        path.write_bytes(path.read_bytes()[:1000])
        epochs.clear()
        assert_same(fit(), alone)
        assert len(epochs) == 7
        assert_same(fit(), alone)
    assert len(epochs) == 7


def test_checkpoints_work_beside_it(tmp_path):
    def stop(record, embed):
        if type(record).__name__ == "EpochRecord" and record.epoch == 2:
            raise KeyboardInterrupt

    alone = fit()
    with pretraining.share(tmp_path / "kept"):
        fit()
        with pytest.raises(KeyboardInterrupt):
            fit(checkpoint=tmp_path / "fit", checkpoint_every=1, callback=stop)
        assert_same(fit(checkpoint=tmp_path / "fit"), alone)


def test_it_ends_with_the_context(tmp_path, epochs):
    with pretraining.share(tmp_path):
        fit()
    fit()
    assert len(epochs) == 14


def test_one_process_waits_for_another_s(tmp_path, epochs):
    import threading

    results, started = [], threading.Event()

    def slow(record, embed):
        started.set()
        time.sleep(0.02)

    with pretraining.share(tmp_path):
        thread = threading.Thread(target=lambda: results.append(fit(callback=slow)))
        thread.start()
        started.wait()
        results.append(fit())
        thread.join()
    assert len(epochs) == 7
    assert_same(*results)


def test_the_plan_knows_which_changes_need_a_pretraining_of_their_own(tmp_path):
    own = []
    with pretraining.share(tmp_path):
        fit()
        for name, fields in changes.BEYOND.items():
            before = len(list(tmp_path.iterdir()))
            fit(dataclasses.replace(SHORT, **fields))
            if len(list(tmp_path.iterdir())) > before:
                own.append(name)
    assert own == list(changes.BEYOND)[-changes.OWN_PRETRAINING :]
