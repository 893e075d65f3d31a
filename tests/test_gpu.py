"""Every device that is there: against the dense reference, the processor, and itself in blocks.

`make gpu` runs this file on a machine with a GPU, with pytest and no plug-in; without one the
processor is the only device. "The costs of a fit" in the book says what runs where.
"""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import dmac
from dmac import reference, scaling
from dmac.anchor_graph import closed_form_graph
from dmac.compute import distances
from dmac.compute.layers import SparseView, dense_layer, linear
from dmac.consistency import consistency_loss
from dmac.embedding import ViewDecoder, fusion_factor, reconstruction_loss
from dmac.estimators import estimator_of
from dmac.network import Network
from dmac.recipes import CLOSED_FORM, PUBLISHED, RELEASED, REVISED
from dmac.structure import closed_form_projection, structure_preservation_loss
from dmac.training import anchor_source, draw_anchors, joint_loss, train

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
DIMS, N_CLUSTERS = (7, 5, 9), 3
JOINT = dataclasses.replace(RELEASED, name="joint", mutual_information="joint")

# What a driver or a compiler warns of is no failure, and an embedding may collapse.
pytestmark = pytest.mark.filterwarnings("default", "ignore::dmac.estimators.CollapseWarning")
on_every_device = pytest.mark.parametrize("device", DEVICES)


def small(recipe, **changes):
    """A recipe with narrow layers and few epochs."""
    if recipe is CLOSED_FORM:
        return dataclasses.replace(recipe, **changes)
    narrow = dict(hidden_dim=10, agcn_dim=4, pretrain_epochs=min(3, recipe.pretrain_epochs))
    if recipe.embedding_dim is not None:
        narrow["embedding_dim"] = 6
    return dataclasses.replace(recipe, **(narrow | changes))


def views(n=90):
    """Arrays of three views around three centres, and their classes."""
    rng = np.random.default_rng(3)
    classes = np.arange(n) % N_CLUSTERS
    return [
        4 * rng.normal(size=(N_CLUSTERS, d))[classes] + 0.5 * rng.normal(size=(n, d)) for d in DIMS
    ], classes


def unit_views(device, dtype, n=90):
    """The same as tensors of unit rows on a device."""
    tensors = (torch.as_tensor(x, device=device, dtype=torch.float64) for x in views(n)[0])
    return [torch.nn.functional.normalize(x, dim=1).to(dtype) for x in tensors]


# --- against the dense reference, in float64


@on_every_device
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, JOINT], ids=lambda r: r.name)
def test_joint_loss_matches_the_reference(device, recipe, blocks, monkeypatch):
    """The loss, its parts and its gradients."""
    if blocks:
        monkeypatch.setitem(distances.BLOCK, device, 64)
        assert len(distances.row_blocks(40, 11, torch.device(device))) > 6
    weights = dict(al_weight=0.7, cm_weight=3.0, sp_weight=2.0)
    recipe = small(recipe, **weights)
    generator = torch.Generator().manual_seed(0)
    model = Network(DIMS, N_CLUSTERS, recipe, generator=generator).to_device(device, torch.float64)
    zs, z = model.embed(unit_views(device, torch.float64, 40))
    u = draw_anchors(model, z, 11, recipe, generator)
    fast = joint_loss(model, zs, z, u, 4, recipe)
    layers = [[layer.weight.T for layer in f.layers] for f in model.convolutions]
    slow = reference.joint_loss(
        zs, z, u, 4, layers, reading=recipe.mutual_information, sp_form=recipe.sp_form, **weights
    )
    torch.testing.assert_close(fast.total, slow, rtol=1e-6, atol=0)
    parts = 0.7 * fast.anchor_learning + 3 * fast.consistency + 2 * fast.structure_preservation
    torch.testing.assert_close(fast.total, len(DIMS) * parts)
    used = (model.encoders, model.perturbation, model.convolutions)
    parameters = [p for module in used for p in module.parameters()]
    gradients = (torch.autograd.grad(x, parameters, retain_graph=True) for x in (fast.total, slow))
    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-9)


@on_every_device
@pytest.mark.parametrize("negative", [0.1, 0.0])
def test_sparse_views_match_dense_ones(device, negative):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((30, 20)) < 0.2, rng.normal(size=(30, 20)), 0)
    dense[3] = 0
    sparse = SparseView(scipy.sparse.csr_matrix(dense), torch.float64, device)
    x = torch.as_tensor(dense, device=device)
    layer = dense_layer(20, 4, torch.Generator().manual_seed(0)).double().to(device)
    outs = [linear(layer, view) for view in (sparse, x)]
    torch.testing.assert_close(*outs)
    slopes = (torch.autograd.grad(out.square().sum(), layer.weight) for out in outs)
    torch.testing.assert_close(*slopes)
    generator = torch.Generator().manual_seed(0)
    decoder = (
        ViewDecoder(20, 8, 4, negative_slope=negative, generator=generator).double().to(device)
    )
    z = torch.randn(30, 4, generator=generator, dtype=torch.float64).to(device).requires_grad_()
    losses = [decoder.loss(z, x), decoder.loss(z, sparse), reconstruction_loss(decoder(z), x)]
    wanted = [z, *decoder.parameters()]
    expected, *others = ([loss, *torch.autograd.grad(3 * loss, wanted)] for loss in losses)
    torch.testing.assert_close(others, [expected, expected])


# --- the device against the processor


def training_losses(recipe, device, dtype):
    generator = torch.Generator().manual_seed(0)
    model = Network(DIMS, N_CLUSTERS, recipe, generator=generator).to_device(device, dtype)
    tensors = unit_views(device, dtype)
    source = anchor_source(model, tensors, 20, recipe, generator)
    return [
        (r.loss, r.effective_rank, r.mean_cosine)
        for r in train(model, tensors, N_CLUSTERS, source, recipe)
    ]


@on_every_device
@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, REVISED], ids=lambda r: r.name)
def test_single_precision_follows_the_processor_in_double(device, recipe):
    recipe = small(recipe, epochs=3, lr=1e-4, anchor_sets=min(recipe.anchor_sets, 3))
    exact = training_losses(recipe, "cpu", torch.float64)
    np.testing.assert_allclose(training_losses(recipe, device, torch.float32), exact, rtol=1e-3)
    if device != "cpu":
        np.testing.assert_allclose(training_losses(recipe, device, torch.float64), exact, rtol=1e-6)


@on_every_device
@pytest.mark.parametrize("recipe", [RELEASED, REVISED, CLOSED_FORM], ids=lambda r: r.name)
def test_whole_fit_finds_the_clusters(device, recipe, tmp_path):
    data, classes = views()
    few = {} if recipe is CLOSED_FORM else {"epochs": 5}
    recipe = small(recipe, anchor_sets=min(recipe.anchor_sets, 4), **few)
    kind = estimator_of(recipe)
    model = kind(N_CLUSTERS, recipe, 0, device, "float64").fit(data)
    exact = kind(N_CLUSTERS, recipe, 0, "cpu", "float64").fit(data)
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    assert recipe.name == "released" or dmac.scores(classes, model.labels_)["acc"] == 1
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    model.save(tmp_path)
    for place in DEVICES:  # a model moves between devices
        again = dmac.load_model(tmp_path, device=place)
        np.testing.assert_array_equal(again.predict(data), model.labels_)


# --- the compiled form, checkpoints


@on_every_device
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_compiled_form_gives_the_numbers_of_the_plain_one(device, dtype):
    if device == "cuda":
        pytest.importorskip("triton", reason="without Triton the plain form is what runs")
        compiled = scaling._compile()
        assert compiled is not scaling._entropies
    else:  # traced as for a GPU, but not turned into kernels
        torch._dynamo.reset()  # a function has a limited number of traced forms in a process
        options = dict(dynamic=True, fullgraph=True, backend="eager")
        compiled = torch.compile(scaling._entropies_functional, **options)
    generator = torch.Generator().manual_seed(0)
    for rows, gradient in ((300, True), (90, False)):
        d2 = 4 * torch.rand(rows, 50, generator=generator, dtype=torch.float64).to(device, dtype)
        plain = scaling._entropies(d2.clone(), gradient)
        found = compiled(d2, gradient)
        rtol = {torch.float32: 2e-4, torch.float64: 1e-9}[dtype]
        torch.testing.assert_close(found, plain, rtol=rtol, atol=rtol)
        assert (found[1] is not None) == gradient


@on_every_device
@pytest.mark.parametrize("recipe", [RELEASED, REVISED], ids=lambda r: r.name)
def test_fit_goes_on_from_its_checkpoint(device, recipe, tmp_path):
    data, _ = views()
    recipe = small(recipe, epochs=4, anchor_sets=min(recipe.anchor_sets, 2))
    whole = dmac.DMAC(N_CLUSTERS, recipe, 0, device, "float64").fit(data)

    def stop(record, embed):
        if type(record).__name__ == "EpochRecord" and record.epoch == 3:
            raise InterruptedError

    model = dmac.DMAC(N_CLUSTERS, recipe, 0, device, "float64")
    with pytest.raises(InterruptedError):
        model.fit(data, callback=stop, checkpoint=tmp_path, checkpoint_every=1)
    seen = []
    model.fit(data, callback=lambda record, embed: seen.append(record.epoch), checkpoint=tmp_path)
    assert seen == [4]  # the third was written before it was seen
    losses = [[r.loss for r in one.history_] for one in (model, whole)]
    np.testing.assert_allclose(*losses, rtol=1e-6)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    assert model.model_.device.type == device


# --- devices that every machine has: one of shapes without numbers, one that is only pretended


class OneDevice(TorchDispatchMode):
    """Refuses an operation on tensors of two devices; single numbers may come from anywhere."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        given, _ = torch.utils._pytree.tree_flatten((args, kwargs))
        places = {x.device.type for x in given if isinstance(x, torch.Tensor) and x.dim()}
        if len(places) > 1 and "copy" not in function.__name__:
            raise AssertionError(f"{function} on {sorted(places)}")
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, REVISED], ids=lambda r: r.name)
def test_nothing_of_an_epoch_leaves_the_device(recipe):
    recipe, n, m, k = small(recipe), 70, 13, 4
    generator = torch.Generator().manual_seed(0)
    model = Network(DIMS, N_CLUSTERS, recipe, generator=generator).to("meta")
    d = recipe.embedding_dim or N_CLUSTERS
    with OneDevice():
        zs, z = model.embed([torch.empty(n, dim, device="meta") for dim in DIMS])
        u = torch.empty(m, d, device="meta")
        if recipe.perturbation:
            u = model.anchors(u, torch.empty_like(u), normalize=True)
        found = scaling.assign(z, u, k + 1, entropy=True)
        graph = closed_form_graph(found.distances, found.indices, m)
        fs = [convolve(graph, u) for convolve in model.convolutions]
        loss = found.entropy + structure_preservation_loss(z, graph)
        loss = loss + consistency_loss(fs, recipe.mutual_information)
        loss.backward()
        weight, bias = closed_form_projection(torch.cat(zs, 1).detach(), [graph.detach()], d)
    assert [tuple(x.shape) for x in (z, graph.indices, loss, weight, bias, fusion_factor(z))] == [
        *((n, d), (n, k), ()),
        *((len(DIMS) * d, d), (d,), (d, d)),
    ]
    tensors = [z, graph.weights, loss, weight, *(p.grad for p in model.encoders.parameters())]
    assert {x.device.type for x in tensors} == {"meta"}


class OnCard(torch.Tensor):
    """A tensor that says it is on a GPU, and refuses what one there would refuse."""

    device, is_cuda = property(lambda self: torch.device("cuda", 0)), True

    def numpy(self, **kwargs):
        raise TypeError("a tensor on a GPU gives no array")

    __array__ = numpy

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            given, _ = torch.utils._pytree.tree_flatten((args, kwargs or {}))
            places = {type(x) for x in given if isinstance(x, torch.Tensor) and x.dim()}
        moves = (torch.Tensor.copy_, torch.Tensor.__getitem__, torch.Tensor.__setitem__)
        if len(places) > 1 and function not in moves:
            raise AssertionError(f"{function} of tensors on two devices")
        return super().__torch_function__(function, types, args, kwargs)


def placed(x, device):
    """A tensor on the processor, or one that says it is on a GPU."""
    with torch._C.DisableTorchFunctionSubclass():
        plain = x.as_subclass(torch.Tensor)
        return plain.as_subclass(OnCard) if torch.device(device).type == "cuda" else plain


class PretendedCard(TorchFunctionMode):
    """Within it "cuda" is the processor under another name."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.cpu:
            return placed(args[0], "cpu")
        if function is torch.Tensor.to:
            x, *given = args
            given.append(kwargs.pop("device", None))
            given += [y for a in given if isinstance(a, torch.Tensor) for y in (a.device, a.dtype)]
            device = [a for a in given if isinstance(a, (str, torch.device))] or [x.device]
            types = [a for a in given if isinstance(a, torch.dtype)]
            return placed(function(placed(x, "cpu"), *types, **kwargs), device[0])
        device = kwargs.get("device")
        if device is None:
            return function(*args, **kwargs)
        args = [placed(x, "cpu") if isinstance(x, torch.Tensor) else x for x in args]
        return placed(function(*args, **kwargs | {"device": "cpu"}), device)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "missing"])
def test_closed_form_on_a_pretended_card_is_that_of_the_processor(missing, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("DMAC_NUM_THREADS", "1")  # what is pretended holds in one thread
    data, classes = views()
    if missing:
        rng, n = np.random.default_rng(0), len(classes)
        present = rng.random((n, len(DIMS))) > 0.5
        present[np.arange(n), rng.integers(len(DIMS), size=n)] = True
        data = [np.where(present[:, [a]], x, np.nan) for a, x in enumerate(data)]
    exact = dmac.AnchorGraphClustering(N_CLUSTERS, small(CLOSED_FORM, anchor_sets=4), 0, "cpu").fit(
        data
    )
    with PretendedCard():
        model = dmac.AnchorGraphClustering(N_CLUSTERS, exact.recipe, 0, "cuda").fit(data)
        assert model.model_.device.type == "cuda"
        np.testing.assert_array_equal(model.predict(data), exact.predict(data))
        model.save(tmp_path)
        again = dmac.load_model(tmp_path)
        assert again.model_.device.type == "cuda"
        np.testing.assert_array_equal(again.predict(data), exact.predict(data))
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    np.testing.assert_allclose(abs(model.embedding_), abs(exact.embedding_), atol=1e-4)
