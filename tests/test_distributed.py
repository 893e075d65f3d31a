"""Samples in several processes: the same fit; a lost process is an error, and the fit resumes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from helpers import positive_views, python, sources

import dmac
import dmac.distributed
from dmac.compute import parallel
from dmac.compute.checkpoint import NAME
from dmac.distributed import open_view
from experiments.ideas.network_ideas import change

N = 130
# One process of a torchrun: fits on its shard, a line an epoch, and saves the model.
WORKER = """
import json, sys, time
import numpy as np, scipy.sparse, torch, torch.distributed as dist
import dmac
from dmac.distributed import fit_sharded, open_view
from experiments.ideas.network_ideas import change
folder, recipe, dtype, pause, kind = sys.argv[1:]
torch.set_num_threads(1)
dist.init_process_group("gloo")
changes = json.loads(recipe)
base = dmac.recipes.get_recipe(changes.pop("base"))
seed = changes.pop("seed", 0)
model = dmac.DMAC(3, change(base, **changes), seed, "cpu", dtype)
def callback(record, embed):
    if dist.get_rank() == 0:
        print("epoch", record.epoch, flush=True)
    time.sleep(float(pause))
views = [open_view(f"{folder}/{a}.npy") for a in range(2)]
if kind == "csr":
    views = [scipy.sparse.csr_matrix(x) for x in views]
kept = f"{folder}/run" if float(pause) else None
fit_sharded(model, views, callback=callback, checkpoint=kept, checkpoint_every=1)
model.save(f"{folder}/model {dist.get_rank()}")
dist.destroy_process_group()
"""


@pytest.fixture
def folder(tmp_path):
    for a, x in enumerate(positive_views(N, (7, 12))):
        np.save(tmp_path / f"{a}.npy", x)
    (tmp_path / "worker.py").write_text(WORKER)
    return tmp_path


def start(folder, n, recipe, dtype="float64", pause=0, kind="memory map"):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(n), str(folder / "worker.py"), str(folder)]
    command += [json.dumps(recipe), dtype, str(pause), kind]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )


def finished(folder, *given, **more):
    """The model of the first process when all have ended well."""
    process = start(folder, *given, **more)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-3000:]
    return dmac.DMAC.load(folder / "model 0")


def alone(folder, recipe, dtype="float64"):
    changes = dict(recipe)
    base = dmac.recipes.get_recipe(changes.pop("base"))
    model = dmac.DMAC(3, change(base, **changes), 0, "cpu", dtype)
    return model.fit([open_view(folder / f"{a}.npy") for a in range(2)])


def losses(model):
    return [record.loss for record in model.pretrain_history_ + model.history_]


RECIPES = {
    "released": dict(base="released", pretrain_epochs=4, epochs=4, mutual_information="joint"),
    "revised": dict(base="revised", epochs=4),
    "ideas": dict(
        base="revised",
        epochs=3,
        perturbation=True,
        sigma="spread",
        al_weight=0.1,
        al_form="balanced",
        cm_weight=0.1,
        detach_graph=False,
    ),
    "many samples an anchor": dict(base="released", pretrain_epochs=0, epochs=3, n_anchors=8),
}


@pytest.mark.parametrize(
    "name, n, dtype, kind, rtol",
    [
        ("released", 4, "float64", "memory map", 1e-10),
        ("released", 2, "float64", "csr", 1e-8),
        ("revised", 2, "float32", "memory map", 1e-5),
        ("ideas", 2, "float64", "memory map", 1e-10),
        ("many samples an anchor", 2, "float64", "memory map", 1e-10),
    ],
)
def test_shards_give_the_fit_of_one_process(name, n, dtype, kind, rtol, folder, monkeypatch):
    if name.startswith("many"):
        (folder / "worker.py").write_text(
            "import dmac.compute.kmeans\ndmac.compute.kmeans._SEED_SAMPLES = 8\n" + WORKER
        )
        monkeypatch.setattr("dmac.compute.kmeans._SEED_SAMPLES", 8)
    found = finished(folder, n, RECIPES[name], dtype, kind=kind)
    expected = alone(folder, RECIPES[name], dtype)
    np.testing.assert_allclose(losses(found)[0], losses(expected)[0], rtol=rtol)
    if RECIPES[name]["base"] == "revised":
        rtol *= 100  # Adam's first steps turn the rounding of tiny gradients into full steps
    np.testing.assert_allclose(losses(found), losses(expected), rtol=rtol)
    for field in ("mean_cosine", "effective_rank", "anchor_learning", "empty_anchors"):
        values = [[getattr(r, field) for r in model.history_] for model in (found, expected)]
        np.testing.assert_allclose(*values, rtol=100 * rtol, atol=100 * rtol)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    if dtype == "float64":
        np.testing.assert_allclose(found.embedding_, expected.embedding_, rtol=1e-4, atol=1e-6)


def test_fit_without_a_seed_is_one_fit_in_all_processes(folder):
    first = finished(folder, 2, RECIPES["revised"] | {"seed": None})
    second = dmac.DMAC.load(folder / "model 1")
    for name in ("labels_", "embedding_", "anchors_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert losses(first) == losses(second)
    other = alone(folder, RECIPES["revised"])  # of seed 0, which nobody asked for
    assert np.abs(first.embedding_ - other.embedding_).max() > 1e-3


@pytest.mark.parametrize(("n", "lacking"), [(3, False), (3, True)])
def test_shards_give_the_spectral_fit_of_one_process(n, lacking, folder):
    recipe = dict(base="closed_form", anchor_sets=2, guard=0.5)
    for a in range(2 * lacking):  # a fifth of the samples has both views
        x = np.load(folder / f"{a}.npy")
        x[np.isin(np.arange(N) % 5, [2 * a, 2 * a + 1])] = np.nan
        np.save(folder / f"{a}.npy", x)
    found, expected = finished(folder, n, recipe), alone(folder, recipe)
    assert len(expected.network_.stages) == 2  # with votes
    assert (expected.network_.completion is not None) == lacking
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.view_support_, expected.view_support_, rtol=1e-6)
    products = (model.embedding_ @ model.embedding_.T for model in (found, expected))
    np.testing.assert_allclose(*products, atol=1e-5)
    np.testing.assert_allclose(np.abs(found.anchors_), np.abs(expected.anchors_), atol=1e-4)


def test_lost_process_ends_the_job_and_the_fit_goes_on_from_its_checkpoint(folder):
    recipe = dict(base="revised", epochs=12)
    process = start(folder, 2, recipe, pause=0.3)
    for line in process.stdout:
        if line.strip() == "epoch 4":
            break
    workers = subprocess.run(
        ["pgrep", "-f", f"^{sys.executable}.*worker.py {folder}"], capture_output=True, text=True
    )
    children = [int(pid) for pid in workers.stdout.split() if int(pid) != process.pid]
    os.kill(max(children), signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "Signal 9 (SIGKILL)" in errors or "has ended or cannot be reached" in errors
    assert (folder / "run" / NAME).exists()

    process = start(folder, 2, recipe, pause=0.01)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors[-3000:]
    first = int(output.splitlines()[0].split()[1])
    assert 4 <= first <= 12  # not from the start
    expected = alone(folder, recipe)
    found = dmac.DMAC.load(folder / "model 0")
    np.testing.assert_allclose(losses(found), losses(expected), rtol=1e-10)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.parametrize("kept", [False, True])
def test_command_line_writes_labels_and_the_model_if_asked(kept, folder):
    given = [folder / "0.npy", folder / "1.npy", "--clusters", 3, "--dtype", "float64"]
    given += ["--labels", folder / "labels.npy"]
    given += ["--model", folder / "model", "--checkpoint", folder / "run"] * kept
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2)
    said = python(*torchrun, "-m", "dmac.distributed", *given)
    assert said == f"{folder / 'labels.npy'}: {N} labels\n"
    labels = np.load(folder / "labels.npy")
    np.testing.assert_array_equal(labels, alone(folder, {"base": "closed_form"}).labels_)
    assert (folder / "model").exists() is kept
    if kept:
        views = [np.load(folder / f"{a}.npy") for a in range(2)]
        np.testing.assert_array_equal(dmac.DMAC.load(folder / "model").predict(views), labels)


@pytest.fixture
def open_group(tmp_path, monkeypatch):
    """Opens a process group of this process alone."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")

    def start(backends):
        address = f"file://{tmp_path}/group"
        dist.init_process_group(backends, init_method=address, rank=0, world_size=1)

    yield start
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.mark.parametrize(
    "processes, gpus, backends",
    [
        (1, 1, "cpu:gloo,cuda:nccl"),
        (2, 4, "cpu:gloo,cuda:nccl"),
        (2, 1, "gloo"),
        (1, 0, "gloo"),
    ],
)
def test_command_line_opens_that_group_where_every_process_has_a_gpu(
    processes, gpus, backends, monkeypatch
):
    def opened(backends):
        raise InterruptedError(backends)

    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(dist, "init_process_group", opened)
    for name, value in (("RANK", 0), ("LOCAL_RANK", 0), ("LOCAL_WORLD_SIZE", processes)):
        monkeypatch.setenv(name, str(value))
    with pytest.raises(InterruptedError, match=f"^{backends}$"):
        dmac.distributed.main(["a.npy", "--clusters", "3"])


def test_group_of_gpus_alone_is_told_what_it_lacks(open_group):
    open_group("cuda:gloo")
    with parallel.sharded(4), pytest.raises(RuntimeError) as raised:
        parallel.count(5)
    assert "cannot add up tensors on the cpu: open it with" in str(raised.value)
    assert 'init_process_group("cpu:gloo,cuda:nccl")' in str(raised.value)


@pytest.mark.parametrize(
    "message, lost",
    [
        ("[pair.cc:553] Connection closed by peer [127.0.0.1]:38288.", True),
        ("[unbound_buffer.cc:78] Timed out waiting 8000ms for recv operation to complete", True),
        ("Application timeout caused pair closure", True),
        ("NCCL error: ncclRemoteError: A call failed possibly due to a network error", True),
        ("CUDA out of memory. Tried to allocate 20.00 MiB", False),
        ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000", False),
        ("op.preamble.length <= op.nbytes. 32 vs 16", False),
    ],
)
def test_only_a_lost_connection_is_called_one(message, lost, open_group, monkeypatch):
    def fail(*_):
        raise RuntimeError(message)

    open_group("gloo")
    monkeypatch.setattr(dist, "all_reduce", fail)
    with parallel.sharded(4), pytest.raises(RuntimeError) as raised:
        parallel.count(5)
    assert ("another process of this fit has ended" in str(raised.value)) is lost
    assert lost or str(raised.value) == message


def test_without_torchrun_it_says_so(folder):
    done = subprocess.run(
        [sys.executable, "-m", "dmac.distributed", "a.npy", "--clusters", "3"],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "RANK"},
    )
    assert done.returncode == 1 and "start this with torchrun" in done.stderr


def test_unknown_kinds_of_views_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no view on disk"):
        open_view("a.mat")
    with pytest.raises(FileNotFoundError):
        open_view(tmp_path / "a.npy")


# One of three processes with the rows of a matrix that it holds: every sum is that of the whole.
SUMS = """
import sys
import torch, torch.distributed as dist
from dmac.compute import parallel
place, rank = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=3)
whole = torch.randn(7, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
same = torch.testing.assert_close
with parallel.sharded(7) as shards:
    assert (shards.rank, parallel.n_processes(), parallel.shards()) == (rank, 3, shards)
    x = whole[parallel.my_rows(7)].clone().requires_grad_()
    assert len(x) == (2, 2, 3)[rank] and parallel.count(len(x)) == 7
    parallel.MANY = 6
    assert parallel.many(len(x))  # all together, and not 7 or fewer
    parallel.MANY = 7
    assert not parallel.many(len(x))
    same(parallel.mean(x), whole.mean(0))
    same(parallel.mean_square(x), whole.square().mean())
    same(parallel.largest(x.detach().max()), whole.max())
    assert parallel.broadcast_seed(5 + rank) == 5
    assert parallel.everywhere(True) and not parallel.everywhere(rank != 1)
    same(parallel.gather(x.detach()), whole)
    picked = torch.tensor([6, 0, 2, 3, 0])
    same(parallel.take(x.detach(), picked), whole[picked])
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    ((parallel.total((x * w).sum(0)) ** 2).sum() / 3).backward()  # the loss, divided by 3
    parallel.sum_gradients([w, unused])
    sums = whole.sum(0)
    same(x.grad, (2 * sums).expand_as(x))
    same(w.grad, 2 * sums**2)
    assert unused.grad is None
assert parallel.shards() is None
dist.destroy_process_group()
"""


def test_sums_over_three_processes_are_those_of_the_whole(tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-c", SUMS, str(tmp_path / "group")]
    started = [
        subprocess.Popen([*command, str(rank)], stderr=subprocess.PIPE, text=True, env=environment)
        for rank in range(3)
    ]
    errors = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], errors


def test_one_process_is_untouched():
    x = torch.arange(6.0).reshape(3, 2)
    assert parallel.total(x) is x and parallel.gather(x) is x and parallel.count(3) == 3
    assert not parallel.many(20_000) and parallel.many(20_001)
    assert parallel.my_rows(3) == slice(0, 3) and parallel.n_processes() == 1
    torch.testing.assert_close(parallel.mean(x), x.mean(0))
    torch.testing.assert_close(parallel.mean_square(x), x.square().mean())
    assert parallel.everywhere(True) and not parallel.everywhere(False)
    assert torch.equal(parallel.take(x, torch.tensor([2, 0])), x[[2, 0]])


@pytest.mark.parametrize("n, world", [(10, 3), (4, 4), (2, 4), (101, 2)])
def test_shards_cover_every_sample_once(n, world):
    rows = [parallel.Shards(n, rank, world).rows for rank in range(world)]
    assert [i for s in rows for i in range(n)[s]] == list(range(n))


def test_processes_place_what_one_does_where_a_part_is_fitted(folder):
    recipe = dict(base="closed_form", anchor_sets=2, fit_samples=90, fit_of_cluster=0)
    x = np.load(folder / "1.npy")
    x[[3, 100]] = np.nan
    np.save(folder / "1.npy", x)
    found, expected = finished(folder, 2, recipe), alone(folder, recipe)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-6)
    second = dmac.DMAC.load(folder / "model 1")
    np.testing.assert_array_equal(second.embedding_, found.embedding_)
    np.testing.assert_array_equal(alone(folder, recipe).n_missing_, [0, 2])
    views = [open_view(folder / f"{a}.npy") for a in range(2)]
    np.testing.assert_array_equal(found.predict(views), found.labels_)


def test_the_chapters_dask_cluster_places_all_samples(folder):
    chapter = Path(__file__).resolve().parents[1] / "book" / "17_scaling.ipynb"
    (text,) = [s for s in sources(chapter, "markdown").values() if "dask.distributed" in s]
    code = text.split("```python\n")[1].split("```")[0]
    for shown, small in (("a.npy", "0.npy"), ("b.npy", "1.npy"), ("20_000", "90")):
        code = code.replace(shown, small)
    code = code.replace("DMAC(10", "DMAC(3").replace("100_000", "50")
    (folder / "place.py").write_text(code)
    python("place.py", cwd=folder)
    views = [np.load(folder / f"{a}.npy") for a in range(2)]
    labels = dmac.DMAC.load(folder / "model").predict(views)
    np.testing.assert_array_equal(np.load(folder / "labels.npy"), labels)
