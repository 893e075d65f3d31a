"""The soak test's own parts: what it fits, and that it would see memory grow."""

import soak


def test_drift_is_seen():
    assert abs(soak.drift([100, 90, 120] * 20 + [104, 96] * 20)) < soak.ALLOWED
    assert soak.drift([100 + fit for fit in range(200)]) > soak.ALLOWED


def test_fits_one_data_set_after_the_other():
    sizes = soak.soak(3)
    assert len(sizes) == 3 and min(sizes) > 2**20
