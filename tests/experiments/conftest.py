"""A store of small runs, which several files read and none changes."""

import pytest
from toy_runs import filled


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="session")
def made(folder):
    """Two data sets, two variants, two seeds."""
    return filled(folder, ("toy", "other"))[1]
