"""What people of the field run today, as methods of runs: scanpy, muon and MOFA+.

The pipelines that their tutorials show, with the number of clusters given, so that they compare.
All settings were fixed before a run was made. Nothing here is needed by the rest:
``pip install "dmac[field]"`` brings the libraries, and stored runs are read without them. A run
names the versions that it asks for, so another version is another run.
"""

import contextlib
import io
from collections import namedtuple

import numpy as np
import scipy.sparse

from dmac.data.levels import is_counts
from dmac.peers.base import dense
from experiments import libraries

#: The version of each library that the stored runs have; what Python 3.11 can have.
VERSIONS = {"scanpy": "1.11.5", "igraph": "1.0.0", "muon": "0.1.9", "mofapy2": "0.7.5"}
#: Columns up to which a view is taken as it is, and principal components of the others.
NARROW, COMPONENTS = 50, 30
#: Starts of k-means.
STARTS = 10
#: Factors of MOFA+, and features of most variance that it gets of each view.
FACTORS, FEATURES = 10, 1000
#: Resolutions of Leiden between which those for c clusters are sought, and halvings on the way.
RESOLUTIONS, HALVINGS = (1e-3, 1e3), 20
#: Seconds of the processor after which a run is stopped.
LIMIT = 1200


def logged(x):
    """A view as scanpy's table, (n, d): counts normalised and logged, constant features left out.

    Every sample of counts gets the median sum of all of them, then log(1 + x), as in scanpy's
    tutorials.
    """
    import scanpy as sc

    sparse = scipy.sparse.issparse(x)
    table = sc.AnnData(
        scipy.sparse.csr_matrix(x, dtype=float) if sparse else np.array(x, dtype=float)
    )
    if is_counts(x):
        sc.pp.normalize_total(table)
        sc.pp.log1p(table)
    return table[:, np.ptp(dense(table.X), axis=0) > 0].copy()


def components(x, seed):
    """A view of scaled features, centred: `COMPONENTS` principal components, or all if `NARROW`.

    Parameters
    ----------
    x : numpy.ndarray or scipy.sparse array of shape (n, d)
        It stays sparse: the principal components centre it on the way.
    seed : int

    Returns
    -------
    numpy.ndarray of shape (n, min(`COMPONENTS`, n - 1)), or (n, d) if d <= `NARROW`
        Of d features that are not constant.
    """
    import scanpy as sc

    table = logged(x)
    narrow = table.n_vars <= NARROW
    table.X = dense(table.X) if narrow else table.X
    if table.n_vars:
        sc.pp.scale(table, zero_center=not scipy.sparse.issparse(table.X))
    if narrow:
        return table.X
    return sc.pp.pca(table.X, min(COMPONENTS, table.n_obs - 1), random_state=seed)


def varying(views, seed):
    """The `components` of every view that is not the same for all samples."""
    rows = [components(x, seed) for x in views]
    return [x for x in rows if x.shape[1]]


def equal_power(rows):
    """Centred views side by side, each with mean squared row length 1: (n, sum of the widths)."""
    return np.hstack([x / np.sqrt(np.mean(np.sum(x**2, axis=1))) for x in rows])


def n_neighbors(n):
    """20, n / 10 at most and 5 at least."""
    return max(5, min(20, n // 10))


def with_graph(rows, seed):
    """Scanpy's table of some rows (n, d) with the graph of their nearest neighbours.

    They are exact, as scanpy has them by default up to 8,191 samples. Above, its default meets
    SciPy's sparse arrays, which have no ``getnnz`` any more, and fails.
    """
    import scanpy as sc

    table, k = sc.AnnData(rows), n_neighbors(len(rows))
    sc.pp.neighbors(table, k, use_rep="X", transformer="sklearn", random_state=seed)
    return table


def bisected(cluster, n_clusters):
    """Labels with c clusters, by bisecting the logarithm of the resolution.

    Where no resolution on the way gives c clusters, it is the nearest number that one gave, and
    the first of two that are equally near.

    Parameters
    ----------
    cluster : callable
        Labels (n,) for a resolution; more resolution gives more clusters.
    n_clusters : int
    """
    (least, most), best, least_off = RESOLUTIONS, None, np.inf
    for _ in range(HALVINGS):
        resolution = np.sqrt(least * most)
        labels = cluster(resolution)
        off = len(np.unique(labels)) - n_clusters
        if abs(off) < least_off:
            best, least_off = labels, abs(off)
        if off == 0:
            break
        least, most = (least, resolution) if off > 0 else (resolution, most)
    return best


def leiden(graph, n_clusters, seed):
    """Labels (n,) of Leiden on a graph (n, n), by igraph in two iterations, `bisected`."""
    import scanpy as sc

    table = sc.AnnData(shape=(graph.shape[0], 0))

    def cluster(resolution):
        options = dict(flavor="igraph", n_iterations=2, directed=False, random_state=seed)
        sc.tl.leiden(table, resolution, adjacency=graph, **options)
        return table.obs["leiden"].to_numpy().astype(int)

    return bisected(cluster, n_clusters)


def _kmeans(rows, n_clusters, seed):
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=STARTS, random_state=seed).fit_predict(rows)


def pca_leiden(views, n_clusters, seed):
    """Leiden on the graph of the views' components at equal power."""
    rows = equal_power(varying(views, seed))
    return leiden(with_graph(rows, seed).obsp["connectivities"], n_clusters, seed)


def pca_kmeans(views, n_clusters, seed):
    """K-means on the views' components at equal power."""
    return _kmeans(equal_power(varying(views, seed)), n_clusters, seed)


def pca_spectral(views, n_clusters, seed):
    """Spectral clustering of the graph that Leiden gets."""
    from sklearn.cluster import SpectralClustering

    graph = with_graph(equal_power(varying(views, seed)), seed).obsp["connectivities"]
    model = SpectralClustering(n_clusters, affinity="precomputed", random_state=seed)
    return model.fit_predict(graph)


def wnn_leiden(views, n_clusters, seed):
    """Leiden on the graph of weighted nearest neighbours of the views' components."""
    import muon
    from mudata import MuData

    tables = {str(a): with_graph(x, seed) for a, x in enumerate(varying(views, seed))}
    both, n = MuData(tables), views[0].shape[0]
    k = dict(n_neighbors=n_neighbors(n), n_multineighbors=min(200, n - 1))  # 200 is the default
    muon.pp.neighbors(both, random_state=seed, **k)
    return leiden(both.obsp["connectivities"], n_clusters, seed)


def mofa_kmeans(views, n_clusters, seed):
    """K-means on the factors of MOFA+; its guide advises the Gaussian likelihood, after a log."""
    from mofapy2.run.entry_point import entry_point

    tables = [dense(logged(view).X) for view in views]
    order = [np.argsort(-x.var(axis=0), kind="stable")[:FEATURES] for x in tables]
    features = [[x[:, some]] for x, some in zip(tables, order) if x.size]
    with contextlib.redirect_stdout(io.StringIO()):
        model = entry_point()
        model.set_data_options(scale_views=True)
        model.set_data_matrix(features, likelihoods=["gaussian"] * len(features))
        model.set_model_options(factors=FACTORS)
        model.set_train_options(seed=seed, quiet=True)
        model.build()
        model.run()
    return _kmeans(model.model.nodes["Z"].getExpectation(), n_clusters, seed)


#: A pipeline: labels (n,) of views, number of clusters and seed; and the libraries that it needs
#: beside the rest, keys of `VERSIONS`.
Tool = namedtuple("Tool", "fit libraries")
#: The standard pipeline of single-cell work with three ways to cluster, by their names in tables.
STANDARD = {
    "PCA + Leiden": Tool(pca_leiden, ("scanpy", "igraph")),
    "PCA + k-means": Tool(pca_kmeans, ("scanpy",)),
    "PCA + spectral": Tool(pca_spectral, ("scanpy",)),
}
#: What is made for cells and omics, and run on them alone.
CELLS_ONLY = {
    "WNN + Leiden": Tool(wnn_leiden, ("scanpy", "igraph", "muon")),
    "MOFA+ + k-means": Tool(mofa_kmeans, ("scanpy", "mofapy2")),
}
EVERY = STANDARD | CELLS_ONLY


def field_settings(name):
    """The settings of a run of one of `EVERY`: versions, and the `LIMIT` of seconds."""
    return {"versions": {key: VERSIONS[key] for key in EVERY[name].libraries}, "limit": LIMIT}


def fit_field(name, views, n_clusters, seed, *, versions, limit):
    """Labels (n,) of one of `EVERY`, whose settings come last.

    Errors are those of :func:`experiments.libraries.labels_of`.
    """
    fit = EVERY[name].fit
    return libraries.labels_of(name, versions, limit, fit, views, int(n_clusters), seed)
