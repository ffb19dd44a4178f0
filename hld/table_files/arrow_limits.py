"""JSON lines that end Arrow's reader, and the process with it: they are for Python.

Three kinds of blocks are told by their bytes, without being parsed:

* a first line `null`, for which Arrow has no column yet, and dies;
* a row with hundreds of brackets: Arrow reads a list in a list by calling itself, until its stack is used up;
* rows of which each has names of its own, such as {"user-17": ...}: Arrow makes a column of each, and of all columns
  as many cells as there are rows, so that four megabytes of text become terabytes.

Whatever looks like one of these is only read more slowly: a bracket or a colon may be part of a text.
"""

from __future__ import annotations

import re

MOST_OPEN = 200  # brackets in a row; Arrow dies of some 5,000 within one another, where the stack is of 8 MB
SAMPLE = 2**16  # bytes whose names are looked at first
FEW_NAMES = 50
ROOM = 1_000_000  # cells that a table may have beside 64 for each that is written
_NAME = re.compile(rb'"([^"\\]*)"\s*:')
_BREAKS = (b"}\n{", b"}\r\n{")  # between two rows, and nowhere inside one


def is_beyond_arrow(block: bytes) -> bool:
    r"""Whether Arrow should not be given some lines of JSON."""
    begins_with_null = block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"null")
    return begins_with_null or b"\nnull" in block or _is_deep(block) or _has_many_names(block)


def _is_deep(block: bytes) -> bool:
    """Whether a row has so many brackets that they might be deep within one another."""
    if _brackets(block) - sum(map(block.count, _BREAKS)) <= MOST_OPEN:
        return False
    return any(
        _brackets(row) > MOST_OPEN
        for line in block.split(_BREAKS[1])
        for row in line.split(_BREAKS[0])
    )


def _brackets(text: bytes) -> int:
    """How many opening brackets a text has."""
    return text.count(b"[") + text.count(b"{")


def _has_many_names(block: bytes) -> bool:
    """Whether rows times names are far more than the cells that are there."""
    rows, found = 1 + sum(map(block[:SAMPLE].count, _BREAKS)), _NAME.findall(block[:SAMPLE])
    if len(set(found)) <= FEW_NAMES + 4 * len(found) // rows:
        return False
    rows, found = 1 + sum(map(block.count, _BREAKS)), _NAME.findall(block)
    return rows * len(set(found)) > 64 * (len(found) + ROOM)
