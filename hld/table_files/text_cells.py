"""Cells of a text file as values: of any type in training, of the fitted type in a batch."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.schemas.columns import BINNED
from hld.schemas.rare_levels import digest_set, is_rare
from hld.table_files.dialect import Dialect, ReadOptions
from hld.tables.factored import Factored, object_cells
from hld.tables.forms import EXACT, arrow_column
from hld.tables.time_texts import text_kind, times_of_texts
from hld.tables.times import TIMES

if TYPE_CHECKING:
    from hld.schemas.columns import LevelColumn

UNSEEN = (
    "<unseen>"  # how `TableEncoder.decode` writes the category of levels that training did not have
)
PLAIN = re.compile(
    r"[!-^`-~]*"
)  # only Python reads 1_000 and digits of other scripts: in training they are text
WHOLE = re.compile(r"[+-]?[0-9]{1,400}")  # longer numbers are infinite as doubles
LONG = re.compile("-?[0-9]*")
LARGEST = 2**1000  # whole numbers well within the doubles
WORDS = {
    "True": "1",
    "TRUE": "1",
    "true": "1",
    "False": "0",
    "FALSE": "0",
    "false": "0",
    UNSEEN: "inf",
}


def typed_frame(
    text: Any, dialect: Dialect, options: ReadOptions, codes: Collection[str] = ()
) -> Any:
    """Text cells, an Arrow table or a pandas frame, as a pandas frame of types that all cells of a column can be."""
    pandas = pandas_for_csv()
    buffer = io.BytesIO()
    if hasattr(text, "to_csv"):
        text.to_csv(buffer, index=False)
    else:
        import pyarrow.csv

        pyarrow.csv.write_csv(text, buffer)
    del text
    buffer.seek(0)
    # in pieces, one column could get two types; plain types would round whole numbers beside a missing cell
    exact = (
        {} if int(pandas.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}
    )  # its default
    how = {
        "low_memory": False,
        "dtype_backend": "numpy_nullable",
        "decimal": dialect.decimal,
        "na_values": options.missing_texts,
        "index_col": False,
        **exact,
    }
    frame = pandas.read_csv(buffer, dtype=dict.fromkeys(codes, "string"), **how)
    long = [name for name in frame.columns if name not in codes and _are_long(frame[name])]
    if long:  # whose texts are those of the numbers, without zeros in front
        buffer.seek(0)
        frame[long] = pandas.read_csv(buffer, usecols=long, dtype="string", **how)[long]
    wide = [name for name in frame.columns if name not in codes and _are_wide(frame[name])]
    if wide:  # whole numbers that doubles round, beside others
        buffer.seek(0)
        texts = pandas.read_csv(buffer, usecols=wide, dtype="string", **how)
        frame = frame.assign(
            **{name: _exact(texts[name], frame[name], dialect.decimal) for name in wide}
        )
    for name in frame.columns.difference(codes, sort=False):
        if (
            frame[name].dtype == "string"
        ):  # empty cells among numbers beyond int64, which become text
            frame[name] = _times_or_text(frame[name].mask(frame[name] == ""))
    return frame


def _are_long(column: Any) -> bool:
    """Whether the texts of a pandas column are those of whole numbers, some of which are beyond 64 bits."""
    if column.dtype != "string":
        return False
    cells = column.dropna()
    return bool(
        len(cells) and LONG.fullmatch(cells.iloc[0]) and cells.str.fullmatch(LONG.pattern).all()
    )


def _are_wide(column: Any) -> bool:
    """Whether a pandas column was read as doubles some of which are beyond 2^53."""
    return bool(column.dtype == "Float64" and (column.abs() >= EXACT).any())


def _exact(texts: Any, column: Any, decimal: str) -> Any:
    """A column of doubles, or if these round a whole number, objects as the texts of a batch become (`as_fitted`)."""
    codes, levels = texts.factorize()
    cells = [_number(text, decimal, True) for text in levels.tolist()]
    if not any(
        isinstance(cell, int) and EXACT < abs(cell) < LARGEST and cell != float(cell)
        for cell in cells
    ):
        return column
    codes = np.where(column.isna(), -1, codes)  # -999.00 for -999, too
    return type(column)(np.append(object_cells(cells), None)[codes], index=column.index)  # type: ignore[call-overload]


def pandas_for_csv() -> Any:
    """The module pandas; ImportError says how to install it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "reading CSV files needs pandas, which is not installed: pip install 'hld[cli]'"
        ) from None
    return pandas


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
    if hasattr(column, "to_pylist"):
        cells = arrow_column(column, "" if fitted is None else fitted.name)
    else:
        codes, levels = column.factorize()
        cells = Factored(codes, np.asarray(levels, dtype=object))
    numbers = _numbers(stated) if stated and _is_of_numbers(fitted) else []
    if isinstance(cells, Factored) and (missing or stated):
        alike = [
            cell for cell in cells.levels.tolist() if numbers and _is_one_of(cell, numbers, decimal)
        ]
        cells = _with_holes(cells, fitted, frozenset(missing), frozenset([*stated, *alike]))
    elif numbers and cells.dtype.kind == "f":
        cells = np.where(np.isin(cells, numbers), np.nan, cells)
    if fitted is None or not isinstance(cells, Factored):
        return cells
    if fitted.kind in TIMES:
        return Factored(cells.codes, times_of_texts(cells.levels, fitted.kind)).cells()
    levels = _levels(cells.levels, fitted, decimal)
    return (
        Factored(cells.codes, levels)
        if fitted.kind not in BINNED
        else Factored(cells.codes, levels).cells()
    )


def _is_of_numbers(fitted: Any) -> bool:
    """Whether a fitted column is made of numbers, neither times nor 0 and 1 for False and True, or of holes alone."""
    if fitted is None or fitted.kind in TIMES or fitted.kind == "boolean":
        return False
    if fitted.kind in BINNED:
        return True
    return not any(isinstance(one, str) for one in fitted.levels) and (
        bool(fitted.levels) or not fitted.rare
    )


def _numbers(texts: Collection[str]) -> list[float]:
    """The numbers among texts that are missing, as pandas finds them."""
    found = []
    for text in texts:
        with contextlib.suppress(ValueError):
            found.append(float(text))
    return found


def _is_one_of(cell: str, numbers: list[float], decimal: str) -> bool:
    """Whether a text cell stands for one of some numbers."""
    return cell not in WORDS and _number(cell, decimal, False) in numbers


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


def _number(cell: str, decimal: Any, is_level: bool) -> Any:
    """The number that a text stands for, the text if it stands for none."""
    text = WORDS.get(cell, cell).strip() if is_level else cell.strip()
    if WHOLE.fullmatch(text):
        return int(text) if is_level else float(text)
    try:
        return (
            float(text.replace(decimal, ".") if decimal != "." else text)
            if PLAIN.fullmatch(text)
            else cell
        )
    except ValueError:
        return cell


def _times_or_text(cells: Any) -> Any:
    """A pandas column as times if every distinct cell is one and there are several, else as it is."""
    codes, levels = cells.factorize()
    levels = levels.tolist()
    kind = text_kind(levels)
    if kind is None:
        return cells
    found = times_of_texts(levels, kind)
    if any(isinstance(cell, str) for cell in found):  # a 30th of February
        return cells
    import pandas

    return pandas.Series(np.append(found, None)[codes], index=cells.index)  # type: ignore[call-overload]
