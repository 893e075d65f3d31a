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


def test_other_content_is_refused_by_name(model, tmp_path):
    model.save(tmp_path)
    path = tmp_path / NAME
    tensors, about = read_tensors(path)

    def refused(match, tensors=tensors, **changes):
        kept = {key: value for key, value in (about | changes).items() if value is not None}
        write_tensors(path, tensors, kept)
        with pytest.raises(ValueError, match=match):
            dmac.load_model(tmp_path)

    refused(f"{NAME} was saved by dmac .* in format 99, this version reads", format=99)
    refused(f"in format 4, this version reads {FORMAT}: fit it again", format=4)
    refused(f"{NAME} was saved in format None, this version reads", format=None, version=None)
    refused("is the checkpoint of a fit, not a model: pass it to fit", format=None, phase=1)
    refused(
        f"{NAME} is damaged or of dmac 7.0, and this is .*TypeError",
        version="7.0",
        params=about["params"] | {"unknown": 1},
    )
    refused(f"{NAME} is damaged: TypeError", params=about["params"] | {"unknown": 1})
    fewer = {name: x for name, x in tensors.items() if name != "anchors_"}
    refused(f"{NAME} is damaged: KeyError.'anchors_'", fewer)
    refused(f"{NAME} is damaged: RuntimeError", tensors | {"network.other": torch.zeros(1)})


@pytest.mark.parametrize("kind, expected", [(np.random.RandomState, None), (np.int64, 3)])
def test_a_state_that_has_moved_on_is_not_saved(kind, expected, saved):
    views = list(np.random.default_rng(0).normal(size=(2, 40, 6)))
    model = dmac.AnchorGraphClustering(2, random_state=kind(3), device="cpu").fit(views)
    again = saved(model)
    assert again.random_state == expected
    np.testing.assert_array_equal(again.predict(views), model.labels_)


def test_a_kind_of_recipe_that_is_not_imported_is_refused(model, tmp_path):
    model.save(tmp_path)
    tensors, about = read_tensors(tmp_path / NAME)
    about["params"]["kind"] = "os"
    write_tensors(tmp_path / NAME, tensors, about)
    with pytest.raises(ValueError, match="is a os: import the module that defines it first"):
        dmac.load_model(tmp_path)


@pytest.mark.parametrize(
    "name, kind, attributes",
    [
        ("closed_form", dmac.AnchorGraphClustering, ["membership_", "view_agreement_"]),
        ("network", dmac.DMAC, ["history_", "pretrain_history_"]),
    ],
)
def test_models_of_0_1_0_come_back_as_the_class_of_their_recipe(name, kind, attributes, tmp_path):
    """Both were a DMAC there; they were fitted on twelve samples around two centres."""
    shutil.copy(MODELS / f"{name}.safetensors", tmp_path / NAME)
    noise = np.random.default_rng(0).normal(size=(12, 2)).round(1)
    views = [(np.arange(12)[:, None] % 2 * [[8.0, 6.0]] + noise).round(1)]
    model = dmac.load_model(tmp_path)
    assert type(model) is kind and model.recipe_.name in ("small", "short")
    assert read_tensors(tmp_path / NAME)[1]["version"] == "0.1.0"
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_allclose(model.transform(views), model.embedding_, atol=1e-5)
    others = {"membership_", "view_agreement_", "history_", "pretrain_history_"} - {*attributes}
    assert all(hasattr(model, name) for name in attributes)
    assert not any(hasattr(model, name) for name in others)
    model.save(tmp_path / "again")
    again = dmac.load_model(tmp_path / "again")
    assert vars(again).keys() == vars(model).keys() and again.recipe_ == model.recipe_
    np.testing.assert_array_equal(again.predict(views), model.labels_)
