"""Parquet and Arrow from strangers: read as they are, or refused before they cost anything."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

import hld
from hld.serve.limits import SPARE_COLUMNS, Limits
from hld.serve.refusals import Refusal
from hld.serve.request.arrow_tables import LONGEST_CELL, arrow_chunks, parquet_chunks

ENCODER = hld.fit_encoder([["a", 1], ["b", 2], ["a", 3]])
LIMITS = Limits(max_rows=50, max_bytes=10_000)
READERS = {"parquet": parquet_chunks, "stream": arrow_chunks, "file": arrow_chunks}


def written(form, table):
    """A table in Parquet, or as an Arrow stream or file."""
    file = io.BytesIO()
    if form == "parquet":
        pyarrow.parquet.write_table(table, file)
    else:
        new = pyarrow.ipc.new_file if form == "file" else pyarrow.ipc.new_stream
        with new(file, table.schema) as writer:
            writer.write_table(table)
    return file.getvalue()


def read(form, table):
    return pa.concat_tables(READERS[form](written(form, table), ENCODER, LIMITS))


@pytest.mark.parametrize("form", READERS)
def test_all_rows_arrive(form):
    frame = pd.DataFrame({"a": ["x", "y", None] * 15, "b": np.arange(45.0)})
    found = read(form, pa.Table.from_pandas(frame, preserve_index=False))
    assert found.column("a").to_pylist() == ["x", "y", None] * 15
    assert found.column("b").to_pylist() == list(range(45))


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize(
    ("table", "status", "message"),
    [
        (pa.table({"a": np.arange(51)}), 413, "the table has 51 rows, expected at most 50"),
        (
            pa.table({f"c{i}": [1] for i in range(SPARE_COLUMNS + 5)}),
            413,
            f"the table has {SPARE_COLUMNS + 5} columns, expected at most {SPARE_COLUMNS + 4}",
        ),
        (
            pa.table({"a": [[1, 2]]}),
            400,
            "column 'a' is of type list<.*>, expected numbers, booleans, text or times",
        ),
        (
            pa.table({"a": pa.array([b"x" * 9])}),
            400,
            "column 'a' is of type binary, expected numbers",
        ),
        (
            pa.table({"a": pa.array([b"x" * 65], pa.binary(65))}),
            400,
            f"column 'a' has cells of more than {LONGEST_CELL} bytes|of type fixed_size_binary",
        ),
    ],
    ids=range(5),
)
def test_what_is_too_much_or_no_plain_table_is_refused(form, table, status, message):
    with pytest.raises(Refusal, match=message) as refused:
        read(form, table)
    assert (refused.value.status, refused.value.field) == (status, "body")


@pytest.mark.parametrize("form", READERS)
def test_what_is_none_is_refused(form):
    with pytest.raises(Refusal, match="the body is not a table in"):
        list(READERS[form](b"ARROW1\0\0" + b"nonsense" * 9, ENCODER, LIMITS))


def test_a_message_without_contents_is_not_compressed():
    from hld.serve.request.arrow_tables import _is_compressed

    assert not _is_compressed(bytes([8, 0, 0, 0, 4, 0, 8, 0, 4, 0, 0, 0]))


def test_a_compressed_dictionary_is_refused_before_it_is_read():
    """Beside record batches that are not compressed it had been read: 4,920 bytes had become 134 MB."""
    table = pa.table(
        {"a": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), ["x" * 2**20, "y"])}
    )
    messages = []
    for options in (pyarrow.ipc.IpcWriteOptions(compression="zstd"), None):
        file = io.BytesIO()
        with pyarrow.ipc.new_stream(file, table.schema, options=options) as writer:
            writer.write_table(table)
        reader = pyarrow.ipc.MessageReader.open_stream(file.getvalue())
        messages.append([reader.read_next_message().serialize().to_pybytes() for _ in range(3)])
    (schema, dictionary, _), (_, _, batch) = messages
    before = pa.default_memory_pool().bytes_allocated()
    for body in (schema + dictionary + batch, schema + dictionary):
        with pytest.raises(
            Refusal, match="the body is compressed Arrow, whose size is unknown"
        ) as refused:
            list(arrow_chunks(body, ENCODER, LIMITS))
        assert refused.value.status == 400
    assert pa.default_memory_pool().bytes_allocated() - before < 2**20
    plain = b"".join(messages[1])
    (chunk,) = arrow_chunks(plain, ENCODER, Limits())
    assert chunk.column("a").to_pylist() == ["x" * 2**20, "y", "x" * 2**20]


@pytest.mark.parametrize("form", READERS)
def test_columns_that_the_model_does_not_know_may_be_of_any_type(form):
    """As on the command line: only their names are read, which the answer tells."""
    encoder = hld.fit_encoder({"a": [1, 2, 1], "b": ["x", "y", "x"]})
    table = pa.table(
        {
            "tags": [[1], [2, 3]],
            "a": [1, 2],
            "picture": pa.array([b"1", b"2"]),
            "b": ["x", "y"],
            "wide": pa.array([b"x" * 65] * 2, pa.binary(65)),
            "place": [{"a": 1}, {"a": 2}],
        }
    )
    (chunk,) = READERS[form](written(form, table), encoder, LIMITS)
    codes, _, absent, extra = encoder.encode_counting(chunk)
    assert (codes.tolist(), list(absent)) == ([[0, 0], [1, 1]], [])
    assert sorted(extra) == ["picture", "place", "tags", "wide"]
    with pytest.raises(Refusal, match="column 'b' is of type list"):
        list(READERS[form](written(form, pa.table({"a": [1], "b": [["x"]]})), encoder, LIMITS))


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("kinds", [(float, float), (float, list), (list, list), (list, float)])
def test_names_that_occur_twice_are_refused_in_words_beside_columns_that_are_not_read(form, kinds):
    encoder = hld.fit_encoder({"a": [1.5, 2.5, 1.5], "b": ["x", "y", "x"]})
    twice = [pa.array([[1]] if kind is list else [1.0]) for kind in kinds]
    table = pa.Table.from_arrays(
        [*twice, pa.array([1.5]), pa.array(["x"]), pa.array([[1]])],
        names=["more", "more", "a", "b", "tags"],
    )
    with pytest.raises(
        ValueError, match="more than one column named 'more', expected distinct names"
    ):
        list(READERS[form](written(form, table), encoder, LIMITS))
