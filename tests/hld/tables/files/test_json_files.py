"""Tables in JSON: rows, columns and lines, whatever a later block has, and one sentence for what is no table."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hld
from hld.tables.files import files
from hld.tables.files.dialect import ReadOptions
from hld.tables.files.files import json_line_chunks, read_json
from hld.tables.schemas.learn_schema import fit_encoder

ROWS = [
    {"n": 1, "x": 0.5, "word": "a", "flag": True},
    {"n": 2, "x": None, "word": None, "flag": False},
    {"n": 3, "x": -2.0, "word": "ü\n", "flag": True},
]


def lines(rows):
    """Objects, one on each line."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(params=[40, 10**6])
def block(request, monkeypatch):
    """Blocks of a few rows, and one block."""
    monkeypatch.setattr(files, "BLOCK", request.param)
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


def test_columns_that_come_late_or_not_at_all(tmp_path, block):
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


def test_options_name_columns_that_come_late(block):
    data = lines([{"a": 1}] * 20 + [{"a": 2, "b": 1}])
    for options in (ReadOptions(columns=("b",)), ReadOptions(drop=("a",))):
        if options.drop and block == 40:  # a block without a column to read
            with pytest.raises(ValueError, match="has no columns but those that `drop` names"):
                list(json_line_chunks(io.BytesIO(data), "t", options))
            continue
        chunks = list(json_line_chunks(io.BytesIO(data), "t", options))
        assert {tuple(chunk) for chunk in chunks} == {("b",)}
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


@pytest.mark.parametrize("value", [ROWS, {name: [row[name] for row in ROWS] for name in ROWS[0]}])
def test_files_of_any_name_and_encoding(value, tmp_path):
    text = json.dumps(value, ensure_ascii=False, indent=1)
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "t.json").write_bytes(text.encode(encoding))
        table, total = files.read_training(str(tmp_path / "t.json"), ReadOptions(drop=("flag",)))
        assert (total, list(table)) == (3, ["n", "x", "word"])
        assert table["x"].tolist() == [0.5, None, -2.0]


def test_json_lines_may_be_called_json(tmp_path):
    (tmp_path / "t.json").write_text("\n".join(map(json.dumps, ROWS)))
    assert files.read_training(str(tmp_path / "t.json"))[0].to_dict("records") == ROWS
    (tmp_path / "t.json").write_text(
        "\n".join(map(json.dumps, ROWS)), encoding="utf-8-sig"
    )  # had been refused
    assert files.read_training(str(tmp_path / "t.json"))[0].to_dict("records") == ROWS
    one = tmp_path / "one.json"
    one.write_text('{"a": 1}')  # a single line is no object of columns
    with pytest.raises(ValueError, match=r"one.json' must hold rows"):
        files.read_training(str(one))


cells = st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), cells, min_size=1), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_cells_that_a_row_does_not_name_are_missing(rows):
    found = read_json(json.dumps(rows).encode(), "t.json")
    assert set(found) == set().union(*rows)
    for name in found:
        assert found[name].tolist() == [row.get(name) for row in rows]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty, expected JSON"),
        ("[1", "is not JSON: "),
        ("[1, 2]", "must hold rows"),
        ("[]", "must hold rows"),
        ("3", "must hold rows"),
        ("{}", "must hold rows"),
        ('{"a": [1], "b": [1, 2]}', "must hold rows"),
        ('{"a": {"0": 1}, "b": {"1": 2}}', "must hold rows"),
        ('[{"a": 1, "a": 2}]', "an object has the name 'a' twice"),
        ('{"a": 1}', r"must hold rows.*: write a data frame with to_json\(orient='records'\)"),
        ("[" * 100_000, "is nested too deeply|is not JSON"),
        (json.dumps([{f"c{i}": 1} for i in range(12_000)]), "rows with 12000 names in all"),
    ],
)
def test_what_holds_no_table_is_refused(text, said):
    with pytest.raises(ValueError, match=f"^t.json {said}|^t.json.*{said}"):
        read_json(text.encode(), "t.json")


def test_json_in_a_file_of_another_name_says_how_to_read_it(tmp_path):
    for text in (' [\n {"a": 1}]', '{"a": 1}\n{"a": 2}\n'):
        (tmp_path / "t.txt").write_text(text)
        with pytest.raises(
            ValueError, match=r"t.txt' is JSON: read it as such \(--format json, or jsonl"
        ):
            files.read_training(str(tmp_path / "t.txt"))
        assert files.read_training(str(tmp_path / "t.txt"), ReadOptions(form="json"))[
            1
        ] == text.count("a")


@pytest.mark.parametrize("cell", ["[1]", '{"x": 1}', "[]"])
def test_nested_cells_are_refused_where_they_are_looked_at(cell):
    table = read_json(f'[{{"a": {cell}, "b": 1}}, {{"a": 2, "b": 2}}]'.encode(), "t.json")
    with pytest.raises(
        TypeError, match=r"column 'a' holds a (list|dict) .* or leave it out .*--drop"
    ):
        fit_encoder(table)
    codes, _, absent, extra = fit_encoder({"b": [1, 2]}).encode_counting(table)
    assert (codes.ravel().tolist(), absent, extra) == ([0, 1], [], ["a"])
