"""Quotes without an end, and lines in cells that are none of their doing."""

import warnings

import pytest

import hld
from hld.table_files import files
from hld.table_files.dialect import ReadOptions

ROW = "1,u\n"
OPEN = (
    "a,b\n" + ROW * 9 + '1,"u\n' + ROW * 5 + '2,"v"\n' + ROW * 3
)  # closed by the quote that was to open v


def read(path, text, training):
    """Rows that are read, and what is said."""
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if training:
            number = len(files.read_training(str(path), ReadOptions())[0])
        else:
            encoder = hld.fit_encoder({"a": [1, 2], "b": ["u", "v"]})
            number = sum(len(chunk["a"].codes) for chunk in files.read_chunks(str(path), encoder))
    return number, [str(one.message) for one in caught if "quotes" in str(one.message)]


@pytest.mark.parametrize("training", [True, False])
def test_rows_between_a_quote_and_the_next_are_told(tmp_path, monkeypatch, training):
    """They had been one cell, unsaid, and the verdict was on the others."""
    number, said = read(tmp_path / "t.csv", OPEN, training)
    assert number == 9 + 1 + 3
    assert len(said) == 1
    assert "t.csv' has a cell of 7 lines in column 'b' that look like rows, 'u\\n1,u" in said[0]
    assert said[0].endswith(
        "check its quotes, as all that follows one without an end is one cell up to the next"
    )


@pytest.mark.parametrize(
    "cell",
    [
        "two\nlines",
        "Dear all,\nhello\nthere, you\nand, you\nbye",
        "a\n1,u\n2,v\nb",
        "a\n\n\n\n\nb",
        "x,y\n" * 3,
    ],
)
@pytest.mark.parametrize("training", [True, False])
def test_lines_that_are_no_rows_are_cells(tmp_path, cell, training):
    number, said = read(tmp_path / "t.csv", "a,b\n" + ROW * 4 + f'1,"{cell}"\n' + ROW, training)
    assert (number, said) == (6, [])


def test_lines_of_a_table_of_one_column_are_no_rows(tmp_path):
    number, said = read(tmp_path / "t.csv", 'b\nu\n"u\nv\nw\nx\ny"\nv\n', True)
    assert (number, said) == (3, [])
