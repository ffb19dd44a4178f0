"""How a text file is written: its separator, its header, its decimal mark; detected, or stated by the user.

A file whose only column holds another separator is not a table of one column, and a file whose first row is taken for
its header has lost a row: a model learned from such a misreading would let everything pass.  So the separator is looked
for in the first lines, and what looks wrong is refused with the option that settles the question.

The decimal mark of a file whose cells are not separated by commas is found from the cells in its first four megabytes:
of a table to learn from by the columns all of whose cells are numbers, of a batch by those that are numbers in the
model.
"""

import codecs
import collections
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hld.tables.cells import is_row_index
from hld.tables.shown_names import listed
from hld.tables.times import TIMES

SEPARATORS = (",", ";", "\t", "|")
SNIFFED = 2**22  # bytes, in which the first row must end, as in the blocks that are read
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
OTHER = "or another encoding (--encoding latin-1 or utf-16-le, for example)"
# first bytes of files that are no text
MAGIC = {
    rb"PAR1": "a Parquet file: read it as such (--format parquet)",
    rb"ARROW1": "an Arrow file: write it as Parquet",
    rb"PK\x03\x04": "a spreadsheet, a model file or a ZIP archive not named .zip, expected a CSV file",
    # how a list of objects, or an object, begins
    rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*\"": "JSON: read it as such (--format json, or "
    "jsonl with one object on each line)",
}
SEP_LINE = re.compile(
    r"\"?sep=.\"?[\r\n]", re.IGNORECASE
)  # which tells a spreadsheet the separator
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
# of numbers with digits behind them
MARKS = {mark: re.compile(rf"[+-]?\d*[{mark}]\d+([eE][+-]?\d+)?", re.ASCII) for mark in (".", ",")}
SHOWN_ROWS = 50  # by which the separator and the header are judged
# what is missing in a text file, beside empty cells
NA_VALUES = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; None means: find out."""

    separator: str | None = None
    has_header: bool = True
    decimal: str | None = None
    encoding: str = "utf-8"
    na_values: tuple[Any, ...] = ()
    columns: tuple[Any, ...] | None = None
    drop: tuple[Any, ...] = ()
    form: str | None = None

    @property
    def missing_texts(self) -> list[Any]:
        """All cells that are missing; a number of `na_values` also as data frames write it, -999 as -999.0."""
        return [*NA_VALUES, *(form for text in self.na_values for form in _written(text))]

    def chosen(self, names: tuple[str, ...], called: str) -> list[Any]:
        """Those of the names that are to be read; ValueError where an option names a column that is not there."""
        for option, wanted in (("columns", self.columns or ()), ("drop", self.drop)):
            absent = [name for name in wanted if name not in names]
            if absent:
                raise ValueError(
                    f"{called} has no column {absent[0]!r}, which `{option}` names: it has "
                    f"{listed(names)}"
                )
        found = self.kept(names)
        if not found:
            raise ValueError(
                f"{called} has no columns but those that `drop` names or that have no name, expected at "
                "least one to read"
            )
        return found

    def kept(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are to be read, whether or not the others are there."""
        # a column without a name is what data frames write their row numbers into
        found = [
            name
            for name in names
            if name not in self.drop and name != "" and not is_row_index(name)
        ]
        return found if self.columns is None else [name for name in found if name in self.columns]


def _written(text: str) -> list[str]:
    """A text and, if it is a number, the forms of that."""
    with contextlib.suppress(ValueError):
        number = float(text)
        return (
            [text, f"{number:.0f}", repr(number)] if number.is_integer() else [text, repr(number)]
        )
    return [text]


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    separator: str
    decimal: str
    names: tuple[Any, ...]
    encoding: str = "utf-8"
    has_blanks: bool = False
    has_rows: bool = field(default=True, repr=False, compare=False)


def find_dialect(
    head: bytes,
    options: ReadOptions,
    called: str,
    fitted: Callable[[tuple[str, ...]], dict[str, Any]] | None = None,
) -> Dialect:
    """The dialect of a text file from its first bytes; `fitted` says what columns of such names are in a model."""
    encoding = encoding_of(head, options.encoding)
    text = _text(head, encoding, called)
    separator = options.separator or _likely_separator(text)
    is_settled = options.decimal is not None or separator == ","
    rows = _rows(text, separator, SHOWN_ROWS if is_settled else None)
    if not rows:
        raise ValueError(
            f"{called} has a cell of more than {csv.field_size_limit()} characters in its first row, "
            f"expected names of columns separated by {separator!r}, or another separator (--sep)"
        )
    first, shown = rows[0], rows[1:SHOWN_ROWS]
    others = [one for one in SEPARATORS if one != separator and one in first[0]]
    if len(first) == 1 and others:
        raise ValueError(
            f"{called} is read with the separator {separator!r}, but its only column {first[0]!r} holds "
            f"{others[0]!r}: give that as the separator"
        )
    has_blanks = len(first) > 1 and all(cell.startswith(" ") for cell in first[1:])
    if options.has_header:
        _check_header(first, shown, called)
        names = tuple(map(str.strip, first) if has_blanks else first)
    else:
        names = tuple(f"x{v}" for v in range(len(first)))
    decimal = options.decimal or "."
    if not is_settled:
        known = None if fitted is None else fitted(names)
        decimal = mark_of_rows(rows[options.has_header :], names, known, options) or "."
    has_rows = len(rows) > options.has_header or len(head) >= SNIFFED
    return Dialect(separator, decimal, names, encoding, has_blanks, has_rows)


def mark_of_rows(
    rows: Iterable[list[str]],
    names: tuple[str, ...],
    fitted: dict[str, Any] | None,
    options: ReadOptions,
) -> str | None:
    """A point where a cell in a column of numbers has one, else a comma where one has it, else None.

    Such are the columns that are `fitted` as numbers, or, where nothing is known, those all of whose cells are numbers.
    """
    holes, marks = {*options.missing_texts}, set[str]()
    full = [row for row in rows if len(row) == len(names)]
    for name, column in zip(names, zip(*full, strict=True), strict=False):
        cells = {cell.strip() for cell in {*column} - holes}
        are_numbers = (
            all(map(NUMBER.fullmatch, cells))
            if fitted is None
            else _is_of_numbers(fitted.get(name))
        )
        if are_numbers:
            marks |= {mark for mark, one in MARKS.items() if any(map(one.fullmatch, cells))}
    return next((mark for mark in MARKS if mark in marks), None)


def _is_of_numbers(fitted: Any) -> bool:
    """Whether a fitted column is made of numbers, neither times nor flags, nor of holes alone."""
    if fitted is None or fitted.kind in (*TIMES, "boolean"):
        return False
    levels = getattr(fitted, "levels", (0,))
    return bool(levels) and not any(isinstance(one, str) for one in levels)


def encoding_of(head: bytes, encoding: str) -> str:
    r"""The encoding of a file: UTF-16 where its first bytes say so, else as given."""
    return (
        "utf-16"
        if head.startswith(UTF_16) and not head.startswith(codecs.BOM_UTF32_LE)
        else encoding
    )


def _text(head: bytes, encoding: str, called: str) -> str:
    """The first lines as text, the last one left out where it may be cut."""
    for mark, form in MAGIC.items():
        if re.match(mark, head):
            raise ValueError(f"{called} is {form}")
    is_whole = len(head) < SNIFFED
    try:
        "a".encode(encoding)  # LookupError for codecs that are none of text, such as rot13
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=is_whole)
    except (UnicodeDecodeError, LookupError) as error:
        raise not_text(called, encoding, error) from None
    text = text.removeprefix("\ufeff")
    text = text if is_whole else text[: text.rfind("\n") + 1] or text
    if "\0" in text:
        raise ValueError(f"{called} holds NUL characters, expected a CSV file, {OTHER}")
    if SEP_LINE.match(text):
        raise ValueError(
            f"{called} begins with a line for spreadsheets ({text.splitlines()[0]!r}), expected names of "
            "columns: remove that line"
        )
    if not text.strip():
        raise ValueError(f"{called} is empty, expected a header and rows")
    return text


def not_text(called: str, encoding: str, error: Exception | None = None) -> ValueError:
    """The error for a file that is not text in an encoding."""
    what = f"readable: {error}" if isinstance(error, LookupError) else f"text in {encoding.upper()}"
    return ValueError(f"{called} is not {what}, expected a CSV file, {OTHER}")


def _rows(text: str, separator: str, most: int | None) -> list[list[str]]:
    """The cells of the first rows that are not empty."""
    found: list[list[str]] = []
    # a cell beyond what is read here: the rows before it say enough
    with contextlib.suppress(csv.Error):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        found.extend(itertools.islice(filter(None, reader), most))
    return found


def _likely_separator(text: str) -> str:
    """The separator that cuts most of the first rows into the same number of cells, more than one."""
    best, most = ",", (0, 0)
    for separator in SEPARATORS:
        sizes = [len(row) for row in _rows(text, separator, SHOWN_ROWS)]
        size, count = collections.Counter(sizes).most_common(1)[0] if sizes else (0, 0)
        if size > 1 and sizes[0] > 1 and (count, size) > most:
            best, most = separator, (count, size)
    return best


def _check_header(names: list[str], rows: list[list[str]], called: str) -> None:
    """Raise if names occur twice or if the header looks like a row.

    A name looks like a cell if it stands in the column beneath it, too, or is a number; but names that count, such as
    years, are names.
    """
    numbers = [name.strip() for name in names if NUMBER.fullmatch(name.strip())]
    if all(map(str.isdecimal, numbers)) and numbers == sorted({*numbers}, key=int):
        numbers = []  # they count
    full = [row for row in rows if len(row) == len(names)]
    like_cells = [
        name
        for v, name in enumerate(names)
        if name and (name.strip() in numbers or name in {row[v] for row in full})
    ]
    if 2 * len(like_cells) > len(names):
        raise ValueError(
            f"{called} has a first row that looks like the others ({listed(names, 5, is_quoted=False)}), "
            "expected names of columns: say that it has no header (--no-header), or give it one"
        )
    if repeated := [name for name, count in collections.Counter(names).items() if count > 1]:
        raise ValueError(
            f"{called} has more than one column named {listed(repeated)}, expected distinct "
            "names: rename them"
        )
