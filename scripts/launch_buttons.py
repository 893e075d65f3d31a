"""A small Sphinx extension: the launch buttons lead to notebooks that are in the repository.

Jupyter Book's button of an experiment's page would lead to book/experiments/, which is built and
not committed: the notebook is in notebooks/. That of a page in Markdown would lead to a file that
Colab cannot open. And Jupyter Book prepares every page for live code in it (Thebe), which comes
from the network and is not offered here.
"""

THEBE = {"init_thebe_core", "update_thebe_context"}  # write its scripts into the pages


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
    app.connect("html-page-context", lead_to_source, priority=900)  # after the theme's buttons
    return {"parallel_read_safe": True, "parallel_write_safe": True}
