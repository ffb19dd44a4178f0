"""Evidence: every form of one table is read alike by every function, and nothing is turned into another value."""

import numpy as np
import pytest
import representations
import scipy.sparse
import zoo
from hypothesis import given
from hypothesis import strategies as st

import pcircuit
from pcircuit.evidence import check_evidence, integer_entries

CIRCUIT = zoo.mixed_categories()
READERS = {
    "check_evidence": lambda data: check_evidence(CIRCUIT, data),
    "log_likelihood": lambda data: pcircuit.log_likelihood(CIRCUIT, data),
    "node_likelihoods": lambda data: pcircuit.node_likelihoods(CIRCUIT, data),
    "mean_node_likelihoods": lambda data: pcircuit.mean_node_likelihoods(CIRCUIT, data),
    "sample": lambda data: pcircuit.sample(CIRCUIT, given=data, rng=5),
    "expected_flows": lambda data: pcircuit.expected_flows(CIRCUIT, data).inputs,
    "fit_em": lambda data: pcircuit.fit_em(CIRCUIT, data, num_epochs=2)[1],
    "fit_em in batches": lambda data: pcircuit.fit_em(
        CIRCUIT, data, num_epochs=1, batch_size=7, rng=0
    )[1],
    "chow_liu_tree": pcircuit.chow_liu_tree,
    "chow_liu_circuit": lambda data: pcircuit.log_likelihood(
        pcircuit.chow_liu_circuit(data), TABLE
    ),
    "hclt": lambda data: pcircuit.log_likelihood(pcircuit.hclt(data, 2), TABLE),
}
TABLE = zoo.rows_with_holes(CIRCUIT, np.random.default_rng(3), 23)
FULL = pcircuit.sample(CIRCUIT, 23, rng=1).astype(np.int64)
EXPECTED = {}


def expected(name, table):
    """What a function answers to the plain table."""
    key = name, table is FULL
    if key not in EXPECTED:
        EXPECTED[key] = READERS[name](table)
    return EXPECTED[key]


@pytest.fixture
def numpy_engine(monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")


@pytest.mark.thorough
@pytest.mark.usefixtures("numpy_engine")
@pytest.mark.parametrize("reader", READERS)
def test_every_form_of_a_table_is_read_alike(reader, tmp_path):
    for table, forms in (
        (FULL, representations.complete(FULL, tmp_path)),
        (TABLE, representations.with_holes(TABLE)),
    ):
        before = expected(reader, table)
        for name, form in forms.items():
            written = repr(form)
            np.testing.assert_array_equal(READERS[reader](form), before, err_msg=name)
            assert repr(form) == written, f"{name} was modified"


BAD = [  # entry (1, 0) of a table of two rows and two columns; part of the error
    (2.5, ValueError, "`data` holds 2.5 at row 1, column 0, expected whole numbers"),
    (np.inf, ValueError, "`data` holds inf at row 1, column 0, expected whole numbers"),
    (-np.inf, ValueError, "`data` holds -inf at row 1, column 0, expected whole numbers"),
    (1e300, ValueError, "`data` holds 1e\\+300 at row 1, column 0"),
    (
        2**63,
        ValueError,
        "`data` holds 9.?22337203685477.* at row 1, column 0",
    ),  # NumPy makes floats of such lists
    (2**64 - 1, ValueError, "`data` holds 1.?844674407370955.* at row 1, column 0"),
    (
        2**64,
        ValueError,
        "`data` holds 18446744073709551616 at row 1, column 0, expected whole numbers",
    ),
    (
        -(2**70),
        ValueError,
        "`data` holds -1180591620717411303424 at row 1, column 0, expected whole numbers",
    ),
    (2**63 - 1, ValueError, "`data` holds 9223372036854775807 at row 1, column 0"),
    (2**40, ValueError, "`data` holds 1099511627776 at row 1, column 0"),
    (-2, ValueError, "`data` holds -2 at row 1, column 0"),
    (-2.0, ValueError, "`data` holds -2 at row 1, column 0"),
    ("1", TypeError, "`data` must hold integers .* found <U"),
    (b"1", TypeError, "`data` must hold integers .* found |S"),
    (1j, TypeError, "`data` must hold integers .* found complex128"),
    (np.datetime64(1, "D"), TypeError, "`data` "),
    (np.timedelta64(1, "s"), TypeError, "`data` "),
    ({}, TypeError, "`data` holds {} at row 1, column 0, expected whole numbers"),
    (object, TypeError, "`data` holds <class 'object'> at row 1, column 0, expected whole numbers"),
]


@pytest.mark.parametrize(("entry", "error", "message"), BAD, ids=lambda x: repr(x)[:20])
@pytest.mark.parametrize(
    "reader",
    [
        check_evidence,
        pcircuit.log_likelihood,
        pcircuit.node_likelihoods,
        pcircuit.mean_node_likelihoods,
        pcircuit.expected_flows,
        pcircuit.fit_em,
        lambda circuit, data: pcircuit.chow_liu_tree(data),
        lambda circuit, data: pcircuit.hclt(data),
    ],
    ids=["check", "log", "nodes", "mean", "flows", "em", "tree", "hclt"],
)
def test_no_value_is_turned_into_a_category(reader, entry, error, message, monkeypatch):
    # a small circuit with kernels, too: 2**64 - 1 used to be read as -1 there
    for engine in (
        ("numpy", "numba") if error is ValueError and not isinstance(entry, float) else ("numpy",)
    ):
        monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
        forms = [[[0, 1], [entry, 1]], np.array([[0, 1], [entry, 1]], dtype=object)]
        forms += (
            [np.array(forms[0], dtype=np.uint64)]
            if type(entry) is int and 0 <= entry < 2**64
            else []
        )
        for rows in forms:
            with pytest.raises(error, match=message if isinstance(rows, list) else "`data` "):
                reader(zoo.two_coins(), rows)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            [[0, 1], [0]],
            r"`data` must be a table of categories of shape \(N, V\), found rows of different lengths",
        ),
        ([0, 1], r"found \(2,\): give one row as data\[None, :\]"),
        ([[[0, 1]]], r"found \(1, 1, 2\)"),
        (0, r"found \(\)"),
        (np.ma.masked, r"found \(\)"),
        ([], r"found \(0,\)"),
        ([[]], r"found \(1, 0\)"),
        (np.empty((0, 3)), r"found \(0, 3\)"),
    ],
)
def test_other_shapes_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        check_evidence(zoo.two_coins(), data)


@pytest.mark.parametrize(
    "empty",
    [np.empty((0, 2), dtype) for dtype in ("i8", "u8", "f8", "?", "O", "U1", ">i4")],
    ids=lambda array: array.dtype.str,
)
def test_tables_without_rows(empty, engine):
    circuit = zoo.two_coins()
    assert pcircuit.log_likelihood(circuit, empty).shape == (0,)
    assert pcircuit.node_likelihoods(circuit, empty).shape == (0, 7)
    assert pcircuit.sample(circuit, given=empty).shape == (0, 2)
    assert pcircuit.expected_flows(circuit, empty).total_weight == 0
    for function in (pcircuit.mean_node_likelihoods, pcircuit.fit_em):
        with pytest.raises(ValueError, match=r"`data` has no rows"):
            function(circuit, empty)
    for function in (pcircuit.chow_liu_tree, pcircuit.chow_liu_circuit, pcircuit.hclt):
        with pytest.raises(
            ValueError, match=r"`data` must be a table of at least one row .* found shape \(0, 2\)"
        ):
            function(empty)


@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(-3, 300),
                st.integers(-(2**70), 2**70),
                st.booleans(),
                st.none(),
                st.floats(),
                st.floats(width=16),
                st.just(np.ma.masked),
                st.sampled_from(["1", "", b"0", 1j, 2.0, -1.0]),
            ),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_read_is_what_was_written(rows):
    """Whatever comes in: an error, or each entry its own value or -1 for a marker of missing values."""
    try:
        codes = integer_entries(rows)
    except (TypeError, ValueError):
        with pytest.raises((TypeError, ValueError), match=r"^`data` "):
            integer_entries(rows)
        return
    for code, entry in zip(
        codes.ravel().tolist(), [entry for row in rows for entry in row], strict=True
    ):
        missing = entry is None or entry is np.ma.masked or entry != entry
        assert code == (-1 if missing else entry)


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ([1.0], ValueError),
        ([1.0, np.nan], ValueError),
        ([1.0, -1e-300], ValueError),
        ([1.0, 1e101], ValueError),
        ([[1.0, 1.0]], ValueError),
        (["1", "1"], TypeError),
        ([1.0, None], TypeError),
        ([1.0, 1j], TypeError),
        (np.ma.array([1.0, 1.0], mask=[True, False]), TypeError),
        ([1.0, np.ma.masked], TypeError),
        (np.array([1, 2], dtype="datetime64[D]"), TypeError),
        ("ab", TypeError),
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        pcircuit.expected_flows,
        pcircuit.fit_em,
        lambda circuit, data, weights: pcircuit.chow_liu_tree(data, weights=weights),
    ],
    ids=["flows", "em", "tree"],
)
def test_row_weights_are_refused_with_one_sentence(function, weights, error):
    with pytest.raises(
        error, match="`weights` must be 2 numbers from 0 to 1e\\+100, one per row of `data`, found"
    ):
        function(zoo.two_coins(), [[0, 1], [1, 1]], weights=weights)


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array", "lil_array"])
def test_sparse_tables_are_filled_up_with_zeros(form, rng):
    dense = rng.integers(5, size=(40, 7)) * (rng.random((40, 7)) < 0.1)
    dense[3, 4] = -1
    given = getattr(scipy.sparse, form)(dense)
    read = integer_entries(given)
    assert read.dtype == np.int8
    np.testing.assert_array_equal(read, dense)
    np.testing.assert_array_equal(given.toarray(), dense)  # it stays as it was
    rows = np.where(dense < 0, 0, dense)
    sparse = getattr(scipy.sparse, form)(rows)
    learned = pcircuit.chow_liu_circuit(sparse, num_categories=5)
    np.testing.assert_array_equal(
        pcircuit.log_likelihood(learned, sparse), pcircuit.log_likelihood(learned, rows)
    )


def test_holes_in_drawn_rows_are_told_to_need_a_signed_type():
    rows = pcircuit.sample(CIRCUIT, 5, rng=0)
    assert rows.dtype == np.uint8
    with pytest.raises(
        ValueError, match=r"holds 255 at row 0.*: NumPy makes it of -1 in an unsigned type, that"
    ):
        pcircuit.log_likelihood(CIRCUIT, np.where(np.eye(*rows.shape) > 0, -1, rows))
    with pytest.raises(ValueError, match=r"or -1 for a missing value$"):
        pcircuit.log_likelihood(CIRCUIT, np.full(rows.shape, 255))


def test_a_row_and_a_mapping_say_the_same_everywhere():
    circuit = pcircuit.rat_spn([3, 2, 2, 3], num_units=2, depth=1, rng=0)
    row, known = [2, -1, -1, 0], {3: 0, 0: np.int64(2)}
    for one in (row, np.array(row), [2, None, np.nan, 0]):
        assert pcircuit.log_probability(circuit, one) == pcircuit.log_probability(circuit, known)
    assert circuit.condition(row).num_variables == 2
    np.testing.assert_array_equal(
        circuit.condition(row).sample(9, rng=0), circuit.condition(known).sample(9, rng=0)
    )
    assert pcircuit.log_likelihood(circuit, known) == pcircuit.log_likelihood(circuit, [row])
    first, second = (pcircuit.most_probable_state(circuit, one) for one in (row, known))
    np.testing.assert_array_equal(first.state, second.state)
    for query in (pcircuit.latent_posterior, pcircuit.shapley_values):
        for a, b in zip(query(circuit, row), query(circuit, known), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        circuit.sample(5, given=known, rng=1), circuit.sample(5, given=[row], rng=1)
    )
    assert pcircuit.log_likelihood(circuit, {})[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("known", "error", "message"),
    [
        (
            {0: {0, 1}},
            ValueError,
            "`row` has several categories for variable 0, expected one: sets",
        ),
        ({9: 1}, ValueError, r"`row` must be a row, or a mapping from variables 0\.\.1 to categ"),
        ({"a": 1}, TypeError, "`row` must be a row, or a mapping from variables"),
        ({0: 7}, ValueError, r"`row` holds 7 at row 0, column 0, expected a category 0\.\.1"),
        ({0: 0.5}, ValueError, "`row` holds 0.5"),
    ],
)
def test_mappings_that_are_no_row_are_refused(known, error, message):
    circuit = pcircuit.rat_spn([2, 2], num_units=2, depth=1, rng=0)
    with pytest.raises(error, match=message):
        pcircuit.latent_posterior(circuit, known)
