"""What each system of the field builds and learns, in small pictures.

The shapes are those of the model's picture, and a legend names them; what is learned is filled. A
picture has two rows, so that it is as wide as the screen of a telephone.
"""

import re

from draw_model import (
    BLUE,
    BOLD,
    FILL,
    FIXED,
    GREEN,
    PURPLE,
    arrow,
    box,
    matrix,
    network,
    picture,
    text,
)

WIDTH, HEIGHT = 400, 252
MIDDLE, ROW = 46, 136  # of the first row of shapes; from a row to the next

#: Each system's steps, from its views to its labels: shape, words below, whether it is learned.
SYSTEMS = {
    "GMC": (("graphs", "graphs", True), ("graph", "one, c pieces", True), ("labels", "pieces")),
    "LMVSC": (
        ("mixtures", "mixtures", True),
        ("vectors", "c vectors", False),
        ("labels", "k-means"),
    ),
    "UDBGL": (
        ("mixtures", "mixtures", True),
        ("mixture", "one, c pieces", True),
        ("labels", "pieces"),
    ),
    "CMGEC": (
        ("graphs", "graphs", False),
        ("graph", "fused", True),
        ("network", "network", True),
        ("labels", "k-means"),
    ),
    "DealMVC": (
        ("networks", "networks", True),
        ("features", "features", False),
        ("softmax", "soft labels", True),
        ("labels", "arg-max"),
    ),
    "GCFAggMVC": (
        ("networks", "networks", True),
        ("graph", "attention", True),
        ("embedding", "consensus", False),
        ("labels", "k-means"),
    ),
    "DFP-GNN": (
        ("graphs", "graphs", False),
        ("networks", "networks", True),
        ("network", "shared one", True),
        ("labels", "arg-max"),
    ),
    "SURER": (
        ("networks", "networks", True),
        ("graphs", "refined", True),
        ("joint", "joint graph", True),
        ("labels", "arg-max"),
    ),
    "SNF": (
        ("graphs", "graphs", False),
        ("graphs", "exchanged", False),
        ("graph", "mean", False),
        ("labels", "spectral"),
    ),
}


def sheet(width, height, colour, name="", lines=4):
    """A sheet with rows, its middle in the origin."""
    return matrix(0, 0, width, height, colour, BOLD.format(name), lines)


def net(width, colour, name, cells=4):
    """A square with cells along its diagonal: a graph of the samples."""
    side = width / cells
    blocks = "".join(
        f"M{side * i - width / 2:g} {side * i - width / 2:g}h{side:g}v{side:g}h{-side:g}z"
        for i in range(cells)
    )
    return (
        box(0, 0, width, width, colour, 3)
        + f'<path d="{blocks}" fill="{colour}" opacity="0.3"/>'
        + text(0, 8, BOLD.format(name))
    )


def bands():
    """The labels: a column in three shades."""
    parts = zip((-27, -9, 9), ("#a34d80", "#d3a5bf", "#f6e6ef"))
    return "".join(
        f'<rect x="-15" y="{y}" width="30" height="18" fill="{fill}" stroke="{PURPLE}" '
        'stroke-width="1.6"/>'
        for y, fill in parts
    )


def several(shape):
    """Three of a kind, one for each view."""
    behind = re.sub("<text.*?</text>", "", shape)
    moved = "".join(f'<g transform="translate({d} {-d})">{behind}</g>' for d in (14, 7))
    return moved + shape


SHAPES = {
    "views": several(sheet(52, 52, BLUE, "X")),
    "graphs": several(net(52, GREEN, "G")),
    "graph": net(58, GREEN, "G"),
    "joint": net(70, GREEN, "G", 3),
    "mixtures": several(sheet(32, 58, GREEN, "S", 6)),
    "mixture": sheet(32, 64, GREEN, "S", 6),
    "networks": several(network(0, 0)),
    "network": network(0, 0),
    "vectors": sheet(30, 58, BLUE, "V", 6),
    "features": several(sheet(36, 54, BLUE, "H")),
    "embedding": sheet(38, 58, BLUE, "Z", 6),
    "softmax": several(sheet(36, 54, PURPLE, "Q")),
    "labels": bands(),
}


#: What the legend shows: a shape, words below, whether it is learned.
LEGEND = (
    ("views", "views", False),
    ("graph", "graph of samples", False),
    ("mixture", "graph to anchors", False),
    ("network", "network", False),
    ("labels", "labels", True),
    ("graph", "given", False),
    ("graph", "learned", True),
)


def place(x, y, kind, words, learned=True):
    """A shape with its words below, white if it is not learned."""
    shape = SHAPES[kind]
    if not learned:
        shape = re.sub("|".join(f'fill="{fill}"' for fill in FILL.values()), 'fill="#fff"', shape)
    shape = f'<g transform="translate({x:g} {y:g})">{shape}</g>'
    return shape + text(f"{x:g}", f"{y + 61:g}", words, True)


def join(start, end):
    """An arrow between two shapes: to the right, down, or to the left."""
    (x0, y0), (x1, y1) = start, end
    if y0 < y1:
        return arrow((x0, y0 + 70), (x1, y1 - 52))
    side = (46, -38) if x0 < x1 else (-42, 54)  # what is stacked is so to the right
    return arrow((x0 + side[0], y0), (x1 + side[1], y1))


def draw(system):
    """The picture of a system: to the right, down, and back.

    Parameters
    ----------
    system : str
        One of `SYSTEMS`.

    Returns
    -------
    str
        An SVG file.
    """
    steps = (("views", "views", False), *SYSTEMS[system])
    columns = -(-len(steps) // 2)
    gap = (WIDTH - 110) / (columns - 1)
    order = [*range(columns), *reversed(range(columns))][: len(steps)]
    places = [(48 + gap * at, MIDDLE + ROW * (i >= columns)) for i, at in enumerate(order)]
    drawn = [place(*at, *step) for at, step in zip(places, steps)]
    drawn += map(join, places, places[1:])
    return picture(system, WIDTH, HEIGHT, FIXED, drawn)


def draw_legend():
    """The shapes of the pictures, named; below, learned and given ones apart.

    Returns
    -------
    str
        An SVG file.
    """
    places = [(48, 0), (176, 0), (320, 0), (48, 1), (132, 1), (252, 1), (334, 1)]
    drawn = [place(x, MIDDLE + ROW * row, *one) for (x, row), one in zip(places, LEGEND)]
    drawn.append(f'<path d="M192 {MIDDLE + ROW - 40}v100" stroke="#3d3d3d" stroke-width="0.8"/>')
    return picture("The shapes and what they stand for", WIDTH, HEIGHT, FIXED, drawn)
