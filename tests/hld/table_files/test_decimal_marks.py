"""Decimal marks: found from all cells, or from those of the columns that are numbers in the model."""

import pandas as pd
import pyarrow as pa
import pytest

from hld.schemas.encoder import fit_encoder
from hld.table_files.dialect import likely_decimal
from hld.table_files.text_cells import mark_of_batch


@pytest.mark.parametrize(
    ("columns", "mark"),
    [
        ([["0"] * 99 + ["12,34"]], ","),
        ([["12,34"] + ["0"] * 99], ","),
        ([["1,5", "", None, "NA"]], ","),
        ([["1,5", "no"]], "."),
        ([["1,5"], ["2.5"]], "."),
        ([["1,5", "2.5"]], "."),
        ([["31.12.2026"], ["1,5"]], ","),
        ([], "."),
    ],
)
def test_the_likely_mark_does_not_depend_on_the_order(columns, mark):
    for cells in (columns, [column[::-1] for column in columns], columns[::-1]):
        assert likely_decimal(cells, ";", ["NA"]) == mark
        assert likely_decimal(cells, ",", ["NA"]) == "."


@pytest.mark.parametrize(
    ("size", "count", "mark"),
    [
        (["0", "1,5"], ["1", "2"], ","),
        (["0", "1"], ["1", "2,0"], ","),
        (["0", "1,5"], ["1", "2.0"], "."),
        (["0", "1"], ["1", "2"], None),
        (["1,5", "2.5"], ["1", "2"], "."),
        (["no", "1,5"], ["1", None], ","),
    ],
)
def test_the_mark_of_a_batch_is_that_of_its_fitted_numbers(size, count, mark):
    training = pd.DataFrame(
        {
            "size": [0.25 * i for i in range(40)],
            "count": [i % 3 for i in range(40)],
            "word": ["a", "1,5"] * 20,
            "day": pd.date_range("2026-01-01", periods=40),
        }
    )
    fitted = {column.name: column for column in fit_encoder(training).columns}
    table = {
        "size": size,
        "count": count,
        "word": ["1.5", "1,5"],
        "day": ["1.5", "1,5"],
        "new": ["1.5", "1,5"],
    }
    columns = {name: pa.chunked_array([cells], pa.string()) for name, cells in table.items()}
    assert mark_of_batch(columns.items(), fitted) == mark
