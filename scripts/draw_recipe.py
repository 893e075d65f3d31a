"""Anchor-graph clustering, step by step: the picture of chapter 12."""

from draw_model import BLUE, FIXED, GREEN, ORANGE, PURPLE, RED, arrow, dot, labelled, picture, text

WIDTH, HEIGHT = 640, 372

#: The steps in the order of reading: middle, width, colour, lines, and the number of its section in
#: chapter 12.
STEPS = (
    (66, 60, 112, BLUE, ("views, as they", "are given"), ""),
    (236, 60, 156, BLUE, ("levels: whitened,", "plain, scaled"), 1),
    (412, 60, 124, ORANGE, ("anchor sets: all", "views, each view"), 2),
    (566, 60, 132, GREEN, ("views weighed by", "others' support"), 3),
    (540, 186, 184, GREEN, ("one averaged graph", "G = B Bᵀ, never formed"), 4),
    (312, 186, 176, PURPLE, ("eigenvectors, weighed", "by the filter"), 5),
    (92, 186, 164, PURPLE, ("unit rows, k-means:", "labels"), 7),
    (312, 312, 216, ORANGE, ("votes: filtered rows and", "a learned map join each block"), 6),
    (92, 312, 164, RED, ("guard: are the labels", "with votes as stable?"), 7),
)
ARROWS = (
    ((122, 60), (158, 60)),
    ((314, 60), (350, 60)),
    ((474, 60), (500, 60)),
    ((566, 88), (566, 158)),
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
    drawn = [arrow(*points) for points in ARROWS]
    for x, y, width, colour, lines, number in STEPS:
        drawn.append(labelled(x, y, width, colour, lines))
        if number:
            drawn.append(dot(x - width / 2 + 2, y - 28, number, colour, 10))
    drawn.append(text(484, 302, "once more", True))
    return picture("Anchor-graph clustering, step by step", WIDTH, HEIGHT, FIXED, drawn)
