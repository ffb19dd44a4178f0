"""Counts of databases are those of the encoder, on odd tables, in DuckDB, SQLite and PostgreSQL."""

import contextlib
import datetime
import pathlib
import shutil
import subprocess
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sql_tables import OPTIONS, local_counts, odd_table

import hld

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
import duckdb
import ibis

import hld.sql

with contextlib.suppress(ImportError):  # the fixture below skips the tests that need it
    import psycopg.rows
    import psycopg.sql

SMALL = pd.DataFrame({"kind": ["a", "b", "a"] * 50, "size": [0, 1, 2] * 50})


@pytest.fixture(scope="module")
def small():
    return hld.HLDDetector(**OPTIONS).fit(SMALL)


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(**OPTIONS, continuous=["when; --"]).fit(odd_table(700, 0))


def assert_same(found, detector, table):
    """Raise unless counts of a database are those of the encoder."""
    expected, report = local_counts(detector, table)
    merged = np.array([getattr(column, "merged", False) for column in found.columns])
    for column, own, other in zip(
        found.columns, found.profile.counts, expected.counts, strict=True
    ):
        assert own.tolist() == other.tolist(), column
    for own, other in zip(found.profile.pairs, expected.pairs, strict=True):
        assert own.tolist() == other.tolist()
    for name in ("num_missing", "num_out_of_range", "num_odd"):
        assert getattr(found.report, name).tolist() == getattr(report, name).tolist(), name
    assert found.report.num_unseen.tolist() == np.where(merged, 0, report.num_unseen).tolist()


@pytest.mark.parametrize("new", [False, True])
def test_counts_of_duckdb_are_those_of_the_encoder(detector, new):
    batch = odd_table(400, 1, new=new)
    connection = duckdb.connect()
    connection.register("odd", batch)
    found = hld.sql.count(detector, connection, "odd")
    assert any(
        getattr(column, "merged", False) for column in found.columns
    )  # rare levels are among them
    assert {column.kind for column in found.columns} >= {
        "categorical",
        "continuous",
        "integer",
        "boolean",
        "date",
        "time",
    }
    assert_same(found, detector, batch)
    assert connection.execute("SELECT count(*) FROM odd").fetchone() == (400,)


def test_numbers_at_edges_and_their_neighbours():
    rng = np.random.default_rng(0)
    training = np.concatenate(
        [rng.normal(size=300), [0.1, 0.30000000000000004, 1 / 3, 5e-324, -0.0, 1e308]]
    )
    detector = hld.HLDDetector(**OPTIONS, continuous=["x"]).fit(
        pd.DataFrame({"x": training, "y": training > 0})
    )
    column = detector.encoder_.columns[0]
    marks = np.array([column.low, *column.edges, column.high])
    odd = [np.nan, np.inf, -np.inf]
    cells = np.concatenate([marks, np.nextafter(marks, -np.inf), np.nextafter(marks, np.inf), odd])
    batch = pd.DataFrame({"x": cells, "y": True})
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x DOUBLE, y BOOLEAN)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", batch.to_numpy(dtype=object).tolist())
    assert_same(hld.sql.count(detector, connection, "t"), detector, batch)


@pytest.mark.parametrize("zone", [False, True])
def test_moments_at_edges_and_parts_of_dates(zone):
    rng = np.random.default_rng(1)
    times = np.datetime64("1969-12-25") + rng.integers(0, 10**13, size=300).astype("m8[us]")
    schema = hld.TableSchema(hld.calendar_columns("t", ("weekday", "hour", "month"), keep=True))
    detector = hld.HLDDetector(**OPTIONS, schema=schema).fit(
        pd.DataFrame({"t": times, "n": rng.integers(2, size=300)})
    )
    column = next(one for one in detector.encoder_.columns if one.name == "t")
    marks = np.array([round(mark * 1e6) for mark in (column.low, *column.edges, column.high)])
    micros = np.concatenate([marks - 1, marks, marks + 1, [-1, 0, 999_999]])
    moments = pd.Series(micros.astype("M8[us]"))
    batch = pd.DataFrame({"t": moments.dt.tz_localize("UTC") if zone else moments, "n": 0})
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("t", batch)
    assert_same(hld.sql.count(detector, connection, "t"), detector, batch)


def test_a_column_of_another_type_is_odd_and_one_that_is_not_there_missing(detector):
    batch = odd_table(60, 2)
    connection = duckdb.connect()
    connection.register("odd", batch)
    query = """SELECT * EXCLUDE ("si""ze", many, count), 'x' AS many, 'y' AS count, 1 AS other FROM odd"""
    found = hld.sql.count(detector, connection, query)
    local = batch.drop(columns=['si"ze']).assign(many="x", count="y", other=1)
    assert_same(found, detector, local)
    assert (found.absent, found.extra) == (('si"ze',), ("other",))


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A server of PostgreSQL, where there is one, on a socket in a folder of its own."""
    pytest.importorskip("psycopg")
    program = shutil.which("pg_ctl") or next(
        map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")), None
    )
    if program is None:
        pytest.skip("no server of PostgreSQL on this machine")
    import getpass
    import os
    import tempfile

    bin_, folder = (
        pathlib.Path(program).resolve().parent,
        pathlib.Path(tempfile.mkdtemp(prefix="hld-pg-")),
    )
    as_user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        folder.chmod(0o777)
        as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    user = "nobody" if as_user else getpass.getuser()
    run = {"check": True, "capture_output": True, "timeout": 60, "cwd": "/"}
    try:
        subprocess.run(
            [
                *as_user,
                str(bin_ / "initdb"),
                "-D",
                f"{folder}/data",
                "-U",
                user,
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-sync",
            ],
            **run,
        )
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        subprocess.run(
            [
                *as_user,
                str(bin_ / "pg_ctl"),
                "-D",
                f"{folder}/data",
                "-o",
                options,
                "-l",
                f"{folder}/log",
                "-w",
                "start",
            ],
            **{**run, "capture_output": False, "stdout": subprocess.DEVNULL},
        )
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL does not start here: {error}")
    yield (
        f"postgres://{user}@/postgres?host={folder}",
        {"user": user, "host": str(folder), "dbname": "postgres"},
    )
    subprocess.run(
        [*as_user, str(bin_ / "pg_ctl"), "-D", f"{folder}/data", "-m", "immediate", "stop"], **run
    )
    shutil.rmtree(folder, ignore_errors=True)


def test_counts_of_postgres_are_those_of_the_encoder(detector, postgres):
    batch = odd_table(300, 4, new=True)
    types = [
        "text",
        "double precision",
        "real",
        "bigint",
        "integer",
        "timestamp",
        "boolean",
        "bigint",
        "text",
        "date",
        "time",
        "numeric(8, 2)",
    ]
    with psycopg.connect(**postgres[1], autocommit=True) as connection:
        names = [psycopg.sql.Identifier(name).as_string(connection) for name in batch.columns]
        connection.execute(
            f'CREATE TABLE "odd; --" ({", ".join(map(" ".join, zip(names, types, strict=True)))})'
        )
        rows = batch.astype(object).where(batch.notna(), None).to_numpy().tolist()
        with connection.cursor() as cursor:
            cursor.executemany(
                f'INSERT INTO "odd; --" VALUES ({", ".join(["%s"] * len(names))})', rows
            )
        found = hld.sql.count(detector, connection, "odd; --")
        assert_same(found, detector, batch)
        result = hld.sql.test(detector, connection, "odd; --")
        assert result.num_samples == 300
        assert result.reject  # new levels, infinities


@pytest.mark.parametrize("start", ["", "/* all */ ", "-- all\n"])
def test_queries_of_postgres_need_no_right_to_write(postgres, start):
    rng = np.random.default_rng(13)
    table = pd.DataFrame(
        {
            "a": rng.choice(["x", "y"], size=300),
            "b": rng.normal(size=300),
            "c": [datetime.date(2024, 3, 1 + k) for k in rng.integers(0, 3, size=300)],
            "d": [Decimal(int(k)) / 10 for k in rng.integers(0, 999, size=300)],
        }
    )
    detector = hld.HLDDetector(**OPTIONS, categorical=["c"]).fit(table)
    with psycopg.connect(**postgres[1], autocommit=True) as connection:
        connection.execute("CREATE TABLE queried (a varchar(9), b float8, c date, d numeric(9, 1))")
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO queried VALUES (%s, %s, %s, %s)", table.to_numpy(dtype=object).tolist()
            )
        connection.execute("SET default_transaction_read_only = on")
        found = hld.sql.count(
            detector, connection, f"{start}SELECT *, 'x%s' AS e FROM queried; -- the end"
        )
        assert_same(found, detector, table)
        assert found.extra == ("e",)
        with pytest.raises(ValueError, match=r"`query` must be one SELECT that writes nothing"):
            hld.sql.count(detector, connection, f"{start}SELECT 1 AS a; DROP TABLE queried")
    with psycopg.connect(
        **postgres[1]
    ) as connection:  # what fails leaves a connection that can go on
        with pytest.raises(ValueError, match=r"the table cannot be counted: .*division by zero"):
            hld.sql.count(
                detector, connection, f"{start}SELECT a, 1 / (length(a) - 1) AS b FROM queried"
            )
        assert_same(hld.sql.count(detector, connection, "queried"), detector, table)
        connection.execute("DROP TABLE queried")


def test_a_connection_of_postgres_counts_a_table_again_that_has_got_another_column(postgres, small):
    with (
        psycopg.connect(**postgres[1], autocommit=True) as owner,
        psycopg.connect(**postgres[1], autocommit=True) as reader,
    ):
        owner.execute("CREATE TABLE growing (kind text, size integer)")
        with owner.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO growing VALUES (%s, %s)", SMALL.to_numpy(dtype=object).tolist()
            )
        for _ in range(7):  # after the fifth time psycopg prepares a statement
            assert hld.sql.count(small, reader, "growing").extra == ()
        owner.execute("ALTER TABLE growing ADD COLUMN later date")
        found = hld.sql.count(small, reader, "growing")
        assert found.extra == ("later",)
        assert_same(found, small, SMALL)
        owner.execute("DROP TABLE growing")


@pytest.mark.parametrize("query", ["small", "SELECT * FROM small"])
def test_connections_of_postgres_that_make_something_else_of_rows(postgres, query, small):
    for one in (psycopg.rows.dict_row, psycopg.rows.scalar_row):
        with psycopg.connect(
            **postgres[1], row_factory=one, cursor_factory=psycopg.RawCursor
        ) as connection:
            connection.execute("CREATE TABLE small AS SELECT 'a' AS kind, 1 AS size")
            assert_same(hld.sql.count(small, connection, query), small, SMALL[:1].assign(size=1))
            assert (connection.row_factory, connection.cursor_factory) == (one, psycopg.RawCursor)
            with pytest.raises(ValueError, match="cannot be read"):
                hld.sql.count(small, connection, "SELECT * FROM nosuch")
            assert (connection.row_factory, connection.cursor_factory) == (one, psycopg.RawCursor)
            connection.rollback()


def test_tables_of_postgres_are_found_in_every_schema_of_the_search_path(postgres, small):
    with psycopg.connect(**postgres[1]) as connection:
        connection.execute(
            'CREATE SCHEMA "nobody\'s"; CREATE SCHEMA "a.b"; SET search_path TO "nobody\'s", public'
        )
        for place in ('public."in public"', '"nobody\'s"."in.mine"', '"a.b"."c""d"'):
            connection.execute(f"CREATE TABLE {place} AS SELECT 'a' AS kind, 1 AS size")
        connection.execute('CREATE VIEW public.seen AS SELECT * FROM "in public"')
        for name in ("in public", "public.in public", "in.mine", 'a.b.c"d', "seen"):
            assert_same(hld.sql.count(small, connection, name), small, SMALL[:1].assign(size=1))
        for name in ("In Public", "public.in.mine", "nosuch"):
            with pytest.raises(
                ValueError,
                match="cannot be read: expected the name of a table that the database has",
            ):
                hld.sql.count(small, connection, name)
        connection.rollback()


@pytest.mark.parametrize("is_autocommit", [False, True])
def test_functions_of_postgres_that_write_are_refused(postgres, is_autocommit, small):
    with psycopg.connect(**postgres[1], autocommit=is_autocommit) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'a' AS kind, 1 AS size")
        connection.execute(
            "CREATE FUNCTION taken() RETURNS SETOF kept LANGUAGE sql "
            "AS 'DELETE FROM kept RETURNING *'"
        )
        with pytest.raises(
            ValueError, match=r"cannot be counted: cannot execute DELETE in a read-only transaction"
        ):
            hld.sql.count(small, connection, "SELECT * FROM taken()")
        assert hld.sql.count(small, connection, "kept").profile.counts[0].sum() == 1
        connection.execute("DROP TABLE kept CASCADE")  # its owner may still write
        connection.execute("DROP FUNCTION IF EXISTS taken")
        connection.commit()


@pytest.mark.parametrize("way", ["name", "query", "schema", "ibis", "expression"])
def test_types_of_their_own_of_postgres_are_read_as_what_they_are_made_of(postgres, way):
    rng = np.random.default_rng(14)
    table = pd.DataFrame(
        {"kind": rng.choice(["book", "it's"], 300), "size": rng.integers(0, 3, 300)}
    )
    detector = hld.HLDDetector(**OPTIONS).fit(table)
    batch = pd.concat([table[:90], pd.DataFrame({"kind": ["new", None], "size": [1, None]})])
    with psycopg.connect(**postgres[1]) as connection:
        connection.execute("CREATE TYPE kinds AS ENUM ('book', 'it''s', 'new', 'none yet')")
        connection.execute("CREATE DOMAIN sizes AS integer CHECK (value >= 0)")
        connection.execute('CREATE TABLE "own 100%s" (kind kinds, size sizes)')
        with connection.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO "own 100%%s" VALUES (%s, %s)',
                batch.astype(object).where(batch.notna(), None).to_numpy().tolist(),
            )
        named = ibis.postgres.from_connection(connection).table("own 100%s")
        source = {
            "name": (connection, "own 100%s"),
            "query": (connection, 'SELECT * FROM "own 100%s"'),
            "schema": (connection, "public.own 100%s"),
            "ibis": (named,),
            "expression": (named.mutate(half=1).limit(1000),),
        }[way]
        assert_same(hld.sql.count(detector, *source), detector, batch)
        connection.rollback()


# -- the test ------------------------------------------------------------------------------------------------


def test_ibis_tables_and_files(detector, tmp_path):
    batch = odd_table(50, 11)
    with duckdb.connect(str(tmp_path / "o.db")) as connection:
        connection.register("b", batch)
        connection.execute('CREATE TABLE "a b" AS SELECT * FROM b')
    expected = hld.sql.test(detector, f"duckdb://{tmp_path}/o.db", "a b")
    table = ibis.duckdb.connect(tmp_path / "o.db", read_only=True).table("a b")
    assert hld.sql.test(detector, table).pvalue == expected.pvalue
    assert (
        hld.sql.test(detector, table.get_backend(), '-- all\nSELECT * FROM "a b"').pvalue
        == expected.pvalue
    )


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda d: hld.sql.test("model", "", "t"), TypeError, "`detector` must be an HLDDetector"),
        (lambda d: hld.sql.test(d, 3, "t"), TypeError, "`source` must be"),
        (lambda d: hld.sql.test(d, ""), ValueError, "`query` is needed"),
        (
            lambda d: hld.sql.test(d, "", "no such table"),
            ValueError,
            "'no such table' cannot be read",
        ),
        (lambda d: hld.sql.test(d, "/no/such/file.db", "t"), ValueError, "cannot be opened"),
        (
            lambda d: hld.sql.test(d, "", "SELECT 1 AS other"),
            ValueError,
            "none of the fitted columns",
        ),
        (lambda d: hld.sql.test(d, "", "SELECT 1 AS many WHERE 1 = 0"), ValueError, "0 rows"),
        (
            lambda d: hld.sql.test(d, "", "SELECT [1] AS many"),
            TypeError,
            "'many' of the database is of type",
        ),
        (lambda d: hld.sql.test(d, "", "SELECT INTERVAL 1 DAY AS many"), TypeError, "to seconds"),
        (lambda d: hld.sql.test(d, "", "SELECT 1 AS many", 2), ValueError, "`alpha`"),
    ],
)
def test_bad_arguments(detector, call, error, match):
    with pytest.raises(error, match=match):
        call(detector)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM kept; DROP TABLE kept",
        "SELECT * FROM kept; SELECT 1",
        "WITH x AS (DELETE FROM kept RETURNING *) SELECT * FROM x",
        "SELECT * INTO other FROM kept",
        "SELECT 1; DELETE FROM kept",
    ],
)
def test_only_one_statement_that_reads_is_carried_out(detector, query):
    database = duckdb.connect()
    database.execute("CREATE TABLE kept AS SELECT 1 AS many")
    with pytest.raises(ValueError, match=r"`query` must be one SELECT that writes nothing, found"):
        hld.sql.test(detector, database, query)
    assert database.execute("SELECT count(*) FROM kept").fetchone() == (1,)
    assert hld.sql.test(detector, database, "SELECT many, ';' AS other FROM kept;").num_samples == 1
