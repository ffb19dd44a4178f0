"""Pages of Parquet: their own headers say what they become, and are not taken at the word of the end of the file."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import hld
from hld.serve.limits import Limits
from hld.serve.refusals import Refusal
from hld.serve.request import parquet_pages
from hld.serve.request.arrow_tables import parquet_chunks
from hld.serve.request.parquet_pages import unpacked_size

N = 5000
RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "a": RNG.normal(size=N),
        "text": [f"x{i}" for i in RNG.integers(0, 900, N)],
        "holes": pa.array([None if i % 3 else i for i in range(N)]),
        "flags": RNG.random(N) < 0.5,
        "lists": [[1, 2]] * N,
    }
)


def written(table, **options):
    """Bytes of a file, and the columns of its row groups."""
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **options)
    found = pyarrow.parquet.ParquetFile(file).metadata
    return file.getvalue(), [
        found.row_group(g).column(c)
        for g in range(found.num_row_groups)
        for c in range(found.num_columns)
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "none"},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"use_dictionary": False},
        {"row_group_size": 700, "write_page_checksum": True, "compression": "zstd"},
        {"write_statistics": False},
        {"data_page_size": 500, "write_batch_size": 50},
    ],
    ids=str,
)
def test_sizes_of_pages_and_their_headers_are_those_of_the_column(options):
    body, columns = written(TABLE, **options)
    for column in columns:
        headers = column.total_uncompressed_size - unpacked_size(body, column)
        assert 0 < headers < 60 + 0.6 * column.total_uncompressed_size


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_columns_without_values_have_no_pages_that_are_read(use_dictionary):
    body, columns = written(TABLE.slice(0, 0), use_dictionary=use_dictionary)
    assert len(columns) == 5
    assert sum(unpacked_size(body, column) for column in columns) == 0
    assert (
        list(parquet_chunks(body, hld.fit_encoder({"a": [1.5, 2.5], "b": [0, 1]}), Limits())) == []
    )
    body, columns = written(pa.table({"a": pa.nulls(9), "b": pa.array([None] * 9, pa.float64())}))
    assert all(unpacked_size(body, column) > 0 for column in columns)


def test_other_writers_are_read():
    polars = pytest.importorskip("polars")
    file = io.BytesIO()
    polars.from_arrow(TABLE).write_parquet(file, row_group_size=1000)
    found = pyarrow.parquet.ParquetFile(file).metadata
    for g in range(found.num_row_groups):
        for c in range(found.num_columns):
            column = found.row_group(g).column(c)
            assert (
                0 <= column.total_uncompressed_size - unpacked_size(file.getvalue(), column) < 500
            )


def varint(value):
    """A whole number of at least 0, as Thrift writes it with its sign."""
    value, found = 2 * value, bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def test_a_file_whose_end_states_sizes_that_are_too_small_is_refused_before_it_is_unpacked():
    """A size of 1 in place of 2 MB had been believed, and the pages were unpacked."""
    table = pa.table({"a": np.zeros(2**18)})
    body, (column,) = written(
        table, use_dictionary=False, compression="zstd", write_statistics=False
    )
    stated = varint(column.total_uncompressed_size)
    length = int.from_bytes(body[-8:-4], "little")
    pages, end = body[: -8 - length], body[-8 - length :]
    assert end.count(stated) == 2  # of the column and of its row group
    body = pages + end.replace(stated, b"\x82" + b"\x80" * (len(stated) - 2) + b"\0")
    encoder, limits = hld.fit_encoder([[1.5], [2.5], [1.5]]), Limits(max_bytes=10_000)
    found = pyarrow.parquet.ParquetFile(io.BytesIO(body)).metadata.row_group(0).column(0)
    assert (found.total_uncompressed_size, len(body) < 10_000) == (1, True)
    with pytest.raises(
        Refusal, match=r"the table is of 2\d{6} bytes when read, expected at most 80000"
    ) as refused:
        list(parquet_chunks(body, encoder, limits))
    assert refused.value.status == 413
    assert sum(chunk.num_rows for chunk in parquet_chunks(body, encoder, Limits())) == 2**18


@pytest.mark.parametrize(
    "put", [b"\xff" * 12, b"\x15\x00\x15\x01\x15\x02\x00", b"\x1b" * 12, b"\x1c" * 12, b""]
)
def test_damaged_headers_are_refused(put):
    body, columns = written(TABLE.select(["a"]), use_dictionary=False)
    start = columns[0].data_page_offset
    body = body[:start] + put + body[start + len(put) :] if put else body[:start]
    with pytest.raises(
        Refusal, match="the body is not a table in Parquet: a page of column 'a' is damaged"
    ):
        unpacked_size(body, columns[0])


def test_pages_beyond_counting_are_refused(monkeypatch):
    body, columns = written(
        TABLE.select(["a"]), use_dictionary=False, data_page_size=500, write_batch_size=50
    )
    assert unpacked_size(body, columns[0]) > 8 * N
    monkeypatch.setattr(parquet_pages, "MOST_PAGES", 10)
    with pytest.raises(Refusal, match="column 'a' has more than 10 pages in a row group"):
        unpacked_size(body, columns[0])
