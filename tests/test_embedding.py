"""Encoders, decoders, fusion and pre-training; sparse views give what dense ones give."""

import copy

import pytest
import scipy.sparse
import torch

from dmac import reference
from dmac.compute.layers import view_tensor
from dmac.embedding import (
    ResidualEncoder,
    ViewDecoder,
    ViewEncoder,
    fuse,
    fusion_factor,
    orthonormalize,
    pretrain,
)


def encoder(generator, n_features=12, normalize=True):
    return ViewEncoder(
        n_features, 8, 5, negative_slope=0.01, normalize=normalize, generator=generator
    ).double()


def decoder(generator, n_features=12):
    return ViewDecoder(n_features, 8, 5, negative_slope=0.01, generator=generator).double()


@pytest.mark.parametrize("make", [encoder, decoder])
def test_encoder_and_decoder_are_two_layers_with_unit_rows(make, generator):
    module = make(generator)
    w1, b1, w2, b2 = module.parameters()
    x = torch.randn(9, w1.shape[1], generator=generator, dtype=torch.float64)
    leaky = torch.nn.LeakyReLU(0.01)
    z = leaky(leaky(x @ w1.T + b1) @ w2.T + b2)
    torch.testing.assert_close(module(x), z / z.norm(dim=1, keepdim=True))
    if make is encoder:
        module.normalize = False
        torch.testing.assert_close(module(x), z)


def test_zero_row_stays_finite_through_the_encoder(generator):
    module = encoder(generator)
    with torch.no_grad():
        module.first.bias.zero_()
        module.second.bias.zero_()
    z = module(torch.zeros(2, 12, dtype=torch.float64))
    z.sum().backward()
    assert (z == 0).all()
    assert all(torch.isfinite(p.grad).all() for p in module.parameters())


def test_fusion_is_the_mean(generator):
    zs = [torch.randn(6, 3, generator=generator, dtype=torch.float64) for _ in range(4)]
    torch.testing.assert_close(fuse(zs), reference.fuse(zs))
    z = reference.fuse(zs)
    torch.testing.assert_close(fuse(zs, normalize=True), z / z.norm(dim=1, keepdim=True))


def test_pretraining_is_full_batch_rmsprop_on_the_loss_it_reports(generator):
    xs = [torch.rand(20, d, generator=generator, dtype=torch.float64) for d in (12, 7)]
    encoders = [encoder(generator, x.shape[1]) for x in xs]
    decoders = [decoder(generator, x.shape[1]) for x in xs]
    trained = torch.nn.ModuleList([*encoders, *decoders])
    by_hand = copy.deepcopy(trained)
    records = list(pretrain(encoders, decoders, xs, epochs=3, lr=1e-2, normalize=True))
    optimiser = torch.optim.RMSprop(by_hand.parameters(), lr=1e-2, alpha=0.99, eps=1e-8)
    losses = []
    for _ in range(3):
        z = torch.nn.functional.normalize(sum(e(x) for e, x in zip(by_hand, xs)), dim=1)
        loss = sum(((d(z) - x) ** 2).mean() for d, x in zip(by_hand[2:], xs))
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert [record.epoch for record in records] == [1, 2, 3]
    assert [record.loss for record in records] == pytest.approx(losses, rel=1e-9)
    assert losses[-1] < losses[0]
    torch.testing.assert_close([*trained.parameters()], [*by_hand.parameters()])


# --- the orthonormality constraint


def embeddings(n, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64) + 0.5


def test_orthonormal_fusion_is_the_product_with_the_inverse_cholesky_factor():
    z = embeddings(30, 4)
    moment = z.T @ z / 30
    # The ridge is in units of the mean of the diagonal, so that the scale of Z does not matter.
    factor = torch.linalg.cholesky(moment + 1e-2 * moment.diagonal().mean() * torch.eye(4))
    torch.testing.assert_close(fusion_factor(z, ridge=1e-2), factor)
    torch.testing.assert_close(orthonormalize(z, factor), z @ torch.linalg.inv(factor).T)
    torch.testing.assert_close(orthonormalize(1e-4 * z), orthonormalize(z))


def test_gradient_of_the_orthonormal_fusion():
    assert torch.autograd.gradcheck(orthonormalize, (embeddings(7, 3).requires_grad_(),))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dependent_columns_stay_finite_and_short(dtype):
    z = embeddings(30, 4)
    for bad in (torch.cat([z[:, :2], z[:, :2]], 1), 0 * z + 1, 1e-30 * z, z[:2]):
        bad = bad.to(dtype).requires_grad_()
        out = orthonormalize(bad)
        out.sum().backward()
        assert torch.isfinite(out).all() and torch.isfinite(bad.grad).all()
        assert (out.double().square().mean(0) < 1 + 1e-4).all()
    assert (orthonormalize(torch.zeros(5, 3, dtype=dtype)) == 0).all()


# --- the residual encoder


def test_residual_encoder_starts_at_its_linear_part_and_adds_a_correction(generator):
    module = ResidualEncoder(
        12, 8, 5, negative_slope=0.1, normalize=False, generator=generator
    ).double()
    x = torch.randn(9, 12, generator=generator, dtype=torch.float64)
    straight = x @ module.linear.weight.T + module.linear.bias
    assert torch.equal(module(x), module.linear(x))
    torch.testing.assert_close(module(x), straight)
    module(x).square().sum().backward()
    assert module.second.weight.grad.abs().sum() > 0  # at zero, yet not stuck there
    with torch.no_grad():
        module.second.weight.normal_(generator=generator)
    h = x @ module.first.weight.T + module.first.bias
    h = torch.where(h > 0, h, 0.1 * h)
    torch.testing.assert_close(module(x), straight + h @ module.second.weight.T)
    module.normalize = True
    torch.testing.assert_close(module(x).norm(dim=1), torch.ones(9, dtype=torch.float64))


def test_a_row_decoded_to_zero_stays_finite(generator):
    decode = decoder(generator)
    with torch.no_grad():
        for p in decode.parameters():
            p.zero_()
    x = view_tensor(scipy.sparse.random(6, 12, 0.2, "csr", random_state=1), torch.float64)
    z = torch.randn(6, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    loss = decode.loss(z, x)
    torch.testing.assert_close(loss, x.values.square().sum() / 72)
    for gradient in torch.autograd.grad(loss, [z, *decode.parameters()]):
        assert gradient.isfinite().all()
