"""What RELEASED is changed to in the ablation, the sensitivity analysis and the trials.

A change is a name and the recipe's fields; :func:`vary` makes variants of them, as
:mod:`experiments.plan` runs them.
"""

from experiments.ideas.network_ideas import change
from experiments.run import EARLY, settings_of

#: Table 3: what is taken out of RELEASED.
ABLATION = {
    "wo/PD": dict(perturbation=False, al_weight=0.0),
    "wo/CM": dict(cm_weight=0.0),
}

#: The grid of the two weights, as the paper has it.
WEIGHTS = tuple(10.0**power for power in range(-3, 4))
GRID = {(cm, sp): dict(cm_weight=cm, sp_weight=sp) for cm in WEIGHTS for sp in WEIGHTS}

#: The corners of the grid: enough for a first look.
CORNERS = [str((cm, sp)) for cm in WEIGHTS[::6] for sp in WEIGHTS[::6]]

#: One number of RELEASED at other values; k without the schedule that would override it.
LINES = {
    "m": {factor: dict(anchor_factor=factor) for factor in (0.25, 0.5, 1.0, 2.0, 3.0)},
    "k": {k: dict(n_neighbors=k, neighbor_period=0) for k in (2, 3, 5, 10)},
    "learning rate": {lr: dict(lr=lr) for lr in (1e-5, 1e-4, 1e-3, 5e-3, 1e-2)},
    "pre-training epochs": {e: dict(pretrain_epochs=e) for e in (0, 100, 300, 1000, 2000)},
}
#: Lengths at which a pre-training's state is kept on the way, for the shorter ones.
PRETRAINED_AT = (100, 300)

#: What was tried to close the gap to the paper's values on PIE and BBC.
TRIALS = {
    **{f"lr {lr:g}": dict(lr=lr) for lr in (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)},
    **{f"{e} epochs of pre-training": dict(pretrain_epochs=e) for e in (0, 100, 300)},
    "k-means++ in every epoch": dict(anchor_start="kmeans"),
    "100 epochs": dict(epochs=100),
}
PAIRED_TRIALS = {
    f"lr {lr:g}, {e} epochs of pre-training": dict(lr=lr, pretrain_epochs=e)
    for lr in (1e-5, 3e-5, 1e-4)
    for e in (100, 300)
}
#: Also one of `LINES`, with few seeds; on PIE, where it takes minutes and not hours, with ten.
LONG_TRIALS = {"2000 epochs of pre-training": dict(pretrain_epochs=2000)}
#: Beside the recipe: the term counts of BBC weighted first.
WEIGHTED_TRIALS = {f"tf-idf, lr {lr:g}": dict(lr=lr) for lr in (5e-3, 1e-3, 1e-4, 1e-5)}

#: Every choice of RELEASED that the book decides by experiment, one at a time.
BEYOND = {
    "no pre-training": dict(pretrain_epochs=0),
    "Adam": dict(optimizer="adam"),
    "step falls to 0": dict(schedule="cosine"),
    "twice the anchors": dict(anchor_factor=2.0),
    "k-means++ in every epoch": dict(anchor_start="kmeans"),
    "sampled anchors": dict(anchor_start="sample"),
    "softplus": dict(sigma="softplus"),
    "spread of the cell": dict(sigma="spread"),
    "anchors not normalised": dict(normalize_anchors=False),
    "k constant": dict(neighbor_period=0),
    "graph held constant": dict(detach_graph=True),
    "one joint graph": dict(joint_graph=True),
    "joint mutual information": dict(mutual_information="joint"),
    "balanced anchor learning": dict(al_form="balanced"),
    "structure loss over n": dict(sp_form="mean"),
    "structure loss over pairs": dict(sp_form="pairs"),
    "orthonormal fusion": dict(orthonormal=True),
    "10 starts of the last k-means": dict(final_n_init=10),
    "unit rows before the last k-means": dict(final_unit_rows=True),
    "views whitened to 2c": dict(components=2.0),
    "d = c": dict(embedding_dim=None),
    "ReLU": dict(negative_slope=0.0),
    "linear map plus MLP": dict(encoder="residual"),
    "square root of the views": dict(root=True),
    "nothing normalised in the network": dict(normalize_embedding=False, normalize_anchors=False),
}
#: As many of them, the last ones, cannot share RELEASED's pre-training.
OWN_PRETRAINING = 6


def vary(changes, **more):
    """Variants that are RELEASED with other values in some fields.

    Parameters
    ----------
    changes : dict
        Name to recipe fields; a name may be anything that has a text.
    **more
        As in :func:`experiments.run.settings_of`.

    Returns
    -------
    dict of str to (str, dict)
        Name to method and settings.
    """
    return {
        str(name): ("DMAC", settings_of(change(EARLY, **fields), **more))
        for name, fields in changes.items()
    }


def line_variants(lines=LINES):
    """The variants of `LINES`, named "what = value"."""
    return vary(
        {
            f"{what} = {value}": fields
            for what, values in lines.items()
            for value, fields in values.items()
        }
    )


#: Table 3 as a table has it.
ABLATED = vary(ABLATION | {"RELEASED": {}})

#: What was tried to come closer to the paper, as arguments of
#: :meth:`experiments.page.Page.fetch`.
ATTEMPTS = (
    dict(variants=vary({"RELEASED": {}} | TRIALS), datasets=("PIE", "BBC")),
    dict(variants=vary(PAIRED_TRIALS), datasets=("PIE", "BBC"), seeds=3),
    dict(variants=vary(LONG_TRIALS), datasets=("PIE",), only=True),
    dict(variants=vary(LONG_TRIALS), datasets=("BBC",), seeds=3, only=True),
    dict(
        variants=vary(WEIGHTED_TRIALS, weighting="tf-idf"),
        datasets=("BBC",),
        seeds=3,
        only=True,
    ),
)
