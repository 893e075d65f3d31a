"""Devices and types by their names, and what is none."""

import pytest
import torch

from dmac.compute.device import resolve_device


def test_devices_have_names():
    for name in ("cpu", torch.device("cpu")):
        assert resolve_device(name) == torch.device("cpu")
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    "device", ["gpu", "abacus", "cuda:99", "CUDA", "meta", "mps:7", "", 3.5, None]
)
def test_an_unusable_device_is_refused_in_a_line_that_says_what_to_pass(device):
    said = f"device {device!r} is not usable here.*: pass 'cpu', 'cuda' or 'auto'$"
    with pytest.raises(ValueError, match=said) as refused:
        resolve_device(device)
    assert len(str(refused.value)) < 200
