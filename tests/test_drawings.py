"""The drawn pictures: the files are what the scripts draw, and they show what they are about."""

import re
from xml.etree import ElementTree

import draw_choice
import draw_model
import draw_partition
import draw_peers
import draw_recipe

from dmac.recipes import RECIPES

SVG = "{http://www.w3.org/2000/svg}"
CHAPTERS = [None, *draw_model.PARTS]


def words(svg):
    """The text in the picture."""
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return " ".join("".join(text.itertext()) for text in texts)


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


def test_every_recipe_is_the_answer_to_something():
    named = set(re.findall(r"[A-Z_]{6,}", words(draw_choice.draw())))
    assert named == {name.upper() for name in RECIPES} - {"REVISED_2026_11", "CLOSED_FORM_2026_11"}
