"""Ctrl-C, as a real signal: a model that can be used, a checkpoint that goes on, or nothing."""

import dataclasses
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import dmac
from dmac.compute.interruption import deferred
from dmac.recipes import RELEASED, REVISED

# The steps of RELEASED collapse an embedding in a few epochs, which is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::dmac.estimators.CollapseWarning")
VIEWS = [np.random.default_rng(a).normal(size=(60, 5)) for a in range(2)]
SHORT = {
    "revised": dataclasses.replace(REVISED, epochs=6),
    "released": dataclasses.replace(RELEASED, pretrain_epochs=4, epochs=4),
}


@pytest.fixture(autouse=True)
def pythons_own_handler():
    """Test runners that start workers let these ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def model(recipe):
    return dmac.DMAC(3, SHORT[recipe], random_state=0, device="cpu", dtype="float64")


def press_after(kind, epoch, kept=None, times=1):
    def callback(record, embed):
        if kept is not None:
            kept.append(embed())
        if (type(record).__name__, record.epoch) == (kind, epoch):
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.parametrize(
    "recipe, kind, epoch, where",
    [
        ("revised", "EpochRecord", 1, "training epoch 1 of 6"),
        ("released", "EpochRecord", 2, "training epoch 2 of 4"),
        ("released", "PretrainRecord", 4, "pre-training epoch 4 of 4"),
    ],
)
def test_without_a_checkpoint_the_last_epoch_s_model_is_left(recipe, kind, epoch, where, saved):
    kept = []
    with pytest.warns(ConvergenceWarning, match=f"interrupted after {where}: the model is") as said:
        fitted = model(recipe).fit(VIEWS, callback=press_after(kind, epoch, kept))
    assert said[0].filename == __file__
    assert len(fitted.pretrain_history_ + fitted.history_) == len(kept)
    np.testing.assert_array_equal(fitted.embedding_, kept[-1])
    assert set(fitted.labels_) == {0, 1, 2} and np.isfinite(fitted.anchors_).all()
    np.testing.assert_array_equal(fitted.predict(VIEWS), fitted.labels_)
    again = saved(fitted)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    assert repr(again.history_) == repr(fitted.history_)  # terms of weight 0 are NaN


@pytest.mark.parametrize(
    "recipe, kind, epoch",
    [
        ("revised", "EpochRecord", 4),
        ("released", "EpochRecord", 1),
        ("released", "PretrainRecord", 2),
    ],
)
def test_with_a_checkpoint_the_same_call_goes_on(recipe, kind, epoch, tmp_path):
    whole = model(recipe).fit(VIEWS)
    with pytest.raises(KeyboardInterrupt, match=f"epoch {epoch} of .*the same call goes on from"):
        model(recipe).fit(VIEWS, checkpoint=tmp_path, callback=press_after(kind, epoch))
    seen = Mock()
    resumed = model(recipe).fit(VIEWS, checkpoint=tmp_path, callback=seen)
    total = len(whole.pretrain_history_ + whole.history_)
    skipped = epoch + (len(whole.pretrain_history_) if kind == "EpochRecord" else 0)
    assert seen.call_count == total - skipped
    np.testing.assert_array_equal(resumed.embedding_, whole.embedding_)


def test_after_the_last_epoch_the_fit_is_whole_and_two_stop_at_once_and_leave_the_estimator():
    fitted = model("revised").fit(VIEWS, callback=press_after("EpochRecord", 6))
    labels = fitted.labels_
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(VIEWS, callback=press_after("EpochRecord", 2, times=2))
    assert fitted.labels_ is labels and len(fitted.history_) == 6


def test_other_handlers_and_other_threads_are_left_alone():
    own = Mock()
    signal.signal(signal.SIGINT, own)
    with deferred() as request:
        assert signal.getsignal(signal.SIGINT) is own and not request.is_set()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ThreadPoolExecutor(1) as other:
        other.submit(model("revised").fit, VIEWS).result()  # which raises what the fit has raised


# From outside, as a terminal does it.
START = """
import sys
import numpy as np
from dmac.training import EpochRecord
import dmac.training
inner = dmac.training._epoch
def _epoch(epoch, *args):
    print("epoch", epoch, file=sys.__stdout__, flush=True)  # --quiet has taken the other
    if epoch == 3:
        sys.stdin.readline()  # the signal comes in the middle of this epoch
    return inner(epoch, *args)
dmac.training._epoch = _epoch
from dmac.command_line import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("checkpoint", [False, True])
def test_the_command_line_keeps_what_there_is(checkpoint, tmp_path):
    np.savez(tmp_path / "data.npz", X1=VIEWS[0], X2=VIEWS[1])
    command = [sys.executable, "-c", START, "fit", "data.npz", "--clusters", "3", "--quiet"]
    command += ["--recipe", "revised", "--out", "labels.csv", "--model", "kept"]
    command += ["--checkpoint", "state"] if checkpoint else []
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while process.stdout.readline() != "epoch 3\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate("\n", timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert f"interrupted after training epoch 3 of {REVISED.epochs}" in err
    assert (tmp_path / "state" / "checkpoint.safetensors").exists() == checkpoint
    assert (tmp_path / "labels.csv").exists() != checkpoint
    if not checkpoint:
        assert len(dmac.load_model(tmp_path / "kept").history_) == 3
