"""Saved models that are damaged, foreign, or were being written when something stopped it."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import dmac
from dmac.compute.files import read_tensors, write_tensors
from dmac.recipes import REVISED
from dmac.solvers.persistence import FORMAT, NAME

MODELS = Path(__file__).parent / "models_0_1_0"
OF_0_2_0 = Path(__file__).parent / "models_0_2_0/closed_form.safetensors"


@pytest.fixture(scope="module")
def model():
    """A model fitted in one epoch."""
    views = np.random.default_rng(0).normal(size=(2, 40, 6))
    recipe = dataclasses.replace(REVISED, epochs=1)
    return dmac.DMAC(2, recipe, random_state=0, device="cpu").fit(list(views))


def test_damaged_saves_are_refused_by_name(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"{NAME} is missing: not a saved model"):
        dmac.load_model(tmp_path)
    model.save(tmp_path)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=f"{NAME} is damaged"):
        dmac.load_model(tmp_path)
    with pytest.raises(ValueError, match="is a file; save needs a folder"):
        model.save(path)


def test_memberships_that_an_earlier_fit_had_left_are_not_read(model, tmp_path):
    model.save(tmp_path)
    tensors, about = read_tensors(tmp_path / NAME)
    write_tensors(tmp_path / NAME, tensors | {"membership": torch.ones(5, 2)}, about)
    assert len(dmac.load_model(tmp_path).labels_) == 40


UNKNOWN = {"params": {"unknown": 1}}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"format": 99}, f"{NAME} was saved by dmac .* in format 99, this version reads"),
        ({"format": 4}, f"in format 4, this version reads {FORMAT}: fit it again"),
        (
            {"format": None, "version": None},
            f"{NAME} was saved in format None, this version reads",
        ),
        ({"format": None, "phase": 1}, "is the checkpoint of a fit, not a model: pass it to fit"),
        (UNKNOWN | {"version": "7.0"}, f"{NAME} is damaged or of dmac 7.0, and .*TypeError"),
        (UNKNOWN, f"{NAME} is damaged: TypeError"),
        ({"anchors_": None}, f"{NAME} is damaged: KeyError.'anchors_'"),
        ({"network.other": torch.zeros(1)}, f"{NAME} is damaged: RuntimeError"),
        ({"params": {"kind": "os"}}, "is a os: import the module that defines it first"),
    ],
    ids=lambda given: "" if isinstance(given, str) else ", ".join(given),
)
def test_other_content_is_refused_by_name(model, tmp_path, changes, message):
    """What is changed is an array or about the model, whose parameters are completed."""
    model.save(tmp_path)
    tensors, about = read_tensors(tmp_path / NAME)
    for name, value in changes.items():
        of = tensors if name in tensors or torch.is_tensor(value) else about
        of[name] = about["params"] | value if name == "params" else value
        if value is None:
            del of[name]
    write_tensors(tmp_path / NAME, tensors, about)
    with pytest.raises(ValueError, match=message):
        dmac.load_model(tmp_path)


@pytest.mark.parametrize("kind, expected", [(np.random.RandomState, None), (np.int64, 3)])
def test_a_state_that_has_moved_on_is_not_saved(kind, expected, saved):
    views = list(np.random.default_rng(0).normal(size=(2, 40, 6)))
    model = dmac.AnchorGraphClustering(2, random_state=kind(3), device="cpu").fit(views)
    again = saved(model)
    assert again.random_state == expected
    np.testing.assert_array_equal(again.predict(views), model.labels_)


@pytest.mark.parametrize(
    "name, kind, attributes",
    [
        ("closed_form", dmac.AnchorGraphClustering, ["membership_", "view_agreement_"]),
        ("network", dmac.DMAC, ["history_", "pretrain_history_"]),
    ],
)
def test_models_of_0_1_0_come_back_as_the_class_of_their_recipe(
    name, kind, attributes, tmp_path, saved
):
    """Both were a DMAC there; they were fitted on twelve samples around two centres."""
    shutil.copy(MODELS / f"{name}.safetensors", tmp_path / NAME)
    noise = np.random.default_rng(0).normal(size=(12, 2)).round(1)
    views = [(np.arange(12)[:, None] % 2 * [[8.0, 6.0]] + noise).round(1)]
    assert read_tensors(tmp_path / NAME)[1]["version"] == "0.1.0"
    model = dmac.load_model(tmp_path)
    assert type(model) is kind and model.recipe_.name in ("small", "short")
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_allclose(model.transform(views), model.embedding_, atol=1e-5)
    of_one_class = {"membership_", "view_agreement_", "history_", "pretrain_history_"}
    assert vars(model).keys() & of_one_class == {*attributes}
    again = saved(model)
    assert vars(again).keys() == vars(model).keys() and again.recipe_ == model.recipe_
    np.testing.assert_array_equal(again.predict(views), model.labels_)


def test_a_model_of_0_2_0_that_kept_the_lengths_of_rows_predicts_as_it_did(tmp_path, saved):
    """Answers of three groups on a scale, whose lengths a guard kept, and a narrow view."""
    shutil.copy(OF_0_2_0, tmp_path / NAME)
    assert read_tensors(tmp_path / NAME)[1]["version"] == "0.2.0"
    rng, y = np.random.default_rng(0), np.arange(45) % 3
    answers = 3 + 1.5 * (y - 1)[:, None] + 0.5 * rng.normal(size=(45, 8))
    narrow = y[:, None] * [[4.0, -3.0]] + rng.normal(size=(45, 2))
    views = [np.rint(answers).clip(1, 5), narrow.round(1)]
    model = dmac.load_model(tmp_path)
    for fitted in (model, saved(model)):
        assert fitted.recipe_.levels == "both" and fitted.pipelines_[0].widths_ == (1, 9)
        np.testing.assert_array_equal(fitted.predict(views), fitted.labels_)
        assert dmac.scores(y, fitted.labels_)["acc"] == 1
        np.testing.assert_allclose(fitted.transform(views), fitted.embedding_, atol=1e-5)
