"""The header of a file as JSON: what is written can be read, and what is read is bounded and unambiguous.

JSON leaves open what NaN, a key that occurs twice or a number of a thousand digits mean, and readers differ.  Here all
of them are refused, in writing as in reading:

    size             at most 2^24 bytes, and 2^21 brackets, commas and colons: small files cannot fill the memory
    depth            what the parser of Python goes down to, some hundred levels at the least
    integers         at most 20 characters, as the time to read one is quadratic in its length
    other numbers    finite, at most 40 characters
    keys             unique within each object
    text             UTF-8
"""

from __future__ import annotations

import json
import math
import reprlib
from typing import Any, NoReturn

import numpy as np

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
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_refused,
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
