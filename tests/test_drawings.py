"""The drawn pictures: the files are what the scripts draw, and they show what they are about."""

import re
from xml.etree import ElementTree

import draw
import draw_choice

from dmac.recipes import RECIPES, Recipe

#: A recipe of a date, for scripts whose results must not change.
DATED = {"REVISED_2026_11"}
SVG = "{http://www.w3.org/2000/svg}"


def words(svg):
    """The text in the picture."""
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return " ".join("".join(text.itertext()) for text in texts)


def test_files_are_what_the_scripts_draw():
    drawn = draw.pictures()
    assert {path.name for path in draw.STATIC.glob("*.svg")} == {*drawn, "favicon.svg"}
    for name, svg in drawn.items():
        assert (draw.STATIC / name).read_text(encoding="utf-8") == svg, name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|<image|url\(", svg), name


def test_every_recipe_of_the_network_is_the_answer_to_something():
    named = set(re.findall(r"[A-Z_]{6,}", words(draw_choice.draw())))
    assert named == {n.upper() for n, r in RECIPES.items() if isinstance(r, Recipe)} - DATED
