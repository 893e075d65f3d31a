"""Views on disk: the same fit as in memory, in blocks, with the full batch's exact gradient."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import positive_views

import dmac
from dmac.compute import streaming
from dmac.compute.streaming import StreamedView, encode
from dmac.embedding import ViewEncoder
from dmac.recipes import RELEASED, REVISED

# The steps of RELEASED collapse an embedding in a few epochs, which is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::dmac.estimators.CollapseWarning")
N = 150
VIEWS = positive_views(N, (7, 12))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("dmac.data.checks._NUMBERS", 12 * 40)  # blocks of 40 samples


@pytest.mark.parametrize(
    "kind, dtype, rtol",
    [("npy", "float32", 1e-5), *[(kind, "float64", 1e-10) for kind in ("npy", "h5", "zarr")]],
)
@pytest.mark.parametrize("base", [RELEASED, REVISED], ids=lambda r: r.name)
def test_fit_from_disk_is_that_in_memory(base, kind, dtype, rtol, on_disk, small_blocks):
    short = dataclasses.replace(base, pretrain_epochs=0 if base is REVISED else 3, epochs=3)
    memory, disk = (
        dmac.DMAC(3, short, random_state=0, device="cpu", dtype=dtype).fit(x)
        for x in (VIEWS, on_disk(kind, VIEWS))
    )
    losses = [[r.loss for r in fit.pretrain_history_ + fit.history_] for fit in (memory, disk)]
    np.testing.assert_allclose(losses[1], losses[0], rtol=rtol)
    np.testing.assert_array_equal(disk.labels_, memory.labels_)
    np.testing.assert_array_equal(disk.predict(on_disk("npy", VIEWS)), memory.labels_)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_views_on_disk_and_in_memory_go_together(kind, on_disk, small_blocks):
    dense, counts = VIEWS
    counts = kind(np.where(counts > 3, counts, 0))
    losses, recipe = [], dataclasses.replace(RELEASED, pretrain_epochs=3, epochs=3)
    for first in (dense, on_disk("npy", [dense])[0]):
        model = dmac.DMAC(3, recipe, random_state=0, device="cpu", dtype="float64")
        model.fit([first, counts])
        losses.append([r.loss for r in model.pretrain_history_ + model.history_])
    np.testing.assert_allclose(*losses, rtol=1e-10)


def encoder():
    return ViewEncoder(
        7, 16, 4, negative_slope=0.01, normalize=True, generator=torch.Generator().manual_seed(0)
    ).double()


@pytest.mark.parametrize("streamed", [False, True])
def test_gradient_in_blocks_is_that_of_the_whole(streamed, monkeypatch):
    x = torch.as_tensor(VIEWS[0])
    order = np.random.default_rng(1).permutation(N)
    monkeypatch.setattr(streaming, "_ROWS", 40)
    view = (
        StreamedView(lambda rows: x[rows].numpy(), x.shape, order, x.dtype, "cpu")
        if streamed
        else x[order]
    )
    assert len(view) == N
    direction = torch.randn(N, 4, generator=torch.Generator().manual_seed(2)).double()
    gradients = []
    for embed in (encode, lambda e, _: e(x[order])):
        model = encoder()
        z = embed(model, view)
        (z * direction).sum().backward()
        gradients.append([z.detach(), *(p.grad for p in model.parameters())])
    for blocks, whole in zip(*gradients):
        torch.testing.assert_close(blocks, whole, rtol=1e-10, atol=1e-13)


def test_only_a_block_of_activations_is_kept(monkeypatch):
    monkeypatch.setattr(streaming, "_ROWS", 10)
    seen, model = [], encoder()
    model.first.register_forward_hook(lambda *a: seen.append(len(a[2])))
    encode(model, torch.as_tensor(VIEWS[0])).sum().backward()
    assert seen == [10] * (2 * N // 10)  # once for the embedding, once for its gradient
