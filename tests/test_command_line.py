"""The command line: what it writes, what it says, and how it ends."""

import csv
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dmac
from dmac import command_line
from dmac.command_line import main

RNG = np.random.default_rng(0)
CLASSES = np.arange(60) % 3
VIEWS = [5 * RNG.normal(size=(3, d))[CLASSES] + RNG.normal(size=(60, d)) for d in (6, 4)]


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run a command in a folder of its own: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X1=VIEWS[0], X2=VIEWS[1], labels=CLASSES)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(part) for part in arguments])
        written = capsys.readouterr()
        return ended.value.code, written.out, written.err

    return run


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["sample", "cluster"]
    return [name for name, _ in rows], [int(cluster) for _, cluster in rows]


def test_fit_writes_what_the_estimator_finds(call):
    places = ["--out", "labels.csv", "--model", "kept"]
    code, out, _ = call("fit", "data.npz", "--clusters", 3, *places)
    assert code == 0 and "labels.csv: 60 samples" in out and "ACC 100.0 %" in out
    expected = dmac.DMAC(3, random_state=0).fit_predict(VIEWS)
    names, labels = table("labels.csv")
    assert names == [str(i) for i in range(1, 61)] and labels == expected.tolist()
    assert Path("labels.csv").read_bytes().startswith(b"sample,cluster\n1,")  # as `head` shows it
    code, out, _ = call("predict", "kept", "data.npz", "--out", "more.csv")
    assert code == 0 and table("more.csv") == (names, labels)
    code, out, _ = call("info", "kept")
    assert code == 0 and "60 samples, recipe closed_form" in out and "3 groups of 20, 20, 20" in out
    assert out.count("supports the groups by") == 2
    code, out, _ = call("info", "data.npz")
    assert code == 0 and "60 samples, 2 views" in out and "view 2: 4 columns" in out
    assert "3 known classes" in out


def test_samples_that_lack_views(call):
    views = [x.copy() for x in VIEWS]
    views[0][:20], views[1][25:40] = np.nan, np.nan  # fewer than half are whole
    for a, x in enumerate(views):
        lines = ["id," + ",".join("abcdef"[: x.shape[1]])]
        for i, row in enumerate(x):
            empty = i % 2 and np.isnan(row).all()  # empty cells behind a name mean the same
            lines.append(f"s{i}," + ",".join("" if empty else str(cell) for cell in row))
        Path(f"{a}.csv").write_text("\n".join(lines) + "\n")
    code, out, _ = call("info", "0.csv", "1.csv")
    assert code == 0 and "view 1: 6 columns (0), 20 samples lack it" in out
    assert "view 2: 4 columns (1), 15 samples lack it" in out
    places = ["--out", "labels.csv", "--model", "kept"]
    code, _, said = call("fit", "0.csv", "1.csv", "--clusters", 3, *places)
    assert code == 0, said
    names, labels = table("labels.csv")
    assert names[0] == "s0" and dmac.scores(CLASSES, labels)["acc"] > 0.9
    assert labels == dmac.DMAC(3, random_state=0).fit_predict(views).tolist()
    code, out, _ = call("predict", "kept", "0.csv", "1.csv", "--out", "more.csv")
    assert code == 0 and table("more.csv") == (names, labels)
    code, out, _ = call("info", "kept")
    assert code == 0 and "20 samples lack it" in out and "15 samples lack it" in out
    code, _, said = call("fit", "0.csv", "1.csv", "--clusters", 3, *places, "--recipe", "revised")
    assert code == 1 and "20 whole row(s) are NaN, and only dmac.DMAC" in said


def test_options_reach_the_estimator(call):
    arguments = ["--recipe", "revised", "--seed", 3, "--device", "cpu", "--checkpoint", "state"]
    code, _, _ = call("fit", "data.npz", "--clusters", 4, "--model", "kept", *arguments)
    assert code == 0
    model = dmac.DMAC.load("kept")
    given = model.n_clusters, model.recipe_.name, model.random_state, model.device
    assert given == (4, "revised", 3, "cpu")
    assert [path.name for path in Path("state").iterdir()] == ["checkpoint.safetensors"]
    code, out, _ = call("info", "kept")
    assert code == 0 and "supports" not in out  # a network does not say it


def test_names_of_samples_are_kept_from_csv_files(call):
    for a, x in enumerate(VIEWS):
        rows = [f"s{i}," + ",".join(map(str, row)) for i, row in enumerate(x.tolist())]
        Path(f"view{a}.csv").write_text("\n".join(rows))
    code, out, _ = call("fit", "view0.csv", "view1.csv", "--clusters", 3, "--out", "labels.csv")
    assert code == 0 and "known classes" not in out
    assert table("labels.csv")[0] == [f"s{i}" for i in range(60)]
    np.savez("data.npz", fea=VIEWS[0].T, other=VIEWS[1].T)
    keys = ["--views-key", "fea", "--views-key", "other", "--transposed"]
    code, out, _ = call("info", "data.npz", *keys)
    assert code == 0 and "60 samples, 2 views" in out


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        ("fit lost.mat --clusters 3 --out x.csv", 1, "Error: no file or folder lost.mat"),
        ("fit data.npz --clusters 61 --out x.csv", 1, "there are only 60 samples"),
        ("fit data.npz --clusters 3 --out no/x.csv", 1, "no/x.csv: there is no folder"),
        ("fit data.npz --clusters 3 --out x.csv --recipe best", 1, "recipe is 'best', it must be"),
        ("fit data.npz bad.npy --clusters 3 --out x.csv", 1, "view 3 has 5 samples"),
        ("fit bad.npy bad.csv --clusters 3 --out x.csv", 1, "line 2, column 1 holds 'no'"),
        ("predict lost data.npz", 1, "model.safetensors is missing"),
        ("info lost.npz", 1, "Error: no file or folder lost.npz"),
        ("fit data.npz --clusters 3", 2, "nothing would be kept: give --out, --model or both"),
        ("fit data.npz --out x.csv", 2, "Missing option '--clusters'"),
        ("fit data.npz --clusters 1 --out x.csv", 2, "--clusters"),
        ("fit --clusters 3 --out x.csv", 2, "Missing argument 'DATA...'"),
        ("cluster data.npz", 2, "No such command 'cluster'"),
    ],
)
def test_problems_have_an_exit_code_and_no_traceback(arguments, code, message, call):
    np.save("bad.npy", np.ones((5, 2)))
    Path("bad.csv").write_text("1,2\nno,3\n")
    found, _, err = call(*arguments.split())
    assert found == code and message in err and "Traceback" not in err
    assert not Path("x.csv").exists()


def test_a_fault_of_the_program_asks_for_a_report(call, monkeypatch):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(command_line, "read_views", fail)
    code, _, err = call("info", "data.npz")
    assert code == command_line.FAULT and "ZeroDivisionError: odd" in err and "report" in err
    with pytest.raises(ZeroDivisionError):
        main(["--debug", "info", "data.npz"])
    monkeypatch.setattr(command_line, "read_views", lambda *a, **k: open("lost"))
    with pytest.raises(FileNotFoundError):
        main(["--debug", "info", "data.npz"])


def test_a_table_is_written_whole_or_not_at_all(call, monkeypatch):
    Path("labels.csv").write_text("before")

    def stop(*args):
        raise OSError("no space")

    monkeypatch.setattr(command_line.os, "replace", stop)
    code, _, err = call("fit", "data.npz", "--clusters", 3, "--out", "labels.csv")
    assert code == 1 and "no space" in err
    assert Path("labels.csv").read_text() == "before"
    assert sorted(path.name for path in Path().iterdir()) == ["data.npz", "labels.csv"]


def test_known_classes_of_other_samples_are_refused(call):
    np.save("view.npy", VIEWS[0])
    Path("labels.csv").write_text("a\nb\n")
    code, _, err = call("info", "view.npy", "labels.csv")
    assert code == 1 and "there are 2 known classes for 60 samples" in err


def test_a_folder_without_permission_is_refused_before_the_fit(call, monkeypatch):
    Path("locked").mkdir()
    monkeypatch.setattr(command_line.os, "access", lambda folder, mode: folder.name != "locked")
    code, _, err = call("fit", "lost.npz", "--clusters", 3, "--out", "locked/labels.csv")
    assert code == 1 and "locked/labels.csv: the folder" in err and "cannot be written to" in err


def test_importing_the_entry_point_runs_nothing(monkeypatch):
    monkeypatch.setattr(command_line, "main", lambda: pytest.fail("it ran"))
    monkeypatch.delitem(sys.modules, "dmac.__main__", raising=False)
    importlib.import_module("dmac.__main__")


def test_help_is_for_readers_and_takes_no_torch(call):
    code, out, _ = call("--help")
    assert code == 0 and "Commands:" in out
    for name in ("fit", "predict", "info"):
        code, out, _ = call(name, "--help")
        assert code == 0 and f"python -m dmac {name}" in out
        assert name == "info" or ".h5mu" in out
    code = "import sys; sys.argv = ['dmac', '--version']\n"
    code += "import atexit; atexit.register(lambda: print('torch' in sys.modules))\n"
    code += "import runpy; runpy.run_module('dmac', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"dmac, version {dmac.__version__}\nFalse\n"
