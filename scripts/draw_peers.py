"""What each system of the field builds and learns, in small pictures.

The shapes are those of the model's picture, and a legend names them; what is learned is filled.
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

WIDTH, HEIGHT = 640, 116
MIDDLE = 46  # of the row of shapes

#: Each system's steps, from its views to its labels: shape, words below, whether it is learned.
SYSTEMS = {
    "GMC": (("graphs", "graphs", True), ("graph", "one, c pieces", True), ("labels", "pieces")),
    "LMVSC": (
        ("mixtures", "mixtures", True),
        ("vectors", "c vectors", False),
        ("labels", "k-means"),
    ),
    "MSGL": (
        ("mixture", "one mixture", True),
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


def place(x, kind, words, learned=True):
    """A shape with its words below, white if it is not learned."""
    shape = SHAPES[kind]
    if not learned:
        shape = re.sub("|".join(f'fill="{fill}"' for fill in FILL.values()), 'fill="#fff"', shape)
    return f'<g transform="translate({x:g} {MIDDLE})">{shape}</g>' + text(
        f"{x:g}", 107, words, True
    )


def draw(system):
    """The picture of a system.

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
    gap = (WIDTH - 110) / (len(steps) - 1)
    drawn = [place(48 + gap * i, *step) for i, step in enumerate(steps)]
    ends = [48 + gap * i for i in range(len(steps))]
    drawn += [arrow((a + 46, MIDDLE), (b - 38, MIDDLE)) for a, b in zip(ends, ends[1:])]
    return picture(system, WIDTH, HEIGHT, FIXED, drawn)


def draw_legend():
    """The shapes of the pictures, named; learned and given ones apart.

    Returns
    -------
    str
        An SVG file.
    """
    places = (48, 158, 286, 382, 450, 536, 602)
    drawn = [place(x, *one) for x, one in zip(places, LEGEND)]
    drawn.append('<path d="M492 6V110" stroke="#3d3d3d" stroke-width="0.8"/>')
    return picture("The shapes and what they stand for", WIDTH, HEIGHT, FIXED, drawn)
