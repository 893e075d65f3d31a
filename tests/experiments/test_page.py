"""What an experiment notebook starts with: what it shows, makes and refuses."""

import pytest
from toy_runs import METHOD, PARAMETERS, VARIANTS, filled, load

import dmac
from experiments import records, studies
from experiments.page import Page, check_parameters, load_subset


def page(folder, **parameters):
    return Page(PARAMETERS | {"results": str(folder)} | parameters)


def test_page_shows_what_is_stored_and_says_what_is_missing(folder, made):
    here = page(folder, seeds=3)
    frame = here.fetch(VARIANTS, "some", ("toy", "absent"))
    assert len(frame) == 4 and frame.attrs["seeds"] == 3
    status = here.status()[["asked for", "stored"]]
    assert list(status.itertuples(name=None)) == [("toy", 6, 4), ("absent", 6, 0), ("all", 12, 4)]
    whole = page(folder)
    assert len(whole.fetch(VARIANTS, "some", ("toy",), seeds=1)) == 2
    assert whole.fetch(VARIANTS, "some", ("toy",), seeds=5).attrs["seeds"] == 2
    other = page(folder, dataset="pie, MFEAT")  # in any case
    assert other.datasets == ["PIE", "mfeat"]
    assert other.fetch(VARIANTS, "some", ("BBC",), only=True).empty


def test_page_is_whole_where_all_of_the_full_profile_is_there(folder, made, monkeypatch):
    monkeypatch.setattr(studies, "SEEDS", 2)

    def shows(datasets=("toy", "other"), **parameters):
        here = page(folder, **parameters)
        here.fetch(VARIANTS, "some", datasets)
        return here.is_whole

    assert shows() and not shows(("toy", "absent"))
    for less in ({"seeds": 1}, {"epochs": 100}, {"pretrain_epochs": 9}, {"dataset": "mfeat"}):
        assert not shows(**less)


def test_page_makes_missing_runs_where_it_is_asked_to(tmp_path, monkeypatch):
    monkeypatch.setenv("DMAC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(dmac, "load", load)
    filled(tmp_path)
    assert len(page(tmp_path, profile="full", seeds=3).fetch(VARIANTS, "some", ("toy",))) == 6
    shorter = page(tmp_path, profile="full", epochs=1, seeds=1)
    frame = shorter.fetch({"short": VARIANTS["short"]}, "some", ("toy",))
    assert [settings["epochs"] for settings in frame.settings] == [1]
    assert len(records.open_store(tmp_path).refresh().records) == 7


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
    assert here.store.folder.parent != records.RESULTS
    variants = {"both": studies.COMPARISON[METHOD], "not": ("no", {})}
    frame = here.fetch(variants, "some", quick=["both"])
    assert len(frame) == 2 and set(frame.dataset) == {"HandWritten"}
    assert here.status().loc["all", "stored"] == 2 and not here.is_whole
    assert load_subset("mfeat").n_samples == 500


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


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"seed": 1}, "unknown parameter.*'seed'"),
        ({"seeds": "3"}, "seeds is '3', it must be int"),
        ({"seeds": True}, "seeds is True"),
    ],
)
def test_parameters_of_a_notebook_are_checked(wrong, message):
    namespace = {"In": [], "Out": {}, "_": 1, "seeds": 3, "epochs": None, "Page": Page}
    check_parameters(namespace, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match=message):
        check_parameters(namespace | wrong, seeds=int, epochs=(int, type(None)))
