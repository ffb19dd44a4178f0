"""Tables in databases: found by schema and name, by position or by a query, or refused with the reason."""

import sys

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

OPTIONS = {"num_latents": 2, "num_epochs": 1, "num_resamples": 19, "metric": "likelihoods"}


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    return hld.HLDDetector(**OPTIONS).fit(
        pd.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.integers(0, 2, 90)})
    )


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


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT nothing FROM shop.t", "`query` 'SELECT nothing FROM shop.t' cannot be read: "),
        ("SELECT * FROM (", r"`query` 'SELECT \* FROM \(' cannot be read: "),
    ],
)
def test_queries_that_the_database_refuses_are_shown(detector, database, query, message):
    with pytest.raises(ValueError, match=message):
        hld.sql.count(detector, database, query)


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

    def counted(coded, block):
        found = right(coded, block)
        database.execute("INSERT INTO shop.t VALUES (0, 0)")
        return found

    monkeypatch.setattr(tables, "_counted", counted)
    with pytest.raises(
        ValueError, match="the table changed while it was counted: test a snapshot of it"
    ):
        hld.sql.count(detector, database, "shop.t")


def _without_edges(profile):
    """A profile whose columns are counted one by one, hence in several queries."""
    from dataclasses import replace

    return replace(profile, edges=np.zeros((0, 2), dtype=np.int64), pairs=())


def test_other_databases_are_read_through_ibis(detector, database, monkeypatch):
    """Of which the result has names and types; the same counts as by the shortest way."""
    expected = hld.sql.count(detector, database, "shop.t")
    connection = ibis.duckdb.from_connection(database)
    monkeypatch.setattr(type(connection), "name", "another")
    monkeypatch.setattr(
        ibis, "to_sql", lambda one, dialect, to_sql=ibis.to_sql: to_sql(one, dialect="duckdb")
    )
    found = hld.sql.count(detector, connection.table("t", database="shop"))
    for own, other in zip(
        found.profile.counts + found.profile.pairs,
        expected.profile.counts + expected.profile.pairs,
        strict=True,
    ):
        np.testing.assert_array_equal(own, other)


def test_without_ibis_it_says_what_to_install(detector, monkeypatch):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(ImportError, match=r"pip install 'hld\[sql\]'"):
        hld.sql.count(detector, "duckdb://", "t")
