"""The page about a fit: it stands alone, its numbers are the estimator's, its control can fail."""

import collections
import io
import re
import warnings
from itertools import combinations
from urllib.parse import unquote

import chromium
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from browser import faint, look
from bs4 import BeautifulSoup

import dmac
from dmac.diagnostics import gaussian_like
from dmac.estimators import CollapseWarning
from dmac.report import page
from dmac.separation import standardized_differences

RNG = np.random.default_rng(0)
CLASSES = np.arange(120) % 4
VIEWS = [4 * RNG.normal(size=(4, d))[CLASSES] + RNG.normal(size=(120, d)) for d in (12, 9)]
COLUMNS = [f"{name} column {j + 1}" for name, d in (("rna", 12), ("protein", 9)) for j in range(d)]
NOISE = [RNG.normal(size=x.shape) for x in VIEWS]


class Reader:
    """The rows of the tables of a page, its text and its tags, all of which must be closed."""

    def __init__(self, told):
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


def report(views=VIEWS, c=4, **more):
    model = dmac.AnchorGraphClustering(c, random_state=0)
    return model, Reader(page(model, views, seeds=more.pop("seeds", 2), **more))


@pytest.fixture(scope="module")
def plain():
    """A model and its page, without names and classes."""
    return report()


def repeated(views):
    """Of three fits the mean ARI, that of three halves, and the mean support, as they are told."""
    models, labels = [], [[], []]
    for seed in range(3):
        models.append(dmac.AnchorGraphClustering(4, random_state=seed).fit(views))
        rows = np.sort(np.random.default_rng(seed).permutation(120)[:60])
        half = dmac.AnchorGraphClustering(4, random_state=seed).fit([x[rows] for x in views])
        labels[0].append(models[-1].labels_)
        labels[1].append(half.predict(views))
    aris = [[dmac.scores(*two)["ari"] for two in combinations(one, 2)] for one in labels]
    return [f"{np.mean(x):.2f}" for x in (*aris, [model.view_support_ for model in models])]


def test_numbers_are_those_of_the_estimator():
    model, found = report(view_names=["rna", "protein"], classes=CLASSES, seeds=3)
    assert (
        model.labels_.tolist()
        == dmac.AnchorGraphClustering(4, random_state=0).fit_predict(VIEWS).tolist()
    )
    both = zip(model.view_agreement_, model.view_support_)
    for name, width, numbers in zip(("rna", "protein"), (12, 9), both):
        sizes, supports = [row[1:] for row in found.rows if row[0] == name]
        assert sizes == [str(width), "0"] and supports == [f"{x:.2f}" for x in numbers]
    _, gaps = standardized_differences(VIEWS, model.labels_)
    for k, size in enumerate(np.bincount(model.labels_)):
        row = np.hstack(gaps)[k]
        largest = [f"{COLUMNS[j]} {row[j]:+.2f}" for j in np.argsort(-abs(row))[:5]]
        told = next(row[1:] for row in found.rows if row[0] == str(k))
        assert [text.replace("−", "-") for text in told] == [str(size), " ".join(largest)]
    both = [repeated(VIEWS), repeated(gaussian_like(VIEWS, seed=0))]
    for what, *numbers in zip(("3 seeds", "3 random halves", "support"), *both):
        assert found.row(f"mean ARI of {what}".replace("ARI of s", "s")) == numbers
    suggested = dmac.suggest_n_clusters(VIEWS, range(2, 21))
    gaps = dict(zip(suggested.candidates, suggested.scores["gap"]))
    number = suggested.n_clusters
    for words in (
        f"is after {number} eigenvalues ({gaps[number]:.3f})",
        f"4 clusters were asked for, where it is {gaps[4]:.3f}",
    ):
        assert words in found.text
    steps = -np.diff(suggested.eigenvalues)[1:20]
    np.testing.assert_allclose(steps, suggested.scores["gap"])
    scores = dmac.scores(CLASSES, model.labels_)
    assert found.row("ACC") == [f"{100 * scores['acc']:.1f} %"]
    methods = found.text.partition("methods section")[2]
    recipe = model.recipe_
    for words in (
        "120 samples were clustered into 4 groups with AnchorGraphClustering (recipe CLOSED_FORM)",
        f"package dmac {dmac.__version__} [1]",
        "rna (12 features), protein (9 features)",
        f"its {recipe.n_neighbors} nearest of {model.n_anchors_} anchors",
        f"in {recipe.anchor_sets} sets",
        "random seed 0",
        f"between two of 3 fits was {both[0][0]} with other seeds",
    ):
        assert words in methods


def test_the_spectrum_is_drawn_to_scale(plain):
    svg, _ = plain[1].pictures
    found, control = (
        dmac.suggest_n_clusters(x, range(2, 21)) for x in (VIEWS, gaussian_like(VIEWS, seed=0))
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
    drawn = collections.Counter()
    for path, one in zip(paths, dots):
        drawn[path["stroke"]] += len(one)
    assert list(drawn.values()) == np.bincount(model.labels_).tolist()
    darker = sum(len(one) for path, one in zip(paths, dots) if path["stroke-opacity"] == "1.0")
    assert darker == (model.confidence_ >= 0.9).sum()
    colours = [
        tag["style"].removeprefix("background:") for tag in found.tags if "style" in tag.attrs
    ]
    assert list(drawn) == [x for x in colours if x.startswith("hsl")]
    flat = np.concatenate([np.array(one, float) for one in dots])
    assert flat.min(0).tolist() == [20, 20] and flat.max(0).tolist() == [620, 440]
    labels = [text.text for text in found.pictures[1]("text")]
    assert labels == [str(k) for k in range(4)]


def test_the_least_sure_samples_are_listed_with_the_cluster_that_is_next(plain):
    model, found = plain
    listed = [row for row in found.rows if len(row) == 4 and "(" in row[1]]
    least = np.sort(model.confidence_)[:10]
    for (name, own, other, _), sure in zip(listed, least, strict=True):
        i, cluster, following = int(name) - 1, int(own.split()[0]), int(other.split()[0])
        shares = np.delete(model.membership_[i], cluster)
        assert model.labels_[i] == cluster != following
        assert float(own.split("(")[1][:-1]) == pytest.approx(sure, abs=0.006)
        assert float(other.split("(")[1][:-1]) == pytest.approx(shares.max(), abs=0.006)


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


def test_planted_clusters_are_stable_and_the_control_is_not():
    _, found = report(seeds=4)
    data, control = map(float, found.row("mean ARI of 4 random halves"))
    assert data > 0.95 and control < 0.6
    data, control = map(float, found.row("mean support"))
    assert data > 0.9 and control < 0.6
    assert "agree clearly more than those of the control" in found.text
    _, found = report(NOISE, seeds=4)
    data, control = map(float, found.row("mean ARI of 4 random halves"))
    assert data < 0.4 and control < 0.4
    assert "Halves of the control agree about as well" in found.text


def test_a_page_needs_nothing_else_and_is_the_same_twice(plain):
    model, found = plain
    told = page(dmac.AnchorGraphClustering(4, random_state=0), VIEWS, seeds=2)
    assert page(model, VIEWS, seeds=2) == told  # fitted before, or here
    (link,) = (tag["href"] for tag in found.tags if "href" in tag.attrs)
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
    told = page(
        dmac.AnchorGraphClustering(4, random_state=0),
        VIEWS,
        feature_names=names,
        classes=CLASSES,
        seeds=2,
    )
    (tmp_path / "report.html").write_text(told, encoding="utf-8")
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
    columns = [[f"<i>{j}&amp;$n" for j in range(12)], None]
    told = page(
        dmac.AnchorGraphClustering(4, random_state=0),
        VIEWS,
        view_names=odd,
        feature_names=columns,
        seeds=2,
    )
    assert "<script" not in told and "<i>" not in told
    found = Reader(told)
    assert [row[0] for row in found.rows].count(odd[0]) == 2
    assert f"{odd[0]} (12 features), {odd[1]} (9 features)" in found.text
    assert re.search(r"<b>& <i>\d+&amp;\$n [+−]\d", found.text)


def test_the_cluster_of_each_sample_is_listed_and_can_be_saved(monkeypatch):
    index = [f'patient "{i}", <{i}>' for i in range(120)]
    frames = [pd.DataFrame(x, index) for x in VIEWS]
    for views, given, expected in (
        (frames, None, index),
        (VIEWS, index, index),
        ([pd.DataFrame(x) for x in VIEWS], None, [str(i + 1) for i in range(120)]),
        (VIEWS, None, [str(i + 1) for i in range(120)]),
    ):
        model, found = report(views, sample_names=given)
        listed = [tag.get_text().split(maxsplit=1) for tag in found.tags if tag.name == "li"]
        assert [name for _, name in listed] == expected
        assert [int(k) for k, _ in listed] == model.labels_.tolist()
        (link,) = (tag["href"] for tag in found.tags if "href" in tag.attrs)
        table = pd.read_csv(io.StringIO(unquote(link.partition(",")[2])), dtype={"sample": str})
        assert table["sample"].tolist() == expected
        assert table["cluster"].tolist() == model.labels_.tolist()
        assert "column 1" in found.text  # names of columns that only count are from 1
    monkeypatch.setattr(dmac.report, "_LISTED", 119)
    assert "python -m dmac fit writes with --out" in report()[1].text


def test_samples_that_lack_views_are_counted():
    views = [x.copy() for x in VIEWS]
    views[0][:40], views[1][50:110] = np.nan, np.nan
    with warnings.catch_warnings(action="ignore"):
        model, found = report(views, view_names=["rna", "protein"], classes=CLASSES)
    assert next(row[1:] for row in found.rows if row[0] == "rna") == ["12", "40 (33 %)"]
    assert next(row[1:] for row in found.rows if row[0] == "protein") == ["9", "60 (50 %)"]
    assert "Of the samples 40 lack rna, 60 lack protein." in found.text
    assert " of 60 samples" not in found.text  # halves have fewer samples with all views
    assert found.row("ACC") == [f"{100 * dmac.scores(CLASSES, model.labels_)['acc']:.1f} %"]


def test_warnings_are_on_the_page_and_given():
    scanner = np.eye(4)[RNG.integers(4, size=120)]
    with pytest.warns(UserWarning, match="view 3 .scanner. decides alone"):
        _, found = report([*NOISE, scanner], view_names=["a", "b", "scanner"])
    assert "The fits warned:" in found.text and "view 3 (scanner) decides alone" in found.text


def test_networks_frames_sparse_and_single_views(plain, tmp_path):
    short = dmac.recipes.Recipe(name="<short>", pretrain_epochs=1, epochs=2)
    with pytest.warns(CollapseWarning) as said:  # of each fit, and it is told once
        told = page(dmac.DMAC(3, short, random_state=None), VIEWS, seeds=2)
    assert len(said) == 1 and told.count("the embedding has collapsed") == 1
    assert "trained a network for 2 epochs" in told and "&lt;SHORT&gt;" in told
    assert "does not say it" in told and "mean support" not in told
    frame = pd.DataFrame(abs(VIEWS[0]), columns=[f"gene {j}" for j in range(12)])
    with warnings.catch_warnings(action="ignore"):
        one = Reader(page(dmac.AnchorGraphClustering(4, random_state=0), frame, seeds=2))
    assert "view 1 gene " in one.text and any(row[-1] == "–" for row in one.rows)
    memory = np.memmap(tmp_path / "a", float, "w+", shape=VIEWS[1].shape)
    memory[:] = VIEWS[1]
    model, found = report([scipy.sparse.csr_matrix(VIEWS[0]), memory])
    assert model.labels_.tolist() == plain[0].labels_.tolist()


@pytest.mark.parametrize("n, spectrum, halves", [(11, 0, 0), (12, 1, 0), (23, 1, 0), (24, 1, 1)])
def test_few_samples_have_no_spectrum_and_no_halves(n, spectrum, halves):
    with warnings.catch_warnings(action="ignore"):
        _, found = report([x[:n] for x in VIEWS], c=3)
    assert ("too few samples for a spectrum" in found.text) == (not spectrum)
    assert ("too few samples to fit on halves" in found.text) == (not halves)


def test_of_many_samples_some_are_drawn(monkeypatch):
    for most, dots in ((60, 50), (120, 120)):
        monkeypatch.setattr(dmac.report, "_MOST", most)
        monkeypatch.setattr(dmac.report, "_DOTS", dots)
        _, found = report()
        assert ("On 60 samples, drawn" in found.text) == (most == 60)
        assert ("(50 of 120, drawn at" in found.text) == (dots == 50)
        assert sum(path["d"].count("h0") for path in found.pictures[1]("path")) == dots
    assert "drawn" not in found.text


def test_what_is_refused():
    model = dmac.AnchorGraphClustering(4, random_state=0).fit(VIEWS)
    for views, more, message in (
        ([x[:60] for x in VIEWS], {}, "was fitted on 120 samples, and there are 60"),
        ([x[RNG.permutation(120)] for x in VIEWS], {}, "not the samples of the fit, or not in its"),
        (VIEWS, {"view_names": ["a"]}, "view_names has 1 entries, and there are 2 views"),
        (VIEWS, {"feature_names": [["a"], None]}, "view 1 has 12 features, and 1 names"),
        (VIEWS, {"sample_names": ["a"]}, "sample_names has 1 entries, and there are 120 samples"),
        (VIEWS, {"classes": [1, 2]}, "2"),
        (VIEWS, {"seeds": 1}, "seeds is 1: it must be an integer of at least 2"),
        (VIEWS, {"seeds": 2.5}, "seeds is 2.5: it must be an integer"),
    ):
        with pytest.raises(ValueError, match=message):
            page(model, views, **{"seeds": 2} | more)
    with pytest.raises(
        ValueError, match="is a GMC: pass a dmac.AnchorGraphClustering or a dmac.DMAC"
    ):
        page(dmac.peers.GMC(4), VIEWS)
    hidden, has = [x.copy() for x in VIEWS], np.ones((120, 2), bool)
    hidden[0][:30], has[:30, 0] = 1e9, False
    model = dmac.AnchorGraphClustering(4, random_state=0).fit(hidden, present=has)
    with pytest.raises(ValueError, match="in the fit 30, 0 samples lacked the views, .* NaN"):
        page(model, hidden, seeds=2)


@pytest.fixture
def data(call):
    np.savez("data.npz", rna=VIEWS[0], protein=VIEWS[1], labels=CLASSES)


@pytest.mark.usefixtures("data")
def test_the_command_writes_the_page(call, tmp_path):
    given = ["--seeds", 2, "--out", "report.html"]
    code, out, err = call("report", "data.npz", "--clusters", 4, *given)
    assert code == 0 and "report.html: 120 samples in 4 clusters" in out, err
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    model = dmac.AnchorGraphClustering(4, random_state=0)
    names = {"view_names": ["rna", "protein"], "classes": CLASSES}
    assert text == page(model, VIEWS, seeds=2, by_size=True, **names)
    np.save("two.npy", np.repeat(np.eye(2), 30, axis=0))
    with pytest.warns(UserWarning, match="2 of 3 clusters came out"):
        code, out, err = call("report", "two.npy", "--clusters", 3, *given)
    assert "60 samples in 2 clusters" in out, err
    (tmp_path / "report.html").unlink()
    assert call("fit", "data.npz", "--clusters", 4, "--model", "kept")[0] == 0
    assert call("report", "data.npz", "--model", "kept", *given)[0] == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        ("--out x.html", 2, "give --clusters or --model"),
        ("--clusters 4", 2, "Missing option '--out'"),
        ("--clusters 4 --model kept --out x.html", 2, "--clusters is that of the model"),
        ("--model kept --seed 1 --out x.html", 2, "--seed is that of the model"),
        ("--clusters 4 --seeds 1 --out x.html", 2, "--seeds"),
        ("--clusters 121 --out x.html", 1, "--clusters is 121, but there are only 120"),
    ],
)
@pytest.mark.usefixtures("data")
def test_problems_are_told(arguments, code, message, call, tmp_path):
    found, _, err = call("report", "data.npz", *arguments.split())
    assert found == code and message in err and not (tmp_path / "x.html").exists()


def test_samples_that_a_narrow_table_lacks_are_no_rows_of_zeros():
    rng, classes = np.random.default_rng(0), np.arange(60) % 3
    views = [5 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d)) for d in (6, 3)]
    wide, narrow = (pd.DataFrame(x, [f"s{i}" for i in range(60)]) for x in views)
    model = dmac.AnchorGraphClustering(3, random_state=0)
    assert "rows of zeros" not in page(model, [wide, narrow[5:]], seeds=2)
    assert "rows of zeros" not in page(model, [wide, narrow[5:]], seeds=2)  # now it is fitted
    narrow[:5] = 0.0
    for given in (model, dmac.AnchorGraphClustering(3, random_state=0)):  # with equal labels
        with pytest.warns(UserWarning, match="view 2 has 5 rows of zeros"):
            assert page(given, [wide, narrow], seeds=2).count("rows of zeros") == 1
