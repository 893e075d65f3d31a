"""The whole model, once as it is and once for each chapter with its part picked out.

A picture is narrow enough for a telephone, where its small print grows.
"""

WIDTH, HEIGHT = 480, 504

INK = "#1a1a1a"
# Okabe and Ito's colours, as in the figures; the fills are the same ones, light.
BLUE, ORANGE, GREEN, PURPLE, RED = "#0072b2", "#b36b00", "#00795a", "#a34d80", "#b84a00"
FILL = {BLUE: "#dcecf6", ORANGE: "#fdf0d5", GREEN: "#d9f0e8", PURPLE: "#f6e6ef", RED: "#fbe5d6"}

STYLE = """
text { font-family: "STIX Two Text", "Cambria", "Times New Roman", "DejaVu Serif", serif;
  fill: #1a1a1a; font-size: 21px; text-anchor: middle; }
.s { font-family: "Lato", "Segoe UI", "Helvetica", "Arial", "DejaVu Sans", sans-serif;
  font-size: 15px; fill: #3d3d3d; }
.up { font-size: 65%; }
.b { font-weight: bold; }
.i { font-style: italic; }
.off { opacity: 0.3; }
@media (max-width: 400px) { text { font-size: 23px; } .s { font-size: 18px; } }
"""
#: For pictures whose print does not grow on a telephone.
FIXED = STYLE.split("@media")[0]

#: What each chapter is about. Everything else is drawn faintly in its picture.
PARTS = {
    2: {"views", "encoders", "embeddings", "fusion", "z"},
    3: {"k-means", "noise", "anchors", "distances", "anchor learning"},
    4: {"embeddings", "anchors", "distances", "to graph", "graph"},
    5: {"graph", "to convolution", "convolution", "clusters"},
    6: {"clusters", "consistency"},
    7: {"z", "graph", "structure"},
    8: {"anchor learning", "consistency", "structure"},
}


BOLD, ITALIC = '<tspan class="b">{}</tspan>', '<tspan class="i">{}</tspan>'


def upper(view):
    """The number of a view, above a letter."""
    return f'<tspan class="up" dy="-8">({view})</tspan>'


def loss(name):
    """A loss: an L with its name below."""
    return ITALIC.format("L") + f'<tspan class="up" dy="5">{name}</tspan>'


def picture(title, width, height, style, drawn):
    """An SVG file of what is drawn."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}">',
            f"<title>{title}</title>",
            f"<style>{style}</style>",
            *drawn,
            "</svg>\n",
        ]
    )


def text(x, y, content, small=False):
    kind = ' class="s"' if small else ""
    return f'<text x="{x}" y="{y}"{kind}>{content}</text>'


def matrix(x, y, width, height, colour, name, lines=4):
    """A sheet with rows, its middle at (x, y)."""
    left, top = x - width / 2, y - height / 2
    rows = "".join(f"M{left:g} {top + height * i / lines:g}h{width:g}" for i in range(1, lines))
    return (
        box(x, y, width, height, colour, 3)
        + f'<path d="{rows}" stroke="{colour}" stroke-width="0.7" opacity="0.35"/>'
        + text(x, y + 7, name)
    )


def arrow(*points):
    """A line through the points, with a head at the last one."""
    (x0, y0), (x, y) = points[-2:]
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    if dx and dy:  # a slanted one: along its own direction
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        dx, dy = (x - x0) / length, (y - y0) / length
    path = " ".join(f"{px:g},{py:g}" for px, py in points[:-1])
    end = f"{x - 6 * dx:g},{y - 6 * dy:g}"
    side = [(x - 9 * dx + s * 4.5 * dy, y - 9 * dy - s * 4.5 * dx) for s in (1, -1)]
    head = " ".join(f"{px:.1f},{py:.1f}" for px, py in [(x, y), *side])
    return (
        f'<polyline points="{path} {end}" fill="none" stroke="{INK}" stroke-width="1.6"/>'
        f'<polygon points="{head}" fill="{INK}"/>'
    )


def dashed_line(*points):
    """A dashed line from a loss to what it trains."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{RED}" stroke-width="1.8" '
        'stroke-dasharray="5 4"/>'
    )


def box(x, y, width, height, colour, round=10):
    """A step without a matrix of its own, its middle at (x, y)."""
    return (
        f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width}" height="{height}" '
        f'rx="{round}" fill="{FILL[colour]}" stroke="{colour}" stroke-width="1.6"/>'
    )


def words(x, y, lines):
    """Two lines of small print around (x, y)."""
    return "".join(text(x, y + 20 * i - 5, line, True) for i, line in enumerate(lines))


def labelled(x, y, width, colour, lines):
    """A box with two lines of small print."""
    return box(x, y, width, 56, colour) + words(x, y, lines)


def pill(x, y, name):
    return box(x, y, 62, 36, RED, 18) + text(x, y + 6, loss(name))


def dot(x, y, content, colour, radius=14):
    return (
        f'<circle cx="{x}" cy="{y}" r="{radius}" fill="#ffffff" stroke="{colour}" '
        f'stroke-width="1.6"/>' + text(x, y + 6, content)
    )


def network(x, y, above=""):
    """An encoder, a slanted box."""
    return (
        f'<path d="M{x - 24} {y - 27}L{x + 24} {y - 15}V{y + 15}L{x - 24} {y + 27}Z" '
        f'fill="{FILL[BLUE]}" stroke="{BLUE}" stroke-width="1.6"/>'
        + text(x, y + 7, ITALIC.format("f") + above)
    )


TOP, LOW, ROW, NOISE, LANE, GRAPH = (
    72,
    148,
    110,
    246,
    316,
    424,
)  # heights of what stands side by side


UP = '<tspan class="up" dy="-8">{}</tspan><tspan dy="8"> </tspan>'
CONVOLUTION = f"D{UP.format('−1')}S{UP.format('T')}S"


def view(y, a):
    """The row of a view, up to its embedding, and the arrow from there to the fused one."""
    return [
        ("views", matrix(42, y, 60, 54, BLUE, BOLD.format("X") + upper(a))),
        (
            "encoders",
            arrow((72, y), (93, y)) + network(117, y, upper(a)) + arrow((141, y), (169, y)),
        ),
        ("embeddings", matrix(193, y, 48, 54, BLUE, BOLD.format("Z") + upper(a))),
        ("fusion", arrow((217, y), (243, ROW + (12 if y > ROW else -12)))),
    ]


#: Everything in the picture, as pairs of the part's name and its SVG, from back to front.
ELEMENTS = [
    ("structure", dashed_line((318, 153), (318, 188), (254, 188), (254, 396), (224, 396))),
    ("anchor learning", dashed_line((177, LANE), (101, LANE))),
    *view(TOP, "1"),
    *view(LOW, ITALIC.format("v")),
    ("views", text(42, 30, "views", True)),
    ("encoders", text(117, 30, "encoders", True)),
    ("fusion", box(264, ROW, 54, 32, BLUE) + text(264, ROW + 5, "mean", True)),
    ("fusion", arrow((291, ROW), (311, ROW))),
    ("z", matrix(330, ROW, 38, 86, BLUE, BOLD.format("Z"), 6)),
    ("labels", arrow((349, ROW), (379, ROW)) + words(420, ROW, ("k-means:", "labels"))),
    ("k-means", arrow((336, 153), (336, 218)) + text(296, 212, "k-means", True)),
    ("k-means", matrix(336, NOISE, 38, 56, ORANGE, BOLD.format("Û"), 3)),
    ("noise", arrow((355, NOISE), (378, NOISE)) + arrow((392, 208), (392, 232))),
    ("noise", text(412, 178, "noise", True) + text(412, 201, ITALIC.format("μ + σ ⊙ ϵ"))),
    ("noise", dot(392, NOISE, "+", ORANGE) + arrow((406, NOISE), (429, NOISE))),
    ("anchors", matrix(448, NOISE, 38, 56, ORANGE, BOLD.format("U"), 3)),
    ("anchors", text(402, 300, "anchors", True)),
    ("distances", arrow((448, 274), (448, LANE), (209, LANE)) + arrow((193, 175), (193, 300))),
    ("distances", dot(193, LANE, ITALIC.format("d"), GREEN, 16)),
    ("to graph", arrow((193, 332), (193, 381))),
    (
        "graph",
        matrix(193, GRAPH, 58, 86, GREEN, BOLD.format("S") + upper(ITALIC.format("a")), 6),
    ),
    ("graph", text(193, 492, "anchor graph", True)),
    ("graph", words(98, GRAPH, ("one for each", f"view {ITALIC.format('a')}"))),
    ("to convolution", arrow((222, GRAPH), (267, GRAPH)) + arrow((322, LANE), (322, 399))),
    ("convolution", box(322, GRAPH, 110, 50, PURPLE)),
    ("convolution", text(322, GRAPH + 7, BOLD.format(CONVOLUTION))),
    ("convolution", text(322, 492, "convolution", True) + arrow((377, GRAPH), (399, GRAPH))),
    ("clusters", matrix(435, GRAPH - 14, 48, 56, PURPLE, "", 3)),
    (
        "clusters",
        matrix(423, GRAPH, 48, 56, PURPLE, BOLD.format("F") + upper(ITALIC.format("a")), 3),
    ),
    ("clusters", text(429, 492, "clusters", True)),
    ("consistency", dashed_line((435, 382), (435, 366)) + pill(435, 350, "CM")),
    ("anchor learning", pill(70, LANE, "AL") + text(70, LANE + 38, "entropy", True)),
    ("structure", pill(254, 258, "SP")),
]


def draw(chapter=None):
    """The picture, with the part that a chapter is about picked out.

    Parameters
    ----------
    chapter : int, optional
        One of `PARTS`. Without it all parts are equal.

    Returns
    -------
    str
        An SVG file.
    """
    chosen = PARTS[chapter] if chapter else {part for part, _ in ELEMENTS}
    drawn = [f'<g class="{"on" if part in chosen else "off"}">{svg}</g>' for part, svg in ELEMENTS]
    return picture("Deep Multi-view Anchor Clustering", WIDTH, HEIGHT, STYLE, drawn)
