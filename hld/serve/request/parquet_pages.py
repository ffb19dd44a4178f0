"""What the pages of a Parquet file become when they are decompressed, from their own headers.

A reader allocates what the header of a page says, whatever the end of the file says of the whole column.  So the
headers are read first, which takes some microseconds each; nothing is decompressed.  A header is a structure in the
compact protocol of Thrift: fields, each a byte with the distance to the number of the field before and a type, and a
value; a whole number is a varint, whose last bit is its sign; a byte of 0 ends the structure.
"""

from __future__ import annotations

from typing import Any

from hld.serve.refusals import Refusal

MOST_PAGES = 100_000  # of a column in a row group: more are hardly columns of a million rows
UNPACKED, PACKED = 2, 3  # fields of a header: the sizes of a page
TRUE, FALSE, BYTE, DOUBLE, BINARY, STRUCT = 1, 2, 3, 7, 8, 12  # types; 4 to 6 are whole numbers
DEEPEST = 8  # structures within one another


def unpacked_size(body: bytes, column: Any) -> int:
    """The sum of the sizes that the pages of a column in a row group have when they are decompressed."""
    at, end = _place(column)
    total, count = 0, 0
    while column.num_values > 0 and at < end and count < MOST_PAGES:
        try:
            sizes, at = _structure(body, at)
        except IndexError:
            sizes = {}
        unpacked, packed = sizes.get(UNPACKED, -1), sizes.get(PACKED, -1)
        if unpacked < 0 or packed < 0:
            raise Refusal(
                400,
                "body",
                "the body is not a table in Parquet: a page of column "
                f"{column.path_in_schema!r} is damaged",
            )
        at, total, count = at + packed, total + unpacked, count + 1
    if count == MOST_PAGES and at < end:
        raise Refusal(
            413,
            "body",
            f"column {column.path_in_schema!r} has more than {MOST_PAGES} pages in a row group, "
            "expected at most so many: write it with larger pages",
        )
    return total


def _place(column: Any) -> tuple[int, int]:
    """Where the pages of a column begin and end, as Arrow has it."""
    start, first = column.data_page_offset, column.dictionary_page_offset or 0
    if column.has_dictionary_page and 0 < first < start:
        start = first
    return max(start, 0), start + column.total_compressed_size


def _structure(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, int], int]:
    """The whole numbers of a structure by field, and where it ends; IndexError where it does not."""
    found: dict[int, int] = {}
    number = 0
    while head := data[at]:
        kind = head & 15
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _whole(data, at)
        if 4 <= kind <= 6:
            found[number], at = _whole(data, at)
        else:
            at = _behind(data, at, kind, depth)
    return found, at + 1


def _behind(data: bytes, at: int, kind: int, depth: int) -> int:
    """Where a value of another type than a whole number ends, as it stands in a structure."""
    if kind in (TRUE, FALSE):
        return at
    if kind in (BYTE, DOUBLE):
        return at + (1 if kind == BYTE else 8)
    if kind == BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == STRUCT and depth < DEEPEST:
        return _structure(data, at, depth + 1)[1]
    raise IndexError  # lists, sets and maps are not in headers of pages


def _whole(data: bytes, at: int) -> tuple[int, int]:
    """A whole number with its sign, and where it ends."""
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number in parts of seven bits, the lowest first, and where it ends."""
    value = 0
    for i in range(10):
        value |= (data[at + i] & 127) << 7 * i
        if data[at + i] < 128:
            return value, at + i + 1
    raise IndexError
