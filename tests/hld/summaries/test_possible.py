"""Summaries that no rows have: refused where they are tested or compared, and no others."""

import json

import numpy as np
import pytest
import zoo

import hld
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = sample(CIRCUIT, 300, rng=0).astype(np.int64)
HOLED = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.2, -1, ROWS)


@pytest.fixture(
    scope="module", params=["euclidean", ("euclidean", "whitened", "score")], ids=["one", "three"]
)
def test(request):
    return hld.HLDTest(
        CIRCUIT,
        metric=request.param,
        reference="training",
        missing="available",
        rng=0,
        training_data=ROWS[:100],
    )


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:1],
        ROWS[:2],
        ROWS[100:],
        HOLED[100:],
        np.zeros_like(ROWS),
        HOLED[:1],
        np.tile(ROWS[:7], (1000, 1)),
    ],
    ids=len,
)
def test_every_summary_of_rows_is_possible(test, rows):
    assert 0 <= test(hld.BatchSummary.from_json(test.summarize(rows).to_json())).pvalue <= 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sums", 1e150),
        ("sums", -1.0),
        ("sums", 1e300),
        ("sums", 201.0),
        ("seen", 1),
        ("squares", 1e300),
        ("squares", 0),
        ("fourths", 1.7e308),
        ("fourths", 0),
        ("sketch", 1.7e308),
        ("sketch", -1e9),
    ],
)
def test_others_are_refused(test, name, value):
    summary = test.summarize(ROWS[100:])
    changed = json.loads(summary.to_json())
    place = changed["arrays"].setdefault(name, [200] * len(summary.sums))
    while isinstance(place[0], list):
        place = place[0]
    place[0] = value
    changed = hld.BatchSummary.from_json(json.dumps(changed))
    with pytest.raises(
        ValueError, match="`summary` holds sums that 200 rows cannot have: make the summary again"
    ):
        test(changed)
    if name != "seen":  # with holes it is refused for them
        with pytest.raises(ValueError, match="`second` holds sums that 200 rows cannot have"):
            hld.two_sample(test, summary, changed)


def test_another_number_of_sums_is_refused(test):
    changed = json.loads(test.summarize(ROWS[100:]).to_json())
    changed["arrays"] |= {"sums": [1] * 3, "seen": [200] * 3}
    with pytest.raises(ValueError, match="`first` has 3 sums, expected"):
        hld.two_sample(
            test, hld.BatchSummary.from_json(json.dumps(changed)), test.summarize(ROWS[100:])
        )
