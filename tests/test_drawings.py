"""The drawn pictures: the files are what the scripts draw, and they show what they are about."""

import re
from xml.etree import ElementTree

import draw_choice
import draw_model
import draw_recipe
import pytest

from dmac.recipes import RECIPES

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
    for script in (draw_choice, draw_recipe):
        drawn[script.FILE.name] = script.draw()
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
