"""Draw the chart of chapter 14, which recipe for which data, as SVG with text.

``python scripts/draw_choice.py`` writes book/_static/which-recipe.svg. It is narrow enough for a
telephone.
"""

from draw_model import BLUE, FIXED, GREEN, ORANGE, STATIC, arrow, box, picture, text

FILE = STATIC / "which-recipe.svg"
WIDTH, HEIGHT = 470, 310

#: What is asked, line by line, and what to take if the answer is yes.
QUESTIONS = (
    (("Is it a comparison", "with the paper?"), ("RELEASED,", "PUBLISHED"), ORANGE),
    (("A network wanted,", "from views to embedding?"), ("REVISED, and", "CLOSED_FORM"), GREEN),
)
REST = ("CLOSED_FORM", "the default: seconds")
BESIDE = ("With each, run the three baselines.", "If they disagree, look at the samples.")


def _lines(x, y, lines):
    return "".join(text(x, y + 20 * i - 5, line, True) for i, line in enumerate(lines))


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
        drawn.append(box(112, y, 206, 56, BLUE) + _lines(112, y, question))
        drawn.append(arrow((215, y), (298, y)) + text(256, y - 8, "yes", True))
        drawn.append(box(378, y, 158, 56, colour) + _lines(378, y, answer))
        drawn.append(arrow((112, y + 28), (112, y + 54)) + text(132, y + 47, "no", True))
    y = 36 + 82 * len(QUESTIONS)
    drawn.append(box(112, y, 206, 56, GREEN) + _lines(112, y, REST))
    drawn.append(_lines(235, y + 76, BESIDE))
    return picture("Which recipe for which data", WIDTH, HEIGHT, FIXED, drawn)


if __name__ == "__main__":
    FILE.write_text(draw(), encoding="utf-8")
