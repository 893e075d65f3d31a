"""How much of the core its tests run: one row for every file, and one for all of them.

    python scripts/tabulate_coverage.py

reads what ``make coverage`` has measured and writes ``notebooks/results/coverage.csv``. It fails
where fewer branches are run than ``fail_under`` in ``pyproject.toml`` asks for: coverage's own
number is of lines and branches together, which is easier to reach.
"""

import json
import sys
import tempfile
from pathlib import Path

import coverage
import pandas as pd

PATH = Path(__file__).resolve().parents[1] / "notebooks" / "results" / "coverage.csv"
COLUMNS = {
    "num_statements": "statements",
    "covered_lines": "statements_run",
    "num_branches": "branches",
    "covered_branches": "branches_run",
}


def tabulate(measured):
    """The measured files, those of which least is run first, and all of them in the last row.

    Parameters
    ----------
    measured : coverage.Coverage
        With its data loaded.

    Returns
    -------
    pandas.DataFrame
        ``file``, the numbers of statements and branches and of those that were run, and
        ``covered``, the share of both in percent.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "coverage.json"
        measured.json_report(outfile=str(path))
        report = json.loads(path.read_text())
    files = {Path(name).as_posix(): one["summary"] for name, one in report["files"].items()}
    rows = [
        {"file": name} | {new: s[old] for old, new in COLUMNS.items()}
        for name, s in files.items()
        if s["num_statements"]
    ]
    table = pd.DataFrame(rows)
    table.loc[len(table)] = {"file": "all"} | table.drop(columns="file").sum().to_dict()
    run, there = (table[f"statements{s}"] + table[f"branches{s}"] for s in ("_run", ""))
    table["covered"] = (100 * run / there).round(1)
    everything = table.file == "all"
    return pd.concat([table[~everything].sort_values(["covered", "file"]), table[everything]])


def too_few(table, least):
    """What to say of a table in which fewer than ``least`` percent of the branches are run."""
    row = table.iloc[-1]
    share = 100 * row.branches_run / row.branches
    if share < least:
        return (
            f"{share:.1f} % of the branches are run, and fail_under asks for {least} %: "
            "_build/coverage/index.html shows the others"
        )


def main():
    """Write the table, and fail if too few branches are run."""
    measured = coverage.Coverage()
    measured.load()
    table = tabulate(measured)
    table.to_csv(PATH, index=False)
    sys.exit(too_few(table, measured.get_option("report:fail_under")))


if __name__ == "__main__":
    main()
