"""The long API pages: every module's section is folded under its names, and nothing is lost."""

import re
from pathlib import Path

import fold_modules
import pytest

BOOK = Path(__file__).resolve().parent.parent / "book"


@pytest.mark.parametrize("page", fold_modules.PAGES)
def test_every_section_is_folded(page):
    text = (BOOK / f"{page.removeprefix('book/')}.md").read_text(encoding="utf-8")
    folded = fold_modules.fold(text)
    modules = re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE)
    assert len(modules) > 15 and folded.count("::::{dropdown}") == len(modules)
    lines = [line for line in folded.splitlines() if not line.startswith("::::")]
    assert lines == text.splitlines()


def test_title_has_the_names_of_the_module():
    section = "```{eval-rst}\n.. automodule:: dmac.convolution\n   :members:\n```\n"
    folded = fold_modules.fold(f"### `x`\n\n{section}\nafter")
    wanted = "::::{dropdown} AnchorGraphConvolution\n" + section + "::::\n"
    assert folded == f"### `x`\n\n{wanted}\nafter"
    assert fold_modules.names_of("dmac.metrics") == ["contingency", "scores"]
    assert "torch" not in fold_modules.names_of("dmac.anchor_graph")


def test_other_pages_stay_as_they_are():
    source = ["```{eval-rst}\n.. automodule:: dmac.metrics\n```\n"]
    before = list(source)
    fold_modules.fold_page(None, "book/api", source)
    assert source == before
    fold_modules.fold_page(None, fold_modules.PAGES[0], source)
    assert source != before
