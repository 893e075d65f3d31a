"""A number's tick shows the assertions that read the values it is made of, and no others."""

import nbformat
import pytest
import show_checks
from docutils import nodes
from myst_nb.ext.glue import extract_glue_data

EARLIER = """
import numpy as np
rows = {"a": 1, "b": 2}
total = sum(rows.values())
np.testing.assert_allclose(total, 3)
assert rows["a"] == 1
for part in rows:
    assert part in "ab"
"""
LATER = """
total = 10 * total
assert total == 30
half = total / 2
glue("half", half)
for name, value in rows.items():
    glue(f"row-{name}", value)
glue("alone", 7)
import math
assert math.pi > 3
glue("called", math.floor(total))
"""


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # `total` has another value there than the first assertion reads.
        ("half", ["assert total == 30"]),
        ("row-a", ['assert rows["a"] == 1', 'for part in rows:\n    assert part in "ab"']),
        ("alone", []),
        # A module that both call holds nothing.
        ("called", ["assert total == 30"]),
    ],
)
def test_assertions_of_the_same_values_hold_a_number(key, expected):
    found = show_checks.checks(["printed = !ls\n%timeit 1", EARLIER, LATER], {key: LATER})
    assert found[key] == expected


def test_a_glued_number_remembers_its_cell(monkeypatch):
    record = nbformat.v4.new_output(
        "display_data", {"text/plain": "3"}, metadata={"scrapbook": {"name": "x"}}
    )
    cell = nbformat.v4.new_code_cell("glue('x', 3)", outputs=[record])
    monkeypatch.setattr("myst_nb.ext.glue.extract_glue_data_cell", show_checks.with_origin)
    found = extract_glue_data(nbformat.v4.new_notebook(cells=[cell]), [0], None)
    assert found["x"]["metadata"]["scrapbook"]["origin"] == "glue('x', 3)"


def test_no_line_ends_between_a_number_and_its_unit():
    number, tick = nodes.inline("", "31.1"), nodes.raw("", "✓", format="html")
    text = nodes.paragraph("", "", nodes.Text("It is "), number, nodes.Text(" %, and so on."))
    show_checks.keep_whole(number, tick)
    whole = text[1]
    assert whole["classes"] == ["whole"] and whole[:] == [number, tick, nodes.Text(" %,")]
    assert text.astext() == "It is 31.1✓ %, and so on."


def test_a_number_at_the_end_of_a_text_is_kept_whole_too():
    number = nodes.inline("", "7")
    text = nodes.paragraph("", "", number)
    show_checks.keep_whole(number)
    assert text[0][:] == [number]
