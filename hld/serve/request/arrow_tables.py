"""Parquet and Arrow in memory, from strangers: measured before they are read, checked before they are used.

A page of Parquet may decompress to a thousand times its size, and a dictionary of one long text may stand for a
million rows: the sizes that the pages state bound the former (`hld.serve.request.parquet_pages`; what the end of the
file states is checked first, but may be wrong), and texts stay dictionaries, so that the latter costs nothing.
Columns of Arrow may overlap in memory, which their sizes added up show; compressed ones do not say what they will
become and are refused.  Offsets that point outside their buffers are found by Arrow's full validation.

A column that the model does not know may be of any type: if it has no plain values, only its name is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hld.serve.limits import EXPANSION, Limits
from hld.serve.refusals import Refusal
from hld.serve.request.known_columns import is_needed
from hld.serve.request.parquet_pages import unpacked_size
from hld.table_files.row_chunks import ROWS
from hld.tables.forms import refuse_repeated

PLAIN = (
    "int",
    "uint",
    "float",
    "double",
    "half",
    "bool",
    "string",
    "large_string",
    "timestamp",
    "date",
    "time",
    "duration",
    "decimal",
    "null",
)
FILE = b"ARROW1"
BATCHES = (
    "record batch",
    "dictionary",
)  # messages with buffers; a dictionary is a record batch of its own
LONGEST_CELL = 64  # bytes of a cell of fixed length in Parquet, such as a decimal number


def parquet_chunks(body: bytes, encoder: Any, limits: Limits) -> Iterator[Any]:
    """The row batches of a Parquet file as Arrow tables."""
    import pyarrow
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(body)).metadata
        _check_columns(found.num_columns, encoder, limits)
        groups = [
            found.row_group(g).column(c)
            for g in range(found.num_row_groups)
            for c in range(found.num_columns)
        ]
        _check_rows(found.num_rows, limits)
        _check_size(sum(group.total_uncompressed_size for group in groups), limits)
        flat = [found.schema.column(c) for c in range(found.num_columns)]
        kept, left = _divided(found.schema.to_arrow_schema(), encoder)
        wide = [
            one.path
            for one in flat
            if one.name in kept
            and one.name == one.path
            and one.physical_type == "FIXED_LEN_BYTE_ARRAY"
            and one.length > LONGEST_CELL
        ]
        if wide:
            raise Refusal(
                400, "body", f"column {wide[0]!r} has cells of more than {LONGEST_CELL} bytes"
            )
        _check_size(sum(unpacked_size(body, group) for group in groups), limits)
        texts = [one.path for one in flat if one.physical_type == "BYTE_ARRAY"]
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(body), read_dictionary=texts)
        for batch in file.iter_batches(ROWS, columns=kept if left else None):
            yield _with_names(_checked(batch, limits), left)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Refusal(
            400, "body", f"the body is not a table in Parquet: {_first_line(error)}"
        ) from None


def arrow_chunks(body: bytes, encoder: Any, limits: Limits) -> Iterator[Any]:
    """The record batches of an Arrow stream or file as Arrow tables."""
    import pyarrow
    import pyarrow.ipc

    try:
        source = pyarrow.BufferReader(body)
        if body.startswith(FILE):
            source.seek(8)  # a file is a stream with a frame
        for message in _messages(source):
            if message.type in BATCHES and _is_compressed(
                message.metadata.to_pybytes(), message.type
            ):
                raise Refusal(
                    400,
                    "body",
                    "the body is compressed Arrow, whose size is unknown: send it uncompressed, "
                    "or send Parquet",
                )
        source.seek(8 if body.startswith(FILE) else 0)
        reader = pyarrow.ipc.open_stream(source)
        _check_columns(len(reader.schema.names), encoder, limits)
        kept, left = _divided(reader.schema, encoder)
        total = 0
        for batch in reader:
            _check_rows(batch.num_rows, limits)
            total += batch.nbytes
            _check_size(total, limits)
            yield _with_names(_checked(batch.select(kept) if left else batch, limits), left)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Refusal(
            400, "body", f"the body is not a table in Arrow: {_first_line(error)}"
        ) from None


def _messages(source: Any) -> Iterator[Any]:
    """The messages of a stream, not looked into."""
    import pyarrow.ipc

    reader = pyarrow.ipc.MessageReader.open_stream(source)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _is_compressed(metadata: bytes, kind: str = "record batch") -> bool:
    """Whether the record batch that a message's metadata describe has compressed buffers.

    The metadata are a flatbuffer: a table is a signed distance to its list of field positions, and the field at
    position f is there if entry f of the list is not 0.  Field 2 of a message is its header, field 1 of a dictionary
    the record batch of its values, field 3 of a record batch its compression.
    """

    def number(at: Any, size: Any, signed: bool = False) -> Any:
        return int.from_bytes(metadata[at : at + size], "little", signed=signed)

    def field(table: Any, index: Any) -> Any:
        positions = table - number(table, 4, signed=True)
        entry = 4 + 2 * index
        return number(positions + entry, 2) if entry < number(positions, 2) else 0

    table = number(0, 4)
    for index in (2, 1) if kind == "dictionary" else (2,):
        start = field(table, index)
        if not start:
            return False
        table += start + number(table + start, 4)
    return field(table, 3) != 0


def _checked(batch: Any, limits: Any) -> Any:
    """A record batch as a table, every offset and index in it checked."""
    import pyarrow

    batch.validate(full=True)
    _check_rows(batch.num_rows, limits)
    return pyarrow.Table.from_batches([batch])


def _divided(schema: Any, encoder: Any) -> tuple[list[str], list[str]]:
    """Names of columns to be read, and of those that need not be and have no plain values; others are refused."""
    refuse_repeated(schema.names)  # of which none could be chosen by its name
    kept: list[str] = []
    left: list[str] = []
    for field in schema:
        kind = field.type.value_type if str(field.type).startswith("dictionary") else field.type
        is_plain = str(kind).startswith(PLAIN) and not str(kind).endswith("_view")
        if not is_plain and is_needed(encoder, field.name):
            raise Refusal(
                400,
                "body",
                f"column {field.name!r} is of type {str(kind)[:80]}, expected numbers, "
                "booleans, text or times",
            )
        (kept if is_plain else left).append(field.name)
    return kept, left


def _with_names(table: Any, names: list[str]) -> Any:
    """A table with further columns that hold nothing."""
    import pyarrow

    for name in names:
        table = table.append_column(name, pyarrow.nulls(table.num_rows))
    return table


def _check_rows(count: Any, limits: Any) -> None:
    if not 0 <= count <= limits.max_rows:
        raise Refusal(
            413, "body", f"the table has {count} rows, expected at most {limits.max_rows}"
        )


def _check_columns(count: Any, encoder: Any, limits: Any) -> None:
    most = limits.most_columns(len(encoder.columns))
    if count > most:
        raise Refusal(413, "body", f"the table has {count} columns, expected at most {most}")


def _check_size(size: Any, limits: Any) -> None:
    most = EXPANSION * limits.max_bytes
    if not 0 <= size <= most:
        raise Refusal(
            413, "body", f"the table is of {size} bytes when read, expected at most {most}"
        )


def _first_line(error: Any) -> str:
    return " ".join(str(error).split("\n")[0].split())[:300]
