"""The options that a test keeps: each bad one names itself, those that contradict each other are refused together."""

import itertools
import math

import pytest

from hld.laws.named import NULLS
from hld.references.rows import FROM_ROWS, REFERENCES
from hld.testing.goodness_of_fit import MISSING, Settings

PLAIN = {
    "null": "exact",
    "reference": "circuit",
    "num_train": None,
    "tolerance": 0.0,
    "missing": "complete",
    "seed": 0,
}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("null", "gauss", ValueError),
        ("null", ["exact"], TypeError),
        ("reference", "held-out", ValueError),
        ("reference", None, TypeError),
        ("missing", "drop", ValueError),
        ("num_train", 0, ValueError),
        ("num_train", 10.0, TypeError),
        ("num_train", True, TypeError),
        ("tolerance", -0.1, ValueError),
        ("tolerance", math.nan, ValueError),
        ("tolerance", math.inf, ValueError),
        ("tolerance", "1", TypeError),
        ("seed", -1, ValueError),
        ("seed", 0.5, TypeError),
        ("seed", None, TypeError),
    ],
)
def test_each_bad_option_names_itself(name, value, error):
    with pytest.raises(error, match=f"`{name}` must be"):
        Settings(**PLAIN | {name: value})


@pytest.mark.parametrize(
    ("null", "reference", "missing"), list(itertools.product(NULLS, REFERENCES, MISSING))
)
def test_every_combination_is_taken_or_named_by_what_it_needs(null, reference, missing):
    """Holes are summed out of laws of the circuit, counted out of laws of rows; draws need the circuit."""
    law, rows = null in ("exact", "auto"), reference in FROM_ROWS
    taken = {"complete": True, "exact": law and not rows, "available": law and rows}[
        missing
    ] and not (null == "monte-carlo" and rows)
    options = PLAIN | {"null": null, "reference": reference, "missing": missing}
    if taken:
        assert Settings(**options).missing == missing
        return
    name = "null" if missing == "complete" else "missing"
    with pytest.raises(ValueError, match=f"`{name}` '{options[name]}'"):
        Settings(**options)


@pytest.mark.parametrize(("null", "reference"), list(itertools.product(NULLS, REFERENCES)))
def test_the_usual_way_to_compare_holes_is_one_that_the_options_allow(null, reference):
    if (null, reference) != ("monte-carlo", "training"):
        counts = reference == "training" and null in ("exact", "auto")
        found = Settings(**PLAIN | {"null": null, "reference": reference, "missing": None})
        assert found.missing == ("available" if counts else "complete")
