"""Chunks of rows: how many, and how much memory they keep."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hld
from hld.tables.files import files
from hld.tables.files.dialect import ReadOptions

ENDINGS = {"gzip": ".gz", "bz2": ".bz2", "lzma": ".xz", "zstd": ".zst"}
PEAK = """
import re, sys
from hld.tables.files.dialect import ReadOptions
from hld.tables.files.files import typed_chunks
for chunk in typed_chunks(sys.argv[1], ReadOptions()):
    pass
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="reads the peak of memory from /proc"
)
def test_memory_does_not_grow_with_a_parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    rows = pyarrow.table({f"x{v}": rng.normal(size=600_000) for v in range(10)})
    for name, count in (
        ("short", 200_000),
        ("long", 600_000),
    ):  # row groups of 1.6 MB, 16 and 48 MB in all
        parquet.write_table(rows[:count], tmp_path / f"{name}.parquet", row_group_size=20_000)
    peaks = [
        int(
            subprocess.run(
                [sys.executable, "-c", PEAK, tmp_path / f"{name}.parquet"],
                check=True,
                env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
                capture_output=True,
                text=True,
            ).stdout
        )
        for name in ("short", "long")
    ]
    assert peaks[1] - peaks[0] < 25_000  # kilobytes


@pytest.mark.parametrize("start", ['1,"2\n', "1,2\n1,2"])
def test_a_row_longer_than_a_block_is_said_to_be_that(tmp_path, start):
    """Mostly a quote without an end; Arrow speaks of objects that straddle its blocks."""
    pytest.importorskip("pyarrow")
    rest = "1,2\n" * (3 * files.BLOCK // 4) if '"' in start else "2" * (3 * files.BLOCK)
    (tmp_path / "t.csv").write_text(f"a,b\n{start}{rest}\n")
    with pytest.raises(
        ValueError, match=r"t.csv' has a row of more than 4 MiB, .*: check its quotes"
    ):
        list(
            files.read_chunks(
                str(tmp_path / "t.csv"),
                hld.fit_encoder({"a": [1, 2], "b": [1.5, 2.5]}),
            )
        )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "", " \n\n"])
def test_quotes_without_an_end_are_refused_and_lines_in_cells_are_not(tmp_path, end, encoding):
    """Arrow made one cell of all rows behind the quote, and the verdict was on the few rows before it."""
    pytest.importorskip("pyarrow")
    encoder = hld.fit_encoder({"a": [1, 2], "b": ["u", "v"]})

    def codes(text):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        options = ReadOptions(encoding=encoding) if encoding == "utf-16" else ReadOptions()
        chunks = files.read_chunks(str(tmp_path / "t.csv"), encoder, options)
        return np.concatenate([encoder.encode_counting(chunk)[0] for chunk in chunks]).tolist()

    for cell in ('"u', '"u"" and v', '"'):
        with pytest.raises(
            ValueError,
            match=r"t.csv' ends inside quotes, expected them to be closed: all lines from ",
        ):
            codes(f"a,b\n1,u\n1,{cell}\n2,v\n1,u{end}")
    for cell in ('"two\nlines"', '"a quote\n"""', '"\n"'):
        assert codes(f"a,b\n1,u\n2,{cell}\n2,v\n1,{cell}{end}") == [[0, 0], [1, 2], [1, 1], [0, 2]]


@pytest.mark.parametrize(
    ("columns", "sizes"), [(1, [10]), (2, [6, 4]), (5, [2] * 5), (90, [1] * 10)]
)
def test_chunks_of_wide_tables_have_fewer_rows(tmp_path, monkeypatch, columns, sizes):
    monkeypatch.setattr(files, "CELLS", 12)
    table = pa.table({f"x{v}": range(10) for v in range(columns)})
    pq.write_table(table, tmp_path / "t.parquet")
    chunks = files.typed_chunks(str(tmp_path / "t.parquet"), ReadOptions())
    assert [len(chunk) for chunk in chunks] == sizes


@pytest.mark.parametrize("pack", ENDINGS)
def test_parquet_may_be_compressed_once_more(tmp_path, pack):
    """With zstd it was called damaged, "only valid on seekable files"."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1, 2, 3], "b": ["x", None, "y"]})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    data = (
        pyarrow.Codec("zstd").compress(data, asbytes=True)
        if pack == "zstd"
        else importlib.import_module(pack).compress(data)
    )
    for name in ("t.parquet", "u.parquet" + ENDINGS[pack]):
        (tmp_path / name).write_bytes(data)
        assert files.read_training(str(tmp_path / name))[0].to_pydict() == table.to_pydict()
