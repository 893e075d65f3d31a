"""DMAC as a scikit-learn estimator: a list of views in, labels out.

Chapter 14 of the book uses it on a reader's own data.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
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

from dmac._types import Array, Floats, Integers, Matrix, PathLike, Views
from dmac._warn import warn
from dmac.closed_form.votes import markov_stability
from dmac.compute.device import resolve_device, resolve_dtype, usual_settings
from dmac.compute.progress_bar import shown
from dmac.compute.streaming import pick
from dmac.compute.threads import threads_for
from dmac.data.checks import (
    check_no_views,
    check_seed,
    check_views,
    n_distinct,
    say_which_are_zero,
    warn_of_zero_samples,
)
from dmac.data.named_views import as_named, number_of, title
from dmac.data.names import (
    check_feature_names,
    column_names,
    index_of,
)
from dmac.model_selection import averaged_graph
from dmac.recipes import CLOSED_FORM, BaseRecipe, get_recipe
from dmac.solvers import persistence
from dmac.solvers.contract import Callback, Solver, solver_of
from dmac.solvers.placing import NearestCentre, in_order, place
from dmac.solvers.preparing import prepare, shuffled


class DMAC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    r"""Deep multi-view anchor clustering.

    Where a scikit-learn estimator takes one array, this one takes a list of v views with the same
    n samples in the same order: NumPy arrays, SciPy sparse matrices, tensors or data frames. One
    two-dimensional array is one view. Several data frames are lined up by their index, and what
    comes out is in the order of the first, then of the names that the next ones add
    (:mod:`dmac.data.names`). A memory map, an HDF5 data set or a Zarr array stays on disk
    (:mod:`dmac.compute.streaming`).

    Parameters
    ----------
    n_clusters : int
        c, from 2 to n.
    recipe : str, dmac.recipes.Recipe or dmac.recipes.SpectralRecipe
        "closed_form", which trains nothing, "revised", "released", "published", or an instance.
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
        Show a bar with the epoch, its loss and the time left, or with the stages of a recipe that
        has no epochs. ``TQDM_DISABLE=1`` in the environment switches it off.

    Attributes
    ----------
    labels_ : numpy.ndarray of shape (n,), int64
        Clusters from 0: k-means on the last epoch's Z.
    embedding_ : numpy.ndarray of shape (n, d)
        The fused Z after the last epoch; of "closed_form" the weighed eigenvectors, d = K.
    anchors_ : numpy.ndarray of shape (m, d)
        U, drawn for that Z; where the anchors live in the views, the means of their samples in Z.
    cluster_centers_ : numpy.ndarray of shape (c, d), float64
        Centres of the final k-means, by which `predict` decides.
    history_ : list of dmac.training.EpochRecord
        Empty where nothing is trained.
    pretrain_history_ : list of dmac.embedding.PretrainRecord
    recipe_ : dmac.recipes.Recipe or dmac.recipes.SpectralRecipe
        What the fit used. Of fewer samples than the recipe has anchors for its k neighbours, where
        it leaves their number open, "closed_form" takes k + 1 anchors, or all samples.
    n_anchors_ : int
    n_features_ : tuple of int
        Widths of the views.
    n_features_in_ : int
        Their sum.
    feature_names_in_ : numpy.ndarray of shape (sum of the d_a,), object
        Names of the columns of all views, where every view was a data frame whose columns have
        strings as names. New data frames must then have the same ones, and so must one that was a
        frame beside others; of columns whose names are no text only the order is compared.
    membership_ : numpy.ndarray of shape (n, c)
        Of "closed_form": how sure the labels are, the share of a sample's links in the averaged
        graph that end in each cluster (:func:`dmac.closed_form.membership.memberships`). Rows sum
        to 1. It ranks samples, and is no probability of being right: chapter 14 of the book
        measures it. A recipe that trains a network has none.
    confidence_ : numpy.ndarray of shape (n,)
        The membership of each sample in its own cluster.
    network_ : dmac.network.Network or dmac.closed_form.model.SpectralModel
    view_agreement_ : numpy.ndarray of shape (v,) or None
        Of "closed_form": how far each view's own graph supports the clusters of all, up to 1
        (:func:`dmac.closed_form.support.view_agreement`). A view far below the others says
        something else. It is high for a view that decides alone, too; the next attribute tells. A
        view answers for the samples that have it.
    view_support_ : numpy.ndarray of shape (v,) or None
        Of "closed_form": how far the graphs of the *other* views support the clusters, the mean of
        these views' support: 1 fully, 0 no more than by chance, so it may be just below 0
        (:func:`dmac.closed_form.support.own_support`). Near 0 the clusters are those of this view
        alone, and `fit` warns. For two views it is what the other one says; nan for one view, for
        ``blocks="joint"`` and for models that were saved without it.
    n_missing_ : numpy.ndarray of shape (v,), int64, or None
        Of "closed_form": how many of the samples lack each view.

    Notes
    -----
    Every view goes through a :class:`dmac.data.pipeline.ViewPipeline` first; what it learned is
    kept for new samples. Of more samples than "closed_form" fits (``fit_samples`` of the recipe) a
    random part is fitted, and all are placed as `predict` places new ones. The samples are shuffled
    before fitting and put back after, so that nothing can be learned from the order of a file.
    Beside the views and the network's activations,
    memory grows as n (d + k): samples and anchors are compared block by block
    (:mod:`dmac.scaling`). A small fit takes one thread, whatever PyTorch has, since more of them
    are slow beside other work; the environment variable ``DMAC_NUM_THREADS`` sets another number
    (:mod:`dmac.compute.threads`). Samples with fewer distinct rows than clusters, down to one, fit
    without an error; a ``ConvergenceWarning`` says how many of the c clusters came out. Samples
    that are zero in every view are counted in a ``UserWarning``.

    Examples
    --------
    >>> import dmac
    >>> data = dmac.load("mfeat")
    >>> model = dmac.DMAC(n_clusters=10, random_state=0)
    >>> labels = model.fit_predict(data.views)
    >>> dmac.scores(data.labels, labels)["acc"] > 0.95
    True

    New samples get the clusters of the fit, and a model can be kept:

    >>> import tempfile
    >>> new = [x[:4] for x in data.views]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder)
    ...     bool((dmac.DMAC.load(folder).predict(new) == labels[:4]).all())
    True

    Another recipe, a network with fewer epochs than REVISED has:

    >>> import dataclasses
    >>> short = dataclasses.replace(dmac.recipes.REVISED, epochs=3)
    >>> some = [x[::8] for x in data.views]
    >>> trained = dmac.DMAC(10, short, random_state=0).fit(some)
    >>> [record.epoch for record in trained.history_]
    [1, 2, 3]
    """

    def __init__(
        self,
        n_clusters: int,
        recipe: str | BaseRecipe = "closed_form",
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.recipe = recipe
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.verbose = verbose

    def fit(
        self,
        views: Views,
        y: object = None,
        *,
        present: npt.ArrayLike | None = None,
        callback: Callback | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Embed the samples as the recipe says, and cluster the embedding.

        A trained recipe pre-trains, trains on the joint loss :eq:`eq:joint-loss` and takes the
        last epoch's Z; "closed_form" takes eigenvectors of an averaged graph
        (:mod:`dmac.closed_form.solver`).

        Parameters
        ----------
        views : list of v array_likes of shape (n, d_a)
            A row of NaN, or of zeros, is a view that the sample lacks; None where a view is a
            nested list. Of data frames with other names of samples the union is taken, and a
            sample lacks the views whose frames do not have it. Only "closed_form" takes those
            (:mod:`dmac.closed_form.completion`).
        y : ignored
            Labels may stand here, as in scikit-learn. Several columns are a view, and refused.
        present : array_like of shape (n, v), bool, optional
            Which views each sample has. The entries of the others are not looked at.
        callback : callable, optional
            Called as ``callback(record, embed)`` after every epoch with a ``PretrainRecord`` or an
            ``EpochRecord``; ``embed()`` computes the current Z, (n, d), in the order of ``views``.
            It sees the fit, it cannot change it. A recipe that trains nothing does not call it.
        checkpoint : str or path, optional
            A folder in which the state of the fit is kept. The same call goes on from there, with
            the result of a fit that was not interrupted; ``random_state`` must be an integer. A
            recipe that trains nothing takes seconds, and keeps nothing there.
        checkpoint_every : int
            Epochs between two writes.

        Returns
        -------
        DMAC
            Itself.

        Raises
        ------
        ValueError
            If the views are not usable (:func:`dmac.data.checks.check_views`), c, k and m do
            not fit the number of samples, or the checkpoint is damaged or of another fit. If only
            some entries of a row are NaN, a sample lacks all views, or the recipe trains a network
            and samples lack views.
        FloatingPointError
            If a loss stops being finite.
        OSError
            If the checkpoint cannot be written, as on a full disk; the last one stays whole.

        Notes
        -----
        Ctrl-C ends a fit after the epoch that is running; a second one stops at once, and leaves
        the estimator as it was. With a checkpoint the state is written and ``KeyboardInterrupt``
        raised. Without one the fit ends as if this epoch had been its last, with a
        ``ConvergenceWarning`` that names it: the model can be used and saved. A recipe that trains
        nothing stops at once.
        """
        check_no_views(y)
        return self._fit(views, present, callback, checkpoint, checkpoint_every)

    def _fit(
        self,
        views: Views,
        present: npt.ArrayLike | None = None,
        callback: Callback | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: int = 10,
        into: Array | None = None,
    ) -> Self:
        """`fit`; with ``into``, see `dmac.solvers.placing.in_order`."""
        solver, c = solver_of(get_recipe(self.recipe)), self.n_clusters
        device, dtype = resolve_device(self.device), resolve_dtype(self.dtype)
        checked, given = self._checked(views, solver, present), as_named(views)
        n, widths = checked[0].shape[0], tuple(x.shape[1] for x in checked)
        n_fitted = solver.n_fitted(n, c)
        recipe, m = solver.effective(n_fitted, c)
        solver, is_part = solver_of(recipe), n_fitted < n
        if checkpoint is not None and not isinstance(self.random_state, numbers.Integral):
            raise ValueError(
                f"random_state is {self.random_state!r}: a fit with a checkpoint needs an integer, "
                "or it could not be repeated"
            )
        if not is_part:  # else it is known when they are placed
            warn_of_zero_samples(checked)
        seed = int(check_seed(self.random_state).randint(2**31 - 1))
        generator, distinct = torch.Generator().manual_seed(seed), n_distinct(checked, c)
        pipelines = solver.pipelines(len(checked), c)
        for a, (pipeline, x) in enumerate(zip(pipelines, given)):
            pipeline.title = title(a, x)
        stages = len(checked) + solver.stages + is_part
        with (
            threads_for(solver.work(n_fitted, widths, m, c)),
            shown(self.verbose, stages, solver.epochs),
        ):
            order = shuffled(n, generator)[:n_fitted]
            # Only a checkpoint is compared with the views later, and they are large.
            release = checkpoint is None and not is_part
            prepared = prepare(checked, pipelines, order, device, dtype, release=release)
            every = None if checkpoint is None else (checkpoint, checkpoint_every)
            outcome = solver.solve(prepared, c, m, generator, callback, every)
            outcome = in_order(outcome, prepared, recipe, into)
        # Attributes only now: a fit that fails leaves an earlier one as it was.
        self.recipe_, self.n_anchors_, self.n_features_ = recipe, m, widths
        self._column_names = column_names(views, widths)
        self._view_names = [x.name for x in given]
        self.pipelines_, self.network_ = pipelines, outcome.model
        self.pretrain_history_, self.history_ = outcome.pretrain_history, outcome.history
        self.anchors_, self.cluster_centers_ = outcome.anchors, outcome.centers
        self.embedding_, self.labels_ = outcome.z, np.array(outcome.labels, np.int64)
        self._membership = outcome.membership
        self._warn_of_lost_clusters(distinct)
        return self

    def _warn_of_lost_clusters(self, distinct: int) -> None:
        """Say so where there are fewer clusters than asked for, or ``distinct`` samples."""
        filled, c = len(np.unique(self.labels_)), self.n_clusters
        if min(filled, distinct) < c:
            why = "the embedding has no more distinct rows"
            if distinct < c:
                be = "is" if distinct == 1 else "are"
                why = f"there {be} only {number_of(distinct, 'distinct sample')}"
            warn(
                f"{filled} of {c} clusters came out: {why}. Ask for fewer clusters",
                ConvergenceWarning,
            )

    def fit_predict(
        self,
        views: Views,
        y: object = None,
        *,
        present: npt.ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> Integers:
        """Fit, and return the labels of the samples: (n,), int64.

        Parameters and errors are those of `fit`.
        """
        return self.fit(views, y, present=present, callback=callback).labels_

    def fit_transform(
        self,
        views: Views,
        y: object = None,
        *,
        present: npt.ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> Floats:
        """Fit, and return the fused embedding of the samples: (n, d).

        Parameters and errors are those of `fit`.
        """
        return self._named(self.fit(views, y, present=present, callback=callback).embedding_, views)

    def transform(self, views: Views, *, present: npt.ArrayLike | None = None) -> Floats:
        """Embed samples, the fitted ones or new ones.

        Parameters
        ----------
        views : list of v array_likes of shape (n_new, d_a)
            The views of the fit, with the same widths.
        present : array_like of shape (n_new, v), bool, optional
            As for `fit`. A new sample may lack views that no fitted one does.

        Returns
        -------
        numpy.ndarray of shape (n_new, d)

        Raises
        ------
        sklearn.exceptions.NotFittedError
        ValueError
            If the views are not usable or differ from the fitted ones in number or width.
        """
        return self._named(self._placed(views, present, lambda z, _: z), views)

    def _placed(
        self,
        views: Views,
        present: npt.ArrayLike | None,
        says: Callable[[Array, Array | None], Any],
    ) -> Array:
        """Check samples, embed them block by block, and say something of each: (n, ...).

        It is said of the Z of a block and its memberships.

        See `dmac.solvers.placing.place`.
        """
        check_is_fitted(self, "network_")
        check_feature_names(views, self._column_names, self.n_features_)
        solver = solver_of(self.recipe_)
        views = self._checked(views, solver, present, self.n_features_)
        n, c = views[0].shape[0], len(self.cluster_centers_)
        parts: dict[int, Array] = {}

        def keep(rows: slice, z: Array, shares: Array | None) -> None:
            with usual_settings(), torch.no_grad():
                parts[rows.start] = says(z, shares)

        with threads_for(solver.work(n, self.n_features_, self.n_anchors_, c)):
            has = place(views, self.pipelines_, self.network_, keep)
        say_which_are_zero(np.asarray(~has.any(1)))
        return np.concatenate([part for _, part in sorted(parts.items())])

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
        labels, solver = self.predict(views, present=present), solver_of(CLOSED_FORM)
        views = self._checked(views, solver, present, self.n_features_)
        c = len(self.cluster_centers_)
        n = solver.n_fitted(len(labels), c)
        if n < len(labels):
            some = np.random.default_rng(0).permutation(len(labels))[:n]
            views, labels = [pick(x, some) for x in views], labels[some]
        recipe, m = solver.effective(n, c)
        with threads_for(solver.work(n, self.n_features_, m, c)):
            graph = averaged_graph(views, c, n_anchors=m, seed=0, recipe=recipe)
            return markov_stability(graph, labels, CLOSED_FORM.guard_time)

    @staticmethod
    def _checked(
        views: Views,
        solver: Solver,
        present: npt.ArrayLike | None,
        n_features: tuple[int, ...] | None = None,
    ) -> list[Matrix]:
        return check_views(
            views,
            n_features=n_features,
            streamed=True,
            incomplete=solver.takes_incomplete,
            present=present,
            tells=n_features is None,
            most=getattr(solver.recipe, "fit_samples", None),
        )

    @property
    def feature_names_in_(self) -> Array:
        check_is_fitted(self, "network_")
        if not all(isinstance(name, str) for name in self._column_names):
            raise AttributeError(
                "feature_names_in_: not every view has columns with strings as names"
            )
        return self._column_names

    @property
    def n_features_in_(self) -> int:
        return sum(self.n_features_)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # it is that of the parameter ``dtype``
        return tags

    @property
    def view_agreement_(self) -> Array | None:
        check_is_fitted(self, "network_")
        return getattr(self.network_, "agreement", None)

    @property
    def view_support_(self) -> Array | None:
        check_is_fitted(self, "network_")
        return getattr(self.network_, "support_of_others", None)

    @property
    def membership_(self) -> Array:
        self._check_graph()
        if self._membership is None:
            raise AttributeError(
                "the labels were written as they came, and nothing else was kept: predict_proba of "
                "the views has the memberships"
            )
        return self._membership

    def _check_graph(self) -> None:
        check_is_fitted(self, "network_")
        if not hasattr(self.network_, "ends"):
            raise AttributeError(
                f"the recipe {self.recipe_.name} trains a network, which has no graph of samples: "
                'fit with recipe="closed_form"'
            )

    @property
    def confidence_(self) -> Array:
        return self.membership_[np.arange(len(self.labels_)), self.labels_]

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
        numpy.ndarray of shape (n_new, c)
            Rows sum to 1.

        Raises
        ------
        AttributeError
            If the recipe trains a network, which has no graph of samples.
        """
        self._check_graph()
        return self._placed(views, present, lambda _, shares: shares)

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
        as_frame : bool
            Return a data frame with the names of the samples, if the views are data frames, their
            "cluster" and, of a recipe with memberships, their "confidence".

        Returns
        -------
        numpy.ndarray of shape (n_new,), int64, or pandas.DataFrame
        """
        check_is_fitted(self, "network_")
        with usual_settings():
            nearest = NearestCentre(self.cluster_centers_, self.labels_, self.recipe_)
        if not as_frame:
            return self._placed(views, present, lambda z, _: nearest(z))
        import pandas as pd

        def says(z: Array, shares: Array | None) -> Array:
            labels = nearest(z)
            own = [] if shares is None else [shares[np.arange(len(z)), labels]]
            return np.column_stack([labels, *own])

        frame = pd.DataFrame(self._placed(views, present, says), index_of(views))
        frame.columns = ["cluster", "confidence"][: frame.shape[1]]
        return frame.astype({"cluster": np.int64})

    @property
    def n_missing_(self) -> Integers | None:
        check_is_fitted(self, "network_")
        return getattr(self.network_, "missing", None)

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator into the folder ``path`` (made if missing).

        One file, ``model.safetensors``, holds the tensors and, as JSON, everything else; no pickle.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        sklearn.exceptions.NotFittedError
        ValueError
            If ``path`` is a file.
        """
        check_is_fitted(self, "network_")
        with usual_settings():
            persistence.save(self, path)

    @classmethod
    def load(cls, path: PathLike, device: str | None = None) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or path
        device : str, optional
            Overrides the device that was saved.

        Returns
        -------
        DMAC
            Fitted, as it was saved; ``random_state`` is None where it was no integer.

        Raises
        ------
        FileNotFoundError, PermissionError, ValueError
            If the folder is incomplete, may not be read or is damaged; the message names the file.
        """
        with usual_settings():
            return persistence.load(cls, path, device)
