"""The soak test's own parts: what it fits, and that it would see memory grow."""

import soak


def test_drift_is_seen():
    steady = [100, 90, 120] * 20 + [104, 96] * 20
    assert abs(soak.drift(steady)) < soak.ALLOWED
    growing = [100 + fit for fit in range(200)]
    assert soak.drift(growing) > soak.ALLOWED


def test_fits_one_data_set_after_the_other():
    sizes = soak.soak(3)
    assert len(sizes) == 3 and min(sizes) > 2**20
