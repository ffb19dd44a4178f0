"""Learning a schema from rows, and from what is already known of it.

No distribution can be learned from a column that only identifies rows: fresh rows bring new values.  It is left out,
unless its kind is given, and recognised by

* text or other levels of which at least nine in ten occur in one row only, where they are too many to be kept as
  levels; most of them may read as numbers, and were hardly meant to be left out (the note then begins with AS_TEXT)
* whole numbers that are all different and without a gap, or in ascending or descending order of the rows
* no value at all (EMPTY)

Nor from columns that order the rows: when something happened, and numbers that run with it.

Later batches lie beyond such a column whatever else they show, so that it is no evidence of a shift.  A column is a
**clock** if it holds

* dates by which the rows are sorted, or nearly: they never go back (or never forward), by more than chance, or their
  rank correlation with the numbers of the rows is NEARLY or more;
* dates with a time of the day nearly all of which are different, whatever the order of the rows: no batch can repeat
  them, while dates of birth come again.

**What runs with a clock**: dates, whole numbers and levels of a rank correlation of ALIKE or more with it; and what
is written of its day, such as the month or the day of the week (`hld.tables.derived`), of which a batch of one day
has one value.  Hours come back each day, and stay.
"""

import math
import reprlib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hld.tables.cells import (
    Columns,
    as_numbers,
    distinct_values,
    read_table,
    reads_as_number,
)
from hld.tables.column_names import column_names, column_roles
from hld.tables.derived import PARTS, UNIT, Derived, amount_form, is_written_of, with_parts
from hld.tables.factored import Factored
from hld.tables.schemas.columns import (
    BINNED,
    BinColumn,
    check_rows,
    column_of_kind,
    fit_column,
    narrowed_column,
)
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.schema import LEFT_OUT, OF_LEVELS, ColumnSchema, TableSchema
from hld.tables.shown_names import listed
from hld.tables.times import DAY, TIMES, as_seconds, is_empty, is_missing, time_kind
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
    parts = replace(parts, names=column_names(names, parts.names, len(parts.arrays)))
    given_parts = () if given is None else given.derived
    parts = with_parts(parts, given_parts)
    known = {} if given is None else {column.name: column for column in given.columns}
    names = parts.names
    lacking = [one for one in known.values() if one.name not in names and one.kind != LEFT_OUT]
    if lacking:
        raise ValueError(
            f"`schema` has the column {lacking[0].source or lacking[0].name!r}, which the table lacks "
            f"({listed(names, is_quoted=False)}): remove it from the schema, or correct its name"
        )
    roles = column_roles(names, categorical, continuous)
    _check_roles(roles, known)
    amounts = [] if keep_all else _amounts(parts, {*known, *roles})
    parts = with_parts(parts, amounts)
    names, asked_for = parts.names, {*roles, *known}
    derived = {one.name: one for one in (*amounts, *given_parts)}
    columns = []
    for name, values, declared in zip(names, parts.arrays, parts.declared, strict=True):
        role = roles.get(name, "categorical" if declared else None)
        own = known.get(name, ColumnSchema(name))
        found = _learned(name, values, role, own, rows, sizes, keep_all or name in asked_for)
        if name in derived:
            if count_missing(values) == len(values):
                raise ValueError(
                    f"`table` column {derived[name].source!r} holds no date or amount, expected some to derive "
                    f"{name!r} from: convert the column first"
                )
            found = replace(found, source=derived[name].source, part=derived[name].part)
        columns.append(found)
    if not keep_all:
        chosen = asked_for | {one.source for one in derived.values()}
        columns = _without_clocks(columns, parts.arrays, chosen)
    if by_name:  # left out of the table already; a batch may have them
        columns += [replace(one, optional=True) for one in known.values() if one.name not in names]
    if all(column.kind == LEFT_OUT for column in columns):
        raise _nothing_left(columns, known)
    return TableSchema(tuple(columns), parts.num_rows, by_name)


def _amounts(columns: Columns, chosen: set[str]) -> list[Derived]:
    """The numbers and the units of the columns that hold amounts as text and are not among the chosen ones."""
    found, names = [], columns.names or ()
    for name, values in zip(names, columns.arrays, strict=True):
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
    return int((values != values).sum())


def _nothing_left(columns: list[ColumnSchema], known: dict[str, ColumnSchema]) -> ValueError:
    """The error where all columns are left out: those that a schema names cannot be asked for elsewhere."""
    own = [one for one in columns if one.name not in known or known[one.name].kind != LEFT_OUT]
    first = (own or columns)[0]
    then = "name columns in `categorical` or `continuous` to keep them"
    return ValueError(
        f"`table` has no column to learn from: {first.name!r} is left out "
        f"({first.note or 'as the schema says'}); {then if own else 'keep one in the schema'}"
    )


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
    column: Any
    if known.kind in TIMES and (odd := as_seconds(values, known.kind)[1]).any():
        cell = values.tolist()[np.argmax(odd)]
        raise TypeError(
            f"`table` column {name!r} holds {reprlib.repr(cell)}, expected a {known.kind}, as the schema says: "
            "correct it, or make it a missing value"
        )
    if known.is_learned:
        column = known.column()
    elif known.edges is not None:
        column = _with_range(name, values, known)
    else:
        if known.kind is not None:
            column = column_of_kind(name, values, known.kind, **sizes)
        else:
            column = fit_column(name, values, role, **sizes)
            note = "" if is_asked_for or role is not None else identifier_note(name, values, column)
            if note:
                return ColumnSchema(name, LEFT_OUT, note=note)
        column = column if rows is None else narrowed_column(column, values[rows], **sizes)
        ends = {end: value for end in ("low", "high") if (value := getattr(known, end)) is not None}
        column = replace(column, **ends)
    return replace(ColumnSchema.of(column, _missing_in(column, values)), policy=known.policy)


def _missing_in(column: Any, values: Any) -> int:
    """How many cells of training are missing in a column: empty texts among them, unless they are a level."""
    has_level = column.kind == "categorical" and ("" in column.levels or column.is_rare(""))
    return count_missing(values, has_empty=not has_level)


def _with_range(name: str, values: Any, known: ColumnSchema) -> BinColumn:
    """A column of given edges; what is not given of its range is that of the values (N,)."""
    kind: Any = known.kind
    found = as_seconds(values, kind) if kind in TIMES else as_numbers(values, name)
    numbers = found[0][np.isfinite(found[0])].astype(np.float64)
    edges = known.edges or (float(numbers.max(initial=-math.inf)),)
    low = min(float(numbers.min(initial=math.inf)), math.nextafter(edges[0], -math.inf))
    high = max(edges[-1], float(numbers.max(initial=-math.inf)))
    low = low if known.low is None else known.low
    return BinColumn(name, edges, low, high if known.high is None else known.high, kind)


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
            texts = {
                one: n
                for one, n in zip(levels, counts.tolist(), strict=True)
                if isinstance(one, str)
            }
            read = sum(n for text, n in texts.items() if reads_as_number(text))
            if 2 * read > present:
                return f"{AS_TEXT}: {read} of {present} values read as numbers, {once} occur in one row only"
            return f"{NEARLY_ALL}: {once} of {present} values occur in one row only"
    return _row_numbers(values) if column.kind == "continuous" else ""


def _row_numbers(values: Any) -> str:
    """A note on whole numbers that number the rows; empty for other columns (N,)."""
    if values.dtype.kind not in "iu" or len(values) < FEWEST_NUMBERS:
        return ""
    gaps = int(values.max()) - int(values.min()) - (len(values) - 1)
    later, earlier = values[1:], values[:-1]
    is_ordered = (later > earlier).all() or (later < earlier).all()
    if is_ordered or (gaps == 0 and len(np.unique(values)) == len(values)):
        return f"{ROW_NUMBERS}: whole numbers, all different, in the order of the rows or without a gap"
    return ""


# -- columns that order the rows ---------------------------------------------------------------------------------------

NEARLY, ALIKE = 0.9, 0.99  # rank correlations: records as they come in have .99 with the rows
FEWEST_RANKED, MOST_RANKED = 20, 10_000  # rows that it is computed from: few may be so by chance
NEARLY_ALL_ONCE = 0.9  # share of dates with a time of the day that are in one row only
BY_CHANCE = 0.001  # `order_by_chance` above which it says nothing that a column is in order


def order_notes(columns: Mapping[str, tuple[Any, Any]]) -> dict[str, str]:
    """Why each of some columns (fitted column and cells (N,), by name) orders the rows; nothing for the others."""
    dates = {
        name: as_seconds(cells, "date")[0]
        for name, (_, cells) in columns.items()
        if time_kind(cells) == "date"
    }
    found = {name: note for name, seconds in dates.items() if (note := _clock_note(seconds))}
    for clock in list(found):
        seconds = dates[clock]
        days = np.floor(seconds / DAY)
        for name, (column, cells) in columns.items():
            if name in found:
                continue
            if abs(rank_correlation(_ranked(column, cells, dates.get(name)), seconds)) >= ALIKE:
                found[name] = f"runs with {clock!r}"
            elif name not in dates and _is_of_day(cells, days):
                found[name] = f"is written of {clock!r}"
    return found


def _clock_note(seconds: np.ndarray) -> str:
    """Why a column of dates (N,) is a clock; empty if it is none."""
    known = seconds[~np.isnan(seconds)]
    in_order = never_decreases(seconds) or never_decreases(-seconds)
    if in_order and order_by_chance(seconds) <= BY_CHANCE:
        return "dates in the order of the rows"
    if abs(rank_correlation(known, np.arange(len(known)))) >= NEARLY:
        return "dates nearly in the order of the rows"
    counts = np.unique(known, return_counts=True)[1]
    once = int((counts == 1).sum())
    if len(known) >= FEWEST_RANKED and once >= NEARLY_ALL_ONCE * len(known) and (known % DAY).any():
        return f"times of which {once} of {len(known)} are in one row only"
    return ""


def never_decreases(seconds: np.ndarray) -> bool:
    """Whether a column (N,) takes two values and more, and what is known of it never decreases."""
    known = seconds[~np.isnan(seconds)]
    return len(known) > 1 and bool((np.diff(known) >= 0).all() and known[-1] > known[0])


def order_by_chance(seconds: np.ndarray) -> float:
    """Probability that the dates of a column would be in order, oldest or newest first, were its rows in a random one.

    Of n dates that are known, of which c_1, c_2, ... are equal: 2 c_1! c_2! ... / n!, or 1.

    Shapes: seconds (N,).
    """
    counts = np.unique(seconds[~np.isnan(seconds)], return_counts=True)[1]
    orders = math.lgamma(counts.sum() + 1) - sum(map(math.lgamma, (counts + 1).tolist()))
    return min(2 * math.exp(-orders), 1.0)


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's correlation of two columns (N,) where both are known; 0 where these are few, or one is constant."""
    known = np.flatnonzero(~(np.isnan(one) | np.isnan(other)))
    some = known[np.linspace(0, len(known) - 1, min(len(known), MOST_RANKED)).astype(np.int64)]
    if len(some) < FEWEST_RANKED:
        return 0.0
    first, second = _ranks(one[some]), _ranks(other[some])
    return float(np.corrcoef(first, second)[0, 1]) if np.ptp(first) and np.ptp(second) else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    """(n,) ranks, equal values sharing their mean."""
    _, levels, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[levels])


def _ranked(column: Any, cells: Any, seconds: np.ndarray | None) -> np.ndarray:
    """(N,) what a column is ranked by: dates, whole numbers, places of sorted levels; NaN throughout for others."""
    if seconds is not None:
        return seconds
    if cells.dtype.kind in "iu":
        return np.asarray(cells, dtype=np.float64)
    if column.kind not in ("categorical", "integer"):
        return np.full(len(cells), np.nan)
    place = {level: i for i, level in enumerate(distinct_values(cells, column.name)[0])}
    return np.array([place.get(cell, np.nan) for cell in cells.tolist()])


def _is_of_day(cells: Any, days: np.ndarray) -> bool:
    """Whether cells (N,) are written of the days (N,), numbers since 1970."""
    pairs = set(zip(days.tolist(), cells.tolist(), strict=True))
    return is_written_of(
        [(day, cell) for day, cell in pairs if day == day and not is_missing(cell)]
    )
