"""Every layout that circulating .mat files have, written here and read back."""

import itertools

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from dmac.data.checks import check_views
from dmac.data.readers import read_views


def read_mat(path, **options):
    """Views and labels of one file."""
    read = read_views([path], **options)
    return [x.values for x in read.views], read.labels


N = 12
LABELS = np.arange(N) % 4


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    counts = scipy.sparse.csc_matrix(rng.integers(0, 3, (N, 5)).astype(float))
    return [rng.standard_normal((N, 3)), counts, rng.integers(0, 200, (N, 4), np.uint8)]


def cell(items, shape=None):
    out = np.empty(len(items), object)
    out[:] = items
    return out.reshape(shape or (1, -1))


def write_mat73(path, variables):
    """Writes variables the way MATLAB 7.3 does: axes reversed, cells as references in #refs#."""
    numbers = itertools.count()

    def put(group, name, value):
        kind = "double"
        if scipy.sparse.issparse(value):
            value = scipy.sparse.csc_matrix(value)
            group.create_group(name).attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
            parts = {"jc": value.indptr, "ir": value.indices, "data": value.data}
            for part in parts if value.nnz else ["jc"]:  # that alone of an all-zero matrix
                group[name][part] = parts[part] if part == "data" else np.uint64(parts[part])
        elif isinstance(value, dict):
            kind = "struct"
            for key, field in value.items():
                put(group.require_group(name), key, field)
        elif isinstance(value, str):
            group[name], kind = np.array([[ord(c)] for c in value], np.uint16), "char"
        elif value.dtype == object:
            references, kind = np.empty(value.T.shape, h5py.ref_dtype), "cell"
            for at in np.ndindex(*references.shape):
                place = f"#refs#/r{next(numbers)}"
                put(group.file, place, value.T[at])
                references[at] = group.file[place].ref
            group.create_dataset(name, data=references, dtype=h5py.ref_dtype)
        elif value.size == 0:
            group[name] = np.uint64(value.shape)
            group[name].attrs["MATLAB_empty"] = np.uint8(1)
        elif value.dtype.kind == "c":  # a pair of fields, and none of HDF5's own complex numbers
            group[name] = np.ascontiguousarray(value.T).view([("real", "f8"), ("imag", "f8")])
        else:
            group[name], kind = value.T, value.dtype.name
        group[name].attrs["MATLAB_class"] = np.bytes_(kind)

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            put(file, name, value)
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64 HDF5 schema 1.00 .".ljust(124)
    with open(path, "r+b") as file:
        file.write(header + b"\x00\x02IM")


@pytest.fixture(params=["5", "5 compressed", "7.3"])
def save(request, tmp_path):
    """Write a dict of variables as one of the MATLAB formats and return the path."""
    path = tmp_path / "sample.mat"

    def write(variables):
        if request.param == "7.3":
            write_mat73(path, variables)
        else:
            scipy.io.savemat(path, variables, do_compression="compressed" in request.param)
        return path

    return write


def assert_read(result, views, labels=LABELS):
    got, got_labels = result
    assert len(got) == len(views)
    for x, expected in zip(got, views):
        assert scipy.sparse.issparse(x) == scipy.sparse.issparse(expected)
        if scipy.sparse.issparse(x):
            (checked,) = check_views([x])
            assert checked.format == "csr"
            x, expected = checked.toarray(), expected.toarray()
        assert x.dtype == expected.dtype
        np.testing.assert_array_equal(x, expected)
    assert getattr(got_labels, "dtype", np.int64) == np.int64
    np.testing.assert_array_equal(got_labels, labels)


@pytest.mark.parametrize("key", ["X", "data", "fea", "features", "Views"])
@pytest.mark.parametrize("column", [False, True])
def test_cell(save, views, key, column):
    shape = (-1, 1) if column else (1, -1)
    assert_read(read_mat(save({key: cell(views, shape), "Y": LABELS[:, None] + 1})), views)


#: Forms of one vector of labels.
FORMS = {
    "a column from 0": LABELS[:, None],
    "a row from 1": (LABELS + 1)[None].astype(np.uint8),
    "numbers that skip": np.array([10, 20, 30, 70])[LABELS][:, None],
    "a cell of numbers": cell([np.array([[k + 1.0]]) for k in LABELS], (-1, 1)),
    "a cell of words": cell([["bird", "cat", "dog", "eel"][k] for k in LABELS], (-1, 1)),
    "sparse": scipy.sparse.csc_matrix(LABELS[:, None].astype(float)),
}


@pytest.mark.parametrize(
    "key, form",
    [(key, "a column from 0") for key in "Y y gt gnd truth truelabel labels label".split()]
    + [("Y", form) for form in list(FORMS)[1:]],
)
def test_names_and_forms_of_labels(save, views, key, form):
    """Beside a second vector that agrees, and what is neither view nor label."""
    names = cell(["pix", "fou", "fac"])
    views[1] = scipy.sparse.csc_matrix((N, 5))  # a view without entries
    more = {"XX": np.ones((9, N)), "feas": names}  # as ALOI and HandWritten have beside X
    path = save({"X": cell(views), key: FORMS[form], **more})
    assert_read(read_mat(path), views)
    assert_read(read_mat(path, labels_key=False), views, None)
    same = "gt" if key != "gt" else "Y"
    path = save({"X": cell(views), key: FORMS[form], same: LABELS[None] + 1})
    assert_read(read_mat(path), views)


def test_one_hot_labels_are_read_where_they_are_named(save, views):
    table = np.eye(4)[LABELS]
    path = save({"X": cell(views), "labels_all": table})
    assert read_mat(path)[1] is None
    np.testing.assert_array_equal(read_mat(path, labels_key="labels_all")[1], LABELS)
    for wrong in (table + np.eye(N, 4), table[:, :2], 2 * table):
        with pytest.raises(ValueError, match="Y has several columns"):
            read_mat(save({"X": cell(views), "Y": wrong}), labels_key="Y")


def test_numbered_variables_in_numeric_order(save):
    views = [np.full((N, 2), a, float) for a in range(1, 12)]
    variables = {f"X{a}": views[a - 1] for a in (10, 2, 1, 11, 3, 4, 5, 6, 7, 8, 9)}
    assert_read(read_mat(save(variables | {"Y": LABELS[:, None]})), views)
    other = np.full((N, 7), 2.0)
    assert_read(read_mat(save({"view_2": other, "view_1": views[0]})), [views[0], other], None)


def test_views_of_samples_in_columns(save, views):
    """The layouts of Yale_64x64 (fea, gnd) and of NGs and 100Leaves (nested labels)."""
    vector, turned = (LABELS + 1)[None].astype(np.uint8), cell([x.T for x in views])
    for variables, expected, labels in (
        ({"fea": views[2].T, "gnd": LABELS[:, None] + 1}, views[2:], LABELS),
        ({"data": turned, "truelabel": cell([vector, vector.T, vector])}, views, LABELS),
        ({"X": cell(views)}, views, None),  # they share the sample dimension
        ({"X": turned}, views, None),
    ):
        assert_read(read_mat(save(variables)), expected, labels)


def test_keys_given(save, views):
    path = save({"a": views[0], "b": views[1], "c": cell(views[2:]), "z": LABELS[:, None]})
    for keys, options, expected, labels in (
        (["b", "a", "c"], {"labels_key": "z"}, [views[1], views[0], views[2]], LABELS),
        (["a"], {"labels_key": "z"}, views[:1], LABELS),
        (["a"], {"transposed": True}, [views[0].T], None),
    ):
        assert_read(read_mat(path, views_key=keys, **options), expected, labels)


def test_square_view_is_settled_by_the_others_or_ambiguous(save, views):
    square = np.arange(N * N, dtype=float).reshape(N, N)
    for given, read in (([square, views[0]], square), ([square, views[0].T], square.T)):
        path = save({"X": cell(given), "Y": LABELS[:, None]})
        assert_read(read_mat(path), [read, views[0]])
    path = save({"X1": square, "X2": square + 1, "Y": LABELS[:, None]})
    with pytest.raises(ValueError, match=r"sample\.mat.*12 x 12.*not clear.*transposed="):
        read_mat(path)
    for transposed, read in ((False, square), (True, square.T)):
        assert_read(read_mat(path, transposed=transposed), [read, read + 1])


ONES, COLUMN, FIVE = np.ones((N, 3)), LABELS[:, None], LABELS[:5, None]


@pytest.mark.parametrize(
    ("variables", "options", "message"),
    [
        ({"X": ONES, "fea": ONES}, {}, r"not clear .X, fea.; views_key= names them"),
        ({"X": ONES}, {}, "12 x 3: .* not clear; say transposed=False .samples are rows. or trans"),
        ({"X": ONES, "Y": FIVE}, {}, "12 x 3: .*views_key= .*labels_key="),
        (
            {"X": ONES},
            {"views_key": ["Z"]},
            r"views_key= names 'Z', which is not there. There are X",
        ),
        ({"X": ONES}, {"labels_key": "Z"}, "Z is no variable, .* There are X .labels_key= names"),
        (
            {"X": ONES, "s": "text"},
            {"views_key": ["s"]},
            "views_key= names 's', which holds no matrix of numbers",
        ),
        ({"X": cell([np.ones((4, 3)), np.ones((5, 2))])}, {}, "4 x 3, 5 x 2: whether rows"),
        ({"A": cell([{"b": LABELS[:0]}])}, {}, "no table of numbers|no views"),
        ({"A": np.empty((0, 3))}, {}, "no table of numbers that is a view. It has A .0 x 3."),
    ],
)
def test_unclear_files_say_what_is_there_and_what_to_pass(save, variables, options, message):
    with pytest.raises(ValueError, match=message):
        read_mat(save(variables), **options)


def test_classes_that_differ_are_none_and_still_say_how_many_samples_there_are(save):
    path = save({"X": ONES, "Y": COLUMN, "gt": COLUMN[::-1]})
    assert_read(read_mat(path), [ONES], None)
    assert list(read_views([path]).left_out) == ["Y", "gt"]


def test_fields_of_structures_are_called_by_their_names(save, views):
    about = {"a_rna": views[0], "more": {"class": LABELS[:, None], "protein": views[2]}}
    path = save({"dataset": about, "n": np.ones((1, 1))})
    found = read_views([path])
    assert [x.name for x in found.views] == ["dataset.a_rna", "dataset.more.protein"]
    assert found.known == "dataset.more.class"
    assert_read(read_mat(path), [views[0], views[2]])
    assert_read(read_mat(path, views_key=["dataset.more.protein"]), [views[2]])
    with pytest.raises(
        ValueError, match="views_key= names 'rna', which is not there. There are dataset.a_rna, "
    ):
        read_mat(path, views_key=["rna"])


def test_complex_views_and_structures(save, views):
    about = {"name": np.ones((1, 3)), "X": np.ones((2, 2))}
    waves = views[0] + 1j * views[0][::-1]
    path = save({"X": cell([waves, views[2]]), "Y": LABELS[:, None], "about": about})
    assert_read(read_mat(path), [waves, views[2]])


def test_rows_that_only_a_number_claims_are_refused(save, views):
    path = save({"X1": views[0], "X2": scipy.sparse.csc_matrix((2 * 10**9, 3))})
    with pytest.raises(ValueError, match="a sparse matrix has 2000000000 rows, and 0 entries"):
        read_mat(path)


def test_hdf5_from_another_hand(tmp_path, views):
    """A scalar is no matrix of 1 x 1 there, and text is none of MATLAB's."""
    path = tmp_path / "sample.mat"
    with h5py.File(path, "w") as file:
        file["X"], file["Y"], file["n"], file["words"] = views[0].T, LABELS, 3.5, "text"
    assert_read(read_mat(path), views[:1])
    with pytest.raises(ValueError, match="holds no matrix of numbers"):
        read_mat(path, views_key=["n"])


def test_npz(tmp_path, views):
    path, words = tmp_path / "sample.npz", np.array([f"k{y}" for y in LABELS])
    for labels in (LABELS + 1, words, words.astype("S2")):
        np.savez(path, X1=views[0], X2=views[2], Y=labels)
        assert_read(read_mat(path), [views[0], views[2]])
    np.savez(path, left=views[0].T, right=views[2].T)
    turned = read_mat(path, views_key=["right", "left"], transposed=True)
    assert_read(turned, [views[2], views[0]], None)
    np.savez(path, X1=views[0], labels=words.astype(object))
    with pytest.raises(ValueError, match=r"sample.npz .* objects are never read: .* by .astype"):
        read_mat(path)
    scipy.sparse.save_npz(path, views[1])
    with pytest.raises(ValueError, match="is a sparse matrix of scipy.sparse.save_npz"):
        read_mat(path)


def test_truncated_anywhere(save, views):
    path = save({"Y": LABELS[:, None], "X": cell(views)})
    content = path.read_bytes()
    for cut in [*range(0, len(content), max(1, len(content) // 150)), len(content) - 1]:
        path.write_bytes(content[:cut])
        with pytest.raises(ValueError, match=r"sample\.mat"):
            read_mat(path)


@pytest.mark.parametrize("content", [b"", b"404: Not Found", b"<!DOCTYPE html>" * 40, bytes(3000)])
@pytest.mark.parametrize("suffix", [".mat", ".npz"])
def test_not_a_data_file(tmp_path, content, suffix):
    path = tmp_path / f"wrong{suffix}"
    with pytest.raises(FileNotFoundError, match=f"wrong{suffix}"):
        read_mat(path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"wrong{suffix}"):
        read_mat(path)
