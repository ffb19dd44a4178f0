"""The spread of rows in a few sums: they add up, bound what the rows themselves say, and pool two batches."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import zoo
from dense_maps import dense_map
from scipy.stats import chi2

import hld
from hld.features.linear_maps import Scaled
from hld.laws.ranks.confirmation import ASKED_BELOW, confirmed, sample_norms
from hld.references.kept_rows import KeptRows
from hld.testing.summaries.summing import (
    confirmed_by_spread,
    pooled_by_spread,
    sketches_of,
    spread_of,
)
from pcircuit import sample

PLAIN, DENSE = (
    Scaled("euclidean", np.array([1.0, 0.5, 2.0])),
    dense_map("dense", np.arange(6.0).reshape(2, 3) - 2),
)
METRICS = PLAIN, DENSE
ONE = (Scaled("euclidean", np.ones(1)),)


def kept_of(rows, metrics):
    """What a test keeps of reference rows (k, m)."""
    mapped = [metric.apply(rows - rows.mean(axis=0)) for metric in metrics]
    squared = np.array([(one**2).sum(axis=1) for one in mapped])
    none = np.zeros((0, 0))
    return KeptRows(
        len(rows),
        np.array([sample_norms(one) for one in mapped]),
        (squared**2).mean(axis=1),
        squared.max(axis=1),
        none,
        np.zeros(0, int),
        none,
    )


def spread(rows, kept, metrics):
    return spread_of(metrics, sketches_of(metrics), kept, rows)


def test_sums_are_those_of_squares_and_fourth_powers_and_of_rows_farther_than_all_that_are_kept(
    rng,
):
    kept, rows = kept_of(rng.normal(size=(50, 3)), METRICS), rng.normal(size=(200, 3)) * 1.5
    found = spread(rows, kept, METRICS)
    squared = np.array(
        [((rows * [1.0, 0.5, 2.0]) ** 2).sum(axis=1), ((rows @ DENSE.matrix.T) ** 2).sum(axis=1)]
    )
    np.testing.assert_allclose(found["squares"], squared.sum(axis=1))
    np.testing.assert_allclose(found["fourths"], (squared**2).sum(axis=1))
    assert found["odd"].tolist() == (squared > kept.farthest[:, None]).sum(axis=1).tolist()
    assert found["odd"].min() > 0
    edge = kept_of(np.array([[-1.0], [1.0]]), ONE)  # a row as far as the farthest is not odd
    assert spread(np.array([[1.0], [-1.0], [1.1], [0.0]]), edge, ONE)["odd"].tolist() == [1]
    first, last = (spread(part, kept, METRICS) for part in (rows[:70], rows[70:]))
    for name, whole in found.items():
        np.testing.assert_allclose(first[name] + last[name], whole)


@pytest.mark.parametrize("seed", range(4))
def test_in_one_direction_the_spread_never_allows_less_than_the_rows(seed):
    """There the sketch is exact, and only the fourth power is bounded."""
    rng = np.random.default_rng(seed)
    reference, rows = rng.normal(size=(60, 1)), rng.normal(1.2, 1, size=(20, 1))
    rows[:seed] *= 3
    kept, differences = kept_of(reference, ONE), rows - reference.mean()
    squared = differences.mean(axis=0) ** 2
    by_rows = confirmed(kept, ONE, differences, squared, 20)
    by_spread = confirmed_by_spread(
        kept, ONE, spread(differences, kept, ONE), differences.mean(axis=0), squared, 20
    )
    assert by_rows[0] < ASKED_BELOW
    assert by_rows[0] <= by_spread[0]


def test_odd_rows_bound_the_p_value_by_the_ways_in_which_all_can_be_in_the_batch():
    """Two rows beyond 200: without the bound the p-value would be below 2 / (202 * 201)."""
    kept, rows = kept_of(np.array([[-1.0], [1.0]] * 100), ONE), np.array([[4.0], [4.0]])
    own = spread(rows, kept, ONE)
    bounded, without = (
        confirmed_by_spread(kept, ONE, one, rows[0], rows[0] ** 2, 2)[0]
        for one in (own, own | {"odd": np.array([0])})
    )
    assert without < bounded == pytest.approx(2 / (202 * 201))


def summary(rows, kept):
    own = spread(rows, kept, ONE)
    return SimpleNamespace(num_rows=len(rows), means=rows.mean(axis=0), arrays=own)


@pytest.mark.parametrize("ones", [(30, 20), (30, 8), (10, 36)])
def test_two_batches_of_signs_are_compared_by_the_variance_of_all(ones):
    """Fourth powers of signs are the smallest there are: the law is that of one chi-square, about any centre."""
    kept = kept_of(np.array([[-1.0], [1.0]]), ONE)
    one, other = (
        np.where(np.arange(n) < k, 1.0, -1.0)[:, None] for n, k in zip((60, 40), ones, strict=True)
    )
    apart, every = one.mean() - other.mean(), np.concatenate([one, other])
    expected = chi2.sf(apart**2 / (1 / 60 + 1 / 40) / every.var(ddof=1), 1)
    batches = summary(one, kept), summary(other, kept)
    (found,) = pooled_by_spread(ONE, batches, np.zeros(1), np.array([apart**2]))
    assert found == pytest.approx(expected, rel=1e-9)
    same = summary(np.array([[0.5]]), kept)
    assert pooled_by_spread(ONE, (same, same), np.zeros(1), np.zeros(1)) == (1.0,)
    assert pooled_by_spread(ONE, batches[::-1], np.zeros(1), np.array([apart**2]))[
        0
    ] == pytest.approx(found)


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
    place = changed["arrays"][name]
    while isinstance(place[0], list):
        place = place[0]
    place[0] = value
    changed = hld.BatchSummary.from_json(json.dumps(changed))
    with pytest.raises(
        ValueError, match="`summary` holds sums that 200 rows cannot have: make the summary again"
    ):
        test(changed)
    few = {one: summary.arrays[one][:3] for one in ("sums", "seen")}
    short = replace(summary, arrays=summary.arrays | few)
    with pytest.raises(ValueError, match="`summary` has 3 sums, expected"):
        test(short)
    if name != "seen":  # with holes it is refused for them
        with pytest.raises(ValueError, match="`second` holds sums that 200 rows cannot have"):
            hld.two_sample(test, summary, changed)
