"""What a record says of its origin: it changes with what decides a result."""

from pathlib import Path

import numpy as np
import pandas as pd

import dmac
from experiments import provenance


def test_code_hash_sees_names_and_contents(tmp_path):
    def found(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        provenance.code_hash.cache_clear()
        return provenance.code_hash(tmp_path / "code")

    changes = [("a.py", "x = 1"), ("a.py", "x = 2"), ("b.py", "x = 2"), ("inner/b.py", "x = 2")]
    hashes = [found(f"code/{name}", text) for name, text in changes]
    assert len(set(hashes)) == 4 and {len(x) for x in hashes} == {16}
    assert found("code/page.txt", "x = 3") == found("elsewhere/a.py", "x = 3") == hashes[-1]


def test_data_hash_sees_the_labels_too():
    views, y = [np.random.default_rng(0).normal(size=(6, 3))], np.arange(6) % 2
    first, again, other = (
        provenance.data_hash(dmac.MultiViewData("toy", views, labels, 2))
        for labels in (y, y.copy(), y[::-1].copy())
    )
    assert first == again != other


def test_peak_memory_counts_from_the_reset():
    if not Path("/proc/self/clear_refs").exists():
        return
    provenance.reset_peak_memory()
    before = provenance.peak_memory()
    block = np.ones(30_000_000)
    assert provenance.peak_memory() - before > 200
    del block
    provenance.reset_peak_memory()
    assert provenance.peak_memory() - before < 100


def test_a_caption_says_when_its_runs_were_made():
    first, last, dateless, uncommitted = (
        {"date": date, "code": {"commit": commit}}
        for date, commit in (
            ("2026-11-21T20:52:27+00:00", "aaa"),
            ("2026-11-25T01:00:00+00:00", "bbb"),
            ("unknown", "unknown"),
            ("2026-11-21", None),
        )
    )
    for frames, said in (
        ([[first]], "runs of 2026-11-21, commit aaa"),
        ([[last, first]], "runs of 2026-11-21 to 2026-11-25, up to commit bbb"),
        ([[last], [first]], "runs of 2026-11-21 to 2026-11-25, up to commit bbb"),
        ([[first, dateless, {}]], "runs of 2026-11-21, commit aaa, some without a date"),
        ([[uncommitted]], "runs of 2026-11-21"),
        ([[dateless, {}]], "runs without a date"),
        ([[]], "no stored runs"),
    ):
        given = (pd.DataFrame({"record": records}, dtype=object) for records in frames)
        assert provenance.made(*given) == said
