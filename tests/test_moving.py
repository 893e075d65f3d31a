"""The figures that readers move: each is moved, and shows what the module computes."""

import contextlib
import json

import numpy as np
import pytest
import torch
from helpers import ROOT, sources
from sklearn.metrics import mutual_info_score

from dmac.agc.votes import column_weights
from dmac.anchor_graph import anchor_graph
from dmac.consistency import mutual_information_joint
from dmac.recipes import CLOSED_FORM

BOOK = ROOT / "book"
MOVING = BOOK / "_static" / "moving"


@pytest.fixture
def shown(browser, tmp_path):
    """Open a page with one figure: its page, in which an error of a script fails the test."""
    errors, pages = [], []

    def show(name, data="null"):
        page = browser.new_page(viewport={"width": 390, "height": 900})
        page.on("pageerror", lambda error: errors.append(error.message))
        parts = [(MOVING / f"{part}.html").read_text("utf-8") for part in ("shared", name)]
        page.set_content("<!doctype html>" + "".join(parts).replace("DATA", data))
        pages.append(page)
        return page

    yield show
    assert errors == []
    for page in pages:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.close()


def state(page):
    """What a figure has computed."""
    return page.evaluate("document.querySelector('.moving').state")


def texts(page, selector):
    """What the parts of a figure say."""
    return page.locator(f".moving {selector}").all_text_contents()


def weights_of(floors, k):
    """One row of the anchor graph, dense."""
    return anchor_graph(torch.tensor([floors], dtype=torch.float64), k).to_dense()[0].tolist()


def middle_of(part):
    """Its place on the screen."""
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def pull(page, part, dx, dy):
    """Drag a part of a drawing by so many pixels."""
    x, y = middle_of(part)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()


def test_water_level_has_the_weights_of_the_anchor_graph(shown):
    page = shown("water_level")
    assert texts(page, "text.weight") == ["0", "0.60", "0", "0.40", "0"]
    floor = page.locator("[role=slider]").first
    for keys in ("ArrowDown " * 13, "PageUp ArrowUp", "Home", "End", ""):
        for key in keys.split():
            floor.press(key)
        for k in (1, 2, 3, 4):
            page.get_by_role("button", name=str(k)).click()
            found = state(page)
            assert found["weights"] == pytest.approx(weights_of(found["floors"], k), abs=1e-9)
            assert [float(x) for x in texts(page, "text.weight")] == pytest.approx(
                found["weights"], abs=0.00501
            )
    pull(page, page.locator("[role=slider] .grip").nth(3), 0, -60)
    floors = state(page)["floors"]
    assert floors[3] > 4 and floor.get_attribute("aria-valuenow") == "8"
    assert state(page)["weights"] == pytest.approx(weights_of(floors, 4), abs=1e-9)


def test_a_finger_drags_too_and_does_not_scroll_the_page(shown):
    page = shown("water_level")
    page.evaluate("document.body.style.height = '3000px'")
    x, y = middle_of(page.locator("[role=slider] .grip").first)
    session = page.context.new_cdp_session(page)
    for kind, places in (
        ("touchStart", [(x, y)]),
        *(("touchMove", [(x, y - 10 * i)]) for i in range(1, 7)),
        ("touchEnd", []),
    ):
        points = [{"x": x, "y": y} for x, y in places]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert state(page)["floors"][0] == pytest.approx(4 + 60 / 18, abs=0.5)
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in MOVING.glob("*.html") if path.stem != "shared")
)
def test_a_figure_says_what_it_is_where_scripts_do_not_run(browser, name):
    page = browser.new_page(java_script_enabled=False)
    parts = [(MOVING / f"{part}.html").read_text("utf-8") for part in ("shared", name)]
    page.set_content("".join(parts))
    parts = page.locator(".moving > *").all()
    (text,) = (one.inner_text() for one in parts if one.is_visible())
    assert text.startswith("This figure moves in a browser")
    page.close()


def test_water_level_pours_what_the_slider_says(shown):
    page = shown("water_level")
    slider = page.locator("input[type=range]")
    for key in ("End", "Home", "PageUp", "ArrowRight"):
        slider.press(key)
        found = state(page)
        water = np.maximum(found["level"] - np.array(found["floors"]), 0)
        assert water.sum() == pytest.approx(2 * float(slider.input_value()))
        assert found["weights"] == pytest.approx(water / water.sum())
        assert found["k"] == (water > 1e-9).sum()
    assert page.locator("output").inner_text().startswith(f"The level b is {found['level']:.2f}")


def test_two_labels_have_the_information_of_the_module(shown):
    page = shown("two_labels")
    slider, middle = page.locator("input[type=range]").nth(0), page.locator("[role=slider]").nth(1)
    moves = [lambda: None, lambda: slider.press("PageUp"), lambda: middle.press("ArrowDown")]
    moves += [page.get_by_role("button", name=name).click for name in ("exchanged", "each")]
    moves += [lambda: pull(page, page.locator("[role=slider] .grip").first, -40, 0)]
    seen = []
    for move in moves:
        move()
        found = state(page)
        p = torch.tensor(found["joint"], dtype=torch.float64)
        plain = mutual_info_score(None, None, contingency=(1e4 * p).round().numpy())
        # Two anchors, one certain of each label in view a, have the rows of the table in view b.
        symmetrised = mutual_information_joint(torch.eye(2).double(), p).item()
        assert p.sum().item() == pytest.approx(1)
        assert [found["plain"], found["other"]] == pytest.approx([plain, symmetrised], abs=1e-12)
        titles = f"joint, MI {plain:.3f}", f"symmetrised, MI {symmetrised:.3f}"
        assert set(titles) < set(texts(page, "text"))
        half = [f"{x:.2f}" for x in ((p + p.T) / 2).flatten()]
        assert texts(page, "svg:nth-of-type(3) .number") == half
        seen.append(titles)
    assert len(set(seen)) == len(moves)
    assert seen[-2] == ("joint, MI 0.000", "symmetrised, MI 0.693")


def test_film_moves_points_and_mark_by_one_slider(shown):
    first, second = [0, 0, 50, -50], [10, 0, -20, 30]
    run = {"points": [first, second, first], "radius": [0.2, 0.1, 0.01], "cosine": [0.5, 0.9, 1]}
    runs = [
        run | {"name": "RELEASED", "accuracy": [82, 70, 18]},
        run | {"name": "REVISED", "accuracy": [97, 98, 99], "radius": [1, 1, 1]},
    ]
    page = shown(
        "film", json.dumps({"epochs": [0, 4, 50], "unit": 50, "digits": "07", "runs": runs})
    )
    slider, marks = page.locator("input[type=range]"), page.locator("circle")

    def places():
        """Of the last sample in both drawings, from their middles."""
        sevens = page.locator("svg svg text:last-of-type").all()
        return [float(one.get_attribute("x")) for one in sevens]

    assert places() == [34, 34]
    seen = []
    for epoch, left, words in (
        (0, 34, "RELEASED: accuracy 82 %, mean cosine 0.50000."),
        (4, -20 / 50 * 34 / 2, "RELEASED: accuracy 70 %, mean cosine 0.90000."),
        (50, 34 / 20, "RELEASED: accuracy 18 %, mean cosine 1.00000."),
    ):
        assert page.locator("output").inner_text().startswith(words)
        assert slider.get_attribute("aria-valuetext") == f"{epoch} epochs"
        assert places()[0] == pytest.approx(left)
        seen.append([tuple(float(m.get_attribute(k)) for k in ("cx", "cy")) for m in marks.all()])
        slider.press("ArrowRight")
    ((x, low), (also, high)) = seen[2]
    assert x == also == 282 and low > high and seen[0][0][1] < seen[1][0][1] < low
    page.get_by_role("button", name="enlarged").click()
    assert places() == [34, 34]
    slider.press("Home")
    page.get_by_role("button", name="play").click()
    page.wait_for_function("document.querySelector('.moving').state.epoch === 50")
    assert page.get_by_role("button", name="play").count() == 1


def cells(chapter, *names):
    """What some cells of a chapter define, executed where the chapter stands."""
    (path,) = BOOK.glob(f"[0-9][0-9]_{chapter}.ipynb")
    found, cells = {}, sources(path)
    with contextlib.chdir(BOOK):
        exec("\n".join(cells[name] for name in names), found)
    return found


def test_anchors_in_the_plane_are_those_of_the_chapter(shown):
    found = cells("anchors", "c02", "toy", "moving-plane")
    page = shown("plane", found["content"])
    slider, anchors = page.locator("input[type=range]"), page.locator("circle.anchor")
    slider.press("End")
    assert state(page)["step"] == 200
    for sigma in ("softplus", "ReLU"):
        page.get_by_role("button", name=sigma).click()
        for unit, words in ((False, "as they are"), (True, "of length 1")):
            page.get_by_role("button", name=words).click()
            _, _, states = found["train_in_plane"](200, 9, sigma.lower(), unit)
            u, deviation, _ = states[-1]
            zero = (deviation < 5e-4).sum().item()
            assert f" {zero} of 18 deviations are zero" in page.locator("output").inner_text()
            middle, size = ((150, 150), 118) if unit else ((150, 118), 27)
            u = (u / u.norm(dim=1, keepdim=True) if unit else u).numpy()
            there = [[float(x.get_attribute(k)) for k in ("cx", "cy")] for x in anchors.all()]
            np.testing.assert_allclose(there, middle + size * u * [1, -1], atol=0.2)
            losses = [loss for *_, loss in states[-11:]]
            assert state(page)["loss"] == pytest.approx(np.mean(losses), abs=1e-4)
    slider.press("Home")
    assert state(page)["step"] == 0
    assert page.locator("output").inner_text().startswith("The loss is 2.0")


def test_cut_and_filter_are_those_of_the_chapter(shown):
    found = cells("recipes", "r002", "r010", "moving-cut")
    page = shown("cut_or_filter", found["content"])
    states = {s["distance"]: s for s in json.loads(found["content"])["states"]}
    slider, groups = page.locator("input[type=range]"), page.locator("[role=slider]")
    titles = "svg > text:first-child"
    moves = {
        8: lambda: None,
        9: lambda: slider.press("ArrowRight"),
        10: lambda: groups.first.press("ArrowUp"),
        20: lambda: groups.last.press("PageUp"),
        24: lambda: slider.press("End"),
    }
    for distance, move in moves.items():
        move()
        now, values = state(page), np.array(states[distance]["values"])
        assert now["distance"] == distance
        for recipe in (found["cut"], CLOSED_FORM):
            name = "filter" if recipe is CLOSED_FORM else "cut"
            assert now[name] == pytest.approx(column_weights(values, 3, recipe), rel=1e-6)
            right = found["toy"][name].get(distance, states[distance][name]["accuracy"])
            assert f"{name}: {right:.0f} % right" in texts(page, titles)
    assert [t.split(": ")[1] for t in texts(page, titles)[:2]] == ["64 % right"] * 2
    assert page.locator("output").inner_text().endswith("in the filter, 0 and 1 in the cut.")
    pull(page, groups.last.locator(".grip"), 0, 100)
    assert 8 < state(page)["distance"] < 20
    assert [t.split(": ")[1] for t in texts(page, titles)[:2]] == ["64 % right", "97 % right"]
