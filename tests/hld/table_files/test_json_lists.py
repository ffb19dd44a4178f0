"""Tables in one JSON value: every form that data frames write, and one sentence for what is no table."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hld
from hld.schemas.encoder import fit_encoder
from hld.table_files import files
from hld.table_files.dialect import ReadOptions
from hld.table_files.json_lists import read_json

FRAME = pd.DataFrame(
    {
        "n": [1, 2, 3],
        "x": [0.5, None, -2.0],
        "word": ["a", None, "ü\n"],
        "flag": [True, False, True],
    }
)
ROWS = FRAME.astype(object).where(FRAME.notna(), None).to_dict("records")


@pytest.mark.parametrize("orient", ["records", "columns", "split", "table"])
def test_what_pandas_writes_is_read(orient):
    found = read_json(FRAME.to_json(orient=orient).encode(), "t.json").to_pydict()
    assert found == {name: [row[name] for row in ROWS] for name in FRAME}


@pytest.mark.parametrize(
    ("index", "names"),
    [
        ([5, 6, 9], ["n"]),
        (pd.Index(list("xyz"), name="id"), ["id", "n"]),
        (pd.MultiIndex.from_tuples([(0, 1), (0, 2), (1, 1)]), ["n"]),
        (pd.MultiIndex.from_tuples([(0, 1), (0, 2), (1, 1)], names=["day", None]), ["day", "n"]),
    ],
)
def test_row_numbers_of_a_frame_are_no_column(index, names):
    """They had been learned, as "index" or "level_0"; an index with a name is a column, as it is in Parquet."""
    frame = pd.DataFrame({"n": [1, 2, 3]}, index=index)
    assert read_json(frame.to_json(orient="table").encode(), "t.json").column_names == names


def test_a_column_may_be_called_index():
    frame = pd.DataFrame({"index": [1, 2], "level_0": [3, 4]})
    for text in (
        frame.to_json(orient="table", index=False),
        frame.rename_axis("id").to_json(orient="table"),
    ):
        assert read_json(text.encode(), "t.json").column_names[-2:] == ["index", "level_0"]


@pytest.mark.parametrize("name", ["rows", "columns", "data", "schema"])
@pytest.mark.parametrize("orient", ["records", "columns", "split", "list"])
def test_an_only_column_may_have_any_name(name, orient):
    """A column of plain cells named "rows" or "columns" had been taken for a table, and refused."""
    frame = pd.DataFrame({name: [1.5, None, 3.0]})
    text = (
        json.dumps({name: [1.5, None, 3.0]}) if orient == "list" else frame.to_json(orient=orient)
    )
    assert read_json(text.encode(), "t.json").to_pydict() == {name: [1.5, None, 3.0]}


@pytest.mark.parametrize(
    "names", [("schema", "data"), ("columns", "data"), ("columns", "index", "data")]
)
@pytest.mark.parametrize("orient", ["records", "columns", "split", "list"])
def test_columns_may_have_the_names_of_wrappers(names, orient):
    frame = pd.DataFrame({name: [3 * k, 3 * k + 1] for k, name in enumerate(names)})
    text = json.dumps(frame.to_dict("list")) if orient == "list" else frame.to_json(orient=orient)
    assert read_json(text.encode(), "t.json").to_pydict() == frame.to_dict("list")


@pytest.mark.parametrize("value", [ROWS, {"rows": ROWS}, {"columns": FRAME.to_dict("list")}])
def test_files_of_any_name_and_encoding(value, tmp_path):
    text = json.dumps(value, ensure_ascii=False, indent=1).replace("NaN", "null")
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "t.json").write_bytes(text.encode(encoding))
        table, total = files.read_training(str(tmp_path / "t.json"), ReadOptions(drop=("flag",)))
        assert (total, table.column_names) == (3, ["n", "x", "word"])
        assert table.column("x").to_pylist() == [0.5, None, -2.0]


def test_json_lines_may_be_called_json(tmp_path):
    (tmp_path / "t.json").write_text("\n".join(map(json.dumps, ROWS)))
    assert files.read_training(str(tmp_path / "t.json"))[0].to_pylist() == ROWS
    (tmp_path / "t.json").write_text(
        "\n".join(map(json.dumps, ROWS)), encoding="utf-8-sig"
    )  # had been refused
    assert files.read_training(str(tmp_path / "t.json"))[0].to_pylist() == ROWS
    one = tmp_path / "one.json"
    one.write_text('{"a": 1}')  # a single line is no object of columns
    with pytest.raises(ValueError, match=r"one.json' must hold rows"):
        files.read_training(str(one))


cells = st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), cells, min_size=1), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_cells_that_a_row_does_not_name_are_missing(rows):
    found = read_json(json.dumps(rows).encode(), "t.json")
    assert set(found.column_names) == set().union(*rows)
    for name in found.column_names:
        assert found.column(name).to_pylist() == [row.get(name) for row in rows]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON: "),
        ("[1", "is not JSON: "),
        ("[1, 2]", "must be a list of objects, .* found other values"),
        ("[]", "must be a list of objects, .* found an empty list"),
        ("3", "must hold rows"),
        ("{}", "must hold rows"),
        ('{"a": [1], "b": [1, 2]}', "must hold rows"),
        ('{"a": {"0": 1}, "b": {"1": 2}}', "must hold rows"),
        ('[{"a": 1, "a": 2}]', "an object has the name 'a' twice"),
        ('{"columns": ["a", "a"], "data": [[1, 2]]}', "two columns with the same name"),
        ('{"columns": ["a"], "data": [[1, 2]]}', "rows of other lengths than its 1 columns"),
        ("[" * 100_000, "is nested too deeply|is not JSON"),
        ('[{"a": 1}] [2]', "is not JSON: Extra data"),
        (json.dumps([{f"c{i}": 1} for i in range(12_000)]), "rows with 12000 names in all"),
    ],
)
def test_what_is_no_table_is_refused(text, said):
    with pytest.raises(ValueError, match=f"^t.json {said}|^t.json.*{said}"):
        read_json(text.encode(), "t.json")


def test_cells_of_several_types_and_large_whole_numbers_stay_what_they_are():
    cells = [1, "x", None, 2.5, True, 2**63, 2**64 + 1]
    for some in (cells, [2**64 - 1, 0], [1, "x"], [True, 0]):
        found = read_json(json.dumps([{"a": cell, "b": 1} for cell in some]).encode(), "t.json")
        assert found["a"].tolist() == some
        assert [type(cell) for cell in found["a"]] == [type(cell) for cell in some]
        assert found["b"].tolist() == [1] * len(some)


def test_one_text_among_numbers_is_counted_in_a_batch_as_it_is_in_json_lines(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"x": float(x), "k": int(k)}
        for x, k in zip(rng.normal(size=80), rng.integers(3, size=80), strict=True)
    ]
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(rows[:50])
    batch = [*rows[50:], {"x": "n/a", "k": 2**63}]
    whole, lines = tmp_path / "batch.json", tmp_path / "batch.jsonl"
    whole.write_text(json.dumps(batch))
    lines.write_text("\n".join(map(json.dumps, batch)))
    found, same = (
        hld.judge_chunks(detector, files.read_chunks(str(one), detector.encoder_))
        for one in (whole, lines)
    )
    assert found.to_dict() == same.to_dict() == detector.test(batch).to_dict()
    assert [column.num_odd for column in found.data_quality.columns] == [1, 0]


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(ValueError, match=r"t\.json is not JSON"):
        read_json(b'{"a": "\xff\xff"}', "t.json")


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


def test_large_numbers_stay_numbers():
    found = (
        read_json(b'[{"a": 1}, {"a": 0.5}, {"a": 9007199254740993}]', "t.json")
        .column("a")
        .to_numpy()
    )
    np.testing.assert_array_equal(found, [1.0, 0.5, 2.0**53])


@pytest.mark.parametrize("cell", ["[1]", '{"x": 1}', "[]"])
def test_nested_cells_are_refused_where_they_are_looked_at(cell):
    table = read_json(f'[{{"a": {cell}, "b": 1}}, {{"a": 2, "b": 2}}]'.encode(), "t.json")
    with pytest.raises(
        TypeError, match=r"column 'a' holds nested values .* or leave it out .*--drop"
    ):
        fit_encoder(table)
    codes, _, absent, extra = fit_encoder({"b": [1, 2]}).encode_counting(table)
    assert (codes.ravel().tolist(), absent, extra) == ([0, 1], [], ["a"])
