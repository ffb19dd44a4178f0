"""Chunks of rows: how many, and how much memory they keep."""
import numpy as np
import pytest

from hld.table_files import row_chunks
from hld.table_files.dialect import ReadOptions


def test_memory_does_not_grow_with_a_parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = pyarrow.table({"x": np.random.default_rng(0).normal(size=2_000_000)})
    parquet.write_table(rows, tmp_path / "t.parquet", row_group_size=100_000)       # 20 of them, 16 MB in all
    del rows
    before, held, total = pyarrow.total_allocated_bytes(), [], 0
    for chunk in row_chunks.typed_chunks(str(tmp_path / "t.parquet"), ReadOptions()):
        total += chunk.num_rows
        held.append(pyarrow.total_allocated_bytes() - before)
    assert total == 2_000_000
    assert max(held) < 8_000_000        # two chunks and the row groups that they are in, not 16 MB and more


@pytest.mark.parametrize(("columns", "rows"), [(1, 2 ** 17), (128, 2 ** 17), (1000, 16_777), (10 ** 8, 1)])
def test_chunks_of_wide_tables_have_fewer_rows(columns, rows):
    assert row_chunks._rows_of(columns) == rows
