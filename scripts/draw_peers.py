"""Draw what each system of the field builds and learns, as small SVG files with text.

``python scripts/draw_peers.py`` writes book/_static/peer-gmc.svg and nine more. The shapes are
those of the model's picture: sheets are views and embeddings, slanted boxes networks. A graph of
the samples is a square, one to anchors a narrow sheet. What is learned is filled.
"""

import re

from draw_model import (
    BLUE,
    BOLD,
    FILL,
    FIXED,
    GREEN,
    ITALIC,
    PURPLE,
    STATIC,
    arrow,
    box,
    picture,
    text,
)

WIDTH, HEIGHT = 304, 80
# The height of the row of shapes, and their size beside the model's picture.
MIDDLE, SCALE = 32, 0.54

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
NETWORK = "M-24 -27L24 -15V15L-24 27Z"  # the slanted box of an encoder


def sheet(width, height, colour, name="", lines=4):
    """A sheet with rows, its middle in the origin."""
    rows = "".join(
        f"M{-width / 2:g} {height * (i / lines - 0.5):g}h{width:g}" for i in range(1, lines)
    )
    return (
        box(0, 0, width, height, colour, 3)
        + f'<path d="{rows}" stroke="{colour}" stroke-width="0.7" opacity="0.35"/>'
        + text(0, 8, BOLD.format(name))
    )


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


def network():
    """A network, as the model's picture has its encoders."""
    return f'<path d="{NETWORK}" fill="{FILL[BLUE]}" stroke="{BLUE}" stroke-width="1.6"/>' + text(
        0, 8, ITALIC.format("f")
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
    "networks": several(network()),
    "network": network(),
    "vectors": sheet(30, 58, BLUE, "", 6),
    "features": several(sheet(36, 54, BLUE, "H")),
    "embedding": sheet(38, 58, BLUE, "Z", 6),
    "softmax": several(sheet(36, 54, PURPLE, "Q")),
    "labels": bands(),
}


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
    gap = (WIDTH - 52) / (len(steps) - 1)
    drawn = []
    for i, (kind, words, *learned) in enumerate(steps):
        x, shape = 26 + gap * i, SHAPES[kind]
        if learned == [False]:
            shape = re.sub(
                "|".join(f'fill="{fill}"' for fill in FILL.values()), 'fill="#fff"', shape
            )
        drawn.append(f'<g transform="translate({x:g} {MIDDLE}) scale({SCALE})">{shape}</g>')
        drawn.append(text(f"{x:g}", 73, words, True))
        if i:
            drawn.append(arrow((x - gap + 24, MIDDLE), (x - 20, MIDDLE)))
    style = FIXED + ".s { font-size: 10.5px; }\n"
    return picture(system, WIDTH, HEIGHT, style, drawn)


def file(system):
    """Where the picture is."""
    return STATIC / f"peer-{system.lower()}.svg"


if __name__ == "__main__":
    for system in SYSTEMS:
        file(system).write_text(draw(system), encoding="utf-8")
