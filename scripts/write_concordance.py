"""Write the page that leads from the paper's equations, tables and figures to this book.

``python scripts/write_concordance.py`` writes book/concordance.md. What belongs to what in the
paper is the list below. The rest is found: chapters by the labels in them, functions by the
equations that their docstrings cite, errata by their labels and titles.
"""

import ast
import json
import re
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "book" / "concordance.md"
#: Modules whose functions are not listed: they repeat what others compute, or belong to others.
LEFT_OUT = ("dmac.reference", "experiments", "dmac.peers")


#: Something in the paper, what it is about, and the labels that take it up here; the labels of
#: errata about it, and functions beside those whose docstrings cite one of the labels.
Item = namedtuple("Item", "name about labels errata functions", defaults=[(), ()])
ITEMS = (
    Item("Equation 1", "encoders", ("eq:encoder",)),
    Item("Equation 2", "fusion", ("eq:fusion",)),
    Item("Equations 3 to 6", "noise and anchors", ("eq:reparameterisation",)),
    Item("Equation 7", "similarity to the anchors", ("eq:similarity",)),
    Item("Equation 8", "positive noise", ("ch-anchors",)),
    Item("Equation 9", "anchor learning loss", ("eq:anchor-learning",), ("err-sphere",)),
    Item("Equation 10", "anchor graph", ("eq:row-problem", "eq:anchor-graph")),
    Item("Equation 11", "convolution", ("eq:agcn", "eq:association"), ("err-matrix",)),
    Item("Equation 12", "consistency loss", ("eq:consistency-loss",), ("err-consistency",)),
    Item(
        "Equation 13",
        "mutual information",
        ("eq:mutual-information", "eq:per-row", "eq:joint-over-anchors"),
        ("err-consistency",),
    ),
    Item("Equation 14", "sample graph", ("eq:sample-graph",), ("err-matrix",)),
    Item("Equation 15", "structure loss, over pairs", ("eq:pairs-form",), ("err-factor-two",)),
    Item("Equation 16", "joint loss", ("eq:joint-loss",)),
    Item(
        "Theorem 1, equations 17 and 18",
        "collapse",
        ("thm-collapse",),
        ("err-theorem", "err-why-it-clusters"),
        ("dmac.diagnostics",),
    ),
    Item("Equation 19", "structure loss, as a trace", ("eq:trace-form",), ("err-factor-two",)),
    Item("Linear complexity", "cost of an epoch", ("eq:epoch-operations",), ("err-linear",)),
    Item("Table 1", "data sets", ("ch-data",), (), ("dmac.load", "dmac.available")),
    Item(
        "Table 2",
        "comparison",
        ("ch-paper-again", "exp-comparison"),
        ("err-repeated",),
        ("dmac.scores", "dmac.baselines", "dmac.peers.base"),
    ),
    Item("Table 3", "ablation", ("ch-paper-again", "exp-ablation")),
    Item("Figure 1", "the pipeline", ("doc:index", "ch-training"), (), ("dmac.network",)),
    Item("Figure 2", "run times", ("exp-runtime",), ("err-linear",), ("dmac.scaling",)),
    Item("Figure 3", "similarity of the anchors", ("ch-paper-again", "exp-anchor-similarity"), ()),
    Item(
        "Figure 4",
        "the embedding in the plane",
        ("ch-paper-again", "exp-embedding"),
        ("err-why-it-clusters",),
    ),
    Item("Figure 5", "weights of the losses", ("ch-paper-again", "exp-sensitivity")),
)


def pages():
    """Where each label of the book is: label to the page's path, "doc:" and a name to that page."""
    found = {f"doc:{path.stem}": path.stem for path in (ROOT / "book").glob("[0-9]*.ipynb")}
    found["doc:index"] = "index"
    for path in [*(ROOT / "book").glob("*.ipynb"), *(ROOT / "notebooks").glob("*.ipynb")]:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        name = path.stem if path.parent.name == "book" else f"experiments/{path.stem}"
        marks = r"^\(([\w-]+)\)=$|^:label: ([\w:-]+)$|^\$\$ \((eq:[\w-]+)\)$"
        for groups in re.findall(marks, text, re.MULTILINE):
            found[next(filter(None, groups))] = name
    return found


def errata():
    """Numbers of the errata by their labels, as the page of the errata has them."""
    text = (ROOT / "book" / "errata.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\((err-[\w-]+)\)=\n## (\d+)\. ", text, re.MULTILINE))


def _public(node, prefix, inside=False):
    """Names with docstrings below a module or class, with the roles that link to them."""
    for child in node.body:
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and child.name[0] != "_":
            name = f"{prefix}.{child.name}"
            is_class = isinstance(child, ast.ClassDef)
            yield name, "class" if is_class else "meth" if inside else "func", child
            if is_class:
                yield from _public(child, name, inside=True)


def citations():
    """Functions, classes and methods that cite an equation: label to links, in order of name."""
    found = {}
    for path in sorted((ROOT / "dmac").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if "._" in module or "__init__" in module or module.startswith(LEFT_OUT):
            continue
        for name, role, node in _public(ast.parse(path.read_text(encoding="utf-8")), module):
            # `dmac` hands these on, and they are documented under that name.
            name = re.sub(
                r"^dmac\.(estimators\.(?=DMAC|Anchor)|metrics\.(?=scores$))", "dmac.", name
            )
            for label in re.findall(r":eq:`([\w:-]+)`", ast.get_docstring(node) or ""):
                link = f"{{py:{role}}}`{'~' * (name != 'dmac.DMAC')}{name}`"
                if link not in found.setdefault(label, []):
                    found[label].append(link)
    return found


def link(label):
    """A reference to a label, with the role of its kind."""
    if label.startswith("eq:"):
        return f"{{eq}}`{label}`"
    return f"{{prf:ref}}`{label}`" if label.startswith("thm-") else f"{{ref}}`{label}`"


def _page_link(page):
    if page == "index":
        return "{doc}`start page <index>`"
    name = page.rsplit("/")[-1].lstrip("0123456789_").replace("_", " ")
    title = f"chapter {int(page[:2])}" if page[0].isdigit() else name
    return f"{{doc}}`{title} <{page}>`"


def _module_link(name):
    role = "func" if name in ("dmac.load", "dmac.available", "dmac.scores") else "mod"
    return f"{{py:{role}}}`{name}`"


def write():
    """The text of the page.

    Returns
    -------
    str

    Raises
    ------
    KeyError
        If a label is nowhere in the book.
    """
    where, numbers, cited = pages(), errata(), citations()
    rows = []
    for item in ITEMS:
        chapters = dict.fromkeys(where[label] for label in item.labels)
        here = ", ".join(link(label) for label in item.labels)
        named = [_module_link(name) for name in item.functions]
        functions = dict.fromkeys([*named, *(x for one in item.labels for x in cited.get(one, []))])
        corrected = [f"{{ref}}`{numbers[label]} <{label}>`" for label in item.errata]
        numbered = all(label.startswith(("eq:", "thm-")) for label in item.labels)
        cells = (
            f"{item.name}: {item.about}",
            here if numbered else "",
            ", ".join(_page_link(page) for page in chapters),
            ", ".join(functions),
            ", ".join(corrected),
        )
        rows.append("| " + " | ".join(cells) + " |")
    return TEXT.format(rows="\n".join(rows))


TEXT = """(concordance)=
# Concordance

This page finds each equation, table and figure of the paper, and its theorem, in the book.
It also names the code for each, and the {{doc}}`erratum <errata>` about it.
A function is listed if its text cites the equation.

| In {{cite:t}}`wang2025` | Equation here | Page | In the module | Erratum |
|:--|:--|:--|:--|:--|
{rows}

The paper numbers all its displayed equations; we number those that something refers to.
"""

if __name__ == "__main__":
    PAGE.write_text(write(), encoding="utf-8")
