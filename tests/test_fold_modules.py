"""The long API page: every module's section is folded under its names, and nothing is lost."""

import re
from pathlib import Path

import fold_modules

ROOT = Path(__file__).resolve().parent.parent


def test_every_section_is_folded_under_its_names():
    (page,) = fold_modules.PAGES
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    source, other = [text], [text]
    fold_modules.fold_page(None, page, source)
    fold_modules.fold_page(None, "book/api", other)
    assert other == [text]
    modules = re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE)
    assert source[0].count("::::{dropdown}") == len(modules) > 15
    assert "::::{dropdown} AnchorGraphConvolution\n" in source[0]
    assert [one for one in source[0].splitlines() if not one.startswith("::::")] == (
        text.splitlines()
    )
