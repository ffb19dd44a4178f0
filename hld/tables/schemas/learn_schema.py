"""Learning a schema from rows, and from what is already known of it.

No distribution can be learned from a column that only identifies rows: fresh rows bring new values.  It is left out,
unless its kind is given, and recognised by

* text or other levels of which at least nine in ten occur in one row only, where they are too many to be kept as
  levels; most of them may read as numbers, and were hardly meant to be left out (the note then begins with AS_TEXT)
* whole numbers that are all different and without a gap, or in ascending or descending order of the rows
* no value at all (EMPTY)

Nor is a column that orders the rows, as a time stamp does (`schemas.row_order`): later batches lie beyond it.
"""

import math
import reprlib
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from hld.tables.calendar import PARTS, with_parts
from hld.tables.cells import (
    as_numbers,
    distinct_values,
    is_blank,
    level_order,
    objects_of,
    read_table,
    reads_as_number,
)
from hld.tables.column_names import column_names, column_roles
from hld.tables.factored import Factored, whole_cells
from hld.tables.schemas.columns import BINNED, LevelColumn, check_rows, fit_column, narrowed_column
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.rare_levels import digest_set, is_rare
from hld.tables.schemas.row_order import order_notes
from hld.tables.schemas.schema import KINDS, LEFT_OUT, ColumnSchema, TableSchema
from hld.tables.shown_names import listed
from hld.tables.times import TIMES, as_seconds, is_missing
from pcircuit.arguments import check_flag, check_whole_number

OF_LEVELS = tuple(kind for kind in KINDS if kind not in (*BINNED, LEFT_OUT))


def learn_schema(
    table: Any,
    *,
    num_bins: int = 8,
    max_categories: int = 64,
    categorical: Any = None,
    continuous: Any = None,
    names: Any = None,
    rows: np.ndarray | None = None,
    given: TableSchema | None = None,
) -> TableSchema:
    """Learn what the columns of a table are.

    Parameters
    ----------
    table : (N, V) array of any dtype, list of rows, or data frame
        Training rows, N >= 1, V >= 1.  See `fit_encoder` for the forms.
    num_bins, max_categories : int
        Largest number of bins of a binned column, and of levels of a column of levels, at least 2.
    categorical, continuous : sequence of str or int, optional
        Columns whose kind is given, by name or position.  A column named here is never left out.
    names : sequence of V str, optional
        Names for the columns of an array.
    rows : (n,) int array, optional
        Positions of the rows that levels and edges are taken from; by default all.
    given : TableSchema, optional
        What is known already: its columns are taken over, what they leave open is learned.  Columns of the table that
        it does not have are learned.

    Returns
    -------
    TableSchema

    Raises
    ------
    TypeError, ValueError
        As `fit_encoder`; if `given` is not a schema or has a column that the table lacks; if no column is left.

    Examples
    --------
    >>> table = [[f"name {i}", i % 3] for i in range(200)]
    >>> given = TableSchema([ColumnSchema("kind", "categorical", levels=("0", 1, 2), policy="missing")])
    >>> print(learn_schema(table, names=["name", "kind"], given=given))
    column  kind         categories  missing  unseen   values
    name    left out                                   nearly unique: 200 of 200 values occur in one row only
    kind    categorical  4           0        missing  1, 2, '0'
    """
    sizes = {"num_bins": num_bins, "max_categories": max_categories}
    return _schema_of(table, sizes, categorical, continuous, names, rows, given, keep_all=False)


def fit_encoder(
    table: Any,
    *,
    num_bins: int = 8,
    max_categories: int = 64,
    categorical: Any = None,
    continuous: Any = None,
    names: Any = None,
    rows: Any = None,
) -> TableEncoder:
    r"""Learn how the columns of a table become categories.

    A column of numbers with N sorted values x is cut at :math:`x_{(\lfloor kN/B \rfloor + 1)}`, k = 1..B - 1,
    into at most B bins; levels are counted. O(N log N) a column. See the module for the kinds.

    Parameters
    ----------
    table : (N, V) array of any dtype, list of rows, or data frame
        Training rows, N >= 1, V >= 1. A frame is anything with ``columns`` and ``iloc`` or ``get_column``;
        its names are kept as text, and later frames are matched by name. Not modified.
    num_bins : int
        Largest number of intervals B of a continuous column, at least 2.
    max_categories : int
        Largest number of levels that a column keeps, at least 2: a column of whole numbers with more is continuous, a
        categorical column with more has one category for the rare ones.
    categorical, continuous : sequence of str or int, optional
        Columns whose kind is given instead of chosen, by name (str) or position (int).
    names : sequence of V str, optional
        Names for the columns of an array (default x0, x1, ...). Frames are then matched to them by name.
    rows : (n,) int array, optional
        Positions of the rows that levels and edges are taken from; by default all. The kind of a column is determined
        from all rows.

    Returns
    -------
    TableEncoder

    Raises
    ------
    ValueError
        No rows, no columns, not two-dimensional, repeated names, unknown columns in `categorical` or `continuous`, a
        column in both, a continuous column without a finite number, `num_bins` or `max_categories` below 2.
    TypeError
        Text in a column of `continuous`, values that cannot be levels, options of the wrong type.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, on data
    sets (in the appendix): it leaves the rule open.

    Examples
    --------
    >>> encoder = fit_encoder([["red", 1.5], ["blue", 2.5], ["red", None]], names=["colour", "size"])
    >>> encoder.num_categories
    (3, 2)
    >>> codes, report = encoder.encode([["green", 9.0], ["red", None]])
    >>> codes.tolist(), report.num_unseen.tolist(), report.num_out_of_range.tolist()
    ([[2, 1], [1, -1]], [1, 0], [0, 1])
    """
    sizes = {"num_bins": num_bins, "max_categories": max_categories}
    found = _schema_of(table, sizes, categorical, continuous, names, rows, None, keep_all=True)
    return found.encoder()


def _schema_of(
    table: Any,
    sizes: dict[str, int],
    categorical: Any,
    continuous: Any,
    names: Any,
    rows: Any,
    given: TableSchema | None,
    *,
    keep_all: bool,
) -> TableSchema:
    """The schema of a table; with `keep_all` no column is left out by what it holds."""
    sizes = {name: check_whole_number(size, name, 2, 2**31 - 2) for name, size in sizes.items()}
    if given is not None and not isinstance(given, TableSchema):
        raise TypeError(f"`given` must be a TableSchema, found {type(given).__name__}")
    parts = read_table(table)
    if not parts.arrays:
        raise ValueError(
            f"`table` has 0 feature(s) (shape=({parts.num_rows}, 0)) while a minimum of 1 is required: "
            "there is nothing to learn"
        )
    if parts.num_rows == 0:
        raise ValueError("`table` has 0 rows, expected at least one: there is nothing to learn")
    by_name, rows = parts.names is not None or names is not None, check_rows(rows, parts.num_rows)
    names = column_names(names, parts.names, len(parts.arrays))
    parts = with_parts(parts, () if given is None else given.derived, names, by_name)
    names = parts.names if given is not None and given.derived else names
    known = _known(given, names)
    derived = {one.name: one for one in (() if given is None else given.derived)}
    roles = column_roles(names, categorical, continuous)
    _check_roles(roles, known)
    columns = []
    for name, values, declared in zip(names, parts.arrays, parts.declared, strict=True):
        role = roles.get(name, "categorical" if declared else None)
        is_asked_for = keep_all or name in roles
        columns.append(_learned(name, values, role, known.get(name), rows, sizes, is_asked_for))
        if name in derived:
            source, part = derived[name].source, derived[name].part
            if count_missing(values) == len(values):
                raise ValueError(
                    f"`table` column {source!r} holds no date, expected some to derive {name!r} from: "
                    "convert the column first"
                )
            columns[-1] = replace(columns[-1], source=source, part=part)
    if not keep_all:
        chosen = {*roles, *known, *(one.source for one in derived.values())}
        columns = _without_clocks(columns, parts.arrays, chosen)
    if by_name and given is not None:  # left out of the table already; a batch may have them
        columns += [
            replace(one, optional=True)
            for one in given.columns
            if one.kind == LEFT_OUT and one.name not in names
        ]
    if all(column.kind == LEFT_OUT for column in columns):
        raise _nothing_left(columns, known)
    return TableSchema(tuple(columns), parts.num_rows, by_name)


def _without_clocks(
    columns: list[ColumnSchema], arrays: list[Any], chosen: set[str]
) -> list[ColumnSchema]:
    """The columns, those left out that order the rows and are not among the chosen ones."""
    looked_at = {
        one.name: (one, cells)
        for one, cells in zip(columns, arrays, strict=True)
        if one.source is None and one.note != EMPTY
    }
    notes = order_notes(looked_at)
    return [
        ColumnSchema(one.name, LEFT_OUT, note=ORDERING + notes[one.name])
        if one.kind != LEFT_OUT and one.name in notes and one.name not in chosen
        else one
        for one in columns
    ]


def calendar_columns(
    source: str, parts: Any = ("weekday", "hour"), *, keep: bool = False
) -> tuple[Any, ...]:
    """Columns for the parts of dates, for a schema: weekday, hour, month.

    Parameters
    ----------
    source : str
        The column of dates.
    parts : sequence of str
        Any of "weekday", "hour", "month".
    keep : bool
        Whether the dates themselves take part, too; a date never comes back, so later ones are out of range.

    Returns
    -------
    tuple of ColumnSchema

    Raises
    ------
    TypeError, ValueError
        If a part is unknown.

    Examples
    --------
    >>> import hld
    >>> table = {"when": np.arange("2026-01-01", "2026-04-01", dtype="M8[D]"), "n": np.arange(90) % 4}
    >>> print(learn_schema(table, given=TableSchema(calendar_columns("when", ["weekday"]))))
    column        kind         categories  missing  unseen  values
    when          left out                                  its parts are used
    n             integer      5           0        keep    0, 1, 2, 3
    when_weekday  categorical  8           0        keep    'Fri', 'Mon', 'Sat', 'Sun', 'Thu', 'Tue', 'Wed'
    """
    if not isinstance(source, str):
        raise TypeError(f"`source` must be the name of a column, found {source!r}")
    if (
        isinstance(parts, str)
        or not isinstance(parts, (list, tuple))
        or not parts
        or not all(isinstance(part, str) and part in PARTS for part in parts)
    ):
        raise ValueError(
            f"`parts` must be a list out of {', '.join(map(repr, PARTS))}, found {parts!r}"
        )
    itself = (
        ()
        if check_flag(keep, "keep")
        else (ColumnSchema(source, LEFT_OUT, note="its parts are used"),)
    )
    return (
        *itself,
        *(ColumnSchema(f"{source}_{part}", source=source, part=part) for part in parts),
    )


def count_missing(values: Any, *, has_empty: bool = False) -> int:
    """How many cells of a column (N,) are missing."""
    if isinstance(values, Factored):
        levels = np.array(
            [has_empty and is_blank(cell) for cell in values.levels.tolist()], dtype=bool
        )
        return int((values.codes < 0).sum() + values.counts()[levels].sum())
    if has_empty and values.dtype.kind in "OUS":
        return sum(is_missing(cell) or is_blank(cell) for cell in values.tolist())
    if values.dtype.kind in "fmM":
        return int((values != values).sum())
    return sum(map(is_missing, values.tolist())) if values.dtype.kind == "O" else 0


def _nothing_left(columns: list[ColumnSchema], known: dict[str, ColumnSchema]) -> ValueError:
    """The error where all columns are left out: those that a schema names cannot be asked for elsewhere."""
    own = [one for one in columns if one.name not in known or known[one.name].kind != LEFT_OUT]
    first, then = (
        (own[0], "name columns in `categorical` or `continuous` to keep them")
        if own
        else (columns[0], "keep one in the schema")
    )
    return ValueError(
        f"`table` has no column to learn from: {first.name!r} is left out "
        f"({first.note or 'as the schema says'}); {then}"
    )


def _known(given: TableSchema | None, names: Any) -> dict[str, Any]:
    """The columns of a given schema by name; all that take part must be in the table."""
    if given is None:
        return {}
    absent = [one for one in given.columns if one.name not in names and one.kind != LEFT_OUT]
    if absent:
        said = (
            f"has the column {absent[0].name!r}"
            if absent[0].source is None
            else (f"derives {absent[0].name!r} from the column {absent[0].source!r}")
        )
        raise ValueError(
            f"`schema` {said}, which the table lacks ({listed(names, is_quoted=False)}): remove it "
            "from the schema, or correct its name"
        )
    for one in given.columns:
        _check_kind(one)
    return {column.name: column for column in given.columns}


def _check_roles(roles: dict[str, Any], known: dict[str, ColumnSchema]) -> None:
    """Raise where a column is asked for as something that the schema says it is not: one of them would not count."""
    for name, role in roles.items():
        kind = known[name].kind if name in known else None
        if kind is None or (kind in BINNED if role == "continuous" else kind in OF_LEVELS):
            continue
        note = f" ({known[name].note})" if known[name].note else ""
        raise ValueError(
            f"`{role}` names the column {name!r}, which is {kind}{note} by the schema: leave it out of "
            f"`{role}`, or out of the schema"
        )


def _check_kind(column: ColumnSchema) -> None:
    """Raise for levels or edges without a kind, or with one that has none: they would not be looked at."""
    binned, levels = (
        [name for name in ("edges", "low", "high") if getattr(column, name) is not None],
        column.levels,
    )
    odd = ["levels"] * (levels is not None and (column.kind is None or column.kind in BINNED))
    odd += binned if column.kind not in (*BINNED, LEFT_OUT) else []
    if odd:
        known = BINNED if odd[0] != "levels" else OF_LEVELS
        raise ValueError(
            f"`{odd[0]}` of column {column.name!r} of the schema needs a `kind` out of "
            f"{', '.join(map(repr, known))}, found {column.kind!r}: give one, or leave `{odd[0]}` out"
        )


def _learned(
    name: str,
    values: Any,
    role: Any,
    known: ColumnSchema | None,
    rows: Any,
    sizes: Any,
    is_asked_for: bool,
) -> ColumnSchema:
    """The schema of one column."""
    if known is not None and known.kind == LEFT_OUT:
        return ColumnSchema(name, LEFT_OUT, note=known.note)
    policy = "keep" if known is None else known.policy
    rows = (
        rows if policy == "keep" else None
    )  # else a level of the rows that are not learned from would be refused
    if known is not None and known.is_learned:
        return ColumnSchema.of(known.column(), _missing_in(known.column(), values))
    if known is None and not is_asked_for and count_missing(values, has_empty=True) == len(values):
        return ColumnSchema(name, LEFT_OUT, note=EMPTY)
    if known is not None and known.kind is not None:
        column = _of_kind(name, values, known, rows, sizes)
    else:
        column = fit_column(name, values, role, **sizes)
        note = "" if is_asked_for or role is not None else identifier_note(name, values, column)
        if note:
            return ColumnSchema(name, LEFT_OUT, note=note)
        column = column if rows is None else narrowed_column(column, values[rows], **sizes)
    missing = _missing_in(column, values)
    found = ColumnSchema.of(column, missing)
    return found if policy == "keep" else replace(found, policy=policy)


def _missing_in(column: Any, values: Any) -> int:
    """How many cells of training are missing in a column: empty texts among them, unless they are a level."""
    has_level = column.kind == "categorical" and (
        "" in column.levels or is_rare("", digest_set(column.rare))
    )
    return count_missing(values, has_empty=not has_level)


def _of_kind(name: Any, values: Any, known: Any, rows: Any, sizes: Any) -> Any:
    """A column of a given kind, with what the schema leaves open."""
    if known.kind in BINNED and known.edges is not None:
        low, high = _range(name, values, known.kind)
        edges = known.edges or (high,)
        low, high = min(low, math.nextafter(edges[0], -math.inf)), max(high, edges[-1])
        return (
            TableSchema((known,))
            .replace(
                name,
                low=known.low if known.low is not None else low,
                high=known.high if known.high is not None else high,
            )
            .columns[0]
            .column()
        )
    if known.kind in ("boolean", "integer", "constant"):
        levels = [] if rows is None else distinct_values(values[rows], name)[0]
        levels = levels or distinct_values(values, name)[0]
        if not levels:
            raise ValueError(
                f"`table` column {name!r} holds no value, expected some: the schema says {known.kind}, "
                "and leaves its levels open"
            )
        if known.kind == "integer":  # what is none stays as it is, and is named
            levels = [
                int(one)
                if isinstance(one, int) or (isinstance(one, float) and one.is_integer())
                else one
                for one in levels
            ]
        return LevelColumn(name, known.kind, tuple(sorted(levels, key=level_order)))
    if known.kind in TIMES:
        _check_times(name, values, known.kind)
    column = fit_column(
        name, values, "categorical" if known.kind == "categorical" else "continuous", **sizes
    )
    if column.kind != known.kind:
        raise ValueError(
            f"`table` column {name!r} is {column.kind}, and the schema says {known.kind}: correct the "
            "schema, or convert the column"
        )
    column = column if rows is None else narrowed_column(column, values[rows], **sizes)
    ends = {
        end: float(getattr(known, end))
        for end in ("low", "high")
        if getattr(known, end) is not None
    }
    return replace(column, **ends) if ends else column


def _check_times(name: str, values: Any, kind: str) -> None:
    """Raise unless a column of times, whose edges are to be learned, holds times alone, and two different ones."""
    cells = whole_cells(values)
    seconds, odd = as_seconds(cells, kind)
    distinct = np.unique(seconds[~np.isnan(seconds)])
    first = cells[np.argmax(odd)] if odd.any() else None
    if isinstance(first, str) or (odd.any() and len(distinct)):
        raise TypeError(
            f"`table` column {name!r} holds {reprlib.repr(first)}, expected a {kind}, as the schema says: "
            "correct it, or make it a missing value"
        )
    if len(distinct) == 1 and not odd.any():
        raise ValueError(
            f"`table` column {name!r} holds a single {kind}, expected two and more to cut between: give "
            "`edges` in the schema, or leave its `kind` open"
        )


def _range(name: Any, values: Any, kind: Any) -> tuple[Any, ...]:
    """The smallest and the largest finite value of a column."""
    cells = whole_cells(values)
    numbers = (
        as_seconds(cells, kind)[0]
        if kind in TIMES
        else as_numbers(objects_of(cells), name).astype(np.float64)
    )
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        raise ValueError(
            f"`table` column {name!r} holds no finite number, expected some within the schema's edges"
        )
    return float(finite.min()), float(finite.max())


AS_TEXT, NEARLY_ALL, EMPTY = "numbers as text", "nearly unique", "no value in training"
ORDERING, ROW_NUMBERS = "orders the rows: ", "row numbers"
NEARLY_UNIQUE = 0.9
FEWEST_CELLS, FEWEST_NUMBERS = (
    50,
    100,
)  # below which different levels, and different whole numbers, say nothing


def identifier_note(name: str, values: Any, column: Any) -> str:
    """Why a fitted column is taken for an identifier; empty if it is not; shapes values (N,)."""
    if column.kind == "categorical" and column.rare:
        levels, counts = distinct_values(values, name)
        once, present = int((counts == 1).sum()), int(counts.sum())
        if present >= FEWEST_CELLS and once >= NEARLY_UNIQUE * present:
            read = sum(
                int(count)
                for level, count in zip(levels, counts, strict=True)
                if isinstance(level, str) and reads_as_number(level)
            )
            if 2 * read > present:
                return f"{AS_TEXT}: {read} of {present} values read as numbers, {once} occur in one row only"
            return f"{NEARLY_ALL}: {once} of {present} values occur in one row only"
    return _row_numbers(values) if column.kind == "continuous" and _are_whole(values) else ""


def _are_whole(values: Any) -> bool:
    """Whether a column holds whole numbers only, as an array of these or as objects."""
    if isinstance(values, Factored) or values.dtype.kind != "O":
        return not isinstance(values, Factored) and values.dtype.kind in "iu"
    return all(
        isinstance(cell, Integral) and not isinstance(cell, bool) for cell in values.tolist()
    )


def _row_numbers(numbers: Any) -> str:
    """A note on whole numbers that number the rows; empty for others."""
    gaps = int(numbers.max()) - int(numbers.min()) - (len(numbers) - 1)
    if len(numbers) < FEWEST_NUMBERS or gaps < 0:
        return ""
    later, earlier = numbers[1:], numbers[:-1]
    is_ordered = (later > earlier).all() or (later < earlier).all()
    if is_ordered or (gaps == 0 and len(np.unique(numbers)) == len(numbers)):
        return f"{ROW_NUMBERS}: whole numbers, all different, in the order of the rows or without a gap"
    return ""
