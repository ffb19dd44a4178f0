"""Archives: exact round trips, equal bytes for equal contents, and a sentence for every damage."""

import json
import os
import re
import struct
import tempfile
import time
import zipfile

import numpy as np
import pytest
import zoo
from archives import npy, outcome, pack, raw_npy, refused, saved
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import pcircuit
from pcircuit import load, save
from pcircuit.io.archive import (
    check_names,
    finite_array,
    read_archive,
    saved_count,
    saved_number,
    under_prefix,
    with_prefix,
    write_archive,
)
from pcircuit.io.circuit_file import from_arrays, to_arrays


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pc"


@settings(max_examples=100)
@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True),
        st.sampled_from(
            ["?", "i1", "u1", "<i2", ">i4", "<i8", ">u8", "<f2", "<f4", ">f4", "<f8", ">f8"]
        ).flatmap(
            lambda dtype: arrays_of.arrays(
                dtype, arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0)
            )
        ),
        max_size=3,
    )
)
def test_any_plain_arrays_come_back(arrays):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "a")
        write_archive(name, {"format": "any", "version": 2, "more": [1, {"x": None}]}, arrays)
        header, back = read_archive(name, "any", 2)
    assert header == {
        "library": f"pcircuit {pcircuit.__version__}",
        "format": "any",
        "version": 2,
        "more": [1, {"x": None}],
    }
    assert list(back) == sorted(arrays)
    for key, array in arrays.items():
        assert back[key].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(back[key], array)


def test_files_of_other_writers_are_read(path):
    values = np.arange(6.0).reshape(2, 3)
    header = {"format": "any", "version": 1, "library": "other", "arrays": ["f", "big", "flag"]}
    pack(
        path,
        {
            "big.npy": npy(values.astype(">f8")),
            "f.npy": npy(np.asfortranarray(values)),
            "flag.npy": npy(np.array([0, 1], dtype=bool))[:-2] + b"\x07\x00",
            "header.json": json.dumps(header),
        },
    )
    header, arrays = read_archive(path, "any", 1)
    assert header["library"] == "other"
    np.testing.assert_array_equal(arrays["f"], values)
    np.testing.assert_array_equal(arrays["big"], values)
    assert arrays["big"].dtype == np.float64
    assert arrays["flag"].view(np.uint8).tolist() == [1, 0]


def test_equal_circuits_give_equal_bytes(tmp_path, monkeypatch):
    save(zoo.irregular_csr(), tmp_path / "a")
    monkeypatch.setattr(time, "time", lambda: 1e9)
    save(from_arrays(to_arrays(zoo.irregular_csr())), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    write_archive(
        tmp_path / "c", {"format": "x", "version": 1}, {"p": np.ones(2), "q": np.zeros(1)}
    )
    write_archive(
        tmp_path / "d", {"format": "x", "version": 1}, {"q": np.zeros(1), "p": np.ones(2)}
    )
    assert (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()


def test_header_and_members(path):
    save(zoo.two_coins(), path, provenance={"data": "coins", "rows": 10})
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            assert (info.compress_type, info.date_time) == (
                zipfile.ZIP_STORED,
                (1980, 1, 1, 0, 0, 0),
            )
        names = sorted(to_arrays(zoo.two_coins()))
        assert archive.namelist() == ["header.json", *[f"{name}.npy" for name in names]]
        assert json.loads(archive.read("header.json")) == {
            "format": "pcircuit.circuit",
            "version": 1,
            "library": f"pcircuit {pcircuit.__version__}",
            "provenance": {"data": "coins", "rows": 10},
            "arrays": names,
        }
    assert read_archive(path, "pcircuit.circuit", 1)[0]["provenance"] == {
        "data": "coins",
        "rows": 10,
    }


# -- what is not a file of ours ------------------------------------------------------------------------------


def test_a_missing_file_is_a_missing_file(path):
    with pytest.raises(FileNotFoundError, match=re.escape(str(path))):
        load(path)


def test_what_is_not_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path, tmp_path / "pipe"):
        refused(name, "it is not a regular file")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"PK\x05\x06",
        b"\x80\x04K\x01.",
        b"\x93NUMPY\x01\x00" * 50,
        bytes(range(256)) * 100,
    ],
)
def test_what_is_not_an_archive(path, content):
    path.write_bytes(content)
    refused(path, "it is not a zip archive, or a damaged one (")


def test_files_of_another_kind(path):
    write_archive(path, {"format": "hld.detector", "version": 1}, to_arrays(zoo.two_coins()))
    refused(path, "it is a file of kind 'hld.detector', expected 'pcircuit.circuit'")


def test_files_of_a_newer_version(path):
    write_archive(path, {"format": "pcircuit.circuit", "version": 2, "library": "pcircuit 9.9"}, {})
    refused(
        path,
        "it has format version 2, written by 'pcircuit 9.9', but only versions up to 1 are known "
        "here: upgrade the installed library",
    )
    assert read_archive(path, "pcircuit.circuit", 2)[0]["version"] == 2


# -- archives that lie ---------------------------------------------------------------------------------------


def test_compressed_members(path):
    pack(path, saved(path), compression=zipfile.ZIP_DEFLATED)
    refused(path, "is compressed, expected plain bytes")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_occur_twice(path):
    saved(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("weights.npy", npy(np.ones(3)))
    refused(path, "one of its members occurs twice")


@pytest.mark.parametrize("extra", ["more.npy", "weights", "../weights.npy", "folder/", "x" * 5000])
def test_unexpected_members(path, extra):
    pack(path, {**saved(path), extra: b""})
    refused(path, "its header and its members disagree on [")


@pytest.mark.parametrize("name", to_arrays(zoo.two_coins()))
def test_missing_arrays(path, name):
    members = saved(path)
    del members[f"{name}.npy"]
    pack(path, members)
    refused(path, f"its header and its members disagree on ['{name}.npy']")
    header = json.loads(members["header.json"])
    header["arrays"].remove(name)
    pack(path, {**members, "header.json": json.dumps(header)})
    refused(path, f"lacks ['{name}']")


def test_members_that_share_their_bytes(path):
    # as many directory entries as one likes can point to the same bytes
    pack(path, {"header.json": b"{}", "a": bytes(10_000)})
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    entry = data[start + 46 + len("header.json") : data.rindex(b"PK\x05\x06")]
    entries = [entry[:46] + b"%c" % letter + entry[47:] for letter in b"abcd"]
    directory = data[start : start + 46 + len("header.json")] + b"".join(entries)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 5, 5, len(directory), start, 0)
    path.write_bytes(data[:start] + directory + end)
    refused(path, "its members claim more bytes than the file has")


# -- damage --------------------------------------------------------------------------------------------------


def test_every_flipped_bit_of_the_contents_is_noticed(path):
    members = saved(path, zoo.two_coins())
    data = path.read_bytes()
    for name in ("header.json", "weights.npy", "products.npy"):
        start = data.index(members[name])
        for at in range(start, start + len(members[name])):
            changed = bytearray(data)
            changed[at] ^= 1 << (at % 8)
            assert outcome(path, changed) is None


def test_truncated_files_are_refused(path):
    saved(path)
    data = path.read_bytes()
    for length in range(0, len(data), 11):
        assert outcome(path, data[:length]) is None
    assert outcome(path, data[:-1]) is None


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
        ("a/b", np.ones(1), ValueError, '"arrays" in the header must list different names'),
        ("x" * 101, np.ones(1), ValueError, '"arrays" in the header must list different names'),
    ],
)
def test_bad_arrays_are_not_written(path, name, array, error, message):
    with pytest.raises(error, match=re.escape(message)):
        write_archive(path, {"format": "x", "version": 1}, {name: array})
    assert os.listdir(path.parent) == []


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


def test_arrays_of_files():
    arrays = {
        "a": np.ones((2, 3)),
        "b": np.array([1.0, np.nan]),
        "c": np.array([True]),
        "d": np.ones(2, np.float32),
    }
    assert finite_array(arrays, "a", (2, None)) is arrays["a"]
    assert finite_array(arrays, "d", (2,), np.float32) is arrays["d"]
    for name, shape in (("a", (2,)), ("a", (3, 3)), ("b", (2,)), ("c", (1,)), ("d", (2,))):
        with pytest.raises(ValueError, match=f"array '{name}' must hold"):
            finite_array(arrays, name, shape)
    assert under_prefix("x.", with_prefix("x.", arrays) | {"y": None}) == arrays


def test_numbers_of_files():
    scalars = {"a": 2, "b": 0.5, "c": True, "d": "2", "e": float("nan"), "f": -1}
    assert saved_count(scalars, "a") == 2
    assert saved_number(scalars, "a") == 2.0
    assert type(saved_number(scalars, "a")) is float
    assert saved_number(scalars, "b", most=0.5) == 0.5
    for name in "bcdef":
        with pytest.raises(ValueError, match=f"'{name}' must be a whole number from 1"):
            saved_count(scalars, name)
    for name in "cdef":
        with pytest.raises(ValueError, match=f"'{name}' must be a number from 0"):
            saved_number(scalars, name)
    with pytest.raises(ValueError, match="'g' is missing"):
        saved_number(scalars, "g")


def test_names_of_files():
    check_names({"a": 1}, ["a"], "the header")
    with pytest.raises(ValueError, match=r"the header lacks \['a'\]$"):
        check_names(set(), ["a"], "the header")
