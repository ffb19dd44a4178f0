"""Files: exact round trips, whole or nothing when writing, and a sentence for every damage when reading."""
import io
import json
import os
import pathlib
import re
import stat
import struct
import tempfile
import threading
import time
import zipfile

import numpy as np
import pytest
import scipy.sparse
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.files.circuit_file import from_arrays, load, read_archive, save, to_arrays, write_archive

ZOO = {**zoo.circuits(), **{f"unnormalized {k}": c for k, c in zoo.unnormalized_circuits().items()}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pc"


def members_of(path):
    """Name -> bytes of the members of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def pack(path, members, *, compression=zipfile.ZIP_STORED):
    """A zip archive with right checksums, whatever its members hold."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def npy(array, **options):
    """Bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def saved(path, circuit=None):
    """Members of a saved circuit, to be changed and packed again."""
    save(zoo.irregular_csr() if circuit is None else circuit, path)
    return members_of(path)


def refused(path, message):
    """The file is refused with its name and this message, in one line."""
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load(path)
    assert str(caught.value).startswith(f"cannot read {str(path)!r}: ")
    assert "\n" not in str(caught.value)


# -- round trips ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_what_is_saved_comes_back(name, path):
    save(ZOO[name], path)
    assert load(path) == ZOO[name]
    assert from_arrays(to_arrays(ZOO[name])) == ZOO[name]


@settings(max_examples=50)
@given(zoo.circuit_strategy())
def test_random_circuits_come_back(circuit):
    with tempfile.TemporaryDirectory() as folder:
        save(circuit, os.path.join(folder, "a"))
        assert load(os.path.join(folder, "a")) == circuit


@pytest.mark.parametrize("sparse", [False, True])
def test_a_mixture_of_dense_and_sparse_regions_comes_back(sparse, path):
    first, second = np.array([[0.5, 0.0], [0.0, 0.0], [0.25, 0.75]]), np.array([[0.0, 0.0, 1.0]])
    kinds = [scipy.sparse.csr_array, np.array]
    circuit = Circuit(VTree.from_nested([[0, 1], 2]), [
        InputRegion(0, [[5e-324, 1.0]]), InputRegion(1, [[1e308, np.nextafter(0.1, 1)], [0.1, 0.9]]),
        InnerRegion([[0, 0], [0, 1]], kinds[sparse](first)), InputRegion(2, [[1.0]]),
        InnerRegion([[2, 0], [0, 0], [1, 0]], kinds[not sparse](second))])
    save(circuit, path)
    back = load(path)
    assert back == circuit
    assert [region.is_sparse for region in (back.regions[2], back.regions[4])] == [not sparse, sparse]


def test_stored_zeros_of_csr_weights_stay_stored():
    weights = scipy.sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    circuit = Circuit(VTree.from_nested([0, 1]), [InputRegion(0, [[1.0]]), InputRegion(1, [[1.0]]),
                                                  InnerRegion([[0, 0]] * 3, weights)])
    assert from_arrays(to_arrays(circuit)).num_parameters == circuit.num_parameters == 4


def test_forty_thousand_regions_come_back(path):
    V = 20_000
    products = [[0, 0], [1, 1]]
    pair, root = (InnerRegion(products, np.full((K, 2), 0.5)) for K in (2, 1))
    leaves = [InputRegion(v, [[0.5, 0.5], [v / V, 1 - v / V]]) for v in range(V)]
    circuit = Circuit(VTree.right_linear(V), [*leaves, *[pair] * (V - 2), root])
    save(circuit, path)
    assert load(path) == circuit
    assert path.stat().st_size < 8 * circuit.num_parameters + 60 * V


def test_a_loaded_circuit_is_read_only_and_independent_of_its_arrays():
    arrays = to_arrays(zoo.two_coins())
    circuit = from_arrays(arrays)
    arrays["probs"][:] = 7.0
    arrays["products"][:] = 7
    assert circuit == zoo.two_coins()
    assert not circuit.regions[0].probs.flags.writeable


def test_arrays_are_as_documented():
    arrays = to_arrays(zoo.irregular_csr())
    assert list(arrays) == ["parents", "variables", "kind", "num_units", "num_columns", "probs", "products",
                            "weights", "columns", "row_starts"]
    assert arrays["kind"].tolist() == [0, 0, 0, 2, 2, 0, 0, 1, 2]
    assert arrays["num_units"].tolist() == [2, 4, 1, 4, 3, 2, 2, 2, 1]
    assert arrays["num_columns"].tolist() == [3, 2, 2, 5, 6, 3, 6, 3, 4]
    assert arrays["row_starts"].tolist() == [0, 2, 3, 6, 8, 0, 2, 5, 6, 0, 3]
    assert arrays["columns"].tolist() == [0, 4, 1, 1, 2, 3, 2, 4, 0, 5, 1, 2, 3, 0, 0, 1, 3]
    assert arrays["weights"][-9:].tolist() == [0.2, 0.5, 0.3, 0.0, 1.0, 0.0, 0.4, 0.1, 0.5]
    assert {array.dtype.str for array in arrays.values()} == {"|i1", "<i4", "<f8"}


@settings(max_examples=100)
@given(st.dictionaries(
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True),
    st.sampled_from(["?", "i1", "u1", "<i2", ">i4", "<i8", ">u8", "<f2", "<f4", ">f4", "<f8", ">f8"]).flatmap(
        lambda dtype: arrays_of.arrays(dtype, arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0))),
    max_size=3))
def test_any_plain_arrays_come_back(arrays):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "a")
        write_archive(name, {"format": "any", "version": 2, "more": [1, {"x": None}]}, arrays)
        header, back = read_archive(name, "any", 2)
    assert header == {"library": f"pcircuit {pcircuit.__version__}", "format": "any", "version": 2,
                      "more": [1, {"x": None}]}
    assert list(back) == sorted(arrays)
    for key, array in arrays.items():
        assert back[key].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(back[key], array)


def test_files_of_other_writers_are_read(path):
    values = np.arange(6.0).reshape(2, 3)
    header = {"format": "any", "version": 1, "library": "other", "arrays": ["f", "big", "flag"]}
    pack(path, {"big.npy": npy(values.astype(">f8")), "f.npy": npy(np.asfortranarray(values)),
                "flag.npy": npy(np.array([0, 1], dtype=bool))[:-2] + b"\x07\x00",
                "header.json": json.dumps(header)})
    header, arrays = read_archive(path, "any", 1)
    assert header["library"] == "other"
    np.testing.assert_array_equal(arrays["f"], values)
    np.testing.assert_array_equal(arrays["big"], values)
    assert arrays["big"].dtype == np.float64
    assert arrays["flag"].view(np.uint8).tolist() == [1, 0]


# -- writing -------------------------------------------------------------------------------------------------


def test_equal_circuits_give_equal_bytes(tmp_path, monkeypatch):
    save(zoo.irregular_csr(), tmp_path / "a")
    monkeypatch.setattr(time, "time", lambda: 1e9)
    save(from_arrays(to_arrays(zoo.irregular_csr())), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    write_archive(tmp_path / "c", {"format": "x", "version": 1}, {"p": np.ones(2), "q": np.zeros(1)})
    write_archive(tmp_path / "d", {"format": "x", "version": 1}, {"q": np.zeros(1), "p": np.ones(2)})
    assert (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()


def test_header_and_members(path):
    save(zoo.two_coins(), path, provenance={"data": "coins", "rows": 10})
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            assert (info.compress_type, info.date_time) == (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0))
        names = sorted(to_arrays(zoo.two_coins()))
        assert archive.namelist() == ["header.json", *[f"{name}.npy" for name in names]]
        assert json.loads(archive.read("header.json")) == {
            "format": "pcircuit.circuit", "version": 1, "library": f"pcircuit {pcircuit.__version__}",
            "provenance": {"data": "coins", "rows": 10}, "arrays": names}
    assert read_archive(path, "pcircuit.circuit", 1)[0]["provenance"] == {"data": "coins", "rows": 10}


def test_paths_may_be_strings_or_paths(tmp_path, monkeypatch):
    save(zoo.two_coins(), str(tmp_path / "a"))
    save(zoo.two_coins(), pathlib.Path(tmp_path / "b"))
    monkeypatch.chdir(tmp_path)
    save(zoo.two_coins(), "c")
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]
    assert load("a") == load(pathlib.Path("b")) == load(str(tmp_path / "c")) == zoo.two_coins()


def test_permissions_follow_the_umask(path):
    before = os.umask(0o027)
    try:
        save(zoo.two_coins(), path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_keeps_pointing_to_its_file(tmp_path):
    save(zoo.two_coins(), tmp_path / "target")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    save(zoo.one_region(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "target") == zoo.one_region()


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", ["numpy.lib.format.write_array", "os.fsync", "os.replace"])
@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_leaves_everything_as_it_was(path, monkeypatch, error, place, existing):
    if existing:
        save(zoo.two_coins(), path)

    def fail(*args, **kwargs):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(place, fail)
        with pytest.raises(type(error)):
            save(zoo.hclt_like(), path)
    assert os.listdir(path.parent) == ([path.name] if existing else [])
    assert not existing or load(path) == zoo.two_coins()


def test_a_reader_never_sees_half_a_file(path):
    kinds = [zoo.two_coins(), zoo.hclt_like()]
    save(kinds[0], path)
    stop = threading.Event()

    def write(circuit):
        while not stop.is_set():
            save(circuit, path)

    writers = [threading.Thread(target=write, args=(circuit,)) for circuit in kinds]
    for writer in writers:
        writer.start()
    try:
        for _ in range(100):
            assert load(path) in kinds
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert os.listdir(path.parent) == [path.name]


def test_the_folder_must_exist(tmp_path):
    message = "`path` is in the folder .*nowhere', which does not exist: create it first"
    with pytest.raises(FileNotFoundError, match=message):
        save(zoo.two_coins(), tmp_path / "nowhere" / "a")


def test_the_path_must_be_a_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder or a device, expected the name of a file"):
        save(zoo.two_coins(), tmp_path)
    with pytest.raises(ValueError, match="is a folder or a device"):
        save(zoo.two_coins(), os.devnull)


@pytest.mark.parametrize("bad", [None, 3, b"a", "", io.BytesIO()])
def test_the_path_must_be_a_path(bad):
    with pytest.raises(TypeError, match=r"`path` must be a non-empty str or os\.PathLike, found"):
        save(zoo.two_coins(), bad)
    with pytest.raises(TypeError, match=r"`path` must be a non-empty str or os\.PathLike, found"):
        load(bad)


def test_the_circuit_must_be_a_circuit(path):
    with pytest.raises(TypeError, match=f"`circuit` must be a Circuit, found {type(path).__name__}"):
        save(path, zoo.two_coins())


@pytest.mark.parametrize(("header", "error", "message"), [
    ([], ValueError, '`header` must be a dict without the key "arrays", found []'),
    ({"format": "x", "version": 1, "arrays": []}, ValueError, 'without the key "arrays"'),
    ({"version": 1}, ValueError, 'the header must be a mapping with "format" (str)'),
    ({"format": "x"}, ValueError, '"version" (int)'),
    ({"format": "x", "version": True}, ValueError, '"version" (int)'),
    ({"format": "x", "version": 0}, ValueError, 'the header has "version" 0, expected 1 or more'),
    ({"format": "x", "version": 1, "library": 3}, ValueError, '"library" (str)'),
    ({"format": "x", "version": 1, "a": np.float64}, TypeError, "`header` must hold only what JSON can: "),
    ({"format": "x", "version": 1, "a": np.nan}, ValueError, "`header` must hold only what JSON can: "),
    ({"format": "x", "version": 1, "a": 10**30}, ValueError, "the number 10000000000000000000... is not"),
    ({"format": "x", "version": 1, "a": {1: 0, "1": 0}}, ValueError, "a key occurs twice"),
    ({"format": "x", "version": 1, "a": "x" * 2**24}, ValueError, "bytes as JSON, expected at most 16777216"),
])
def test_bad_headers_are_not_written(path, header, error, message):
    with pytest.raises(error, match=re.escape(message)):
        write_archive(path, header, {})
    assert not path.exists()


def test_deep_headers_are_not_written(path):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="`header` must hold only what JSON can"):
        write_archive(path, {"format": "x", "version": 1, "a": deep}, {})
    shallow = 0
    for _ in range(31):
        shallow = (shallow,)
    with pytest.raises(ValueError, match="the header is nested more than 32 levels deep"):
        write_archive(path, {"format": "x", "version": 1, "a": shallow}, {})
    write_archive(path, {"format": "x", "version": 1, "a": shallow[0]}, {})


@pytest.mark.parametrize(("name", "array", "error", "message"), [
    ("a", np.array(["x"]), TypeError, "`arrays` has 'a' of <U1, expected booleans, integers or floats"),
    ("a", np.array([None]), TypeError, "`arrays` has 'a' of object"),
    ("a", np.array([1j]), TypeError, "`arrays` has 'a' of complex128"),
    ("a", np.array([1], dtype="M8[s]"), TypeError, "`arrays` has 'a' of datetime64"),
    ("a/b", np.ones(1), ValueError, "`arrays` has the name 'a/b': use at most 100 letters"),
    ("../b", np.ones(1), ValueError, "`arrays` has the name '../b'"),
    ("", np.ones(1), ValueError, "`arrays` has the name ''"),
    (3, np.ones(1), ValueError, "`arrays` has the name 3"),
    ("x" * 101, np.ones(1), ValueError, "`arrays` has the name 'xxx"),
])
def test_bad_arrays_are_not_written(path, name, array, error, message):
    with pytest.raises(error, match=re.escape(message)):
        write_archive(path, {"format": "x", "version": 1}, {name: array})
    assert os.listdir(path.parent) == []


# -- reading: what is not a file of ours ---------------------------------------------------------------------


def test_a_missing_file_is_a_missing_file(path):
    with pytest.raises(FileNotFoundError, match=re.escape(str(path))):
        load(path)


def test_what_is_not_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path, tmp_path / "pipe"):
        refused(name, "it is not a regular file")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x05\x06", b"\x80\x04K\x01.",
                                     b"\x93NUMPY\x01\x00" * 50, bytes(range(256)) * 100])
def test_what_is_not_an_archive(path, content):
    path.write_bytes(content)
    refused(path, "it is not a zip archive, or a damaged one (")


def test_foreign_archives(path):
    pack(path, {"word/document.xml": b"<xml/>"})
    refused(path, "it is a zip archive without header.json, so not a file of this library")


def test_files_of_another_kind(path):
    write_archive(path, {"format": "hld.detector", "version": 1}, to_arrays(zoo.two_coins()))
    refused(path, "it is a file of kind 'hld.detector', expected 'pcircuit.circuit'")


def test_files_of_a_newer_version(path):
    write_archive(path, {"format": "pcircuit.circuit", "version": 2, "library": "pcircuit 9.9"}, {})
    refused(path, "it has format version 2, written by 'pcircuit 9.9', but only versions up to 1 are known "
                  "here: upgrade the installed library")
    assert read_archive(path, "pcircuit.circuit", 2)[0]["version"] == 2


# -- reading: archives that lie ------------------------------------------------------------------------------


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
    refused(path, f"missing are ['{name}'], unknown are []")


def test_unknown_arrays(path):
    arrays = {**to_arrays(zoo.two_coins()), "x": np.ones(1)}
    write_archive(path, {"format": "pcircuit.circuit", "version": 1}, arrays)
    refused(path, "missing are [], unknown are ['x']")


def test_sizes_beyond_the_file(path):
    saved(path)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        at = archive.start_dir
    struct.pack_into("<II", data, at + 20, 2**31, 2**31)  # compressed and real size of the first member
    path.write_bytes(data)
    refused(path, "its members claim more bytes than the file has")


def test_members_that_share_their_bytes(path):
    # as many directory entries as one likes can point to the same bytes
    pack(path, {"header.json": b"{}", "a": bytes(10_000)})
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    entry = data[start + 46 + len("header.json"):data.rindex(b"PK\x05\x06")]
    entries = [entry[:46] + b"%c" % letter + entry[47:] for letter in b"abcd"]
    directory = data[start:start + 46 + len("header.json")] + b"".join(entries)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 5, 5, len(directory), start, 0)
    path.write_bytes(data[:start] + directory + end)
    refused(path, "its members claim more bytes than the file has")


def test_encrypted_members(path):
    saved(path)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    data[6] |= 1  # the flag in the member itself and in the directory
    data[start + 8] |= 1
    path.write_bytes(data)
    refused(path, "its member 'header.json' is damaged (")


@pytest.mark.parametrize(("text", "message"), [
    (b"", "the header is not valid JSON ("),
    (b"{", "the header is not valid JSON ("),
    (b"\xff\xfe", "the header is not valid JSON ("),
    (b"[" * 200_000, "the header is not valid JSON ("),
    (b'{"a":' * 200_000, "the header is not valid JSON ("),
    (b'{"a": ' + b"1" * 100_000 + b"}", "the header is not valid JSON (the number 11111111111111111111... "),
    (b'{"a": NaN}', "the header is not valid JSON (the number NaN is not allowed)"),
    (b'{"a": 1, "a": 2}', "the header is not valid JSON (a key occurs twice)"),
    (b"[]", 'the header must be a mapping with "format" (str), "version" (int), "library" (str) and "arr'),
    (b"3", "the header must be a mapping"),
    (b'{"format": "pcircuit.circuit", "version": "1", "library": "", "arrays": []}', '"version" (int)'),
    (b'{"format": "pcircuit.circuit", "version": -1, "library": "", "arrays": []}', 'has "version" -1, exp'),
    (b'{"format": null, "version": 1, "library": "", "arrays": []}', '"format" (str)'),
    (b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": {}}', '"arrays" (list)'),
    (b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": [1]}', "must list different"),
    (b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": ["a", "a"]}', "must list diff"),
    (b'{"format": "pcircuit.circuit", "version": 1, "library": "", "arrays": ["../a"]}', "must list diff"),
    (b'{"format": "x", "version": 1, "library": "", "arrays": [], "x": ' + b"[" * 40 + b"]" * 40 + b"}",
     "the header is nested more than 32 levels deep"),
    (b" " * (2**24 + 1), "its header has 16777217 bytes, expected at most 16777216"),
])
def test_bad_headers(path, text, message):
    pack(path, {**saved(path), "header.json": text})
    refused(path, message)


# -- reading: members that are not plain arrays --------------------------------------------------------------


def raw_npy(header, data=b"", *, version=b"\x01\x00"):
    """Bytes with the outside of a .npy file and any header."""
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + data


NOT_PLAIN = {
    "empty": b"", "magic only": b"\x93NUMPY\x01\x00", "garbage": b"garbage" * 20,
    "object": raw_npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
                      b"cos\nsystem\n(S'touch executed'\ntR."),
    "text": npy(np.array(["abc"])), "record": npy(np.zeros(2, dtype=[("a", "i4")])),
    "complex": npy(np.array([1j])), "date": npy(np.array([1], dtype="M8[s]")),
    "long double": npy(np.zeros(1, dtype="f8")).replace(b"<f8", b"<f16"),
    "no type": raw_npy(b"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }\n", bytes(3)),
    "code": raw_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (print(1),), }\n", bytes(8)),
    "negative": raw_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n", bytes(8)),
    "deep": raw_npy(b"(" * 60_000, bytes(8)), "slow pattern": raw_npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1" * 60_000 + b"x), }\n"),
    "slow pattern 2": raw_npy(
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1, " * 20_000 + b"), }\n"),
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


@pytest.mark.parametrize("shape", ["(3,)", "(5,)", "()", "(0,)", "(100000000000000,)", "(4, 1000000000)",
                                   f"({', '.join(['999999999999999'] * 32)})", "(0, 999999999999999)"])
def test_shapes_that_differ_from_the_bytes(path, shape):
    member = raw_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n" % shape.encode(), bytes(32))
    pack(path, {**saved(path), "weights.npy": member})
    refused(path, "the array 'weights' has 32 bytes, but shape (")


def test_empty_arrays_with_huge_shapes(path):
    shape = "(0, 999999999999999, 999999999999999)"
    member = raw_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n" % shape.encode())
    pack(path, {**saved(path), "weights.npy": member})
    refused(path, f"the array 'weights' has 0 bytes, but shape {shape}")


@pytest.mark.parametrize("name", to_arrays(zoo.two_coins()))
def test_arrays_of_other_types_and_shapes(path, name):
    array = to_arrays(zoo.irregular_csr())[name]
    wanted = "integers" if array.dtype.kind == "i" else "floating-point numbers"
    members = saved(path)
    other_kind = array.astype(float if wanted == "integers" else int)
    for other in (other_kind, array != 0, array[:, None], np.array(array[0])):
        pack(path, {**members, f"{name}.npy": npy(other)})
        refused(path, f"the array `{name}` must be one-dimensional of {wanted}, found shape {other.shape}")


# -- reading: arrays that contradict each other --------------------------------------------------------------


def changed(name, change):
    """Arrays of a circuit with one of them changed."""
    arrays = to_arrays(zoo.irregular_csr())
    new = change(arrays[name].astype(np.int64 if arrays[name].dtype.kind == "i" else float))
    return {**arrays, name: new}


def put(*entries):
    """Change of some entries: put(i, value, j, value, ...)."""
    def change(array):
        array[list(entries[::2])] = entries[1::2]
        return array
    return change


@pytest.mark.parametrize(("name", "change", "message"), [
    ("parents", put(0, 0), "`parents` is not a post-order numbering"),
    ("parents", put(0, -2), "the array `parents` reaches from -2 to 8, expected numbers from -1 to"),
    ("parents", put(0, 2**40), "`parents` is not a post-order numbering"),
    ("parents", lambda a: a[:-1], "`parents` has 8 entries and `variables` 9"),
    ("parents", lambda a: a[:0], "`parents` must be a non-empty one-dimensional integer array"),
    ("variables", put(0, 7), "`variables` must name each variable"),
    ("variables", lambda a: np.r_[a, 5], "`parents` has 9 entries and `variables` 10"),
    ("kind", put(0, 3), "region 0 is of kind 3, expected 0 at a v-tree leaf and 1 or 2 elsewhere"),
    ("kind", put(0, 1), "region 0 is of kind 1, expected 0 at a v-tree leaf"),
    ("kind", put(3, 0), "region 3 is of kind 0, expected"),
    ("kind", put(3, 1), "the array `row_starts` has 11 entries, but the counts of the regions ask for 6"),
    ("kind", lambda a: a[1:], "the array `kind` has 8 entries, expected 9, one for each v-tree node"),
    ("num_units", put(0, 0), "region 0 has 0 units and 3 columns, expected one or more of each"),
    ("num_units", put(0, -1), "the array `num_units` reaches from -1 to 4, expected numbers from 0"),
    ("num_units", put(0, 3), "the array `probs` has 34 entries, but the counts of the regions ask for 37"),
    ("num_units", put(0, 2**62), "the array `num_units` reaches from 1 to 4611686018427387904"),
    ("num_units", put(0, 2**53, 1, 2**53), "the array `probs` has 34 entries, but the counts of the"),
    ("num_units", put(3, 2**53), "the array `row_starts` has 11 entries, but the counts"),
    ("num_units", put(3, 2**63 - 1), "the array `num_units` reaches"),
    ("num_units", lambda a: np.r_[a, 1], "the array `num_units` has 10 entries, expected 9"),
    ("num_columns", put(8, 0), "region 8 has 1 units and 0 columns"),
    ("num_columns", put(8, 5), "the array `products` has 36 entries, but the counts of the regions ask for"),
    ("num_columns", put(8, 3), "the array `columns` names a column that its region does not have"),
    ("probs", put(0, np.nan), "the array `probs` reaches from nan to nan, expected numbers from 0"),
    ("probs", put(0, -0.5), "the array `probs` reaches from -0.5 to"),
    ("probs", put(0, np.inf), "the array `probs` reaches from 0.0 to inf"),
    ("probs", lambda a: a[:-1], "the array `probs` has 33 entries, but the counts of the regions ask for 34"),
    ("products", put(0, -1), "the array `products` reaches from -1 to 3, expected numbers from 0"),
    ("products", put(0, 4), "region 3 with scope [0, 4]: `products` asks for unit 4 of child region 1"),
    ("products", lambda a: a[:-1], "the array `products` has 35 entries, but the counts"),
    ("weights", put(0, np.nan), "the array `weights` reaches from nan to nan"),
    ("weights", put(0, -1e-300), "the array `weights` reaches from -1e-300 to 1.0"),
    ("weights", lambda a: np.r_[a, 0.0], "the array `weights` has 24 entries, but the counts of the regions"),
    ("columns", put(0, -1), "the array `columns` reaches from -1 to 5"),
    ("columns", put(0, 4, 1, 0), "the array `columns` must ascend within each row"),
    ("columns", put(1, 0), "the array `columns` must ascend within each row"),
    ("columns", put(1, 5), "the array `columns` names a column that its region does not have"),
    ("columns", lambda a: a[:-1], "the array `columns` has 16 entries, but the counts of the regions ask"),
    ("row_starts", put(0, 1), "the array `row_starts` must begin with 0 and not descend, in each region"),
    ("row_starts", put(1, 4), "the array `row_starts` must begin with 0 and not descend, in each region"),
    ("row_starts", put(4, 9, 10, 2), "the array `columns` must ascend within each row"),
    ("row_starts", put(4, 2**50), "the array `columns` has 17 entries, but the counts of the regions ask"),
    ("row_starts", put(4, 7), "the array `columns` has 17 entries, but the counts of the regions ask for 16"),
    ("row_starts", lambda a: a[:-1], "the array `row_starts` has 10 entries, but the counts"),
])
def test_contradictions(path, name, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        from_arrays(changed(name, change))
    write_archive(path, {"format": "pcircuit.circuit", "version": 1}, changed(name, change))
    refused(path, message)


def test_two_units_at_the_root():
    circuit = InputRegion(0, [[0.5, 0.5]])
    arrays = to_arrays(Circuit(VTree.from_nested(0), [circuit]))
    with pytest.raises(ValueError, match="the root region shows 2 units"):
        from_arrays({**arrays, "num_units": np.array([2]), "num_columns": np.array([1])})


# -- reading: anything at all --------------------------------------------------------------------------------


def outcome(path, data):
    """What `load` makes of these bytes: a circuit, or None if it refuses them with a ValueError."""
    path.write_bytes(data)
    try:
        return load(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith(f"cannot read {str(path)!r}: ")
    assert "\n" not in message
    return None


def test_flipped_bytes_are_noticed_or_harmless(path):
    saved(path)
    data = path.read_bytes()
    rng = np.random.default_rng(7)
    refusals = 0
    tried = rng.choice(len(data), size=1500, replace=False)
    for at in tried:
        changed = bytearray(data)
        changed[at] ^= int(rng.integers(1, 256))
        result = outcome(path, changed)
        assert result is None or result == zoo.irregular_csr()  # dates and the like do not matter
        refusals += result is None
    assert refusals > len(tried) / 2


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


def test_cut_doubled_and_inserted_bytes(path):
    saved(path)
    data = path.read_bytes()
    rng = np.random.default_rng(8)
    for _ in range(250):
        i, j = np.sort(rng.integers(0, len(data), size=2)).tolist()
        for changed in (data[:i] + data[j:], data[:j] + data[i:], data[:i] + rng.bytes(5) + data[i:]):
            result = outcome(path, changed)
            assert result is None or result == zoo.irregular_csr()


def test_directories_with_random_numbers(path):
    # the directory and the end record steer the reader: overwrite whole numbers there
    saved(path, zoo.one_region())
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    rng = np.random.default_rng(9)
    for _ in range(500):
        changed = bytearray(data)
        at = int(rng.integers(start, len(data) - 4))
        number = int(rng.choice([0, 1, 2**31, 2**32 - 1, rng.integers(0, 2**32)]))
        changed[at:at + 4] = struct.pack("<I", number)
        result = outcome(path, changed)
        assert result is None or result == zoo.one_region()


def test_wrong_bytes_with_right_checksums(path):
    # a writer who means harm computes the checksum again: then the arrays themselves have to be checked
    members = saved(path)
    rng = np.random.default_rng(10)
    names = sorted(members)
    for _ in range(1000):
        name = names[rng.integers(len(names))]
        changed = bytearray(members[name])
        at = int(rng.integers(len(changed)))
        changed[at] = int(rng.choice([0, 255, 40, 44, changed[at] ^ (1 << rng.integers(8))]))
        stream = io.BytesIO()
        pack(stream, {**members, name: bytes(changed)})
        result = outcome(path, stream.getvalue())
        assert result is None or isinstance(result, Circuit)


@settings(max_examples=300)
@given(st.sampled_from(sorted(ZOO)), st.data())
def test_arrays_with_random_entries(kind, data):
    arrays = to_arrays(ZOO[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from([name for name in sorted(arrays) if arrays[name].size]))
        array = arrays[name].astype(np.int64 if arrays[name].dtype.kind == "i" else float)
        value = st.integers(-2, 9) | st.sampled_from([2**31, 2**53, 2**62, 2**63 - 1, -2**63])
        array[data.draw(st.integers(0, array.size - 1))] = data.draw(value)
        arrays[name] = array
    try:
        circuit = from_arrays(arrays)
    except ValueError:
        return
    back = to_arrays(circuit)  # what is accepted is a circuit with exactly these arrays
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
