"""Cells of a text file as values: of any type in training, of the fitted type in a batch.

Rows of text one after the other, by Python's own parser: of a stream, and of a body from a stranger.

A quote without an end would make one cell of all that follows, up to the next quote: text behind a closing quote is
refused, as mostly that quote was to open a cell, and so is a cell of more than `csv.field_size_limit()` characters.
"""

import contextlib
import csv
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hld.tables.factored import Factored, object_cells
from hld.tables.files.dialect import Dialect, ReadOptions, decimal_mark
from hld.tables.forms import EXACT, arrow_column, numbers_of
from hld.tables.schemas.columns import BINNED, LevelColumn
from hld.tables.schemas.encoding import UNSEEN
from hld.tables.schemas.rare_levels import digest_set, is_rare
from hld.tables.shown_names import listed
from hld.tables.times import TIMES, text_kind, times_of_texts

PLAIN = re.compile(
    r"[!-^`-~]*"
)  # only Python reads 1_000 and digits of other scripts: in training they are text
PLAIN_LINES = re.compile(r"[\n!-^`-~]+")
WHOLE = re.compile(r"[+-]?[0-9]{1,400}")  # longer numbers are infinite as doubles
NUMBERS = ("continuous", "integer")  # kinds
LARGEST = 2**1000  # whole numbers well within the doubles
TRUTH = {
    "True": "1",
    "TRUE": "1",
    "true": "1",
    "False": "0",
    "FALSE": "0",
    "false": "0",
}
WORDS = {**TRUTH, UNSEEN: "inf"}


def typed_frame(
    table: Any,
    dialect: Dialect,
    options: ReadOptions,
    kinds: Mapping[str, str] | None = None,
    called: str = "the file",
) -> Any:
    """An Arrow table of texts as a data frame of types that all cells of a column can be."""
    import pandas

    kinds, codes, columns = kinds or {}, dict[str, Any](), dict[str, Any]()
    for name in table.column_names:
        cells = _without(table[name], options.missing_texts)
        pair = None if kinds.get(name) in NUMBERS else _equal_pair(cells)
        if pair is not None:
            codes[name] = pair
            columns[name] = pandas.array(cells.to_numpy(), dtype="string")
            continue
        columns[name] = _typed(cells, dialect.decimal)
    untold = [name for name in codes if kinds.get(name) != "categorical"]
    if untold:
        one, other = codes[untold[0]]
        warnings.warn(
            f"{called} has columns of whole numbers of which some have zeros in front, as {other!r} beside "
            f"{one!r}: {listed(untold)}; each is learned as text, as codes are: name them in `continuous` if "
            "they are numbers, or in `categorical`",
            UserWarning,
            stacklevel=3,
        )
    return pandas.DataFrame(columns)


def _equal_pair(cells: Any) -> tuple[str, str] | None:
    """Two cells of an Arrow column of digits that are one number, the shorter one first; None for anything else.

    As numbers 01 and 1 would be one level, and a batch in which the one takes the place of the other would look as
    ever.  Codes that all have zeros in front, such as postal codes of one length, stay the numbers that they can be.
    """
    if not _match("all", cells, "^[0-9]+$") or not _match("any", cells, "^0[0-9]"):
        return None
    texts: dict[str, str] = {}
    for cell in cells.unique().drop_null().to_pylist():
        other = texts.setdefault(cell.lstrip("0"), cell)
        if other != cell:
            return min(cell, other, key=len), max(cell, other, key=len)
    return None


def _match(which: str, cells: Any, pattern: str) -> bool:
    """Whether all, or any, of the cells of an Arrow column that are there match."""
    import pyarrow.compute

    found = pyarrow.compute.match_substring_regex(cells, pattern)
    return bool(getattr(pyarrow.compute, which)(found, min_count=0).as_py())


def _without(cells: Any, texts: Collection[str]) -> Any:
    """An Arrow column of texts in which some are missing."""
    import pyarrow.compute

    held = [text.encode() for text in texts]  # as memory: Arrow imports pandas to look at objects
    ends = np.cumsum([0, *map(len, held)], dtype=np.int32)
    buffers = map(pyarrow.py_buffer, (ends, b"".join(held)))
    missing = pyarrow.StringArray.from_buffers(len(held), *buffers)
    nothing = pyarrow.nulls(1, pyarrow.string())[0]
    return pyarrow.compute.if_else(pyarrow.compute.is_in(cells, missing), nothing, cells)


def _typed(cells: Any, decimal: str) -> Any:
    """An Arrow column of texts (N,) as whole numbers, doubles, truth values, times or text, exact in each."""
    import pandas

    if _match("all", cells, "^-?[0-9]{1,18}$"):
        return pandas.array(cells.cast("int64").to_pandas(integer_object_nulls=True), dtype="Int64")
    numbers = plain_doubles(cells, decimal)
    if numbers is not None:
        found = numbers.to_numpy()
        if not (np.abs(found) >= EXACT).any():
            return pandas.array(np.where(np.isnan(found), None, found), dtype="Float64")
    coded = cells.dictionary_encode().combine_chunks()
    levels = coded.dictionary.to_pylist()
    values = _of_type(levels, decimal)
    codes = np.asarray(coded.indices.fill_null(-1))
    found = np.append(object_cells(values), None)[codes]  # type: ignore[call-overload]
    kinds = {type(value) for value in values}
    dtype = (
        {bool: "boolean", str: "string", float: "Float64"}.get(*kinds) if len(kinds) == 1 else None
    )
    return found if dtype is None else pandas.array(found, dtype=dtype)


def plain_doubles(cells: Any, decimal: str) -> Any:
    """An Arrow column of texts as doubles, None where some cell is not plainly a number."""
    import pyarrow
    import pyarrow.compute

    cells = pyarrow.compute.utf8_trim_whitespace(cells)
    mark = re.escape(decimal)
    if not _match("all", cells, rf"^-?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?$"):
        return None
    with contextlib.suppress(pyarrow.ArrowInvalid):
        return pyarrow.compute.replace_substring(cells, decimal, ".").cast(pyarrow.float64())
    return None


def _of_type(cells: list[str], decimal: str) -> list[Any]:
    """Distinct texts as values of the type that all of them can be, as they are where there is none.

    Whole numbers beyond 64 bits stay texts, and those that doubles would round beside fractions stay whole.
    """
    if all(cell in TRUTH for cell in cells):
        return [TRUTH[cell] == "1" for cell in cells]
    numbers: list[Any] = [cell if cell in WORDS else _number(cell, decimal, True) for cell in cells]
    has_points = decimal != "." and any("." in cell for cell in cells)
    if not has_points and all(isinstance(one, (int, float)) and one == one for one in numbers):
        if all(isinstance(one, int) for one in numbers):
            are_short = all(
                -(2**63) <= one < 2**63 or (one < 2**64 and str(one) == cell)
                for one, cell in zip(numbers, cells, strict=True)
            )
            return numbers if are_short else cells
        is_exact = all(
            isinstance(one, float) or abs(one) <= EXACT or abs(one) >= LARGEST or one == float(one)
            for one in numbers
        )
        return [float(one) for one in numbers] if is_exact else numbers
    kind = text_kind(cells)
    if kind is not None:
        found = times_of_texts(cells, kind).tolist()
        if not any(isinstance(cell, str) for cell in found):  # a 30th of February
            return found
    return cells


def as_fitted(
    column: Any,
    fitted: Any,
    decimal: str,
    missing: Collection[str] = (),
    stated: Collection[str] = (),
) -> Any:
    """A column of text cells (N,), or of numbers or dates that were parsed already, as what its column was fitted to.

    Returns (N,).
    """
    if not hasattr(column, "to_pylist"):
        codes, levels = column.factorize()
        cells: Any = Factored(codes, np.asarray(levels, dtype=object))
    elif (parsed := _parsed(column, fitted, decimal, missing)) is not None:
        return parsed
    else:
        cells = arrow_column(column)
    if missing or stated:
        cells = _with_holes(cells, fitted, frozenset(missing), frozenset(stated))
    if fitted is None:
        return cells
    if fitted.kind in TIMES:
        return Factored(cells.codes, times_of_texts(cells.levels, fitted.kind)).cells()
    found = Factored(cells.codes, _levels(cells.levels, fitted, decimal))
    return found.cells() if fitted.kind in BINNED else found


def _parsed(column: Any, fitted: Any, decimal: str, missing: Collection[str]) -> Any:
    """An Arrow column of texts as doubles (N,) or dates where Arrow reads all its cells so; None where it does not."""
    import pyarrow
    import pyarrow.compute

    if getattr(fitted, "kind", "") not in ("continuous", "date"):
        return None
    cells = _without(column, missing)
    if fitted.kind == "continuous":
        found = plain_doubles(cells, decimal)
        return None if found is None else numbers_of(found)
    with contextlib.suppress(pyarrow.ArrowInvalid):
        return arrow_column(cells.cast(pyarrow.timestamp("us")))
    return None


def mark_of_batch(columns: Iterable[tuple[str, Any]], fitted: dict[str, Any]) -> str | None:
    """The decimal mark that the columns of numbers in a chunk of a batch show; None where they show none."""
    import pyarrow.compute

    found = [cells.cast("string") for name, cells in columns if is_of_numbers(fitted.get(name))]
    marked = (one.filter(pyarrow.compute.match_substring_regex(one, "[.,]")) for one in found)
    return decimal_mark((one.unique().to_pylist() for one in marked), are_numbers=True)


def is_of_numbers(fitted: Any) -> bool:
    """Whether a fitted column is made of numbers, neither times nor 0 and 1 for False and True, or of holes alone."""
    if fitted is None or fitted.kind in TIMES or fitted.kind == "boolean":
        return False
    if fitted.kind in BINNED:
        return True
    return not any(isinstance(one, str) for one in fitted.levels) and (
        bool(fitted.levels) or not fitted.rare
    )


def _with_holes(
    cells: Factored, fitted: Any, missing: frozenset[str], stated: frozenset[str]
) -> Factored:
    """Text cells of which some texts are missing: those of `stated`, and of `missing` unless they are levels."""
    texts = cells.levels.tolist()
    holes = np.array([cell in missing or cell in stated for cell in texts], dtype=bool)
    if not holes.any():
        return cells
    if fitted is not None and fitted.kind not in BINNED:  # rare ones are levels, too
        rare = digest_set(fitted.rare)
        for i in np.flatnonzero(holes).tolist():
            holes[i] = texts[i] in stated or not (
                texts[i] in fitted.levels or is_rare(texts[i], rare)
            )
    codes = np.append(np.where(holes, -1, np.arange(len(texts))), -1).astype(cells.codes.dtype)
    return Factored(codes[cells.codes], cells.levels)


def _levels(cells: np.ndarray, fitted: LevelColumn, decimal: str) -> np.ndarray:
    """Distinct text cells (n,) as objects of the fitted type where they can be that, else as they are."""
    levels = () if fitted.kind in BINNED else fitted.levels
    result = np.empty(len(cells), dtype=object)
    lines = "\n".join(cells) if fitted.kind in BINNED else ""
    if PLAIN_LINES.fullmatch(lines) and lines.count("\n") == len(cells) - 1:
        with contextlib.suppress(ValueError):  # mostly all are numbers
            plain = lines.replace(decimal, ".").split("\n")
            result[:] = [float(cell) if cell else cell for cell in plain]
            return result
    if fitted.kind not in BINNED and (
        not levels or any(isinstance(level, str) for level in levels)
    ):
        numbers = {str(level): level for level in levels if not isinstance(level, str)}
        result[:] = [numbers.get(cell, cell) for cell in cells]
        return result
    is_level = fitted.kind not in BINNED
    result[:] = [_number(cell, decimal, is_level) for cell in cells]
    if (
        fitted.kind == "boolean"
    ):  # 0 and 1 are equal to them, and would be shown as other values than a frame's
        result[:] = [bool(cell) if cell in (0, 1) else cell for cell in result]
    return result


def _number(cell: str, decimal: str, is_level: bool) -> Any:
    """The number that a text stands for, the text if it stands for none."""
    text = WORDS.get(cell, cell).strip() if is_level else cell.strip()
    if WHOLE.fullmatch(text):
        return int(text) if is_level else float(text)
    try:
        return float(text.replace(decimal, ".")) if PLAIN.fullmatch(text) else cell
    except ValueError:
        return cell


def text_rows(
    lines: Iterable[str], dialect: Dialect, called: str, *, has_header: bool = True
) -> Iterator[list[str]]:
    """The rows of a text, empty ones aside."""
    width, number = len(dialect.names), 0
    style: dict[str, Any] = {"delimiter": dialect.separator, "skipinitialspace": dialect.has_blanks}
    reader = csv.reader(lines, strict=True, **style)
    try:
        for row in reader:
            cells = row or [""] * (width == 1 and number > 0)  # an empty line, or a missing cell
            if len(cells) not in (0, width):
                raise ValueError(
                    f"{called} is not a table separated by {dialect.separator!r}: the row that ends in line "
                    f"{reader.line_num} has {len(cells)} cells, expected {width} as in the first"
                )
            if cells and (number or not has_header):
                yield cells
            number += bool(cells)
    except csv.Error as error:
        raise ValueError(
            f"{called} is not a table in CSV: line {reader.line_num}: {error}: check its quotes"
        ) from None


def mark_of_rows(rows: Sequence[list[str]], dialect: Dialect, fitted: dict[str, Any]) -> str | None:
    """The decimal mark in the columns of numbers of some rows; None where they show none, or commas separate cells."""
    numbers = [v for v, name in enumerate(dialect.names) if is_of_numbers(fitted.get(name))]
    cells = ([row[v] for row in rows] for v in numbers)
    return None if dialect.separator == "," else decimal_mark(cells, are_numbers=True)


class Texts:
    """Text cells (n,) that are numbered as those of a data frame are."""

    def __init__(self, cells: Sequence[str]) -> None:
        self.cells = cells

    def factorize(self) -> tuple[np.ndarray, list[str]]:
        """Numbers of the cells (n,), and the distinct cells."""
        known: dict[str, int] = {}
        codes = [known.setdefault(cell, len(known)) for cell in self.cells]
        return np.array(codes, dtype=np.int32), list(known)
