"""Tensors on disk: what comes back, what is refused, and what an interruption leaves."""

import os
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import dmac
from dmac.compute import files
from dmac.compute.files import built, leaves, read_tensors, replacing, tree_of, write_tensors
from dmac.data.readers import read_views

ABOUT = {"epoch": 3, "loss": [0.1, 1e-300, None], "näme": {"a": True}}


def tensors():
    whole = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).requires_grad_()
    return {
        "whole": whole,
        "shares its memory": whole,
        "columns": whole.T,
        "part": whole[:, 1:3],
        "array": np.arange(6, dtype=np.int64)[::2],
        "state": torch.Generator().manual_seed(1).get_state(),
        "nothing": torch.zeros(0, 5, dtype=torch.bool),
        "one": torch.tensor(2.5, dtype=torch.bfloat16),
    }


def test_everything_comes_back(tmp_path):
    path = tmp_path / "new folder" / "x.safetensors"
    write_tensors(path, tensors(), ABOUT)
    read, about = read_tensors(path)
    assert about == ABOUT and read.keys() == tensors().keys()
    for name, tensor in tensors().items():
        assert not read[name].requires_grad
        torch.testing.assert_close(read[name], torch.as_tensor(tensor), rtol=0, atol=0)


def test_what_was_read_outlives_the_file(tmp_path):
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.ones(1000)}, {})
    read, _ = read_tensors(path)
    write_tensors(path, {"a": torch.zeros(1000)}, {})
    path.write_bytes(bytes(path.stat().st_size))
    assert torch.equal(read["a"], torch.ones(1000))


@pytest.mark.parametrize("step", ["save_file", "fsync", "replace"])
def test_interruption_leaves_the_old_file_and_nothing_else(step, tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    write_tensors(path, tensors(), ABOUT)
    before = path.read_bytes()

    def stop(*args):
        if step == "save_file":
            args[1].write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(files if step == "save_file" else os, step, stop)
    with pytest.raises(KeyboardInterrupt):
        write_tensors(path, {"a": torch.zeros(1)}, {})
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_tensors(path, {"a": torch.zeros(1)}, {"when": object()})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_links_are_followed_and_stay(tmp_path):
    target = tmp_path / "kept" / "x.safetensors"
    target.parent.mkdir()
    link, far, loop = (tmp_path / name for name in ("link", "link to the link", "loop"))
    for one, of in ((link, Path("kept") / "x.safetensors"), (far, link), (loop, loop)):
        one.symlink_to(of)
    for number, name in enumerate((link, far)):  # at first there is no file
        write_tensors(name, {"a": torch.full((1,), number)}, {})
        assert name.is_symlink() and target.is_file() and not target.is_symlink()
        assert read_tensors(target)[0]["a"] == number
    assert list(target.parent.iterdir()) == [target]
    with pytest.raises(OSError, match="loop is a link to itself"), replacing(loop):
        pass
    assert loop.is_symlink()


def test_a_pipe_is_written_into_and_stays_one(tmp_path):
    pipe, link, read = tmp_path / "pipe", tmp_path / "link", []
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for name in (pipe, link):
        reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
        reader.start()
        with replacing(name) as temporary:
            temporary.write_bytes(b"text")
        reader.join(10)
    assert read == [b"text", b"text"]
    assert stat.S_ISFIFO(os.lstat(pipe).st_mode) and sorted(tmp_path.iterdir()) == [link, pipe]


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_files_have_the_mode_of_the_umask(umask, tmp_path):
    before = os.umask(umask)
    try:
        for _ in range(2):  # also where one is replaced
            write_tensors(tmp_path / "new" / "x.safetensors", {"a": torch.zeros(1)}, {})
            with replacing(tmp_path / "x.csv") as temporary:
                temporary.write_text("a")
            for path in (tmp_path / "new" / "x.safetensors", tmp_path / "x.csv"):
                assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    finally:
        os.umask(before)


def test_what_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    data = tmp_path / "data.npz"
    np.savez(data, a=np.eye(9), b=np.ones((9, 2)))
    dmac.AnchorGraphClustering(2, random_state=0).fit(np.eye(9)).save(tmp_path / "kept")

    def refuse(path, *args, **options):
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("builtins.open", "os.stat"):  # that of the file, and that of its folder
        with monkeypatch.context() as patch:
            patch.setattr(name, refuse)
            for read, path in (
                (read_tensors, tmp_path / "kept" / "model.safetensors"),
                (dmac.load_model, tmp_path / "kept"),
                (lambda path: read_views([path]), data),
            ):
                with pytest.raises(PermissionError, match=f"{path.name}.* may not be read: change"):
                    read(path)


def test_damaged_and_foreign_files_are_refused_by_name(tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(FileNotFoundError, match="x.safetensors is missing"):
        read_tensors(path)
    write_tensors(path, tensors(), ABOUT)
    whole = path.read_bytes()
    for content in (b"", b"text", whole[:100], whole[:-1], whole + b" "):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="x.safetensors is damaged"):
            read_tensors(path)
    for metadata in (None, {"other": "{}"}, {"about": "{"}):
        save_file({"a": torch.zeros(1)}, path, metadata)
        with pytest.raises(ValueError, match="x.safetensors is damaged"):
            read_tensors(path)


def test_leftovers_of_killed_processes_go_when_they_are_old(tmp_path):
    path = tmp_path / "x.safetensors"
    old, young, other = (tmp_path / name for name in (f".{path.name}.1", f".{path.name}.2", ".y.1"))
    for leftover in (old, young, other):
        leftover.write_bytes(b"half of it")
    for leftover in (old, other):
        os.utime(leftover, (0, 0))
    write_tensors(path, {"a": torch.zeros(1)}, {})
    assert sorted(tmp_path.iterdir()) == sorted([path, young, other])


@dataclass
class Branch:
    numbers: np.ndarray
    columns: tuple[int, ...]
    tensor: torch.Tensor | None = None


@dataclass
class Tree:
    branches: list[Branch]
    weight: float
    other: Branch | None = None
    empty: list[Branch] = field(default_factory=list)


def test_a_tree_of_objects_comes_back_from_its_leaves():
    branches = [Branch(np.arange(i), (i, 2)) for i in range(11)]  # 10 comes after 9
    other = Branch(np.eye(2), (), torch.ones(2))
    found = dict(leaves(Tree(branches, 0.1, other)))
    assert set(found) > {"branches.10.numbers", "weight", "other.tensor"}
    again = built(Tree, tree_of(found), torch.as_tensor)
    assert type(again.weight) is float and again.weight == 0.1 and again.empty == []
    for one, expected in zip([*again.branches, again.other], [*branches, other], strict=True):
        np.testing.assert_array_equal(one.numbers, expected.numbers)
        assert one.columns == expected.columns
    assert again.branches[3].tensor is None and torch.equal(again.other.tensor, torch.ones(2))
    with pytest.raises(KeyError, match="unknown"):
        built(Tree, {"unknown": 1}, torch.as_tensor)
