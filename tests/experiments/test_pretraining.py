"""Kept pre-training: fits end exactly as without it, and share what they have in common."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from helpers import Stopped, positive_views, stop_at
from peers.systems import easy_views, quick
from toy_runs import load as load_toy

import dmac
from dmac import embedding
from dmac.compute.files import read_tensors, write_tensors
from dmac.recipes import RELEASED
from experiments import plan, pretraining, run, studies
from experiments.ideas.network_ideas import change

SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=7, epochs=3)


def fit(seed=0, sparse=False, callback=None, **fields):
    views = positive_views(66, (7, 12))
    if sparse:
        views = [scipy.sparse.csr_matrix(x) for x in views]
    recipe = change(SHORT, **fields)
    model = dmac.DMAC(3, recipe, random_state=seed, device="cpu")
    return model.fit(views, callback=callback)


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


def test_the_plan_knows_which_changes_need_a_pretraining_of_their_own(tmp_path):
    own = []
    with pretraining.share(tmp_path):
        fit()
        for name, fields in studies.BEYOND.items():
            before = len(list(tmp_path.iterdir()))
            fit(**fields)
            if len(list(tmp_path.iterdir())) > before:
                own.append(name)
    assert own == list(studies.OWN_PRETRAINING)


#: Other values of the settings of systems, where twice a float or two more is none.
OTHERS = dict(scale="standard", initial="spectral", reduction="sum", flat=0.5, threshold=0.5)
OTHERS |= dict(
    dropout=0.2, n_fused_neighbors=8, n_heads=4, widths=(8, 8), hidden=(9, 4), shared=(5, 3)
)
SYSTEMS = pytest.mark.parametrize("name", studies.AFTER_PRETRAINING)


def changed(name):
    """The settings of a system, each with another value."""
    settings = {k: v for k, v in quick(name).get_params().items() if k in run.peer_settings(name)}
    return {
        k: OTHERS.get(k, 2 * v if isinstance(v, float) else v + 2 if isinstance(v, int) else v)
        for k, v in settings.items()
    }


def fit_peer(name, views, **settings):
    model = quick(name, **settings).fit(views)
    return (
        model.labels_.tolist(),
        model.embedding_.tolist(),
        [(r.stage, r.epoch, r.loss) for r in model.history_],
    )


def kept(folder):
    return len(list(folder.rglob("*.safetensors")))


@SYSTEMS
@pytest.mark.parametrize("sparse", [False, True])
def test_a_peer_ends_as_it_does_alone(name, sparse, tmp_path):
    views = [x[::10] for x in dmac.load("mfeat").views[:3]]
    views = [scipy.sparse.csr_matrix(x) for x in views] if sparse else views
    after = {k: v for k, v in changed(name).items() if k in studies.AFTER_PRETRAINING[name]}
    alone, other = fit_peer(name, views), fit_peer(name, views, **after)
    assert alone != other
    with pretraining.share(tmp_path) as spared:
        assert fit_peer(name, views) == alone
        computed = kept(tmp_path)
        assert computed and not spared
        assert fit_peer(name, views) == alone
        assert fit_peer(name, views, **after) == other
        assert kept(tmp_path) == computed and len(spared) == 2 * computed
        for path in tmp_path.rglob("*.safetensors"):
            path.write_bytes(path.read_bytes()[:1000])  # it is made again
        assert fit_peer(name, views, **after) == other
        assert len(spared) == 2 * computed


@SYSTEMS
def test_what_comes_before_in_a_peer_makes_another(name, tmp_path):
    views, after = easy_views()[0], []
    with pretraining.share(tmp_path):
        fit_peer(name, views)
        for setting, value in changed(name).items():
            before = kept(tmp_path)
            fit_peer(name, views, **{setting: value})
            if kept(tmp_path) == before:
                after.append(setting)
        before = kept(tmp_path)
        fit_peer(name, views, random_state=1)
        assert kept(tmp_path) > before
    assert sorted(after) == sorted(studies.AFTER_PRETRAINING[name])


def test_the_plan_keeps_what_another_run_of_a_peer_asks_for():
    def keeps(study, dataset, name):
        (spec,) = plan.of(study, [dataset], [1], [name])
        return plan.shares_pretraining(spec)

    assert keeps("SURER, first stage", "BBC", "SURER, first stage alone")
    assert keeps("peers, deep", "BBC", "SURER")
    assert not keeps("peers, deep", "NGs", "SURER") and not keeps("peers, deep", "BBC", "CMGEC")
    assert not keeps("SURER, ten repeats", "PIE", "SURER, first stage ten times as long")
    assert all(
        plan.shares_pretraining(spec)
        for spec in plan.of("comparison", ["PIE"], [1])
        if spec.method == "DMAC"
    )


def test_the_seconds_of_a_kept_pretraining_count(tmp_path):
    settings = run.peer_settings("SURER", **dict(hidden=(8, 4), pretrain_epochs=2, epochs=1))
    spec = run.Spec("toy", "SURER", settings, 1, "some")
    first = run.make_run(spec, pretrained=tmp_path, load=load_toy)
    for path in tmp_path.rglob("*.safetensors"):
        tensors, numbers = read_tensors(path)
        numbers["records"] = [[*others, 1000.0] for *others, _ in numbers["records"]]
        write_tensors(path, tensors, numbers)
    again = run.make_run(spec, pretrained=tmp_path, load=load_toy)
    assert again["scores"] == first["scores"] and again["curves"] == first["curves"]
    assert again["seconds"] >= 2000 * len(load_toy("toy").views) > first["seconds"]
