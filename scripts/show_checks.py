"""A small Sphinx extension: a tick after a number of a run opens the assertions that hold it.

An assertion holds a number if both read the same value of a variable. The variables of a number
are those that `glue` is given, and in the same cell those that they are made of. A paragraph of
many numbers has one tick, at its last number. No line ends between a number and its unit.
"""

import ast
import builtins
import collections
import html
import json
import re
from pathlib import Path

import myst_nb.ext.glue
import nbformat
from docutils import nodes
from myst_nb.ext.glue import extract_glue_data_cell
from myst_nb.ext.glue.roles import PasteTextRole
from sphinx.transforms.post_transforms import SphinxPostTransform

TICK = (
    '<button class="check" type="button" popovertarget="{id}" aria-label="what is checked">✓'
    '</button><span class="checks" id="{id}" popover><span>The page is only built if this holds:'
    "</span><code>{code}</code></span>"
)


#: From so many numbers on a paragraph has one tick for all.
MANY = 5


def reads(tree):
    """The names that a piece of code reads."""
    names = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    return names - {*dir(builtins), "glue", "np", "pd", "torch"}


def assigns(tree):
    """The names to which a statement gives a value."""
    stored = [x for x in ast.walk(tree) if isinstance(getattr(x, "ctx", None), ast.Store)]
    names = {x.id for x in stored if isinstance(x, ast.Name)}
    return names | ({tree.name} if isinstance(tree, (ast.FunctionDef, ast.ClassDef)) else set())


def asserts(tree):
    """Whether there is an assertion in it, or a call of a function that makes one."""
    calls = [ast.unparse(x.func) for x in ast.walk(tree) if isinstance(x, ast.Call)]
    return any(isinstance(x, ast.Assert) for x in ast.walk(tree)) or "assert" in " ".join(calls)


def glued(tree, key):
    """The names from which a statement glues the number of this key."""
    names = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "glue":
            parts = getattr(call.args[0], "values", [call.args[0]])  # those of an f-string
            texts = [re.escape(x.value) if isinstance(x, ast.Constant) else ".*" for x in parts]
            if re.fullmatch("".join(texts), key):
                names |= reads(tree if isinstance(tree, ast.For) else call)
    return names


def checks(cells, origins):
    """The assertions that hold each number of a notebook.

    Parameters
    ----------
    cells : list of str
        Sources, in their order.
    origins : dict of str to str
        The source of the cell that glues a number, by its key.

    Returns
    -------
    dict of str to list of str
        Assertions, as they are written.
    """
    version, statements, found = collections.Counter(), [], {}
    for cell in cells:
        source = re.sub(r"(?m)^(\w+ = )?[!%].*", "", cell)
        for tree in ast.parse(source).body:
            version.update(assigns(tree))
            # What is imported has no value here: two lines that call one module share nothing.
            values = {(name, version[name]) for name in reads(tree) if version[name]}
            statements.append((cell, tree, values, ast.get_source_segment(source, tree)))
    for key, cell in origins.items():
        needed = set()
        for _, tree, values, _ in reversed([x for x in statements if x[0] == cell]):
            names = glued(tree, key)
            if not names and assigns(tree) & {name for name, _ in needed}:
                names = reads(tree)
            needed |= {value for value in values if value[0] in names}
        found[key] = [x[3] for x in statements if x[2] & needed and asserts(x[1])]
    return found


def with_origin(cell, extract=extract_glue_data_cell):
    """What a cell glues, each with the source of the cell."""
    found = extract(cell)
    for _, output in found:
        output["metadata"]["scrapbook"]["origin"] = cell.source
    return found


class KeyedText(PasteTextRole):
    """The role `glue:text`, which lets its number remember its key."""

    def run(self):
        found, messages = super().run()
        for node in found:
            node["glued"] = self.text
        return found, messages


#: Characters of a number with its interval; what is longer, as a list of names, may be broken.
LONGEST = 24


def keep_whole(node, *more):
    """Put a number, more, and what follows up to a space into one part that no line breaks."""
    parent, at = node.parent, node.parent.index(node)
    after = parent[at + 1] if at + 1 < len(parent) else ""
    end = re.match(r"(\s%)?\S*", after if isinstance(after, nodes.Text) else "").end()
    if end:
        parent[at + 1] = nodes.Text(after[end:])
        more = (*more, nodes.Text(after[:end]))
    whole = nodes.inline(classes=["whole"] if len(node.astext()) <= LONGEST else [])
    parent[at] = whole
    whole += [node, *more]


class AddTicks(SphinxPostTransform):
    """A tick after each number that an assertion holds."""

    default_priority = 200
    formats = ("html",)

    def run(self, **kwargs):
        path = Path(self.app.outdir).parent / "jupyter_execute" / f"{self.env.docname}.ipynb"
        if not path.with_suffix(".glue.json").exists():
            return
        stored = json.loads(path.with_suffix(".glue.json").read_text(encoding="utf-8"))
        origins = {key: one["metadata"]["scrapbook"]["origin"] for key, one in stored.items()}
        cells = nbformat.read(path, 4).cells
        held = checks([cell.source for cell in cells if cell.cell_type == "code"], origins)
        found = collections.defaultdict(list)
        for node in self.document.findall(nodes.inline):
            if "glued" in node and re.search(r"\d", node.astext()):
                found[id(node.parent)].append(node)
        for place, numbers in enumerate(found.values()):
            code = [held.get(node["glued"], []) for node in numbers]
            if isinstance(numbers[0].parent, nodes.caption):
                code = [[] for _ in numbers]
            elif sum(map(bool, code)) >= MANY:
                together = dict.fromkeys(one for lines in code for one in lines)
                code = [[] for _ in numbers[1:]] + [list(together)]
            for i, (node, lines) in enumerate(zip(numbers, code)):
                text = TICK.format(id=f"check-{place}-{i}", code=html.escape("\n".join(lines)))
                keep_whole(node, *([nodes.raw("", text, format="html")] if lines else []))


def setup(app):
    app.setup_extension("myst_nb")
    myst_nb.ext.glue.extract_glue_data_cell = with_origin
    app.add_role_to_domain("glue", "text", KeyedText(), override=True)
    app.add_post_transform(AddTicks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
