"""The drawn pictures: the files are what the scripts draw, and they show what they are about."""

import json
import re
from xml.etree import ElementTree

import draw_choice
import draw_model
import draw_partition
import draw_peers
import draw_recipe
import pytest

from dmac import peers
from dmac.recipes import RECIPES
from experiments import paper

SVG = "{http://www.w3.org/2000/svg}"
CHAPTERS = [None, *draw_model.PARTS]


def words(svg, kind=""):
    """The text in the picture, or in its groups of a class, with single blanks."""
    root = ElementTree.fromstring(svg)
    groups = [one for one in root.iter(f"{SVG}g") if kind in one.get("class")] if kind else [root]
    texts = [text for group in groups for text in group.iter(f"{SVG}text")]
    return " ".join(" ".join("".join(text.itertext()) for text in texts).split())


def test_files_are_what_the_scripts_draw():
    drawn = {draw_model.name(chapter): draw_model.draw(chapter) for chapter in CHAPTERS}
    assert {path.name for path in draw_model.STATIC.glob("model*.svg")} == set(drawn)
    for script in (draw_choice, draw_partition, draw_recipe):
        drawn[script.FILE.name] = script.draw()
    pictures = {draw_peers.file(name).name: draw_peers.draw(name) for name in draw_peers.SYSTEMS}
    assert {path.name for path in draw_model.STATIC.glob("peer-*.svg")} == set(pictures)
    drawn |= pictures
    for name, svg in drawn.items():
        assert (draw_model.STATIC / name).read_text(encoding="utf-8") == svg, name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|<image|url\(", svg), name


@pytest.mark.parametrize(
    ("chapter", "shown", "hidden"),
    [
        (2, "encoders", "noise"),
        (3, "LAL", "LCM"),
        (4, "anchor graph", "convolution"),
        (5, "convolution", "LSP"),
        (6, "LCM", "anchor graph"),
        (7, "LSP", "encoders"),
        (8, "LAL LSP", "Û"),
    ],
)
def test_a_chapter_has_its_part_of_the_model_picked_out(chapter, shown, hidden):
    svg = draw_model.draw(chapter)
    clear, faint = words(svg, "on"), words(svg, "off")
    assert all(word in clear for word in shown.split())
    assert hidden not in clear and hidden in faint
    assert sorted(words(svg).split()) == sorted(words(draw_model.draw()).split())


def test_every_recipe_is_the_answer_to_something():
    named = set(re.findall(r"[A-Z_]{6,}", words(draw_choice.draw())))
    assert named == {name.upper() for name in RECIPES} - {"REVISED_2026_11", "CLOSED_FORM_2026_11"}


def test_every_line_of_the_recipe_fits_its_box():
    for x, y, width, _, lines in draw_recipe.STEPS.values():
        assert max(map(len, lines)) * 7 < width, lines  # 15 px letters are about 7 wide
        assert width / 2 <= x <= draw_recipe.WIDTH - width / 2 and y < draw_recipe.HEIGHT - 28


def test_the_partition_counts_the_data_sets_of_each_recipe():
    states = {
        recipe: [draw_partition.state(recipe, name) for name in draw_partition.SIXTEEN]
        for recipe in ("REVISED", "CLOSED_FORM")
    }
    counts = {r: [found.count(s) for s in draw_partition.STATES] for r, found in states.items()}
    assert counts == {"REVISED": [4, 5, 7], "CLOSED_FORM": [9, 7, 0]}


def test_every_system_has_its_picture_and_its_verdict_in_its_section():
    assert set(draw_peers.SYSTEMS) == set(draw_peers.ALT) <= set(peers.ALL)
    assert set(draw_peers.SYSTEMS) > set(paper.TABLE_2) - {"DMAC"}
    (chapter,) = draw_model.STATIC.parent.glob("*_the_field.ipynb")
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    sections = re.split(r"(?m)^##+ (?:One that learns nothing: )?(.*)$", text)
    sections = dict(zip(sections[1::2], sections[2::2]))
    for name, alt in draw_peers.ALT.items():
        shown = f"_static/{draw_peers.file(name).name}\n:alt: {alt}\n:width: {draw_peers.WIDTH}px"
        assert shown in sections[name], name
        assert "**Use it when** " in sections[name] and "**Avoid it when** " in sections[name]


@pytest.mark.parametrize("name", draw_peers.SYSTEMS)
def test_what_a_system_learns_is_filled_and_all_words_are_there(name):
    svg = draw_peers.draw(name)
    learned = [step for step in draw_peers.SYSTEMS[name] if step[2:] == (True,)]
    filled = [f for f in draw_model.FILL.values() if f != draw_model.FILL[draw_model.PURPLE]]
    assert any(fill in svg for fill in filled) == bool(learned) == (name != "SNF")
    assert all(step[1] in words(svg) for step in draw_peers.SYSTEMS[name])
    gap = (draw_peers.WIDTH - 52) / len(draw_peers.SYSTEMS[name])
    assert max(len(step[1]) for step in draw_peers.SYSTEMS[name]) * 5.6 < gap  # 10.5 px letters
