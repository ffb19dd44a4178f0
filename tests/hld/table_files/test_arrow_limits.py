"""Lines of JSON that would end the process if Arrow read them are read by Python, or refused."""

import io
import subprocess
import sys

import pytest

from hld.schemas.encoder import fit_encoder
from hld.table_files.arrow_limits import FEW_NAMES, MOST_OPEN, is_beyond_arrow
from hld.table_files.dialect import ReadOptions
from hld.table_files.json_lines import json_line_chunks

pytest.importorskip("pyarrow")


def read(data):
    """The chunks of some lines."""
    return list(json_line_chunks(io.BytesIO(data), "t", ReadOptions()))


@pytest.mark.parametrize(
    "data",
    [
        b"null\n",
        b'null\n{"a": 1}\n',
        b'\n \xef\xbb\xbfnull {"a": 1}\n',
        b'{"a": 1}\nnull\n',
        b'\xef\xbb\xbfnull\n{"a": 1}\n',
    ],
)
def test_a_line_that_is_null_is_no_object(data):
    """As the first one it had been a segmentation fault, and else a row without any cell."""
    said = "t has a line that is no object, expected one object on each line|Expecting value"
    with pytest.raises(ValueError, match=said):
        read(data)


def test_the_command_ends_with_an_error(tmp_path):
    path = tmp_path / "t.jsonl"
    for data in (b'null\n{"a": 1}\n', b'{"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}\n"):
        path.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-m", "hld", "fit", str(path), "-o", str(tmp_path / "m.hld")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("opened", "closed"),
    [(b"[", b"]"), (b'{"a": ', b"}"), (b'[{"a":\n', b"}]"), (b'["]]]]", {"b": "}}"}, ', b"]")],
)
def test_deep_rows_are_refused_and_others_read(opened, closed):
    row = b'{"a": 1, "b": ' + opened * 10_000 + b"1" + closed * 10_000 + b"}\n"
    for data in (row, b'{"a": 2}\n' * 20_000 + row, row + b'}\n{"a": 2' * 20_000):
        assert is_beyond_arrow(data)
    with pytest.raises(ValueError, match=r"nested too deeply|Expecting value"):
        read(row)
    (shallow,) = read(
        b'{"a": 1, "b": ' + opened * 9 + b"1" + closed * 9 + b'}\n{"a": 2, "b": []}\n'
    )
    assert fit_encoder({"a": [1, 2]}).encode_counting(shallow)[0].tolist() == [[0], [1]]


def test_many_brackets_are_not_deep():
    rows = b'{"a": 1, "b": "' + b"[" * (MOST_OPEN + 9) + b'"}\n{"a": 2, "b": "x"}\r\n'
    assert is_beyond_arrow(rows)
    (chunk,) = read(rows)
    assert chunk["a"].tolist() == [1, 2]
    assert not is_beyond_arrow(b'{"a": [1, 2]}\r\n' * 1000 + b'{"a": [1, 2]}\n' * 1000)


def test_rows_with_names_of_their_own_are_refused():
    """Arrow would make as many columns as rows, and a cell in each for each."""
    rows = b"".join(b'{"user-%d": 1}\n' % i for i in range(20_000))
    assert is_beyond_arrow(rows)
    with pytest.raises(
        ValueError, match="t has 20000 rows with 20000 names in all, of which each has but a few"
    ):
        read(rows)
    nested = b"".join(b'{"a": {"user-%d": 1}}\n' % i for i in range(20_000))
    assert is_beyond_arrow(nested)
    assert len(read(nested)[0]) == 20_000


def test_wide_and_sparse_rows_are_for_arrow():
    wide = b"".join(
        b'{"x": 1, ' + b", ".join(b'"y%d": 1' % j for j in range(4 * FEW_NAMES)) + b"}\n"
        for _ in range(9)
    )
    sparse = b"".join(b'{"y%d": 1}\n' % (i % (2 * FEW_NAMES)) for i in range(5000))
    for rows in (wide, sparse):
        assert not is_beyond_arrow(rows)
        assert hasattr(read(rows)[0], "column_names")
