"""Every idea fits, predicts, and is stored; its recipe refuses what it cannot do."""

import dataclasses

import numpy as np
import pytest
import torch

import dmac
from dmac.anchors import anchor_learning_loss, neighbor_bandwidth
from dmac.compute.distances import squared_distances
from dmac.estimators import estimator_of
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2, CLOSED_FORM_2026_11, RELEASED, REVISED
from dmac.sampling import embedding_draw
from experiments.ideas import network_ideas, spectral_ideas
from experiments.ideas.level_ideas import LevelIdea, NormalScores
from experiments.ideas.refinement import FORMS
from experiments.studies import variant

# The steps of RELEASED collapse an embedding in a few epochs, which is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::dmac.estimators.CollapseWarning")
SMALL = dataclasses.replace(CLOSED_FORM_2026_11, anchor_sets=4)
LEARNED = [form for forms in FORMS.values() for form in forms]
NETWORK = {
    "spread": (REVISED, dict(perturbation=True, sigma="spread")),
    "balanced": (REVISED, dict(al_weight=0.1, al_form="balanced")),
    "both, in the embedding": (RELEASED, dict(sigma="spread", al_form="balanced")),
}


def check_saved(model, again, views):
    np.testing.assert_array_equal(again.transform(views), model.transform(views))
    assert again.recipe_ == model.recipe_


@pytest.mark.parametrize("form", LEARNED)
def test_ideas_on_the_closed_form(form, small_views, saved):
    views, classes = small_views
    recipe = variant(SMALL, refinement=form, refinement_steps=2)
    model = dmac.AnchorGraphClustering(3, recipe, random_state=0, device="cpu").fit(
        [x[:70] for x in views]
    )
    assert dmac.scores(classes[:70], model.labels_)["acc"] > 0.95
    assert dmac.scores(classes[70:], model.predict([x[70:] for x in views]))["acc"] > 0.9
    np.testing.assert_allclose(
        model.transform([x[:70] for x in views]), model.embedding_, atol=1e-5
    )
    check_saved(model, saved(model), views)


def test_refined_anchors_of_a_part_place_the_rest(small_views):
    views, classes = small_views
    recipe = variant(SMALL, refinement="prediction", fit_samples=70, fit_of_cluster=0)
    model = dmac.AnchorGraphClustering(3, recipe, random_state=0, device="cpu").fit(views)
    assert [bool(stage.base) for stage in model.model_.stages] == [True, True]
    assert dmac.scores(classes, model.labels_)["acc"] > 0.9


def test_normal_scores_know_the_order_of_a_column_and_no_more(small_views):
    views, classes = small_views
    recipe = LevelIdea(**vars(CLOSED_FORM_0_2) | dict(levels="all", normal_scores=True))
    model = dmac.AnchorGraphClustering(3, recipe, random_state=0, device="cpu").fit(views)
    assert dmac.scores(classes, model.labels_)["acc"] > 0.9
    x, y = (NormalScores().fit(one).transform(one) for one in (views[0], np.exp(views[0])))
    np.testing.assert_allclose(x, y, atol=1e-12)


def test_a_level_that_is_left_out_is_in_no_block_and_placed_without(small_views, saved):
    views, classes = small_views
    recipe = LevelIdea(**vars(CLOSED_FORM) | dict(without="plain"))
    model = dmac.AnchorGraphClustering(3, recipe, random_state=0, device="cpu").fit(views)
    assert dmac.scores(classes, model.labels_)["acc"] > 0.9
    assert {p.levels for p in model.model_.pipelines} == {("whitened", "scaled")}
    assert len(model.model_.stages[0].base) == 2 * (1 + len(views))
    check_saved(model, saved(model), views)


@pytest.mark.parametrize("name", NETWORK)
def test_ideas_in_the_network(name, small_views, saved):
    recipe, changes = NETWORK[name]
    short = dict(epochs=3, pretrain_epochs=2) if recipe is RELEASED else dict(epochs=3)
    idea = variant(recipe, **short, **changes)
    model = dmac.DMAC(3, idea, random_state=0, device="cpu").fit(small_views[0])
    assert np.isfinite(model.embedding_).all() and len(model.history_) == 3
    check_saved(model, saved(model), small_views[0])


def test_an_idea_that_changes_nothing_is_the_recipe(small_views):
    views, _ = small_views
    network = dataclasses.replace(REVISED, epochs=2)
    ideas = network_ideas.NetworkIdea(**vars(network)), spectral_ideas.SpectralIdea(**vars(SMALL))
    for recipe, idea in zip((network, SMALL), ideas):
        one, other = (estimator_of(r)(3, r, 0, "cpu") for r in (recipe, idea))
        z = one.fit_transform(views)
        np.testing.assert_array_equal(z, other.fit_transform(views))


def test_noise_has_the_size_of_the_anchors_cell():
    x = torch.tensor([[0.0, 0], [2, 0], [10, 0], [10, 4]], dtype=torch.float64)
    u_hat = torch.tensor([[1.0, 0], [10, 2], [100, 100]], dtype=torch.float64)
    noise = torch.tensor([[1.0, -1], [1, 2], [1, 1]], dtype=torch.float64)
    module = network_ideas.SpreadPerturbation(0.5).double()
    u = module(u_hat, noise, x)
    # Squared distances 1, 1 and 4, 4 over two features; the third anchor has no samples.
    spread = torch.tensor([0.5, 2, 0], dtype=torch.float64).sqrt()
    torch.testing.assert_close(u, u_hat + 0.5 * spread[:, None] * noise, rtol=1e-6, atol=1e-9)
    (gradient,) = torch.autograd.grad(u.sum(), module.log_scale)
    torch.testing.assert_close(gradient, (u - u_hat).sum())


def test_noise_is_learned_only_through_the_graph(small_views):
    ends = {}
    for detach in (True, False):
        fields = dict(epochs=3, perturbation=True, sigma="spread", detach_graph=detach)
        idea = variant(REVISED, **fields)
        model = dmac.DMAC(3, idea, random_state=0, device="cpu").fit(small_views[0])
        ends[detach] = float(model.model_.perturbation.log_scale.detach().exp())
    assert ends[True] == pytest.approx(0.5) and abs(ends[False] - 0.5) > 1e-3


def test_the_balanced_loss_is_that_of_the_anchors_module(generator):
    z, u = (torch.nn.functional.normalize(torch.randn(n, 4, generator=generator)) for n in (30, 7))
    idea = variant(RELEASED, al_form="balanced")
    draw = embedding_draw([z], u, 5, idea)
    (found,) = network_ideas.IdeaDraw(**vars(draw)).anchor_learning(z, idea)
    d2 = squared_distances(z, u)
    expected = anchor_learning_loss(d2, neighbor_bandwidth(d2, 5), balanced=True)
    torch.testing.assert_close(found, expected)


def test_what_is_trained_needs_votes_and_a_known_form():
    with pytest.raises(ValueError, match="refinement is 'prediction', which needs vote_rounds"):
        variant(CLOSED_FORM_2026_11, refinement="prediction", vote_rounds=0)
    with pytest.raises(ValueError, match="al_form is 'balance'"):
        variant(RELEASED, al_form="balance")
