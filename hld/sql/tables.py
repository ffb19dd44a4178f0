"""Counts of a table in a database: every column, and the pairs along the edges of a detector's tree.

One query counts a block of pairs,

    SELECT c0, c1, ..., count(*) FROM (SELECT slot of column 0 AS c0, ...)
    GROUP BY GROUPING SETS ((c0, c1), (c0, c2), ...)

and the result has one row for each pair of slots that occurs: the table is read once per block, whatever its length,
and a column's own counts are sums over one of its pairs.  Slots are never NULL, so the two columns of an output row
that are not NULL say which pair it is of.

SQLite runs within this process, and its columns hold cells of any type, so that its comparisons are not the encoder's:
there the rows are fetched and encoded, a block at a time, and no row leaves the process either.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hld.answers.profile import Profile, profile_of
from hld.detector.chunks import check_detector
from hld.detector.detector import HLDDetector
from hld.sql.slots import (
    MISSING,
    ODD,
    codes_of_slots,
    counted_column,
    part_expression,
    slot_expression,
)
from hld.sql.sources import one_line, reading, rows_as_tuples, table_of
from hld.tables.factored import object_cells
from hld.tables.schemas.columns import BINNED
from hld.tables.schemas.encoder import EncodingReport
from hld.tables.shown_names import listed
from hld.witnesses.count_law import merged_codes

BLOCK = 48  # pairs in a query
ROWS = 2**14  # of SQLite that are encoded at a time


@dataclass(frozen=True, eq=False)
class TableInDatabase:
    """Counts of a table."""

    columns: tuple[Any, ...]
    profile: Profile
    report: EncodingReport
    absent: tuple[str, ...]
    extra: tuple[str, ...]
    num_queries: int


def count(detector: HLDDetector, source: Any, query: str | None = None) -> TableInDatabase:
    """Count a table where it is stored.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.
    source, query
        As for `hld.sql.test`.

    Returns
    -------
    TableInDatabase

    Raises
    ------
    ImportError
        If ibis is not installed.
    TypeError, ValueError
        If `query` is more than one statement, or writes; if there is no such table, it has none of the detector's
        columns or no rows, or a type that has no counterpart.

    Notes
    -----
    One query for 48 pairs of columns, of which at most a few thousand numbers come back; the rows of SQLite are encoded
    in this process.
    """
    check_detector(detector)
    columns = tuple(map(counted_column, detector.encoder_.columns))
    with rows_as_tuples(source):
        table = table_of(source, query)
        connection = table.get_backend()
        how = {"sqlite": _encoded, "duckdb": _asked, "postgres": _asked}.get(connection.name)
        if how is None:
            raise ValueError(
                f"`source` is of {connection.name}, expected DuckDB, SQLite or PostgreSQL: give the rows of "
                "a query to `HLDDetector.test`"
            )
        try:
            return how(detector, columns, detector.profile_.edges.tolist(), table)
        except (ImportError, TypeError, ValueError):
            raise
        except Exception as error:  # each engine has errors of its own
            raise ValueError(f"the table cannot be counted: {one_line(error)}") from error
        finally:
            if isinstance(source, str):
                connection.disconnect()


def _asked(detector: Any, columns: Any, edges: list[Any], table: Any) -> TableInDatabase:
    """What queries count in a table."""
    expressions, extra = _expressions(detector, columns, table)
    coded = table.select(**{f"c{v}": one for v, one in expressions.items()})
    sets: list[tuple[int, ...]] = [(u, v) for u, v in edges if {u, v} <= expressions.keys()]
    sets += [(v,) for v in sorted(expressions.keys() - {v for pair in sets for v in pair})]
    blocks = [sets[start : start + BLOCK] for start in range(0, len(sets), BLOCK)]
    codes = [codes_of_slots(column) for column in columns]
    tables: dict[tuple[int, ...], np.ndarray] = {}
    for block in blocks:
        tables |= _counted(coded, block, [len(one) for one in codes])
    totals = {int(one.sum()) for one in tables.values()}
    T = totals.pop()
    if totals:
        raise ValueError("the table changed while it was counted: test a snapshot of it")
    if not T:
        raise ValueError("the table has 0 rows, expected at least one")
    # (slots, C + 1) for each column, the last for cells that count as missing
    categories = [
        np.eye(column.num_categories + 1, dtype=np.int64)[one]
        for column, one in zip(columns, codes, strict=True)
    ]
    singles = [T * (np.arange(len(one)) == MISSING - ODD) for one in codes]
    for one, counts in tables.items():
        for place, v in enumerate(one):
            singles[v] = counts.sum(axis=1 - place) if len(one) == 2 else counts
    pairs = [
        (categories[u].T @ tables[u, v] @ categories[v])[:-1, :-1]
        if (u, v) in tables
        else np.zeros((columns[u].num_categories, columns[v].num_categories), np.int64)
        for u, v in edges
    ]
    profile = Profile(
        T,
        tuple(single @ one for single, one in zip(singles, categories, strict=True)),
        np.array(edges, dtype=np.int64).reshape(-1, 2),
        tuple(pairs),
    )
    cells = np.array([_cells(*one) for one in zip(columns, singles, strict=True)])
    absent = tuple(column.name for v, column in enumerate(columns) if v not in expressions)
    report = EncodingReport(T, *cells.T.copy())
    return TableInDatabase(columns, profile, report, absent, extra, len(blocks))


def _encoded(detector: Any, columns: Any, edges: list[Any], table: Any) -> TableInDatabase:
    """The same of a table of SQLite, whose rows are in this process and are encoded as those of any table."""
    import ibis

    encoder, sizes = detector.encoder_, tuple(column.num_categories for column in columns)
    cursor = table.get_backend().con.cursor()
    cursor.row_factory = None
    cursor.execute(ibis.to_sql(table, dialect="sqlite"))
    names, profile, report = [one[0] for one in cursor.description], None, None
    while rows := cursor.fetchmany(ROWS):
        cells = map(object_cells, zip(*rows, strict=True))
        table = dict(zip(names, cells, strict=True))
        codes, own, absent, extra = encoder.encode_counting(table)
        counts = profile_of(merged_codes(encoder.columns, codes), sizes, detector.profile_.edges)
        profile = counts if profile is None else profile + counts
        report = own if report is None else report + own
    if profile is None or report is None:
        raise ValueError("the table has 0 rows, expected at least one")
    merged = np.array([hasattr(column, "merged") for column in columns])
    report = replace(
        report,
        num_unseen=np.where(merged, 0, report.num_unseen),
        num_rare=np.where(merged, report.num_rare + report.num_unseen, report.num_rare),
    )
    return TableInDatabase(columns, profile, report, tuple(absent), tuple(extra), 1)


def _expressions(detector: Any, columns: Any, table: Any) -> tuple[dict[int, Any], tuple[str, ...]]:
    """The slots of each column that the table has, and names of others."""
    encoder = detector.encoder_
    names = tuple(table.columns)
    by_name = encoder.by_name or bool(encoder.derived) or set(names) == set(encoder.table_names)
    if not by_name and len(names) != len(encoder.table_names):
        raise ValueError(
            f"the table has {len(names)} columns, expected {len(encoder.table_names)}: the detector was "
            "fitted to rows without names, which are matched by position"
        )
    at = dict(zip(names if by_name else encoder.table_names, names, strict=True))
    parts = {one.name: one for one in encoder.derived if one.name not in at and one.source in at}
    found = {}
    for v, column in enumerate(columns):
        part = parts.get(column.name)
        own = at.get(column.name if part is None else part.source)
        if own is not None:
            value = table[own]
            found[v] = slot_expression(
                column, value if part is None else part_expression(value, part.part)
            )
    if not found:
        raise ValueError(
            f"the table has none of the fitted columns ({listed(encoder.names, 8, is_quoted=False)}), "
            f"expected at least one: it has {listed(names, 8) or 'none'}"
        )
    sources = (one.source for one in encoder.derived)
    return found, tuple(sorted({*at} - {*encoder.all_names, *encoder.optional, *sources}))


def _counted(
    coded: Any, block: list[tuple[int, ...]], sizes: list[int]
) -> dict[tuple[int, ...], np.ndarray]:
    """How often each slot, or each two slots, of a column or a pair of columns of a block occur."""
    import ibis

    used = sorted({v for one in block for v in one})
    connection = coded.get_backend()
    inner = ibis.to_sql(coded.select(*(f"c{v}" for v in used)), dialect=connection.name)
    sets = ", ".join(f"({_names(one)})" for one in block)
    text = f"SELECT {_names(used)}, count(*) AS n FROM ({inner}) t GROUP BY GROUPING SETS ({sets})"
    if connection.name == "duckdb":  # by the shortest way: ibis would parse the query again
        rows = connection.con.execute(text).fetchall()
    else:
        with reading(connection) as cursor:
            rows = cursor.execute(text).fetchall()
    found = {one: np.zeros([sizes[v] for v in one], np.int64) for one in block}
    sets_of = {frozenset(one): one for one in block}
    for *slots, number in rows:
        cells = {v: slot for v, slot in zip(used, slots, strict=True) if slot is not None}
        one = sets_of[frozenset(cells)]
        found[one][tuple(int(cells[v]) - ODD for v in one)] = number
    return found


def _names(columns: Iterable[int]) -> str:
    """Columns of slots in SQL."""
    return ", ".join(f'"c{v}"' for v in columns)


def _cells(column: Any, found: np.ndarray) -> tuple[int, ...]:
    """Cells that are missing, unseen, out of range, rare, and of another type, of the counts of a column's slots."""
    odd = int(found[0])
    if column.kind in BINNED:
        beyond = int(found[2] + found[-1])
        new, missing = (0, beyond, 0), int(found[1]) + odd
    else:
        last = int(found[-1]) + odd
        beyond = last
        new, missing = ((0, 0, last) if hasattr(column, "merged") else (last, 0, 0)), int(found[1])
    if column.policy == "refuse" and beyond:
        raise ValueError(
            f"column {column.name!r} of the database holds {beyond} values that training did not show, "
            "which its schema refuses: correct them, or change the column's `policy`"
        )
    return missing, *new, odd
