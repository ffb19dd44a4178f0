"""Summaries as JSON and as bytes: read back exactly, by other programs too, and nothing else is taken for one."""

import binascii
import json
import struct

import numpy as np
import pytest

import hld
from hld.summaries.forms import MAGIC, binary_form, json_form, read_binary, read_json

SCALARS = {"model": "0123456789abcdef" * 4, "num_rows": 3, "num_missing": 2}
ALL_SCALARS = SCALARS | {"absent": ["a"], "extra": ["naïve ☃", ""]}
ALL_ARRAYS = {
    "sums": np.array([0.1 + 0.2, -0.0, 5e-324]),
    "seen": np.array([3, 0, 2]),
    "squares": np.array([1 / 3, 1e300]),
    "fourths": np.array([1.0, 2.0]),
    "odd": np.array([0, 3]),
    "sketch": np.arange(8.0).reshape(2, 2, 2),
    "cells": np.zeros((5, 1), int),
    "categories": np.array([1, 2]),
}


@pytest.mark.parametrize(("write", "read"), [(json_form, read_json), (binary_form, read_binary)])
def test_every_part_is_read_back_to_the_last_bit(write, read):
    scalars, arrays = read(write(ALL_SCALARS, ALL_ARRAYS))
    assert scalars == ALL_SCALARS | {"format": "hld.summary", "version": 1}
    assert arrays.keys() == ALL_ARRAYS.keys()
    for name, array in ALL_ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].tobytes() == array.tobytes()


def test_bytes_are_laid_out_as_the_module_says():
    data = binary_form(SCALARS, {"sums": np.array([1.5, -2.0]), "seen": np.array([3, 1])})
    (size,) = struct.unpack("<I", data[8:12])
    header, numbers = json.loads(data[12 : 12 + size]), data[12 + size : -4]
    assert data[:8] == b"HLDSUM01" == MAGIC
    assert list(header["arrays"].items()) == [("sums", [2]), ("seen", [2])]
    assert struct.unpack("<ddqq", numbers) == (1.5, -2.0, 3, 1)
    assert struct.unpack("<I", data[-4:]) == (binascii.crc32(data[:-4]),)


def in_json(scalars, arrays):
    """A text with any scalars and arrays."""
    return json.dumps({"format": "hld.summary", "version": 1, **scalars, "arrays": arrays})


@pytest.mark.parametrize("name", ["sums", "seen", "squares", "sketch", "cells"])
def test_numbers_in_place_of_an_array_are_refused(name):
    """They had been left out without a word, or been a KeyError."""
    arrays = {key: array.tolist() for key, array in ALL_ARRAYS.items()}
    for kept in (arrays, {key: array for key, array in arrays.items() if key != name}):
        with pytest.raises(ValueError, match=f"'{name}' of the summary must be an array"):
            read_json(in_json(ALL_SCALARS | {name: 1}, kept))


@pytest.mark.parametrize("name", ["model", "num_rows", "absent"])
def test_arrays_in_place_of_a_scalar_are_refused(name):
    scalars = {key: value for key, value in ALL_SCALARS.items() if key != name}
    with pytest.raises(ValueError, match=f"'{name}' of the summary must be no array"):
        read_json(
            in_json(
                scalars, {key: array.tolist() for key, array in ALL_ARRAYS.items()} | {name: [1]}
            )
        )


@pytest.mark.parametrize(
    "shape", [[1] * 100, [0] * 100, [0, 10**7, 10**7, 10**7]], ids=["one", "none", "huge"]
)
def test_shapes_of_many_dimensions_are_refused_by_name(shape):
    """NumPy has no such arrays, and said so in its own words."""
    header = {"format": "hld.summary", "version": 1, **SCALARS, "arrays": {"sums": shape}}
    with pytest.raises(ValueError, match="array 'sums' of the summary has the shape"):
        read_binary(sealed(header, bytes(8 if 0 not in shape else 0)))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match="array 'sums' of the summary must be finite numbers"):
        read_json(in_json(SCALARS, {"sums": [1.0]}).replace("[1.0]", f"[{value}]"))


def damaged(found):
    """Texts that are no summaries, each with a word of what is said."""
    good = json.loads(found.to_json())
    changes = [
        ("format", "x", "format"),
        ("version", 2, "newer"),
        ("version", "1", "version"),
        ("model", "x", "model"),
        ("model", 3, "model"),
        ("num_rows", -1, "num_rows"),
        ("num_rows", 1.5, "num_rows"),
        ("num_missing", None, "num_missing"),
        ("extra", [3], "extra"),
        ("absent", "a", "absent"),
        ("epsilon", 1.0, "unknown"),
        ("surprise", 1, "unknown"),
    ]
    yield from ((json.dumps(good | {name: value}), word) for name, value, word in changes)
    arrays = [
        ("sums", [], "fit together"),
        ("sums", ["a"], "numbers"),
        ("sums", [[1.0]], "dimensions"),
        ("odd", [51] * 4, "counts"),
        ("odd", [-1] * 4, "counts"),
        ("odd", [0.5] * 4, "numbers"),
        ("squares", [-1.0] * 4, "at least 0"),
        ("squares", [0.0], "fit together"),
        ("cells", [[0]], "fit together"),
        ("seen", [1], "fit together"),
        ("x", [1], "unknown"),
        ("sums", [10**30] * 400, "numbers"),
        ("categories", [2**63] * 12, "range"),
    ]
    yield from (
        (json.dumps(good | {"arrays": good["arrays"] | {name: value}}), word)
        for name, value, word in arrays
    )
    for text in ("", "[]", "{", "3", "[" * 10_000, "{}", json.dumps(good | {"arrays": 3})):
        yield text, "summary"


def test_texts_that_are_no_summaries_are_refused(found):
    cases = list(damaged(found))
    assert len(cases) > 30
    for text, word in cases:
        with pytest.raises(ValueError, match=word):
            hld.BatchSummary.from_json(text)
    for wrong in (None, b"{}", 3):
        with pytest.raises(TypeError, match="`text` must be"):
            hld.BatchSummary.from_json(wrong)


def test_a_name_that_occurs_twice_is_refused(found):
    text = found.to_json()
    for name in ("num_rows", "sums"):
        twice = text.replace(f'"{name}"', f'"{name}": [], "{name}"', 1)
        assert json.loads(twice)  # the last one would win
        with pytest.raises(ValueError, match=f"an object has the name '{name}' twice"):
            hld.BatchSummary.from_json(twice)


def test_bytes_that_are_no_summaries_are_refused(found):
    data = found.to_bytes()
    for i in range(0, len(data), 37):
        with pytest.raises(ValueError, match="`data`"):
            hld.BatchSummary.from_bytes(data[:i])
        with pytest.raises(ValueError, match="`data`"):
            hld.BatchSummary.from_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
    with pytest.raises(TypeError, match="`data` must be"):
        hld.BatchSummary.from_bytes("text")


def sealed(header, body=b"", size=None):
    """Bytes with the right checksum, whatever they hold."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = MAGIC + struct.pack("<I", len(text) if size is None else size) + text + body
    return data + struct.pack("<I", binascii.crc32(data))


def test_bytes_with_the_right_checksum_hold_what_their_header_says(found):
    data = found.to_bytes()
    size = struct.unpack("<I", data[8:12])[0]
    header, body = json.loads(data[12 : 12 + size]), data[12 + size : -4]
    assert hld.BatchSummary.from_bytes(sealed(header, body)) == found
    shapes = header["arrays"]
    for wrong, said in (
        (sealed(header, body, 10**6), "`data` is damaged: its header is longer than all of it"),
        (sealed(b"\xff\xfe"), "`data` is damaged: its header is no text"),
        (sealed(b"{"), "the summary is not JSON"),
        (sealed(header | {"arrays": [1]}, body), "`data` is not a summary: it has no arrays"),
        (
            sealed(header | {"arrays": shapes | {"sums": 3}}, body),
            "array 'sums' of the summary has the shape 3",
        ),
        (
            sealed(header | {"arrays": shapes | {"sums": [-1]}}, body),
            "array 'sums' of the summary has the shape",
        ),
        (
            sealed(header | {"arrays": shapes | {"sums": [10**7] * 2}}, body),
            "it is shorter than its arrays",
        ),
        (sealed(header, body[:-8]), "it is shorter than its arrays"),
        (sealed(header, body + bytes(8)), "it is longer than its arrays"),
    ):
        with pytest.raises(ValueError, match=said):
            hld.BatchSummary.from_bytes(wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sums", [0.5, True, 1.0]),
        ("seen", [3, False, 2]),
        ("sketch", [[[1.0, 2.0], [True, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]),
    ],
)
def test_true_and_false_are_no_numbers(name, value):
    """Beside numbers they had been 1 and 0."""
    arrays = {key: array.tolist() for key, array in ALL_ARRAYS.items()} | {name: value}
    with pytest.raises(
        ValueError, match=f"array '{name}' of the summary is not a table of numbers"
    ):
        read_json(in_json(ALL_SCALARS, arrays))
