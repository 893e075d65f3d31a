"""A store of small runs, for the tests of what reads it."""

import dataclasses

import numpy as np

import dmac
from dmac.recipes import RELEASED
from experiments import plan, records, studies
from experiments import run as runs

SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=2, epochs=3, lr=1e-4)
METHOD = "landmark spectral clustering"
VARIANTS = {METHOD: studies.COMPARISON[METHOD], "short": ("DMAC", runs.settings_of(SHORT))}

#: What the cell of parameters of an experiment notebook has.
PARAMETERS = dict(
    dataset="",
    profile="stored",
    seeds=2,
    pretrain_epochs=None,
    epochs=None,
    device="cpu",
    n_jobs=1,
    results="",
)


def load(name):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = [5 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d)) for d in (4, 6)]
    return dmac.MultiViewData(name, views, classes, 3)


def filled(folder, names=("toy",), seeds=(1, 2), **options):
    store = records.open_store(folder)
    listed = plan.specs(VARIANTS, names, seeds, "some")
    return store, list(records.complete(listed, store, load=load, **options))
