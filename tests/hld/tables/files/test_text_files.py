"""Text files: long headers, decimal marks, quotes, empty lines, bytes that are no text."""

import numpy as np
import pandas as pd
import pytest
from tables import file_codes

from hld.tables.factored import whole_cells
from hld.tables.files import files
from hld.tables.files.dialect import ReadOptions
from hld.tables.schemas.learn_schema import fit_encoder


@pytest.mark.parametrize("columns", [700, 1_400])
def test_headers_of_more_bytes_than_are_looked_at_first(tmp_path, monkeypatch, columns):
    names = [f"gene_{i:05}" * 10 for i in range(columns)]
    lines = [
        ";".join(map(str, row)) for row in ([f"{i % 7},5" for i in range(columns)], range(columns))
    ]
    (tmp_path / "wide.csv").write_text("\n".join([";".join(names), *lines]) + "\n")
    table, total = files.read_training(str(tmp_path / "wide.csv"))
    assert (list(table), total) == (names, 2)
    assert [table[name].tolist() for name in names[-2:]] == [
        [(columns - 2) % 7 + 0.5, columns - 2],
        [(columns - 1) % 7 + 0.5, columns - 1],
    ]


def amounts(path, rows):
    """Nine amounts in ten are 0; only the others show the decimal mark."""
    path.write_text("amount;k\n" + "".join(f"{amount};{k}\n" for amount, k in rows))
    return str(path)


def test_the_order_of_the_rows_does_not_decide_the_decimal_mark(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [
        ("0" if i % 10 else f"{rng.integers(1, 90)},{rng.integers(10, 99)}", i % 3)
        for i in range(20_000)
    ]
    last = amounts(
        tmp_path / "sorted.csv", sorted(rows, key=lambda row: row[0] != "0")
    )  # beyond the first bytes
    first = amounts(tmp_path / "mixed.csv", rows)
    encoders = [fit_encoder(files.read_training(path)[0], num_bins=4) for path in (first, last)]
    assert encoders[0] == encoders[1]
    assert [column.kind for column in encoders[0].columns] == ["continuous", "integer"]
    for path in (first, last):
        chunks = files.read_chunks(path, encoders[0])
        reports = [encoders[0].encode_counting(chunk)[1] for chunk in chunks]
        assert sum(report.num_rows for report in reports) == len(rows)
        assert sum(report.num_odd.sum() + report.num_missing.sum() for report in reports) == 0


@pytest.mark.parametrize("above", [0, 2])
@pytest.mark.parametrize("at_end", ["", "\n"])
def test_empty_lines_of_one_column_are_missing_cells(tmp_path, monkeypatch, above, at_end):
    cells = ["1", "", "2", "", "", "1", "2"]
    (tmp_path / "t.csv").write_text("\n" * above + "a\n" + "\n".join(cells) + at_end)
    table, total = files.read_training(str(tmp_path / "t.csv"))
    assert total == 7
    assert np.isnan(table["a"]).tolist() == [not cell for cell in cells]
    encoder = fit_encoder(table)
    codes = file_codes(encoder, tmp_path / "t.csv").ravel()
    assert codes.tolist() == [0, -1, 1, -1, -1, 0, 1]
    (tmp_path / "bare.csv").write_text("\n".join(cells) + at_end)
    assert files.read_training(str(tmp_path / "bare.csv"), ReadOptions(has_header=False))[1] == 7


@pytest.mark.parametrize(("encoding", "bad"), [("utf-8", b"\xff"), ("shift_jis", b"\xff\xff")])
def test_bytes_that_are_no_text_far_down(tmp_path, monkeypatch, encoding, bad):
    (tmp_path / "t.csv").write_bytes(b"size,word\n" + b"1,abc\n" * 20_000 + b"2," + bad + b"\n")
    encoder = fit_encoder(pd.DataFrame({"size": [0.5, 1.5], "word": ["abc", "x"]}))
    options = ReadOptions(encoding=encoding)
    said = rf"^'.*t\.csv' is not text in {encoding.upper()}, expected a CSV file, or another encoding \(--encoding"
    for read in (
        lambda: files.read_training(str(tmp_path / "t.csv"), options),
        lambda: list(files.read_chunks(str(tmp_path / "t.csv"), encoder, options)),
    ):
        with pytest.raises(ValueError, match=said):
            read()


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a", "a, b", "\n\na\n"])
def test_a_header_without_rows(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match="has no rows, expected some to learn from"):
        files.read_training(str(tmp_path / "t.csv"))
    (chunk,) = files.read_chunks(str(tmp_path / "t.csv"), fit_encoder([["x"]], names=["a"]))
    assert [len(cells) for cells in chunk.values()] == [0] * len(chunk)


def test_the_decimal_mark_of_a_batch_is_that_of_its_numbers(tmp_path):
    """Not of text columns; whole numbers with a mark settle it as well, unless one has a point."""
    table = {"size": np.arange(40) / 4, "version": ["1.5", "1.5a"] * 20, "count": [0, 1] * 20}
    encoder, path = fit_encoder(table, num_bins=4), tmp_path / "t.csv"
    for end, found, options in (
        ("2,5;1.5;2", [2.5, 2], ReadOptions()),
        ("2;1.5;3,0", [2, 3], ReadOptions()),
        ("2,5;1.5;2\n3.5;1.5;2", [3.5, 2], ReadOptions()),
        ("2;1.5;3,0", [2, "3,0"], ReadOptions(decimal=".")),
    ):
        path.write_text("size;version;count\n" + "1;1.5;1\n" * 100 + f"{end}\n")
        (chunk,) = files.read_chunks(str(path), encoder, options)
        assert [whole_cells(chunk[name]).tolist()[-1] for name in ("size", "count")] == found
