"""Archives: a JSON header and named arrays in one uncompressed zip file, no pickle.

Files are written whole or not at all (`io.whole_file`), and nothing in them depends on the clock: equal contents
give equal bytes.

A file may come from anywhere, so reading trusts nothing.  No member is compressed and all sizes must fit the real
size of the file, hence the memory that reading takes is bounded by a fixed multiple of that size.  The header is JSON
within limits, arrays are plain numbers, and nothing is ever evaluated as
code.  The checksum of each member (CRC-32) detects damage, not intent: whoever crafts a file can compute it again, so
the reader of each format must check what arrays and header say.  Every defect raises a `ValueError` that names the
file.

Arrays of plain numbers as bytes of NumPy's .npy format, version 1.0, read without trust.

NumPy's own reader evaluates the header of a .npy file as a Python literal and can be told to unpickle; the one here
matches it against one strict pattern: booleans, integers and floating-point numbers of at most 8 bytes, at most 32
dimensions.

What files hold: arrays, numbers and names, refused with one sentence where they are not what the format has.

The header of a file as JSON: what is written can be read, and what is read is bounded and unambiguous.

JSON leaves open what NaN, a key that occurs twice or a number of a thousand digits mean, and readers differ.  Here all
of them are refused, in writing as in reading:

    size             at most 2^24 bytes, and 2^21 brackets, commas and colons: small files cannot fill the memory
    depth            what the parser of Python goes down to, some hundred levels at the least
    integers         at most 20 characters, as the time to read one is quadratic in its length
    other numbers    finite, at most 40 characters
    keys             unique within each object
    text             UTF-8
"""

import functools
import json
import math
import os
import re
import reprlib
import stat
import struct
import sys
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcircuit import __version__
from pcircuit.arguments import check_whole_number
from pcircuit.io.whole_file import checked_path, replace_file

MOST_BYTES, MOST_MARKS = 2**24, 2**21
LONGEST_INTEGER, LONGEST_NUMBER = 20, 40  # characters


def header_text(header: dict[Any, Any], name: str = "header") -> bytes:
    """A header as JSON, NumPy scalars as plain numbers; TypeError or ValueError for what JSON cannot hold."""
    try:
        text = json.dumps(header, allow_nan=False, indent=1, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"`{name}` must hold only what JSON can: {error}") from None
    if len(text) > MOST_BYTES:
        raise ValueError(f"`{name}` takes {len(text)} bytes as JSON, expected at most {MOST_BYTES}")
    _check_marks(text, f"`{name}`")
    return text


def _check_marks(text: bytes, name: str) -> None:
    """Raise if a text would become more objects than a header has."""
    marks = sum(map(text.count, (b"[", b"{", b",", b":")))
    if marks > MOST_MARKS:
        raise ValueError(
            f"{name} has {marks} brackets, commas and colons, expected at most {MOST_MARKS}"
        )


def check_provenance(provenance: object) -> None:
    """Raise unless it is a dict that a header can hold; errors of the header itself would name no argument."""
    if not isinstance(provenance, dict):
        raise TypeError(f"`provenance` must be a dict, found {type(provenance).__name__}")
    text = header_text({"provenance": provenance}, "provenance")  # as deep as in the header
    try:
        parsed_header(text)
    except ValueError as error:
        raise ValueError(f"`provenance` must hold only what can be read again: {error}") from None


def parsed_header(data: Any) -> Any:
    """The value in bytes; ValueError if they are not JSON or beyond the limits of the module's head."""
    _check_marks(data, "the header")
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=distinct_names,
            parse_int=functools.partial(_parsed, int, LONGEST_INTEGER),
            parse_float=functools.partial(_parsed, float, LONGEST_NUMBER),
            parse_constant=functools.partial(_parsed, float, LONGEST_NUMBER),
        )
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the header is not valid JSON ({error})") from error


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python; NumPy itself would make bare numbers of its times, of nanoseconds."""
    is_number = isinstance(value, (np.number, np.bool_)) and not isinstance(value, np.timedelta64)
    if is_number and not isinstance(value.item(), np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is neither text, number, list nor dict")


class RepeatedName(ValueError):
    """An object of a JSON text has a name more than once."""

    def __init__(self, name: str) -> None:
        super().__init__(f"an object has the name {reprlib.repr(name)} twice")


def distinct_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a JSON text whose names differ: readers would take one of several values or another."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise RepeatedName(
            next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        )
    return value


def _parsed(kind: type[float], longest: int, digits: str) -> float:
    """A number of JSON, refused if it is long or not finite."""
    number = kind(digits) if len(digits) <= longest else math.inf
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]}{'...' * (len(digits) > 20)} is not allowed")
    return number


Arrays: TypeAlias = dict[str, NDArray[Any]]
T = TypeVar("T")
HEADER = "header.json"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
CHUNK = 2**20
# what zipfile makes of damaged archives, negative positions and wrong encodings included
DAMAGE = (
    zipfile.BadZipFile,
    EOFError,
    OSError,
    RuntimeError,
    OverflowError,
    struct.error,
    ValueError,
)
MAGIC = b"\x93NUMPY\x01\x00"
ARRAY_HEADER = re.compile(
    rb"\{'descr': '(\|b1|[<>|][iu][1248]|[<>|]f[248])', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,15}(?:, \d{1,15}){0,31},?)?)\), \} *\n"
)


def write_archive(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, ArrayLike]
) -> None:
    """Write a header and arrays to one file, whole or not at all.

    Costs O(size).  Equal arguments give equal bytes.
    """
    text = _header_text(header, sorted(arrays))
    members = {name: storable_array(name, array) for name, array in arrays.items()}
    with replace_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        with archive.open(_member(HEADER), "w") as member:
            member.write(text)
        for name, array in sorted(members.items()):
            entry = _member(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=array.nbytes >= 2**30) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def read_archive(
    path: str | os.PathLike[str], kind: str, version: int
) -> tuple[dict[str, Any], Arrays]:
    """Read a file that `write_archive` wrote; safe for files from strangers.

    Costs O(size of the file).  All sizes are checked before the arrays are read.
    """
    return read_object(path, kind, version, lambda header, arrays: (header, arrays))


def read_object(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    make: Callable[[dict[str, Any], Arrays], T],
) -> T:
    """What can be made of a file that `write_archive` wrote; an error says the name of the file.

    Costs O(size of the file), and what `make` costs.
    """
    path, version = checked_path(path), check_whole_number(version, "version", 1)
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for a writer
        raise ValueError(f"cannot read {path!r}: it is not a regular file")
    with open(path, "rb") as file:
        try:
            return make(*read_members(file, kind, version))
        except ValueError as error:
            raise ValueError(f"cannot read {path!r}: {error}") from error


def read_members(file: BinaryIO, kind: str, version: int) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of an open file; raises ValueError, without its name."""
    size = file.seek(0, os.SEEK_END)
    try:
        opened = zipfile.ZipFile(file)
    except DAMAGE as error:
        raise ValueError(f"it is not a zip archive, or a damaged one ({_short(error)})") from error
    with opened as archive:
        members = _checked_members(archive, size)
        header = parsed_header(_bytes(archive, members.pop(HEADER)))
        _check_entries(header)
        if header["format"] != kind:
            raise ValueError(
                f"it is a file of kind {reprlib.repr(header['format'])}, expected {kind!r}"
            )
        if header["version"] > version:
            raise ValueError(
                f"it has format version {header['version']}, written by "
                f"{reprlib.repr(header['library'])}, but only versions up to {version} are "
                "known here: upgrade the installed library"
            )
        names = header.pop("arrays")
        different = set(members) ^ {f"{name}.npy" for name in names}
        if different:
            raise ValueError(
                f"its header and its members disagree on {reprlib.repr(sorted(different))}"
            )
        return header, {
            name: parsed_array(name, _bytes(archive, members[f"{name}.npy"])) for name in names
        }


def _header_text(header: dict[Any, Any], names: list[Any]) -> bytes:
    """The header as JSON, refused if it could not be read."""
    if not isinstance(header, dict) or "arrays" in header:
        raise ValueError(
            f'`header` must be a dict without the key "arrays", found {reprlib.repr(header)}'
        )
    complete = {"library": f"pcircuit {__version__}", **header, "arrays": names}
    text = header_text(complete)
    _check_entries(parsed_header(text))
    return text


def _member(name: str) -> zipfile.ZipInfo:
    """Directory entry with a fixed date and system, so that equal contents give equal files."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


def _checked_members(archive: zipfile.ZipFile, size: int) -> dict[Any, Any]:
    """The members by name, the header among them, none compressed and together not larger than the file."""
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("one of its members occurs twice")
    if HEADER not in members:
        raise ValueError(f"it is a zip archive without {HEADER}, so not a file of this library")
    for info in members.values():
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(
                f"its member {reprlib.repr(info.filename)} is compressed, expected plain bytes"
            )
    if sum(info.file_size for info in members.values()) > size:
        raise ValueError("its members claim more bytes than the file has")
    if members[HEADER].file_size > MOST_BYTES:
        raise ValueError(
            f"its header has {members[HEADER].file_size} bytes, expected at most {MOST_BYTES}"
        )
    return members


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """The bytes of a member; at their end zipfile compares the checksum."""
    data = bytearray(info.file_size)
    try:
        with archive.open(info) as member, memoryview(data) as view:
            for start in range(0, len(data), CHUNK):
                wanted = view[start : start + CHUNK]
                if member.readinto(wanted) != len(wanted):  # type: ignore[attr-defined]
                    raise EOFError("it ends too early")
    except DAMAGE as error:
        raise ValueError(
            f"its member {reprlib.repr(info.filename)} is damaged ({_short(error)})"
        ) from error
    return data


def _short(error: Exception) -> str:
    """What an error says, in one line and not more than that: it may quote whatever is in the file."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else f"{text[:200]}..."


def _check_entries(header: Any) -> None:
    """Raise unless the header has format, version, library and a list of array names."""
    wanted = {"format": str, "version": int, "library": str, "arrays": list}
    if not isinstance(header, dict) or any(
        type(header.get(key)) is not of for key, of in wanted.items()
    ):
        raise ValueError(
            'the header must be a mapping with "format" (str), "version" (int), "library" (str) '
            'and "arrays" (list)'
        )
    if header["version"] < 1:
        raise ValueError(f'the header has "version" {header["version"]}, expected 1 or more')
    names = header["arrays"]
    well_named = all(isinstance(name, str) and NAME.fullmatch(name) for name in names)
    if not well_named or len(set(names)) < len(names):
        raise ValueError(
            '"arrays" in the header must list different names of letters, digits, "_", "-", "."'
        )


def storable_array(name: str, array: ArrayLike) -> NDArray[Any]:
    """`array` as it is stored, contiguous and little-endian; TypeError unless it holds plain numbers."""
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(
            f"`arrays` has {name!r} of {array.dtype}, expected booleans, integers or floats of "
            "at most 8 bytes"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def parsed_array(name: str, data: bytearray) -> np.ndarray:
    """The array in the bytes of a .npy file, in native byte order and without copying where that can be."""
    length = int.from_bytes(data[8:10], "little") if data.startswith(MAGIC) else 0
    match = ARRAY_HEADER.fullmatch(data, 10, 10 + length)
    if not match:
        raise ValueError(f"the array {name!r} is not a plain array of numbers")
    dtype = np.dtype(match[1].decode())
    shape = tuple(int(digits) for digits in re.findall(rb"\d+", match[3]))
    fits = (
        math.prod(n for n in shape if n) * dtype.itemsize < 2**63
    )  # NumPy's limit, of empty arrays too
    if not fits or math.prod(shape) * dtype.itemsize != len(data) - 10 - length:
        raise ValueError(
            f"the array {name!r} has {len(data) - 10 - length} bytes, but shape {shape} of {dtype}"
        )
    order = "F" if match[2] == b"True" else "C"
    array: NDArray[Any] = np.frombuffer(data, dtype, offset=10 + length).reshape(shape, order=order)  # type: ignore
    if dtype.kind == "b":  # bytes other than 0 and 1 would be no booleans
        array = array.view(np.uint8) != 0
        return array
    return array.astype(dtype.newbyteorder("="), copy=False)


LARGEST = sys.float_info.max


def finite_array(
    arrays: Mapping[str, Any],
    name: str,
    shape: tuple[Any, ...],
    dtype: np.dtype[Any] | type[Any] = np.float64,
) -> np.ndarray:
    """A finite array of a file, of the given shape and type; None in the shape stands for any length."""
    if name not in arrays:
        raise ValueError(f"array {name!r} is missing")
    array: np.ndarray = arrays[name]
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype or not np.isfinite(array).all():
        raise ValueError(
            f"array {name!r} must hold {shape} finite numbers of {np.dtype(dtype)}, found shape "
            f"{array.shape} of {array.dtype}"
        )
    return array


def saved_number(
    scalars: Mapping[str, Any], name: str, least: float = 0.0, most: float = LARGEST
) -> float:
    """A number of a file in a range, as a float."""
    value = _saved(scalars, name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(
            f"{name!r} must be a number from {least:g} to {most:g}, found {reprlib.repr(value)}"
        )
    return float(value)


def saved_count(scalars: Mapping[str, Any], name: str, least: int = 1, most: int = 2**53) -> int:
    """A whole number of a file in a range."""
    value = _saved(scalars, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(
            f"{name!r} must be a whole number from {least} to {most}, found {reprlib.repr(value)}"
        )
    return value


def check_names(found: dict[str, Any] | list[str] | set[str], known: Any, what: str) -> None:
    """Raise unless the names of entries of a file are exactly those that its format has."""
    missing, unknown = sorted(set(known) - set(found)), sorted(set(found) - set(known), key=str)
    if missing or unknown:
        lacks = f"lacks {reprlib.repr(missing)}" if missing else ""
        more = f"has {reprlib.repr(unknown)}, which are unknown" if unknown else ""
        raise ValueError(f"{what} {' and '.join(filter(None, (lacks, more)))}")


def with_prefix(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays under names that begin with a prefix."""
    return {prefix + name: array for name, array in arrays.items()}


def under_prefix(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with a prefix, without it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def _saved(scalars: Any, name: str) -> Any:
    """An entry of a JSON object of a file."""
    if not isinstance(scalars, Mapping) or name not in scalars:
        raise ValueError(f"{name!r} is missing in {reprlib.repr(scalars)}")
    return scalars[name]
