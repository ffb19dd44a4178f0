"""Pickles read as data: what Python's own reader makes of plain values, and nothing that a pickle asks for."""

import pickle
from collections import OrderedDict

import numpy as np
import pytest

from pcircuit.formats.unpickled import Named, read_pickle


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_are_read_as_python_reads_them(protocol):
    shared = [1, 2]
    value = {
        "a": shared,
        "b": [shared, None, True, False, -(2**70), 1e300, "text", ()],
        "c": (1, (2, 3, 4, 5)),
        "d": {},
        "e": [],
        "f": {1: 2},
        "g": ("x",),
    }
    data = pickle.dumps(value, protocol)
    assert read_pickle(data) == pickle.loads(data) == value
    found = read_pickle(data)
    assert found["a"] is found["b"][0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype="<f4").reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([1, 2], dtype=">i8"),
        np.array([True, False]),
    ],
    ids=["f4", "fortran", "big-endian", "bool"],
)
def test_arrays_are_read_wherever_they_are_stored(array, protocol):
    first, second = read_pickle(pickle.dumps([array, array], protocol))
    np.testing.assert_array_equal(first, array)
    assert second is first
    assert not first.flags.writeable


def test_bytes_of_old_protocols_are_bytes():
    assert read_pickle(pickle.dumps(b"\x00\xff", 2)) == b"\x00\xff"


def test_other_objects_are_their_names():
    assert read_pickle(pickle.dumps(OrderedDict(a=1))) == Named("collections.OrderedDict")
    assert read_pickle(pickle.dumps(Named("x"))).name.endswith("unpickled.Named")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"(lp0\nI1\naI2\na.", [1, 2]),
        (b"(I1\nI2\nd.", {1: 2}),
        (b"(dI1\nI2\ns.", {1: 2}),
        (b"I1\nI2\n0.", 1),
        (b"(I1\nI2\nl.", [1, 2]),
    ],
)
def test_operations_that_pickles_by_hand_use(data, value):
    assert read_pickle(data) == pickle.loads(data) == value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x85.", "takes more from its stack than is there"),
        (b"t.", "no mark where it needs one"),
        (b"}(I1\na.", "appends to what is not a list"),
        (b"](I1\nI2\nu.", "stores items in what is not a dictionary"),
        (b"I1\n)R.", "calls what is not a name"),
        (b"]}b.", "sets the state of plain data"),
        (b"Pname\n.", "uses the operation PERSID"),
        (b"g7\n.", "is damaged"),
        (b"cnumpy\n_reconstruct\n)R}b.", "holds a damaged array"),
        (
            b"cnumpy\n_reconstruct\n)R(I1\nI2\nI3\nI4\nI5\ntb.",
            "an array of something else than plain numbers",
        ),
        (
            b"cnumpy\n_reconstruct\n)R(I1\n(I1\ntcnumpy\ndtype\n(S'f8'\ntRI00\nI5\ntb.",
            "an array without its bytes",
        ),
        (b"}(I1\ntI1\ns.", "keys are neither texts nor numbers"),
        (b"((I1\ntI1\nd.", "keys are neither texts nor numbers"),
        (b"I1\nI2\n.", "ends with 2 values, expected one"),
        (b".", "ends with 0 values, expected one"),
    ],
    ids=range(15),
)
def test_what_plain_data_do_not_need_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        read_pickle(data)


def test_the_number_of_operations_is_bounded(monkeypatch):
    monkeypatch.setattr("pcircuit.formats.unpickled.MOST_OPERATIONS", 10)
    assert read_pickle(pickle.dumps([])) == []
    with pytest.raises(ValueError, match="the pickle has too many operations"):
        read_pickle(b"(" * 12 + b".")


def test_tuples_within_tuples_as_keys_do_not_end_the_process():
    with pytest.raises(ValueError, match="keys are neither texts nor numbers"):
        read_pickle(b"})" + b"\x85" * 300_000 + b"I1\ns.")


def test_a_text_is_copied_once():
    text, again = b"c_codecs\nencode\n(X\xe8\x03\x00\x00" + b"x" * 1000, b"c_codecs\nencode\n(h\x01"
    assert read_pickle(text + b"q\x01X\x06\x00\x00\x00latin1tR.") == b"x" * 1000
    with pytest.raises(ValueError, match="the pickle copies its texts again and again"):
        read_pickle(
            b"(" + text + b"q\x01X\x06\x00\x00\x00latin1q\x02tR" + (again + b"h\x02tR") * 10 + b"l."
        )


def test_arrays_of_many_keep_their_places():
    arrays = [np.full(1, float(i)) for i in range(3_000)]
    first, found, last = read_pickle(pickle.dumps([arrays[7], arrays, arrays[-1]], 4))
    assert [float(array[0]) for array in found] == list(range(3_000))
    assert first is found[7]
    assert last is found[-1]
