"""Print how large the house is: files, lines and statements by folder, and floors.

    python scripts/count_house.py [another checkout]

Docstrings are no statements. Hidden names are those that one statement assigns from a tuple beside
its first: ``a, b = 1, 2`` hides one. The number of floors is that of modules in the longest chain
of imports. Large functions are those of more than 50 statements or a complexity above 15, by ruff.
"""

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parents[1]).resolve()
FOLDERS = (
    *("dmac/agc", "dmac/solvers", "dmac/data", "dmac/compute", "dmac/peers", "dmac"),
    *("notebooks/experiments", "scripts"),
    *("tests/agc", "tests/solvers", "tests/data", "tests/compute", "tests/peers"),
    *("tests/experiments", "tests"),
)


def floors(packages):
    """The modules of the longest chain of imports; an error names a circle, where there is one."""
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)
    below = {m: set(graph.find_modules_directly_imported_by(m)) - {m} for m in graph.modules}
    chains = {}
    for module in TopologicalSorter(below).static_order():
        longest = max((chains[one] for one in below[module]), key=len, default=[])
        chains[module] = [module, *longest]
    return max(chains.values(), key=len)


def n_statements(text):
    """How many statements a module has, without its docstrings."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    said = [isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in nodes]
    return len(nodes) - sum(said)


def n_hidden(text):
    """How many names tuples assign from tuples, beside the first of each."""
    assigned = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assign)]
    pairs = [node for node in assigned if isinstance(node.value, ast.Tuple)]
    return sum(len(n.targets[0].elts) - 1 for n in pairs if isinstance(n.targets[0], ast.Tuple))


if __name__ == "__main__":
    names = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True)
    sizes = defaultdict(Counter)
    for path in filter(Path.exists, (ROOT / name for name in names.stdout.split())):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        folder = next((f for f in FOLDERS if name.startswith(f"{f}/")), "elsewhere")
        size = Counter(files=1, lines=len(text.splitlines()), statements=n_statements(text))
        size["hidden"] = n_hidden(text)
        sizes[folder] += size
        sizes["all"] += size
    columns = ("files", "lines", "statements", "hidden")
    print(f"{'folder':30}" + "".join(f"{column:>12}" for column in columns))
    for folder in filter(sizes.get, (*FOLDERS, "elsewhere", "all")):
        print(f"{folder:30}" + "".join(f"{sizes[folder][column]:12,}" for column in columns))
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "C901,PLR0915"]
    limits = ["--config", "lint.mccabe.max-complexity=15", "--output-format", "concise"]
    subprocess.run([*ruff, *limits, "dmac"], cwd=ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "notebooks")]
    apart = (ROOT / "notebooks" / "experiments").exists()
    for packages in [["dmac"], ["dmac", "experiments"]][: 1 + apart]:
        chain = floors(packages)
        print(f"{' and '.join(packages)}: {len(chain)} floors")
        print("   ", " -> ".join(chain))
