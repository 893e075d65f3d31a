"""A small Sphinx extension: buttons and links lead to what is there.

Where `repository` in _config.yml names an address, pages say it, and every page from a notebook has
buttons that open it on Binder and Colab; without one they have none. The notebook of an experiment
is in notebooks/, since book/experiments/ is built and not committed. The old address of a
page that has moved leads to the new one.

A page with code that was written in Markdown downloads as a notebook, too (portable.py writes it),
and one that needs the whole project has no download.
Jupyter Book prepares every page for live code in it (Thebe), which comes from the network and is
not offered here.
"""

from pathlib import Path

import nbformat
import portable
import yaml

#: Pages by the addresses that they had in earlier versions.
MOVED = {
    "14_your_data": "your_data",
    "17_scaling": "scaling",
    "18_the_field": "14_the_field",
    "corrections": "errata",
}
THEBE = {"init_thebe_core", "update_thebe_context"}  # write its scripts into the pages


def published(app):
    """The address of the project, or None."""
    settings = yaml.safe_load(Path(app.srcdir, "_config.yml").read_text(encoding="utf-8"))
    return settings.get("repository", {}).get("url")  # Jupyter Book's default is its own


def say_where(app, config):
    """Fill in where the project is, if it is published."""
    url = published(app)
    config.myst_substitutions |= {"repository": f"It is at <{url}>." if url else ""}


def forward(app, exception):
    """Leave a page at each old address that leads to the new one, and to the place on it."""
    for old, new in MOVED.items() if app.builder.format == "html" else ():
        Path(app.outdir, "book", f"{old}.html").write_text(
            f'<!DOCTYPE html><title>Moved</title><a href="{new}.html">This page has moved.</a>'
            f'<script>location.replace("{new}.html" + location.hash)</script>\n',
            encoding="utf-8",
        )


def lead_to_notebook(app, pagename, templatename, context, doctree):
    """Let the download button of a page with code give its notebook, if that runs alone."""
    executed = Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.ipynb"
    if not executed.exists():
        return
    alone = portable.runs_alone(executed.stem, nbformat.read(executed, 4))
    for group in context.get("header_buttons", []):
        buttons = group.get("buttons", [])
        for button in [one for one in buttons if one.get("text") in (".md", ".ipynb")]:
            if not alone:
                buttons.remove(button)
            url = button["url"].removesuffix(".md").removesuffix(".ipynb") + ".ipynb"
            button |= {"url": url, "text": ".ipynb", "icon": "fas fa-code"}


def lead_to_source(app, pagename, templatename, context, doctree):
    """Let the launch buttons open the notebook that the page was made from, if there is one."""
    groups = context.get("header_buttons", [])
    for group in [group for group in groups if group.get("label") == "launch-buttons"]:
        if not published(app) or not str(app.env.doc2path(pagename)).endswith(".ipynb"):
            groups.remove(group)
        for button in group["buttons"]:
            button["url"] = button["url"].replace("/book/experiments/", "/notebooks/")


def setup(app):
    for listeners in app.events.listeners.values():
        listeners[:] = [
            one for one in listeners if getattr(one.handler, "__name__", "") not in THEBE
        ]
    app.connect("build-finished", forward)
    app.connect("config-inited", say_where, priority=1)
    app.connect("html-page-context", lead_to_source, priority=900)  # after the theme's buttons
    app.connect("html-page-context", lead_to_notebook, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
