"""The API pages: every module's section is folded under its names, and nothing is lost."""

import re

import fold_modules
import pytest
from helpers import ROOT


@pytest.mark.parametrize("page", fold_modules.PAGES)
def test_every_section_is_folded_under_its_names(page):
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    source, other = [text], [text]
    fold_modules.fold_page(None, page, source)
    fold_modules.fold_page(None, "book/errata", other)
    assert other == [text]
    modules = re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE)
    assert source[0].count("::::{dropdown}") - text.count("::::{dropdown}") == len(modules) > 15
    first = {"book/api": "CollapseWarning ·", "book/api_components": "AnchorGraphConvolution\n"}
    assert f"::::{{dropdown}} {first[page]}" in source[0]
    kept, before = (
        [one for one in lines.splitlines() if not one.startswith("::::")]
        for lines in (source[0], text)
    )
    assert kept == before
