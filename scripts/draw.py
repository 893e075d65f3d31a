"""Draw the pictures of the book as SVG: ``python scripts/draw.py`` writes them to book/_static.

The text in them is text, in whatever fonts the reader has.
"""

from pathlib import Path

import draw_model
import draw_partition
import draw_peers
import draw_recipe

STATIC = Path(__file__).resolve().parent.parent / "book" / "_static"


def pictures():
    """The pictures by the names of their files."""
    return {
        "closed-form.svg": draw_recipe.draw(),
        "partition.svg": draw_partition.draw(),
        "model.svg": draw_model.draw(),
        **{f"model-{chapter}.svg": draw_model.draw(chapter) for chapter in draw_model.PARTS},
        "peer-legend.svg": draw_peers.draw_legend(),
        **{f"peer-{name.lower()}.svg": draw_peers.draw(name) for name in draw_peers.SYSTEMS},
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (STATIC / name).write_text(svg, encoding="utf-8")
