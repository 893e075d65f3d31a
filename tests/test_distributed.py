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
# One process of a torchrun: fits on its shard one job after the other, a line an epoch, and saves
# the models. A group of three has first rows of a matrix: every sum is that of the whole.
WORKER = """
import json, sys, time
import scipy.sparse, torch, torch.distributed as dist
import dmac
from dmac.compute import kmeans, parallel
from dmac.distributed import fit_sharded, open_view
from experiments.ideas.network_ideas import change

def check_sums():
    whole = torch.randn(7, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    same, rank, usual = torch.testing.assert_close, dist.get_rank(), parallel.MANY
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
    parallel.MANY = usual

def callback(record, embed):
    if dist.get_rank() == 0:
        print("epoch", record.epoch, flush=True)
    time.sleep(pause)

folder, jobs, pause = sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo")
if dist.get_world_size() == 3:
    check_sums()
usual = kmeans._SEED_SAMPLES
for name, job in jobs.items():
    kmeans._SEED_SAMPLES = job.get("seed_samples", usual)
    recipe = change(dmac.recipes.get_recipe(job["base"]), **job["changes"])
    model = dmac.DMAC(3, recipe, job.get("seed", 0), "cpu", job.get("dtype", "float64"))
    views = [open_view(f"{folder}/{a}.npy") for a in job.get("views", "ab")]
    if job.get("sparse"):
        views = [scipy.sparse.csr_matrix(x) for x in views]
    kept = f"{folder}/run" if pause else None
    fit_sharded(model, views, callback=callback, checkpoint=kept, checkpoint_every=1)
    model.save(f"{folder}/{name} {dist.get_rank()}")
dist.destroy_process_group()
"""

RELEASED = dict(pretrain_epochs=4, epochs=4, mutual_information="joint")
SPECTRAL = dict(anchor_sets=2, guard=0.5)
IDEAS = dict(perturbation=True, sigma="spread", al_form="balanced", detach_graph=False)
FEW = dict(pretrain_epochs=0, epochs=3, n_anchors=8)
JOBS = {
    "released": dict(base="released", changes=RELEASED),
    "sparse": dict(base="released", changes=RELEASED, sparse=True),
    "revised": dict(base="revised", changes=dict(epochs=4), dtype="float32"),
    "ideas": dict(base="revised", changes=IDEAS | dict(epochs=3, al_weight=0.1, cm_weight=0.1)),
    "many samples an anchor": dict(base="released", changes=FEW, seed_samples=8),
    "without a seed": dict(base="revised", changes=dict(epochs=4), seed=None),
    "spectral": dict(base="closed_form", changes=SPECTRAL),
    "lacking": dict(base="closed_form", changes=SPECTRAL, views="cd"),
    "placed": dict(
        base="closed_form",
        changes=dict(anchor_sets=2, fit_samples=90, fit_of_cluster=0),
        views="ae",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two views, a and b; c and d of which a fifth of the samples has both; e lacks two samples."""
    folder = tmp_path_factory.mktemp("views")
    a, b = positive_views(N, (7, 12))
    c, d, e = a.copy(), b.copy(), b.copy()
    c[np.arange(N) % 5 < 2] = d[np.isin(np.arange(N) % 5, [2, 3])] = e[[3, 100]] = np.nan
    for name, x in zip("abcde", (a, b, c, d, e)):
        np.save(folder / f"{name}.npy", x)
    (folder / "worker.py").write_text(WORKER)
    return folder


def start(folder, n, jobs, pause=0):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(n), str(folder / "worker.py"), str(folder)]
    command += [json.dumps(jobs), str(pause)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )


@pytest.fixture(scope="module")
def found(folder):
    """The models of one group of three processes, whose sums are those of the whole."""
    process = start(folder, 3, JOBS)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-3000:]
    return {name: dmac.DMAC.load(folder / f"{name} 0") for name in JOBS}


def alone(folder, job):
    recipe = change(dmac.recipes.get_recipe(job["base"]), **job["changes"])
    model = dmac.DMAC(3, recipe, 0, "cpu", job.get("dtype", "float64"))
    return model.fit([open_view(folder / f"{a}.npy") for a in job.get("views", "ab")])


def losses(model):
    return [record.loss for record in model.pretrain_history_ + model.history_]


@pytest.mark.parametrize(
    "name, rtol",
    [
        ("released", 1e-10),
        ("sparse", 1e-8),
        ("revised", 1e-5),
        ("ideas", 1e-9),
        ("many samples an anchor", 1e-10),
    ],
)
def test_shards_give_the_fit_of_one_process(name, rtol, folder, found, monkeypatch):
    job, model = JOBS[name], found[name]
    usual = dmac.compute.kmeans._SEED_SAMPLES
    monkeypatch.setattr("dmac.compute.kmeans._SEED_SAMPLES", job.get("seed_samples", usual))
    expected = alone(folder, job)
    np.testing.assert_allclose(losses(model)[0], losses(expected)[0], rtol=rtol)
    if job["base"] == "revised":
        rtol *= 100  # Adam's first steps turn the rounding of tiny gradients into full steps
    np.testing.assert_allclose(losses(model), losses(expected), rtol=rtol)
    for field in ("mean_cosine", "effective_rank", "anchor_learning", "empty_anchors"):
        values = [[getattr(r, field) for r in one.history_] for one in (model, expected)]
        np.testing.assert_allclose(*values, rtol=100 * rtol, atol=100 * rtol)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    if model.dtype == "float64":
        np.testing.assert_allclose(model.embedding_, expected.embedding_, rtol=1e-4, atol=1e-6)


def test_fit_without_a_seed_is_one_fit_in_all_processes(folder, found):
    first, second = found["without a seed"], dmac.DMAC.load(folder / "without a seed 1")
    for name in ("labels_", "embedding_", "anchors_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert losses(first) == losses(second)
    other = alone(folder, JOBS["without a seed"])  # of seed 0, which nobody asked for
    assert np.abs(first.embedding_ - other.embedding_).max() > 1e-3


@pytest.mark.parametrize("name", ["spectral", "lacking"])
def test_shards_give_the_spectral_fit_of_one_process(name, folder, found):
    model, expected = found[name], alone(folder, JOBS[name])
    assert len(expected.network_.stages) == 2  # with votes
    assert (expected.network_.completion is not None) == (name == "lacking")
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.view_support_, expected.view_support_, rtol=1e-6)
    products = (one.embedding_ @ one.embedding_.T for one in (model, expected))
    np.testing.assert_allclose(*products, atol=1e-5)
    np.testing.assert_allclose(np.abs(model.anchors_), np.abs(expected.anchors_), atol=1e-4)


def test_processes_place_what_one_does_where_a_part_is_fitted(folder, found):
    model, expected = found["placed"], alone(folder, JOBS["placed"])
    np.testing.assert_array_equal(expected.n_missing_, [0, 2])
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.embedding_, expected.embedding_, atol=1e-6)
    second = dmac.DMAC.load(folder / "placed 1")
    np.testing.assert_array_equal(second.embedding_, model.embedding_)
    views = [open_view(folder / f"{a}.npy") for a in "ae"]
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def test_lost_process_ends_the_job_and_the_fit_goes_on_from_its_checkpoint(folder):
    jobs = {"lost": dict(base="revised", changes=dict(epochs=12))}
    process = start(folder, 2, jobs, pause=0.3)
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

    process = start(folder, 2, jobs, pause=0.01)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors[-3000:]
    first = int(output.splitlines()[0].split()[1])
    assert 4 <= first <= 12  # not from the start
    found, expected = dmac.DMAC.load(folder / "lost 0"), alone(folder, jobs["lost"])
    np.testing.assert_allclose(losses(found), losses(expected), rtol=1e-10)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.parametrize("kept", [False, True])
def test_command_line_writes_labels_and_the_model_if_asked(kept, folder, tmp_path):
    given = [folder / "a.npy", folder / "b.npy", "--clusters", 3, "--dtype", "float64"]
    given += ["--labels", tmp_path / "labels.npy"]
    given += ["--model", tmp_path / "model", "--checkpoint", tmp_path / "run"] * kept
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 1 + kept)
    said = python(*torchrun, "-m", "dmac.distributed", *given)
    assert said == f"{tmp_path / 'labels.npy'}: {N} labels\n"
    labels = np.load(tmp_path / "labels.npy")
    expected = alone(folder, dict(base="closed_form", changes={}))
    np.testing.assert_array_equal(labels, expected.labels_)
    assert (tmp_path / "model").exists() is kept
    if kept:
        views = [np.load(folder / f"{a}.npy") for a in "ab"]
        np.testing.assert_array_equal(dmac.DMAC.load(tmp_path / "model").predict(views), labels)


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


def test_without_torchrun_it_says_so(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(SystemExit, match="start this with torchrun"):
        dmac.distributed.main(["a.npy", "--clusters", "3"])


def test_unknown_kinds_of_views_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no view on disk"):
        open_view("a.mat")
    with pytest.raises(FileNotFoundError):
        open_view(tmp_path / "a.npy")


@pytest.mark.parametrize("n, world", [(10, 3), (4, 4), (2, 4), (101, 2)])
def test_shards_cover_every_sample_once(n, world):
    rows = [parallel.Shards(n, rank, world).rows for rank in range(world)]
    assert [i for s in rows for i in range(n)[s]] == list(range(n))


def test_the_chapters_dask_cluster_places_all_samples(folder):
    chapter = Path(__file__).resolve().parents[1] / "book" / "17_scaling.ipynb"
    (text,) = [s for s in sources(chapter, "markdown").values() if "dask.distributed" in s]
    code = text.split("```python\n")[1].split("```")[0]
    for shown, small in (("20_000", "90"), ("DMAC(10", "DMAC(3"), ("100_000", "50")):
        code = code.replace(shown, small)
    (folder / "place.py").write_text(code)
    python("place.py", cwd=folder)
    views = [np.load(folder / f"{a}.npy") for a in "ab"]
    labels = dmac.DMAC.load(folder / "model").predict(views)
    np.testing.assert_array_equal(np.load(folder / "labels.npy"), labels)
