"""What two pages say of data that a reader may not have: tumours and blood cells.

``python -m experiments.one_page`` runs the cells of these pages and writes
``results/one_page.json``.
"""

import ast
import itertools
import json
from pathlib import Path

import nbformat
import numpy as np
import scipy.sparse

import dmac
from experiments import records
from experiments.studies import NINE

BOOK = Path(__file__).resolve().parents[2] / "book"
FILE = records.RESULTS / "one_page.json"
SEEDS = 3
TUMOURS, CELLS = "TCGA-KIPAN-633", "CITEseq-PBMC-1182"


def listing(page="closed_form_one_page"):
    """A page's imports and functions, by name."""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef)
    names = {}
    path = BOOK / f"{page}.ipynb"
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            tree.body = [node for node in tree.body if isinstance(node, kinds)]
            exec(compile(tree, str(path), "exec"), names)  # noqa: S102
    return names


def agreement(closed_form, data, seeds=range(SEEDS)):
    """Labels that agree after matching clusters, in %: of the cell and the module, of two seeds.

    Parameters
    ----------
    closed_form : callable
        That of the page.
    data : dmac.data.MultiViewData
    seeds : iterable of int

    Returns
    -------
    dict of str to float
        Means over the seeds and their pairs.
    """
    c = data.n_clusters
    views = [x.toarray() if scipy.sparse.issparse(x) else np.asarray(x) for x in data.views]
    cell = [closed_form(views, c, seed) for seed in seeds]
    module = [
        dmac.AnchorGraphClustering(c, random_state=i, device="cpu").fit_predict(data.views)
        for i in seeds
    ]
    pairs = {
        "cell and module": itertools.product(module, cell),
        "two seeds": itertools.combinations(module, 2),
    }
    shares = {name: [dmac.scores(*x)["acc"] for x in of] for name, of in pairs.items()}
    return {name: round(100 * float(np.mean(x)), 2) for name, x in shares.items()}


if __name__ == "__main__":
    # What the pages show of tumours and cells, and the agreement on the nine sets.
    names = listing()
    tumours = names["assays"](dmac.load(TUMOURS))
    nine = {name: agreement(names["closed_form"], dmac.load(name)) for name in NINE}
    cells = listing("your_data")["both_ways"](dmac.load(CELLS))
    stored = {TUMOURS: tumours, CELLS: cells, "agreement": nine}
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
