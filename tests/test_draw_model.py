"""The picture of the model: the files are what the script draws, each with its chapter's part."""

import re
from pathlib import Path
from xml.etree import ElementTree

import draw_model
import pytest

FILES = [None, *draw_model.PARTS]
SVG = "{http://www.w3.org/2000/svg}"


def words(svg, kind=""):
    """The text in the picture's groups of a class, with single blanks."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if kind in group.get("class"):
            found += ["".join(text.itertext()) for text in group.iter(f"{SVG}text")]
    return " ".join(" ".join(found).split())


@pytest.mark.parametrize("chapter", FILES)
def test_files_are_what_the_script_draws(chapter):
    file = draw_model.STATIC / draw_model.name(chapter)
    assert file.read_text(encoding="utf-8") == draw_model.draw(chapter)


def test_there_are_no_others():
    found = {path.name for path in draw_model.STATIC.glob("model*.svg")}
    assert found == {draw_model.name(chapter) for chapter in FILES}


def test_whole_has_the_papers_symbols():
    svg = draw_model.draw()
    text = words(svg, "on")
    assert 'class="off"' not in svg and "<path" in svg
    for symbol in ("X(1)", "Z(v)", "Û", "μ + σ ⊙ ϵ", "U", "S(a)", "D−1 ST S", "F(a)"):
        assert symbol in text, symbol
    assert re.findall(r"L(AL|SP|CM)", text) and {"LAL", "LSP", "LCM"} <= set(text.split())


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
def test_chapter_has_its_part_picked_out(chapter, shown, hidden):
    svg = draw_model.draw(chapter)
    clear, faint = words(svg, "on"), words(svg, "off")
    assert all(word in clear for word in shown.split()) and hidden not in clear
    assert hidden in faint
    everything = sorted(words(draw_model.draw()).split())
    assert sorted(words(svg).split()) == everything


def test_every_part_is_drawn():
    drawn = {part for part, _ in draw_model.elements()}
    named = set().union(*draw_model.PARTS.values())
    assert named < drawn and drawn - named == {"labels"}


def test_no_font_or_picture_comes_from_elsewhere():
    for path in sorted(Path(draw_model.STATIC).glob("model*.svg")):
        svg = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|<image|url\(", svg)
