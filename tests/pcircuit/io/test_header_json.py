"""Headers: what JSON leaves open is refused, and no header can fill the memory."""

import re

import numpy as np
import pytest
from archives import pack, refused, saved

from pcircuit.io.archive import read_archive, write_archive


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pc"


@pytest.mark.parametrize(
    ("header", "error", "message"),
    [
        ([], ValueError, '`header` must be a dict without the key "arrays", found []'),
        ({"format": "x", "version": 1, "arrays": []}, ValueError, 'without the key "arrays"'),
        ({"version": 1}, ValueError, 'the header must be a mapping with "format" (str)'),
        ({"format": "x"}, ValueError, '"version" (int)'),
        ({"format": "x", "version": True}, ValueError, '"version" (int)'),
        (
            {"format": "x", "version": 0},
            ValueError,
            'the header has "version" 0, expected 1 or more',
        ),
        ({"format": "x", "version": 1, "library": 3}, ValueError, '"library" (str)'),
        (
            {"format": "x", "version": 1, "a": np.float64},
            TypeError,
            "`header` must hold only what JSON can: ",
        ),
        (
            {"format": "x", "version": 1, "a": np.nan},
            ValueError,
            "`header` must hold only what JSON can: ",
        ),
        (
            {"format": "x", "version": 1, "a": 10**30},
            ValueError,
            "the number 10000000000000000000... is not",
        ),
        ({"format": "x", "version": 1, "a": {1: 0, "1": 0}}, ValueError, "the name '1' twice"),
        (
            {"format": "x", "version": 1, "a": "x" * 2**24},
            ValueError,
            "bytes as JSON, expected at most 16777216",
        ),
    ],
)
def test_bad_headers_are_not_written(path, header, error, message):
    with pytest.raises(error, match=re.escape(message)):
        write_archive(path, header, {})
    assert not path.exists()


def test_numpy_scalars_become_plain_numbers(path):
    values = {
        "a": np.int8(-3),
        "b": np.uint64(2**64 - 1),
        "c": np.float32(0.1),
        "d": np.bool_(False),
        "e": [np.float64(2)],
        "f": np.str_("x"),
    }
    write_archive(path, {"format": "x", "version": 1, **values}, {})
    header, _ = read_archive(path, "x", 1)
    assert {key: header[key] for key in values} == {
        "a": -3,
        "b": 2**64 - 1,
        "c": float(np.float32(0.1)),
        "d": False,
        "e": [2.0],
        "f": "x",
    }


@pytest.mark.parametrize(
    "value",
    [
        np.longdouble(1),
        np.complex128(1),
        np.datetime64("2020-01-01", "ns"),
        np.datetime64("NaT"),
        np.timedelta64(5),
        np.array([(1, 2.0)], dtype="i4, f8")[0],
        np.ones(1),
        {1},
    ],
)
def test_other_objects_are_not_written(path, value):
    with pytest.raises(
        TypeError,
        match=r"`header` must hold only what JSON can: .* is neither text, number, list nor",
    ):
        write_archive(path, {"format": "x", "version": 1, "a": value}, {})


def test_deep_headers_are_not_written(path):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="`header` must hold only what JSON can"):
        write_archive(path, {"format": "x", "version": 1, "a": deep}, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the header is not valid JSON ("),
        (b"{", "the header is not valid JSON ("),
        (b"\xff\xfe", "the header is not valid JSON ("),
        (b"[" * 200_000, "the header is not valid JSON ("),
        (b'{"a":' * 200_000, "the header is not valid JSON ("),
        (
            b'{"a": ' + b"1" * 100_000 + b"}",
            "the header is not valid JSON (the number 11111111111111111111... ",
        ),
        (b'{"a": -Infinity}', "the header is not valid JSON (the number -Infinity is not allowed)"),
        (b'{"a": 1e999}', "the header is not valid JSON (the number 1e999 is not allowed)"),
        (
            b'{"a": 0.' + b"1" * 100_000 + b"}",
            "the header is not valid JSON (the number 0.111111111111111111... is",
        ),
        (b'{"a": "\\', "the header is not valid JSON ("),
        (b'{"a": "]}', "the header is not valid JSON ("),
        (b'{"a": 1]', "the header is not valid JSON ("),
        (b"}{", "the header is not valid JSON ("),
        (b'{"a": NaN}', "the header is not valid JSON (the number NaN is not allowed)"),
        (b'{"a": 1, "a": 2}', "the header is not valid JSON (an object has the name 'a' twice)"),
        (
            b"[]",
            'the header must be a mapping with "format" (str), "version" (int), "library" (str) and "arr',
        ),
        (b"3", "the header must be a mapping"),
        (
            b'{"format": "pcircuit.circuit", "version": "1", "library": "", "arrays": []}',
            '"version" (int)',
        ),
        (
            b'{"format": "pcircuit.circuit", "version": -1, "library": "", "arrays": []}',
            'has "version" -1, exp',
        ),
        (b'{"format": null, "version": 1, "library": "", "arrays": []}', '"format" (str)'),
        (
            b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": {}}',
            '"arrays" (list)',
        ),
        (
            b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": [1]}',
            "must list different",
        ),
        (
            b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": ["a", "a"]}',
            "must list diff",
        ),
        (
            b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": ["../a"]}',
            "must list diff",
        ),
        (
            b"[" + b"0," * 2**21 + b"0]",
            "the header has 2097153 brackets, commas and colons, expected",
        ),
        (b" " * (2**24 + 1), "its header has 16777217 bytes, expected at most 16777216"),
    ],
)
def test_bad_headers(path, text, message):
    pack(path, {**saved(path), "header.json": text})
    refused(path, message)
