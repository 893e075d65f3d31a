"""A recipe is every choice of the model and of its training; three of them tell the book's story.

`PUBLISHED` reads the paper's equations literally, `RELEASED` states the choices of the authors'
implementation, `REVISED` is where the book arrives. Chapter 11 of the book compares them, chapter
12 says which to use.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Recipe:
    r"""Every choice of the model and of its training; ``dataclasses.replace`` makes a variant.

    Attributes
    ----------
    name : str
    root, components, whitening_ridge : bool, float, float
        What a view goes through first (:class:`dmac.data.pipeline.ViewPipeline`): the square root
        of views without negative entries; ``components`` times c whitened principal directions, 0
        for none; the ridge of the whitening, where a very large one only projects.
    encoder : {"mlp", "residual", "linear"}
        d_a - hidden - d with leaky ReLUs (:eq:`eq:encoder`), a linear map plus such a correction,
        or the map alone.
    closed_form_start : bool
        Start the linear maps at :func:`dmac.structure.closed_form_projection`; it needs
        ``components`` and does nothing to an "mlp", which has no linear map.
    embedding_dim : int or None
        d; None means c.
    hidden_dim : int
    negative_slope : float
        Slope of every leaky ReLU below 0.
    normalize_embedding : bool
        Scale the rows of each :math:`Z^{(a)}` and of Z to unit length.
    orthonormal : bool
        Fuse under the constraint :math:`Z^T Z = n I` (:eq:`eq:orthonormal-fusion`,
        :func:`dmac.embedding.orthonormalize`), after which the rows of Z are not scaled.
    pretrain_epochs : int
    pretrain_lr : float
        RMSprop step of the pre-training from the fused embedding (:eq:`eq:reconstruction`).
    epochs : int
    lr : float
        First step size of the main training.
    optimizer : {"rmsprop", "adam"}
    schedule : {"constant", "cosine"}
        "cosine" lets the step size fall to 0 over the epochs.
    n_anchors : int or None
        m; None means :math:`\lfloor \min(f \sqrt{n c},\ s\,n) \rfloor` with f and s the next two.
    anchor_factor, anchor_share : float
    anchor_space : {"embedding", "views"}
        Where the anchors live: in Z, or in the input of the encoders (one block a view).
    anchor_start : {"kmeans", "warm", "sample"}
        K-means to convergence, from k-means++ in every epoch or from where the last epoch's ended
        (:class:`dmac.compute.kmeans.WarmAnchors`); or random samples and ``anchor_iterations`` of Lloyd's.
    anchor_iterations : int
    anchor_sets : int
        Anchor sets in the views, drawn once and visited in turn; one is one set for the whole run.
    self_weight, self_share : float
        With anchors in the views: a share of the structure loss is taken on a graph in which the
        rows of the current Z, scaled to this length, join the views (:eq:`eq:self-graph`). Its
        anchors are drawn anew every epoch, with ``self_iterations`` of Lloyd's.
    self_iterations : int
    self_views : bool
        Whether the views stand in that graph at all; without them it is a graph of Z alone.
    joint_graph : bool
        One graph from squared distances averaged over the views, or one graph a view.
    perturbation : bool
        Whether the generator moves the k-means anchors (:eq:`eq:reparameterisation`); False with
        ``al_weight=0`` is the paper's "wo/PD".
    sigma : {"relu", "softplus", "spread"}
        What keeps the deviation of the perturbation from being negative; "spread" takes
        ``spread`` times the anchor's own cell and no shift (:eq:`eq:smoothed-graph`,
        :class:`dmac.anchors.SpreadPerturbation`).
    spread : float
    normalize_anchors : bool
        Scale the rows of U to unit length; for anchors in the embedding.
    n_neighbors : int
        k of the anchor graph (:eq:`eq:anchor-graph`) in the first epoch.
    neighbor_step, neighbor_period : int
        After every ``neighbor_period`` epochs k becomes min(k + ``neighbor_step``, floor(m / c)),
        which can be below the first k. A period of 0 keeps k.
    detach_graph : bool
        Treat the anchor graph as a constant in the structure loss.
    agcn_dim : int
        Hidden width of the anchor graph convolution d - agcn_dim - c (:eq:`eq:agcn`).
    mutual_information : {"per_row", "joint"}
        Reading of the consistency loss (:mod:`dmac.consistency`): :eq:`eq:per-row` or
        :eq:`eq:joint-over-anchors`.
    al_form : {"entropy", "balanced"}
        The paper's entropy (:eq:`eq:anchor-learning`), or with a bandwidth from the data and all
        anchors kept in use (:func:`dmac.anchors.anchor_learning_loss`).
    sp_form : {"pairs", "trace", "mean"}
        Double sum over pairs (:eq:`eq:pairs-form`, twice the trace), trace (:eq:`eq:trace-form`),
        or trace divided by n.
    al_weight, cm_weight, sp_weight : float
        Weights of the anchor learning, consistency and structure preservation losses in the joint
        loss (:eq:`eq:joint-loss`). The paper's letters for the last two are used both ways round.
    final_unit_rows : bool
        Scale the rows of Z to unit length before the final k-means.
    final_n_init : int
        Starts of the k-means that turns Z into labels.

    Raises
    ------
    ValueError
        On construction, if a field is out of its range; the message names it.
    """

    name: str
    root: bool = False
    components: float = 0.0
    whitening_ridge: float = 0.0
    encoder: str = "mlp"
    closed_form_start: bool = False
    embedding_dim: int | None = 64
    hidden_dim: int = 256
    negative_slope: float = 0.01
    normalize_embedding: bool = True
    orthonormal: bool = False
    pretrain_epochs: int = 1000
    pretrain_lr: float = 1e-3
    epochs: int = 50
    lr: float = 5e-3
    optimizer: str = "rmsprop"
    schedule: str = "constant"
    n_anchors: int | None = None
    anchor_factor: float = 1.0
    anchor_share: float = 1.0
    anchor_space: str = "embedding"
    anchor_start: str = "warm"
    anchor_iterations: int = 5
    anchor_sets: int = 1
    self_weight: float = 0.0
    self_share: float = 0.0
    self_iterations: int = 1
    self_views: bool = True
    joint_graph: bool = False
    perturbation: bool = True
    sigma: str = "relu"
    spread: float = 0.5
    normalize_anchors: bool = True
    n_neighbors: int = 5
    neighbor_step: int = 5
    neighbor_period: int = 20
    detach_graph: bool = False
    agcn_dim: int = 16
    mutual_information: str = "per_row"
    al_form: str = "entropy"
    sp_form: str = "trace"
    al_weight: float = 1.0
    cm_weight: float = 1e3
    sp_weight: float = 1e3
    final_unit_rows: bool = False
    final_n_init: int = 10

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):  # plain numbers compare, print and save alike
                value = value.item()
                object.__setattr__(self, field.name, value)
            _check_field(field.name, value)
        if self.closed_form_start and not self.components:
            raise ValueError(
                "recipe field closed_form_start needs components above 0: its eigenproblem has the "
                "width of all views together"
            )
        if self.closed_form_start and self.anchor_space != "views":
            raise ValueError(
                "recipe field closed_form_start needs anchor_space='views': before there is an "
                "embedding there are no anchors in it"
            )
        if not self.joint_graph and self.self_weight and not self.self_views:
            raise ValueError(
                "recipe field self_views can only be False with joint_graph: a graph of Z alone "
                "has no views to be split into"
            )


_AT_LEAST = {
    "embedding_dim": 1,
    "hidden_dim": 1,
    "pretrain_epochs": 0,
    "epochs": 0,
    "n_anchors": 2,
    "anchor_iterations": 0,
    "anchor_sets": 1,
    "self_iterations": 0,
    "n_neighbors": 1,
    "neighbor_step": 0,
    "neighbor_period": 0,
    "agcn_dim": 1,
    "final_n_init": 1,
}
_OR_NONE = {"n_anchors", "embedding_dim"}
_POSITIVE = {"pretrain_lr", "lr", "anchor_factor", "spread"}
_SHARE = {"anchor_share", "self_share"}
_NON_NEGATIVE = {
    "negative_slope",
    "components",
    "whitening_ridge",
    "self_weight",
    "al_weight",
    "cm_weight",
    "sp_weight",
}
_BOOLEAN = {
    "root",
    "closed_form_start",
    "normalize_embedding",
    "orthonormal",
    "self_views",
    "joint_graph",
    "perturbation",
    "normalize_anchors",
    "detach_graph",
    "final_unit_rows",
}
_CHOICES = {
    "encoder": ("mlp", "residual", "linear"),
    "optimizer": ("rmsprop", "adam"),
    "schedule": ("constant", "cosine"),
    "anchor_space": ("embedding", "views"),
    "anchor_start": ("kmeans", "warm", "sample"),
    "sigma": ("relu", "softplus", "spread"),
    "mutual_information": ("per_row", "joint"),
    "al_form": ("entropy", "balanced"),
    "sp_form": ("pairs", "trace", "mean"),
}


def _check_field(name, value):
    def refuse(what):
        raise ValueError(f"recipe field {name} is {value!r}, it must be {what}")

    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name in _AT_LEAST:
        whole = isinstance(value, int) and number and value >= _AT_LEAST[name]
        if not whole and not (name in _OR_NONE and value is None):
            refuse(f"an integer of at least {_AT_LEAST[name]}")
    elif name in _POSITIVE and not (number and 0 < value < float("inf")):
        refuse("a positive number")
    elif name in _SHARE and not (number and 0 <= value <= 1):
        refuse("a number from 0 to 1")
    elif name in _NON_NEGATIVE and not (number and 0 <= value < float("inf")):
        refuse("a number of at least 0")
    elif name in _BOOLEAN and not isinstance(value, bool):
        refuse("True or False")
    elif name in _CHOICES and value not in _CHOICES[name]:
        refuse(f"one of {_CHOICES[name]}")
    elif name == "name" and not isinstance(value, str):
        refuse("a string")


#: The equations read literally. What the paper leaves open (widths, k, lr) is taken from
#: `RELEASED`; nothing is normalised inside the network, nothing is pre-trained, the structure loss
#: is the double sum (:eq:`eq:pairs-form`), and the 100 iterations are the paper's maximum.
PUBLISHED = Recipe(
    name="published",
    normalize_embedding=False,
    normalize_anchors=False,
    pretrain_epochs=0,
    epochs=100,
    neighbor_period=0,
    sp_form="pairs",
)

#: The authors' implementation (GitHub drongwbc/DMAC-AAAI25), whose choices the paper does not give.
#: Two details differ, in every recipe: rows that are numerically zero are not blown up to unit length
#: (:class:`dmac.data.whitening.RowNormalizer`), and the k-means of an epoch starts where the last one ended
#: instead of from k-means++ (``anchor_start="kmeans"`` does that).
RELEASED = Recipe(name="released", final_n_init=1)

#: Where the book arrives, one setting for all data; chapter 11 derives it and measures it. Its
#: fusion keeps it from collapsing (:eq:`eq:orthonormal-fusion`), and its graph is averaged over
#: anchor sets and over the views and the embedding itself (:eq:`eq:self-graph`).
#: The paper's perturbation, anchor learning loss and mutual information are
#: switched off: in the paired comparison (:data:`dmac.experiments.switches.IDEAS`) none gains accuracy.
REVISED = Recipe(
    name="revised",
    root=True,
    components=2.0,
    whitening_ridge=0.03,
    encoder="residual",
    closed_form_start=True,
    embedding_dim=None,
    negative_slope=0.0,
    normalize_embedding=False,
    orthonormal=True,
    pretrain_epochs=0,
    epochs=120,
    lr=1.25e-2,
    optimizer="adam",
    schedule="cosine",
    anchor_factor=2.0,
    anchor_share=0.5,
    anchor_space="views",
    anchor_start="sample",
    anchor_sets=60,
    anchor_iterations=2,
    self_weight=1.0,
    self_share=0.5,
    self_iterations=0,
    joint_graph=True,
    perturbation=False,
    sigma="spread",
    neighbor_period=0,
    detach_graph=True,
    mutual_information="joint",
    sp_form="mean",
    al_weight=0.0,
    cm_weight=0.0,
    sp_weight=1.0,
    final_unit_rows=True,
)

#: The three by name.
RECIPES = {recipe.name: recipe for recipe in (PUBLISHED, RELEASED, REVISED)}


def get_recipe(recipe):
    """Return a `Recipe` from a name (any case) or from itself.

    Parameters
    ----------
    recipe : str or dmac.recipes.Recipe

    Returns
    -------
    dmac.recipes.Recipe

    Raises
    ------
    ValueError
        If the name is not known or the argument is neither; the message lists the names.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, str) and recipe.lower() in RECIPES:
        return RECIPES[recipe.lower()]
    raise ValueError(f"recipe is {recipe!r}, it must be one of {sorted(RECIPES)} or a Recipe")
