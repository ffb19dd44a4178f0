"""Rows to learn from out of a long table: a uniform sample, or the last of a series."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from hld.table_files import files


def test_a_long_table_is_learned_from_a_uniform_sample(tmp_path):
    """Each row is as likely as any other, whatever chunk it is in, and the order is kept."""
    chunks = [
        pd.DataFrame({"row": np.arange(start, min(start + 37, 200))}) for start in range(0, 200, 37)
    ]
    trials, hits = 120, np.zeros(200, dtype=int)
    for seed in range(trials):
        held, total = files.sampled(iter(chunks), 50, seed)
        rows = held["row"].to_numpy()
        assert (len(rows), total) == (50, 200)
        assert (np.diff(rows) > 0).all()
        hits[rows] += 1
    low, high = binom.ppf([1e-6 / 400, 1 - 1e-6 / 400], trials, 50 / 200)
    assert low <= hits.min() <= hits.max() <= high
    all_of_it, _ = files.sampled(iter(chunks), 1000, 0)
    assert all_of_it["row"].tolist() == list(range(200))


def test_of_a_long_series_the_last_rows_are_learned():
    chunks = [
        pd.DataFrame({"row": np.arange(start, min(start + 37, 200))}) for start in range(0, 200, 37)
    ]
    for most in (1, 30, 50, 199, 200, 1000):
        held, total = files.sampled(iter(chunks), most, 0, is_series=True)
        assert (held["row"].tolist(), total) == (list(range(max(200 - most, 0), 200)), 200)


@pytest.mark.parametrize("max_rows", [None, 50])
def test_nothing_to_learn_from(max_rows):
    with pytest.raises(ValueError, match="has no rows, expected some to learn from"):
        files.sampled(iter([]), max_rows, 0)


@pytest.mark.parametrize(("columns", "expected"), [(1, 40), (10, 20), (30, 10)])
def test_wide_tables_are_learned_from_fewer_rows(monkeypatch, columns, expected):
    for name, value in {"MOST_ROWS": 40, "LEAST_ROWS": 10, "MOST_CELLS": 200}.items():
        monkeypatch.setattr(files, name, value)
    chunks = [pd.DataFrame(np.zeros((25, columns))) for _ in range(3)]
    held, total = files.sampled(iter(chunks), None, 0)
    assert (held.shape, total) == ((expected, columns), 75)
