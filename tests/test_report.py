"""The page about a fit: it stands alone, its numbers are the estimator's, its control can fail."""

import collections
import io
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from urllib.parse import unquote

import chromium
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from browser import faint, look
from bs4 import BeautifulSoup

import dmac
from dmac.data.names import NamedView
from dmac.report import page

RNG = np.random.default_rng(0)
CLASSES = np.arange(120) % 4
VIEWS = [4 * RNG.normal(size=(4, d))[CLASSES] + RNG.normal(size=(120, d)) for d in (12, 9)]
COLUMNS = [f"{name} column {j + 1}" for name, d in (("rna", 12), ("protein", 9)) for j in range(d)]
NOISE = [RNG.normal(size=x.shape) for x in VIEWS]


class Reader:
    """The rows of the tables of a page, its text and its tags, all of which must be closed."""

    def __init__(self, told):
        self.told = told
        page = BeautifulSoup(told, "html.parser")
        page.style.extract()
        self.rows = [[cell.get_text() for cell in row(["td", "th"])] for row in page("tr")]
        self.text = " ".join(page.get_text().split())
        self.tags, self.pictures = page(True), page("svg")
        for tag in {one.name for one in self.tags} - {"meta", "br"}:
            ends = told.count(f"</{tag}>") + len(re.findall(f"<{tag}( [^>]*)?/>", told))
            assert ends == len(re.findall(f"<{tag}[ >]", told)), tag

    def row(self, first):
        (found,) = [row[1:] for row in self.rows if row[0].startswith(first)]
        return [cell.replace("−", "-") for cell in found]


def named(views, names, features=(None, None), samples=None):
    """Views as files have them."""
    return [NamedView(x, name, samples, of) for x, name, of in zip(views, names, features)]


def report(views=VIEWS, c=4, **more):
    model = dmac.AnchorGraphClustering(c, random_state=0)
    return model, Reader(page(model, views, seeds=more.pop("seeds", 2), **more))


@pytest.fixture(scope="module")
def plain():
    """A model and its page, without names and classes."""
    return report()


def repeated(views):
    """Of three fits the mean ARI, that of three halves, and the mean support, as they are told."""
    models = [dmac.AnchorGraphClustering(4, random_state=seed).fit(views) for seed in range(3)]
    rows = [np.sort(np.random.default_rng(seed).permutation(120)[:60]) for seed in range(3)]
    halves = [
        dmac.AnchorGraphClustering(4, random_state=seed).fit([x[half] for x in views])
        for seed, half in enumerate(rows)
    ]
    labels = [model.labels_ for model in models], [model.predict(views) for model in halves]
    aris = [[dmac.scores(*two)["ari"] for two in combinations(one, 2)] for one in labels]
    return [f"{np.mean(x):.2f}" for x in (*aris, [model.support_of_others_ for model in models])]


def test_numbers_are_those_of_the_estimator():
    model, found = report(named(VIEWS, ["rna", "protein"]), classes=CLASSES, seeds=3)
    assert (
        model.labels_.tolist()
        == dmac.AnchorGraphClustering(4, random_state=0).fit_predict(VIEWS).tolist()
    )
    both = zip(model.view_agreement_, model.support_of_others_)
    for name, width, numbers in zip(("rna", "protein"), (12, 9), both):
        sizes, supports = [row[1:] for row in found.rows if row[0] == name]
        assert sizes == [str(width), "0"] and supports == [f"{x:.2f}" for x in numbers]
    _, gaps = dmac.separation.standardized_differences(VIEWS, model.labels_)
    for k, size in enumerate(np.bincount(model.labels_)):
        row = np.hstack(gaps)[k]
        largest = [f"{COLUMNS[j]} {row[j]:+.2f}" for j in np.argsort(-abs(row))[:5]]
        told = next(row[1:] for row in found.rows if row[0] == str(k))
        assert [text.replace("−", "-") for text in told] == [str(size), " ".join(largest)]
    both = [repeated(VIEWS), repeated(dmac.diagnostics.gaussian_like(VIEWS, seed=0))]
    for what, *numbers in zip(("3 seeds", "3 random halves", "support"), *both):
        assert found.row(f"mean ARI of {what}".replace("ARI of s", "s")) == numbers
    suggested = dmac.suggest_n_clusters(VIEWS, range(2, 21))
    gaps = dict(zip(suggested.candidates, suggested.scores["gap"]))
    for words in (
        f"is after {suggested.n_clusters} eigenvalues ({gaps[suggested.n_clusters]:.3f})",
        f"4 clusters were asked for, where it is {gaps[4]:.3f}",
    ):
        assert words in found.text
    np.testing.assert_allclose(-np.diff(suggested.eigenvalues)[1:20], suggested.scores["gap"])
    assert found.row("ACC") == [f"{100 * dmac.scores(CLASSES, model.labels_)['acc']:.1f} %"]
    methods = found.text.partition("methods section")[2]
    for words in (
        "120 samples were clustered into 4 groups with AnchorGraphClustering (recipe CLOSED_FORM)",
        f"package dmac {dmac.__version__} [1]",
        "rna (12 features), protein (9 features)",
        f"its {model.recipe_.n_neighbors} nearest of {model.n_anchors_} anchors",
        f"in {model.recipe_.anchor_sets} sets",
        "random seed 0",
        f"between two of 3 fits was {both[0][0]} with other seeds",
    ):
        assert words in methods


def test_the_spectrum_is_drawn_to_scale(plain):
    svg, _ = plain[1].pictures
    found, control = (
        dmac.suggest_n_clusters(x, range(2, 21))
        for x in (VIEWS, dmac.diagnostics.gaussian_like(VIEWS, seed=0))
    )
    low = min(found.eigenvalues.min(), control.eigenvalues.min())
    for group, one in zip(svg("g"), (control, found)):  # the data lie on top
        x, y = np.array([[dot["cx"], dot["cy"]] for dot in group("circle")], float).T
        assert len(x) == len(one.eigenvalues) and np.ptp(np.diff(x)) < 0.3
        np.testing.assert_allclose(1 - (y - 16) / 200 * (1 - low), one.eigenvalues, atol=1e-3)
    numbers = {float(text["x"]): text.text for text in svg("text", {"text-anchor": "middle"})}
    assert numbers == {at: str(j + 1) for j, at in enumerate(x)}
    lines = [float(path["d"].split()[1].split("H")[0]) for path in svg("path")[1:]]
    values = [float(text.text) for text in svg("text", {"text-anchor": "end"})]
    np.testing.assert_allclose(1 - (np.array(lines) - 16) / 200 * (1 - low), values, atol=0.006)
    (gap,) = (float(p["d"][1:].split()[0]) for p in svg("path", {"stroke-dasharray": True}))
    assert gap == pytest.approx(x[found.n_clusters - 1 :][:2].mean(), abs=0.1)


def test_the_map_has_a_dot_a_sample_in_the_colour_of_its_cluster(plain):
    model, found = plain
    paths = found.pictures[1]("path")
    dots = [re.findall(r"M([\d.]+) ([\d.]+)h0", path["d"]) for path in paths]
    drawn = collections.Counter(path["stroke"] for path, one in zip(paths, dots) for _ in one)
    assert list(drawn.values()) == np.bincount(model.labels_).tolist()
    darker = sum(len(one) for path, one in zip(paths, dots) if path["stroke-opacity"] == "1.0")
    assert darker == (model.confidence_ >= 0.9).sum()
    colours = [
        tag["style"].removeprefix("background:") for tag in found.tags if "style" in tag.attrs
    ]
    assert list(drawn) == [x for x in colours if x.startswith("hsl")]
    flat = np.concatenate([np.array(one, float) for one in dots])
    assert flat.min(0).tolist() == [20, 20] and flat.max(0).tolist() == [620, 440]
    assert [text.text for text in found.pictures[1]("text")] == [*"0123"]


def test_the_least_sure_samples_are_listed_with_the_cluster_that_is_next(plain):
    model, found = plain
    listed = [row for row in found.rows if len(row) == 4 and "(" in row[1]]
    for (name, own, other, _), sure in zip(listed, np.sort(model.confidence_)[:10], strict=True):
        i, cluster, following = int(name) - 1, int(own.split()[0]), int(other.split()[0])
        shares = np.delete(model.membership_[i], cluster)
        assert model.labels_[i] == cluster != following
        told = [float(x.split("(")[1][:-1]) for x in (own, other)]
        assert told == pytest.approx([sure, shares.max()], abs=0.006)


@pytest.mark.parametrize(
    ("data", "control", "says"),
    [
        (0.5, 0.39, "agree clearly more than those of the control"),
        (0.5, 0.41, "Halves of the control agree about as well"),
        (np.nan, np.nan, "too few samples to fit on halves"),
    ],
)
def test_news_is_what_the_control_has_not(data, control, says, monkeypatch):
    aris = iter([1.0, 1.0, data, control])
    monkeypatch.setattr(dmac.report, "_mean_ari", lambda labels: next(aris))
    assert says in report()[1].text


@pytest.mark.parametrize(
    ("views", "least", "most", "of_control", "says"),
    [
        (VIEWS, 0.95, 1.0, 0.6, "agree clearly more than those of the control"),
        (NOISE, -1.0, 0.4, 0.4, "Halves of the control agree about as well"),
    ],
    ids=["planted", "noise"],
)
def test_planted_clusters_are_stable_and_the_control_is_not(views, least, most, of_control, says):
    _, found = report(views, seeds=4)
    data, control = map(float, found.row("mean ARI of 4 random halves"))
    assert least < data <= most and control < of_control
    assert says in found.text


def test_a_page_needs_nothing_else_and_is_the_same_twice(plain):
    model, found = plain
    told = found.told
    assert page(model, VIEWS, seeds=2) == told  # fitted before, or here
    means, link = (tag["href"] for tag in found.tags if "href" in tag.attrs)
    assert means.startswith("data:text/csv;charset=utf-8,view%2Cfeature%2Ccluster%200")
    assert not {"src", "xlink:href"} & {name for tag in found.tags for name in tag.attrs}
    assert not re.search(r"http|url\(|@import|<script|<link", told)
    assert link.startswith("data:text/csv;charset=utf-8,")
    assert told.startswith("<!doctype html>") and told.count("<svg") == 2
    assert "prefers-color-scheme: dark" in told and "@media print" in told
    assert "gave no warning" in told
    assert "Beside the known classes" not in told and ", drawn" not in told
    assert page(dmac.AnchorGraphClustering(4, random_state=1), VIEWS, seeds=2) != told


def test_a_browser_finds_nothing_wrong(browser, tmp_path):
    names = [[f"a rather long name of gene number {j}" for j in range(12)], None]
    _, found = report(named(VIEWS, ["", ""], names), classes=CLASSES)
    (tmp_path / "report.html").write_text(found.told, encoding="utf-8")
    with chromium.served(tmp_path) as root:
        for width in (390, 1300):
            assert look(browser.new_page(), root, "report.html", width).problems == []
        for scheme in ("light", "dark"):
            shown = browser.new_page(color_scheme=scheme)
            assert faint(shown, f"{root}report.html") == []
            paper = shown.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_names_are_text():
    odd = ["<b>&", '"><script>alert(1)</script>$c']
    _, found = report(named(VIEWS, odd, [[f"<i>{j}&amp;$n" for j in range(12)], None]))
    assert "<script" not in found.told and "<i>" not in found.told
    assert [row[0] for row in found.rows].count(odd[0]) == 2
    assert f"{odd[0]} (12 features), {odd[1]} (9 features)" in found.text
    assert re.search(r"<b>& <i>\d+&amp;\$n [+−]\d", found.text)


def test_the_cluster_of_each_sample_is_listed_and_can_be_saved(plain, monkeypatch):
    index, counted = [f'patient "{i}", <{i}>' for i in range(120)], [f"{i}" for i in range(1, 121)]
    for (model, found), expected in (
        (report([pd.DataFrame(x, index) for x in VIEWS]), index),
        (report(named(VIEWS, ["", ""], samples=index)), index),
        (report([pd.DataFrame(x) for x in VIEWS]), counted),
        (plain, counted),
    ):
        listed = [tag.get_text().split(maxsplit=1) for tag in found.tags if tag.name == "li"]
        wanted = [*zip(model.labels_.tolist(), expected)]
        shares = [name.rpartition(" ") for _, name in listed]
        assert [(int(k), name) for (k, _), (name, _, _) in zip(listed, shares)] == wanted
        assert [share for *_, share in shares] == [f"{x:.2f}" for x in model.confidence_]
        (_, link) = (tag["href"] for tag in found.tags if "href" in tag.attrs)
        table = pd.read_csv(io.StringIO(unquote(link.partition(",")[2])), dtype={"sample": str})
        assert [*zip(table["cluster"], table["sample"])] == wanted
        np.testing.assert_allclose(table["confidence"], model.confidence_, atol=1e-4)
        assert "column 1" in found.text  # names of columns that only count are from 1
    monkeypatch.setattr(dmac.report, "_LISTED", 119)
    assert "python -m dmac fit writes with --out" in report()[1].text


def test_means_of_features_are_in_their_units(plain):
    model, found = plain
    link = next(tag["href"] for tag in found.tags if tag.get("download") == "means.csv")
    table = pd.read_csv(io.StringIO(unquote(link.partition(",")[2])))
    values = dict(zip(COLUMNS, np.hstack(VIEWS).T))
    shown = {row[0]: row[1:] for row in found.rows if len(row) == 5 and row[0][:4] == "view"}
    assert len(table) == len(shown) > 4
    for view, name, *means in table.itertuples(index=False):
        column = values[f"{'rna' if view == 'view 1' else 'protein'} {name}"]
        expected = [column[model.labels_ == k].mean() for k in range(4)]
        np.testing.assert_allclose(means, expected)
        told = [float(x.replace("−", "-")) for x in shown[f"{view} {name}"]]
        np.testing.assert_allclose(told, expected, rtol=0.01)


def test_means_have_the_digits_that_tell_them_apart():
    assert dmac.report._digits([49.201, 49.234, 49.3]) == 5
    assert dmac.report._digits([1234.5, -20.25, 3.0]) == dmac.report._digits([7.5, 7.5]) == 3
    assert dmac.report._digits([np.nan, 2.0, 1.0]) == 3


def test_of_a_table_of_some_samples_every_cluster_has_a_cell(plain):
    model, _ = plain
    rows = np.flatnonzero(model.labels_ == 1)
    sex = pd.DataFrame({"sex": ["xx", *["xy"] * (len(rows) - 1)]}, [str(i + 1) for i in rows])
    told = Reader(page(model, VIEWS, seeds=2, about=sex))
    assert told.row("xx")[0] == "0" and told.row("xx")[1].startswith("1 (")
    assert told.row("xy")[2:] == ["0", "0"]


def test_settings_that_differ_from_the_recipe_are_told_and_the_lines_make_the_fit_again():
    recipe = replace(dmac.recipes.CLOSED_FORM, view_weight=(2.0, 1.0), filter="cut", vote_rounds=0)
    model = dmac.AnchorGraphClustering(4, recipe, random_state=3)
    found = Reader(page(model, VIEWS, seeds=2))
    changed = dmac.report.changes(model.recipe_)
    assert {"view_weight", "filter", "vote_rounds"} <= set(changed)
    for name, value in changed.items():
        assert found.row(name) == [str(value)]
        assert f"{name} was {value}" in found.text
    lines = dmac.report.lines_of_python(model, {}).replace("[...]", "VIEWS").splitlines()
    names = {"VIEWS": VIEWS}
    exec("\n".join([*lines[:-1], f"again = {lines[-1]}"]), names)
    np.testing.assert_array_equal(names["again"].labels_, model.labels_)


def test_the_word_of_another_seed_is_there_where_fits_differ(plain):
    said = "Another seed gives other groups"
    assert said not in plain[1].text
    assert said in report(NOISE, c=9)[1].text


@pytest.mark.filterwarnings("ignore")
def test_samples_that_lack_views_are_counted():
    views = [x.copy() for x in VIEWS]
    views[0][:40], views[1][50:110] = np.nan, np.nan
    model, found = report(named(views, ["rna", "protein"]), classes=CLASSES)
    assert next(row[1:] for row in found.rows if row[0] == "rna") == ["12", "40 (33 %)"]
    assert next(row[1:] for row in found.rows if row[0] == "protein") == ["9", "60 (50 %)"]
    assert "Of the samples 40 lack rna, 60 lack protein." in found.text
    assert " of 60 samples" not in found.text  # halves have fewer samples with all views
    assert found.row("ACC") == [f"{100 * dmac.scores(CLASSES, model.labels_)['acc']:.1f} %"]


def test_warnings_are_on_the_page_and_given():
    scanner = np.eye(4)[RNG.integers(4, size=120)]
    with pytest.warns(UserWarning, match="view 3 .scanner. decides alone"):
        _, found = report(named([*NOISE, scanner], ["a", "b", "scanner"], [None] * 3))
    assert "The fits warned:" in found.text and "view 3 (scanner) decides alone" in found.text


@pytest.mark.filterwarnings("ignore")  # of the single view
def test_networks_frames_sparse_and_single_views(plain, on_disk):
    short = dmac.recipes.NetworkRecipe(name="<short>", pretrain_epochs=1, epochs=2)
    with pytest.warns(dmac.estimators.CollapseWarning) as said:  # of each fit, and it is told once
        told = page(dmac.DMAC(3, short, random_state=None), VIEWS, seeds=2)
    assert len(said) == 1 and told.count("the embedding has collapsed") == 1
    assert "trained a network for 2 epochs" in told and "&lt;SHORT&gt;" in told
    assert "does not say it" in told and "mean support" not in told
    frame = pd.DataFrame(abs(VIEWS[0]), columns=[f"gene {j}" for j in range(12)])
    one = Reader(page(dmac.AnchorGraphClustering(4, random_state=0), frame, seeds=2))
    assert "view 1 gene " in one.text and any(row[-1] == "–" for row in one.rows)
    model, _ = report([scipy.sparse.csr_matrix(VIEWS[0]), on_disk("npy", VIEWS)[1]])
    assert model.labels_.tolist() == plain[0].labels_.tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "n, lacking",
    [
        (11, ["to fit on halves", "for a spectrum"]),
        (12, ["to fit on halves"]),
        (23, ["to fit on halves"]),
        (24, []),
    ],
)
def test_few_samples_have_no_spectrum_and_no_halves(n, lacking):
    _, found = report([x[:n] for x in VIEWS], c=3)
    assert re.findall("too few samples (for a spectrum|to fit on halves)", found.text) == lacking


@pytest.mark.parametrize(
    "most, dots, said", [(60, 50, ["On 60 samples, ", "(50 of 120, "]), (120, 120, [])]
)
def test_of_many_samples_some_are_drawn(most, dots, said, monkeypatch):
    monkeypatch.setattr(dmac.report, "_SAMPLES", most)
    monkeypatch.setattr(dmac.report, "_POINTS", dots)
    _, found = report()
    assert re.findall(r"(On 60 samples, |\(50 of 120, |)drawn", found.text) == said
    assert sum(path["d"].count("h0") for path in found.pictures[1]("path")) == dots


def test_what_is_refused(plain):
    model, _ = plain
    hidden, has = [x.copy() for x in VIEWS], np.ones((120, 2), bool)
    hidden[0][:30], has[:30, 0] = 1e9, False
    partial = dmac.AnchorGraphClustering(4, random_state=0).fit(hidden, present=has)
    for given, views, more, message in (
        (model, [x[:60] for x in VIEWS], {}, "was fitted on 120 samples, and there are 60"),
        (model, [x[RNG.permutation(120)] for x in VIEWS], {}, "not the samples of the fit, or not"),
        (model, VIEWS, {"classes": [1, 2]}, "2"),
        (model, VIEWS, {"seeds": 1}, "seeds is 1: it must be an integer of at least 2"),
        (model, VIEWS, {"seeds": 2.5}, "seeds is 2.5: it must be an integer"),
        (
            dmac.peers.GMC(4),
            VIEWS,
            {},
            "is a GMC: pass a dmac.AnchorGraphClustering or a dmac.DMAC",
        ),
        (partial, hidden, {}, "in the fit 30, 0 samples lacked the views, .* NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            page(given, views, **{"seeds": 2} | more)


def test_the_command_writes_the_page(ok):
    np.savez("data.npz", rna=VIEWS[0], protein=VIEWS[1], labels=CLASSES)
    given = ("data.npz", "--seeds", 2, "--out")
    out = ok("report", *given, "page.html", "--clusters", 4)
    assert "page.html: 120 samples in 4 clusters" in out
    ok("fit", "data.npz", "--clusters", 4, "--model", "kept")
    ok("report", *given, "again.html", "--model", "kept")
    views, more = named(VIEWS, ["rna", "protein"]), {"classes": CLASSES, "by_size": True}
    expected = page(dmac.AnchorGraphClustering(4, random_state=0), views, seeds=2, **more)
    for name in ("page.html", "again.html"):  # only these know how the data were read
        told, how = Path(name).read_text(encoding="utf-8").split("<h2>How to make it again")
        assert told == expected.split("<h2>How to make it again")[0] and "SHA-256" in how
    np.save("two.npy", np.repeat(np.eye(2), 30, axis=0))
    with pytest.warns(UserWarning, match="2 of 3 clusters have samples"):
        out = ok("report", "two.npy", "--seeds", 2, "--out", "two.html", "--clusters", 3)
    assert "60 samples in 2 clusters" in out


def test_samples_that_a_narrow_table_lacks_are_no_rows_of_zeros():
    wide, narrow = (
        pd.DataFrame(x, [f"s{i}" for i in range(120)]) for x in (VIEWS[0], VIEWS[1][:, :3])
    )
    model = dmac.AnchorGraphClustering(4, random_state=0)
    assert "rows of zeros" not in page(model, [wide, narrow[5:]], seeds=2)
    assert "rows of zeros" not in page(model, [wide, narrow[5:]], seeds=2)  # now it is fitted
    narrow[:5] = 0.0
    for given in (model, dmac.AnchorGraphClustering(4, random_state=0)):  # with equal labels
        with pytest.warns(UserWarning, match="view 2 has 5 rows of zeros"):
            assert page(given, [wide, narrow], seeds=2).count("rows of zeros") == 1
