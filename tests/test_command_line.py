"""The command line: what it writes, what it says, and how it ends."""

import hashlib
import io
import re
import urllib.parse
from pathlib import Path
from unittest.mock import Mock

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from bs4 import BeautifulSoup
from helpers import python

import dmac
from dmac import command_line

RNG = np.random.default_rng(0)
CLASSES = np.arange(60) % 3
VIEWS = [5 * RNG.normal(size=(3, d))[CLASSES] + RNG.normal(size=(60, d)) for d in (6, 4)]

pytestmark = pytest.mark.filterwarnings("ignore:.* do not name their samples")


@pytest.fixture(autouse=True)
def data(call):
    np.savez("data.npz", X1=VIEWS[0], X2=VIEWS[1], labels=CLASSES)


def table(path):
    found = pd.read_csv(path, dtype={"sample": str})
    assert [*found] == ["sample", "cluster", "confidence"]
    assert found.confidence.between(0, 1, inclusive="right").all()
    return found["sample"].tolist(), found.cluster.tolist()


def by_size(labels):
    """The same clusters, the largest first."""
    return np.argsort(np.argsort(-np.bincount(labels), kind="stable"))[labels]


@pytest.fixture
def fit(ok):
    """Fit three clusters, and keep them and the model; what is said."""
    places = ("--clusters", 3, "--out", "labels.csv", "--model", "kept")
    return lambda data, *options: ok("fit", data, *places, *options)


def test_fit_writes_what_the_estimator_finds(fit, ok):
    out = fit("data.npz")
    assert "labels.csv: 60 samples" in out and "ACC 100.0 %" in out
    model = dmac.AnchorGraphClustering(3, random_state=0).fit(VIEWS)
    names, labels = table("labels.csv")
    sure = np.loadtxt("labels.csv", delimiter=",", skiprows=1, usecols=2)
    np.testing.assert_allclose(sure, model.confidence_, atol=1e-4)
    assert names == [str(i) for i in range(1, 61)] and labels == model.labels_.tolist()
    # As `head` shows it.
    assert Path("labels.csv").read_bytes().startswith(b"sample,cluster,confidence\n1,")
    ok("predict", "kept", "data.npz", "--out", "more.csv")
    assert table("more.csv") == (names, labels)
    out = ok("info", "kept")
    assert "60 samples, AnchorGraphClustering, recipe closed_form" in out
    assert "3 groups of 20, 20, 20" in out
    assert out.count("supports the groups by") == out.count(", the other views by 0.") == 2
    out = ok("info", "data.npz")
    assert "60 samples, 2 views" in out and "view 2: 4 columns" in out
    assert "3 known classes" in out


def test_labels_go_to_the_standard_output_or_where_a_link_leads(fit, call):
    fit("data.npz")
    written = Path("labels.csv").read_text()
    for command in (["fit", "data.npz", "--clusters", 3], ["predict", "kept", "data.npz"]):
        code, out, err = call(*command, "--out", "-")
        assert code == 0 and out == written and "60 samples, 2 views" in err
    assert not Path("-").exists()
    Path("link.csv").symlink_to("elsewhere.csv")  # or a pipe, as the tests of files have it
    code, _, err = call("predict", "kept", "data.npz", "--out", "link.csv")
    assert code == 0 and Path("elsewhere.csv").read_text() == written, err


def test_a_report_goes_to_the_standard_output(call, monkeypatch):
    monkeypatch.setattr(dmac.report, "page", lambda model, views, **_: model.fit(views) and "<p>ä")
    code, out, err = call("report", "data.npz", "--clusters", 3, "--out", "-")
    assert code == 0 and out == "<p>ä" and "60 samples in 3 clusters" in err


def test_fit_says_what_sets_the_clusters_apart(ok):
    marked = VIEWS[1].copy()
    marked[CLASSES == 1, 2] += 500
    np.savez("data.npz", X1=VIEWS[0], X2=marked)
    out = ok("fit", "data.npz", "--clusters", 3, "--out", "labels.csv")
    cluster = table("labels.csv")[1][1]  # that of class 1, as of the second sample
    lines = out.partition("what sets them apart, in standard deviations from the rest:\n")[
        2
    ].splitlines()
    assert [line.split(":")[0] for line in lines] == [f"  cluster {k}" for k in range(3)]
    # A third of the samples is 500 above the rest, whose deviation from that is 500 sqrt(2) / 3.
    assert lines[cluster].startswith(f"  cluster {cluster}: X2 column 3 +2.1, ")
    assert all(line.count(" column ") == 3 for line in lines)
    rows = ["TP53,MYC,KRAS,EGFR", *(",".join(map(str, row)) for row in marked.tolist())]
    Path("genes.csv").write_text("\n".join(rows))
    out = ok("fit", "genes.csv", "--clusters", 3, "--out", "labels.csv")
    assert out.count("genes KRAS +2.1, genes ") == 1 and " column " not in out


def test_options_reach_the_estimator(ok):
    arguments = ["--recipe", "revised", "--seed", 3, "--device", "cpu", "--checkpoint", "state"]
    ok("fit", "data.npz", "--clusters", 4, "--model", "kept", *arguments)
    model = dmac.load_model("kept")
    assert (model.n_clusters, model.recipe_.name) == (4, "revised")
    assert (model.random_state, model.device) == (3, "cpu")
    assert [path.name for path in Path("state").iterdir()] == ["checkpoint.safetensors"]
    out = ok("info", "kept")
    assert "a model of 60 samples, DMAC, recipe revised" in out
    assert "supports" not in out  # a network does not say it


SPOKEN_PYTHON = (
    r"(views|labels)_key|sklearn|=\s*(True|False)|a list of|n_clusters|random_state|Traceback"
)


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        ("info named.npz --labels-key False", 1, "False is no variable, .* reads none"),
        ("info a.h5 --labels-key False", 1, "False is no variable, file or column. There are rna"),
        (
            "info named.npz --views-key lost",
            1,
            "--views-key names 'lost', which is not there. There are rna",
        ),
        (
            "info named.npz --views-key x --views-key z",
            1,
            "--views-key names 'x', which is not there",
        ),
        ("info named.npz --labels-key rna", 1, "rna has several columns .* --no-labels reads none"),
        ("info square.mat", 1, "say --not-transposed (samples are rows) or --transposed"),
        (
            "info named.npz --no-labels --transposed",
            1,
            "view 2 (mirna) has 4 samples, view 1 (rna)",
        ),
        (
            "info tables --labels-key lost",
            1,
            "lost is no variable, file or column. There are a.csv",
        ),
        ("info named.npz --no-labels --labels-key y", 2, "--labels-key and --no-labels exclude"),
        ("fit named.npz --clusters 61 --out x.csv", 1, "--clusters is 61, but there are only 60"),
        (
            "fit named.npz --clusters 3 --out x.csv --recipe best",
            2,
            "'--recipe': 'best' is not one",
        ),
        (
            "fit named.npz --clusters 3 --out x.csv --checkpoint run",
            2,
            "--checkpoint keeps a training, and closed_form trains nothing",
        ),
        ("fit named.npz --clusters ten --out x.csv", 2, "'ten' is not a valid whole number"),
        ("fit named.npz --clusters 3 --out x.h5ad", 1, "a copy of DATA, which is no .h5ad file"),
        (
            "fit nan.npz --clusters 3 --out x.csv",
            1,
            "or drop the sample or the feature; if a sample lacks the view, the",
        ),
        ("fit nan.npy --clusters 3 --out x.csv", 1, "at row 3, column 0"),
        (
            "info nan.npy",
            1,
            "view 1 (nan) has NaN or infinite (or missing) entries, 1 in one block, the first",
        ),
        ("fit named.npz --clusters 3 --out x.xlsx", 1, "x.xlsx: --out writes .csv, .tsv, .h5ad"),
        (
            "fit tables --no-labels --clusters 3 --model tables",
            1,
            "tables is the folder of the dat",
        ),
        ("info words.csv", 1, "words, not numbers: PAM50 (k, ...); PAM50 may be c"),
        ("fit lost.mat --clusters 3 --out x.csv", 1, "Error: no file or folder lost.mat"),
        ("fit data.npz --clusters 3 --out no/x.csv", 1, "no/x.csv: there is no folder"),
        ("fit data.npz bad.npy --clusters 3 --out x.csv", 1, "view 3 (bad) has 5 samples"),
        ("fit bad.npy bad.csv --clusters 3 --out x.csv", 1, "line 2, column 1 holds 'no'"),
        (
            "info bad.npy labels.csv --labels-key labels",
            1,
            "labels.csv: it has 2 entries, and ther",
        ),
        ("predict lost data.npz", 1, "model.safetensors is missing"),
        ("fit named.npz --clusters 3 --out x.json", 1, "x.json: --out writes .csv, .tsv, .h5ad"),
        ("info mfeet", 1, "neither a known name .* did you mean 'mfeat'"),
        ("report named.npz --clusters 3 --out x.pdf", 1, "x.pdf: --out writes .html, and"),
        ("report a.h5 --out x.html", 2, "give --clusters or --model"),
        ("report a.h5 --clusters 4", 2, "Missing option '--out'"),
        ("report a.h5 --clusters 4 --model kept --out x.html", 2, "--clusters is that of the mod"),
        ("report a.h5 --model kept --seed 1 --out x.html", 2, "--seed is that of the model"),
        ("report a.h5 --model kept --out x.html --standardise", 2, "--standardise is that"),
        ("report a.h5 --clusters 4 --seeds 1 --out x.html", 2, "--seeds"),
        ("info data.npz --view g0", 2, "--view g0: say a name and its columns"),
        ("report a.h5 --clusters 61 --out x.html", 1, "--clusters is 61, but there are only 60"),
        ("fit - --clusters 3 --out x.csv", 2, "the standard input: say its format, as --format"),
        ("info named.npz named.npz", 1, "named.npz would be two views: name it once"),
        ("fit data.npz --clusters 3", 2, "nothing would be kept: give --out, --model or both"),
        ("fit data.npz --out x.csv", 2, "Missing option '--clusters'"),
        ("fit data.npz --clusters 1 --out x.csv", 2, "--clusters"),
        ("fit data.npz --clusters 3 --out x.csv --seed -1", 2, "Invalid value for '--seed'"),
        ("fit data.npz --clusters 3 --out x.csv --device meta", 1, "'meta' is not usable here"),
        ("fit --clusters 3 --out x.csv", 2, "Missing argument 'DATA...'"),
        ("cluster data.npz", 2, "No such command 'cluster'"),
    ],
)
def test_problems_have_an_exit_code_and_speak_of_the_options(arguments, code, message, call):
    rna, mirna = VIEWS
    gap = rna.copy()
    gap[3, 0] = np.nan
    np.savez("nan.npz", rna=gap, mirna=mirna)
    np.save("nan.npy", gap)
    np.savez("named.npz", rna=rna, mirna=mirna, labels=CLASSES)
    scipy.io.savemat("square.mat", {"X": rna[:6]})
    with h5py.File("a.h5", "w") as file:
        file["rna"] = rna
    Path("tables").mkdir()
    for name, x in (("a", rna), ("y", CLASSES), ("labels", CLASSES)):
        np.savetxt(f"tables/{name}.csv", x, delimiter=",", fmt="%.3f")
    np.save("bad.npy", np.ones((5, 2)))
    for name, text in {
        "bad": "1,2\nno,3\n",
        "words": "id,PAM50\n1,k\n2,k\n",
        "labels": "a\nb\n",
    }.items():
        Path(f"{name}.csv").write_text(text)
    found, _, err = call(*arguments.split())
    pattern = ".*".join(map(re.escape, message.split(".*")))
    assert found == code and re.search(pattern, err) and not re.search(SPOKEN_PYTHON, err), err
    assert not [*Path().glob("x.*")]


def test_samples_that_lack_views_are_told_and_clustered(fit, call, ok):
    names, has = [f"s{i}" for i in range(60)], np.ones((60, 2), bool)
    has[3:15, 0] = has[40:50, 1] = False
    Path("partial").mkdir()
    for kind, x, own in zip(("rna", "mirna"), VIEWS, has.T):
        pd.DataFrame(x, names)[own].to_csv(f"partial/{kind}.csv")
    out = fit("partial")
    for line in (
        "60 samples, 2 views",
        "view 1: 4 columns (mirna, from mirna.csv; 10 of 60 samples lack it)",
        "view 2: 6 columns (rna, from rna.csv; 12 of 60 samples lack it)",
    ):
        assert line in out
    found, labels = table("labels.csv")
    assert sorted(found) == sorted(names)
    views = [np.where(has[:, [a]], VIEWS[a], np.nan) for a in (1, 0)]
    rows = [int(name[1:]) for name in found]
    expected = dmac.AnchorGraphClustering(3, random_state=0).fit_predict([x[rows] for x in views])
    assert labels == by_size(expected).tolist()
    code, _, err = call("predict", "kept", "partial", "--out", "more.csv")
    assert code == 0 and err == "" and table("more.csv") == (found, labels)
    out = ok("info", "kept")
    assert "10 samples lack it" in out and "12 samples lack it" in out
    code, _, err = call("fit", "partial", "--clusters", 3, "--recipe", "revised", "--out", "x.csv")
    assert code == 1 and "samples lack views: only dmac.AnchorGraphClustering takes" in err


def test_a_model_knows_its_views_by_name(fit, call, ok):
    np.savez("named.npz", rna=VIEWS[0], mirna=VIEWS[1])
    fit("named.npz")
    assert [path.name for path in Path("kept").iterdir()] == ["model.safetensors"]
    assert "view 1: 6 columns (rna), supports the groups by" in ok("info", "kept")
    for name, x in zip(("rna", "mirna"), VIEWS):
        np.savetxt(f"{name}.csv", x, delimiter=",", fmt="%.17g")
    out = ok("predict", "kept", "mirna.csv", "rna.csv", "--out", "more.csv")
    assert "view 1: 6 columns (rna, from rna.csv)" in out
    assert table("more.csv") == table("labels.csv")
    code, _, err = call("predict", "kept", "rna.csv")
    assert code == 1 and "no view mirna; the model was fitted on rna, mirna. Of samples" in err
    np.save("a.npy", VIEWS[0]), np.save("b.npy", VIEWS[1])
    ok("predict", "kept", "a.npy", "b.npy", "--out", "more.csv")  # by places
    assert table("more.csv") == table("labels.csv")
    dmac.AnchorGraphClustering(3, random_state=0).fit(VIEWS).save("kept")  # its names are not known
    assert "view 1: 6 columns, supports" in ok("info", "kept")


def write_tables(folder, views):
    Path(folder).mkdir(exist_ok=True)
    for name, x in zip("ab", views):
        pd.DataFrame(x, [f"s{i}" for i in range(len(x))]).add_prefix("g").to_csv(
            f"{folder}/{name}.csv", index_label="id"
        )


def test_the_output_never_replaces_the_data_nor_becomes_a_view(call, ok):
    write_tables("two", VIEWS)
    before = Path("two/a.csv").read_text()
    for arguments in (["two/a.csv", "two/b.csv"], ["two"]):
        for command in (["fit", "--clusters", 3], ["report", "--clusters", 3]):
            code, _, err = call(*command, *arguments, "--out", "two/a.csv")
            assert code == 1 and "two/a.csv is a file of the data, which --out would replace" in err
    assert Path("two/a.csv").read_text() == before
    for _ in range(2):  # the second run does not read what the first has written
        out = ok("fit", "two", "--clusters", 3, "--out", "two/labels.csv")
        assert "60 samples, 2 views" in out and "known classes" not in out
    assert "left out: labels.csv, since of a folder" in out and "not what fit or predict has" in out
    Path("two/page.html").write_text("an older page")
    ok("report", "two", "--clusters", 3, "--seeds", 2, "--quiet", "--out", "two/page.html")


def test_a_model_knows_its_columns_by_name(fit, call, ok):
    write_tables("two", VIEWS)
    fit("two")
    write_tables("two", [VIEWS[0][:, ::-1], VIEWS[1]])
    ok("predict", "kept", "two")  # nothing says that these are other columns
    text = Path("two/a.csv").read_text()
    for header, words in (
        (
            "g5,g4,g3,g2,g1,g0",
            [
                "view 1 (a): The feature names should match",
                "same order as they were in fit.\nPut the columns into",
            ],
        ),
        ("h0,g2,g1,g3,g4,g5", ["unseen at fit time:\n- h0\n", "missing:\n- g0\nFit again"]),
    ):
        Path("two/a.csv").write_text(text.replace("g0,g1,g2,g3,g4,g5", header))
        code, _, err = call("predict", "kept", "two")
        assert code == 1 and all(part in err for part in words), err
    Path("two/a.csv").write_text(text.split("\n", 1)[1])
    with pytest.warns(
        UserWarning, match=r"the model was fitted with feature names, and view 1 \(a\)"
    ):
        ok("predict", "kept", "two")


def test_known_classes_in_a_folder_are_told_and_not_clustered(ok):
    Path("noise").mkdir()
    for a in ("b", "a"):
        np.savetxt(f"noise/{a}.csv", RNG.normal(size=(60, 5)), delimiter=",")
    Path("noise/subtype.csv").write_text("\n".join(map(str, CLASSES)))
    Path("noise/clinical.csv").write_text("\n".join(f"{y},x" for y in CLASSES))
    out = ok("fit", "noise", "--clusters", 3, "--out", "labels.csv")
    for line in (
        "60 samples, 2 views\n  view 1: 5 columns (a, from a.csv)",
        "3 known classes in subtype.csv (never",
        "left out: clinical.csv, since its name is that of",
    ):
        assert line in out
    np.savez("two.npz", rna=VIEWS[0], y=CLASSES, labels=(CLASSES + 1) % 2)
    assert "known classes: --labels-key names them, and --no-labels leaves" in ok("info", "two.npz")


def test_a_fault_of_the_program_asks_for_a_report(call, monkeypatch):
    monkeypatch.setattr(dmac.views, "read", lambda *a, **k: 1 / 0)
    code, _, err = call("info", "data.npz")
    assert code == command_line.FAULT and "report" in err
    assert "ZeroDivisionError: division by zero" in err
    for error in (ZeroDivisionError, OSError):
        monkeypatch.setattr(dmac.views, "read", Mock(side_effect=error))
        with pytest.raises(error):
            command_line.main(["--debug", "info", "data.npz"])


def test_a_table_is_written_whole_or_not_at_all(call, monkeypatch):
    Path("labels.csv").write_text("before")
    monkeypatch.setattr(command_line.os, "replace", Mock(side_effect=OSError("no space")))
    code, _, err = call("fit", "data.npz", "--clusters", 3, "--out", "labels.csv")
    assert code == 1 and "no space" in err
    assert Path("labels.csv").read_text() == "before"
    assert sorted(path.name for path in Path().iterdir()) == ["data.npz", "labels.csv"]


def test_a_folder_without_permission_is_refused_before_the_fit(call, monkeypatch):
    Path("locked").mkdir()
    monkeypatch.setattr(command_line.os, "access", lambda folder, mode: folder.name != "locked")
    code, _, err = call("fit", "lost.npz", "--clusters", 3, "--out", "locked/labels.csv")
    assert code == 1 and "locked/labels.csv: the folder" in err and "cannot be written to" in err


def test_help_is_for_readers_and_takes_no_torch(ok):
    assert "Commands:" in ok("--help")
    for name in ("fit", "predict", "info", "report"):
        out = ok(name, "--help")
        assert f"python -m dmac {name}" in out
        assert name == "info" or ".h5mu" in out
    code = """
import atexit, runpy, sys
atexit.register(lambda: print("torch" in sys.modules))
sys.argv = ["dmac", "--version"]
runpy.run_module("dmac", run_name="__main__")
"""
    assert python("-c", code) == f"dmac, version {dmac.__version__}\nFalse\n"


def test_the_embedded_data_have_a_name_and_a_number_of_clusters(ok):
    out = ok("info", "MFEAT")
    assert "2000 samples, 6 views" in out and "10 known classes in " in out
    out = ok("suggest", "data.npz", "--to", 8)
    assert "3 clusters, of 2 to 8: a hint; go on with --clusters 3" in out
    found = dmac.suggest_n_clusters(VIEWS, range(2, 9))
    steps = [line.split()[:3] for line in out.splitlines() if "##" in line]
    assert [int(c) for c, _, _ in steps] == list(range(1, 9))
    np.testing.assert_allclose([float(x) for _, x, _ in steps], found.eigenvalues[:8], atol=1e-3)
    assert "  3 " in next(line for line in out.splitlines() if "the largest step" in line)
    assert all(f"{name} {found.best(name)}" in out for name in found.scores)
    assert "of 4 to 8" in ok("suggest", "data.npz", "--from", 4, "--to", 8)


@pytest.fixture
def anndata():
    """The package, which may write what pandas 3 takes for texts."""
    found = pytest.importorskip("anndata", reason="needs the extra: pip install 'dmac[cells]'")
    with found.settings.override(allow_write_nullable_strings=True):
        yield found


@pytest.mark.filterwarnings("ignore:Observation names are not unique")
def test_clusters_are_written_into_a_copy_of_the_cells(anndata, ok):
    names = [f"cell {i % 59}" for i in range(60)]  # the first and the last share theirs
    cells = anndata.AnnData(np.hstack(VIEWS))
    cells.obs_names, cells.obs["depth"] = names, CLASSES + 0.5
    cells.write_h5ad("cells.h5ad")
    before = Path("cells.h5ad").read_bytes()
    assert "out.h5ad: 60 samples" in ok("fit", "cells.h5ad", "--clusters", 3, "--out", "out.h5ad")
    written = anndata.read_h5ad("out.h5ad")
    assert written.obs_names.tolist() == names and "depth" in written.obs
    assert dmac.scores(CLASSES, written.obs["dmac"].astype(int))["acc"] == 1
    assert written.obs["dmac_confidence"].between(0, 1).all()
    assert Path("cells.h5ad").read_bytes() == before


def test_clusters_are_numbered_by_size_in_all_that_is_written(fit, ok):
    rows = np.flatnonzero((CLASSES != 0) | (np.arange(60) < 15))[::-1]
    rows = rows[np.argsort(CLASSES[rows] != 0, kind="stable")]  # the fewest samples first
    views = [x[rows] for x in VIEWS]
    np.savez("data.npz", X1=views[0], X2=views[1])
    model = dmac.AnchorGraphClustering(3, random_state=0).fit(views)
    model.save("other")
    expected = by_size(model.labels_)
    assert (np.bincount(expected) == [20, 20, 5]).all()
    out = fit("data.npz")
    assert "cluster 0: 20 samples\n  cluster 1: 20 samples\n  cluster 2: 5 s" in out
    found = table("labels.csv")
    assert found[1] == expected.tolist()
    kept = dmac.load_model("kept")
    np.testing.assert_array_equal(kept.labels_, expected)  # the model that is kept says the same
    np.testing.assert_allclose(kept.predict_proba(views), kept.membership_, atol=1e-6)
    for name in ("kept", "other"):
        ok("predict", name, "data.npz", "--out", "more.csv")
        assert table("more.csv") == found
        ok("report", "data.npz", "--model", name, "--seeds", 2, "--out", "page.html")
        (text,) = re.findall(
            'clusters.csv" href="data:text/csv;charset=utf-8,([^"]*)', Path("page.html").read_text()
        )
        written = [line.split(",") for line in urllib.parse.unquote(text).split()]
        assert [int(cluster) for _, cluster, _ in written[1:]] == found[1]


@pytest.mark.filterwarnings("ignore:the rows of ")
def test_zeros_that_were_measured_are_values(fit, ok):
    drawn = np.random.default_rng(0).poisson(4, (60, 7)) + 1  # whatever tests were before
    counts = np.where(CLASSES[:, None] == 0, 0, drawn).astype(float)
    np.savez("data.npz", X1=VIEWS[0], X2=counts)
    assert "20 of 60 samples lack it" in ok("info", "data.npz")
    assert "lack it" not in ok("info", "data.npz", "--all-present")
    fit("data.npz", "--all-present")
    ones = np.ones((60, 2), bool)
    model = dmac.AnchorGraphClustering(3, random_state=0).fit([VIEWS[0], counts], present=ones)
    assert table("labels.csv")[1] == by_size(model.labels_).tolist()
    ok("predict", "kept", "data.npz", "--all-present", "--out", "more.csv")
    assert table("more.csv") == table("labels.csv")


def test_columns_are_brought_to_one_unit_and_the_model_knows_it(fit, ok):
    units = 10.0 ** np.arange(6)
    x = 100 * units + VIEWS[0] * units
    np.savez("data.npz", X1=x, X2=VIEWS[1])
    fit("data.npz", "--standardise")
    assert dmac.load_model("kept").recipe_.columns == "standardised"
    ok("predict", "kept", "data.npz", "--out", "more.csv")
    assert table("more.csv") == table("labels.csv")
    np.savez("data.npz", X1=x[:3], X2=VIEWS[1][:3])  # brought to one unit by those of the fit
    ok("predict", "kept", "data.npz", "--out", "more.csv")
    assert table("more.csv")[1] == table("labels.csv")[1][:3]


def test_files_may_be_the_standard_input_and_output(call, ok, monkeypatch):
    text = pd.DataFrame(VIEWS[0], [f"s{i}" for i in range(60)]).add_prefix("g").to_csv()
    Path("x.csv").write_text(text)
    ok("fit", "x.csv", "--clusters", 3, "--out", "labels.csv")
    written = Path("labels.csv").read_text()
    ok("fit", "x.csv", "--clusters", 3, "--out", "labels.tsv")
    assert Path("labels.tsv").read_text() == written.replace(",", "\t")
    for form, sign in (("csv", ","), ("tsv", "\t")):
        given = io.TextIOWrapper(io.BytesIO(text.replace(",", sign).encode()))
        monkeypatch.setattr("sys.stdin", given)
        said = call("fit", "-", "--format", form, "--clusters", 3, "--out", "-", "--quiet")
        assert said == (0, written.replace(",", sign), "")


def test_nothing_is_said_where_that_is_asked_for(fit, ok):
    assert fit("data.npz", "--quiet") == ""
    assert ok("predict", "kept", "data.npz", "--out", "more.csv", "--quiet") == ""
    assert table("more.csv") == table("labels.csv")


PLANTED = pd.DataFrame(np.hstack(VIEWS), [f"s{i}" for i in range(60)]).rename(columns="g{}".format)


def test_columns_are_grouped_left_out_and_filled_and_codes_are_missing(ok, call):
    PLANTED.assign(site="a").to_csv("x.csv")
    both = ("--view", "first=g0,g1,g[2-5]", "--view", "second=g6,g7,g8,g9")
    out = ok("fit", "x.csv", "--clusters", 3, "--out", "labels.csv", *both)
    assert "view 1: 6 columns (first)" in out and "view 2: 4 columns (second)" in out
    model = dmac.AnchorGraphClustering(3, random_state=0).fit(VIEWS)
    assert table("labels.csv")[1] == by_size(model.labels_).tolist()
    coded = PLANTED.mask(np.arange(60)[:, None] + 0 * PLANTED < 5, -999)
    coded.iloc[:, :6].to_csv("a.csv"), PLANTED.iloc[:, 6:].to_csv("b.csv")
    with pytest.warns(UserWarning, match="has the number -999 in 30 cells of 6 col") as said:
        ok("info", "a.csv", "b.csv")
    assert "say --missing -999 as the files" in command_line._spoken(str(said[0].message))
    out = ok("info", "a.csv", "b.csv", "--missing", "-999")
    assert "5 of 60 samples lack it" in out
    coded.iloc[7, 2] = -999
    coded.assign(site="a").iloc[:, [*range(6), -1]].to_csv("a.csv")
    code, _, err = call("info", "a.csv", "b.csv", "--missing", "-999")
    assert code == 1 and "columns of words, not numbers: site" in err
    assert "and 1 empty cells in g2, which --fill 'median' fills" in err and "--drop 'site'" in err
    out = ok("info", "a.csv", "b.csv", "--missing", "-999", "--drop", "site", "--fill", "median")
    assert "5 of 60 samples lack it" in out and "left out: what --drop names site" in out


def test_how_it_was_made_is_kept_told_and_makes_it_again(ok):
    PLANTED.to_csv("x.csv")
    given = ["x.csv", "--clusters", 3, "--standardise", "--missing", "-99", "--all-present"]
    ok("fit", *given, "--model", "kept", "--out", "labels.csv")
    out = ok("info", "kept")
    assert "other than in that recipe: columns standardised" in out
    command = "python -m dmac fit x.csv --clusters 3 --standardise --missing -99 --all-present"
    assert command in out
    digest = hashlib.sha256(Path("x.csv").read_bytes()).hexdigest()
    assert f"of x.csv, SHA-256 {digest}" in out
    for options in (["--model", "kept", "--all-present", "--missing", "-99"], given[1:]):
        ok("report", "x.csv", *options, "--seeds", 2, "--out", "page.html")
        page = BeautifulSoup(Path("page.html").read_text(), "html.parser")
        methods, lines = page.find(id="methods").get_text(), [x.get_text() for x in page("pre")]
        for words in (
            "columns of each view were standardised",
            "codes -99 were taken as missing",
            "Rows of zeros were measured",
        ):
            assert words in " ".join(methods.split())
        assert digest in page.get_text() and f"dmac {dmac.__version__}" in page.get_text()
        assert lines[0].startswith("python -m dmac ") and "--standardise" in lines[0]
        *before, last = lines[1].splitlines()
        names = {}
        exec("\n".join([*before, f"model = {last}"]), names)
        labels = by_size(names["model"].labels_).tolist()
        assert labels == table("labels.csv")[1]


def test_clusters_are_shown_by_what_is_known_of_the_samples(ok):
    kinds = np.array(["red", "green", "blue"])[CLASSES]
    PLANTED.to_csv("x.csv")
    clinical = pd.DataFrame({"age": 40.5 + np.arange(60), "sex": np.where(CLASSES, "f", "m")})
    clinical.assign(subtype=kinds).set_index(PLANTED.index).iloc[::-1].to_csv("clinical.csv")
    ok("report", "x.csv", "clinical.csv", "--clusters", 3, "--seeds", 2, "--out", "page.html")
    page = BeautifulSoup(Path("page.html").read_text(), "html.parser")
    rows = {row.td.get_text(): row for row in page("tr") if row.td}
    model = dmac.AnchorGraphClustering(3, random_state=0).fit(PLANTED)
    labels = by_size(model.labels_)
    for kind in np.unique(kinds):
        cells = [cell.get_text() for cell in rows[kind]("td")[1:]]
        mine = [int(((kinds == kind) & (labels == k)).sum()) for k in range(3)]
        assert [int(cell.split()[0]) for cell in cells] == mine
    ages = [float(cell.get_text()) for cell in rows["age"]("td")[1:]]
    np.testing.assert_allclose(
        ages, [np.median(40.5 + np.flatnonzero(labels == k)) for k in range(3)], rtol=0.01
    )
    assert [cell.get_text().split()[0] for cell in rows["m"]("td")[1:]].count("20") == 1


def test_another_seed_that_gives_other_groups_is_told(ok):
    np.savez("noise.npz", X1=np.random.default_rng(0).normal(size=(60, 20)))
    said = "another seed gives other groups"
    assert said in ok("fit", "noise.npz", "--clusters", 8, "--out", "x.csv")
    assert said not in ok("fit", "data.npz", "--clusters", 3, "--out", "x.csv")


def test_how_many_clusters_can_be_tried_is_told(ok):
    out = ok("suggest", "data.npz", "--to", 18)
    assert "60 samples are enough for up to 15 clusters" in out and "of 2 to 15: a hint" in out
    assert "are enough" not in ok("suggest", "data.npz", "--to", 8)


@pytest.mark.filterwarnings("ignore")
def test_layers_and_raw_are_views_by_their_names(anndata, ok):
    cells = anndata.AnnData(np.hstack(VIEWS))
    cells.raw, cells.layers["counts"] = cells.copy(), np.round(abs(cells.X))
    cells.write_h5ad("cells.h5ad"), cells.write_h5ad("more.h5ad")
    assert "left out: layers.counts" in ok("info", "cells.h5ad")
    out = ok("info", "cells.h5ad", "--views-key", "counts", "--views-key", "raw")
    assert "view 1: 10 columns (layers.counts)" in out and "view 2: 10 columns (raw)" in out
    assert "(X of more.h5ad, from more.h5ad)" in ok("info", "cells.h5ad", "more.h5ad")


def test_an_output_that_cannot_be_made_is_refused_before_the_fit(anndata, call, monkeypatch):
    anndata.AnnData(np.hstack(VIEWS)).write_h5ad("cells.h5ad")
    refuse = Mock(side_effect=ValueError("no such array can be written"))
    monkeypatch.setattr(anndata.AnnData, "write_h5ad", refuse)
    monkeypatch.setattr(dmac.AnchorGraphClustering, "fit", lambda *args: 1 / 0)
    code, _, err = call("fit", "cells.h5ad", "--clusters", 3, "--out", "out.h5ad")
    assert code == 1 and "no such array can be written" in err


def test_a_warning_begins_a_line_of_its_own_below_a_bar():
    assert command_line._in_a_line("text") == "Warning: text\n"
    with dmac.compute.progress_bar.shown(True, 1, {}):
        assert command_line._in_a_line("text") == "\nWarning: text\n"
