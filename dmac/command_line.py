"""Clustering from the command line, for those who do not program: ``python -m dmac``.

    python -m dmac fit data.mat --clusters 10 --out labels.csv --model folder
    python -m dmac predict folder new.mat --out more.csv
    python -m dmac info data.mat

The book has a page about it, and chapter 12 does the same in Python. Exit codes: 0 is success, 1 a
problem with the data or a file, 2 a command that is not understood, 130 a fit that was interrupted,
70 a fault of the program itself.
"""

from __future__ import annotations

import csv
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

import dmac
from dmac.data.readers import ENDINGS, read_views

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from dmac._types import Array
    from dmac.data.readers import NamedViews

#: Exit code of a fit that was stopped by Ctrl-C, as shells have it.
INTERRUPTED = 130
#: Exit code of what should not happen, as in sysexits.h.
FAULT = 70
# What bad data, files and settings raise, with a message written for people.
_EXPECTED = (ValueError, OSError, ImportError, FloatingPointError, MemoryError)

_FORMATS = "".join(f"\n  {ending:7} {text}" for ending, text in ENDINGS.items())
_EPILOG = f"""\b
DATA is one file that holds all views, or one file per view, or a folder of them:{_FORMATS}

Row i must be the same sample in every view; one of nothing but NaN is a sample that lacks the view,
which closed_form takes. In a folder, a file called labels holds known classes: they are never used
for clustering, only to score it.
"""

_data = click.argument("data", nargs=-1, required=True, type=click.Path())
_out = click.option(
    "--out", type=click.Path(dir_okay=False), help="Write sample and cluster to this CSV file."
)


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how to read the data."""
    for option in (
        click.option(
            "--transposed/--not-transposed",
            default=None,
            help="Samples are columns, or rows, in a .mat or .npz file that leaves it open.",
        ),
        click.option("--labels-key", help="The variable of the known classes, in a file of many."),
        click.option("--views-key", multiple=True, help="A variable that is a view; repeatable."),
    ):
        command = option(command)
    return command


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: python -m dmac info DATA. Each command explains itself with --help.",
)
@click.version_option(dmac.__version__, prog_name="dmac")
@click.option("--debug", is_flag=True, help="Show where in the program an error arose.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Group samples that are described in several ways.

    Each description of the samples is a view: a table with one row per sample. The groups that all
    views support are found without being told any class.
    """
    context.obj = debug


@cli.command(epilog=_EPILOG)
@_data
@click.option("--clusters", type=click.IntRange(2), required=True, help="How many groups to make.")
@_out
@click.option(
    "--model", type=click.Path(file_okay=False), help="Keep the model in this folder, for predict."
)
@click.option(
    "--recipe",
    default="closed_form",
    show_default=True,
    help="closed_form takes seconds; revised, released and published train a network.",
)
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same groups.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto.")
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    help="A folder in which training is kept: after an interruption the same command goes on.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@_reading
def fit(
    data: tuple[str, ...],
    clusters: int,
    out: str | None,
    model: str | None,
    recipe: str,
    seed: int,
    device: str,
    checkpoint: str | None,
    quiet: bool,
    **reading: Any,
) -> int | None:
    """Find the groups in DATA.

    \b
    python -m dmac fit data.mat --clusters 10 --out labels.csv --model folder
    python -m dmac fit colours.csv words.csv --clusters 4 --out labels.csv
    """
    if not (out or model):
        raise click.UsageError("nothing would be kept: give --out, --model or both")
    _check_places(out, model)
    found = _read(data, reading)
    estimator = dmac.DMAC(clusters, recipe, seed, device, verbose=not quiet)
    estimator.fit(found.views, checkpoint=checkpoint)
    _keep(estimator.labels_, found, out)
    if model:
        estimator.save(model)
        click.echo(f"{model}: the model, for python -m dmac predict {model} ...")
    from dmac.solvers.contract import solver_of

    if len(estimator.history_) < solver_of(estimator.recipe_).epochs["EpochRecord"]:
        return INTERRUPTED  # what there is was kept
    return None


@cli.command(epilog=_EPILOG)
@click.argument("model", type=click.Path())
@_data
@_out
@click.option("--device", help="cpu or cuda, instead of that of the fit.")
@_reading
def predict(
    model: str, data: tuple[str, ...], out: str | None, device: str | None, **reading: Any
) -> None:
    """Put the samples of DATA into the groups of MODEL, a folder that fit has written.

    DATA must have the views of the fit: as many, in the same order, with the same columns.

    \b
    python -m dmac predict folder new.mat --out more.csv
    """
    _check_places(out, None)
    estimator = dmac.DMAC.load(model, device=device)
    found = _read(data, reading)
    _keep(estimator.predict(found.views), found, out)


@cli.command(epilog=_EPILOG)
@click.argument("data", nargs=-1, required=True, type=click.Path())
@_reading
def info(data: tuple[str, ...], **reading: Any) -> None:
    """Say what is in DATA, or in a MODEL folder that fit has written.

    \b
    python -m dmac info data.mat
    python -m dmac info folder
    """
    if len(data) == 1 and _is_model(data[0]):
        _describe_model(data[0])
        return
    from dmac.data.checks import count_missing

    found = _read(data, reading)
    click.echo(f"{found.views[0].shape[0]} samples, {len(found.views)} views")
    for a, (name, x) in enumerate(zip(found.names, found.views), 1):
        missing = count_missing(x)
        text = f", {missing} samples lack it" if missing else ""
        click.echo(f"  view {a}: {x.shape[1]} columns ({name}){text}")
    if found.labels is not None:
        click.echo(f"{found.labels.max() + 1} known classes (never used for clustering)")


def _is_model(path: str) -> bool:
    if not Path(path).is_dir():
        return False
    from dmac.solvers.persistence import NAME

    return (Path(path) / NAME).is_file()


def _describe_model(path: str) -> None:
    model = dmac.DMAC.load(path, device="cpu")
    sizes = sorted(((model.labels_ == k).sum() for k in range(model.n_clusters)), reverse=True)
    click.echo(f"a model of {len(model.labels_)} samples, recipe {model.recipe_.name}")
    click.echo(f"  {model.n_clusters} groups of {', '.join(map(str, sizes))} samples")
    for a, width in enumerate(model.n_features_, 1):
        text = ""
        if model.view_agreement_ is not None:
            text = f", supports the groups by {model.view_agreement_[a - 1]:.2f}"
        if model.n_missing_ is not None and model.n_missing_[a - 1]:
            text += f", {model.n_missing_[a - 1]} samples lack it"
        click.echo(f"  view {a}: {width} columns{text}")


def _read(paths: tuple[str, ...], reading: dict[str, Any]) -> NamedViews:
    from dmac.data.checks import check_views

    found = read_views(paths, **(reading | {"views_key": list(reading["views_key"]) or None}))
    views = check_views(found.views, streamed=True, incomplete=True)
    n = views[0].shape[0]
    if found.labels is not None and len(found.labels) != n:
        raise ValueError(f"there are {len(found.labels)} known classes for {n} samples")
    return found


def _check_places(out: str | None, model: str | None) -> None:
    """Refuse before a long fit what could not be written after it."""
    for place in (out, model):
        folder = Path(place or ".").expanduser().absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{place}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise ValueError(f"{place}: the folder {folder} cannot be written to")


def _keep(labels: Array, found: NamedViews, out: str | None) -> None:
    """Write the clusters, and say what they are."""
    import numpy as np

    if out:
        names = found.samples or range(1, len(labels) + 1)
        from dmac.compute.files import replacing

        with replacing(Path(out).expanduser()) as temporary:
            with open(temporary, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(["sample", "cluster"])
                writer.writerows(zip(names, labels.tolist()))
        click.echo(f"{out}: {len(labels)} samples")
    else:
        click.echo(f"{len(labels)} samples")
    sizes = np.unique(labels, return_counts=True)
    for cluster, size in zip(*sizes):
        click.echo(f"  cluster {cluster}: {size} samples")
    if found.labels is not None:
        scores = dmac.scores(found.labels, labels)
        text = ", ".join(f"{name.upper()} {100 * scores[name]:.1f} %" for name in ("acc", "nmi"))
        click.echo(f"beside the known classes, which the clustering did not see: {text}")


def main(arguments: list[str] | None = None) -> None:
    """Entry point of ``python -m dmac`` and of the command ``dmac``.

    Parameters
    ----------
    arguments : list of str, optional
        Instead of those of the process.
    """
    debug = "--debug" in (sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = cli.main(arguments, prog_name="python -m dmac", standalone_mode=False)
    except click.exceptions.Abort as error:  # Ctrl-C; the fit says what it has kept
        code = _fail(str(error.__cause__ or "") or "interrupted", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except _EXPECTED as error:
        if debug:
            raise
        code = _fail(str(error) or type(error).__name__, 1)
    except Exception as error:
        if debug:
            raise
        code = _fail(
            f"{type(error).__name__}: {error}\nThis is a fault of the program. Please report it "
            "with what --debug shows: python -m dmac --debug ...",
            FAULT,
        )
    sys.exit(code or 0)


def _fail(message: str, code: int) -> int:
    click.echo(f"Error: {message}", err=True)
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    click.echo(f"Warning: {message}", err=True)
