"""The picture of chapter 11: the file is what the script draws, and nothing leaves its box."""

from xml.etree import ElementTree

import draw_recipe


def test_file_is_what_the_script_draws():
    assert draw_recipe.FILE.read_text(encoding="utf-8") == draw_recipe.draw()


def test_every_line_fits_its_box():
    for x, y, width, _, lines in draw_recipe.STEPS.values():
        assert max(map(len, lines)) * 7 < width, lines  # 15 px letters are about 7 wide
        assert width / 2 <= x <= draw_recipe.WIDTH - width / 2 and y < draw_recipe.HEIGHT - 28


def test_it_is_a_picture():
    root = ElementTree.fromstring(draw_recipe.draw())
    tags = [one.tag.split("}")[1] for one in root.iter()]
    assert tags.count("rect") == len(draw_recipe.STEPS)
    assert tags.count("polygon") == len(draw_recipe.ARROWS)
