"""Stored runs of the other systems, as page 01 reads and counts them."""

import pandas as pd

from experiments import records, studies


def count_stored(runs, seeds):
    """How many runs of each variant are asked for, stored, and not yet made.

    Parameters
    ----------
    runs : pandas.DataFrame
    seeds : dict of str to int
        How many are asked for of each variant, on every data set of ``runs``.

    Returns
    -------
    pandas.DataFrame of int
        One row per variant: ``seeds``, ``asked for``, ``stored``, ``not yet run``.
    """
    stored = runs.groupby("variant", observed=False).size().reindex(list(seeds), fill_value=0)
    table = pd.DataFrame({"seeds": seeds, "asked for": 0, "stored": stored}, dtype=int)
    table["asked for"] = table.seeds * len(runs.dataset.cat.categories)
    table["not yet run"] = table["asked for"] - table.stored
    return table.loc[list(seeds)].rename_axis(None)


def read_published(results=records.RESULTS):
    """The stored runs behind :func:`experiments.field_tables.format_published`.

    Parameters
    ----------
    results : path

    Returns
    -------
    runs : pandas.DataFrame
        Of the nine systems as the plan has them, on the data sets that are the paper's.
    grids : dict of str to pandas.DataFrame
    trials : pandas.DataFrame
        Of what was tried where a number is missed.
    """
    stored = records.index(records.open_store(results).refresh())
    systems = studies.SHALLOW_PEERS | studies.DEEP_PEERS
    runs = records.runs(stored, systems, list(studies.CLUSTERS), range(1, 11))
    grids = {d: records.runs_of(stored, f"other systems, grid of {d}") for d in studies.CLUSTERS}
    tried = {name: run for s in studies.PEER_TRIALS.values() for name, run in s.variants.items()}
    return runs, grids, records.runs(stored, tried, list(studies.CLUSTERS), range(1, 11))


def read_flattening(results=records.RESULTS, dataset="Yale-3view", seed=1):
    """Curves of DFP-GNN by its own rules, and of its pre-training going on.

    Parameters
    ----------
    results : path
    dataset : str
    seed : int

    Returns
    -------
    stopped, endless : dict of str to dict
        As :func:`experiments.measure.curves_of` returns them; empty where no run is stored.
    """
    stored = records.index(records.open_store(results).refresh())
    ends = [studies.STUDIES[f"DFP-GNN, {name}"].variants for name in ("to the end", "on and on")]
    asked = [run for variants in ends for run in variants.values()]
    names = [records.run_name(dataset, method, settings, seed) for method, settings in asked]
    return tuple(stored.get(name, {}).get("curves", {}) for name in names)


def read_last_stages(results=records.RESULTS, seed=1):
    """Curves of DFP-GNN's last stage.

    Parameters
    ----------
    results : path
    seed : int

    Returns
    -------
    dict of str to dict
        By data set, one of the curves of :func:`experiments.measure.curves_of`: of the runs
        that go on until no label changes, and on PIE of the plan's run. Data sets of which none is
        stored are left out.
    """
    stored = records.index(records.open_store(results).refresh())
    ((method, settings),) = studies.STUDIES["DFP-GNN, to the end"].variants.values()
    asked = dict.fromkeys(("Yale-3view", "BBC"), settings) | {"PIE": studies.DEEP_PEERS[method][1]}
    found = {d: stored.get(records.run_name(d, method, s, seed)) for d, s in asked.items()}
    return {d: run["curves"]["tuning"] for d, run in found.items() if run and "curves" in run}


def measure_flattening(stopped, endless):
    """Where pre-training ended, and what of the loss it left.

    Parameters
    ----------
    stopped, endless : dict of str to dict
        As `read_flattening` returns them.

    Returns
    -------
    pandas.DataFrame
        One row per view: ``epochs`` until the end, and in % of the first epoch's loss what it was
        ``then`` and ``later``, after the last epoch of the run that went on.
    """
    rows = {}
    for stage in [name for name in endless if name in stopped and name.startswith("view")]:
        first, last = endless[stage]["loss"][0], endless[stage]["loss"][-1]
        then = stopped[stage]["loss"][-1]
        shares = {"then": 100 * then / first, "later": 100 * last / first}
        rows[stage] = {"epochs": stopped[stage]["epochs"], **shares}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["epochs", "then", "later"])
