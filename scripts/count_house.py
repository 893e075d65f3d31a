"""Print how large the house is: files and lines by folder, floors and circles of imports.

    python scripts/count_house.py [another checkout]
    python scripts/count_house.py A.whl  # files and bytes of a wheel, unpacked

The number of floors is that of modules in the longest chain of imports.
"""

import subprocess
import sys
import zipfile
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

import grimp

ROOT = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parents[1]).resolve()
FOLDERS = (
    *("dmac/closed_form", "dmac/solvers", "dmac/data", "dmac/compute", "dmac/peers", "dmac"),
    *("notebooks/experiments/ideas", "notebooks/experiments", "scripts"),
    *("tests/closed_form", "tests/solvers", "tests/data", "tests/compute", "tests/peers"),
    *("tests/experiments", "tests"),
)


def floors(packages):
    """The modules of the longest chain of imports, and the circles that were opened to find it."""
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)
    below = {m: set(graph.find_modules_directly_imported_by(m)) for m in graph.modules}
    circles, chains, order = [], {}, None
    while order is None:
        try:
            order = list(TopologicalSorter(below).static_order())
        except CycleError as error:
            circles.append(error.args[1])
            below[circles[-1][1]].remove(circles[-1][0])
    for module in order:
        longest = max((chains[one] for one in below[module]), key=len, default=[])
        chains[module] = [module, *longest]
    return max(chains.values(), key=len), circles


def print_wheel(path):
    """Files and bytes by folder, those of the files as they are unpacked."""
    files, sizes = Counter(), Counter()
    for one in zipfile.ZipFile(path).infolist():
        folder = str(PurePosixPath(one.filename).parent)
        files[folder] += 1
        sizes[folder] += one.file_size
    for folder in sorted(files):
        print(f"{folder:30}{files[folder]:6}{sizes[folder]:10,}")
    print(f"{'all':30}{files.total():6}{sizes.total():10,}, packed {path.stat().st_size:,}")


if __name__ == "__main__":
    if ROOT.suffix == ".whl":
        sys.exit(print_wheel(ROOT))
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True)
    files, lines = Counter(), Counter()
    for name in filter(lambda name: (ROOT / name).exists(), listed.stdout.split()):
        folder = next((one for one in FOLDERS if name.startswith(f"{one}/")), "elsewhere")
        files[folder] += 1
        lines[folder] += len((ROOT / name).read_text(encoding="utf-8").splitlines())
    print(f"{'folder':30}{'files':>6}{'lines':>8}")
    for folder in [one for one in FOLDERS if files[one]]:
        print(f"{folder:30}{files[folder]:6}{lines[folder]:8}")
    print(f"{'all':30}{files.total():6}{lines.total():8}")
    sys.path[:0] = [str(ROOT), str(ROOT / "notebooks")]
    apart = (ROOT / "notebooks" / "experiments").exists()
    for packages in [["dmac"], ["dmac", "experiments"]][: 1 + apart]:
        chain, circles = floors(packages)
        print(f"{' and '.join(packages)}: {len(chain)} floors, {len(circles)} circles")
        for one in (chain, *circles):
            print("   ", " -> ".join(one))
