"""Build the wheel and the sdist, check them, and use the wheel where nothing else is.

    python scripts/check_wheel.py            # `make wheel`

An empty environment outside the repository gets the wheel with its own dependencies alone: first
in the lowest versions that it allows (lowest.txt), then in the highest that pip finds. In both,
mfeat is clustered, the model is saved and read, and the commands run. PyTorch keeps the version of
constraints.txt in both: on Linux any other one is several gigabytes, with its CUDA libraries. Where
the book is rendered, the notebooks that its chapters download as run there too, each by itself.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: What a stranger would type, in a folder with nothing in it.
USE = """
import dmac
data = dmac.load("mfeat")
model = dmac.AnchorGraphClustering(n_clusters=data.n_clusters, random_state=0).fit(data.views)
scores = dmac.scores(data.labels, model.labels_)
assert scores["acc"] > 0.95, scores
model.save("model")
import numpy
numpy.savez("data.npz", **{f"X{a}": x for a, x in enumerate(data.views)}, labels=data.labels)
again = dmac.load_model("model").predict([x[::10] for x in data.views])
assert (again == model.labels_[::10]).mean() > 0.95
assert "site-packages" in dmac.__file__
print(f"mfeat: ACC {scores['acc']:.3f}")
"""

#: Downloads that need the wheel, matplotlib and pandas alone; the others need a clone.
ALONE = re.compile(r".*one_page|scores|0[1-9]_.*|1[12478]_.*|how_many_clusters|command_line")


def call(*command, cwd=None):
    """Run a command with nothing of the repository on Python's path."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=True)


def built(folder):
    """Build both from the repository; their paths."""
    call(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    call(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def tracked():
    """The files under version control, without those that were deleted; None outside of git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    names = listed.stdout.decode().split("\0")
    return None if listed.returncode else {name for name in names if (ROOT / name).is_file()}


def left_out(sdist, names):
    """Those of the files that the sdist does not have."""
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    return sorted(names - held)


def torch_pin():
    """The requirement of constraints.txt."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    return re.search(r"^torch==.*$", text, re.MULTILINE)[0]


def run_downloads(python, pip, folder):
    """Execute what the rendered chapters give to download, in a folder with nothing in it."""
    pages = sorted((ROOT / "_build" / "html" / "_sources" / "book").glob("*.ipynb"))
    pages = [page for page in pages if ALONE.fullmatch(page.stem)]
    if not pages:
        print("downloads: the book is not rendered")
        return
    call(*pip, "matplotlib", "pandas", "nbclient", "ipykernel", "dask[array]")
    for page in pages:
        alone = folder / page.stem
        alone.mkdir()
        shutil.copy(page, alone)
        print(f"{page.name} ...", flush=True)
        call(python.with_name("jupyter"), "execute", page.name, cwd=alone)


def main(arguments=None):
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="a folder for the wheel and the sdist")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        empty, dist = Path(temporary), given.keep or Path(temporary) / "dist"
        dist.mkdir(parents=True, exist_ok=True)
        for old in (*dist.glob("dmac-*.whl"), *dist.glob("dmac-*.tar.gz")):
            old.unlink()
        print("build and twine check ...", flush=True)
        wheel, sdist = built(dist)
        names = tracked()
        if names is not None and (missing := left_out(sdist, names)):
            sys.exit(f"{sdist.name} lacks {missing}: add them to MANIFEST.in")
        for path in (wheel, sdist):
            print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")

        print("empty environment with torch ...", flush=True)
        call(sys.executable, "-m", "venv", empty / "venv")
        python = empty / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        pip = (python, "-m", "pip", "install", "--quiet", "--progress-bar", "off")
        call(*pip, torch_pin())
        for name, options in (
            ("lowest", ("--constraint", ROOT / "lowest.txt")),
            ("highest", ("--upgrade", "--upgrade-strategy", "eager", torch_pin())),
        ):
            print(f"{name} versions ...", flush=True)
            call(*pip, "--only-binary", ":all:", *options, wheel)
            call(python, "-m", "pip", "check")
            call(python, "-m", "pip", "list", "--format", "freeze", cwd=empty)
            call(python, "-W", "error", "-c", USE, cwd=empty)
            given = ("data.npz", "--clusters", "10", "--out", "labels.csv")
            call(python.with_name("dmac"), "fit", *given, "--model", "model", cwd=empty)
            call(python, "-m", "dmac", "predict", "model", "data.npz", cwd=empty)
        run_downloads(python, pip, empty)


if __name__ == "__main__":
    main()
