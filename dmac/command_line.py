"""Clustering from the command line, for those who do not program: ``python -m dmac``.

    python -m dmac fit mfeat --clusters 10 --out labels.csv --model folder
    python -m dmac predict folder new.mat --out more.csv
    python -m dmac info data.mat
    python -m dmac suggest data.mat
    python -m dmac report data.mat --clusters 10 --out report.html

The book has a page about it, and "Your own data" does the same in Python. Exit codes: 0 is success,
1 a problem with the data or a file, 2 a command that is not understood, 130 a fit that was
interrupted, 70 a fault of the program itself.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import dmac
from dmac._types import Array
from dmac.data.checks import View, as_views
from dmac.data.names import NamedView, ending_of, in_order, number_of
from dmac.data.readers import ENDINGS, READERS, Reading, is_data
from dmac.data.variables import CELLS, open_cells

#: Exit code of a fit that was stopped by Ctrl-C, as shells have it.
INTERRUPTED = 130
#: Exit code of what should not happen, as in sysexits.h.
FAULT = 70
# What bad data, files and settings raise, with a message written for people.
_EXPECTED = (ValueError, OSError, ImportError, FloatingPointError, MemoryError)

# Endings of what is written: tables, pages, and files of cells. What has no ending may be a pipe.
_TABLES = ("", ".csv", ".tsv")
_PAGES = ("", ".html")
# The column of the clusters in a copy of a file of cells.
_COLUMN = "dmac"
# What is asked for here, by what Python calls it; the longer first.
_OPTIONS = {
    "labels_key=False": "--no-labels",
    "labels_key=": "--labels-key",
    "views_key=": "--views-key",
    "transposed=True": "--transposed",
    "transposed=False": "--not-transposed",
    "present=": "--all-present",
    "missing=": "--missing ",
    "fill=": "--fill ",
    "drop='": "--drop '",
    "drop=name": "--drop NAME",
    "drop= names": "--drop names",
    "n_clusters": "--clusters",
}

_FORMATS = "".join(f"\n  {ending:7} {text}" for ending, text in ENDINGS.items())
_EPILOG = f"""\b
DATA is one file that holds all views, or one file per view, or a folder of them, or the name of a
known data set, such as mfeat, which comes with the package:{_FORMATS}

Samples are matched by their names where tables have some, and may lack views; else row i must be
the same sample in every view. A row that is empty, NaN or zeros is that of a sample that lacks the
view, which closed_form takes; with --all-present zeros are values. DATA may be -, the standard
input, whose format --format names. What is called labels, class, subtype or the like holds known
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
    is_eager=True,
    help="Write sample, cluster and how sure it is (the share of the sample's links that stay in "
    "its cluster) to this .csv or .tsv, or a copy of an .h5ad or .h5mu with columns of obs; - is "
    "the standard output. Clusters are numbered by their size, the largest first.",
)


class _WholeNumber(click.IntRange):
    """Whole numbers from some on, which are called so where something else is typed."""

    name = "whole number"


_device = click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto.")


def _hush(context: click.Context, option: click.Parameter, quiet: bool) -> bool:
    """Let nothing be said but warnings, errors, and what goes to the standard output itself."""
    if quiet:
        nowhere = context.with_resource(open(os.devnull, "w"))
        context.with_resource(contextlib.redirect_stdout(nowhere))
    return quiet


_quiet = click.option(
    "--quiet", is_flag=True, callback=_hush, help="Show no progress, and say nothing but warnings."
)


def _options(*several: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one, in their order."""
    return lambda command: functools.reduce(lambda x, option: option(x), reversed(several), command)


_fitting = _options(
    click.option(
        "--recipe",
        type=click.Choice(["closed_form", "released", "published", "revised"]),
        default="closed_form",
        show_default=True,
        help="closed_form is anchor-graph clustering, which takes seconds; the others train DMAC's "
        "network.",
    ),
    click.option(
        "--standardise",
        is_flag=True,
        help="Divide columns by their standard deviations, their means taken off; where their "
        "units differ.",
    ),
    click.option(
        "--seed",
        type=_WholeNumber(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="The same seed gives the same groups.",
    ),
    _device,
    _quiet,
)
_reading = _options(
    click.option(
        "--views-key", multiple=True, help="A variable or file that is a view; repeatable."
    ),
    click.option("--labels-key", help="The variable, file or column of the known classes."),
    click.option("--no-labels", is_flag=True, help="Read no known classes."),
    click.option("--fill", help="Fill the gaps of a column by its median or mean, or by a number."),
    click.option(
        "--drop", multiple=True, help="Columns that are left out: income,spend*; repeatable."
    ),
    click.option(
        "--view",
        "columns",
        multiple=True,
        help="Columns of one table as a view: money=income,spend*; repeatable.",
    ),
    click.option(
        "--missing",
        multiple=True,
        help="A code, as -999, that stands for what is missing; repeatable.",
    ),
    click.option("--all-present", is_flag=True, help="Rows of zeros were measured."),
    click.option(
        "--format",
        "form",
        type=click.Choice([ending[1:] for ending in READERS]),
        help="The format of DATA where that is -; with tsv, --out - writes tabs, too.",
    ),
    click.option(
        "--transposed/--not-transposed",
        default=None,
        help="Samples are columns, or rows; by default rows, in .mat files by their sizes.",
    ),
)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: python -m dmac info DATA. Each command explains itself with --help.",
)
@click.version_option(dmac.__version__, prog_name="dmac")
@click.option("--debug", is_flag=True, help="Show where in the program an error arose.")
def cli(debug: bool) -> None:
    """Group samples that are described in several ways.

    Each description of the samples is a view: a table with one row per sample. The groups that all
    views support are found without being told any class.
    """


@cli.command(epilog=_EPILOG)
@_data
@click.option("--clusters", type=_WholeNumber(2), required=True, help="How many groups to make.")
@_out
@click.option(
    "--model", type=click.Path(file_okay=False), help="Keep the model in this folder, for predict."
)
@_fitting
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    help="A folder in which training is kept: after an interruption the same command goes on.",
)
@_reading
def fit(
    data: tuple[str, ...],
    clusters: int,
    out: str | None,
    model: str | None,
    recipe: str,
    standardise: bool,
    seed: int,
    device: str,
    checkpoint: str | None,
    quiet: bool,
    **reading: Any,
) -> int | None:
    """Find the groups in DATA.

    \b
    python -m dmac fit mfeat --clusters 10 --out labels.csv
    python -m dmac fit data.mat --clusters 10 --out labels.csv --model folder
    python -m dmac fit colours.csv words.csv --clusters 4 --out labels.csv
    """
    if not (out or model):
        raise click.UsageError("nothing would be kept: give --out, --model or both")
    if checkpoint and dmac.estimators.estimator_of(recipe) is not dmac.DMAC:
        raise click.UsageError(f"--checkpoint keeps a training, and {recipe} trains nothing")
    _check_places(out, model, data)
    read = _read(data, reading)
    _try_out(read, out, data)
    estimator = _estimator(clusters, recipe, standardise, seed, device, quiet)
    training = {"checkpoint": checkpoint} if checkpoint else {}
    estimator.fit(read.views, **training)
    estimator = dmac.estimators.numbered_by_size(estimator)
    estimator.record_ = _record(read, reading)
    _keep(dmac.report.table_of(estimator), read, out, data, reading["form"])
    _say_what_separates(estimator.labels_, read)
    if isinstance(estimator, dmac.AnchorGraphClustering):
        agree = dmac.report.seeds_agree(estimator, read.views)
        if agree < dmac.report.OFTEN:
            click.echo(
                f"another seed gives other groups (mean ARI of three seeds {agree:.2f}): these are "
                "one reading of the data; try fewer clusters, and see python -m dmac report"
            )
    if model:
        estimator.save(model)
        click.echo(f"{model}: the model, for python -m dmac predict {model} ...")
    if isinstance(estimator, dmac.DMAC) and len(estimator.history_) < estimator.recipe_.epochs:
        return INTERRUPTED  # what there is was kept
    return None


@cli.command(epilog=_EPILOG)
@click.argument("model", type=click.Path())
@_data
@_out
@click.option("--device", help="cpu or cuda, instead of that of the fit.")
@_quiet
@_reading
def predict(
    model: str,
    data: tuple[str, ...],
    out: str | None,
    device: str | None,
    quiet: bool,
    **reading: Any,
) -> None:
    """Put the samples of DATA into the groups of MODEL, a folder that fit has written.

    DATA must have the views of the fit with the same columns: by the same names, or as many in the
    same order.

    \b
    python -m dmac predict folder new.mat --out more.csv
    """
    _check_places(out, None, data)
    estimator = dmac.load_model(model, device)
    estimator = dmac.estimators.numbered_by_size(estimator)
    read = _read(data, reading, estimator)
    _keep(estimator.predict(read.views, as_frame=True), read, out, data, reading["form"])


@cli.command(epilog=_EPILOG)
@_data
@_reading
def info(data: tuple[str, ...], **reading: Any) -> None:
    """Say what is in DATA, or in a MODEL folder that fit has written.

    \b
    python -m dmac info data.mat
    python -m dmac info folder
    """
    # The name is that of `dmac.solvers.persistence`, which would bring PyTorch for a table.
    if len(data) == 1 and Path(data[0], "model.safetensors").is_file():
        _describe_model(data[0])
    else:
        _read(data, reading, warns=True)


@cli.command(epilog=_EPILOG)
@_data
@click.option(
    "--from", "least", type=_WholeNumber(2), default=2, show_default=True, help="Try from so many."
)
@click.option(
    "--to", "most", type=_WholeNumber(3), default=20, show_default=True, help="Try up to so many."
)
@_reading
def suggest(data: tuple[str, ...], least: int, most: int, **reading: Any) -> None:
    """Suggest how many groups DATA has: a hint, which the book measures.

    It draws the spectrum, and says which number each criterion prefers. One that only one of them
    prefers, or that changes with --from and --to, is no answer.

    \b
    python -m dmac suggest mfeat --from 2 --to 15
    """
    read = _read(data, reading, warns=True)
    n = read.views[0].values.shape[0]
    if most > n // 4:
        click.echo(f"{number_of(n, 'sample')} are enough for up to {number_of(n // 4, 'cluster')}")
    most = min(most, n // 4)
    suggested = dmac.suggest_n_clusters(read.views, range(least, most + 1))
    click.echo("eigenvalues of the graph, and the step after each:")
    steps = zip(suggested.eigenvalues, -np.diff(suggested.eigenvalues))
    for c, (value, step) in enumerate(steps, 1):
        mark = "  <- the largest step" if c == suggested.n_clusters else ""
        click.echo(f"  {c:3} {value:.3f} {step:.3f} {'#' * round(40 * value)}{mark}")
    told = ", ".join(f"{name} {suggested.best(name)}" for name in suggested.scores)
    click.echo(f"what each criterion prefers: {told}")
    c = suggested.n_clusters
    click.echo(f"{c} clusters, of {least} to {most}: a hint; go on with --clusters {c}")


@cli.command(epilog=_EPILOG)
@_data
@click.option("--clusters", type=_WholeNumber(2), help="How many groups to make.")
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
    is_eager=True,
    help="The page to write; - is the standard output.",
)
@_fitting
@click.option(
    "--seeds",
    type=_WholeNumber(2),
    default=5,
    show_default=True,
    help="So many fits are compared with each other, and as many on data without clusters.",
)
@_reading
def report(
    data: tuple[str, ...],
    clusters: int | None,
    model: str | None,
    out: str,
    recipe: str,
    standardise: bool,
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
    source_of = click.get_current_context().get_parameter_source
    for name in ("clusters", "recipe", "standardise", "seed"):
        if model is not None and source_of(name) == click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is that of the model: leave out one of them")
    _check_places(out, None, data, _PAGES)
    if model is not None:
        estimator = dmac.load_model(model, device)
        read = _read(data, reading, estimator)
    elif clusters is not None:
        estimator = _estimator(clusters, recipe, standardise, seed, device, quiet)
        read = _read(data, reading)
    else:
        raise click.UsageError("say what the page is about: give --clusters or --model")
    text = dmac.report.page(
        estimator,
        read.views,
        classes=read.classes,
        seeds=seeds,
        by_size=True,
        about=_about(read),
        # Of a model the record says how it was fitted.
        record=getattr(estimator, "record_", None) or _record(read, reading),
    )
    _write(text, out)
    labels = estimator.labels_.tolist()
    click.echo(f"{out}: {len(labels)} samples in {number_of(len(set(labels)), 'cluster')}")


def _estimator(
    clusters: int, recipe: str, standardise: bool, seed: int, device: str, quiet: bool
) -> Any:
    """What is to be fitted."""
    chosen: Any = dmac.recipes.get_recipe(recipe)
    chosen = replace(chosen, columns="standardised") if standardise else chosen
    return dmac.estimators.estimator_of(recipe)(clusters, chosen, seed, device, verbose=not quiet)


def _record(read: Reading, reading: dict[str, Any]) -> dict[str, Any]:
    """What is kept of how the data were read: the command, the files and what was asked for."""
    import pooch

    files = [y for x in read.files for y in (sorted(x.iterdir()) if x.is_dir() else [x])]
    asked = {key: x for key, x in reading.items() if x not in (None, False, ())}
    asked["columns"] = dict(x.split("=", 1) for x in asked.get("columns", ()))
    if asked.pop("no_labels", False):
        asked["labels_key"] = False
    return {
        "command": shlex.join(["python", "-m", "dmac", *click.get_current_context().obj]),
        "files": {str(path): pooch.file_hash(path) for path in files},
        "read": {key: x for key, x in asked.items() if x != {} and key != "form"},
        "version": dmac.__version__,
    }


def _about(read: Reading) -> Any:
    """Tables of what is known of the samples, side by side by their names; None without any."""
    import pandas as pd

    tables = [
        pd.DataFrame(x.values.to_numpy(), x.samples, x.features)
        for x in read.about
        if len(set(x.samples or range(len(x.values)))) == len(x.values)
    ]
    return pd.concat(tables, axis=1) if tables else None


def _say(read: Reading, checked: list[View]) -> None:
    """Say which file became which view, which the classes, and what was decided otherwise."""
    n = read.views[0].values.shape[0]
    click.echo(f"{number_of(n, 'sample')}, {number_of(len(read.views), 'view')}")
    several = len({x.source for x in read.views}) > 1
    for a, (x, source) in enumerate(zip(read.views, checked), 1):
        told = f"{x.name}, from {x.source}" if several else x.name
        lacking = int((~source.presence()).sum())
        told += f"; {lacking} of {n} samples lack it" if lacking else ""
        click.echo(f"  view {a}: {number_of(x.values.shape[1], 'column')} ({told})")
    if read.labels is not None:
        click.echo(
            f"{number_of(read.labels.max() + 1, 'known class')} in {read.known} "
            "(never used for clustering)"
        )
    for name, reason in read.left_out.items():
        click.echo(_spoken(f"left out: {name}, since {reason}"))
    if read.left_out:
        click.echo("to take one as a view, name every view with --views-key")


def _describe_model(path: str) -> None:
    model = dmac.load_model(path, device="cpu")
    sizes = sorted(((model.labels_ == k).sum() for k in range(model.n_clusters)), reverse=True)
    click.echo(
        f"a model of {number_of(len(model.labels_), 'sample')}, {type(model).__name__}, recipe "
        f"{model.recipe_.name}\n  {number_of(model.n_clusters, 'group')} of "
        f"{', '.join(map(str, sizes))} samples"
    )
    for a, width in enumerate(model.n_features_):
        told = f" ({model.view_names_[a]})" if any(model.view_names_) else ""
        if isinstance(model, dmac.AnchorGraphClustering):
            told += f", supports the groups by {model.view_agreement_[a]:.2f}"
            support = model.support_of_others_[a]  # nan where there are no others
            told += f", the other views by {max(support, 0):.2f}" if support == support else ""
            told += f", {model.n_missing_[a]} samples lack it" if model.n_missing_[a] else ""
        click.echo(f"  view {a + 1}: {number_of(width, 'column')}{told}")
    for field, value in dmac.report.changes(model.recipe_).items():
        click.echo(f"  other than in that recipe: {field} {value}")
    if record := model.record_:
        click.echo(f"  made by dmac {record['version']}: {record['command']}")
        for name, told in record["files"].items():
            click.echo(f"  of {name}, SHA-256 {told}")


def _in_order(views: list[NamedView], names: list[str]) -> list[NamedView]:
    """The views in the order of a model's, where they have the same names."""
    by_name = {x.name: x for x in views}
    missing = [name for name in names if name not in by_name]
    if missing and set(by_name) < set(names):
        raise ValueError(
            f"there is no view {', '.join(missing)}; the model was fitted on {', '.join(names)}. "
            "Of samples that lack a view the rows are empty, in a table that has its columns"
        )
    # Else by their places, as their numbers and widths are checked.
    alike = not missing and len(views) == len(names) == len(by_name)
    return [by_name[name] for name in names] if alike else views


def _read(
    paths: tuple[str, ...],
    reading: dict[str, Any],
    model: dmac.AnchorGraphClustering | dmac.DMAC | None = None,
    warns: bool = False,
) -> Reading:
    """Read and check the data, in the order of a model's names, and say what there is."""
    if reading["no_labels"] and reading["labels_key"]:
        raise click.UsageError("--labels-key and --no-labels exclude each other")
    if wrong := [x for x in reading["columns"] if not all(x.partition("="))]:
        raise click.UsageError(f"--view {wrong[0]}: say a name and its columns, as a=b,c*")
    read = dmac.views.read(
        [_standard_input(reading["form"]) if path == "-" else path for path in paths],
        views_key=list(reading["views_key"]) or None,
        labels_key=False if reading["no_labels"] else reading["labels_key"],
        columns=dict(x.split("=", 1) for x in reading["columns"]),
        **{name: reading[name] for name in ("transposed", "missing", "drop", "fill")},
    )
    read.views[:] = [replace(x, measured=reading["all_present"]) for x in read.views]
    if model is not None:
        read.views[:] = _in_order(read.views, model.view_names_)
    _say(read, as_views(read.views, streamed=True, incomplete=True, warns=warns))
    return read


def _standard_input(form: str | None) -> str:
    """A file with what comes from the standard input, for as long as the command runs."""
    if form is None:
        raise click.UsageError("DATA is -, the standard input: say its format, as --format csv")
    context = click.get_current_context()
    folder = context.with_resource(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    path = Path(folder, f"stdin.{form}")
    path.write_bytes(sys.stdin.buffer.read())
    return str(path)


def _check_places(
    out: str | None,
    model: str | None,
    data: tuple[str, ...],
    endings: tuple[str, ...] = (*_TABLES, *CELLS),
) -> None:
    """Refuse before a long fit what could not be written after it, or would replace the data."""
    files = [Path(path).expanduser().resolve() for path in data]
    for place in [x for x in (out, model) if x and x != "-"]:
        path = Path(os.path.realpath(Path(place).expanduser()))
        special = path.exists() and not (path.is_file() or path.is_dir())  # as a pipe
        written = path if special else path.parent
        if not written.exists():
            raise ValueError(f"{place}: there is no folder {written}")
        if not os.access(written, os.W_OK):
            raise ValueError(
                f"{place}: {'' if special else 'the folder '}{written} cannot be written to"
            )
        if path.is_file() and (path in files or (path.parent in files and is_data(path))):
            raise ValueError(
                f"{out} is a file of the data, which --out would replace: name another"
            )
        if path.is_dir() and path in files:
            raise ValueError(f"{place} is the folder of the data: name another for the model")
    ending = ending_of(Path(out or ""))
    if ending not in endings:
        raise ValueError(
            f"{out}: --out writes {', '.join(filter(None, endings))}, and this name says that it "
            "is something else"
        )
    if ending in CELLS and [ending_of(file) for file in files] != [ending]:
        raise ValueError(f"{out}: the clusters go into a copy of DATA, which is no {ending} file")


def _write(text: str, out: str | Path) -> None:
    """Write text to a file, or to the standard output."""
    if out == "-":
        click.get_current_context().meta["out"].buffer.write(text.encode())
    else:
        with dmac.compute.files.replacing(Path(out).expanduser()) as temporary:
            temporary.write_bytes(text.encode())


def _keep(
    found: Any, read: Reading, out: str | None, data: tuple[str, ...], form: str | None
) -> None:
    """Write a table of clusters, and how sure they are, and say what they are."""
    labels = found["cluster"].to_numpy()
    found = found.set_axis(read.views[0].samples or range(1, len(labels) + 1))
    if out and ending_of(Path(out)) in CELLS:
        _write_cells(found, Path(data[0]), Path(out).expanduser())
    elif out:
        tabs = ending_of(Path(out)) == ".tsv" or (out == "-" and form == "tsv")
        table = found.astype({name: float for name in found if name != "cluster"}).round(4)
        sign = "\t" if tabs else ","
        _write(table.to_csv(index_label="sample", sep=sign, lineterminator="\n"), out)
    click.echo(f"{f'{out}: ' if out else ''}{number_of(len(labels), 'sample')}")
    for cluster, size in zip(*np.unique(labels, return_counts=True)):
        click.echo(f"  cluster {cluster}: {number_of(size, 'sample')}")
    if read.labels is not None:
        scores = dmac.scores(read.labels, labels)
        click.echo(
            "beside the known classes, which the clustering did not see: "
            f"ACC {100 * scores['acc']:.1f} %, NMI {100 * scores['nmi']:.1f} %"
        )


def _try_out(read: Reading, out: str | None, data: tuple[str, ...]) -> None:
    """Write clusters into a copy of a file of cells before the fit, that it can be."""
    if out and ending_of(Path(out)) in CELLS:
        import pandas as pd

        none = pd.DataFrame({"cluster": 0}, read.views[0].samples)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            _write_cells(none, Path(data[0]), Path(folder, Path(out).name))


def _write_cells(found: Any, data: Path, out: Path) -> None:
    """A copy of a file of cells, with the clusters and how sure they are as columns of obs."""
    import anndata
    import pandas as pd

    # Strings of Arrow, which pandas makes where it is installed, could not be written.
    click.get_current_context().with_resource(pd.option_context("mode.string_storage", "python"))
    cells = open_cells(data.expanduser())
    table = in_order(found, cells.obs_names.astype(str), "the clusters", str(data))
    table = table.astype({"cluster": str}).astype({"cluster": "category"})
    for name in table:
        cells.obs[_COLUMN if name == "cluster" else f"{_COLUMN}_{name}"] = table[name].array
    write = cells.write_h5ad if data.suffix.lower() == ".h5ad" else cells.write_h5mu
    with (
        warnings.catch_warnings(action="ignore"),  # of the libraries' own formats
        anndata.settings.override(allow_write_nullable_strings=True),
        dmac.compute.files.replacing(out) as temporary,
    ):
        write(temporary)


def _say_what_separates(labels: Array, read: Reading) -> None:
    """Say which three columns of all views differ most between each cluster and the rest."""
    if len(np.unique(labels)) < 2:
        return
    columns = [
        x.features or [f"column {j + 1}" for j in range(x.values.shape[1])] for x in read.views
    ]
    table = dmac.features_that_separate(
        read.views, labels, view_names=[x.name for x in read.views], feature_names=columns
    )
    click.echo("what sets them apart, in standard deviations from the rest:")
    for cluster, rows in table.groupby("cluster"):
        first = rows[abs(rows.difference) > 0].head(3)
        told = [f"{x.view} {x.feature} {x.difference:+.1f}" for x in first.itertuples()]
        click.echo(f"  cluster {cluster}: {', '.join(told) or 'nothing'}")


def main(arguments: list[str] | None = None) -> None:
    """Entry point of ``python -m dmac`` and of the command ``dmac``.

    Parameters
    ----------
    arguments : list of str, optional
        Instead of those of the process.
    """
    given = sys.argv[1:] if arguments is None else arguments
    as_before = warnings.formatwarning
    warnings.formatwarning = _in_a_line
    try:
        code = cli.main(given, prog_name="python -m dmac", standalone_mode=False, obj=given)
    except click.exceptions.Abort as error:  # Ctrl-C; the fit says what it has kept
        code = _fail(str(error.__cause__ or "") or "interrupted", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except Exception as error:
        if "--debug" in given:
            raise
        if isinstance(error, _EXPECTED):
            code = _fail(str(error) or type(error).__name__, 1)
        else:
            code = _fail(
                f"{type(error).__name__}: {error}\nThis is a fault of the program. Please report "
                "it with what --debug shows: python -m dmac --debug ...",
                FAULT,
            )
    finally:
        warnings.formatwarning = as_before
    sys.exit(code or 0)


def _fail(message: str, code: int) -> int:
    click.echo(f"Error: {_spoken(message)}", err=True)
    return code


def _in_a_line(message: Warning | str, *about: object, **more: object) -> str:
    below = "\n" if dmac.compute.progress_bar.is_shown() else ""
    return f"{below}Warning: {_spoken(str(message))}\n"


def _spoken(message: str) -> str:
    """A message with options in the place of what Python calls them."""
    return functools.reduce(lambda text, name: text.replace(*name), _OPTIONS.items(), message)
