"""The record's pages and what is counted on them have letters; nothing else changes."""

from types import SimpleNamespace

import number_record
from docutils import nodes

RECORD, FIRST, SECOND = number_record.RECORD, "book/experiments/first", "book/second"


def test_pages_sections_and_figures_of_the_record_get_letters():
    def contents(*numbers):
        return nodes.bullet_list("", *(nodes.reference(secnumber=number) for number in numbers))

    names = {RECORD: (20,), FIRST: (20, 1), SECOND: (20, 2), "book/chapter": (7, 3)}
    env = SimpleNamespace(
        toctree_includes={RECORD: [FIRST, SECOND]},
        toc_secnumbers={name: {"": n, "#part": (*n, 4)} for name, n in names.items()},
        titles={name: nodes.title(secnumber=n) for name, n in names.items()},
        tocs={name: contents(n, (*n, 4)) for name, n in names.items()},
        toc_fignumbers={
            FIRST: {"figure": {"a": (20, 1), "b": (20, 2)}},
            SECOND: {"figure": {"c": (20, 3)}, "displaymath": {"d": (20, 1)}},
            "book/chapter": {"figure": {"e": (7, 1)}},
            "book/plain": {"figure": {"f": (2,)}},
        },
    )
    env.toc_secnumbers[RECORD] = {"": (20,)}
    assert number_record.renumber(None, env) == [RECORD, FIRST, SECOND, "book/plain"]
    assert env.toc_secnumbers[SECOND] == {"": ("R2",), "#part": ("R2", 4)}
    assert env.titles[FIRST]["secnumber"] == ("R1",) and env.titles[RECORD]["secnumber"] is None
    assert [one["secnumber"] for one in env.tocs[SECOND]] == [("R2",), ("R2", 4)]
    assert env.toc_fignumbers[FIRST] == {"figure": {"a": ("R1", 1), "b": ("R1", 2)}}
    assert env.toc_fignumbers[SECOND] == {
        "figure": {"c": ("R2", 1)},
        "displaymath": {"d": ("R2", 1)},
    }
    assert env.toc_fignumbers["book/plain"] == {"figure": {"f": ("A2",)}}
    assert env.toc_fignumbers["book/chapter"] == {"figure": {"e": (7, 1)}}
    assert env.toc_secnumbers["book/chapter"] == {"": (7, 3), "#part": (7, 3, 4)}
