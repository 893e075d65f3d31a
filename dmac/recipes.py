"""A recipe is every choice of the model and of its training; four of them tell the book's story.

`PUBLISHED` reads the paper's equations literally, `RELEASED` states the choices of the authors'
implementation, `REVISED` is what the book made of the network, and `CLOSED_FORM` does without one.
Chapters 11 and 12 of the book derive what is ours, chapter 13 compares it, and "Your own data" says
which to use.
"""

from dataclasses import MISSING, dataclass, fields, replace
from typing import ClassVar

import numpy as np

from dmac._parameters import (
    FLAG,
    NON_NEGATIVE,
    POSITIVE,
    SHARE,
    TEXT,
    WEIGHTS,
    at_least,
    check_ranges,
    choice,
    documented,
    one_of,
    or_none,
)


@documented
@dataclass(frozen=True)
class BaseRecipe:
    """What both kinds of recipes share; use :class:`NetworkRecipe` and :class:`SpectralRecipe`.

    Raises
    ------
    ValueError
        On construction, if a field is out of its range; the message names it.
    """

    #: The class that solves it, as ``module:class``; :func:`dmac.solvers.contract.solver_of`.
    solver: ClassVar[str]

    name: str = choice(MISSING, TEXT, "Of the recipe.")

    # What a view goes through first.
    root: bool = choice(False, FLAG, "Take the square root of views without negative entries.")
    components: float = choice(
        0.0,
        NON_NEGATIVE,
        """
        A view is projected to so many times c principal directions and whitened
        (:class:`dmac.data.pipeline.ViewPipeline`); 0 leaves it as it is.""",
    )
    whitening_ridge: float = choice(
        0.0, NON_NEGATIVE, "The ridge of the whitening, where a very large one only projects."
    )

    columns: str = choice(
        "given",
        one_of("given", "standardised"),
        """
        What is done to the columns of a view before all else: nothing, or their means are
        subtracted, and they are divided by their standard deviations. Samples that lack the view do
        not count. The means of a sparse view stay.""",
    )

    # Anchors and their graphs.
    n_anchors: int | None = choice(
        None,
        or_none(at_least(2)),
        r"""m; None means :math:`\lfloor \min(f \sqrt{n c},\ s\,n) \rfloor` with f and s the next
        two.""",
    )
    anchor_factor: float = choice(1.0, POSITIVE, "The f of ``n_anchors``.")
    anchor_share: float = choice(1.0, SHARE, "The s of ``n_anchors``.")
    anchor_iterations: int = choice(5, at_least(0), "Of Lloyd's, from random samples.")
    anchor_sets: int = choice(
        1,
        at_least(1),
        """
        Anchor sets in the views: of a network drawn once and visited in turn, of the spectral
        solver T, all of them averaged.""",
    )
    n_neighbors: int = choice(
        5,
        at_least(1),
        "k of the anchor graph :eq:`eq:anchor-graph`; of a network in the first epoch.",
    )
    vote_weight: float = choice(
        0.0,
        NON_NEGATIVE,
        """
        Length of the rows of a vote beside the views (:eq:`eq:vote-graph`;
        :mod:`dmac.agc.votes`). A network's vote is the unit rows of the current Z, in a
        graph of its own with anchors that are random samples, drawn anew every epoch.""",
    )

    # From the embedding to labels.
    final_unit_rows: bool = choice(
        False, FLAG, "Scale the rows of Z to unit length before the final k-means."
    )
    final_n_init: int = choice(10, at_least(1), "Starts of the k-means that turns Z into labels.")

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):  # plain numbers compare, print and save alike
                object.__setattr__(self, field.name, value.item())
            if isinstance(value, (list, np.ndarray)):
                object.__setattr__(self, field.name, tuple(map(float, value)))
        check_ranges(self, "recipe field ")


@documented
@dataclass(frozen=True)
class NetworkRecipe(BaseRecipe):
    """Every choice of a network and of its training; ``dataclasses.replace`` makes a variant.

    Raises
    ------
    ValueError
        On construction, if a field is out of its range; the message names it.

    Examples
    --------
    >>> import dataclasses
    >>> from dmac import recipes
    >>> longer = dataclasses.replace(recipes.REVISED, name="longer", epochs=300)
    >>> longer.epochs, longer.optimizer
    (300, 'adam')
    >>> dataclasses.replace(longer, epochs=-1)
    Traceback (most recent call last):
        ...
    ValueError: recipe field epochs is -1, it must be an integer of at least 0
    """

    solver: ClassVar[str] = "dmac.solvers.network_solver:NetworkSolver"

    # Encoders and their fusion.
    encoder: str = choice(
        "mlp",
        one_of("mlp", "residual", "linear"),
        """
        d_a - hidden - d with leaky ReLUs :eq:`eq:encoder`, a linear map plus such a correction,
        or the map alone.""",
    )
    closed_form_start: bool = choice(
        False,
        FLAG,
        """
        Start the linear maps at :func:`dmac.structure.closed_form_projection`; it needs
        ``components`` and does nothing to an "mlp", which has no linear map.""",
    )
    embedding_dim: int | None = choice(64, or_none(at_least(1)), "d; None means c.")
    hidden_dim: int = choice(256, at_least(1), "Width of the encoders' hidden layer.")
    negative_slope: float = choice(0.01, NON_NEGATIVE, "Slope of every leaky ReLU below 0.")
    normalize_embedding: bool = choice(
        True,
        FLAG,
        "Scale the rows of each :math:`Z^{(a)}` and of Z to unit length.",
    )
    orthonormal: bool = choice(
        False,
        FLAG,
        """
        Fuse under the constraint :math:`Z^T Z = n I` (:eq:`eq:orthonormal-fusion`,
        :func:`dmac.embedding.orthonormalize`), after which the rows of Z are not scaled.""",
    )

    # Pre-training and main training.
    pretrain_epochs: int = choice(
        1000,
        at_least(0),
        "Epochs of the pre-training from the fused embedding :eq:`eq:reconstruction`.",
    )
    pretrain_lr: float = choice(1e-3, POSITIVE, "RMSprop step of the pre-training.")
    epochs: int = choice(50, at_least(0), "Epochs of the main training.")
    lr: float = choice(5e-3, POSITIVE, "First step size of the main training.")
    optimizer: str = choice("rmsprop", one_of("rmsprop", "adam"), "Of the main training.")
    schedule: str = choice(
        "constant",
        one_of("constant", "cosine"),
        '"cosine" lets the step size fall to 0 over the epochs.',
    )

    # Anchors.
    anchor_space: str = choice(
        "embedding",
        one_of("embedding", "views"),
        "Where the anchors live: in Z, or in the input of the encoders (one block a view).",
    )
    anchor_start: str = choice(
        "warm",
        one_of("kmeans", "warm", "sample"),
        """
        K-means to convergence, from k-means++ in every epoch or from where the last epoch's ended
        (:class:`dmac.compute.kmeans.WarmAnchors`); or random samples and ``anchor_iterations`` of
        Lloyd's.""",
    )
    vote_share: float = choice(0.0, SHARE, "Share of the structure loss taken on that graph.")

    # What becomes of them before the graph.
    perturbation: bool = choice(
        True,
        FLAG,
        """
        Whether the generator moves the k-means anchors :eq:`eq:reparameterisation`; False with
        ``al_weight=0`` is the paper's "wo/PD".""",
    )
    sigma: str = choice(
        "relu",
        one_of("relu", "softplus"),
        "What keeps the deviation of the perturbation from being negative.",
    )
    normalize_anchors: bool = choice(
        True,
        FLAG,
        "Scale the rows of U to unit length; for anchors in the embedding.",
    )

    # The anchor graph and its convolution.
    neighbor_period: int = choice(
        20,
        at_least(0),
        "Epochs after which k changes (:func:`dmac.training.neighbors_at`); 0 keeps k.",
    )
    neighbor_delay: int = choice(
        0,
        at_least(0),
        "Epochs before the first of these periods begins.",
    )
    joint_graph: bool = choice(
        False,
        FLAG,
        "One graph from squared distances averaged over the views, or one graph a view.",
    )
    detach_graph: bool = choice(
        False,
        FLAG,
        "Treat the anchor graph as a constant in the structure loss.",
    )
    agcn_dim: int = choice(
        16,
        at_least(1),
        "Hidden width of the anchor graph convolution d - agcn_dim - c :eq:`eq:agcn`.",
    )

    # The three losses: their forms, and their weights in the joint loss.
    mutual_information: str = choice(
        "per_row",
        one_of("per_row", "joint"),
        """
        Reading of the consistency loss (:mod:`dmac.consistency`): :eq:`eq:per-row` or
        :eq:`eq:joint-over-anchors`.""",
    )
    sp_form: str = choice(
        "trace",
        one_of("pairs", "trace", "mean"),
        """
        Double sum over pairs (:eq:`eq:pairs-form`, twice the trace), trace :eq:`eq:trace-form`,
        or trace divided by n.""",
    )
    al_weight: float = choice(
        1.0,
        NON_NEGATIVE,
        "Weight of the anchor learning loss in the joint loss :eq:`eq:joint-loss`.",
    )
    cm_weight: float = choice(
        1e3,
        NON_NEGATIVE,
        """
        Weight of the consistency loss. The paper uses its letters for this weight and the next
        both ways round.""",
    )
    sp_weight: float = choice(1e3, NON_NEGATIVE, "Weight of the structure preservation loss.")

    def __post_init__(self) -> None:
        super().__post_init__()
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


#: The name of `NetworkRecipe` until 0.2.
Recipe = NetworkRecipe


@documented
@dataclass(frozen=True)
class SpectralRecipe(BaseRecipe):
    """Every choice of clustering by the eigenvectors of an averaged graph, which trains nothing.

    ``dataclasses.replace`` makes a variant, and refuses the fields of a network.

    Raises
    ------
    ValueError
        On construction, if a field is out of its range; the message names it.

    Examples
    --------
    >>> import dataclasses
    >>> from dmac import recipes
    >>> without = dataclasses.replace(recipes.CLOSED_FORM, name="no votes", vote_rounds=0)
    >>> without.guard
    0.99
    >>> dataclasses.replace(without, epochs=100)
    Traceback (most recent call last):
        ...
    TypeError: SpectralRecipe.__init__() got an unexpected keyword argument 'epochs'
    """

    solver: ClassVar[str] = "dmac.agc.solver:SpectralSolver"

    levels: str = choice(
        "both",
        one_of("whitened", "plain", "scaled", "both", "all"),
        """
        Features of a view (:class:`dmac.data.levels.LevelPipeline`): whitened directions, plain
        ones, both of these, scaled columns, or all three.""",
    )
    plain_components: int = choice(128, at_least(1), "Directions of the plain level.")
    blocks: str = choice(
        "both",
        one_of("joint", "views", "both"),
        """
        Graphs of all views side by side, of each view, or of both
        (:func:`dmac.agc.blocks.blocks_of`).""",
    )
    level_weight: str = choice(
        "spread",
        one_of("equal", "spread", "halves"),
        """
        Weight of a level's graphs: the same for all; at the plain level the spread of the view's
        rows; or this, and all levels as far as halves of the columns tell each other
        (:class:`dmac.data.levels.LevelPipeline`).""",
    )
    scaled_components: int = choice(30, at_least(1), "Directions of the scaled level.")
    plain_scale: str = choice(
        "rows",
        one_of("rows", "spread"),
        """
        Where the plain levels of all views stand side by side: rows of unit length, or in units of
        the root of the spread of the view's rows.""",
    )
    view_weight: str | tuple[float, ...] = choice(
        "equal",
        one_of("equal", "support").or_(WEIGHTS),
        """
        Weight of a view: a number for each; or the same for all; or, of three views and more, how
        far the others' graphs support its own (:func:`dmac.agc.support.view_weights`).""",
    )
    filter: str = choice(
        "resolvent",
        one_of("cut", "resolvent"),
        """
        Eigenvectors with equal weight up to column c, or with weights that fall with the
        eigenvalue (:func:`dmac.agc.votes.column_weights`).""",
    )
    filter_power: float = choice(2.0, POSITIVE, "The power p of the resolvent.")
    filter_offset: float = choice(0.5, POSITIVE, "Its offset.")
    filter_factor: float = choice(
        3.0,
        POSITIVE,
        "Number of eigenvectors: filter_factor * c, at most c + filter_extra.",
    )
    filter_extra: int = choice(50, at_least(1), "See ``filter_factor``.")
    vote_rounds: int = choice(0, at_least(0), "Rounds of votes (:mod:`dmac.agc.votes`).")
    vote_form: str = choice(
        "both",
        one_of("flat", "filtered", "learned", "both"),
        """
        What votes: the first c eigenvectors with equal weight, the filtered rows, c linear
        functions of all features that are learned on the graph
        (:func:`dmac.agc.votes.learned_map`), or the last two, each with a graph of its own.""",
    )
    vote_ridge: float = choice(0.1, POSITIVE, "The ridge of the learned functions.")
    guard: float = choice(
        0.0,
        SHARE,
        """
        Labels with votes are taken if their Markov stability is at least so much of that of the
        labels without; 0 takes them always.""",
    )
    guard_time: int = choice(4, at_least(2), "Steps of the walk of the guard, an even number.")
    fit_samples: int | None = choice(
        20_000,
        or_none(at_least(2)),
        """
        Maximum number of samples to fit, a random subset, or more for many clusters (the next); the
        rest are placed as new samples are. None fits all.""",
    )
    fit_of_cluster: int = choice(800, at_least(0), "``fit_samples`` are at least so many times c.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.guard_time % 2:
            raise ValueError(f"recipe field guard_time is {self.guard_time}, it must be even")


#: The equations read literally. What the paper leaves open (widths, k, lr) is taken from
#: `RELEASED`; nothing is normalised inside the network, nothing is pre-trained, the structure loss
#: is the double sum :eq:`eq:pairs-form`, and the 100 iterations are the paper's maximum.
PUBLISHED = NetworkRecipe(
    name="published",
    normalize_embedding=False,
    normalize_anchors=False,
    pretrain_epochs=0,
    epochs=100,
    neighbor_period=0,
    sp_form="pairs",
)

#: The authors' implementation (GitHub drongwbc/DMAC-AAAI25), whose choices the paper does not give.
#: Four details differ, in every recipe:
#:
#: - Rows that are numerically zero are not blown up to unit length
#:   (:class:`dmac.data.whitening.RowNormalizer`).
#: - The k-means of an epoch starts where the last one ended instead of from k-means++
#:   (``anchor_start="kmeans"`` does that).
#: - The weights of the anchor graph sum to 1 in every row. Theirs have 1e-10 added to the border
#:   distance and 1e-7 to the divisor, so that rows sum to a little less than 1, and their structure
#:   loss is that much above 0 where every sample agrees with its neighbours (the book's page on
#:   the authors' code shows how much).
#: - Distances and the trace are taken about the mean of the samples, which changes nothing but
#:   rounding; theirs are not, and lose digits where the embedding is nearly one point (chapter 7).
RELEASED = NetworkRecipe(name="released", final_n_init=1, neighbor_delay=1)

#: What the book made of the network, one setting for all data; chapter 11 derives it. Its
#: fusion excludes that all samples coincide :eq:`eq:orthonormal-fusion`, and its graph is
#: averaged over anchor sets and over the views and the embedding itself :eq:`eq:vote-graph`.
#: The paper's perturbation, anchor learning loss and mutual information are switched off: in the
#: paired comparison of chapter 13 none gains accuracy. Substitutes were
#: compared there in which nothing learns anchors: noise of a fixed size that no gradient reaches,
#: and an anchor learning loss on anchors that are held constant.
REVISED = NetworkRecipe(
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
    vote_weight=1.0,
    vote_share=0.5,
    joint_graph=True,
    perturbation=False,
    neighbor_period=0,
    detach_graph=True,
    mutual_information="joint",
    sp_form="mean",
    al_weight=0.0,
    cm_weight=0.0,
    sp_weight=1.0,
    final_unit_rows=True,
)

#: REVISED as it was in November 2026, for stored runs and scripts that shall stay what they are.
REVISED_2026_11 = replace(REVISED, name="revised_2026_11")

#: Clustering without a network (:mod:`dmac.agc.solver`), one setting for all data;
#: chapter 12 derives it. It averages graphs of three levels of features, of
#: all views and of each. Levels count as far as halves of a view's columns tell each other
#: (:mod:`dmac.data.levels`), and three views or more as far as they support each other
#: (:func:`dmac.agc.support.view_weights`). A filter takes the place of the cut at c
#: eigenvectors (:func:`dmac.agc.votes.column_weights`). The filtered rows and a learned
#: linear map vote once (:mod:`dmac.agc.votes`), and a guard refuses the votes where they
#: merge what the graph holds apart. The book's Record has the protocol by which the third level was
#: chosen.
CLOSED_FORM = SpectralRecipe(
    name="closed_form",
    levels="all",
    level_weight="halves",
    scaled_components=15,
    root=True,
    components=2.0,
    whitening_ridge=0.03,
    anchor_factor=2.0,
    anchor_share=0.5,
    anchor_sets=3,
    anchor_iterations=2,
    vote_weight=1.0,
    plain_scale="spread",
    view_weight="support",
    vote_rounds=1,
    guard=0.99,
    final_unit_rows=True,
)

#: CLOSED_FORM as it was in version 0.2.0, with two levels of six anchor sets each, for stored runs
#: and scripts that shall stay as they are. Its guard of row lengths is gone: on the 100 data sets
#: at hand it kept none.
CLOSED_FORM_0_2 = replace(
    CLOSED_FORM,
    name="closed_form_0_2",
    levels="both",
    level_weight="spread",
    scaled_components=30,
    anchor_sets=6,
)

#: CLOSED_FORM as it was first, in November 2026: all views weigh the same, too.
CLOSED_FORM_2026_11 = replace(
    CLOSED_FORM_0_2, name="closed_form_2026_11", plain_scale="rows", view_weight="equal"
)

#: All by name.
RECIPES: dict[str, BaseRecipe] = {
    recipe.name: recipe
    for recipe in (
        *(PUBLISHED, RELEASED, REVISED, REVISED_2026_11),
        *(CLOSED_FORM, CLOSED_FORM_0_2, CLOSED_FORM_2026_11),
    )
}


def get_recipe(recipe: str | BaseRecipe) -> BaseRecipe:
    """Return a recipe from a name (any case) or from itself.

    Parameters
    ----------
    recipe : str, dmac.recipes.NetworkRecipe or dmac.recipes.SpectralRecipe

    Returns
    -------
    dmac.recipes.NetworkRecipe or dmac.recipes.SpectralRecipe

    Raises
    ------
    ValueError
        If the name is not known or the argument is neither; the message lists the names.

    Examples
    --------
    >>> from dmac.recipes import CLOSED_FORM, get_recipe
    >>> get_recipe("Closed_Form") is CLOSED_FORM
    True
    """
    if isinstance(recipe, BaseRecipe):
        return recipe
    if isinstance(recipe, str) and recipe.lower() in RECIPES:
        return RECIPES[recipe.lower()]
    raise ValueError(f"recipe is {recipe!r}, it must be one of {sorted(RECIPES)} or a recipe")
