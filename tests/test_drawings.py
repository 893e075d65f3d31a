"""The drawn pictures: the files are what the scripts draw, and they show what they are about."""

import re
from xml.etree import ElementTree

import draw
import draw_choice

from dmac.recipes import RECIPES, NetworkRecipe


def test_files_are_what_the_scripts_draw():
    drawn = draw.pictures()
    assert {path.name for path in draw.STATIC.glob("*.svg")} == {*drawn, "favicon.svg"}
    for name, svg in drawn.items():
        assert (draw.STATIC / name).read_text(encoding="utf-8") == svg, name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|<image|url\(", svg), name


def test_every_recipe_of_the_network_is_the_answer_to_something():
    texts = ElementTree.fromstring(draw_choice.draw()).iter("{http://www.w3.org/2000/svg}text")
    named = set(re.findall(r"[A-Z_]{6,}", " ".join("".join(text.itertext()) for text in texts)))
    names = {n.upper() for n, r in RECIPES.items() if isinstance(r, NetworkRecipe)}
    assert named == names - {"REVISED_2026_11"}  # for scripts whose results must not change
