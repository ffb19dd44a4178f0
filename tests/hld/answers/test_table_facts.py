"""Cells of a table under the names that the encoder has for them."""

import numpy as np
import pandas as pd

from hld.answers.table_facts import cells_by_name
from hld.schemas.encoder import fit_encoder
from hld.tables.cells import read_table


def test_tables_with_names_are_read_by_name():
    encoder = fit_encoder(pd.DataFrame({"a": [0, 1, 0], "b": [5, 6, 7]}))
    cells = cells_by_name(
        encoder, read_table(pd.DataFrame({"b": [8, 9], "other": [0, 0], "a": [1, 2]}))
    )
    assert cells["a"].tolist() == [1, 2]
    assert cells["b"].tolist() == [8, 9]


def test_tables_without_names_are_read_by_place():
    encoder = fit_encoder(np.array([[0, 5], [1, 6], [0, 7]]))
    for table in (np.array([[1, 8], [2, 9]]), pd.DataFrame({"y": [1, 2], "x": [8, 9]})):
        cells = cells_by_name(encoder, read_table(table))
        assert [cells[name].tolist() for name in encoder.names] == [[1, 2], [8, 9]]
