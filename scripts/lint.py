"""Advice on the pages: what `make lint` prints beside ruff. No test fails by it.

python scripts/lint.py
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMBERS, LENGTH, WIDTH = 5, 30_000, 78  # in a paragraph, of a page in bytes, of a cell's lines
ARTICLES = re.compile(r"\ba (?:row|panel|line) a\b|\bless the\b")


def count_numbers(text):
    """Glued and typed numbers of a paragraph; an interval or a power of ten is one."""
    glued = text.count("{glue:text}")
    text = re.sub(r"\{[\w:]+\}`[^`]*`", "", text)
    typed = r"(?<![\w.-])\d[\d.]*(?: \\times 10\^\{-?\d+\}|\^\{-?\d+\})?"
    return glued + len(re.findall(typed, text))


def of_text(source):
    """What to say of a Markdown cell."""
    for paragraph in re.split(r"\n\n|\n(?=- )", source):
        if "|" not in paragraph and (number := count_numbers(paragraph)) > NUMBERS:
            yield f"{number} numbers in the paragraph '{paragraph.strip()[:50]}...'"
    for box in re.findall(r"```\{admonition\} In short\n:class: tip\n(.*?)```", source, re.DOTALL):
        if not 2 <= (sentences := len(box.strip().splitlines())) <= 4:
            yield f"{sentences} sentences in the box 'In short', where two to four are read"
    for found in ARTICLES.findall(source):
        yield f"'{found}'"


def of_code(source, metadata):
    """What to say of a code cell."""
    tags = metadata.get("tags", [])
    if (width := max(map(len, source.splitlines()), default=0)) > WIDTH:
        yield f"a line of {width} letters, and {WIDTH} fit the page"
    if re.search(r"^ *glue\(", source, re.MULTILINE) and "remove-cell" not in tags:
        yield "readers see what glues a number: tag the cell remove-cell"


def advice(notebook):
    """Everything to say of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    length = sum(len("".join(cell["source"]).encode()) for cell in cells)
    if length > LENGTH:
        yield f"{length} bytes of source: is it one page?"
    for cell in cells:
        source = "".join(cell["source"])
        text = cell["cell_type"] == "markdown"
        for one in of_text(source) if text else of_code(source, cell["metadata"]):
            yield f"cell {cell['id']}: {one}"


if __name__ == "__main__":
    for path in sorted([*ROOT.glob("book/*.ipynb"), *ROOT.glob("notebooks/*.ipynb")]):
        for said in advice(path):
            print(f"{path.relative_to(ROOT)}: {said}")
