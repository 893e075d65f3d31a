"""A small Sphinx extension: on the API pages a module is folded, under the names it has.

The sections in the source are plain ones, a heading and an ``automodule``; here each gets its fold,
or the pages would run over fifty screens. unfold.js opens what a link leads to.
"""

import importlib
import inspect
import re

PAGES = ("book/api", "book/api_components")
SECTION = re.compile(r"```\{eval-rst\}\n\.\. automodule:: (\S+)\n.*?```\n", re.DOTALL)


def names_of(module):
    """The classes and functions that a module defines for others, in the order of its source."""
    module = importlib.import_module(module)
    return [
        name
        for name, item in vars(module).items()
        if not name.startswith("_") and getattr(item, "__module__", None) == module.__name__
        if inspect.isclass(item) or inspect.isfunction(item)
    ]


def fold(text):
    """The text of a page with every module's section folded under its names."""

    def folded(section):
        names = " · ".join(names_of(section[1])) or "constants"
        return f"::::{{dropdown}} {names}\n{section[0]}::::\n"

    return SECTION.sub(folded, text)


def fold_page(app, docname, source):
    """Fold the modules of the pages that are too long otherwise."""
    if docname in PAGES:
        source[0] = fold(source[0])


def setup(app):
    app.connect("source-read", fold_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
