"""Regions: what is accepted, what is refused with which sentence."""

import fractions
import re

import numpy as np
import pytest
import scipy.sparse

from pcircuit import InnerRegion, InputRegion, StructureError


def test_input_region():
    region = InputRegion(np.int32(3), [[0.5, 0.25, 0.25], [1, 0, 0]])
    assert (region.variable, region.num_units, region.num_categories, region.num_nodes) == (
        3,
        2,
        3,
        2,
    )
    assert region.probs.dtype == np.float64
    assert repr(region) == "InputRegion(variable 3, 2 units, 3 categories)"


def test_inner_region():
    region = InnerRegion([[0, 2, 0], [1, 0, 5]], [[0.5, 0.5], [0, 1], [1, 0]])
    assert (region.num_units, region.num_products, region.num_nodes, region.is_sparse) == (
        3,
        2,
        5,
        False,
    )
    assert region.products.dtype == np.int64
    assert region.weights.dtype == np.float64
    assert region.dense_weights() is region.weights
    assert repr(region) == "InnerRegion(3 children, 2 products, 3 sums)"
    assert repr(InnerRegion([[0]], [[1.0]])) == "InnerRegion(1 children, 1 products, 1 sum)"


def test_sparse_weights_become_canonical_csr():
    row, column, value = (
        [1, 0, 1, 1],
        [2, 1, 0, 2],
        [0.25, 1.0, 0.5, 0.25],
    )  # unsorted, (1, 2) given twice
    for kind in (scipy.sparse.coo_array, scipy.sparse.coo_matrix):
        region = InnerRegion([[0], [1], [2]], kind((value, (row, column)), shape=(2, 3)))
        assert region.is_sparse
        assert isinstance(region.weights, scipy.sparse.csr_array)
        assert region.weights.data.tolist() == [1.0, 0.5, 0.5]
        assert region.weights.indices.tolist() == [1, 0, 2]
        assert region.weights.indptr.tolist() == [0, 1, 3]
        assert region.dense_weights().tolist() == [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
        assert repr(region) == "InnerRegion(1 children, 3 products, 2 sums, sparse)"
    whole = InnerRegion([[0]], scipy.sparse.csc_array(np.array([[1]], dtype=np.int8)))
    assert whole.weights.dtype == np.float64


@pytest.mark.parametrize(
    "build", [lambda a: InputRegion(0, a), lambda a: InnerRegion([[0, 0], [1, 1]], a)]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_only_copies(build, order):
    source = np.array([[0.5, 0.5], [0.25, 0.75]], order=order)
    region = build(source)
    table = region.probs if isinstance(region, InputRegion) else region.weights
    source[0, 0] = 9.0
    assert table.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert table.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.5], "shape (2,)"),
        ([[[1.0]]], "shape (1, 1, 1)"),
        (1.0, "shape ()"),
        ([[]], "shape (1, 0)"),
        (np.zeros((0, 2)), "shape (0, 2)"),
        ([[0.5, -0.125]], "-0.125 at row 0, column 1"),
        ([[0.5, np.nan]], "nan at row 0, column 1"),
        ([[np.inf, 0.5]], "inf at row 0, column 0"),
        ([[-np.inf, 0.5]], "-inf at row 0, column 0"),
        (np.array([[0.5, -0.125]]), "-0.125 at row 0, column 1"),
        (np.array([[0.5, np.nan]]), "nan at row 0, column 1"),
        (np.array([[np.inf, 0.5]]), "inf at row 0, column 0"),
        (np.array([[[1.0]]]), "shape (1, 1, 1)"),
        ([[0.5, 0.5], [1.0]], "rows of different lengths"),
        ([["a", "b"]], "<U1 instead of numbers"),
        ([["0.5", "0.5"]], "<U3 instead of numbers"),
        ([[0.5, 0.5j]], "complex128 instead of numbers"),
        ([[0.5, None]], "None at row 0, column 1"),
        ([[10**400, 1]], "inf at row 0, column 0"),
        ([["2020-01-01"]], "<U10 instead of numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64[D] instead of numbers"),
        (np.ma.array([[0.5, 0.5]], mask=[[True, False]]), "None at row 0, column 0"),
        ([np.ma.array([0.5, 0.5], mask=[True, False])], "None at row 0, column 0"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_bad_tables(values, message):
    expected = "must be a non-empty two-dimensional array of finite numbers of at least 0, found "
    with pytest.raises(StructureError, match=re.escape(f"`probs` {expected}{message}")):
        InputRegion(0, values)
    with pytest.raises(StructureError, match=re.escape(f"`weights` {expected}{message}")):
        InnerRegion([[0, 0], [1, 1]], values)


@pytest.mark.parametrize("variable", [-1, 1.0, "0", True, None, 1.5, np.ma.masked])
def test_bad_variables(variable):
    with pytest.raises(
        StructureError, match="`variable` must be a whole number of at least 0, found"
    ):
        InputRegion(variable, [[1.0]])


def test_whole_numbers_and_other_precisions_are_numbers():
    for values in (
        [[1, 0]],
        [[True, False]],
        np.array([[1, 0]], dtype=">f4"),
        [[fractions.Fraction(1), 0]],
        np.array([[1, 0]], dtype=np.longdouble),
        np.ma.array([[1, 0]]),
    ):
        assert InputRegion(0, values) == InputRegion(0, [[1.0, 0.0]])
    assert InnerRegion(np.array([[0, 1]], dtype=">u8"), [[1.0]]) == InnerRegion([[0, 1]], [[1.0]])


@pytest.mark.parametrize(
    ("products", "message"),
    [
        ([0, 1], "shape (2,)"),
        ([[0.0, 1.0]], "float64 instead of integers"),
        ([[True, False]], "bool instead of integers"),
        ([[]], "shape (1, 0)"),
        (np.zeros((0, 2), dtype=int), "shape (0, 2)"),
        ([[0, -1]], "-1 at row 0, column 1"),
        (np.array([[0, -1]]), "-1 at row 0, column 1"),
        (np.array([[0, 2**31]]), "2147483648 at row 0, column 1"),
        (np.array([[[0, 1]]]), "shape (1, 1, 2)"),
        ([[0, 2**31]], "2147483648 at row 0, column 1"),
        (np.array([[0, 2**64 - 1]], dtype=np.uint64), "18446744073709551615 at row 0, column 1"),
        ([[0, 2**70]], "1180591620717411303424 at row 0, column 1"),
        ([[0], [0, 1]], "rows of different lengths"),
        (np.ma.array([[0, 1]], mask=[[False, True]]), "None at row 0, column 1"),
    ],
)
def test_bad_products(products, message):
    message = f"`products` must be a non-empty (P, A) array of unit indices from 0 to 2147483647, found {message}"
    with pytest.raises(StructureError, match=re.escape(message)):
        InnerRegion(products, [[1.0]])


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array])
def test_products_and_weights_must_agree(kind):
    with pytest.raises(
        StructureError, match="`weights` has 3 columns but `products` 2 rows: they must"
    ):
        InnerRegion([[0], [1]], kind([[0.5, 0.25, 0.25]]))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_sparse_weights(value):
    with pytest.raises(
        StructureError, match=f"`weights` holds {value}: all entries must be finite and at"
    ):
        InnerRegion([[0], [1]], scipy.sparse.csr_array([[1.0, value]]))


def test_sparse_weights_of_another_kind():
    with pytest.raises(
        StructureError, match="`weights` must be a sparse array of real numbers, found complex128"
    ):
        InnerRegion([[0], [1]], scipy.sparse.csr_array([[0.5, 0.5j]]))
    crafted = scipy.sparse.csr_array([[0.5, 0.5]])
    crafted.indices[1] = 10**6
    with pytest.raises(StructureError, match="`weights` is not a well-formed sparse array"):
        InnerRegion([[0], [1]], crafted)
    with pytest.raises(StructureError, match=r"`probs` must be .* found a sparse csr_array"):
        InputRegion(0, scipy.sparse.csr_array([[0.5, 0.5]]))


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array])
def test_sums_are_found_by_their_number_alone(kind):
    weights = np.array([[0.3, 0.0, 0.7], [0.0, 1.0, 0.0]])
    region = InnerRegion([[0, 0], [0, 1], [1, 1]], kind(weights))
    for k in (0, 1, np.int64(1)):
        products, positive = region.row(k)
        assert products.tolist() == np.flatnonzero(weights[k]).tolist()
        assert positive.tolist() == weights[k][weights[k] > 0].tolist()
    for k in (-2, -1, 2):  # a negative number found another sum's weights
        with pytest.raises(
            IndexError, match=rf"`k` {k} does not exist: the sum units of the region are 0\.\.1"
        ):
            region.row(k)
    for k in (1.0, True, "0"):
        with pytest.raises(TypeError, match="`k` must be a whole number"):
            region.row(k)


def test_equality_of_regions():
    assert InputRegion(0, [[0.5, 0.5]]) == InputRegion(0, [[0.5, 0.5]])
    assert InputRegion(0, [[0.5, 0.5]]) != InputRegion(1, [[0.5, 0.5]])
    assert InputRegion(0, [[0.5, 0.5]]) != InputRegion(0, [[0.5, np.nextafter(0.5, 1)]])
    assert InputRegion(0, [[1.0]]) != InnerRegion([[0]], [[1.0]])
    assert InnerRegion([[0]], [[1.0]]) != InputRegion(0, [[1.0]])
    dense, other = InnerRegion([[0], [1]], [[0.5, 0.5]]), InnerRegion([[1], [0]], [[0.5, 0.5]])
    sparse = InnerRegion([[0], [1]], scipy.sparse.csr_array([[0.5, 0.5]]))
    assert dense == InnerRegion([[0], [1]], [[0.5, 0.5]])
    assert sparse == InnerRegion([[0], [1]], scipy.sparse.coo_array([[0.5, 0.5]]))
    assert dense != other
    assert dense != sparse  # another form of storage is another region
    assert dense != InnerRegion([[0], [1]], [[0.25, 0.75]])
    for region in (InputRegion(0, [[1.0]]), dense):
        with pytest.raises(TypeError, match="unhashable"):
            hash(region)
