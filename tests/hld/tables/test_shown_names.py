"""Names in messages: one line, however long a name is and however many there are."""

import re

import numpy as np
import pytest

import hld
from hld.detector.audit import column_of
from hld.tables.shown_names import listed

WIDE = {f"x{v}": np.array([0, 1, 0, 1]) for v in range(3000)}
SCHEMA = hld.learn_schema(WIDE, categorical=list(WIDE))
SHORT = 2000  # characters


def test_lists_say_how_many_names_they_leave_out():
    assert listed(["a", 1, "b\n"]) == r"'a', 1, 'b\n'"
    assert listed(["a", 1, "b\n"], is_quoted=False) == r"a, 1, b\n"
    assert listed(map(str, range(30)), 3) == "'0', '1', '2' and 27 more"
    assert len(listed(["long" * 1000] * 50)) < SHORT


@pytest.mark.parametrize(
    "call",
    [
        lambda: hld.HLDDetector(covariates=["y"]).fit(WIDE),
        lambda: hld.HLDDetector().fit(WIDE, groups="y"),
        lambda: hld.HLDDetector(categorical=["y"]).fit(WIDE),
        lambda: hld.HLDDetector(schema=hld.TableSchema((hld.ColumnSchema("y", "constant"),))).fit(
            WIDE
        ),
        lambda: column_of(WIDE, "y"),
        lambda: SCHEMA["y"],
        lambda: SCHEMA.encoder().encode(np.zeros((1, 2))),
        lambda: SCHEMA.encoder().encode({"x0": [0]}),
        lambda: SCHEMA.encoder().encode({**WIDE, **{f"y{v}": [0] * 4 for v in range(3000)}}),
        lambda: SCHEMA.encoder().encode_counting({"y": [0]}),
        lambda: hld.learn_schema(
            np.array([list(range(2500)) * 2] * 3), names=[f"x{v % 2500}" for v in range(5000)]
        ),
    ],
)
def test_messages_about_wide_tables_are_short(call):
    with pytest.raises((ValueError, KeyError)) as caught:
        call()
    assert len(str(caught.value)) < SHORT
    assert re.search(r" and \d,\d\d\d more|entries", str(caught.value))


def test_the_nearest_names_come_first():
    names = ["Class", "depth", *(f"x{v}" for v in range(15)), "days_to_ship", "ship_days"]
    assert listed(names, 4, near="shipdays") == "'ship_days', 'Class', 'depth', 'x0' and 15 more"
    assert listed(names, 2, near="class").startswith("'Class', 'depth'")
    assert listed([1, 2.5, "a"], near="A") == "'a', 1, 2.5"
