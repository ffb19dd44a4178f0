"""The header of a file within it, where files were joined, is no row; what may be a row is one."""

import pytest

import hld
from hld.table_files import files
from hld.table_files.dialect import ReadOptions
from hld.table_files.row_chunks import columns_of


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(("separator", "end"), [(",", "\n"), (";", "\r\n"), (", ", "\n")])
def test_the_header_of_a_second_file_is_no_row(tmp_path, mark, separator, end):
    """Files joined by cat: to learn from, a column of numbers had become one of text by it."""
    rows = [["a", "k"], ["1.5", "u"], ["2.5", "k"]]
    part = mark + end.join(separator.join(row) for row in rows) + end
    (tmp_path / "t.csv").write_text(part * 3, newline="")
    with pytest.warns(
        UserWarning, match=r"t\.csv' has rows that are its header again, as files have that"
    ) as said:
        table, total = files.read_training(str(tmp_path / "t.csv"))
    found = {
        name: list(column if hasattr(column, "iloc") else column.to_pylist())
        for name, column in columns_of(table)
    }
    assert (total, found, len(said)) == (6, {"a": [1.5, 2.5] * 3, "k": ["u", "k"] * 3}, 1)
    encoder = hld.fit_encoder({"a": [1.5, 2.5], "k": ["u", "k"]})
    with pytest.warns(UserWarning, match="its header again"):
        chunks = list(files.read_chunks(str(tmp_path / "t.csv"), encoder))
    assert sum(len(chunk["a"]) for chunk in chunks) == 6


@pytest.mark.parametrize(
    ("text", "options", "count"),
    [
        ("a\nx\ny\n" + "z\n" * 60 + "a\n", ReadOptions(), 63),
        ("x0,x1\nx0,x1\n1,2\n", ReadOptions(has_header=False), 3),
        ("a,b\n" + "x,y\n" * 60 + "a,b\na,c\n", ReadOptions(columns=("a",)), 62),
        ("a,b\nb,a\na,c\n", ReadOptions(), 2),
    ],
)
def test_rows_that_only_look_like_the_header_are_read(tmp_path, text, options, count, recwarn):
    """A single cell may be the name of its column by chance; without a header nothing is it again."""
    (tmp_path / "t.csv").write_text(text)
    assert files.read_training(str(tmp_path / "t.csv"), options)[1] == count
    assert not [one for one in recwarn if "header" in str(one.message)]
