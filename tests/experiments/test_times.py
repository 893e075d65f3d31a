"""What is computed from times: ratios, what one more sample costs; and which file is read."""

import numpy as np
import pytest

from experiments import times


def test_a_system_is_compared_on_the_data_sets_that_it_finished():
    names = ("system", "dataset", "seconds", "acc")
    rows = ("A", "PIE", 2.0, 0.8), ("A", "BBC", 8.0, 0.9), ("B", "PIE", 0.5, 0.6)
    fits = [dict(zip(names, row)) | {"threads": 1} for row in rows]
    fits.append({"system": "B", "dataset": "BBC", "threads": 1, "error": "more than 40 s"})
    relative = times.relative_to({"fits": fits}, "A")
    assert relative.sets.tolist() == [2, 1]
    np.testing.assert_allclose(relative.seconds, [1, 0.25])
    np.testing.assert_allclose(relative.acc, [0, -20], atol=1e-9)


@pytest.mark.parametrize(
    "written, message",
    [
        ('{"card": null, "profile": "full"}', "a full run on a GPU"),
        ('{"card": "A card", "profile": "quick"}', "a full run on a GPU"),
        ("[1", "is not a file of `make gpu`"),
    ],
)
def test_only_a_full_run_on_a_gpu_is_read(written, message, tmp_path):
    path = tmp_path / "gpu.json"
    path.write_text(written)
    with pytest.raises(ValueError, match=message):
        times.read_gpu(path)
