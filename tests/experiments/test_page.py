"""What an experiment notebook starts with: what it shows, makes and refuses."""

import numpy as np
import pytest
from toy_runs import METHOD, VARIANTS, filled, load

import dmac
from experiments import records as experiments
from experiments import studies
from experiments.page import Page, check_parameters, load_subset

PARAMETERS = dict(
    dataset="",
    profile="stored",
    seeds=2,
    pretrain_epochs=None,
    epochs=None,
    device="cpu",
    n_jobs=1,
    results="",
)


def page(folder, **parameters):
    return Page(PARAMETERS | {"results": str(folder)} | parameters)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def made(folder):
    return filled(folder, ("toy", "other"))[1]


def test_page_shows_what_is_stored_and_says_what_is_missing(folder, made):
    here = page(folder, seeds=3)
    frame = here.fetch(VARIANTS, "some", ("toy", "absent"))
    assert len(frame) == 4 and frame.attrs["seeds"] == 3
    status = here.status()
    assert list(status.index) == ["toy", "absent", "all"]
    assert status["asked for"].tolist() == [6, 6, 12] and status["stored"].tolist() == [4, 0, 4]
    whole = page(folder)
    assert len(whole.fetch(VARIANTS, "some", ("toy",), seeds=1)) == 2
    assert whole.status().loc["all"].tolist() == [2, 2]
    assert whole.fetch(VARIANTS, "some", ("toy",), seeds=5).attrs["seeds"] == 2


def test_page_looks_up_what_is_stored_and_misses_nothing(folder, made, monkeypatch):
    monkeypatch.setattr(studies, "SEEDS", 2)
    for profile in ("stored", "full"):  # it makes none in any
        here = page(folder, profile=profile)
        found = here.look_up(VARIANTS, ("toy", "absent"), seeds=1)
        assert len(found) == 2 and set(found.dataset) == {"toy"}
        assert list(found.dataset.cat.categories) == ["toy", "absent"]
        assert here.is_whole and here.status().loc["all"].tolist() == [0, 0]
    assert len(page(folder, seeds=1).look_up(VARIANTS, ("toy",), seeds=9)) == 2
    assert set(page(folder, dataset="mfeat").look_up(VARIANTS, ("toy",)).dataset) == set()


def test_page_is_whole_where_all_of_the_full_profile_is_there(folder, made, monkeypatch):
    monkeypatch.setattr(studies, "SEEDS", 2)

    def shows(datasets=("toy", "other"), **parameters):
        here = page(folder, **parameters)
        here.fetch(VARIANTS, "some", datasets)
        return here.is_whole

    assert shows()
    assert not shows(("toy", "absent"))
    assert not shows(seeds=1) and not shows(epochs=100) and not shows(pretrain_epochs=9)
    assert not shows(dataset="mfeat")


def test_page_makes_missing_runs_where_it_is_asked_to(folder, made, tmp_path, monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setenv("DMAC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(dmac, "load", load)
    filled(tmp_path)
    here = page(tmp_path, profile="full", seeds=3)
    assert len(here.fetch(VARIANTS, "some", ("toy",))) == 6
    assert len(experiments.open_store(tmp_path).refresh()) == 6
    shorter = page(tmp_path, profile="full", epochs=1, seeds=1)
    frame = shorter.fetch(VARIANTS, "some", ("toy",))
    assert frame.settings[frame.variant == "short"].iloc[0]["epochs"] == 1
    assert len(experiments.open_store(tmp_path).refresh()) == 7


def test_page_goes_on_without_data_that_are_not_here(folder, made, monkeypatch):
    def absent(name):
        raise dmac.data.registry.DownloadError(f"no {name}")

    monkeypatch.setattr(dmac, "load", absent)
    here = page(folder, profile="full")
    assert len(here.fetch(VARIANTS, "some", ("toy", "PIE"))) == 4
    assert here.absent == {"toy": "no toy", "PIE": "no PIE"}
    assert here.status()["data"].to_dict() == {"toy": "not here", "PIE": "not here", "all": ""}


def test_quick_page_is_small_and_leaves_the_store_alone():
    here = Page(PARAMETERS | dict(profile="quick", seeds=10), quick_seeds=2)
    assert here.datasets == ["mfeat"] and here.seeds == 2
    assert here.store.folder.parent != experiments.RESULTS
    frame = here.fetch(
        {"both": studies.COMPARISON[METHOD], "not": ("no", {})}, "some", quick=["both"]
    )
    assert len(frame) == 2 and set(frame.dataset) == {"HandWritten"}
    assert list(here.status().index) == ["HandWritten", "all"]
    assert here.status().loc["all", "stored"] == 2 and not here.is_whole
    assert load_subset("mfeat").n_samples == 500


def test_only_keeps_variants_from_other_data_sets(folder):
    here = page(folder, dataset="mfeat")
    assert here.fetch(VARIANTS, "some", ("BBC",), only=True).empty
    assert here.status().loc["all"].tolist() == [0, 0]


def test_arrays_are_those_of_the_first_seed(folder, made):
    store = experiments.open_store(folder).refresh()
    frame = experiments.read_runs(VARIANTS, ["toy", "other"], [1, 2], folder)
    key = frame[(frame.variant == "short") & (frame.dataset == "toy")].key.iloc[0]
    path = experiments.arrays_path(store, key)
    path.parent.mkdir()
    np.savez_compressed(path, anchors=np.eye(3))
    arrays = page(folder).arrays(frame)
    assert list(arrays) == [("toy", "short")]
    np.testing.assert_array_equal(arrays["toy", "short"]["anchors"], np.eye(3))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"profile": "fast"}, "profile is 'fast'"),
        ({"seeds": 0}, "seeds is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"n_jobs": "2"}, "n_jobs is '2'"),
        ({"dataset": "mfeet"}, "did you mean 'mfeat'"),
        ({"dataset": "PIE, BCB"}, "'BCB' is neither"),
        ({"sedes": 3}, "unknown parameter.*sedes"),
    ],
)
def test_page_refuses_what_it_does_not_understand(wrong, message, folder):
    with pytest.raises(ValueError, match=message):
        page(folder, **wrong)


def test_page_takes_names_in_any_case(folder):
    assert page(folder, dataset="pie, Yale-3VIEW").datasets == ["PIE", "Yale-3view"]


def test_parameters_of_a_notebook_are_checked():
    namespace = {"In": [], "Out": {}, "_": 1, "seeds": 3, "epochs": None, "Page": Page}
    check_parameters(namespace, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="unknown parameter.*'seed'"):
        check_parameters(namespace | {"seed": 1}, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="seeds is '3', it must be int"):
        check_parameters(namespace | {"seeds": "3"}, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="seeds is True"):
        check_parameters(namespace | {"seeds": True}, seeds=int, epochs=(int, type(None)))
