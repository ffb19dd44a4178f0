"""Which columns of a body a model looks at."""

import numpy as np
import pandas as pd

import hld
from hld.serve.request.known_columns import is_needed


def test_columns_of_training_are_needed_and_those_that_parts_are_derived_from():
    when = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(300), "h")
    table = pd.DataFrame(
        {"when": when, "size": np.arange(300) % 3, "id": [f"id {i}" for i in range(300)]}
    )
    given = hld.TableSchema(
        (*hld.calendar_columns("when", ["hour"]), hld.ColumnSchema("dropped", "left out"))
    )
    encoder = hld.learn_schema(table, given=given).encoder()
    assert encoder.names == ("size", "when_hour")
    found = {
        name: is_needed(encoder, name)
        for name in ("size", "when", "when_hour", "dropped", "other", "")
    }
    assert found == {
        "size": True,
        "when": True,
        "when_hour": True,
        "dropped": False,
        "other": False,
        "": False,
    }


def test_all_are_needed_where_columns_are_known_by_position():
    encoder = hld.fit_encoder(np.array([[1, 2], [2, 1]]))
    assert is_needed(encoder, "x0")
    assert is_needed(encoder, "other")
