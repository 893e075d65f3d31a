"""The drawn pictures: the files are what the scripts draw."""

import re

import draw


def test_files_are_what_the_scripts_draw():
    drawn = draw.pictures()
    assert {path.name for path in draw.STATIC.glob("*.svg")} == {*drawn, "favicon.svg"}
    for name, svg in drawn.items():
        assert (draw.STATIC / name).read_text(encoding="utf-8") == svg, name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|<image|url\(", svg), name
