"""The header of a file as JSON: what is written can be read, and what is read is bounded and unambiguous.

JSON leaves open what NaN, a key that occurs twice, a number of a thousand digits or a list a million levels deep
mean, and readers differ.  Here all of them are refused, in writing as in reading:

    depth            at most 32 levels, a number or text being the last
    brackets, commas, colons       at most 2^21 outside of text, so that small files cannot fill the memory
    integers         at most 20 characters, as the time to read one is quadratic in its length
    other numbers    finite, at most 40 characters
    keys             unique within each object
    text             UTF-8

The structure is measured before anything is built from it.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import numpy as np

MOST_BYTES, MOST_MARKS, DEPTH_LIMIT = 2**24, 2**21, 32
LONGEST_INTEGER, LONGEST_NUMBER = 20, 40  # characters
_STEP = np.zeros(256, dtype=np.int8)  # how much deeper a byte leads
_STEP[[ord("["), ord("{")]], _STEP[[ord("]"), ord("}")]] = 1, -1
_IS_MARK = np.isin(np.arange(256), list(b"[]{},:"))


def header_text(header: dict[Any, Any], name: str = "header") -> bytes:
    """A header as JSON, NumPy scalars as plain numbers; TypeError or ValueError for what JSON cannot hold."""
    try:
        text = json.dumps(header, allow_nan=False, indent=1, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"`{name}` must hold only what JSON can: {error}") from None
    if len(text) > MOST_BYTES:
        raise ValueError(f"`{name}` takes {len(text)} bytes as JSON, expected at most {MOST_BYTES}")
    return text


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
    _check_structure(data)
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_unique,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_refused,
        )
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the header is not valid JSON ({error})") from error


def _check_structure(data: Any) -> None:
    """Raise if brackets do not match, or there are too many marks or levels; O(bytes) without building anything."""
    bare = data.replace(rb"\\", b"").replace(
        rb"\"", b""
    )  # now every quotation mark opens or ends a text
    letters = np.frombuffer(bare, dtype=np.uint8)
    in_text = (
        np.logical_xor.accumulate(letters == ord('"')) if len(letters) else np.zeros(0, dtype=bool)
    )
    marks = letters[_IS_MARK[letters] & ~in_text]
    if len(marks) > MOST_MARKS:
        raise ValueError(
            f"the header has {len(marks)} brackets, commas and colons, expected at most {MOST_MARKS}"
        )
    levels = np.cumsum(_STEP[marks], dtype=np.int32)
    if len(levels) and (levels[-1] != 0 or levels.min() < 0):
        raise ValueError("the header is not valid JSON (brackets do not match)")
    if len(levels) and levels.max() >= DEPTH_LIMIT:
        raise ValueError(f"the header is nested more than {DEPTH_LIMIT} levels deep")


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python; NumPy itself would make bare numbers of its times, of nanoseconds."""
    is_number = isinstance(value, (np.number, np.bool_)) and not isinstance(value, np.timedelta64)
    if is_number and not isinstance(value.item(), np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is neither text, number, list nor dict")


def _unique(pairs: Any) -> dict[Any, Any]:
    """A JSON object whose keys must differ."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value


def _integer(digits: str) -> int:
    """A JSON integer, refused if it is long."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else _refused(digits[:20] + "...")


def _number(digits: str) -> float:
    """A JSON number with a point or an exponent, refused if it is long or too large for a float."""
    number = float(digits) if len(digits) <= LONGEST_NUMBER else _refused(digits[:20] + "...")
    return number if math.isfinite(number) else _refused(digits)


def _refused(constant: str) -> NoReturn:
    """Refuse NaN, the infinities and long numbers."""
    raise ValueError(f"the number {constant} is not allowed")
