"""Anchor-graph clustering, step by step: the picture of chapter 12."""

from draw_model import BLUE, FIXED, GREEN, ORANGE, PURPLE, RED, arrow, dot, labelled, picture, text

WIDTH, HEIGHT = 372, 456  # narrow enough for a telephone

#: The steps in the order of reading: middle, width, colour, lines, and the number of its section in
#: chapter 12.
STEPS = (
    (94, 44, 164, BLUE, ("views, as they", "are given"), ""),
    (280, 44, 164, BLUE, ("levels: whitened,", "plain, scaled"), 1),
    (280, 134, 164, ORANGE, ("anchor sets: all views", "together, each view"), 2),
    (94, 134, 164, GREEN, ("views weighed by", "others' support"), 3),
    (94, 224, 164, GREEN, ("one averaged graph", "B Bᵀ, never formed"), 4),
    (280, 224, 164, PURPLE, ("eigenvectors, weighed", "by the filter"), 5),
    (94, 320, 164, ORANGE, ("votes: filtered rows", "and a learned map"), 6),
    (280, 410, 164, PURPLE, ("unit rows, k-means:", "labels"), 7),
    (94, 410, 164, RED, ("guard: are the labels", "with votes as stable?"), 7),
)
ARROWS = (
    ((176, 44), (198, 44)),
    ((280, 72), (280, 106)),
    ((198, 134), (176, 134)),
    ((94, 162), (94, 196)),
    ((176, 224), (198, 224)),
    ((240, 252), (240, 320), (176, 320)),
    ((94, 292), (94, 252)),
    ((300, 252), (300, 382)),
    ((198, 410), (176, 410)),
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
    drawn.append(text(138, 277, "once more", True))
    return picture("Anchor-graph clustering, step by step", WIDTH, HEIGHT, FIXED, drawn)
