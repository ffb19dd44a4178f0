"""Archives: a JSON header and named arrays in one uncompressed zip file, no pickle.

A file is written under a temporary name beside its place, forced to disk and then renamed: whoever reads sees the
old file or the new one, never half of one.  Nothing in it depends on the clock: equal contents give equal bytes.

A file may come from anywhere, so reading trusts nothing.  No member is compressed and all sizes must fit the real
size of the file, hence the memory that reading takes is bounded by a fixed multiple of that size.  Nothing in a
file is ever evaluated as code: array headers are matched against one strict pattern.  Every defect raises a
`ValueError` that names the file.
"""
from __future__ import annotations

import json
import math
import os
import re
import reprlib
import secrets
import stat
import struct
import zipfile

import numpy as np

from pcircuit import __version__

LARGEST = 2**53  # of an integer in a file: float64 holds all up to here exactly
HEADER, HEADER_LIMIT, DEPTH_LIMIT = "header.json", 2**24, 32
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
NPY_MAGIC = b"\x93NUMPY\x01\x00"
NPY_HEADER = re.compile(rb"\{'descr': '(\|b1|[<>|][iu][1248]|[<>|]f[248])', 'fortran_order': (True|False), "
                        rb"'shape': \(((?:\d{1,15}(?:, \d{1,15}){0,31},?)?)\), \} *\n")
CHUNK = 2**20
# what zipfile makes of damaged archives, negative positions and wrong encodings included
DAMAGE = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, OverflowError, struct.error, ValueError)


def write_archive(path, header: dict, arrays: dict) -> None:
    """Write a header and arrays to one file, whole or not at all.

    Parameters
    ----------
    path : str or os.PathLike
        The file; an existing one is replaced at the end, and stays as it was if anything fails.
    header : dict
        "format" (str) and "version" (int from 1) of the file, and whatever else JSON can hold.  The key
        "library" (name and version of the writer) is added if it is not there; "arrays" is reserved.
    arrays : dict of str to array
        Boolean, integer or floating-point arrays of at most 8 bytes per number, by name.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of this form.
    OSError
        If the folder does not exist or cannot be written.

    Notes
    -----
    Costs O(size).  Equal arguments give equal bytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/a", {"format": "demo", "version": 1}, {"x": np.arange(3)})
    ...     header, arrays = read_archive(f"{folder}/a", "demo", 1)
    >>> header["format"], arrays
    ('demo', {'x': array([0, 1, 2])})
    """
    target = os.path.realpath(_checked_path(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"`path` is in the folder {folder!r}, which does not exist: create it first")
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"`path` {target!r} is a folder or a device, expected the name of a file")
    members = {name: _storable(name, array) for name, array in arrays.items()}
    text = _header_text(header, sorted(members))
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as handle:
            with zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as archive:
                with archive.open(_member(HEADER), "w") as member:
                    member.write(text)
                for name, array in sorted(members.items()):
                    entry = _member(f"{name}.npy")
                    with archive.open(entry, "w", force_zip64=array.nbytes >= 2**30) as member:
                        np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def read_archive(path, kind: str, version: int) -> tuple[dict, dict]:
    """Read a file that `write_archive` wrote; safe for files from strangers.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    kind : str
        The "format" that its header must have.
    version : int
        The newest version of this format that the caller understands.

    Returns
    -------
    header : dict
        The header, without the list of arrays.
    arrays : dict of str to array
        The arrays, in native byte order.

    Raises
    ------
    ValueError
        If the file is damaged, of another kind, or newer: its name and what is wrong.
    OSError
        If there is no such file (`FileNotFoundError`) or it cannot be opened.

    Notes
    -----
    Costs O(size of the file).  All sizes are checked before the arrays are read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/a", {"format": "demo", "version": 1}, {})
    ...     read_archive(f"{folder}/a", "demo", 1)[0]["version"]
    1
    """
    path = _checked_path(path)
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for a writer
        raise ValueError(f"cannot read {path!r}: it is not a regular file")
    with open(path, "rb") as handle:
        try:
            return _read_checked(handle, kind, version)
        except ValueError as error:
            raise ValueError(f"cannot read {path!r}: {error}") from error


def _checked_path(path) -> str:
    """`path` as a str."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str) or not name:
        raise TypeError(f"`path` must be a non-empty str or os.PathLike, found {path!r}")
    return name


def _storable(name, array) -> np.ndarray:
    """`array` as it is stored: contiguous and little-endian."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"`arrays` has the name {name!r}: use at most 100 letters, digits, '_', '-' and '.'")
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"`arrays` has {name!r} of {array.dtype}, expected booleans, integers or floats of "
                        "at most 8 bytes")
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _header_text(header: dict, names: list) -> bytes:
    """The header as JSON, refused if `_parsed_header` would refuse it."""
    if not isinstance(header, dict) or "arrays" in header:
        raise ValueError(f'`header` must be a dict without the key "arrays", found {reprlib.repr(header)}')
    try:
        complete = {"library": f"pcircuit {__version__}", **header, "arrays": names}
        text = json.dumps(complete, allow_nan=False, indent=1)
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"`header` must hold only what JSON can: {error}") from None
    if len(text) > HEADER_LIMIT:
        raise ValueError(f"`header` takes {len(text)} bytes as JSON, expected at most {HEADER_LIMIT}")
    _parsed_header(text.encode())
    return text.encode()


def _member(name: str) -> zipfile.ZipInfo:
    """Directory entry with a fixed date and system, so that equal contents give equal files."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


def _read_checked(handle, kind: str, version: int) -> tuple[dict, dict]:
    """Header and arrays of an open file; raises ValueError, without its name."""
    size = os.fstat(handle.fileno()).st_size
    with _opened(handle) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if len(members) != len(archive.infolist()):
            raise ValueError("one of its members occurs twice")
        if HEADER not in members:
            raise ValueError(f"it is a zip archive without {HEADER}, so not a file of this library")
        for info in members.values():
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ValueError(f"its member {reprlib.repr(info.filename)} is compressed, expected plain "
                                 "bytes")
        if sum(info.file_size for info in members.values()) > size:
            raise ValueError("its members claim more bytes than the file has")
        if members[HEADER].file_size > HEADER_LIMIT:
            raise ValueError(f"its header has {members[HEADER].file_size} bytes, expected at most "
                             f"{HEADER_LIMIT}")
        header = _parsed_header(_bytes(archive, members.pop(HEADER)))
        if header["format"] != kind:
            raise ValueError(f"it is a file of kind {reprlib.repr(header['format'])}, expected {kind!r}")
        if header["version"] > version:
            raise ValueError(f"it has format version {header['version']}, written by "
                             f"{reprlib.repr(header['library'])}, but only versions up to {version} are "
                             "known here: upgrade the installed library")
        names = header.pop("arrays")
        different = set(members) ^ {f"{name}.npy" for name in names}
        if different:
            raise ValueError(f"its header and its members disagree on {reprlib.repr(sorted(different))}")
        return header, {name: _parsed_array(name, _bytes(archive, members[f"{name}.npy"])) for name in names}


def _opened(handle) -> zipfile.ZipFile:
    """The archive in an open file."""
    try:
        return zipfile.ZipFile(handle)
    except DAMAGE as error:
        raise ValueError(f"it is not a zip archive, or a damaged one ({error})") from error


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """The bytes of a member; at their end zipfile compares the checksum."""
    data = bytearray(info.file_size)
    try:
        with archive.open(info) as member, memoryview(data) as view:
            for start in range(0, len(data), CHUNK):
                wanted = view[start:start + CHUNK]
                if member.readinto(wanted) != len(wanted):
                    raise EOFError("it ends too early")
    except DAMAGE as error:
        raise ValueError(f"its member {reprlib.repr(info.filename)} is damaged ({error})") from error
    return data


def _parsed_header(data) -> dict:
    """The header as a dict with the entries that every file has."""
    try:
        header = json.loads(data.decode(), object_pairs_hook=_unique, parse_int=_short_int,
                            parse_constant=_refused)
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the header is not valid JSON ({error})") from error
    _check_header(header)
    return header


def _check_header(header) -> None:
    """Raise unless the header has format, version, library and a list of array names, and is not deep."""
    wanted = {"format": str, "version": int, "library": str, "arrays": list}
    if not isinstance(header, dict) or any(type(header.get(key)) is not of for key, of in wanted.items()):
        raise ValueError('the header must be a mapping with "format" (str), "version" (int), "library" (str) '
                         'and "arrays" (list)')
    if header["version"] < 1:
        raise ValueError(f'the header has "version" {header["version"]}, expected 1 or more')
    names = header["arrays"]
    well_named = all(isinstance(name, str) and NAME.fullmatch(name) for name in names)
    if not well_named or len(set(names)) < len(names):
        raise ValueError('"arrays" in the header must list different names of letters, digits, "_", "-", "."')
    level, depth = [header], 0
    while level:
        depth += 1
        if depth > DEPTH_LIMIT:
            raise ValueError(f"the header is nested more than {DEPTH_LIMIT} levels deep")
        level = [child for node in level if isinstance(node, (dict, list, tuple))
                 for child in (node.values() if isinstance(node, dict) else node)]


def _unique(pairs) -> dict:
    """A JSON object whose keys must differ."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _short_int(digits: str) -> int:
    """A JSON integer, refused if it is long: the time to read one is quadratic in its length."""
    return int(digits) if len(digits) <= 20 else _refused(digits[:20] + "...")


def _refused(constant: str):
    """Refuse NaN, the infinities and long numbers."""
    raise ValueError(f"the number {constant} is not allowed")


def _parsed_array(name: str, data: bytearray) -> np.ndarray:
    """The array in the bytes of a .npy file.

    NumPy's own reader evaluates the header as a Python literal; the pattern here knows only plain numbers.
    """
    length = int.from_bytes(data[8:10], "little") if data.startswith(NPY_MAGIC) else 0
    match = NPY_HEADER.fullmatch(data, 10, 10 + length)
    if not match:
        raise ValueError(f"the array {name!r} is not a plain array of numbers")
    dtype = np.dtype(match[1].decode())
    shape = tuple(int(digits) for digits in re.findall(rb"\d+", match[3]))
    fits = math.prod(n for n in shape if n) * dtype.itemsize < 2**63  # NumPy's limit, of empty arrays too
    if not fits or math.prod(shape) * dtype.itemsize != len(data) - 10 - length:
        raise ValueError(f"the array {name!r} has {len(data) - 10 - length} bytes, but shape {shape} of "
                         f"{dtype}")
    order = "F" if match[2] == b"True" else "C"
    array = np.frombuffer(data, dtype, offset=10 + length).reshape(shape, order=order)
    if dtype.kind == "b":  # bytes other than 0 and 1 would be no booleans
        return array.view(np.uint8) != 0
    return array.astype(dtype.newbyteorder("="), copy=False)
