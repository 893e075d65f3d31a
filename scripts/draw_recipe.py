"""Anchor-graph clustering, step by step: the picture of chapter 12."""

from draw_model import BLUE, FIXED, GREEN, ORANGE, PURPLE, RED, arrow, labelled, picture, text

WIDTH, HEIGHT = 640, 372

#: The steps in the order of reading: middle, width, colour, lines.
STEPS = {
    "views": (66, 60, 112, BLUE, ("views,", "unit rows")),
    "levels": (236, 60, 156, BLUE, ("two levels:", "whitened, plain")),
    "blocks": (420, 60, 140, BLUE, ("blocks: all views,", "each view")),
    "sets": (574, 60, 116, ORANGE, ("anchor sets", "in each block")),
    "graph": (540, 186, 184, GREEN, ("one averaged graph", "G = B Bᵀ, never formed")),
    "filter": (312, 186, 176, PURPLE, ("eigenvectors, weighed", "by the filter")),
    "labels": (92, 186, 164, PURPLE, ("unit rows, k-means:", "labels")),
    "votes": (312, 312, 216, ORANGE, ("votes: filtered rows and", "a learned map join each block")),
    "guard": (92, 312, 164, RED, ("guard: are the labels", "with votes as stable?")),
}
ARROWS = (
    ((122, 60), (158, 60)),
    ((314, 60), (350, 60)),
    ((490, 60), (516, 60)),
    ((574, 88), (574, 158)),
    ((448, 186), (400, 186)),
    ((224, 186), (174, 186)),
    ((312, 214), (312, 284)),
    ((420, 312), (540, 312), (540, 214)),
    ((92, 214), (92, 284)),
)


def draw():
    """The picture.

    Returns
    -------
    str
        An SVG file.
    """
    drawn = [arrow(*points) for points in ARROWS] + [labelled(*step) for step in STEPS.values()]
    drawn.append(text(484, 302, "once more", True))
    return picture("Anchor-graph clustering, step by step", WIDTH, HEIGHT, FIXED, drawn)
