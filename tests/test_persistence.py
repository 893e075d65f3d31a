"""Saved models that are damaged, foreign, or were being written when something stopped it."""

import dataclasses
import os

import numpy as np
import pytest
import torch

import dmac
from dmac.compute.files import read_tensors, write_tensors
from dmac.persistence import NAME
from dmac.recipes import REVISED


@pytest.fixture(scope="module")
def model():
    """A model fitted in one epoch."""
    views = np.random.default_rng(0).normal(size=(2, 40, 6))
    recipe = dataclasses.replace(REVISED, epochs=1)
    return dmac.DMAC(2, recipe, random_state=0, device="cpu").fit(list(views))


def test_interrupted_save_leaves_the_old_model(model, tmp_path, monkeypatch):
    model.save(tmp_path)

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            model.save(tmp_path)
    np.testing.assert_array_equal(dmac.DMAC.load(tmp_path).labels_, model.labels_)


def test_damaged_saves_are_refused_by_name(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"{NAME} is missing: not a saved DMAC model"):
        dmac.DMAC.load(tmp_path)
    model.save(tmp_path)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=f"{NAME} is damaged"):
        dmac.DMAC.load(tmp_path)
    with pytest.raises(ValueError, match="is a file; save needs a folder"):
        model.save(path)


def test_other_content_is_refused_by_name(model, tmp_path):
    model.save(tmp_path)
    path = tmp_path / NAME
    tensors, about = read_tensors(path)

    def refused(match, tensors=tensors, **changes):
        write_tensors(path, tensors, about | changes)
        with pytest.raises(ValueError, match=match):
            dmac.DMAC.load(tmp_path)

    refused(f"{NAME} was saved by dmac .* in format 99, this version reads", format=99)
    refused(f"{NAME} is damaged: TypeError", params=about["params"] | {"unknown": 1})
    fewer = {name: x for name, x in tensors.items() if name != "anchors_"}
    refused(f"{NAME} is damaged: KeyError.'anchors_'", fewer)
    refused(f"{NAME} is damaged: RuntimeError", tensors | {"network.other": torch.zeros(1)})
