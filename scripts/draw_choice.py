"""The chart of "Your own data", which recipe for which data, narrow enough for a telephone."""

from draw_model import BLUE, FIXED, GREEN, ORANGE, arrow, labelled, picture, text, words

WIDTH, HEIGHT = 470, 310

#: What is asked, line by line, and what to take if the answer is yes.
QUESTIONS = (
    (("Is it a comparison", "with the paper?"), ("RELEASED,", "PUBLISHED"), ORANGE),
    (("A network wanted,", "from views to embedding?"), ("REVISED, and", "AGC"), GREEN),
)
REST = ("AGC, anchor-graph", "clustering: seconds")
BESIDE = ("With each, run PCA + Leiden.", "If they disagree, look at the samples.")


def draw():
    """The chart.

    Returns
    -------
    str
        An SVG file.
    """
    drawn = []
    for i, (question, answer, colour) in enumerate(QUESTIONS):
        y = 36 + 82 * i
        drawn.append(labelled(112, y, 206, BLUE, question))
        drawn.append(arrow((215, y), (298, y)) + text(256, y - 8, "yes", True))
        drawn.append(labelled(378, y, 158, colour, answer))
        drawn.append(arrow((112, y + 28), (112, y + 54)) + text(132, y + 47, "no", True))
    y = 36 + 82 * len(QUESTIONS)
    drawn.append(labelled(112, y, 206, GREEN, REST))
    drawn.append(words(235, y + 76, BESIDE))
    return picture("Which recipe for which data", WIDTH, HEIGHT, FIXED, drawn)
