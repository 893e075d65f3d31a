"""The bar of a fit: epochs with loss and time left, stages where there are none, or nothing."""

import dataclasses
import functools
import re

import numpy as np
import pytest
from helpers import Stopped, stop_at
from tqdm import tqdm

import dmac
from dmac.compute import progress_bar
from dmac.estimators import estimator_of
from dmac.recipes import CLOSED_FORM, RELEASED

# The steps of RELEASED collapse an embedding in a few epochs, which is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::dmac.estimators.CollapseWarning")
VIEWS = [np.random.default_rng(a).normal(size=(60, 5)) for a in range(2)]
TRAINED = dataclasses.replace(RELEASED, pretrain_epochs=3, epochs=4)


@pytest.fixture(autouse=True)
def enabled(monkeypatch):
    # `make` sets TQDM_DISABLE.
    monkeypatch.setattr(progress_bar, "_bar", functools.partial(tqdm, disable=False, mininterval=0))


def trained(verbose=True):
    return dmac.DMAC(3, TRAINED, random_state=0, device="cpu", verbose=verbose)


def bars(err):
    """Of every bar its last line: what it said, how far it was, of how many."""
    lines = re.findall(r"^(.*?):\s+\d+%\|.*\| (\d+)/(\d+) \[(.*)\]", err.replace("\r", "\n"), re.M)
    return {name: (int(done), int(of), about) for name, done, of, about in lines}


def test_epochs_are_shown_with_loss_and_time_left(capsys):
    seen = []
    model = trained().fit(VIEWS, callback=lambda record, embed: seen.append(embed().shape))
    found = bars(capsys.readouterr().err)
    counts = {"view 2": (2, 2), "pre-training": (3, 3), "training": (4, 4)}
    assert {name: found[name][:2] for name in counts} == counts
    said = rf"\d\d:\d\d<\d\d:\d\d.*loss={re.escape(f'{model.history_[-1].loss:.4g}')}"
    assert re.search(said, found["training"][2])
    assert seen == [(60, model.embedding_.shape[1])] * 7


@pytest.mark.parametrize("recipe", [TRAINED, CLOSED_FORM])
def test_a_silent_fit_in_a_callback_leaves_the_bar_alone(recipe, capsys):
    silent = estimator_of(recipe)(3, recipe, random_state=0, device="cpu")
    trained().fit(VIEWS, callback=lambda record, embed: silent.fit(VIEWS))
    found = bars(capsys.readouterr().err)
    assert list(found) == ["preparing", "view 1", "view 2", "pre-training", "training"]
    assert found["training"][:2] == (4, 4)


def test_a_resumed_fit_begins_where_it_was(capsys, tmp_path):
    stop = stop_at("EpochRecord", 2)
    with pytest.raises(Stopped):
        trained().fit(VIEWS, callback=stop, checkpoint=tmp_path, checkpoint_every=1)
    assert bars(capsys.readouterr().err)["training"][0] == 2
    trained().fit(VIEWS, checkpoint=tmp_path)
    err = capsys.readouterr().err
    assert bars(err)["training"][:2] == (4, 4) and "pre-training" not in err
    assert re.search(r"training: +50%.* 2/4", err)


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_stages_are_shown_where_there_are_no_epochs(rounds, capsys):
    recipe = dataclasses.replace(CLOSED_FORM, vote_rounds=rounds)
    dmac.AnchorGraphClustering(3, recipe, random_state=0, device="cpu", verbose=True).fit(VIEWS)
    found = bars(capsys.readouterr().err)
    names = ["view 1", "view 2", "graphs", "eigenvectors"]
    names += [f"votes {i + 1}" for i in range(rounds)]
    assert [name for name in found if name != "preparing"] == names
    assert found[names[-1]][:2] == (len(names), len(names))


def test_nothing_is_shown_unless_it_is_asked_for(capsys, monkeypatch):
    trained(verbose=False).fit(VIEWS)
    monkeypatch.setattr(progress_bar, "_bar", functools.partial(tqdm, disable=True))
    trained().fit(VIEWS)
    dmac.AnchorGraphClustering(3, random_state=0, device="cpu", verbose=True).fit(VIEWS)
    assert capsys.readouterr().err == ""
