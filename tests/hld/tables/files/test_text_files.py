"""Text files: long headers, decimal marks, quotes, empty lines, bytes that are no text."""

import numpy as np
import pandas as pd
import pytest
from tables import file_codes

from hld.tables.factored import whole_cells
from hld.tables.files import files, row_chunks
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
    assert (list(table.columns), total) == (names, 2)
    assert [table[name].tolist() for name in names[-2:]] == [
        [(columns - 2) % 7 + 0.5, columns - 2],
        [(columns - 1) % 7 + 0.5, columns - 1],
    ]


def test_a_header_may_end_with_the_bytes_that_are_looked_at_and_hold_line_ends(tmp_path):
    for more in (0, 1):
        header = '"' + "a\n" * (2**15 - 3 + more) + '",bc'
        (tmp_path / "t.csv").write_text(f"{header}\n1,2\n")
        table, _ = files.read_training(str(tmp_path / "t.csv"))
        assert [len(name) for name in table.columns] == [2**16 - 6 + 2 * more, 2]


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


def test_the_decimal_mark_of_a_batch_is_that_of_its_numbers(tmp_path, monkeypatch):
    """Neither of text columns, nor of a later chunk; whole numbers with a mark settle it as well."""
    monkeypatch.setattr(row_chunks, "BLOCK", 200)
    encoder = fit_encoder(
        pd.DataFrame(
            {
                "size": np.arange(40) / 4,
                "version": [f"1.{i % 4}a" for i in range(40)],
                "count": np.arange(40) % 5,
            }
        ),
        num_bins=4,
    )
    path = tmp_path / "t.csv"
    path.write_text("size;version;count\n" + "1;1.5;1\n" * 100 + "2,5;1.5;2\n" + "3.5;1.5;2\n")
    chunks = list(files.read_chunks(str(path), encoder))
    sizes = [cell for chunk in chunks for cell in whole_cells(chunk["size"]).tolist()]
    assert sizes[-2:] == ["2,5", 3.5]  # one chunk has both: the point counts
    far = [
        "2,5;1.5;2\n" + "1;1.5;1\n" * 100 + "3.5;1.5;2\n",
        "3.5;1.5;2\n" + "1;1.5;1\n" * 100 + "2,5;1.5;2\n",
    ]
    for rows, ends in zip(
        far, ([2.5, 3.5], [3.5, "2,5"]), strict=True
    ):  # two chunks: the first mark counts
        path.write_text("size;version;count\n" + rows)
        chunks = list(files.read_chunks(str(path), encoder))
        assert len(chunks) > 1
        sizes = [cell for chunk in chunks for cell in whole_cells(chunk["size"]).tolist()]
        assert [sizes[0], sizes[-1]] == ends
    path.write_text("size;version;count\n" + "1;1.5;1\n" * 100 + "2;1.5;3,0\n")
    last = list(files.read_chunks(str(path), encoder))[-1]
    assert whole_cells(last["count"]).tolist()[-1] == 3
    stated = list(files.read_chunks(str(path), encoder, ReadOptions(decimal=".")))[-1]
    assert whole_cells(stated["count"]).tolist()[-1] == "3,0"


@pytest.mark.parametrize("above", [0, 2])
@pytest.mark.parametrize("at_end", ["", "\n"])
def test_empty_lines_of_one_column_are_missing_cells(tmp_path, monkeypatch, above, at_end):
    cells = ["1", "", "2", "", "", "1", "2"]
    (tmp_path / "t.csv").write_text("\n" * above + "a\n" + "\n".join(cells) + at_end)
    table, total = files.read_training(str(tmp_path / "t.csv"))
    assert total == 7
    assert table["a"].isna().tolist() == [not cell for cell in cells]
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
