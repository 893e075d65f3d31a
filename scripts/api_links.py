"""A Sphinx extension: references to names of `dmac` lead to the API page, or fail the build.

A module hands on what others of its chapter define: ``dmac.data.checks.check_views`` is
``dmac.data.checks.check_views``, and is documented there once. Either name is a link. With the API page
in the build, a reference to a name that is not on it is a warning.
"""

import importlib
import inspect

from sphinx.util import logging

logger = logging.getLogger(__name__)


def found(name):
    """The object of a dotted name, or None."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            item = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        try:
            for part in parts[end:]:
                item = inspect.getattr_static(item, part)
        except AttributeError:
            return None
        return item
    return None


def home(name):
    """The name under which an object is defined, or None."""
    item = found(name)
    if inspect.ismodule(item) or not hasattr(item, "__qualname__"):
        return None
    return f"{item.__module__}.{item.__qualname__}"


def resolve(app, env, node, contnode):
    """Try the name as it stands, and within the module and the class that mention it."""
    if node.get("refdomain") != "py":
        return None
    target, module, cls = (node.get(k) or "" for k in ("reftarget", "py:module", "py:class"))
    domain = env.get_domain("py")
    names = [target]
    if module.startswith("dmac"):
        names += [f"{module}.{target}", f"{module}.{cls}.{target}"]
    for name in names:
        defined = home(name) if name.startswith("dmac.") else None
        if defined and defined != target and defined in domain.objects:
            return domain.resolve_xref(
                env, node["refdoc"], app.builder, "obj", defined, node, contnode
            )
    if target.startswith("dmac.") and any(name.startswith("dmac.") for name in domain.objects):
        logger.warning("%s is not on the API page", target, location=node, type="ref")
    return None


def setup(app):
    """Called by Sphinx."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
