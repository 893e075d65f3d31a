"""What the page "CLOSED_FORM in one page" says of data that a reader may not have.

``python -m experiments.one_page`` runs the cell of that page, and writes ``results/one_page.json``.
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

PAGE = Path(__file__).resolve().parents[2] / "book" / "closed_form_one_page.ipynb"
FILE = records.RESULTS / "one_page.json"
SEEDS = 3
TUMOURS = "TCGA-KIPAN-633"


def listing():
    """The page's imports and functions, by name."""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef)
    names = {}
    for cell in nbformat.read(PAGE, 4).cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            tree.body = [node for node in tree.body if isinstance(node, kinds)]
            exec(compile(tree, str(PAGE), "exec"), names)  # noqa: S102
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
    module = [dmac.DMAC(c, random_state=i, device="cpu").fit_predict(data.views) for i in seeds]
    pairs = {
        "cell and module": itertools.product(module, cell),
        "two seeds": itertools.combinations(module, 2),
    }
    shares = {name: [dmac.scores(*x)["acc"] for x in of] for name, of in pairs.items()}
    return {name: round(100 * float(np.mean(x)), 2) for name, x in shares.items()}


def main():
    """Write what the page shows of the tumours, and the agreement on the nine sets."""
    names = listing()
    tumours = names["assays"](dmac.load(TUMOURS))
    nine = {name: agreement(names["closed_form"], dmac.load(name)) for name in NINE}
    stored = {TUMOURS: tumours, "agreement": nine}
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
