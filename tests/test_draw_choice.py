"""The chart of chapter 12: the file is what the script draws, and every recipe is on it."""

import re
from xml.etree import ElementTree

import draw_choice

from dmac.recipes import RECIPES


def test_file_is_what_the_script_draws():
    assert draw_choice.FILE.read_text(encoding="utf-8") == draw_choice.draw()


def test_every_recipe_is_the_answer_to_something():
    root = ElementTree.fromstring(draw_choice.draw())
    words = " ".join("".join(one.itertext()) for one in root.iter() if one.tag.endswith("text"))
    named = {name for name in re.findall(r"[A-Z_]{6,}", words)}
    assert named == {name.upper() for name in RECIPES} - {"REVISED_2026_11"}
    assert words.count("yes") == words.count("no ") == len(draw_choice.QUESTIONS)
