"""How a text file is written: its separator, its header, its decimal mark; found out, or said.

A file whose one column holds another separator is not a table of one column, and a file whose first row is taken for
its header has lost a row: whatever such a file is learned as, everything passes a test from then on.  So the separator
is looked for in the first lines, and what looks wrong is refused with the option that says how it is meant.
"""
from __future__ import annotations

import collections
import csv
import io
import itertools
import re
from dataclasses import dataclass
from typing import Any

SEPARATORS = (",", ";", "\t", "|")
SNIFFED = 2 ** 16  # bytes
SHOWN_ROWS = 50  # of them, by which a file is judged
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
COMMA, POINT = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?"), re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
# what is missing in a text file, beside empty cells
NA_VALUES = ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
             "NA", "NULL", "NaN", "None", "n/a", "nan", "null")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; None means: find out.

    Attributes
    ----------
    separator : str or None
        One character.
    has_header : bool
        Whether the first row has the names; else they are x0, x1, ...
    decimal : "." or "," or None
    encoding : str
    na_values : tuple of str
        Cells that are missing, beside the usual ones.
    columns : tuple of str or None
        The only columns to read.
    drop : tuple of str
        Columns not to read.
    form : "csv", "parquet", "jsonl" or None
        None goes by the ending of the name.
    """

    separator: str | None = None
    has_header: bool = True
    decimal: str | None = None
    encoding: str = "utf-8"
    na_values: tuple[Any, ...] = ()
    columns: tuple[Any, ...] | None = None
    drop: tuple[Any, ...] = ()
    form: str | None = None

    def chosen(self, names: tuple[str], called: str) -> list[Any]:
        """Those of the names that are to be read; ValueError where an option names a column that is not there."""
        for option, wanted in (("columns", self.columns or ()), ("drop", self.drop)):
            absent = [name for name in wanted if name not in names]
            if absent:
                raise ValueError(f"{called} has no column {absent[0]!r}, which `{option}` names: it has "
                                 f"{', '.join(map(repr, list(names)[:20]))}")
        # a column without a name is what data frames write their row numbers into
        found = [name for name in names if name not in self.drop and name != ""]
        return found if self.columns is None else [name for name in found if name in self.columns]


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    separator, decimal : str
    names : tuple of str
        Of all columns; one may be empty, that of the row numbers of a data frame.
    """

    separator: str
    decimal: str
    names: tuple[Any, ...]


def find_dialect(head: bytes, options: ReadOptions, called: str) -> Dialect:
    r"""The dialect of a text file from its first bytes.

    Raises
    ------
    ValueError
        If the file is empty, not text, has names twice or none, or looks as if it were written otherwise than said.

    Examples
    --------
    >>> find_dialect(b"a;b\n1,5;2\n2,5;3\n", ReadOptions(), "'x.csv'")
    Dialect(separator=';', decimal=',', names=('a', 'b'))
    >>> find_dialect(b"a;b\n1;2\n", ReadOptions(separator=","), "'x.csv'")
    Traceback (most recent call last):
    ValueError: 'x.csv' is read with the separator ',', but its only column 'a;b' holds ';': give that as the separator
    """
    text = _text(head, options.encoding, called)
    separator = options.separator or _likely_separator(text)
    rows = _rows(text, separator)
    first = rows[0]
    others = [one for one in SEPARATORS if one != separator and one in first[0]]
    if len(first) == 1 and others:
        raise ValueError(f"{called} is read with the separator {separator!r}, but its only column {first[0]!r} holds "
                         f"{others[0]!r}: give that as the separator")
    decimal = options.decimal or _likely_decimal(rows[1:] if options.has_header else rows, separator)
    if not options.has_header:
        return Dialect(separator, decimal, tuple(f"x{v}" for v in range(len(first))))
    _check_header(first, called)
    return Dialect(separator, decimal, tuple(first))


def _text(head: bytes, encoding: str, called: str) -> str:
    """The first lines as text, the last one left out where it may be cut."""
    cut = head if len(head) < SNIFFED else head[:head.rfind(b"\n") + 1] or head
    try:
        text = cut.decode(encoding).removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError) as error:
        what = f"text in {encoding.upper()}" if isinstance(error, UnicodeDecodeError) else f"readable: {error}"
        raise ValueError(f"{called} is not {what}, expected a CSV file, or another encoding") from None
    if "\0" in text:
        raise ValueError(f"{called} is not text in {encoding.upper()}, expected a CSV file, or another encoding")
    if not text.strip():
        raise ValueError(f"{called} is empty, expected a header and rows")
    return text


def _rows(text: str, separator: str) -> list[Any]:
    """The cells of the first rows that are not empty."""
    rows = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row)
    return list(itertools.islice(rows, SHOWN_ROWS))


def _likely_separator(text: str) -> str:
    """The separator that cuts most of the first rows into the same number of cells, more than one."""
    best, most = ",", (0, 0)
    for separator in SEPARATORS:
        sizes = [len(row) for row in _rows(text, separator)]
        size, count = collections.Counter(sizes).most_common(1)[0]
        if size > 1 and sizes[0] > 1 and (count, size) > most:
            best, most = separator, (count, size)
    return best


def _likely_decimal(rows: list[list[str]], separator: str) -> str:
    """A comma where some column has numbers with commas only, and no cell is a number with a point."""
    if separator == "," or not rows:
        return "."
    cells = [[cell.strip() for cell in column if cell.strip()] for column in zip(*_rectangle(rows), strict=True)]
    has_point = any(POINT.fullmatch(cell) for column in cells for cell in column)
    is_comma = [bool(column) and any(map(COMMA.fullmatch, column)) and all(map(NUMBER.fullmatch, column))
                for column in cells]
    return "," if any(is_comma) and not has_point else "."


def _rectangle(rows: list[list[str]]) -> list[Any]:
    """The rows that are as long as the first."""
    return [row for row in rows if len(row) == len(rows[0])]


def _check_header(names: list[str], called: str) -> None:
    """Raise if names occur twice or if the header looks like a row."""
    repeated = [name for name, count in collections.Counter(names).items() if count > 1]
    numbers = all(NUMBER.fullmatch(name.strip()) for name in names)
    is_counting = numbers and all(name.strip().isdecimal() for name in names) and \
        all(int(a) < int(b) for a, b in itertools.pairwise(names))
    if numbers and not is_counting:
        raise ValueError(f"{called} has only numbers in its first row ({', '.join(names[:5])}), expected names of "
                         "columns: say that it has no header (--no-header), or give it one")
    if repeated:
        raise ValueError(f"{called} has more than one column named {', '.join(map(repr, repeated))}, expected distinct "
                         "names: rename them")
