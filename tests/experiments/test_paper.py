"""The paper's numbers are those of its LaTeX source, and its tables agree with one another."""

import re
from pathlib import Path

import numpy as np
import pytest

from experiments import paper

SOURCE = Path(__file__).parents[3] / "shared" / "paper" / "dmac-aaai25.tex"


def numbers(text):
    return tuple(float(n) for n in re.findall(r"\d+\.\d+", text))


@pytest.fixture(scope="module")
def source():
    if not SOURCE.exists():
        pytest.skip("the paper's source is not beside the checkout")
    return SOURCE.read_text(encoding="utf-8")


def between(source, start, stop):
    begin = source.index(start)
    return source[begin : source.index(stop, begin)]


def rows(text):
    """Rows of a table by their first word: its numbers."""
    lines = [line.strip(" \t%") for line in text.splitlines()]
    named = (re.match(r"(?:\\makecell\[c\]\{)?([A-Za-z-]+)\}?\s*&(.*)", line) for line in lines)
    return {m.group(1): numbers(m.group(2)) for m in named if m and numbers(m.group(2))}


def test_table_2_is_the_paper_s_and_its_averages_are_those_of_its_columns(source):
    found = rows(between(source, r"\tabcolsep=0.18cm", r"\label{tab:comparsion_performance}"))
    assert {method: row[:12] for method, row in found.items()} == paper.TABLE_2
    for method, row in found.items():
        means = np.mean(np.reshape(row[:12], (6, 2)), axis=0)
        np.testing.assert_allclose(means, row[12:], atol=0.006, err_msg=method)


def test_table_3_is_the_paper_s(source):
    text = between(source, "wo/PD & wo/CM & DMAC", r"\label{tab:ablation_performance}")
    found = [numbers(line) for line in text.splitlines() if re.search(r"& (ACC|NMI) &", line)]
    assert tuple(zip(*found)) == tuple(paper.TABLE_3.values())


def test_run_times_are_the_paper_s(source):
    found = rows(between(source, "Method & Yale & BBC & CCV", r"\label{tab:speed}"))
    assert found == paper.RUN_TIMES


def test_sizes_are_the_paper_s(source):
    text = between(source, r"\textbf{Dataset}", r"\label{tab:datasets}")
    for name, (samples, classes, dims) in paper.DATASETS.items():
        line = re.search(rf"\\textbf{{{name}}} &(.*)\\\\", text).group(1)
        assert [int(n) for n in re.findall(r"\d+", line)] == [samples, len(dims), classes, *dims]
