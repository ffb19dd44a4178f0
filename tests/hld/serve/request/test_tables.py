"""Bodies as tables: which form they have, how many rows, and what is refused before it is read."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from live_server import bodies

import hld
from hld.serve.limits import SPARE_COLUMNS, Limits
from hld.serve.refusals import Refusal
from hld.serve.request.tables import FORMS, form_of, num_rows, read_tables

ENCODER = hld.fit_encoder(pd.DataFrame({"word": ["a", "b", "a"], "size": [1, 2, 3]}))
FRAME = pd.DataFrame({"word": ["a", "b", "c", "a"], "size": [3, 2, 2, 9]})


def read(body, form="csv", **limits):
    return list(read_tables(body, form, ENCODER, Limits(**limits)))


@pytest.mark.parametrize(
    ("given", "form"),
    [
        ("text/csv", "csv"),
        (" TEXT/CSV ;charset=UTF-8", "csv"),
        ('application/json; charset="utf-8"', "json"),
        ("text/csv; charset=utf-8; header=present", "csv"),
        ("text/csv; header=present; charset = us-ascii", "csv"),
        ("application/vnd.apache.parquet; charset=latin-1", "parquet"),
        ("application/vnd.apache.arrow.file", "arrow"),
    ],
)
def test_media_types_are_those_of_forms_whatever_their_parameters(given, form):
    """Parameters after the charset (RFC 7111 has one) were taken for a part of it."""
    assert form_of(given) == form


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "the body is of no type, expected one of text/csv, application/json"),
        ("text/html", "the body is text/html,"),
        ("text/csv; charset=latin-1; header=present", "the body is in latin-1, expected utf-8"),
        ("text/csv; charset = utf-16", "the body is in utf-16,"),
        ("x" * 500, f"the body is {'x' * 80},"),
    ],
)
def test_other_media_types_and_charsets_are_refused(given, words):
    with pytest.raises(Refusal) as refused:
        form_of(given)
    assert (refused.value.status, refused.value.field) == (415, "content-type")
    assert refused.value.message.startswith(words)


@pytest.mark.parametrize("name", ["csv", "parquet", "stream", "file", "rows", "columns"])
def test_every_form_is_read_to_the_same_codes_and_bounded_in_rows(name):
    body, kind = bodies(FRAME)[name]
    form = form_of(kind)
    assert form in set(FORMS.values())
    chunks = read(body, form, max_rows=4)
    assert sum(map(num_rows, chunks)) == 4
    codes = np.concatenate([ENCODER.encode(chunk)[0] for chunk in chunks])
    np.testing.assert_array_equal(codes, ENCODER.encode(FRAME)[0])
    with pytest.raises(
        Refusal, match=r"the table has (more than 3|4) rows, expected at most"
    ) as refused:
        read(body, form, max_rows=3)
    assert (refused.value.status, refused.value.field) == (413, "body")


def test_bodies_without_bytes_or_rows_are_refused():
    for body, words in (
        (b"", "the body is empty: expected a table"),
        (b"word,size\n", "the table has 0 rows: expected at least one"),
    ):
        with pytest.raises(Refusal, match=words) as refused:
            read(body)
        assert refused.value.status == 400
    assert num_rows({}) == 0
    assert num_rows({"a": [1, 2], "b": [3, 4]}) == num_rows(pa.table({"a": [1, 2]})) == 2


def test_a_header_of_too_many_columns_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("hld.serve.request.tables.read_text", None)
    most = SPARE_COLUMNS + 4
    for separator in ",;\t|":
        header = separator.join(f"c{v}" for v in range(most + 1)).encode()
        with pytest.raises(
            Refusal, match=f"the header of the table is too long, expected at most {most} columns"
        ):
            read(header + b"\n1\n")
    with pytest.raises(
        TypeError, match="NoneType"
    ):  # as many as allowed are read; separators in quotes are none
        read(b",".join(b'"a,b,c,d,e,f,g"' for _ in range(100)) + b"\n")


def test_cells_of_another_type_may_come_late(monkeypatch):
    """No row is given away before all cells are known to be of the types of their columns."""
    monkeypatch.setattr("hld.table_files.row_chunks.BLOCK", 100)
    encoder = hld.fit_encoder(pd.DataFrame({"size": np.arange(100) / 7}))
    chunks = list(read_tables(b"size\n" + b"0.5\n" * 300 + b"many\n", "csv", encoder, Limits()))
    codes = np.concatenate([encoder.encode_counting(chunk)[0] for chunk in chunks])
    assert codes[:, 0].tolist() == [0] * 300 + [-1]
