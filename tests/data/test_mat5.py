"""Damaged MATLAB 5 files: an error, where SciPy's reader alone would crash or hang."""

import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from test_variables import cell, read_mat


@pytest.mark.parametrize("value", [0, 15, 0x4A, 0xF3])
def test_a_damaged_byte_anywhere_never_crashes(tmp_path, value):
    """A wrong type code, flag or column start crashes SciPy's reader; ours must get there first."""
    path = tmp_path / "damaged.mat"
    views = cell([np.eye(4, 3), scipy.sparse.csc_matrix(np.eye(4))])
    scipy.io.savemat(path, {"X": views, "Y": np.ones((4, 1))})
    content, errors = path.read_bytes(), 0
    for at in range(124, len(content)):
        path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        try:
            views, _ = read_mat(path)
        except ValueError as error:
            assert "damaged.mat" in str(error)
            errors += 1
        else:
            assert all(x.shape[0] == 4 for x in views)
    assert errors > 50


# The outer matrix at byte 128: tag, flags, sizes (1, 1), name "X"; then the inner one: tag, flags.
@pytest.mark.parametrize(
    "matrix, at, value",
    [("inner", 40, 77), ("inner", 17, 8), ("outer", 35, 64)],
    ids=["type code", "complex flag", "number of cells"],
)
def test_damage_that_crashes_or_hangs_scipy(tmp_path, matrix, at, value):
    path = tmp_path / "damaged.mat"
    scipy.io.savemat(path, {"X": cell([np.ones((4, 3))])})
    content = bytearray(path.read_bytes())
    content[at + (128 if matrix == "outer" else content.index(b"\x0e\0\0\0", 132))] = value
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged\.mat.*impossible"):
        read_mat(path)


def element(code, content):
    """A data element: its tag, its content and zeros up to eight bytes."""
    return struct.pack("<II", code, len(content)) + content + bytes(-len(content) % 8)


def test_a_matrix_without_flags_is_refused(tmp_path):
    path = tmp_path / "damaged.mat"
    scipy.io.savemat(path, {"X": np.ones((4, 3))})
    path.write_bytes(path.read_bytes()[:128] + element(14, element(1, b"X")))
    with pytest.raises(ValueError, match=r"damaged\.mat.*a matrix without flags at byte 128"):
        read_mat(path)


def test_an_object_beside_the_views_is_left_alone(tmp_path):
    """MATLAB stores its newer classes, as strings, without sizes (class 17)."""
    path = tmp_path / "objects.mat"
    scipy.io.savemat(path, {"X": np.ones((4, 3)), "Y": np.arange(4)})
    flags = element(6, struct.pack("<II", 17, 0))
    numbers = element(6, struct.pack("<II", 13, 0)) + element(5, struct.pack("<ii", 1, 1))
    numbers = element(14, numbers + element(1, b"") + element(6, struct.pack("<I", 7)))
    words = b"".join(element(1, word) for word in (b"title", b"MCOS", b"string"))
    path.write_bytes(path.read_bytes() + element(14, flags + words + numbers))
    views, labels = read_mat(path)
    np.testing.assert_array_equal(views[0], np.ones((4, 3)))
    assert labels.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("size", [2, 4])
def test_a_matrix_with_sizes_of_fewer_than_two_numbers_is_refused(tmp_path, size):
    path = tmp_path / "short.mat"
    scipy.io.savemat(path, {"gt": "abc"})
    data = path.read_bytes()
    assert data.count(struct.pack("<II", 5, 8)) == 1
    path.write_bytes(data.replace(struct.pack("<II", 5, 8), struct.pack("<HHI", 5, size, 8)))
    with pytest.raises(ValueError, match=r"short\.mat.*impossible"):
        read_mat(path)
