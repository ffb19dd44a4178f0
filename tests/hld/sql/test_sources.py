"""What a caller names as a database and a table: found, opened for reading, or refused without a password."""

import contextlib
import sqlite3
import sys
import traceback
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hld

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
import duckdb
import ibis

import hld.sql
from hld.sql import tables
from hld.sql.sources import table_of, without_secrets

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore:.*infer_string"
)  # of ibis and pandas 3


OPTIONS = {"num_latents": 2, "num_epochs": 1, "num_resamples": 19, "metric": "likelihoods"}


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    return hld.HLDDetector(**OPTIONS).fit(
        pd.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.integers(0, 2, 90)})
    )


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of SQLite whose name has to be quoted."""
    connection = sqlite3.connect(tmp_path / "a b?#%41.db")
    connection.execute("CREATE TABLE t AS SELECT 1 AS a, 1 AS b")
    connection.commit()
    connection.close()
    return tmp_path


@pytest.mark.parametrize("place", ["{}/none.db", "{}/no folder/none.db", "{}", "none.db", ""])
def test_a_file_of_sqlite_that_is_not_there_is_refused_and_not_made(
    detector, folder, place, monkeypatch
):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    with pytest.raises(
        ValueError, match=r"`source` 'sqlite://.*' cannot be opened: there is no file"
    ):
        hld.sql.count(detector, "sqlite://" + place.format(folder), "t")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("place", ["{}/a b?#%41.db", "/{}/a b?#%41.db", "a b?#%41.db"])
def test_files_of_sqlite_are_opened_for_reading(detector, folder, place, monkeypatch):
    monkeypatch.chdir(folder)
    url = "sqlite://" + place.format(folder)
    assert hld.sql.count(detector, url, "t").profile.num_rows == 1
    connection = table_of(url, "SELECT * FROM t").get_backend()
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.con.execute("INSERT INTO t VALUES (2, 2)")
    connection.disconnect()


def test_what_is_no_file_of_sqlite_is_refused_and_left_closed(detector, tmp_path, monkeypatch):
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda *args, **named: opened.append(connect(*args, **named)) or opened[-1],
    )
    (tmp_path / "t.db").write_text("a,b\n" * 1000, encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be opened: file is not a database"):
        hld.sql.count(detector, f"sqlite://{tmp_path}/t.db", "t")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://me:SECRET@host/shop", "postgres://host/shop"),
        ("postgres://me:pa@SECRET@host:5432/shop", "postgres://host:5432/shop"),
        ("postgres://me:pa/SECRET@host/shop", "postgres://host/shop"),
        ("postgres://me:pa?SECRET@host/shop", "postgres://***"),
        ("postgres://me:%53ECRET@host/shop", "postgres://host/shop"),
        ("postgres://me:SECRET", "postgres://***"),
        ("postgres://host:5432/shop", "postgres://host:5432/shop"),
        ("postgres://host:1/shop?user=me&password=SECRET", "postgres://host:1/shop"),
        ("postgres://host/shop?password=SE@CRET&user=me", "postgres://host/shop"),
        ("postgres://host/shop?p%61ssword=SECRET", "postgres://host/shop"),
        ("duckdb:///my.db?motherduck_token=SECRET", "duckdb:///my.db"),
        ("host=h password=SECRET user=me", "***"),
        (r"host=h password = 'SE\' CRET' user=me", "***"),
        ("/data/shop.db", "/data/shop.db"),
    ],
)
def test_no_password_is_shown(url, shown):
    assert without_secrets(url, url) == shown
    words = ["SECRET"] if "SECRET" in url.replace("%53", "S") else ["SE", "CRET"]
    for word in words if "CRET" in url else ():
        assert word not in without_secrets(f"cannot reach {url}: {word}", url)
    assert "SECRET" not in without_secrets(f"{url}: xSECRETx", url) or words != ["SECRET"]


@pytest.mark.parametrize(
    "url",
    [
        "postgres://localhost:1/db?user=u&password=SECRET",
        "postgres://u:pa@SECRET@localhost:1/db",
        "postgress://u:SECRET@localhost/db",
        "nosuch://host/db?token=SECRET",
        "host=h password=SECRET",
        "duckdb:///no/such/shop.db?password=SECRET",
        f"nosuch://{'x' * 240}/db?password={'SECRET' * 99}",
    ],
)
def test_no_error_shows_a_password(detector, url):
    with pytest.raises(ValueError, match="cannot be opened") as caught:
        hld.sql.test(detector, url, "t")
    assert "SEC" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "start", ["/* c */ ", "/* a; 'b' \n -- c */\n", "-- c\n", " \n--\n/**/ -- d\n", "(/* c */ "]
)
def test_a_query_may_begin_with_a_comment(detector, start):
    connection = duckdb.connect()
    end = ")" * start.startswith("(")
    query = f"{start}SELECT 1 AS a, 1 AS b{end}"
    assert hld.sql.count(detector, connection, query).profile.num_rows == 1
    assert hld.sql.count(detector, connection, query + "; -- the end").profile.num_rows == 1
    with pytest.raises(ValueError, match="`query` must be one SELECT that writes nothing"):
        hld.sql.count(
            detector, connection, f"{start}SELECT 1 AS a{end}; CREATE TABLE made AS SELECT 1 AS a"
        )
    assert not connection.execute("SHOW TABLES").fetchall()


@pytest.mark.parametrize("name", ["selected", "from_shop", "values-2024", "with"])
def test_names_of_tables_are_no_queries(detector, name):
    connection = duckdb.connect()
    connection.execute(f'CREATE TABLE "{name}" AS SELECT 1 AS a, 1 AS b')
    assert hld.sql.count(detector, connection, name).profile.num_rows == 1


def test_what_a_database_cannot_count_is_said_in_one_sentence(detector):
    query = "SELECT CASE WHEN random() >= 0 THEN error('bad luck') ELSE 1 END AS a, 1 AS b FROM range(3)"
    with pytest.raises(ValueError, match=r"^the table cannot be counted: .*bad luck"):
        hld.sql.count(detector, duckdb.connect(), query)


@pytest.mark.parametrize("is_joined", [False, True])
def test_rows_in_memory_are_for_the_test_of_rows(detector, is_joined):
    rows = ibis.memtable(pd.DataFrame({"a": [0, 1], "b": [0, 1]}))
    if is_joined:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        rows = ibis.duckdb.from_connection(connection).table("t").join(rows, "a")
    with pytest.raises(
        ValueError,
        match=r"`source` has rows that are in memory, .*: give them to `HLDDetector.test`",
    ):
        hld.sql.count(detector, rows)


def test_tables_of_no_database_are_refused(detector):
    with pytest.raises(
        ValueError, match="the table cannot be counted: Expression contains unbound tables"
    ):
        hld.sql.count(detector, ibis.table({"a": "int64", "b": "int64"}, name="t"))


def test_connections_of_other_libraries_are_refused_by_name(detector):
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as source,
        pytest.raises(
            TypeError,
            match=r"a connection of ibis, duckdb or psycopg, .* found sqlite3\.Connection$",
        ),
    ):
        hld.sql.test(detector, source, "t")


@pytest.fixture
def database():
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA shop")
    connection.execute(
        "CREATE TABLE shop.t AS SELECT range % 3 AS a, range % 2 AS b FROM range(12)"
    )
    connection.execute('CREATE TABLE "shop.odd" AS SELECT 1 AS a, 1 AS b')
    return connection


def test_a_dot_stands_between_schema_and_name_unless_it_is_in_the_name(detector, database):
    assert hld.sql.count(detector, database, "shop.t").profile.num_rows == 12
    assert hld.sql.count(detector, database, "shop.odd").profile.num_rows == 1


def test_rows_without_names_are_matched_by_position(database):
    detector = hld.HLDDetector(**OPTIONS).fit(np.random.default_rng(0).integers(0, 2, size=(60, 2)))
    found = hld.sql.count(detector, database, "SELECT b, 0 AS other FROM shop.t")
    assert [counts.tolist() for counts in found.profile.counts] == [[6, 6, 0, 0], [12, 0, 0, 0]]
    with pytest.raises(
        ValueError, match="the table has 1 columns, expected 2: the detector was fitted to rows"
    ):
        hld.sql.count(detector, database, "SELECT b FROM shop.t")


def test_a_table_needs_no_query(detector, database):
    table = ibis.duckdb.from_connection(database).table("t", database="shop")
    assert hld.sql.count(detector, table).profile.num_rows == 12
    with pytest.raises(
        ValueError, match="`source` is a table, so there is nothing to ask for by `query`"
    ):
        hld.sql.count(detector, table, "t")


def test_values_that_the_schema_refuses_are_refused(database):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.integers(0, 2, 90)})
    schema = hld.TableSchema([hld.ColumnSchema("a", policy="refuse")])
    detector = hld.HLDDetector(**OPTIONS, schema=schema).fit(table)
    assert hld.sql.count(detector, database, "shop.t").profile.num_rows == 12
    with pytest.raises(
        ValueError, match="column 'a' of the database holds 4 values that training did not show"
    ):
        hld.sql.count(detector, database, "SELECT a + 1 AS a, b FROM shop.t")


def test_a_table_that_changes_while_it_is_counted_is_refused(detector, database, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK", 1)
    monkeypatch.setattr(detector, "profile_", _without_edges(detector.profile_))
    right = tables._counted

    def counted(*args):
        found = right(*args)
        database.execute("INSERT INTO shop.t VALUES (0, 0)")
        return found

    monkeypatch.setattr(tables, "_counted", counted)
    with pytest.raises(
        ValueError, match="the table changed while it was counted: test a snapshot of it"
    ):
        hld.sql.count(detector, database, "shop.t")


def _without_edges(profile):
    """A profile whose columns are counted one by one, hence in several queries."""
    return replace(profile, edges=np.zeros((0, 2), dtype=np.int64), pairs=())


def test_without_ibis_it_says_what_to_install(detector, monkeypatch):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(ImportError, match=r"pip install 'hld\[sql\]'"):
        hld.sql.count(detector, "duckdb://", "t")
