"""A small Sphinx extension: buttons and the page Install lead to what is there.

A page with code that was written in Markdown downloads as a notebook, too (portable.py writes it).
Where the project is, Install says by the repository of _config.yml.

Jupyter Book's button of an experiment's page would lead to book/experiments/, which is built and
not committed: the notebook is in notebooks/. That of a page in Markdown would lead to a file that
Colab cannot open. And Jupyter Book prepares every page for live code in it (Thebe), which comes
from the network and is not offered here.
"""

from pathlib import Path

import yaml

THEBE = {"init_thebe_core", "update_thebe_context"}  # write its scripts into the pages


#: What the page Install says as long as _config.yml names no repository.
UNPUBLISHED = "(Its address belongs here: `repository` in `_config.yml`.)"


def lead_to_notebook(app, pagename, templatename, context, doctree):
    """Let the download button of a page with code give its notebook."""
    if (Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.ipynb").exists():
        for group in context.get("header_buttons", []):
            for button in group.get("buttons", []):
                if button.get("text") == ".md":
                    url = button["url"].removesuffix(".md") + ".ipynb"
                    button |= {"url": url, "text": ".ipynb", "icon": "fas fa-code"}


def name_repository(app, config):
    """Say where the project is."""
    settings = yaml.safe_load(Path(app.srcdir, "_config.yml").read_text(encoding="utf-8"))
    url = settings.get("repository", {}).get("url")  # Jupyter Book's default is its own
    config.myst_substitutions["repository"] = f"It is at <{url}>." if url else UNPUBLISHED


def lead_to_source(app, pagename, templatename, context, doctree):
    """Let the launch buttons open the notebook that the page was made from, if it is one."""
    groups = context.get("header_buttons", [])
    for group in [group for group in groups if group.get("label") == "launch-buttons"]:
        if not str(app.env.doc2path(pagename)).endswith(".ipynb"):
            groups.remove(group)
        for button in group["buttons"]:
            button["url"] = button["url"].replace("/book/experiments/", "/notebooks/")


def setup(app):
    for listeners in app.events.listeners.values():
        listeners[:] = [
            one for one in listeners if getattr(one.handler, "__name__", "") not in THEBE
        ]
    app.connect("config-inited", name_repository, priority=1)
    app.connect("html-page-context", lead_to_source, priority=900)  # after the theme's buttons
    app.connect("html-page-context", lead_to_notebook, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
