"""Copies of rows are told from rows that few levels make equal."""

import itertools
import pathlib
import warnings

import binomial_bounds as bounds
import numpy as np
import pytest

import hld
from hld.fitting.repeated_rows import is_repeated, multiplicities


def fitted(table, **options):
    """What was said while a small detector was fitted."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        hld.HLDDetector(num_latents=2, num_epochs=1, metric="likelihoods", num_resamples=19).fit(
            table, **options
        )
    return [one for one in found if "copies of rows" in str(one.message)]


@pytest.mark.parametrize("copies", [2, 3, 10])
def test_a_table_in_which_every_row_stands_more_than_once_is_reported(copies):
    table = np.random.default_rng(0).integers(0, 4, size=(300, 8))
    assert not fitted(table)
    (said,) = fitted(np.tile(table, (copies, 1)))
    assert f"of {300 * copies:,} rows {len(np.unique(table, axis=0))} are different" in str(
        said.message
    )
    assert pathlib.Path(said.filename).name == pathlib.Path(__file__).name
    assert len(fitted(np.repeat(table, copies, axis=0))) == 1


@pytest.mark.parametrize(("singles", "least"), [(0, 59), (1_000, 258), (10_000, 664)])
def test_the_questions_of_users_say_how_many_copies_are_seen(singles, least):
    assert not is_repeated(np.array([1] * singles + [2] * (least - 1)))
    assert is_repeated(np.array([1] * singles + [2] * least))


def test_copies_of_some_rows_are_reported():
    table = np.random.default_rng(1).integers(0, 4, size=(2000, 8))
    assert len(fitted(np.concatenate([table, table[:500]]))) == 1


def test_groups_and_series_may_hold_equal_rows():
    table = np.repeat(np.random.default_rng(2).integers(0, 4, size=(300, 8)), 2, axis=0)
    assert not fitted(table, groups=np.arange(600) // 20)
    assert not fitted(table, order="time")


@pytest.mark.parametrize(
    ("columns", "levels", "skew"), list(itertools.product((1, 3, 6, 12), (2, 4), (0.1, 1.0, 9.0)))
)
def test_independent_rows_are_not_reported(columns, levels, skew):
    """From columns of few levels, which make nearly all rows equal, to many, which make none equal."""
    rng, trials, reported = np.random.default_rng(3), 40, 0
    for _ in range(trials):
        shares = rng.dirichlet(np.full(levels, skew), size=columns)
        rows = np.stack([rng.choice(levels, 1000, p=p) for p in shares], axis=1)
        reported += is_repeated(multiplicities(rows))
    assert reported <= bounds.at_most(trials, 1e-4)


@pytest.mark.parametrize("mean", [0.5, 1.0, 2.0, 5.0, 40.0])
def test_rows_that_are_equally_frequent_meet_the_bound_with_equality(mean):
    """Then counts are nearly Poisson with one mean, and the inequality is an equation: the hardest case."""
    rng, trials = np.random.default_rng(4), 200
    tables = (rng.integers(0, int(4000 / mean), size=(4000, 1)) for _ in range(trials))
    reported = sum(is_repeated(multiplicities(table)) for table in tables)
    assert reported <= bounds.at_most(trials, 1e-4)


def test_rows_are_counted_as_they_are():
    rows = np.random.default_rng(5).integers(-1, 3, size=(500, 4)).astype(np.int8)
    expected = np.unique(rows, axis=0, return_counts=True)[1]
    assert sorted(multiplicities(rows).tolist()) == sorted(expected.tolist())
