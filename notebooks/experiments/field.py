"""The runs that set the other systems beside the numbers that are published of them.

A published number was chosen with the labels from a grid of settings. The runs here repeat that
for the systems that train no network, so that a gap can be told from a choice. No other run takes
anything from them. The comparison page shows them, by :mod:`experiments.field_tables`.
"""

from experiments.run import peer_settings

#: Clusters of the data sets that are the paper's.
CLUSTERS = {"PIE": 68, "BBC": 5}
#: The data sets on which the nine systems are run.
EVERYWHERE = (
    *("PIE", "BBC", "mfeat", "100Leaves", "NGs", "BBCSport"),
    *("Yale-3view", "3Sources", "MNIST-4"),
)
#: Seeds of every point of a grid, which costs as many runs as it has points.
SEEDS = (1,)


def _points(system, changes, **fixed):
    return {
        f"{system}, {', '.join(f'{k} {v:g}' for k, v in c.items())}": (
            system,
            peer_settings(system, **(fixed | c)),
        )
        for c in changes
    }


def grid(c):
    """The settings from which a published number may have been chosen, for data with c clusters.

    LMVSC has the grid of its public demonstration; fewer anchors than clusters are left out. MSGL
    has the values of alpha that the paper of DMAC names and those of gamma in its own
    demonstration, whose values of beta go with features that are not scaled; with unit rows beta
    is n / c. Of UDBGL only one point is published; here are powers of ten around it. GMC has
    nothing to choose.

    Parameters
    ----------
    c : int

    Returns
    -------
    dict of str to (str, dict)
        Name to method and settings.
    """
    lmvsc = [
        dict(n_anchors=m, alpha=alpha)
        for m in sorted({c, 50, 100})
        if m >= c
        for alpha in (0.01, 1.0, 100.0)
    ]
    msgl = [
        dict(alpha=alpha, gamma=gamma)
        for alpha in (0.001, 0.01, 0.1, 1.0, 10.0, 50.0)
        for gamma in (-5.0, -3.0, -1.0)
    ]
    msgl += [
        dict(alpha=alpha, beta=beta, normalize=False)
        for alpha in (1.0, 10.0)
        for beta in (5e4, 1e5, 5e5)
    ]
    udbgl = [
        dict(alpha=alpha, beta=beta)
        for alpha in (1e-5, 1e-3, 1e-1, 10.0)
        for beta in (1e-7, 1e-5, 1e-3, 1e-1)
    ]
    return _points("LMVSC", lmvsc) | _points("MSGL", msgl, beta=None) | _points("UDBGL", udbgl)


#: What was tried where a system is away from its published number: rows of unit length in place of
#: features from 0 to 1 for UDBGL, and of standardised ones for GMC, neighbours by the cosine for
#: CMGEC, for GCFAggMVC more steps or a lower temperature, and for it and DealMVC standardised
#: features in place of those from 0 to 1.
#: What MSGL had by default before, a graph as heavy as the fit.
HEAVY_GRAPH = {"MSGL, n / c": ("MSGL", peer_settings("MSGL", beta=None))}
UNIT_ROWS = {"UDBGL, unit rows": ("UDBGL", peer_settings("UDBGL", scale="rows"))}
GMC_ROWS = {"GMC, unit rows": ("GMC", peer_settings("GMC", scale="rows"))}
COSINE = {"CMGEC, cosine": ("CMGEC", peer_settings("CMGEC", metric="cosine"))}
#: The same with a tenth of the epochs.
COSINE_TENTH = {
    "CMGEC, cosine, a tenth": (
        "CMGEC",
        peer_settings(
            "CMGEC",
            metric="cosine",
            **dict(fusion_epochs=200, embedding_epochs=200, epochs=50, refresh=5),
        ),
    )
}
AGGREGATION = {
    f"GCFAggMVC, {name}": ("GCFAggMVC", peer_settings("GCFAggMVC", **changes))
    for name, changes in {
        "batches of 64": dict(batch_size=64),
        "temperature 0.1": dict(temperature=0.1),
    }.items()
}

STANDARDISED = {
    f"{system}, standardised": (system, peer_settings(system, scale="standard"))
    for system in ("DealMVC", "GCFAggMVC")
}
#: The same on texts.
TEXTS = {name: run for name, run in STANDARDISED.items() if run[0] == "GCFAggMVC"}
#: What DealMVC's calibration, 100 epochs by default, does to what pre-training gave.
CALIBRATION = {
    f"DealMVC, standardised, {epochs} epochs of calibration": (
        "DealMVC",
        peer_settings("DealMVC", scale="standard", calibration_epochs=epochs),
    )
    for epochs in (0, 2, 5)
}

#: DFP-GNN's pre-training, which ``flat`` ends early, going on: its loss, and no clustering.
ON_AND_ON = {
    "DFP-GNN, on and on": (
        "DFP-GNN",
        peer_settings("DFP-GNN", flat=None, pretrain_epochs=5000, epochs=0),
    )
}

#: Its last stage until no label changes, which the plan's runs end after 2000 epochs.
TO_THE_END = {"DFP-GNN, to the end": ("DFP-GNN", peer_settings("DFP-GNN"))}
#: A tenth of its epochs with the 1 % rule, where the plan's short runs end a stage at 5 %.
ONE_PERCENT = {
    "DFP-GNN, a tenth, to 1 %": (
        "DFP-GNN",
        peer_settings("DFP-GNN", pretrain_epochs=2000, epochs=200, refresh=5),
    )
}
#: Its pre-training's loss as a sum over the features, whose mean stands on a plateau on BBC.
SUMS = {"DFP-GNN, sums": ("DFP-GNN", peer_settings("DFP-GNN", reduction="sum", epochs=2000))}
#: Past that plateau with the mean: ten times the rate, or the published end of a stage.
PLATEAU = {
    f"DFP-GNN, {name}": ("DFP-GNN", peer_settings("DFP-GNN", **changes))
    for name, changes in {
        "ten times the rate": dict(lr=1e-4, pretrain_epochs=300, epochs=0),
        "the published end": dict(flat=None, pretrain_epochs=2000, epochs=2000),
    }.items()
}

#: SURER without its second stage: labels by the centres with which that would begin.
FIRST_STAGE = {"SURER, first stage alone": ("SURER", peer_settings("SURER", epochs=0))}
#: Both stages, with pseudo-labels from the spectral clustering of the refined graphs in place of
#: those from k-means, which on BBC splits the largest class and joins two others.
SPECTRAL_LABELS = {
    "SURER, spectral pseudo-labels": ("SURER", peer_settings("SURER", initial="spectral"))
}
#: The public code repeats its run ten times, and each begins with the weights of the one before.
TEN_REPEATS = {
    "SURER, first stage ten times as long": (
        "SURER",
        peer_settings("SURER", pretrain_epochs=4500, epochs=0),
    )
}
#: PIE has n / c = 10 samples per class; SURER's graphs have 25 neighbours, those of DFP-GNN 50 and
#: 40.
FEWER_NEIGHBOURS = {
    f"SURER, {k} neighbours": ("SURER", peer_settings("SURER", n_neighbors=k)) for k in (10, 5)
}
_TEN = dict(n_neighbors=10, n_fused_neighbors=10)
FEWER_NEIGHBOURS["DFP-GNN, 10 neighbours"] = (
    "DFP-GNN",
    peer_settings("DFP-GNN", epochs=2000, **_TEN),
)
#: DFP-GNN without its last stage, with either number of neighbours, to tell the two apart.
PRETRAINING_ALONE = {
    f"{name}, pre-training alone": ("DFP-GNN", peer_settings("DFP-GNN", epochs=0, **changes))
    for name, changes in {"DFP-GNN": {}, "DFP-GNN, 10 neighbours": _TEN}.items()
}


def _group(variants, datasets, seeds):
    return {"variants": variants, "datasets": datasets, "seeds": seeds}


#: The groups of stored runs, as :data:`experiments.switches.GROUPS` has them.
GROUPS = {
    "other systems, grid of PIE": _group(grid(CLUSTERS["PIE"]), ("PIE",), SEEDS),
    "other systems, grid of BBC": _group(grid(CLUSTERS["BBC"]), ("BBC",), SEEDS),
    "MSGL, n / c": _group(HEAVY_GRAPH, EVERYWHERE, range(1, 11)),
    "UDBGL, unit rows": _group(UNIT_ROWS, ("PIE", "BBC"), range(1, 11)),
    "GMC, unit rows": _group(GMC_ROWS, ("PIE", "BBC"), (1,)),
    "CMGEC, cosine": _group(
        COSINE, ("3Sources", "BBCSport", "NGs", "BBC", "Yale-3view", "PIE"), (1, 2, 3)
    ),
    "CMGEC, cosine, a tenth": _group(
        COSINE_TENTH,
        ("Yale-3view", "3Sources", "BBCSport", "PIE", "mfeat", "100Leaves", "MNIST-4"),
        (1, 2, 3),
    ),
    "DFP-GNN, on and on": _group(ON_AND_ON, ("Yale-3view",), (1,)),
    "DFP-GNN, to the end": _group(TO_THE_END, ("Yale-3view", "BBC"), (1,)),
    "DFP-GNN, a tenth": _group(ONE_PERCENT, ("100Leaves",), (1,)),
    "DFP-GNN, sums": _group(SUMS, ("BBC",), (1,)),
    "DFP-GNN, plateau": _group(PLATEAU, ("BBC",), (1,)),
    "SURER, first stage": _group(FIRST_STAGE, ("PIE", "BBC"), (1, 2, 3)),
    "SURER, spectral pseudo-labels": _group(SPECTRAL_LABELS, ("BBC",), (1, 2, 3)),
    "GCFAggMVC on texts": _group(TEXTS, ("BBC",), (1,)),
    "DFP-GNN, pre-training alone": _group(PRETRAINING_ALONE, ("PIE",), (1, 2, 3)),
    "fewer neighbours": _group(FEWER_NEIGHBOURS, ("PIE",), (1,)),
    "SURER, ten repeats": _group(TEN_REPEATS, ("PIE",), (1,)),
    "GCFAggMVC, trials": _group(AGGREGATION, ("PIE",), (1,)),
    "standardised features": _group(STANDARDISED, ("PIE",), (1, 2, 3)),
    "DealMVC, calibration": _group(CALIBRATION, ("PIE",), (1, 2, 3)),
}
