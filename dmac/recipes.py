"""A recipe is every choice of the model and of its training; four of them tell the book's story.

`PUBLISHED` reads the paper's equations literally, `RELEASED` states the choices of the authors'
implementation, `REVISED` is what the book made of the network, and `CLOSED_FORM` does without one.
Chapters 11 and 14 of the book derive what is ours, chapter 15 compares it, and chapter 12 says
which to use.
"""

import dataclasses
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

import numpy as np

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True)
class _Range:
    """What a field may be, in words and as a function."""

    text: str
    holds: Callable[[object], bool]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _at_least(least: int, or_none: bool = False) -> _Range:
    def holds(value: object) -> bool:
        whole = isinstance(value, int) and _is_number(value) and value >= least
        return whole or (or_none and value is None)

    return _Range(f"an integer of at least {least}", holds)


def _one_of(*choices: str) -> _Range:
    return _Range(f"one of {choices}", lambda value: value in choices)


_TEXT = _Range("a string", lambda value: isinstance(value, str))
_FLAG = _Range("True or False", lambda value: isinstance(value, bool))
_POSITIVE = _Range("a positive number", lambda v: _is_number(v) and 0 < v < math.inf)
_NON_NEGATIVE = _Range("a number of at least 0", lambda v: _is_number(v) and 0 <= v < math.inf)
_SHARE = _Range("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)


def _field(default: object, allowed: _Range, doc: str) -> Any:
    """A field of a recipe: its default, its range, and what stands of it in the docstring."""
    return dataclasses.field(default=default, metadata={"range": allowed, "doc": doc})


def _document(cls: _Class) -> _Class:
    """Append the fields to a recipe's docstring, as numpydoc lists them."""
    lines = ["Attributes", "----------"]
    for field in dataclasses.fields(cls):
        or_none = ", or None" if field.metadata["range"].holds(None) else ""
        lines.append(f"{field.name} : {field.metadata['range'].text}{or_none}")
        lines += [f"    {line}" for line in inspect.cleandoc(field.metadata["doc"]).splitlines()]
    cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", *lines, ""])
    return cls


_VOTERS = ("flat", "filtered", "learned", "both", "trained")
_REFINEMENTS = (
    *("noise by prediction", "noise by agreement"),
    *("prediction", "balanced entropy"),
    *("cross-entropy", "information"),
)


@_document
@dataclass(frozen=True)
class Recipe:
    """Every choice of the model and of its training; ``dataclasses.replace`` makes a variant.

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

    name: str = _field(dataclasses.MISSING, _TEXT, "Of the recipe.")

    solver: str = _field(
        "network",
        _one_of("network", "spectral"),
        """
        Where Z comes from: encoders that are trained, or the eigenvectors of the averaged graph
        (:mod:`dmac.spectral`), which nothing trains.""",
    )

    # What a view goes through first (ViewPipeline).
    root: bool = _field(
        False,
        _FLAG,
        """
        Take the square root of views without negative entries.""",
    )
    components: float = _field(
        0.0,
        _NON_NEGATIVE,
        """
        A view is projected to so many times c principal directions and whitened
        (:class:`dmac.data.pipeline.ViewPipeline`); 0 leaves it as it is.""",
    )
    whitening_ridge: float = _field(
        0.0,
        _NON_NEGATIVE,
        """
        The ridge of the whitening, where a very large one only projects.""",
    )

    # Encoders and their fusion.
    encoder: str = _field(
        "mlp",
        _one_of("mlp", "residual", "linear"),
        """
        d_a - hidden - d with leaky ReLUs :eq:`eq:encoder`, a linear map plus such a correction,
        or the map alone.""",
    )
    closed_form_start: bool = _field(
        False,
        _FLAG,
        """
        Start the linear maps at :func:`dmac.structure.closed_form_projection`; it needs
        ``components`` and does nothing to an "mlp", which has no linear map.""",
    )
    embedding_dim: int | None = _field(64, _at_least(1, or_none=True), "d; None means c.")
    hidden_dim: int = _field(256, _at_least(1), "Width of the encoders' hidden layer.")
    negative_slope: float = _field(0.01, _NON_NEGATIVE, "Slope of every leaky ReLU below 0.")
    normalize_embedding: bool = _field(
        True,
        _FLAG,
        """
        Scale the rows of each :math:`Z^{(a)}` and of Z to unit length.""",
    )
    orthonormal: bool = _field(
        False,
        _FLAG,
        """
        Fuse under the constraint :math:`Z^T Z = n I` (:eq:`eq:orthonormal-fusion`,
        :func:`dmac.embedding.orthonormalize`), after which the rows of Z are not scaled.""",
    )

    # Pre-training and main training.
    pretrain_epochs: int = _field(
        1000,
        _at_least(0),
        """
        Epochs of the pre-training from the fused embedding :eq:`eq:reconstruction`.""",
    )
    pretrain_lr: float = _field(1e-3, _POSITIVE, "RMSprop step of the pre-training.")
    epochs: int = _field(50, _at_least(0), "Epochs of the main training.")
    lr: float = _field(5e-3, _POSITIVE, "First step size of the main training.")
    optimizer: str = _field("rmsprop", _one_of("rmsprop", "adam"), "Of the main training.")
    schedule: str = _field(
        "constant",
        _one_of("constant", "cosine"),
        """
        "cosine" lets the step size fall to 0 over the epochs.""",
    )

    # Anchors: how many, where, and how they are drawn.
    n_anchors: int | None = _field(
        None,
        _at_least(2, or_none=True),
        r"""
        m; None means :math:`\lfloor \min(f \sqrt{n c},\ s\,n) \rfloor` with f and s the next two.
        """,
    )
    anchor_factor: float = _field(1.0, _POSITIVE, "The f of ``n_anchors``.")
    anchor_share: float = _field(1.0, _SHARE, "The s of ``n_anchors``.")
    anchor_space: str = _field(
        "embedding",
        _one_of("embedding", "views"),
        """
        Where the anchors live: in Z, or in the input of the encoders (one block a view).""",
    )
    anchor_start: str = _field(
        "warm",
        _one_of("kmeans", "warm", "sample"),
        """
        K-means to convergence, from k-means++ in every epoch or from where the last epoch's ended
        (:class:`dmac.compute.kmeans.WarmAnchors`); or random samples and ``anchor_iterations`` of
        Lloyd's.""",
    )
    anchor_iterations: int = _field(5, _at_least(0), "Of Lloyd's, from random samples.")
    anchor_sets: int = _field(
        1,
        _at_least(1),
        """
        Anchor sets in the views, drawn once and visited in turn; one is one set for the whole run.
        """,
    )
    vote_weight: float = _field(
        0.0,
        _NON_NEGATIVE,
        """
        The embedding's vote, with anchors in the views: in a graph of its own the unit rows of the
        current Z, scaled to this length, join the views :eq:`eq:vote-graph`. Its anchors are
        random samples, drawn anew every epoch.""",
    )
    vote_share: float = _field(0.0, _SHARE, "Share of the structure loss taken on that graph.")

    # What becomes of them before the graph.
    perturbation: bool = _field(
        True,
        _FLAG,
        """
        Whether the generator moves the k-means anchors :eq:`eq:reparameterisation`; False with
        ``al_weight=0`` is the paper's "wo/PD".""",
    )
    sigma: str = _field(
        "relu",
        _one_of("relu", "softplus", "spread"),
        """
        What keeps the deviation of the perturbation from being negative; "spread" takes a learned
        share of the anchor's own cell and no shift (:eq:`eq:smoothed-graph`,
        :class:`dmac.anchors.SpreadPerturbation`).""",
    )
    normalize_anchors: bool = _field(
        True,
        _FLAG,
        """
        Scale the rows of U to unit length; for anchors in the embedding.""",
    )

    # Anchor graph and its convolution.
    n_neighbors: int = _field(
        5,
        _at_least(1),
        """
        k of the anchor graph :eq:`eq:anchor-graph` in the first epoch.""",
    )
    neighbor_period: int = _field(
        20,
        _at_least(0),
        """
        Epochs after which k changes (:func:`dmac.training.neighbors_at`); 0 keeps k.""",
    )
    neighbor_delay: int = _field(
        0,
        _at_least(0),
        """
        Epochs before the first of these periods begins.""",
    )
    joint_graph: bool = _field(
        False,
        _FLAG,
        """
        One graph from squared distances averaged over the views, or one graph a view.""",
    )
    detach_graph: bool = _field(
        False,
        _FLAG,
        """
        Treat the anchor graph as a constant in the structure loss.""",
    )
    agcn_dim: int = _field(
        16,
        _at_least(1),
        """
        Hidden width of the anchor graph convolution d - agcn_dim - c :eq:`eq:agcn`.""",
    )

    # The three losses: their forms, and their weights in the joint loss.
    mutual_information: str = _field(
        "per_row",
        _one_of("per_row", "joint"),
        """
        Reading of the consistency loss (:mod:`dmac.consistency`): :eq:`eq:per-row` or
        :eq:`eq:joint-over-anchors`.""",
    )
    al_form: str = _field(
        "entropy",
        _one_of("entropy", "balanced"),
        """
        The paper's entropy :eq:`eq:anchor-learning`, or with a bandwidth from the data and all
        anchors kept in use (:func:`dmac.anchors.anchor_learning_loss`).""",
    )
    sp_form: str = _field(
        "trace",
        _one_of("pairs", "trace", "mean"),
        """
        Double sum over pairs (:eq:`eq:pairs-form`, twice the trace), trace :eq:`eq:trace-form`,
        or trace divided by n.""",
    )
    al_weight: float = _field(
        1.0,
        _NON_NEGATIVE,
        """
        Weight of the anchor learning loss in the joint loss :eq:`eq:joint-loss`.""",
    )
    cm_weight: float = _field(
        1e3,
        _NON_NEGATIVE,
        """
        Weight of the consistency loss. The paper uses its letters for this weight and the next
        both ways round.""",
    )
    sp_weight: float = _field(1e3, _NON_NEGATIVE, "Weight of the structure preservation loss.")

    # The spectral solver: kinds of features, the filter, votes and their guard.
    levels: str = _field(
        "both",
        _one_of("whitened", "plain", "both"),
        """
        Features of a view (:class:`dmac.data.levels.LevelPipeline`): whitened directions, plain
        ones, or both.""",
    )
    plain_components: int = _field(128, _at_least(1), "Directions of the plain level.")
    blocks: str = _field(
        "both",
        _one_of("joint", "views", "both"),
        """
        Graphs of all views side by side, of each view, or of both (:mod:`dmac.blocks`).""",
    )
    level_weight: str = _field(
        "spread",
        _one_of("equal", "spread"),
        """
        Weight of the plain level's graphs: that of the whitened ones, or this times the spread of
        the view's rows.""",
    )
    filter: str = _field(
        "resolvent",
        _one_of("cut", "resolvent"),
        """
        Eigenvectors with equal weight up to column c, or with weights that fall with the
        eigenvalue (:func:`dmac.spectral_filter.column_weights`).""",
    )
    filter_power: float = _field(2.0, _POSITIVE, "The power p of the resolvent.")
    filter_offset: float = _field(0.5, _POSITIVE, "Its offset.")
    filter_factor: float = _field(
        3.0,
        _POSITIVE,
        """
        Eigenvectors that are computed: so many times c, at most c and the next.""",
    )
    filter_extra: int = _field(50, _at_least(1), "See ``filter_factor``.")
    vote_rounds: int = _field(0, _at_least(0), "Rounds of votes (:mod:`dmac.votes`).")
    vote_form: str = _field(
        "both",
        _one_of(*_VOTERS),
        """
        What votes: the first c eigenvectors with equal weight, the filtered rows, c linear
        functions of all features that are learned on the graph (:func:`dmac.votes.learned_map`),
        or the last two, each with a graph of its own; or such functions with a trained correction
        (:func:`dmac.trained_map.trained_map`), beside the filtered rows.""",
    )
    vote_ridge: float = _field(0.1, _POSITIVE, "The ridge of the learned functions.")
    guard: float = _field(
        0.0,
        _SHARE,
        """
        Labels with votes are taken if their Markov stability is at least so much of that of the
        labels without; 0 takes them always.""",
    )
    trained_epochs: int = _field(
        0,
        _at_least(0),
        """
        Epochs of the map that is trained on the averaged graph (:mod:`dmac.trained_map`), if one
        is.""",
    )
    trained_embedding: bool = _field(
        False,
        _FLAG,
        """
        Whether that map, and no longer the eigenvectors, embeds the samples in the end.""",
    )
    refinement: str = _field(
        "none",
        _one_of("none", *_REFINEMENTS),
        """
        What trains the anchors of the first graph, or noise on them, after its eigenvectors are
        known (:func:`dmac.refinement.refine`).""",
    )
    refinement_steps: int = _field(10, _at_least(1), "Steps of that training.")
    guard_time: int = _field(4, _at_least(2), "Steps of the walk of the guard, an even number.")

    # From the embedding to labels.
    final_unit_rows: bool = _field(
        False,
        _FLAG,
        """
        Scale the rows of Z to unit length before the final k-means.""",
    )
    final_n_init: int = _field(10, _at_least(1), "Starts of the k-means that turns Z into labels.")

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, allowed = getattr(self, field.name), field.metadata["range"]
            if isinstance(value, np.generic):  # plain numbers compare, print and save alike
                value = value.item()
                object.__setattr__(self, field.name, value)
            if not allowed.holds(value):
                raise ValueError(
                    f"recipe field {field.name} is {value!r}, it must be {allowed.text}"
                )
        if self.guard_time % 2:
            raise ValueError(f"recipe field guard_time is {self.guard_time}, it must be even")
        if (self.vote_form == "trained" or self.trained_embedding) and not self.trained_epochs:
            raise ValueError("recipe field trained_epochs is 0, but a map is to be trained")
        if self.refinement != "none" and not self.vote_rounds:
            raise ValueError(
                f"recipe field refinement is {self.refinement!r}, which needs vote_rounds above 0: "
                "the refined anchors stand in the graph of the votes"
            )
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


#: The equations read literally. What the paper leaves open (widths, k, lr) is taken from
#: `RELEASED`; nothing is normalised inside the network, nothing is pre-trained, the structure loss
#: is the double sum :eq:`eq:pairs-form`, and the 100 iterations are the paper's maximum.
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
#: Four details differ, in every recipe:
#:
#: - Rows that are numerically zero are not blown up to unit length
#:   (:class:`dmac.data.whitening.RowNormalizer`).
#: - The k-means of an epoch starts where the last one ended instead of from k-means++
#:   (``anchor_start="kmeans"`` does that).
#: - The weights of the anchor graph sum to 1 in every row. Theirs have 1e-10 added to the border
#:   distance and 1e-7 to the divisor, so that rows sum to a little less than 1, and their structure
#:   loss is that much above 0 where every sample agrees with its neighbours (chapter 4 shows how
#:   much).
#: - Distances and the trace are taken about the mean of the samples, which changes nothing but
#:   rounding; theirs are not, and lose digits where the embedding is nearly one point (chapter 8).
RELEASED = Recipe(name="released", final_n_init=1, neighbor_delay=1)

#: What the book made of the network, one setting for all data; chapter 14 derives it. Its
#: fusion excludes that all samples coincide :eq:`eq:orthonormal-fusion`, and its graph is
#: averaged over anchor sets and over the views and the embedding itself :eq:`eq:vote-graph`.
#: The paper's perturbation, anchor learning loss and mutual information are switched off: in the
#: paired comparison (:data:`experiments.switches.IDEAS`) none gains accuracy. Substitutes were
#: compared there in which nothing learns anchors: noise of a fixed size that no gradient reaches,
#: and an anchor learning loss on anchors that are held constant.
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
    vote_weight=1.0,
    vote_share=0.5,
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

#: REVISED as it was in November 2026, for stored runs and scripts that shall stay what they are.
REVISED_2026_11 = dataclasses.replace(REVISED, name="revised_2026_11")

#: Clustering without a network (:func:`dmac.spectral.fit_spectral`), one setting for all data;
#: chapter 11 derives it, chapter 15 measures it. It averages graphs of two levels of features, of
#: all views and of each; a filter stands in place of the cut at c eigenvectors
#: (:func:`dmac.spectral_filter.column_weights`); the filtered rows and a learned linear map vote
#: once (:mod:`dmac.votes`), and a guard refuses the votes where they merge what the graph holds
#: apart.
CLOSED_FORM = Recipe(
    name="closed_form",
    solver="spectral",
    root=True,
    components=2.0,
    whitening_ridge=0.03,
    embedding_dim=None,
    pretrain_epochs=0,
    epochs=0,
    anchor_factor=2.0,
    anchor_share=0.5,
    anchor_space="views",
    anchor_start="sample",
    anchor_sets=6,
    anchor_iterations=2,
    vote_weight=1.0,
    vote_rounds=1,
    guard=0.99,
    neighbor_period=0,
    final_unit_rows=True,
)

#: All by name.
RECIPES = {
    recipe.name: recipe for recipe in (PUBLISHED, RELEASED, REVISED, REVISED_2026_11, CLOSED_FORM)
}


def get_recipe(recipe: str | Recipe) -> Recipe:
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

    Examples
    --------
    >>> from dmac.recipes import CLOSED_FORM, get_recipe
    >>> get_recipe("Closed_Form") is CLOSED_FORM
    True
    """
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, str) and recipe.lower() in RECIPES:
        return RECIPES[recipe.lower()]
    raise ValueError(f"recipe is {recipe!r}, it must be one of {sorted(RECIPES)} or a Recipe")
