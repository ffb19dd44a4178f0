"""Columns that only identify rows are recognised, and others are not."""
import numpy as np
import pandas as pd
import pytest

import hld


@pytest.mark.parametrize(("values", "kind"), [
    ([f"id {i}" for i in range(200)], "left out"),
    ([f"id {i % 190}" for i in range(200)], "left out"),            # 180 of 200 occur in one row only
    ([f"id {i % 150}" for i in range(200)], "categorical"),
    ([f"id {i}" for i in range(60)], "categorical"),                # few enough to be kept
    (list(range(1000, 1200)), "left out"), (list(range(200))[::-1], "left out"),
    (np.random.default_rng(0).permutation(200).tolist(), "left out"),
    ((np.random.default_rng(0).permutation(200) * 7 % 1000).tolist(), "continuous"),
    (np.linspace(0, 1, 200).tolist(), "continuous"), (list(range(90)), "continuous"),
])
def test_columns_that_tell_rows_apart_are_left_out(values, kind):
    table = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 2})
    schema = hld.learn_schema(table)
    assert schema["x"].kind == kind
    asked = hld.learn_schema(table, categorical=["x"])
    assert asked["x"].kind == "categorical"
    assert (schema["x"].note == "") == (kind != "left out")
