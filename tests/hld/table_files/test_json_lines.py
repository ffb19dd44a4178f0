"""JSON lines: what a later block has differs from what the first one has, and the rows are read all the same."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import hld
from hld.schemas.encoder import fit_encoder
from hld.table_files import files, json_lines
from hld.table_files.dialect import ReadOptions
from hld.table_files.json_lines import json_line_chunks
from hld.table_files.json_lists import read_json

pytest.importorskip("pyarrow")


def lines(rows):
    """Objects, one on each line."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(params=[40, 10**6])
def block(request, monkeypatch):
    """Blocks of a few rows, and one block."""
    monkeypatch.setattr(json_lines, "BLOCK", request.param)
    return request.param


def written(tmp_path, rows):
    """A file of JSON lines."""
    (tmp_path / "t.jsonl").write_bytes(lines(rows))
    return str(tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    "cells",
    [
        [1] * 20 + [1.5],
        [1.5] * 20 + [1],
        [None] * 20 + [3, 4],
        [2] * 20 + [None],
        [1] * 20 + ["x"],
        ["x"] * 20 + [1, 2.5],
        ["2026-01-01", "2026-01-02"] * 10 + ["n/a"],
        ["n/a"] + ["2026-01-01", "2026-01-02"] * 10,
        [True] * 20 + [3, "x"],
    ],
)
def test_every_cell_is_read_as_it_is_whatever_came_before(tmp_path, block, cells):
    path = written(tmp_path, [{"a": cell, "b": i % 2} for i, cell in enumerate(cells)])
    truth = {"a": cells, "b": [i % 2 for i in range(len(cells))]}
    table, total = files.read_training(path)
    assert total == len(cells)
    encoder = fit_encoder(truth, num_bins=4)
    assert fit_encoder(table, num_bins=4) == encoder
    codes = [encoder.encode_counting(chunk)[0] for chunk in files.read_chunks(path, encoder)]
    assert (len(codes) > 3) == (block == 40)
    np.testing.assert_array_equal(np.concatenate(codes), encoder.encode(truth)[0])


def test_a_file_whose_first_block_of_four_megabytes_has_whole_numbers_only(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"x": 1, "y": 2}\n' * 300_000 + b'{"x": 1.5, "y": 3, "z": "new"}\n')
    table, total = files.read_training(str(path), max_rows=10**6)
    assert (total, table.column_names) == (300_001, ["x", "y", "z"])
    assert [table.column(name)[-1].as_py() for name in "xyz"] == [1.5, 3, "new"]
    assert table.column("z").null_count == 300_000


def test_whole_numbers_beyond_64_bits_are_not_rounded(tmp_path, block):
    """As doubles 2**64 - 1 and 2**64 - 2 are one number: rows learned from a list of JSON had p = 7e-82."""
    cells = [2**64 - 1, 2**64 - 2, 2**63, 7, -(2**63) - 1] * 8
    rows = [{"a": cell, "x": i / 4, "t": f"{cell}."} for i, cell in enumerate(cells)]
    table, _ = files.read_training(written(tmp_path, rows))
    encoder = fit_encoder({"a": cells}, categorical=["a"])
    assert len(encoder.columns[0].levels) == 5
    assert fit_encoder({"a": table["a"]}, categorical=["a"]) == encoder
    codes = [
        encoder.encode_counting(chunk)[0]
        for chunk in files.read_chunks(written(tmp_path, rows), encoder)
    ]
    np.testing.assert_array_equal(np.concatenate(codes), encoder.encode({"a": cells})[0])
    usual = io.BytesIO(
        lines([{"a": 0.12345678901234567, "n": 1234567890123456789, "e": 1e300}] * 3)
    )  # for Arrow
    assert all(hasattr(chunk, "schema") for chunk in json_line_chunks(usual, "rows", ReadOptions()))


def test_text_among_numbers_is_counted_in_a_batch(tmp_path, block):
    rng = np.random.default_rng(0)
    detector = hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(
        pd.DataFrame({"a": rng.normal(size=300), "b": rng.integers(0, 3, 300)})
    )
    rows = [{"a": float(a), "b": i % 3} for i, a in enumerate(rng.normal(size=60))]
    rows[30]["a"] = "broken"
    result = hld.judge_chunks(
        detector, files.read_chunks(written(tmp_path, rows), detector.encoder_)
    )
    assert [(column.name, column.num_odd) for column in result.data_quality.columns] == [
        ("a", 1),
        ("b", 0),
    ]
    assert result.num_samples == 60


def test_columns_that_come_late_or_not_at_all(tmp_path, block):
    encoder = fit_encoder({"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1, 2]})
    rng = np.random.default_rng(0)
    detector = hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(
        pd.DataFrame({name: rng.integers(0, 3, 300) for name in "abc"})
    )
    rows = [{"a": 1} for _ in range(20)] + [{"a": 2, "b": 1, "tags": ["x"], "more": {"x": 1}}]
    path = written(tmp_path, rows)
    result = hld.judge_chunks(detector, files.read_chunks(path, detector.encoder_))
    quality = result.data_quality
    assert (quality.absent, set(quality.extra)) == (("c",), {"tags", "more"})
    assert [column.num_missing for column in quality.columns] == [0, 20, 21]
    codes = np.concatenate(
        [encoder.encode_counting(chunk)[0] for chunk in files.read_chunks(path, encoder)]
    )
    assert codes[-1].tolist() == [2, 1, -1]


def test_options_name_columns_that_come_late(block):
    data = lines([{"a": 1}] * 20 + [{"a": 2, "b": 1}])
    for options in (ReadOptions(columns=("b",)), ReadOptions(drop=("a",))):
        if options.drop and block == 40:  # a block without a column to read
            with pytest.raises(ValueError, match="has no columns but those that `drop` names"):
                list(json_line_chunks(io.BytesIO(data), "t", options))
            continue
        chunks = list(json_line_chunks(io.BytesIO(data), "t", options))
        assert {tuple(chunk.column_names) for chunk in chunks} == {("b",)}
        assert sum(len(chunk) for chunk in chunks) == 21
    for option in ("columns", "drop"):
        with pytest.raises(ValueError, match=f"t has no column 'z', which `{option}` names"):
            list(json_line_chunks(io.BytesIO(data), "t", ReadOptions(**{option: ("z",)})))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            b'[{"a": 1}, {"a": 2}]',
            r"no object, expected one object on each line: read .* \(--format json",
        ),
        (b"1\n2\n", "t has a line that is no object, expected one object on each line$"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "t is not text in UTF-8, expected JSON"),
        (b'{"a": 1}\n{"a": "x", "a": 2}\n', "twice"),
        (b'{"a": 1}\n{"a": "x"}\n{"a": 2', "JSON"),
    ],
)
def test_what_is_no_table_is_refused(data, said):
    with pytest.raises(ValueError, match=said):
        list(json_line_chunks(io.BytesIO(data), "t", ReadOptions()))


@pytest.mark.parametrize(
    ("cell", "value"), [(b"1e400", np.inf), (b'"\\ud800"', "\ud800"), (b'"a\\ud800b"', "a\ud800b")]
)
def test_what_arrow_refuses_of_json_is_read_all_the_same(cell, value):
    data = b'{"a": 1.5}\n{"a": %s}\n' % cell
    (table,) = json_line_chunks(io.BytesIO(data), "t", ReadOptions())
    assert table["a"].tolist() == [1.5, value]
    rows = read_json(b"[" + data.strip().replace(b"\n", b", ") + b"]", "t")
    assert (rows["a"].to_pylist() if hasattr(rows, "column_names") else rows["a"].tolist()) == [
        1.5,
        value,
    ]
    encoder = fit_encoder({"a": [1.5, 2.5, value]})
    assert (
        encoder.encode(table)[0].tolist()
        == encoder.encode(rows)[0].tolist()
        == encoder.encode({"a": [1.5, value]})[0].tolist()
    )


def test_names_that_are_no_text_are_refused():
    for read in (
        lambda data: read_json(b"[" + data + b"]", "t"),
        lambda data: list(json_line_chunks(io.BytesIO(data), "t", ReadOptions())),
    ):
        with pytest.raises(
            ValueError, match=r"a column is named 'a.ud800', of which a part is no character"
        ):
            read(b'{"a\\ud800": 1}')


def test_a_line_has_a_largest_length(monkeypatch):
    monkeypatch.setattr(json_lines, "BLOCK", 100)
    monkeypatch.setattr(json_lines, "MOST_LINE", 1000)
    long = b'{"a": "%s"}\n'
    with pytest.raises(ValueError, match="t has a line of more than 1000 bytes"):
        list(json_line_chunks(io.BytesIO(long % (b"x" * 1200)), "t", ReadOptions()))
    (chunk,) = json_line_chunks(io.BytesIO(b"\n\n" + long % (b"x" * 900)), "t", ReadOptions())
    assert len(chunk.column("a")[0].as_py()) == 900
