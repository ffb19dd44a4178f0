"""Counts of a table in a database: every column, and the pairs along the edges of a detector's tree.

One query counts a block of pairs,

    SELECT c0, c1, ..., count(*) FROM (SELECT slot of column 0 AS c0, ...)
    GROUP BY GROUPING SETS ((c0, c1), (c0, c2), ...)

and the result has one row for each pair of slots that occurs: the table is read once per block, whatever its length,
and a column's own counts are sums over one of its pairs.  Slots are never NULL, so the two columns of an output row
that are not NULL say which pair it is of.  Where a database knows no grouping sets (SQLite, MySQL), each pair is a
query of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.answers.profile import Profile
from hld.detector.detector import HLDDetector
from hld.sql.slots import (
    MISSING,
    ODD,
    codes_of_slots,
    counted_column,
    forget,
    part_expression,
    slot_expression,
    sqlite_expression,
)
from hld.sql.sources import one_line, reading, rows_as_tuples, table_of
from hld.tables.schemas.columns import BINNED
from hld.tables.schemas.encoding import EncodingReport
from hld.tables.shown_names import listed

NULL = ODD - 1
BLOCK = 48  # pairs in a query
WITHOUT_SETS = ("sqlite", "mysql", "clickhouse", "druid", "impala", "exasol", "risingwave")


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
    source : ibis table, connection (of ibis, duckdb or psycopg), or str
        A table of ibis, and no `query`; or a connection or the URL of a database, such as "duckdb://orders.db",
        "sqlite://orders.db" or "postgres://user@host/base" ("" is DuckDB in memory), and a `query`.  A third slash
        before the path of a file makes it absolute.
    query : str, optional
        Name of a table, or a query whose result is the table.

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
    One query for 48 pairs of columns, or for each pair in SQLite and MySQL; at most a few thousand numbers come back
    from each.
    """
    if not isinstance(detector, HLDDetector) or not hasattr(detector, "circuit_"):
        raise TypeError(
            f"`detector` must be a fitted HLDDetector, found {type(detector).__name__}: fit it "
            "first"
        )
    columns = tuple(map(counted_column, detector.encoder_.columns))
    sizes = tuple(column.num_categories for column in columns)
    edges = detector.profile_.edges.tolist()
    with rows_as_tuples(source):
        slots, absent, extra, num_queries = _asked(detector, columns, edges, source, query)
    return _assembled(columns, sizes, edges, slots, (absent, extra), num_queries)


def _asked(detector: Any, columns: Any, edges: list[Any], source: Any, query: str | None) -> Any:
    """What is counted, by pair; columns that are not there, and others; how many queries it took."""
    table = table_of(source, query)
    try:
        expressions, absent, extra = _expressions(detector, columns, table)
        pairs = _blocks(edges, set(range(len(columns))) - set(absent))
        coded = table.select(**{f"c{v}": one for v, one in expressions.items()})
        found = [_counted(coded, block) for block in pairs]
    except (ImportError, TypeError, ValueError):
        raise
    except Exception as error:  # each engine has errors of its own
        raise ValueError(f"the table cannot be counted: {one_line(error)}") from error
    finally:
        _leave(table, len(columns), isinstance(source, str))
    slots = {pair: table for block in found for pair, table in block.items()}
    return (
        slots,
        absent,
        extra,
        len(slots) if coded.get_backend().name in WITHOUT_SETS else len(found),
    )


def _leave(table: Any, num_columns: int, is_own: bool) -> None:
    """Leave the connection of a table as it was, or close it."""
    connection = table.get_backend()
    if is_own:
        connection.disconnect()
    elif connection.name == "sqlite":
        forget(connection, range(num_columns))


def _expressions(
    detector: Any, columns: Any, table: Any
) -> tuple[dict[int, Any], list[int], list[str]]:
    """The slots of each column that the table has, positions of those that it has not, and names of others."""
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
            found[v] = _slots(v, column, table[own], None if part is None else part.part)
    if not found:
        raise ValueError(
            f"the table has none of the detector's columns ({listed(encoder.names, 8, is_quoted=False)}), "
            f"expected at least one: it has {listed(names, 8) or 'none'}"
        )
    known = {
        *encoder.names,
        *encoder.table_names,
        *encoder.optional,
        *(one.source for one in encoder.derived),
    }
    return found, [v for v in range(len(columns)) if v not in found], sorted(set(at) - known)


def _slots(v: int, column: Any, value: Any, part: str | None) -> Any:
    """The slots of a column, of a part of its dates if there is one."""
    if value.get_backend().name == "sqlite":
        return sqlite_expression(v, column, value, part)
    return slot_expression(column, value if part is None else part_expression(value, part))


def _blocks(edges: list[Any], there: set[int]) -> list[list[tuple[int, ...]]]:
    """What is counted, query by query: the edges between columns that are there, and columns without such an edge."""
    sets: list[tuple[int, ...]] = [(u, v) for u, v in edges if u in there and v in there]
    covered = {v for pair in sets for v in pair}
    sets += [(v,) for v in sorted(there - covered)]
    return [sets[start : start + BLOCK] for start in range(0, len(sets), BLOCK)]


def _counted(coded: Any, block: list[tuple[int, ...]]) -> dict[tuple[int, ...], np.ndarray]:
    """Slots and counts (groups, 2 or 3) of each pair and column of a block."""
    import ibis

    used = sorted({v for one in block for v in one})
    connection = coded.get_backend()
    if connection.name in WITHOUT_SETS:
        return {one: _grouped(coded, one) for one in block}
    quoted = (
        [f'"c{v}"' for v in used]
        if connection.name not in ("bigquery", "databricks", "pyspark")
        else [f"`c{v}`" for v in used]
    )
    name = dict(zip(used, quoted, strict=True))
    sets = ", ".join(f"({', '.join(name[v] for v in one)})" for one in block)
    inner = ibis.to_sql(coded.select(*(f"c{v}" for v in used)), dialect=connection.name)
    text = f"SELECT {', '.join(quoted)}, count(*) AS n FROM ({inner}) t GROUP BY GROUPING SETS ({sets})"
    found = np.array(
        _rows(connection, text, {**{f"c{v}": "int32" for v in used}, "n": "int64"}), dtype=np.int64
    )
    arrays, is_there = dict(zip(used, found.T, strict=False)), found[:, :-1] != NULL
    wanted = [np.array([v in one for v in used]) for one in block]
    return {
        one: np.column_stack([*(arrays[v][rows] for v in one), found[rows, -1]])
        for one, rows in zip(
            block,
            (np.flatnonzero((flags == is_there).all(axis=1)) for flags in wanted),
            strict=True,
        )
    }


def _rows(connection: Any, text: str, schema: dict[str, str]) -> list[list[int]]:
    """The rows of a result of whole numbers, `NULL` where there is none."""
    if connection.name == "duckdb":  # by the shortest way: ibis would parse the query again
        rows = connection.con.execute(text).fetchall()
    elif connection.name == "postgres":
        with reading(connection) as cursor:
            rows = cursor.execute(text).fetchall()
    else:
        frame = connection.sql(text, schema=schema).to_pyarrow()
        rows = zip(*(frame[name].to_pylist() for name in schema), strict=True)
    empty = [[NULL] * (len(schema) - 1) + [0]]  # of no rows
    return [[NULL if value is None else int(value) for value in row] for row in rows] or empty


def _grouped(coded: Any, one: tuple[int, ...]) -> np.ndarray:
    """The same of a single pair, where there are no grouping sets."""
    names = [f"c{v}" for v in one]
    counted, connection = coded.group_by(names).aggregate(n=coded.count()), coded.get_backend()
    if connection.name == "sqlite":
        return _rows_of_sqlite(connection, counted, len(names) + 1)
    frame = counted.to_pyarrow()
    return np.column_stack([frame[name].to_numpy() for name in [*names, "n"]])


def _rows_of_sqlite(connection: Any, counted: Any, width: int) -> np.ndarray:
    """The rows (groups, width) of a result of whole numbers."""
    import sqlite3

    import ibis

    try:
        rows = connection.con.execute(ibis.to_sql(counted, dialect="sqlite")).fetchall()
    except sqlite3.OperationalError as error:
        if "user-defined function" not in str(error):
            raise
        raise ValueError(
            "the table holds text that is not UTF-8, which cannot be read: correct it, or leave its "
            "column out of the query"
        ) from error
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _assembled(
    columns: Any,
    sizes: Any,
    edges: list[Any],
    slots: dict[tuple[int, ...], np.ndarray],
    names: tuple[list[int], list[str]],
    num_queries: int,
) -> TableInDatabase:
    """Profile and report of what was counted."""
    absent, extra = names
    totals = {int(one[:, -1].sum()) for one in slots.values()}
    if len(totals) > 1:
        raise ValueError("the table changed while it was counted: test a snapshot of it")
    T = totals.pop()
    if T == 0:
        raise ValueError("the table has 0 rows, expected at least one")
    legends, single, pairs = [codes_of_slots(column) for column in columns], {}, []
    for one, rows in slots.items():
        for place, v in enumerate(one):
            if v not in single:
                single[v] = np.bincount(
                    rows[:, place] - ODD, rows[:, -1], len(legends[v][0])
                ).astype(np.int64)
    for u, v in edges:
        pairs.append(
            _pair_table(slots.get((u, v)), legends[u][0], legends[v][0], (sizes[u], sizes[v]))
        )
    counts, cells = [], []
    for v, (column, (codes, _)) in enumerate(zip(columns, legends, strict=True)):
        found = single.get(v, np.eye(1, len(codes), MISSING - ODD, dtype=np.int64)[0] * T)
        counts.append(
            np.bincount(np.where(codes < 0, sizes[v], codes), found, sizes[v] + 1).astype(np.int64)
        )
        cells.append(_cells(column, found))
    profile = Profile(
        T, tuple(counts), np.array(edges, dtype=np.int64).reshape(-1, 2), tuple(pairs)
    )
    return TableInDatabase(
        columns,
        profile,
        EncodingReport(T, *np.array(cells).T.copy()),
        tuple(columns[v].name for v in absent),
        tuple(extra),
        num_queries,
    )


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
    if column.unseen == "refuse" and beyond:
        raise ValueError(
            f"column {column.name!r} of the database holds {beyond} values that training did not show, "
            "which its schema refuses: correct them, or change the column's `policy`"
        )
    return missing, *new, odd


def _pair_table(
    rows: Any, first: np.ndarray, second: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """The pair table (C_u, C_v) of slots and counts (groups, 3); zeros where a column is not there."""
    table = np.zeros(shape, dtype=np.int64)
    if rows is not None:
        u, v = first[rows[:, 0] - ODD], second[rows[:, 1] - ODD]
        shown = (u >= 0) & (v >= 0)
        np.add.at(table, (u[shown], v[shown]), rows[shown, 2])
    return table
