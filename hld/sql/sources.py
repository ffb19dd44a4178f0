"""A table of ibis from what a caller names: a table, a connection, or a URL, with the name of a table or a query.

Nothing is written: files are opened for reading and have to be there, and a query is one statement that reads.  No
error message shows a password.
"""

import contextlib
import pathlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote_plus

INSTALL = "counting in a database needs ibis: pip install 'hld[sql]'"
QUERY = re.compile(
    r"(?:[\s(]|--[^\n]*\n|/\*.*?\*/)*(?:select|with|from|values|table)\b(?=[\s(*'\"`]|/\*|--)",
    re.IGNORECASE | re.DOTALL,
)
# a query must not fetch code from a server, nor make a folder for it
NO_EXTENSIONS = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
HIDDEN, SHORT = "***", 3  # words that are hidden only where they stand alone: up to so many letters
# who signs in, the place, and options, of what follows :// in a URL
PLACE = re.compile(r"(?:[^?]*@)?([^:@?/]*(?::\d+)?(?:/[^?@]*)?)(?:\?.*)?", re.DOTALL)


def table_of(source: Any, query: str | None = None) -> Any:
    """A table of ibis, nothing of which has been read."""
    try:
        import ibis
    except ImportError as error:
        raise ImportError(INSTALL) from error
    if isinstance(source, ibis.Table):
        if query is not None:
            raise ValueError(
                "`source` is a table, so there is nothing to ask for by `query`: leave it out"
            )
        if source.op().find(ibis.expr.operations.InMemoryTable):
            raise ValueError(
                "`source` has rows that are in memory, expected a table in a database: give them to "
                "`HLDDetector.test`, or create a table of them first"
            )
        return _as_typed(ibis, source)
    if query is None:
        raise ValueError("`query` is needed with a connection: the name of a table, or a SELECT")
    connection = _connection(ibis, source)
    try:
        return _asked(ibis, connection, query)
    except Exception:
        if isinstance(source, str):
            connection.disconnect()
        raise


def _asked(ibis: Any, connection: Any, query: str) -> Any:
    """What a query of a connection gives, or the table of that name."""
    statement = _one_that_reads(query, connection) if QUERY.match(query) else None
    try:
        if statement is None:
            return _named(connection, query)
        schema = _postgres_schema(connection, statement) if connection.name == "postgres" else None
        return connection.sql(statement, schema=schema)
    except ibis.common.exceptions.TableNotFound as error:
        raise ValueError(
            f"`query` {query!r} cannot be read: expected the name of a table that the database has, or a "
            "SELECT"
        ) from error
    except Exception as error:  # each engine has errors of its own
        raise ValueError(f"`query` {query!r} cannot be read: {one_line(error)}") from error


def _one_that_reads(query: str, connection: Any) -> str:
    """The one statement of a query; ValueError for a second one, or one that writes: it would be carried out."""
    import sqlglot
    from sqlglot import exp

    try:
        statements = [
            one for one in sqlglot.parse(query, read=connection.dialect) if one is not None
        ]
    except sqlglot.errors.SqlglotError as error:
        raise ValueError(f"`query` {query!r} cannot be read: {one_line(error)}") from error
    is_plain = len(statements) == 1 and connection.name != "postgres"
    statements = [
        one for one in statements if not isinstance(one, exp.Semicolon)
    ]  # a comment after the last one
    writes = any(one.find(exp.DML, exp.DDL, exp.Drop, exp.Into, exp.Command) for one in statements)
    if len(statements) != 1 or writes or not isinstance(statements[0], (exp.Query, exp.Values)):
        raise ValueError(f"`query` must be one SELECT that writes nothing, found {query[:200]!r}")
    return query if is_plain else str(statements[0].sql(dialect=connection.dialect, comments=False))


def _as_typed(ibis: Any, table: Any) -> Any:
    """A table of ibis, of PostgreSQL with the types that the server has; it may be of no database, or not readable.

    ibis takes an ENUM for text, but PostgreSQL compares one with none of the words that it does not have, and a domain
    for a type that nobody knows.
    """
    try:
        connection = table.get_backend()
        if connection.name != "postgres":
            return table
        statement = ibis.to_sql(table, dialect="postgres")
        return connection.sql(statement, schema=_postgres_schema(connection, statement))
    except Exception as error:  # each engine has errors of its own
        raise ValueError(f"the table cannot be counted: {one_line(error)}") from error


def _postgres_schema(connection: Any, query: str) -> dict[str, Any]:
    """Names and types of what a query gives; ibis would make a view of it, which takes a right to write.

    Not as a prepared statement, which psycopg makes of what was sent five times: it fails once the table has changed.
    """
    read = connection.compiler.type_mapper.from_string
    with reading(connection) as cursor:
        cursor.execute(f"SELECT * FROM ({query}) AS t LIMIT 0", prepare=False)
        found = [
            (one.name, one.type_code, cursor.pgresult.fmod(i))
            for i, one in enumerate(cursor.description)
        ]
        types = [
            cursor.execute("SELECT format_type(%s, %s)", one[1:]).fetchone()[0] for one in found
        ]
    return {name: read(kind) for (name, *_), kind in zip(found, types, strict=True)}


@contextlib.contextmanager
def rows_as_tuples(source: Any) -> Iterator[None]:
    """Have a connection of psycopg give tuples meanwhile, which its owner may have told to give something else."""
    if type(source).__module__.partition(".")[0] != "psycopg":
        yield
        return
    import psycopg.rows

    own = source.row_factory, source.cursor_factory
    source.row_factory, source.cursor_factory = psycopg.rows.tuple_row, psycopg.Cursor
    try:
        yield
    finally:
        source.row_factory, source.cursor_factory = own


@contextlib.contextmanager
def reading(connection: Any) -> Iterator[Any]:
    """A cursor of PostgreSQL in a transaction of its own, in which functions that a query calls cannot write either.

    After an error the connection can go on.
    """
    with connection.con.transaction(), connection.con.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        yield cursor


def _named(connection: Any, name: str) -> Any:
    """A table by its name, as it is; else by schema and name with a dot between."""
    if connection.name == "postgres":
        return _found_in_postgres(connection, name)
    if name in connection.list_tables() or "." not in name:
        return connection.table(name)
    schema, _, own = name.rpartition(".")
    return connection.table(own, database=schema)


def _found_in_postgres(connection: Any, name: str) -> Any:
    """A table by its name, in any schema of the search path, of which ibis would look into the first alone."""
    for parts in ([name], name.rsplit(".", 1)):
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
        with reading(connection) as cursor:
            is_there = cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [quoted]).fetchone()[0]
        if is_there:
            statement = f"SELECT * FROM {quoted}"
            return connection.sql(statement, schema=_postgres_schema(connection, statement))
    return connection.table(name)  # raises


def _connection(ibis: Any, source: Any) -> Any:
    """A connection of ibis."""
    if hasattr(source, "list_tables"):
        return source
    if isinstance(source, str):
        return _opened(ibis, source)
    module = type(source).__module__.partition(".")[0].lstrip("_")
    if module == "duckdb":
        return ibis.duckdb.from_connection(source)
    if module == "psycopg":
        return ibis.postgres.from_connection(source)
    raise TypeError(
        "`source` must be a table of ibis, a connection of ibis, duckdb or psycopg, or the URL of a "
        f"database, found {type(source).__module__}.{type(source).__qualname__}"
    )


def _opened(ibis: Any, url: str) -> Any:
    """The connection that a URL, or the path of a file of DuckDB, names."""
    if url in ("", "duckdb", "duckdb://"):
        return ibis.duckdb.connect(**NO_EXTENSIONS)
    path = url.removeprefix("duckdb://").replace("//", "/")
    try:
        if url.startswith("sqlite://"):
            return _sqlite(ibis, url.removeprefix("sqlite://"))
        if url.startswith("duckdb:///"):
            _check_file(path, "duckdb")
        if url.startswith("duckdb://") or "://" not in url:
            return ibis.duckdb.connect(path, read_only=True, **NO_EXTENSIONS)
        return ibis.connect(url)
    except Exception as error:
        text = without_secrets(str(error), url)
        raise ValueError(
            f"`source` {without_secrets(url, url)!r} cannot be opened: {one_line(text)}"
        ) from (
            error if text == str(error) else None
        )  # whose own message would show what is hidden


def _sqlite(ibis: Any, path: str) -> Any:
    """A file of SQLite, opened for reading; SQLite itself would make one where there is none."""
    import sqlite3

    _check_file(path, "sqlite")
    place = quote(str(pathlib.Path(path).absolute()))
    connection = sqlite3.connect(f"file://{place}?mode=ro", uri=True)
    try:
        return ibis.sqlite.from_connection(
            connection
        )  # the first to read the file, which may be of another kind
    except Exception:
        connection.close()
        raise


def _check_file(path: str, scheme: str) -> None:
    """Raise unless there is a file; elsewhere three slashes are common for a path that is not absolute."""
    if not pathlib.Path(path).is_file():
        raise FileNotFoundError(
            f"there is no file {path!r}: give the path of one after {scheme}://, which is absolute "
            "with a third slash"
        )


def without_secrets(text: str, url: str) -> str:
    """A text that may name the URL of a database as it may be shown: without who signs in, and without options.

    Their words are hidden wherever they stand, long ones as parts of others, too.
    """
    scheme, mark, rest = url.partition("://")
    place = PLACE.fullmatch(rest)
    if mark:
        shown = f"{scheme}://{place[1] if place else HIDDEN}"
    else:
        shown = HIDDEN if "=" in url else url
    text = text.replace(url, shown)
    if shown == url or text == shown:
        return text
    written = f"{rest or url} {unquote_plus(rest or url)}"
    for word in sorted({*re.split(r"[:@?&=/#\s'\\]+", written)} - {""}, key=len, reverse=True):
        is_place = mark and place is not None and word in re.split("[:/]", place[1])
        whole = "" if len(word) > SHORT else r"\b"
        if not is_place:
            text = re.sub(f"{whole}{re.escape(word)}{whole}", HIDDEN, text)
    return text


def one_line(error: Exception | str) -> str:
    """What an error says, in one line, without the colours of a terminal."""
    return " ".join(re.sub(r"\x1b\[[\d;]*m", "", str(error)).split())[:300]
