"""Clustering from the command line, for those who do not program: ``python -m dmac``.

    python -m dmac fit data.mat --clusters 10 --out labels.csv --model folder
    python -m dmac predict folder new.mat --out more.csv
    python -m dmac info data.mat
    python -m dmac report data.mat --clusters 10 --out report.html

The book has a page about it, and chapter 19 does the same in Python. Exit codes: 0 is success, 1 a
problem with the data or a file, 2 a command that is not understood, 130 a fit that was interrupted,
70 a fault of the program itself.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import hashlib
import io
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

import dmac
from dmac.data.named_views import name_views
from dmac.data.readers import ENDINGS, OUTPUT, is_data, read_views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TextIO

    from dmac._types import Array, Flags
    from dmac.data.named_views import NamedViews

#: Exit code of a fit that was stopped by Ctrl-C, as shells have it.
INTERRUPTED = 130
#: Exit code of what should not happen, as in sysexits.h.
FAULT = 70
# What bad data, files and settings raise, with a message written for people.
_EXPECTED = (ValueError, OSError, ImportError, FloatingPointError, MemoryError)

# Endings of files that are no CSV, and that nothing opens which has another content.
_OTHERS = tuple(".tsv .gz .xls .xlsx .ods .npy .npz .mat .h5 .h5ad .parquet .pdf".split())
# Beside a model: what its views are called.
_NAMES = "views.json"
# How messages call an argument in Python, and what it is called here.
_OPTIONS = (
    (r"labels_key=False\b", "--no-labels"),
    (r"\btransposed=True\b", "--transposed"),
    (r"\btransposed=False\b", "--not-transposed"),
    (r"\b(views|labels)_key=\[?('[^]:]*')\]?", r"--\1-key \2"),
    (r"\b(views|labels)_key=", r"--\1-key"),
    (r"(--views-key .*), or a list of names", r"\1; repeat it for several"),
    (r"\btransposed=", "--transposed"),
    (r"\brecipe is ('.*) or a Recipe", r"--recipe is \1"),
    (r"\bn_clusters\b", "--clusters"),
    (r"\brandom_state\b", "--seed"),
    (r"\bpresent says that samples\b", "samples"),
    (r"\bdmac\.DMAC with recipe='closed_form'", "--recipe closed_form"),
    (r", as with sklearn\.impute\.SimpleImputer,", ""),
)

_FORMATS = "".join(f"\n  {ending:7} {text}" for ending, text in ENDINGS.items())
_EPILOG = f"""\b
DATA is one file that holds all views, or one file per view, or a folder of them:{_FORMATS}

Row i must be the same sample in every view. Tables that name their samples are matched by the
names, and may lack some of them. A row that is empty, NaN or zeros is that of a sample that lacks
the view, which closed_form takes. A file called labels, class, subtype or the like holds known
classes: they are never used for clustering, only to score it.
"""

_data = click.argument("data", nargs=-1, required=True, type=click.Path())


def _place(context: click.Context, option: click.Parameter, out: str | None) -> str | None:
    """Let what is said go to the standard error where ``-``, the standard output, has the rest."""
    if out == "-":
        context.meta["out"] = sys.stdout
        context.with_resource(contextlib.redirect_stdout(sys.stderr))
    return out


_out = click.option(
    "--out",
    type=click.Path(dir_okay=False),
    callback=_place,
    help="Write sample and cluster to this CSV file; - is the standard output.",
)

_recipe = click.option(
    "--recipe",
    default="closed_form",
    show_default=True,
    help="closed_form takes seconds; revised, released and published train a network.",
)
_seed = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same groups.",
)
_device = click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto.")
_quiet = click.option("--quiet", is_flag=True, help="Show no progress.")


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how to read the data."""
    for option in (
        click.option(
            "--transposed/--not-transposed",
            default=None,
            help="Samples are columns, or rows; by default rows, in .mat files by their sizes.",
        ),
        click.option("--no-labels", is_flag=True, help="Read no known classes."),
        click.option("--labels-key", help="The variable, file or column of the known classes."),
        click.option(
            "--views-key", multiple=True, help="A variable or file that is a view; repeatable."
        ),
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
@_recipe
@_seed
@_device
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    help="A folder in which training is kept: after an interruption the same command goes on.",
)
@_quiet
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
    _check_places(out, model, data)
    found = _read(data, reading)
    estimator = dmac.DMAC(clusters, recipe, seed, device, verbose=not quiet)
    with _naming(found.names):
        estimator.fit(found.views, present=_present(found), checkpoint=checkpoint)
    _keep(estimator.labels_, found, out)
    _say_what_separates(estimator.labels_, found)
    if model:
        estimator.save(model)
        _write_names(model, found)
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

    DATA must have the views of the fit with the same columns: by the same names, or as many in the
    same order.

    \b
    python -m dmac predict folder new.mat --out more.csv
    """
    _check_places(out, None, data)
    estimator = dmac.DMAC.load(model, device=device)
    found = _read(data, reading, model)
    with _naming(found.names):
        labels = estimator.predict(found.views, present=_present(found))
    _keep(labels, found, out)


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
    _read(data, reading)


@cli.command(epilog=_EPILOG)
@_data
@click.option("--clusters", type=click.IntRange(2), help="How many groups to make.")
@click.option(
    "--model",
    type=click.Path(),
    help="Report on this folder, which fit has written, instead of --clusters, --recipe, --seed.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False),
    callback=_place,
    help="The page to write; - is the standard output.",
)
@_recipe
@_seed
@click.option(
    "--seeds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="So many fits are compared with each other, and as many on data without clusters.",
)
@_device
@_quiet
@_reading
def report(
    data: tuple[str, ...],
    clusters: int | None,
    model: str | None,
    out: str,
    recipe: str,
    seed: int,
    seeds: int,
    device: str,
    quiet: bool,
    **reading: Any,
) -> None:
    """Write one HTML page about the groups in DATA, and what speaks for them.

    It opens in any browser, and needs nothing else: the groups and what sets them apart, how far
    each view supports them, the same numbers on data without groups, the spectrum, a map, and a
    paragraph for a paper.

    \b
    python -m dmac report data.mat --clusters 10 --out report.html
    python -m dmac report data.mat --model folder --out report.html
    """
    given, typed = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
    named = [x for x in ("clusters", "recipe", "seed") if given.get_parameter_source(x) == typed]
    if model is not None and named:
        raise click.UsageError(f"--{named[0]} is that of the model: leave out one of them")
    _check_places(out, None, data)
    if model is not None:
        estimator = dmac.DMAC.load(model, device=device)
        found = _read(data, reading, model)
    elif clusters is not None:
        estimator = dmac.DMAC(clusters, recipe, seed, device, verbose=not quiet)
        found = _read(data, reading)
        if (present := _present(found)) is not None:
            with _naming(found.names):
                estimator.fit(found.views, present=present)  # a network refuses such samples
    else:
        raise click.UsageError("say what the page is about: give --clusters or --model")
    with _naming(found.names):
        text = dmac.report.page(
            estimator,
            found.views,
            view_names=found.names,
            feature_names=found.columns or None,
            sample_names=found.samples,
            classes=found.labels,
            seeds=seeds,
        )
    _write(text, out)
    clusters = len(set(estimator.labels_.tolist()))
    click.echo(f"{out}: {len(estimator.labels_)} samples in {clusters} clusters")


def _say(found: NamedViews) -> None:
    """Say which file became which view, which the classes, and which was left out."""
    from dmac.data.checks import count_missing

    click.echo(f"{found.views[0].shape[0]} samples, {len(found.views)} views")
    several = len(set(found.sources)) > 1
    for a, (name, file, x) in enumerate(zip(found.names, found.sources, found.views), 1):
        told = f"{name}, from {file}" if several else name
        lacking = count_missing(x, f"view {a} ({name})")
        zeros = f"; {lacking} of {x.shape[0]} samples lack it" if lacking else ""
        click.echo(f"  view {a}: {x.shape[1]} columns ({told}{zeros})")
    if found.labels is not None:
        number = found.labels.max() + 1
        click.echo(f"{number} known classes in {found.known} (never used for clustering)")
    for name, reason in found.left_out.items():
        click.echo(f"left out: {name}, since {reason}")
    if any("name is that" in reason for reason in found.left_out.values()):
        click.echo("to take one as a view, name every view with --views-key")


def _is_model(path: str) -> bool:
    if not Path(path).is_dir():
        return False
    from dmac.solvers.persistence import NAME

    return (Path(path) / NAME).is_file()


def _describe_model(path: str) -> None:
    model = dmac.DMAC.load(path, device="cpu")
    sizes = sorted(((model.labels_ == k).sum() for k in range(model.n_clusters)), reverse=True)
    names = _read_names(path)[0]
    click.echo(f"a model of {len(model.labels_)} samples, recipe {model.recipe_.name}")
    click.echo(f"  {model.n_clusters} groups of {', '.join(map(str, sizes))} samples")
    agreement, support = model.view_agreement_, model.view_support_
    for a, width in enumerate(model.n_features_):
        text = "" if agreement is None else f", supports the groups by {agreement[a]:.2f}"
        if support is not None and support[a] == support[a]:  # nan where there are no others
            text += f", the other views by {max(support[a], 0):.2f}"
        if model.n_missing_ is not None and model.n_missing_[a]:
            text += f", {model.n_missing_[a]} samples lack it"
        called = f" ({names[a]})" if names else ""
        click.echo(f"  view {a + 1}: {width} columns{called}{text}")


def _digest(model: str) -> str:
    from dmac.solvers.persistence import NAME

    with open(Path(model).expanduser() / NAME, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_names(model: str, found: NamedViews) -> None:
    """Keep what views and columns are called beside a model, whose own file has only numbers."""
    kept = {"model": _digest(model), "views": found.names, "columns": found.columns}
    _write(json.dumps(kept), Path(model).expanduser() / _NAMES)


def _read_names(model: str) -> tuple[list[str], list[list[str] | None]]:
    """What views and columns of a model are called; none if it was saved elsewhere, or anew."""
    path = Path(model).expanduser() / _NAMES
    if not path.is_file():
        return [], []
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["model"] != _digest(model):
            return [], []
        return [str(name) for name in kept["views"]], list(kept.get("columns", []))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is damaged ({error!r}); remove it") from error


def _in_order(found: NamedViews, names: list[str]) -> NamedViews:
    """The views in the order of a model's, where they have the same names."""
    missing = [name for name in names if name not in found.names]
    if missing and set(found.names) < set(names):
        raise ValueError(
            f"there is no view {', '.join(missing)}; the model was fitted on {', '.join(names)}. "
            "Of samples that lack a view the rows are empty, in a table that has its columns"
        )
    if missing or len(names) != len(found.names) or len(set(names)) < len(names):
        return found  # by their places, as their numbers and widths are checked
    order = [found.names.index(name) for name in names]
    parts = ("names", "views", "sources", "lacking", "columns")
    lined: dict[str, Any] = {part: [getattr(found, part)[a] for a in order] for part in parts}
    return dataclasses.replace(found, **lined)


def _check_columns(found: NamedViews, columns: list[list[str] | None]) -> None:
    """Refuse columns of a model's views in other places, and doubt other names."""
    for a, (new, old) in enumerate(zip(found.columns, columns), 1):
        if old is None or new == old or (new is not None and len(new) != len(old)):
            continue
        if new is None:
            warnings.warn(
                f"view {a} has no names of columns, which the fit had: they are taken in the "
                "order of the fit",
                stacklevel=4,
            )
            continue
        other = [j for j in range(len(old)) if new[j] != old[j]]
        moved = [j for j in other if new[j] in old]
        where = (moved or other)[0]
        there = f"column {where + 1} is {new[where]:.40}, and was {old[where]:.40} in the fit"
        if moved:
            raise ValueError(
                f"view {a} has the columns of the fit in another order ({there}): write them in "
                "the order of the fit"
            )
        warnings.warn(
            f"view {a} has columns of other names ({there}): they are taken in the order of the "
            "fit",
            stacklevel=4,
        )


def _read(paths: tuple[str, ...], reading: dict[str, Any], model: str | None = None) -> NamedViews:
    """Read and check the data, in the order of a model's names, and say what there is."""
    from dmac.data.checks import check_views

    if reading["no_labels"] and reading["labels_key"]:
        raise click.UsageError("--labels-key and --no-labels exclude each other")
    found = read_views(
        paths,
        views_key=list(reading["views_key"]) or None,
        labels_key=False if reading["no_labels"] else reading["labels_key"],
        transposed=reading["transposed"],
    )
    names, columns = _read_names(model) if model is not None else ([], [])
    found = _in_order(found, names)
    with _naming(found.names):
        _check_columns(found, columns)
        n = check_views(found.views, streamed=True, incomplete=True)[0].shape[0]
    if found.labels is not None and len(found.labels) != n:
        raise ValueError(
            f"there are {len(found.labels)} known classes for {n} samples, in {found.known}"
        )
    _say(found)
    return found


@contextlib.contextmanager
def _naming(names: list[str]) -> Iterator[None]:
    """Name the views that an error or a warning is about."""
    show = warnings.showwarning
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *rest: show(
                name_views(str(message), names), *rest
            )
            yield
    except ValueError as error:
        raise ValueError(name_views(str(error), names)) from error


def _present(found: NamedViews) -> Flags | None:
    """Which views each sample has, (n, v), where files say that some are missing."""
    import numpy as np

    lacking = np.transpose(found.lacking)
    return ~lacking if lacking.any() else None


def _check_places(out: str | None, model: str | None, data: tuple[str, ...]) -> None:
    """Refuse before a long fit what could not be written after it, or would replace the data."""
    target = Path(out or ".").expanduser()
    if out and target.suffix.lower() in _OTHERS:
        raise ValueError(f"{out}: --out is text, and its name says that it is something else")
    for own in (Path(path).expanduser() for path in data):
        there = target.resolve() if own.is_file() else target.resolve().parent
        if there == own.resolve() and target.is_file() and (own.is_file() or is_data(target)):
            raise ValueError(
                f"{out} is a file of the data, which --out would replace: name another"
            )
        if model and own.is_dir() and own.resolve() == Path(model).expanduser().resolve():
            raise ValueError(f"{model} is the folder of the data: name another for the model")
    for place in (out, model):
        if place in (None, "-"):
            continue
        path = Path(place).expanduser()
        folder = Path(os.path.realpath(path)).parent
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe is written into
            if not os.access(path, os.W_OK):
                raise ValueError(f"{place} cannot be written to")
        elif not folder.is_dir():
            raise ValueError(f"{place}: there is no folder {folder}")
        elif not os.access(folder, os.W_OK):
            raise ValueError(f"{place}: the folder {folder} cannot be written to")


def _write(text: str, out: str | Path) -> None:
    """Write text to a file, or to the standard output."""
    from dmac.compute.files import replacing

    if out == "-":
        click.get_current_context().meta["out"].buffer.write(text.encode())
        return
    with replacing(Path(out).expanduser()) as temporary:
        temporary.write_bytes(text.encode())


def _keep(labels: Array, found: NamedViews, out: str | None) -> None:
    """Write the clusters, and say what they are."""
    import numpy as np

    if out:
        names = found.samples or range(1, len(labels) + 1)
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(OUTPUT)
        writer.writerows(zip(names, labels.tolist()))
        _write(file.getvalue(), out)
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


def _say_what_separates(labels: Array, found: NamedViews) -> None:
    """Say which three columns of all views differ most between each cluster and the rest."""
    import numpy as np

    from dmac.separation import standardized_differences

    if len(np.unique(labels)) < 2:
        return
    clusters, differences = standardized_differences(found.views, labels)
    views = np.repeat(np.arange(len(differences)), [part.shape[1] for part in differences])
    columns = np.concatenate([np.arange(part.shape[1]) for part in differences])
    click.echo("what sets them apart, in standard deviations from the rest:")
    for cluster, row in zip(clusters, np.nan_to_num(np.hstack(differences))):
        first = [j for j in np.argsort(-abs(row), kind="stable")[:3] if row[j]]
        told = [f"{found.column(views[j], columns[j])} {row[j]:+.1f}" for j in first]
        click.echo(f"  cluster {cluster}: {', '.join(told) or 'nothing'}")


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
        code = _fail(_in_options(str(error)) or type(error).__name__, 1)
    except Exception as error:
        if debug:
            raise
        code = _fail(
            f"{type(error).__name__}: {error}\nThis is a fault of the program. Please report it "
            "with what --debug shows: python -m dmac --debug ...",
            FAULT,
        )
    sys.exit(code or 0)


def _in_options(message: str) -> str:
    """A message of the package, whose arguments are called as the options of the command."""
    for argument, option in _OPTIONS:
        message = re.sub(argument, option, message)
    return message


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
    click.echo(f"Warning: {_in_options(str(message))}", err=True)
