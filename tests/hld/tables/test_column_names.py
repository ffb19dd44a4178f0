"""Tables and names: arrays, frames, lists; which column is which; dtype of the codes."""

import re

import numpy as np
import pandas as pd
import pytest

import hld
from hld.schemas.encoder import fit_encoder
from hld.schemas.encoding import EncodingReport
from hld.tables.cells import read_table
from hld.tables.column_names import matched, own_names

# Arrays and frames


def frame(**more):
    """Small frame of all kinds."""
    return pd.DataFrame(
        {
            "age": [31.5, 40.25, 22.0, np.nan],
            "job": ["a", "b", None, "a"],
            "won": [True, False, True, True],
            "size": [1, 2, 3, 3],
            **more,
        }
    )


def test_frames_match_by_name():
    table = frame()
    encoder = fit_encoder(table)
    assert encoder.names == ("age", "job", "won", "size")
    codes, _ = encoder.encode(table)
    shuffled, report = encoder.encode(table[["size", "age", "won", "job"]])
    assert np.array_equal(codes, shuffled)
    assert report.num_missing.tolist() == [1, 1, 0, 0]
    by_position, _ = encoder.encode(table.to_numpy())
    assert np.array_equal(codes, by_position)
    assert by_position.flags.c_contiguous
    assert shuffled.flags.c_contiguous


def test_frames_with_missing_or_additional_columns():
    encoder = fit_encoder(frame())
    with pytest.raises(
        ValueError, match=r"`table` has no column 'job', 'won', expected every fitted column"
    ):
        encoder.encode(frame()[["age", "size"]])
    with pytest.raises(ValueError, match=r"column\(s\) 'id' that were not fitted.*drop them"):
        encoder.encode(frame(id=[1, 2, 3, 4]))
    with pytest.raises(
        ValueError, match=r"`table` has 3 columns, expected 4 in the fitted order \(age, job"
    ):
        encoder.encode(np.zeros((2, 3)))


def test_encoders_of_arrays_take_frames_by_position_or_by_given_names():
    table = np.array([[0, 5], [1, 6]])
    reversed_frame = pd.DataFrame({"b": [5], "a": [1]})
    assert fit_encoder(table).names == ("x0", "x1")
    assert fit_encoder(table).encode(reversed_frame)[0].tolist() == [[2, 2]]
    named = fit_encoder(table, names=["a", "b"])
    assert named.encode(reversed_frame)[0].tolist() == [[1, 0]]
    assert named.encode(np.array([[1, 5]]))[0].tolist() == [[1, 0]]
    assert fit_encoder(table, names={"a": 0, "b": 0}.keys()) == named
    for names in ({"a", "b"}, frozenset("ab")):  # whose order is another in the next process
        with pytest.raises(TypeError, match=r"`names` is .*, expected a sequence of 2 names"):
            fit_encoder(table, names=names)


def test_names_that_are_not_text_count_as_their_text():
    encoder = fit_encoder(pd.DataFrame(np.array([[0, 5], [1, 6]])))
    assert encoder.names == ("0", "1")
    assert encoder.encode(pd.DataFrame({"1": [6], 0: [1]}))[0].tolist() == [[1, 1]]
    with pytest.raises(ValueError, match=r"more than one column named '1'"):
        fit_encoder(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_nullable_columns():
    table = pd.DataFrame(
        {
            "i": pd.array([1, None, 2], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "f": pd.array([0.5, None, 1.5], dtype="Float64"),
            "s": pd.array(["x", None, "y"], dtype="string"),
            "d": pd.to_datetime(["2020-01-01", None, "2020-01-02"]),
        }
    )
    encoder = fit_encoder(table)
    kinds = [fitted.kind for fitted in encoder.columns]
    assert kinds == ["integer", "boolean", "continuous", "categorical", "date"]
    assert encoder.encode(table)[0].tolist() == [[0, 1, 0, 0, 0], [-1] * 5, [1, 0, 1, 1, 1]]


def test_frames_without_iloc_are_read_by_get_column():
    class Frame:
        def __init__(self, table):
            self.table, self.columns = table, list(table)

        def get_column(self, name):
            return pd.Series(self.table[name])

    encoder = fit_encoder(Frame({"a": ["x", "y"], "b": [1, 2]}))
    assert encoder.names == ("a", "b")
    assert encoder.encode(Frame({"b": [2], "a": ["x"]}))[0].tolist() == [[0, 1]]


def test_lists_keep_the_types_of_their_cells():
    encoder = fit_encoder([[1, "a"], [2, "b"]])
    assert [fitted.kind for fitted in encoder.columns] == ["integer", "categorical"]


def test_tables_are_not_modified_and_codes_are_new():
    table = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    table.flags.writeable = False
    codes, _ = fit_encoder(table).encode(table)
    assert codes.dtype == np.uint8
    codes[:] = 1
    assert table.tolist() == [[0, 1], [1, 0]]


def test_zero_rows_encode_to_zero_rows():
    encoder = fit_encoder(frame())
    for empty in (frame()[:0], np.empty((0, 4)), np.empty((0, 4), dtype="U1")):
        codes, report = encoder.encode(empty)
        assert codes.shape == (0, 4)
        assert isinstance(report, EncodingReport)
        assert report.num_rows == 0
        assert report.num_missing.tolist() == [0] * 4
    assert encoder.decode(codes).shape == (0, 4)


@pytest.mark.parametrize(
    ("num_levels", "table_dtype", "expected"),
    [
        (255, np.int64, np.uint8),
        (256, np.int64, np.uint16),
        (2**15 - 1, float, np.int16),
        (2**15, float, np.int32),
        (2**16 - 1, np.int64, np.uint16),
        (2**16, np.int64, np.int32),
        (3, object, np.int8),
        (127, float, np.int8),
        (128, float, np.int16),
        (3, bool, np.uint8),
    ],
)
def test_codes_have_the_smallest_dtype(num_levels, table_dtype, expected):
    encoder = fit_encoder(np.repeat(np.arange(num_levels), 4)[:, None], max_categories=2**17)
    codes, report = encoder.encode(np.array([[1], [0]]).astype(table_dtype))
    assert codes.dtype == expected
    assert codes[:, 0].tolist() == [1, 0]
    assert report.num_rows == 2


def test_report_is_frozen():
    _, report = fit_encoder([[1], [2]]).encode([[1]])
    with pytest.raises(AttributeError):
        report.num_rows = 3
    with pytest.raises(ValueError, match="read-only"):
        report.num_unseen[0] = 3


# Errors name the argument of the public function that was called

ROWS = np.random.default_rng(0).integers(0, 3, size=(200, 2))
TABLE = pd.DataFrame(ROWS, columns=["a", "b"])
ODD = TABLE.assign(a="text", b="text")


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=39).fit(TABLE)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("first", lambda detector, odd: hld.two_sample(detector, odd, TABLE)),
        ("second", lambda detector, odd: hld.two_sample(detector, TABLE, odd)),
        ("batches[1]", lambda detector, odd: hld.distances(detector, [TABLE, odd])),
        ("alternative", lambda detector, odd: detector.power(odd, 100)),
        ("alternative", lambda detector, odd: detector.sample_size(odd)),
        ("batch", lambda detector, odd: detector.test(odd)),
        ("reference", lambda detector, odd: hld.Monitor(detector, reference=odd)),
    ],
)
def test_a_table_is_called_what_the_argument_is_called(detector, name, call):
    for odd in (3, "file.csv", TABLE.rename(columns=str.upper)):
        with pytest.raises(ValueError, match="^" + re.escape(f"`{name}` ")):
            call(detector, odd)


@pytest.mark.parametrize("odd", [ODD, TABLE[["a"]]])
def test_what_only_some_functions_refuse_has_the_name_too(detector, odd):
    with pytest.raises((TypeError, ValueError), match=r"^`second` ") as raised:
        hld.two_sample(detector, TABLE, odd)
    assert "encoder" not in str(raised.value)  # nothing that the caller does not have


@pytest.mark.parametrize(
    ("by_name", "width", "said"),
    [
        (True, 2, "'id' takes no part, but has its place, unless the others have names"),
        (False, 2, "'id' takes no part, but has its place"),
        (True, 1, ""),
        (True, 4, ""),
    ],
)
def test_tables_without_what_the_model_leaves_out_are_told_of_it(by_name, width, said):
    parts = read_table(np.zeros((2, width)))
    with pytest.raises(
        ValueError, match=r"expected 3 in the fitted order \(id, age, job\)"
    ) as caught:
        matched(("age", "job"), ("id", "age", "job"), by_name, parts)
    assert str(caught.value).partition("(id, age, job)")[2].removeprefix(": ") == said


def test_columns_have_their_own_names_by_place_where_a_table_is_matched_by_place():
    named, unnamed = fit_encoder(frame()), fit_encoder(frame().to_numpy())
    rows = frame().to_numpy()
    assert own_names(read_table(rows), named) == ["age", "job", "won", "size"]
    assert (
        own_names(read_table(rows), unnamed)
        == own_names(read_table(frame()), unnamed)
        == ["x0", "x1", "x2", "x3"]
    )
    assert own_names(read_table(rows[:, [0, 0, 1, 2, 3]]), unnamed) == [None] * 5
    assert own_names(read_table(frame(day=3)[["day", "won", "job"]]), named) == [None, "won", "job"]
    assert own_names(read_table(rows)) == [None] * 4
