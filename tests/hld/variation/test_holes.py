"""Missing cells among groups and stretches of time: the level is kept, and columns that moved are found."""

import numpy as np
import pytest
from binomial_bounds import at_most

import hld


def group(rng, n):
    """Rows of a group with a mood, and a share of missing cells, of its own."""
    rows = rng.normal(0.3 * rng.normal(), size=(n, 1)) + rng.normal(size=(n, 4))
    rows[rng.random(rows.shape) < rng.random() / 2] = np.nan
    return rows


def groups(rng):
    parts = [group(rng, int(rng.integers(20, 60))) for _ in range(38)]
    return (
        np.concatenate(parts),
        {"groups": np.repeat(np.arange(38), [len(one) for one in parts])},
        group(rng, 40),
    )


def series(rng):
    rows, hides = rng.normal(size=(2100, 4)), rng.normal(size=(2100, 1))
    for t in range(1, len(rows)):
        rows[t] += 0.5 * rows[t - 1]
        hides[t] += 0.5 * hides[t - 1]
    rows[hides + rng.normal(size=rows.shape) > 1.5] = np.nan
    return rows[:1800], {"order": "time"}, rows[2000:]


@pytest.mark.thorough
@pytest.mark.parametrize("draw", [groups, series])
def test_missing_cells_keep_the_level_and_columns_are_found(draw):
    trials, rejected, called, found = 30, 0, 0, 0
    for seed in range(trials):
        rows, fitting, batch = draw(np.random.default_rng([9, seed]))
        detector = hld.HLDDetector(num_latents=2, num_epochs=3, num_bins=4, num_resamples=99).fit(
            rows, **fitting
        )
        result = detector.test(batch)
        rejected += result.pvalue <= 0.05
        called += any(one.adjusted <= 0.05 for one in result.columns)
        moved = batch.copy()
        moved[:, 2] += 9
        found += any(
            one.name == "x2" and one.adjusted <= 0.05 for one in detector.test(moved).columns
        )
    assert max(rejected, called) <= at_most(trials, 0.05)
    assert found > at_most(trials, 0.05)  # which a column that has not moved does not explain
