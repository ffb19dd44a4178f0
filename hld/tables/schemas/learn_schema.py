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
import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from hld.tables.amounts import UNIT, amount_form
from hld.tables.calendar import PARTS, Derived, with_parts
from hld.tables.cells import (
    as_numbers,
    distinct_values,
    level_order,
    read_table,
    reads_as_number,
)
from hld.tables.column_names import column_names, column_roles
from hld.tables.factored import Factored, whole_cells
from hld.tables.schemas.columns import (
    BINNED,
    BinColumn,
    LevelColumn,
    check_rows,
    fit_column,
    narrowed_column,
    time_column,
)
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.rare_levels import digest_set, is_rare
from hld.tables.schemas.row_order import order_notes
from hld.tables.schemas.schema import LEFT_OUT, OF_LEVELS, ColumnSchema, TableSchema
from hld.tables.shown_names import listed
from hld.tables.times import TIMES, as_seconds, is_empty, is_missing
from pcircuit.arguments import check_flag, check_whole_number


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
    known, roles = _known(given, names), column_roles(names, categorical, continuous)
    amounts = [] if keep_all else _amounts(parts.arrays, names, {*known, *roles})
    parts = with_parts(parts, amounts, names, by_name)
    names = parts.names if amounts else names
    derived = {one.name: one for one in (*amounts, *(() if given is None else given.derived))}
    roles = column_roles(names, categorical, continuous)
    _check_roles(roles, known)
    columns = []
    for name, values, declared in zip(names, parts.arrays, parts.declared, strict=True):
        role = roles.get(name, "categorical" if declared else None)
        own, is_asked_for = (
            known.get(name, ColumnSchema(name)),
            keep_all or name in {**roles, **known},
        )
        found = _learned(name, values, role, own, rows, sizes, is_asked_for)
        if name in derived:
            if count_missing(values) == len(values):
                raise ValueError(
                    f"`table` column {derived[name].source!r} holds no date or amount, expected some to derive "
                    f"{name!r} from: convert the column first"
                )
            found = replace(found, source=derived[name].source, part=derived[name].part)
        columns.append(found)
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


def _amounts(arrays: list[Any], names: Any, chosen: set[str]) -> list[Derived]:
    """The numbers and the units of the columns that hold amounts as text and are not among the chosen ones."""
    found = []
    for name, values in zip(names, arrays, strict=True):
        try:
            form = None if name in chosen else amount_form(values)
        except ImportError as error:
            warnings.warn(f"`table` column {name!r} is learned as text: {error}", stacklevel=6)
            form = None
        if form is not None:
            unit = f"{name}_{UNIT}"
            while unit in names:
                unit += "_"
            found += [Derived(name, name, form), Derived(unit, name, UNIT)]
    return found


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
    if not isinstance(parts, (list, tuple)) or not parts or not {*parts} <= {*PARTS}:
        raise ValueError(
            f"`parts` must be a list out of {', '.join(map(repr, PARTS))}, found {parts!r}"
        )
    found = [ColumnSchema(f"{source}_{part}", source=source, part=part) for part in parts]
    if not check_flag(keep, "keep"):
        found.insert(0, ColumnSchema(source, LEFT_OUT, note="its parts are used"))
    return tuple(found)


def count_missing(values: Any, *, has_empty: bool = False) -> int:
    """How many cells of a column (N,) are missing, and how many are empty texts."""
    test = is_empty if has_empty else is_missing
    if isinstance(values, Factored):
        holes = np.array([test(cell) for cell in values.levels.tolist()], dtype=bool)
        return int((values.codes < 0).sum() + values.counts()[holes].sum())
    if values.dtype.kind in "fmM":
        return int((values != values).sum())
    return sum(map(test, values.tolist())) if values.dtype.kind in "OUS" else 0


def _nothing_left(columns: list[ColumnSchema], known: dict[str, ColumnSchema]) -> ValueError:
    """The error where all columns are left out: those that a schema names cannot be asked for elsewhere."""
    own = [one for one in columns if one.name not in known or known[one.name].kind != LEFT_OUT]
    first = (own or columns)[0]
    then = "name columns in `categorical` or `continuous` to keep them"
    return ValueError(
        f"`table` has no column to learn from: {first.name!r} is left out "
        f"({first.note or 'as the schema says'}); {then if own else 'keep one in the schema'}"
    )


def _known(given: TableSchema | None, names: Any) -> dict[str, ColumnSchema]:
    """The columns of a given schema by name; all that take part must be in the table."""
    if given is None:
        return {}
    for one in given.columns:
        if one.name not in names and one.kind != LEFT_OUT:
            raise ValueError(
                f"`schema` has the column {one.source or one.name!r}, which the table lacks "
                f"({listed(names, is_quoted=False)}): remove it from the schema, or correct its name"
            )
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


def _learned(
    name: str,
    values: Any,
    role: Any,
    known: ColumnSchema,
    rows: Any,
    sizes: Any,
    is_asked_for: bool,
) -> ColumnSchema:
    """The schema of one column."""
    if known.kind == LEFT_OUT:
        return ColumnSchema(name, LEFT_OUT, note=known.note)
    # else a level of the rows that are not learned from would be refused
    rows = rows if known.policy == "keep" else None
    if not is_asked_for and count_missing(values, has_empty=True) == len(values):
        return ColumnSchema(name, LEFT_OUT, note=EMPTY)
    if known.is_learned:
        column = known.column()
    elif known.kind is not None:
        column = _of_kind(name, values, known, rows, sizes)
    else:
        column = fit_column(name, values, role, **sizes)
        note = "" if is_asked_for or role is not None else identifier_note(name, values, column)
        if note:
            return ColumnSchema(name, LEFT_OUT, note=note)
        column = column if rows is None else narrowed_column(column, values[rows], **sizes)
    return replace(ColumnSchema.of(column, _missing_in(column, values)), policy=known.policy)


def _missing_in(column: Any, values: Any) -> int:
    """How many cells of training are missing in a column: empty texts among them, unless they are a level."""
    has_level = column.kind == "categorical" and (
        "" in column.levels or is_rare("", digest_set(column.rare))
    )
    return count_missing(values, has_empty=not has_level)


def _of_kind(
    name: str, values: Any, known: ColumnSchema, rows: Any, sizes: dict[str, int]
) -> BinColumn | LevelColumn:
    """A column of a given kind, with what the schema leaves open."""
    kind: Any = known.kind
    if kind in TIMES and (odd := as_seconds(values, kind)[1]).any():
        raise TypeError(
            f"`table` column {name!r} holds {reprlib.repr(whole_cells(values)[np.argmax(odd)])}, expected a {kind}, "
            "as the schema says: correct it, or make it a missing value"
        )
    if kind in BINNED and known.edges is not None:
        found = as_seconds(values, kind) if kind in TIMES else as_numbers(values, name)
        numbers = found[0][np.isfinite(found[0])].astype(np.float64)
        edges = known.edges or (float(numbers.max(initial=-math.inf)),)
        below = math.nextafter(edges[0], -math.inf)
        low = min(float(numbers.min(initial=math.inf)), below) if known.low is None else known.low
        high = max(*numbers[:0], edges[-1], float(numbers.max(initial=-math.inf)))
        return BinColumn(name, edges, low, high if known.high is None else known.high, kind)
    if kind in ("boolean", "integer", "constant"):
        levels = [] if rows is None else distinct_values(values[rows], name)[0]
        levels = levels or distinct_values(values, name)[0]
        if kind == "integer":  # what is none stays as it is, and is named
            levels = [int(one) if one == one // 1 else one for one in levels if one != ""]
        return LevelColumn(name, kind, tuple(sorted(levels, key=level_order)))
    column: BinColumn | LevelColumn
    if kind in TIMES:
        column = time_column(name, values, kind, sizes["num_bins"])
    else:
        role = "categorical" if kind == "categorical" else "continuous"
        column = fit_column(name, values, role, **sizes)
    if column.kind != kind:
        raise ValueError(
            f"`table` column {name!r} is {column.kind}, and the schema says {kind}: correct the "
            "schema, or convert the column"
        )
    column = column if rows is None else narrowed_column(column, values[rows], **sizes)
    ends = {end: value for end in ("low", "high") if (value := getattr(known, end)) is not None}
    return replace(column, **ends)


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
    return _row_numbers(values) if column.kind == "continuous" else ""


def _row_numbers(values: Any) -> str:
    """A note on whole numbers that number the rows; empty for other columns (N,)."""
    if (
        isinstance(values, Factored)
        or values.dtype.kind not in "iuO"
        or len(values) < FEWEST_NUMBERS
    ):
        return ""
    if values.dtype == object and not all(
        isinstance(cell, Integral) and not isinstance(cell, bool) for cell in values
    ):
        return ""
    gaps = int(values.max()) - int(values.min()) - (len(values) - 1)
    later, earlier = values[1:], values[:-1]
    is_ordered = (later > earlier).all() or (later < earlier).all()
    if is_ordered or (gaps == 0 and len(np.unique(values)) == len(values)):
        return f"{ROW_NUMBERS}: whole numbers, all different, in the order of the rows or without a gap"
    return ""
