"""Features and a graph that gained nothing: they do what they say, and their runs are stored."""

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from toy_runs import load

from experiments import kinds
from experiments.studies import BROUGHT, SIXTEEN


def test_cosine_of_centred_rows_is_the_correlation_of_roots():
    x = np.random.default_rng(0).gamma(2, size=(9, 30))
    y = kinds.centred_rows(x)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    np.testing.assert_allclose(y @ y.T, np.corrcoef(np.sqrt(x)), atol=1e-12)
    x[3] = 0
    assert not kinds.centred_rows(x)[3].any()
    for other in (x[:, :5], scipy.sparse.csr_matrix(x)):  # too narrow, sparse
        assert kinds.centred_rows(other) is other


def test_logarithm_is_for_what_leans_after_its_root():
    rng = np.random.default_rng(0)
    counts = np.floor(rng.lognormal(6, 1.5, size=(80, 20)))
    np.testing.assert_allclose(np.sqrt(kinds.logarithm(counts)), np.log1p(counts))
    for other in (rng.uniform(1, 2, size=(80, 20)), counts - 1e6):
        assert kinds.logarithm(other) is other


def test_columns_of_most_variance():
    x = np.random.default_rng(0).normal(size=(50, 60)) * np.r_[np.full(3, 10.0), np.full(57, 0.1)]
    np.testing.assert_array_equal(kinds.of_most_variance(x), x[:, :3])
    assert kinds.of_most_variance(x[:, :50]).shape == (50, 50)


def test_graph_of_nearest_samples():
    x = torch.as_tensor(np.random.default_rng(0).normal(size=(40, 3)))
    factor = kinds.neighbours(x, 6)
    assert (np.diff(factor.indptr) == 6).all() and not factor.diagonal().any()
    graph = (factor @ factor.T).toarray()
    np.testing.assert_allclose(graph.sum(0), 1)
    assert np.linalg.eigvalsh(graph).min() > -1e-12


def test_every_run_is_stored():
    runs = pd.read_csv(kinds.PATH)
    assert len(runs) == len(kinds.VARIANTS) * 22 * 2
    assert set(runs.variant) == set(kinds.VARIANTS) and set(runs.data) == {*BROUGHT, *SIXTEEN}
    assert not runs.duplicated(["variant", "data", "seed"]).any()


def test_a_variant_differs_from_the_recipe_and_leaves_it_as_it_was():
    found = {name: kinds.fit(load("toy"), name, 1) for name in ("CLOSED_FORM", "nearest samples")}
    assert found["nearest samples"]["scores"]["acc"] > 0.9
    assert found["nearest samples"]["embedding"] != found["CLOSED_FORM"]["embedding"]
    again = kinds.fit(load("toy"), "CLOSED_FORM", 1)
    assert again["embedding"] == found["CLOSED_FORM"]["embedding"]
