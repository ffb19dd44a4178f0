"""Arrays in files: plain numbers and nothing else."""

import os
import re

import numpy as np
import pytest
from archives import npy, pack, raw_npy, refused, saved

from pcircuit.files.archive import read_archive, write_archive


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pc"


@pytest.mark.parametrize(
    ("name", "array", "error", "message"),
    [
        (
            "a",
            np.array(["x"]),
            TypeError,
            "`arrays` has 'a' of <U1, expected booleans, integers or floats",
        ),
        ("a", np.array([None]), TypeError, "`arrays` has 'a' of object"),
        ("a", np.array([1j]), TypeError, "`arrays` has 'a' of complex128"),
        ("a", np.array([1], dtype="M8[s]"), TypeError, "`arrays` has 'a' of datetime64"),
        (
            "a",
            np.ma.array([1, 2], mask=[False, True]),
            TypeError,
            "`arrays` has 'a' with masked entries, expected numbers",
        ),
        (
            "a",
            [[1], [1, 2]],
            ValueError,
            "`arrays` has 'a' with rows of different lengths, expected an array",
        ),
        ("a/b", np.ones(1), ValueError, "`arrays` has the name 'a/b': use at most 100 letters"),
        ("../b", np.ones(1), ValueError, "`arrays` has the name '../b'"),
        ("", np.ones(1), ValueError, "`arrays` has the name ''"),
        (3, np.ones(1), ValueError, "`arrays` has the name 3"),
        ("x" * 101, np.ones(1), ValueError, "`arrays` has the name 'xxx"),
    ],
)
def test_bad_arrays_are_not_written(path, name, array, error, message):
    with pytest.raises(error, match=re.escape(message)):
        write_archive(path, {"format": "x", "version": 1}, {name: array})
    assert os.listdir(path.parent) == []


def test_what_is_written_can_be_read_or_is_refused_whatever_its_dimensions(path):
    for count in (0, 1, 32):
        write_archive(path, {"format": "x", "version": 1}, {"a": np.ones((1,) * count)})
        assert read_archive(path, "x", 1)[1]["a"].ndim == count
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # before there were no more
        with pytest.raises(
            ValueError, match="`arrays` has 'a' of 33 dimensions, expected at most 32: reshape it"
        ):
            write_archive(path, {"format": "x", "version": 1}, {"a": np.ones((1,) * 33)})


NOT_PLAIN = {
    "empty": b"",
    "magic only": b"\x93NUMPY\x01\x00",
    "garbage": b"garbage" * 20,
    "object": raw_npy(
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
        b"cos\nsystem\n(S'touch executed'\ntR.",
    ),
    "text": npy(np.array(["abc"])),
    "record": npy(np.zeros(2, dtype=[("a", "i4")])),
    "complex": npy(np.array([1j])),
    "date": npy(np.array([1], dtype="M8[s]")),
    "long double": npy(np.zeros(1, dtype="f8")).replace(b"<f8", b"<f16"),
    "no type": raw_npy(b"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }\n", bytes(3)),
    "code": raw_npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (print(1),), }\n", bytes(8)
    ),
    "negative": raw_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n", bytes(8)),
    "deep": raw_npy(b"(" * 60_000, bytes(8)),
    "slow pattern": raw_npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1" * 60_000 + b"x), }\n"
    ),
    "slow pattern 2": raw_npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1, " * 20_000 + b"), }\n"
    ),
    "header too long": raw_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }")[:40],
    "version 9": npy(np.ones(1)).replace(b"\x01\x00", b"\x09\x00", 1),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_members_that_are_not_plain_arrays(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.pc"
    pack(path, {**saved(path), "weights.npy": NOT_PLAIN[name]})
    refused(path, "the array 'weights' is not a plain array of numbers")
    assert os.listdir(tmp_path) == ["model.pc"]


@pytest.mark.parametrize(
    "shape",
    [
        "(3,)",
        "(5,)",
        "()",
        "(0,)",
        "(100000000000000,)",
        "(4, 1000000000)",
        f"({', '.join(['999999999999999'] * 32)})",
        "(0, 999999999999999)",
    ],
)
def test_shapes_that_differ_from_the_bytes(path, shape):
    member = raw_npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n" % shape.encode(), bytes(32)
    )
    pack(path, {**saved(path), "weights.npy": member})
    refused(path, "the array 'weights' has 32 bytes, but shape (")


def test_empty_arrays_with_huge_shapes(path):
    shape = "(0, 999999999999999, 999999999999999)"
    member = raw_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n" % shape.encode())
    pack(path, {**saved(path), "weights.npy": member})
    refused(path, f"the array 'weights' has 0 bytes, but shape {shape}")
