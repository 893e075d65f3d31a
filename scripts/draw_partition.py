"""Which data sets each recipe of ours was chosen on: a picture of chapter 1."""

import sys
from pathlib import Path

from draw_model import BLUE, FILL, FIXED, GREEN, ORANGE, picture, text

sys.path.append(str(Path(__file__).resolve().parent.parent / "notebooks"))
from experiments.studies import CLOSED, DEVELOPMENT, GROUPS, NEW, SIXTEEN

WIDTH, HEIGHT, ROW = 640, 248, 24
#: What a recipe has to do with a data set, and its colour.
STATES = {"chosen on": ORANGE, "looked at": BLUE, "touched once": GREEN}


def state(recipe, name):
    """What the choice of a recipe has to do with the labels of a data set."""
    if recipe == CLOSED:
        return next(group for group, names in GROUPS.items() if name in names)
    if name in DEVELOPMENT:
        return "chosen on"
    return "touched once" if name in NEW else "looked at"


def _cell(x, y, kind):
    colour = STATES[kind]
    return (
        f'<rect x="{x}" y="{y}" width="92" height="{ROW - 4}" rx="3" fill="{FILL[colour]}" '
        f'stroke="{colour}"/>' + text(x + 46, y + 15, kind, True)
    )


def draw():
    """The picture.

    Returns
    -------
    str
        An SVG file.
    """
    drawn, half = [], len(SIXTEEN) // 2
    for i, name in enumerate(SIXTEEN):
        left, y = 324 * (i // half), 44 + ROW * (i % half)
        drawn.append(f'<text x="{left + 104}" y="{y + 15}" class="s end">{name}</text>')
        for j, recipe in enumerate(("REVISED", CLOSED)):
            x = left + 114 + 100 * j
            if not i % half:
                drawn.append(text(x + 46, 30, recipe, True))
            drawn.append(_cell(x, y, state(recipe, name)))
    style = FIXED + ".s { font-size: 14px; }\n.end { text-anchor: end; }\n"
    title = "Which data sets each recipe was chosen on"
    return picture(title, WIDTH, HEIGHT, style, drawn)
