"""Two scikit-learn estimators, from a list of views to labels: the closed form, and the network.

:class:`dmac.AnchorGraphClustering` computes a closed form, :class:`dmac.DMAC` trains the paper's
network; a recipe belongs to one of them. "Your own data" in the book uses them.
"""

from __future__ import annotations

import copy
import dataclasses
import numbers
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dmac._types import Array, Flags, Floats, Integers, PathLike, Views
from dmac._warn import warn
from dmac.agc.votes import markov_stability
from dmac.compute.device import resolve_device, resolve_dtype, usual_settings
from dmac.compute.progress_bar import shown
from dmac.compute.threads import threads_for
from dmac.data.checks import (
    DaskView,
    View,
    as_views,
    check_no_views,
    check_seed,
    has_dask,
    n_distinct,
    say_which_are_zero,
    warn_of_zero_samples,
)
from dmac.data.names import column_names, index_of, number_of
from dmac.diagnostics import mean_cosine
from dmac.model_selection import averaged_graph
from dmac.recipes import CLOSED_FORM, BaseRecipe, NetworkRecipe, SpectralRecipe, get_recipe
from dmac.solvers import persistence
from dmac.solvers.contract import Callback, Outcome, Plan, Solver, solver_of
from dmac.solvers.placing import NearestCenter, OfBlock, in_order, lazily, placed
from dmac.solvers.preparing import prepare, shuffled

# An embedding has collapsed if its spread, 1 minus the mean cosine between its rows, is below
# _SPREAD, and below _SHARE_OF_FIRST times its spread after the first epoch.
_SPREAD = 0.01
_SHARE_OF_FIRST = 0.1


class CollapseWarning(ConvergenceWarning):
    """A network's embedding has collapsed, as the notes of :class:`dmac.DMAC` define it."""


class MultiViewEstimator(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """What both estimators share: views in, labels and an embedding out, new samples, and files.

    See :class:`dmac.AnchorGraphClustering` and :class:`dmac.DMAC`.
    """

    fit: Callable[..., Self]  # of each class

    def __init__(
        self,
        n_clusters: int,
        recipe: str | BaseRecipe,
        random_state: int | np.random.RandomState | None,
        device: str,
        dtype: str,
        verbose: bool,
    ) -> None:
        self.n_clusters = n_clusters
        self.recipe = recipe
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.verbose = verbose

    def _fit(
        self,
        views: Views,
        y: object,
        present: npt.ArrayLike | None = None,
        release: bool = True,
        **training: Any,
    ) -> Self:
        """`fit`, with what only some solvers take; ``release`` frees each view once prepared."""
        check_no_views(y)
        solver = self._solver()
        device = resolve_device(self.device)
        dtype = resolve_dtype(self.dtype)
        checked = _checked(views, solver, present)
        n = checked[0].shape[0]
        widths = tuple(x.shape[1] for x in checked)
        plan = solver.plan(n, widths, self.n_clusters)
        is_part = plan.n_fitted < n
        if not is_part:  # else it is known when they are placed
            warn_of_zero_samples(checked)
        seed = int(check_seed(self.random_state).randint(2**31 - 1))
        generator = torch.Generator().manual_seed(seed)
        # In lazy views nothing is counted.
        distinct = self.n_clusters
        if not isinstance(checked[0], DaskView):
            distinct = n_distinct(checked, distinct)
        with (
            threads_for(plan.n_fitted * plan.work),
            shown(self.verbose, len(checked) + plan.n_steps + is_part, plan.epochs),
        ):
            order = shuffled(n, generator)[: plan.n_fitted].copy()  # of many, not all need stay
            release = release and not is_part
            prepared = prepare(checked, plan.pipelines, order, device, dtype, release=release)
            outcome = solver_of(plan.recipe).solve(prepared, plan, generator, **training)
            outcome = in_order(outcome, prepared, plan.recipe)
        # Attributes only now: a fit that fails leaves an earlier one as it was.
        self._keep(plan, outcome, widths, column_names(checked), [x.name for x in checked])
        self._warn_of_lost_clusters(distinct)
        return self

    def _solver(self) -> Solver:
        """The solver of the recipe, which must be of this class."""
        recipe = get_recipe(self.recipe)
        kind = estimator_of(recipe)
        if not isinstance(self, kind):
            raise ValueError(
                f"dmac.{type(self).__name__} does not take the recipe {recipe.name!r}: pass it to "
                f"dmac.{kind.__name__}"
            )
        return solver_of(recipe)

    def _keep(
        self,
        plan: Plan,
        outcome: Outcome,
        n_features: tuple[int, ...],
        column_names: Array,
        view_names: list[str],
        record: dict[str, Any] | None = None,
    ) -> None:
        """Set the attributes of a fit, or of one that was saved, in place of an earlier one's."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.recipe_ = plan.recipe
        self.n_anchors_ = plan.n_anchors
        self.n_features_ = n_features
        self.n_features_in_ = sum(n_features)
        self.column_names_ = column_names
        self.view_names_ = view_names
        self.pipelines_ = plan.pipelines
        self.record_ = record or {}
        self.embedding_ = outcome.z
        self.anchors_ = outcome.anchors
        self.cluster_centers_ = outcome.centers
        self.model_ = outcome.model
        self.labels_: Integers = np.array(outcome.labels, np.int64)

    def _warn_of_lost_clusters(self, distinct: int) -> None:
        """Warn if fewer clusters than requested have samples, or fewer samples are ``distinct``."""
        filled = len(np.unique(self.labels_))
        c = self.n_clusters
        if min(filled, distinct) < c:
            why = "the embedding has no more distinct rows"
            if distinct < c:
                be = "is" if distinct == 1 else "are"
                why = f"there {be} only {number_of(distinct, 'distinct sample')}"
            warn(
                f"only {filled} of {c} clusters have samples: {why}. Ask for fewer clusters",
                ConvergenceWarning,
            )

    def fit_predict(self, views: Views, y: object = None, **options: Any) -> Integers:
        """Fit, and return the labels of the samples: (n,), int64.

        Parameters, ``options`` among them, and errors are those of ``fit``.
        """
        return self.fit(views, y, **options).labels_

    def fit_transform(self, views: Views, y: object = None, **options: Any) -> Floats:
        """Fit, and return the fused embedding of the samples: (n, d).

        Parameters, ``options`` among them, and errors are those of ``fit``.
        """
        model = self.fit(views, y, **options)
        if has_dask(views):
            return model.transform(views)
        return self._named(model.embedding_, views)

    def transform(self, views: Views, *, present: npt.ArrayLike | None = None) -> Floats:
        """Embed samples, the fitted ones or new ones.

        Parameters
        ----------
        views : list of v array_likes of shape (n_new, d_a)
            The views of the fit, with the same widths.
        present : array_like of shape (n_new, v), bool, optional
            Which views each sample has; a network takes only samples that have all. A new sample
            may lack views that no fitted one does.

        Returns
        -------
        numpy.ndarray of shape (n_new, d), or dask.array.Array of Dask arrays

        Raises
        ------
        sklearn.exceptions.NotFittedError
        ValueError
            If the views are not usable or differ from the fitted ones in number or width.
        """
        return self._named(self._placed(self._new(views, present), lambda z, *_: z), views)

    def predict(
        self, views: Views, *, present: npt.ArrayLike | None = None, as_frame: bool = False
    ) -> Any:
        """Assign samples to the nearest centre of the final k-means, :eq:`eq:nearest-centre`.

        Where centres coincide, as for fewer distinct samples than clusters, it takes the one of
        them with most of ``labels_``; rounding would choose otherwise.

        Parameters
        ----------
        views : list of v array_likes of shape (n_new, d_a)
            As for `transform`, with the same errors.
        present : array_like of shape (n_new, v), bool, optional
            As for `transform`.
        as_frame : bool
            Return a data frame with the names of the samples, if the views are data frames, their
            "cluster" and, of a closed form, their "confidence".

        Returns
        -------
        numpy.ndarray of shape (n_new,), int64, pandas.DataFrame, or dask.array.Array of Dask arrays
        """
        checked = self._new(views, present)
        if not as_frame:
            return self._labels(checked)
        if isinstance(checked[0], DaskView):
            raise ValueError(
                "as_frame=True is not for Dask arrays: predict(views) and predict_proba(views) "
                "have a method to_dask_dataframe()"
            )
        import pandas as pd

        nearest = self._nearest()

        def with_confidence(z: Array, memberships: Array | None, _: Flags) -> Array:
            labels = nearest(z)
            confidence = [] if memberships is None else [memberships[np.arange(len(z)), labels]]
            return np.column_stack([labels, *confidence])

        frame = pd.DataFrame(self._placed(checked, with_confidence), index_of(views))
        frame.columns = ["cluster", "confidence"][: frame.shape[1]]
        return frame.astype({"cluster": np.int64})

    def score(
        self, views: Views, y: object = None, *, present: npt.ArrayLike | None = None
    ) -> float:
        r"""How well the predicted labels fit the samples' own graph, without classes.

        It is the Markov stability of the labels, :eq:`eq:markov-stability`, after
        :math:`t = 4` steps of a random walk on the averaged graph of ``views``: how much more often
        the walk is in the cluster where it began than by chance. The graph is drawn from these
        views alone, with the constants of CLOSED_FORM whatever the recipe is, and from one seed; so
        models of the same number of clusters can be compared, in ``GridSearchCV`` too. Of many
        samples as many are drawn as CLOSED_FORM fits. More
        clusters have another chance level: for their number there is
        :func:`dmac.suggest_n_clusters`.

        Parameters
        ----------
        views : list of v array_likes of shape (n, d_a)
            As for `transform`, with the same errors; enough samples for a graph.
        y : ignored
        present : array_like of shape (n, v), bool, optional
            As for `transform`.

        Returns
        -------
        float
            Between 0 and 1, higher is better.

        Raises
        ------
        sklearn.exceptions.NotFittedError
        ValueError
            If the views are not usable, or too few for c clusters and their anchors.
        """
        check_no_views(y)
        checked = self._new(views, present)
        c = len(self.cluster_centers_)
        n = checked[0].shape[0]
        plan = solver_of(CLOSED_FORM).plan(n, self.n_features_, c)
        some: Any = slice(0, n)
        if plan.n_fitted < n:
            some = np.random.default_rng(0).permutation(n)[: plan.n_fitted]
        checked = [x.part(some) for x in checked]
        labels = self._labels(checked)
        with threads_for(plan.n_fitted * plan.work):
            graph = averaged_graph(checked, c, n_anchors=plan.n_anchors, seed=0, recipe=plan.recipe)
            return markov_stability(graph, labels, CLOSED_FORM.guard_time)

    def _new(self, views: Views, present: npt.ArrayLike | None) -> list[View]:
        """Checked views of new samples."""
        check_is_fitted(self, "model_")
        return _checked(
            views, solver_of(self.recipe_), present, self.n_features_, self.column_names_
        )

    @usual_settings()
    def _nearest(self) -> NearestCenter:
        return NearestCenter(self.cluster_centers_, self.labels_, self.recipe_)

    def _labels(self, checked: Sequence[View]) -> Any:
        nearest = self._nearest()
        return self._placed(checked, lambda z, *_: nearest(z))

    def _placed(self, checked: Sequence[View], of_block: OfBlock) -> Any:
        """Embed checked views, and put together what a function returns of each block.

        For Dask arrays the result is lazy.
        """
        c = len(self.cluster_centers_)
        fitted = self.pipelines_, self.model_
        plan = solver_of(self.recipe_).plan(len(self.labels_), self.n_features_, c)
        with threads_for(checked[0].shape[0] * plan.work):
            if isinstance(checked[0], DaskView):
                return lazily(checked, *fitted, self.recipe_, c, of_block)
            made, present = placed(checked, *fitted, of_block)
        say_which_are_zero(np.asarray(~present.any(1)))
        return made

    def _named(self, z: Array, views: Views) -> Any:
        """Z as it is, or as a data frame with the names of the samples, if pandas is set."""
        of_all = get_config()["transform_output"]
        output = getattr(self, "_sklearn_output_config", {}).get("transform", of_all)
        index = index_of(views) if output == "pandas" else None
        if index is None:
            return z
        import pandas as pd

        # scikit-learn finds no index in a list, and keeps that of a frame.
        return pd.DataFrame(z, index=index)

    @property
    def feature_names_in_(self) -> Array:
        check_is_fitted(self, "model_")
        if not all(isinstance(name, str) for name in self.column_names_):
            raise AttributeError(
                "feature_names_in_: not every view has columns with strings as names"
            )
        return self.column_names_

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # it is that of the parameter ``dtype``
        return tags

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator into the folder ``path`` (made if missing).

        One file, ``model.safetensors``, holds the tensors and, as JSON, everything else; no pickle.
        :func:`dmac.load_model` reads it.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        sklearn.exceptions.NotFittedError
        ValueError
            If ``path`` is a file.
        """
        check_is_fitted(self, "model_")
        with usual_settings():
            persistence.save(self, path)


class AnchorGraphClustering(MultiViewEstimator):
    r"""Anchor-graph clustering: averaged anchor graphs, a spectral filter, guarded votes.

    Nothing is trained: labels come from the leading eigenvectors of a graph that is averaged over
    anchor sets and over the views (:mod:`dmac.agc.solver`).

    Where a scikit-learn estimator takes one array, this one takes a list of v views with the same
    n samples in the same order: NumPy arrays, SciPy sparse matrices, tensors or data frames. One
    two-dimensional array is one view. Several data frames are lined up by their index, and what
    comes out is in the order of the first, then of the names that the next ones add
    (:mod:`dmac.data.names`). A memory map, an HDF5 data set or a Zarr array stays on disk
    (:mod:`dmac.compute.streaming`). Samples may lack views (:mod:`dmac.agc.completion`).
    Dask arrays are computed in tasks (the notes say how).

    Parameters
    ----------
    n_clusters : int
        c, from 2 to n.
    recipe : str or dmac.recipes.SpectralRecipe
        "closed_form", or an instance, such as ``dataclasses.replace`` makes of
        :data:`dmac.recipes.CLOSED_FORM`.
    random_state : int, numpy.random.RandomState or None
        Draws everything that is random: the order of the samples, the anchor sets, the k-means
        starts. The same integer gives the same labels on the same machine, on the CPU with the same
        number of threads; a GPU adds in an order that varies, and may differ.
    device : str
        "auto" (a GPU when there is one), "cpu", "cuda", "cuda:1", ...
    dtype : {"float32", "float64"}
        Of what is computed.
    verbose : bool
        Show a bar with the stages and the time left. ``TQDM_DISABLE=1`` in the environment switches
        it off.

    Attributes
    ----------
    labels_ : numpy.ndarray of shape (n,), int64
        Clusters from 0.
    embedding_ : numpy.ndarray of shape (n, K)
        Z, the weighed eigenvectors, whose rows k-means clusters. Where a part of Dask arrays was
        fitted, the rows of that part; `transform` gives all of them.
    anchors_ : numpy.ndarray of shape (m, K)
        Means of the samples of each anchor of the first set, in Z.
    cluster_centers_ : numpy.ndarray of shape (c, K), float64
        Centres of the final k-means, by which `predict` decides.
    membership_ : numpy.ndarray of shape (n, c)
        How sure the labels are: the share of a sample's links in the averaged graph that end in
        each cluster (:func:`dmac.agc.membership.memberships`). Rows sum to 1. It ranks
        samples, and is no probability of being right: "Your own data" in the book measures it.
        Where a part of Dask arrays was fitted, neither this nor the next; `predict_proba` gives it.
    confidence_ : numpy.ndarray of shape (n,)
        The membership of each sample in its own cluster.
    view_agreement_ : numpy.ndarray of shape (v,)
        How far each view's own graph supports the clusters of all, up to 1
        (:func:`dmac.agc.support.view_agreement`). A view far below the others says
        something else. It is high for a view that decides alone, too; the next attribute tells. A
        view answers for the samples that have it.
    support_of_others_ : numpy.ndarray of shape (v,)
        How far the graphs of the *other* views support the clusters, the mean of these views'
        support: 1 fully, 0 no more than by chance, so it may be just below 0
        (:func:`dmac.agc.support.view_support`). Near 0 the clusters are those of this view
        alone, and `fit` warns. For two views it is what the other one says; nan for one view and
        for ``blocks="joint"``.
    n_missing_ : numpy.ndarray of shape (v,), int64
        How many of the samples lack each view.
    model_ : dmac.agc.model.SpectralModel
        What embeds samples.
    recipe_ : dmac.recipes.SpectralRecipe
        What the fit used. Of fewer samples than the recipe has anchors for its k neighbours, where
        it leaves their number open, it has k + 1 anchors, or all samples.
    n_anchors_ : int
        m.
    n_features_ : tuple of int
        Widths of the views.
    n_features_in_ : int
        Their sum.
    feature_names_in_ : numpy.ndarray of shape (sum of the d_a,), object
        Names of the columns of all views, where every view was a data frame whose columns have
        strings as names. New data frames must then have the same ones, and so must one that was a
        frame beside others; of columns whose names are no text only the order is compared.
    column_names_ : numpy.ndarray of shape (sum of the d_a,), object
        The same, with None for columns without such a name.
    view_names_ : list of v str
        What files call the views; empty for a view that came without a name.
    record_ : dict
        How the command line read the data, which a saved model keeps; empty after a fit in Python.
    pipelines_ : list of v dmac.data.levels.LevelPipeline
        What every view goes through first.

    Notes
    -----
    Of more samples than the recipe fits (``fit_samples``) a random part is fitted, and all are
    placed as `predict` places new ones. The samples are shuffled before fitting and put back after,
    so that nothing can be learned from the order of a file. A small fit takes one thread, whatever
    PyTorch has, since more of them are slow beside other work; the environment variable
    ``DMAC_NUM_THREADS`` sets another number (:mod:`dmac.compute.threads`). Samples with fewer
    distinct rows than clusters, down to one, fit without an error; a ``ConvergenceWarning`` says
    how many of the c clusters came out. Samples that are zero in every view are counted in a
    ``UserWarning``.

    *Dask arrays.* All views are Dask arrays, or none. What is fitted is drawn, the moments of all
    samples are added up, and samples are placed in tasks, wherever the user's client is. A task
    holds the fitted model, on the processor, and a block of rows of all views: a chunk of the
    first view, cut where it has more than 2**22 numbers in all of them; the others are chunked
    alike. ``fit_transform``, `transform`, `predict` and `predict_proba` return lazy Dask arrays,
    and what is wrong in a block is said when it is computed. A row of NaN is a view that a sample
    lacks; ``present`` and ``as_frame`` are refused.

    Examples
    --------
    >>> import dmac
    >>> data = dmac.load("mfeat")
    >>> model = dmac.AnchorGraphClustering(n_clusters=10, random_state=0)
    >>> labels = model.fit_predict(data.views)
    >>> dmac.scores(data.labels, labels)["acc"] > 0.95
    True

    New samples get the clusters of the fit, and a model can be kept:

    >>> import tempfile
    >>> new = [x[:4] for x in data.views]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder)
    ...     bool((dmac.load_model(folder).predict(new) == labels[:4]).all())
    True
    """

    def __init__(
        self,
        n_clusters: int,
        recipe: str | SpectralRecipe = "closed_form",
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        super().__init__(n_clusters, recipe, random_state, device, dtype, verbose)

    def fit(self, views: Views, y: object = None, *, present: npt.ArrayLike | None = None) -> Self:
        """Cluster the samples by the eigenvectors of their averaged graph.

        Parameters
        ----------
        views : list of v array_likes of shape (n, d_a)
            A row of NaN, or of zeros, is a view that the sample lacks; None where a view is a
            nested list. Of data frames with other names of samples the union is taken, and a
            sample lacks the views whose frames do not have it.
        y : ignored
            Labels may stand here, as in scikit-learn. Several columns are a view, and refused.
        present : array_like of shape (n, v), bool, optional
            Which views each sample has. The entries of the others are not looked at.

        Returns
        -------
        AnchorGraphClustering
            Itself.

        Raises
        ------
        ValueError
            If the recipe is that of a network, the views are not usable
            (:func:`dmac.data.checks.as_views`), c, k and m do not fit the number of samples, or
            only some entries of a row are NaN, or a sample lacks all views.
        """
        return self._fit(views, y, present)

    def _keep(self, plan: Plan, outcome: Outcome, *about: Any, **named: Any) -> None:
        super()._keep(plan, outcome, *about, **named)
        self.view_agreement_ = self.model_.agreement
        self.support_of_others_ = self.model_.support_of_others
        self.n_missing_ = self.model_.missing
        if outcome.membership is not None:  # else only labels were kept
            self.membership_ = outcome.membership
            self.confidence_ = self.membership_[np.arange(len(self.labels_)), self.labels_]

    @property
    def view_support_(self) -> Floats:
        """The name of ``support_of_others_`` until 0.2."""
        warn("view_support_ is support_of_others_, and goes with the next version", FutureWarning)
        return self.support_of_others_

    def predict_proba(self, views: Views, *, present: npt.ArrayLike | None = None) -> Array:
        """The share of each sample's links that end in each cluster, :eq:`eq:membership`.

        Fitted samples have it as ``membership_``; new ones get it by their links with the anchors.
        The largest share is mostly, not always, that of the cluster that `predict` gives.

        Parameters
        ----------
        views : list of v array_likes of shape (n_new, d_a)
            As for `transform`, with the same errors.
        present : array_like of shape (n_new, v), bool, optional

        Returns
        -------
        numpy.ndarray of shape (n_new, c), or dask.array.Array of Dask arrays
            Rows sum to 1.
        """
        checked = self._new(views, present)
        return self._placed(checked, lambda _, memberships, __: np.asarray(memberships))


class DMAC(MultiViewEstimator):
    r"""Deep multi-view anchor clustering, the paper's network.

    An encoder for every view is trained on the joint loss :eq:`eq:joint-loss`, and k-means clusters
    the last epoch's embedding (:mod:`dmac.solvers.network_solver`). The default does what the
    authors' code does. :class:`dmac.AnchorGraphClustering`, which trains nothing, is what the book
    recommends for data of one's own.

    Where a scikit-learn estimator takes one array, this one takes a list of v views with the same
    n samples in the same order: NumPy arrays, SciPy sparse matrices, tensors or data frames. One
    two-dimensional array is one view. Several data frames are lined up by their index
    (:mod:`dmac.data.names`). A memory map, an HDF5 data set or a Zarr array stays on disk
    (:mod:`dmac.compute.streaming`). Every sample must have all views. ``predict``, ``transform``,
    ``score`` and ``save`` are those of :class:`dmac.estimators.MultiViewEstimator`.

    Parameters
    ----------
    n_clusters : int
        c, from 2 to n.
    recipe : str or dmac.recipes.NetworkRecipe
        "released", "published", "revised", or an instance, such as ``dataclasses.replace`` makes.
        :mod:`dmac.recipes` says what each of them is for.
    random_state : int, numpy.random.RandomState or None
        Draws everything that is random: the order of the samples, the initial weights, the noise,
        the k-means starts. The same integer gives the same labels on the same machine, on the CPU
        with the same number of threads; a GPU adds in an order that varies, and may differ.
    device : str
        "auto" (a GPU when there is one), "cpu", "cuda", "cuda:1", ...
    dtype : {"float32", "float64"}
        Of the network and of what it computes.
    verbose : bool
        Show a bar with the epoch, its loss and the time left. ``TQDM_DISABLE=1`` in the environment
        switches it off.

    Attributes
    ----------
    labels_ : numpy.ndarray of shape (n,), int64
        Clusters from 0: k-means on the last epoch's Z.
    embedding_ : numpy.ndarray of shape (n, d)
        The fused Z after the last epoch.
    anchors_ : numpy.ndarray of shape (m, d)
        U, drawn for that Z; where the anchors live in the views, the means of their samples in Z.
    cluster_centers_ : numpy.ndarray of shape (c, d), float64
        Centres of the final k-means, by which ``predict`` decides.
    history_ : list of dmac.training.EpochRecord
        One an epoch of the training.
    pretrain_history_ : list of dmac.embedding.PretrainRecord
        One an epoch of the pre-training.
    model_ : dmac.network.Network
        The trained network.
    recipe_ : dmac.recipes.NetworkRecipe
        What the fit used.
    n_anchors_ : int
        m.
    n_features_ : tuple of int
        Widths of the views.
    n_features_in_ : int
        Their sum.
    feature_names_in_ : numpy.ndarray of shape (sum of the d_a,), object
        Names of the columns of all views, where every view was a data frame whose columns have
        strings as names. New data frames must then have the same ones, and so must one that was a
        frame beside others; of columns whose names are no text only the order is compared.
    column_names_ : numpy.ndarray of shape (sum of the d_a,), object
        The same, with None for columns without such a name.
    view_names_ : list of v str
        What files call the views; empty for a view that came without a name.
    record_ : dict
        How the command line read the data, which a saved model keeps; empty after a fit in Python.
    pipelines_ : list of v dmac.data.pipeline.ViewPipeline
        What every view goes through first.

    Notes
    -----
    The samples are shuffled before fitting and put back after, so that nothing can be learned from
    the order of a file. Beside the views and the network's activations, memory grows as n (d + k):
    samples and anchors are compared block by block (:mod:`dmac.scaling`). A small fit takes one
    thread, whatever PyTorch has, since more of them are slow beside other work; the environment
    variable ``DMAC_NUM_THREADS`` sets another number (:mod:`dmac.compute.threads`). Samples with
    fewer distinct rows than clusters, down to one, fit without an error; a ``ConvergenceWarning``
    says how many of the c clusters came out. Samples that are zero in every view are counted in a
    ``UserWarning``.

    *Collapse.* The joint loss is least where all samples coincide, and a fit may end near there
    (chapter 9 of the book). `fit` measures the spread s of Z, 1 minus the mean cosine between two
    rows (:func:`dmac.diagnostics.mean_cosine`), and says so in a ``CollapseWarning`` where s is
    below 0.01 and below a tenth of what it was in the first epoch. The mean squared distance
    between two unit rows is 2 s, so at 0.01 they are a tenth as far apart as rows that have nothing
    in common, and the part of Z that k-means sees, what is left without the mean row, has
    :math:`s (n - 1) / n` of its squared norm: less than a hundredth. An offset of all rows makes s
    small as well, but is there from the first epoch on; the tenth excludes it.

    Examples
    --------
    >>> import dataclasses
    >>> import dmac
    >>> views = [x[::8] for x in dmac.load("mfeat").views]
    >>> short = dataclasses.replace(dmac.recipes.REVISED, epochs=3)
    >>> network = dmac.DMAC(10, short, random_state=0).fit(views)
    >>> [record.epoch for record in network.history_]
    [1, 2, 3]
    """

    def __init__(
        self,
        n_clusters: int,
        recipe: str | NetworkRecipe = "released",
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        super().__init__(n_clusters, recipe, random_state, device, dtype, verbose)

    def fit(
        self,
        views: Views,
        y: object = None,
        *,
        callback: Callback | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Pre-train, train on the joint loss :eq:`eq:joint-loss`, and cluster the last epoch's Z.

        Parameters
        ----------
        views : list of v array_likes of shape (n, d_a)
        y : ignored
            Labels may stand here, as in scikit-learn. Several columns are a view, and refused.
        callback : callable, optional
            Called as ``callback(record, embed)`` after every epoch with a ``PretrainRecord`` or an
            ``EpochRecord``; ``embed()`` computes the current Z, (n, d), in the order of ``views``.
            It sees the fit, it cannot change it.
        checkpoint : str or path, optional
            A folder in which the state of the fit is kept. The same call goes on from there, with
            the result of a fit that was not interrupted; ``random_state`` must be an integer.
        checkpoint_every : int
            Epochs between two writes.

        Returns
        -------
        DMAC
            Itself.

        Raises
        ------
        ValueError
            If the recipe trains no network, the views are not usable
            (:func:`dmac.data.checks.as_views`), samples lack views, c, k and m do not fit the
            number of samples, or the checkpoint is damaged or of another fit.
        FloatingPointError
            If a loss stops being finite.
        OSError
            If the checkpoint cannot be written, as on a full disk; the last one stays whole.

        Warns
        -----
        CollapseWarning
            If the embedding has collapsed; the notes of the class have the criterion.

        Notes
        -----
        Ctrl-C ends a fit after the epoch that is running; a second one stops at once, and leaves
        the estimator as it was. With a checkpoint the state is written and ``KeyboardInterrupt``
        raised. Without one the fit ends as if this epoch had been its last, with a
        ``ConvergenceWarning`` that names it: the model can be used and saved.
        """
        if checkpoint is not None and not isinstance(self.random_state, numbers.Integral):
            raise ValueError(
                f"random_state is {self.random_state!r}: a fit with a checkpoint needs an integer, "
                "or it could not be repeated"
            )
        every = None if checkpoint is None else (checkpoint, checkpoint_every)
        # Only a checkpoint is compared with the views later, and they are large.
        self._fit(views, y, release=every is None, callback=callback, checkpoint=every)
        with usual_settings():
            self._warn_of_collapse()
        return self

    def _keep(self, plan: Plan, outcome: Outcome, *about: Any, **named: Any) -> None:
        super()._keep(plan, outcome, *about, **named)
        self.history_ = outcome.history
        self.pretrain_history_ = outcome.pretrain_history

    def _warn_of_collapse(self) -> None:
        """Say so where all rows of Z have come to point the same way."""
        if not self.history_ or len(self.embedding_) < 2:
            return
        spread = 1 - mean_cosine(self.embedding_)
        first = 1 - self.history_[0].mean_cosine
        if spread < min(_SPREAD, _SHARE_OF_FIRST * first):
            warn(
                f"the embedding has collapsed: the mean cosine between its rows is above "
                f"{1 - _SPREAD}, and the labels reflect only the remaining spread. "
                "recipe='revised' excludes that, and dmac.AnchorGraphClustering trains nothing",
                CollapseWarning,
            )


def numbered_by_size(model: AnchorGraphClustering | DMAC) -> AnchorGraphClustering | DMAC:
    """A fitted estimator with its clusters numbered by size, the largest first.

    Parameters
    ----------
    model : dmac.AnchorGraphClustering or dmac.DMAC
        Fitted. It stays as it is.

    Returns
    -------
    dmac.AnchorGraphClustering or dmac.DMAC
        A copy, which shares all other arrays.
    """
    sizes = np.bincount(model.labels_, minlength=len(model.cluster_centers_))
    order = np.argsort(-sizes, kind="stable")
    numbered = copy.copy(model)
    numbered.labels_ = np.argsort(order)[model.labels_]
    numbered.cluster_centers_ = model.cluster_centers_[order]
    if isinstance(model, AnchorGraphClustering):
        numbered.model_ = dataclasses.replace(model.model_, ends=model.model_.ends[:, order])
    if hasattr(model, "membership_"):
        numbered.membership_ = model.membership_[:, order]
    return numbered


def estimator_of(recipe: str | BaseRecipe) -> type[AnchorGraphClustering | DMAC]:
    """Which of the two estimators a recipe belongs to.

    Parameters
    ----------
    recipe : str, dmac.recipes.NetworkRecipe or dmac.recipes.SpectralRecipe

    Returns
    -------
    type

    Raises
    ------
    ValueError
        As :func:`dmac.recipes.get_recipe`.

    Examples
    --------
    >>> from dmac.estimators import estimator_of
    >>> estimator_of("revised").__name__
    'DMAC'
    """
    return DMAC if isinstance(get_recipe(recipe), NetworkRecipe) else AnchorGraphClustering


def load_model(path: PathLike, device: str | None = None) -> AnchorGraphClustering | DMAC:
    """Read a fitted estimator that was saved, of either class.

    Models that dmac 0.1.0 saved are read too, where both were `DMAC`: one with a spectral recipe is
    an `AnchorGraphClustering`.

    Parameters
    ----------
    path : str or path
        The folder that ``save`` wrote.
    device : str, optional
        Overrides the device that was saved.

    Returns
    -------
    dmac.AnchorGraphClustering or dmac.DMAC
        Fitted, as it was saved; ``random_state`` is None where it was no integer.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        If the folder is incomplete, may not be read or is damaged; the message names the file.
    """
    with usual_settings():
        estimator, kept = persistence.load(path, device, estimator_of)
    estimator._keep(**kept)
    return estimator


def _checked(
    views: Views,
    solver: Solver,
    present: npt.ArrayLike | None,
    n_features: tuple[int, ...] | None = None,
    columns: Array | None = None,
) -> list[View]:
    """Checked views, of a fit or, with its widths and columns, of new samples."""
    return as_views(
        views,
        n_features=n_features,
        columns=columns,
        lazy=solver.takes_lazy,
        streamed=True,
        incomplete=solver.takes_incomplete,
        present=present,
        warns=n_features is None,
        most=getattr(solver.recipe, "fit_samples", None),
    )
