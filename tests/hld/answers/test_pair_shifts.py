"""Dependence: fitted tables, the level when columns move by themselves, and power when only dependence changes."""

from dataclasses import replace

import numpy as np
import pytest
from binomial_bounds import at_least, at_most
from scipy.stats import chi2
from scipy.stats.contingency import association

from hld.answers.dependences import PairShift, as_in_reference, cramers_v, fitted, pair_shifts
from hld.answers.profile import Profile
from hld.tables.schemas.columns import BinColumn, LevelColumn

BINS = [BinColumn(name, tuple(map(float, range(1, 8))), 0.0, 8.0) for name in "xy"]
LEVELS = [LevelColumn(name, "categorical", tuple("abcdefg")) for name in "xy"]


def profile(table):
    """Of two columns with a pair table."""
    sides = [np.append(table.sum(axis=1 - k), 0) for k in range(2)]
    return Profile(int(table.sum()), tuple(sides), np.array([[0, 1]]), (table,))


def test_fitted_tables_have_the_sums_and_the_odds_ratios(rng):
    tables = rng.integers(1, 50, size=(5, 2, 3, 4)).astype(float)
    tables[3] = 1.0  # is fitted at once, the others are not
    together = fitted(tables)
    for counts, E in zip(tables, together, strict=True):
        np.testing.assert_allclose(E, fitted(counts[None])[0], rtol=1e-12)
        for axis in range(3):
            np.testing.assert_allclose(E.sum(axis=axis), counts.sum(axis=axis), rtol=1e-5)
        odds = E[:, :-1, :-1] * E[:, 1:, 1:] / (E[:, :-1, 1:] * E[:, 1:, :-1])
        np.testing.assert_allclose(odds[0], odds[1], rtol=1e-3)


def test_expected_tables_have_the_odds_ratios_of_the_reference_and_the_sums_of_the_batch():
    """They had those of both together, which in a batch longer than the reference are nearly its own."""
    columns = [replace(column, levels=("a", "b")) for column in LEVELS]
    reference = np.array([[40_000, 10_000, 0], [10_000, 40_000, 0], [0, 0, 0]])
    batch = np.array([[600_000, 200_000, 0], [150_000, 50_000, 0], [0, 0, 0]])
    (found,) = pair_shifts(columns, profile(reference), profile(batch))
    E = found.expected_table
    for axis in range(2):
        np.testing.assert_allclose(E.sum(axis=axis), batch.sum(axis=axis)[:2] / 1e6, atol=1e-6)
    assert E[0, 0] * E[1, 1] / (E[0, 1] * E[1, 0]) == pytest.approx(16, rel=0.01)


def test_levels_that_the_reference_does_not_show_have_a_place_in_expected_tables():
    """And tables that are fitted together come out as they do alone."""
    R = np.array([[[30.0, 10.0], [0.0, 0.0]], [[5.0, 9.0], [3.0, 1.0]]])
    B = np.array([[[10.0, 10.0], [20.0, 60.0]], [[1.0, 2.0], [30.0, 4.0]]])
    found = as_in_reference(R, B)
    for i in range(2):
        np.testing.assert_array_equal(found[i : i + 1], as_in_reference(R[i : i + 1], B[i : i + 1]))
    found = found[0]
    np.testing.assert_allclose(found.sum(axis=1), [0.2, 0.8], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=0), [0.3, 0.7], atol=1e-6)


def test_cramers_v_is_scipys(rng):
    table = rng.integers(1, 50, size=(3, 4))
    assert cramers_v(table) == pytest.approx(association(table), rel=1e-12)


@pytest.mark.parametrize("columns", [BINS, LEVELS])
@pytest.mark.parametrize("sizes", [(5000, 500), (300, 60), (300, 3000)])
def test_columns_that_move_by_themselves_do_not_count(columns, sizes):
    rng = np.random.default_rng(5)
    shape = (8, 8)
    before = rng.dirichlet(np.ones(64)).reshape(shape)
    after = before * np.exp(rng.normal(0, 0.4, (8, 1))) * np.exp(rng.normal(0, 0.4, (1, 8)))
    pvalues = []
    for _ in range(150):
        tables = [
            rng.multinomial(n, (p / p.sum()).ravel()).reshape(shape)
            for n, p in zip(sizes, (before, after), strict=True)
        ]
        pvalues.append(pair_shifts(columns, *map(profile, tables))[0].pvalue)
    for alpha in (0.01, 0.05, 0.2):
        assert (np.array(pvalues) <= alpha).sum() <= at_most(150, alpha, 1e-4)


def levels(kind, shares):
    """Two columns with a level for each of some shares, and a category for unseen levels, which no row has."""
    values = tuple(range(len(shares))) if kind == "integer" else tuple("abcdefg")[: len(shares)]
    return [LevelColumn(name, kind, values) for name in "xy"]


@pytest.mark.parametrize("kind", ["integer", "categorical"])
def test_categories_that_no_row_has_are_no_group(rng, kind):
    tables = [np.zeros((4, 4), dtype=int) for _ in range(2)]
    for one, n in zip(tables, (4000, 900), strict=True):
        one[:3, :3] = rng.multinomial(n, rng.dirichlet(np.full(9, 5.0))).reshape(3, 3)
    found = pair_shifts(levels(kind, range(3)), *map(profile, tables))[0]
    E = fitted(np.array([tables], dtype=float)[:, :, :3, :3])[0]
    pearson = sum(
        ((one[:3, :3] - own) ** 2 / own).sum() for one, own in zip(tables, E, strict=True)
    )
    assert found.pvalue == pytest.approx(chi2.sf(pearson, 4), rel=1e-6)
    assert all("" not in one and len(one) == 3 for one in found.labels)


def test_an_empty_bin_is_in_the_group_of_a_neighbour():
    """Eight bins, of which the sixth is empty and lies in none of four parts of the others."""
    counts = np.array([10, 5, 5, 50, 0, 12, 9, 9])
    table = np.outer(counts, counts)
    found = pair_shifts(BINS, profile(table), profile(table // 50))[0]
    assert all("" not in one for one in found.labels)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integer", "categorical"])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.3, 0.2)])
def test_pvalues_of_columns_with_few_levels_are_uniform(kind, shares):
    rng, C, trials = np.random.default_rng(10), len(shares), 2000
    reference, batch = (
        np.pad(
            rng.multinomial(n, np.outer(shares, shares).ravel(), size=trials).reshape(-1, C, C),
            [(0, 0), (0, 1), (0, 1)],
        )
        for n in (3000, 1000)
    )
    before = Profile(0, (np.zeros(C + 2),) * 2, np.tile([0, 1], (trials, 1)), tuple(reference))
    pvalues = np.array(
        [
            one.pvalue
            for one in pair_shifts(
                levels(kind, shares), before, replace(before, pairs=tuple(batch))
            )
        ]
    )
    for alpha in (0.02, 0.05, 0.2, 0.5):
        assert at_least(trials, alpha) <= (pvalues <= alpha).sum() <= at_most(trials, alpha)


@pytest.mark.parametrize("columns", [BINS, LEVELS])
def test_broken_dependence_is_found(columns):
    rng = np.random.default_rng(6)
    tied, free = np.eye(8) / 8 * 0.8 + 0.2 / 64, np.full((8, 8), 1 / 64)
    tables = [rng.multinomial(n, p.ravel()).reshape(8, 8) for n, p in ((2000, tied), (300, free))]
    found = pair_shifts(columns, *map(profile, tables))[0]
    assert found.adjusted < 1e-10
    assert found.observed < found.expected
    assert found.describe().startswith("weaker, ")
    assert found.expected_table.sum() == pytest.approx(1, abs=1e-6)
    assert found.observed_table.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("columns", "words"), [(BINS, "reversed, correlation 0.80 -> -0.8"), (LEVELS, "weaker, 0.8")]
)
def test_a_dependence_that_is_reversed(columns, words):
    rising = np.eye(8) / 8 * 0.8 + 0.2 / 64
    counts = np.round(rising * 6400).astype(int)
    falling = np.round(rising[:, ::-1] * 640 * 0.99).astype(int)
    found = pair_shifts(columns, profile(counts), profile(falling))[0]
    assert found.adjusted < 1e-10
    assert found.describe().startswith(words)
    groups = np.arange(found.expected_table.shape[0])
    if columns is LEVELS:
        assert found.correlations is found.to_dict()["correlations"] is None
        return
    drawn = np.repeat(
        np.array(np.meshgrid(groups, groups, indexing="ij")).reshape(2, -1),
        np.round(found.observed_table * falling.sum()).astype(int).ravel(),
        axis=1,
    )
    assert found.correlations[1] == pytest.approx(np.corrcoef(drawn)[0, 1], abs=1e-12)
    assert found.to_dict()["correlations"] == list(found.correlations)


def test_unseen_whole_numbers_reverse_no_dependence(rng):
    columns = (
        LevelColumn("a", "integer", (10, 11, 12, 13)),
        LevelColumn("b", "integer", (0, 1, 2, 3)),
    )

    def rows(shares, unseen):
        found = np.zeros((5, 5), dtype=int)
        np.add.at(found, tuple(rng.choice(4, 1000, p=shares)[None].repeat(2, axis=0)), 1)
        found[:4, :4] += 60
        found[4, 0] = unseen  # such as 9, below all others, where b is 0
        return Profile(int(found.sum()), (), np.array([[0, 1]]), (found,))

    (found,) = pair_shifts(columns, rows(np.full(4, 0.25), 40), rows([0.1, 0.3, 0.3, 0.3], 3000))
    assert min(found.correlations) > 0.3, found.correlations
    assert "reversed" not in found.describe()
    none_placed = (
        rows(np.full(4, 0.25), 0),
        Profile(900, (), np.array([[0, 1]]), (np.diag([0, 0, 0, 0, 900]),)),
    )
    assert all(one.correlations is None for one in pair_shifts(columns, *none_placed))


def test_few_rows_are_not_compared():
    assert pair_shifts(BINS, profile(np.full((8, 8), 9)), profile(np.eye(8, dtype=int))) == ()


def test_neighbouring_bins_are_named_as_one():
    table = np.full((8, 8), 30)
    found = pair_shifts([*BINS], profile(table), profile(table))[0]
    assert found.labels[0] == ("< 1", "1 to 3", "3 to 4", "4 to 5", "5 to 7", ">= 7")


def shift(expected, observed, strengths=(0.651, 0.649)):
    """A pair whose shares of cells are known."""
    labels = ("no", "yes"), ("low", "high")
    return PairShift(
        ("a", "b"), *strengths, 0.01, 0.01, labels, np.array(expected), np.array(observed), None
    )


def test_what_is_said_of_a_pair_is_seen_in_its_numbers():
    small = shift([[0.1202, 0.3], [0.5797, 0.0001]], [[0.1199, 0.3002], [0.5796, 0.0003]])
    assert small.describe() == (
        "as strong as before (0.65), but between other values; no with low 12.02% -> 11.99%"
    )
    same = np.array([[0.12, 0.3], [0.58, 0]])
    assert shift(same, same, (0.65, 0.64)).describe() == "weaker, 0.65 -> 0.64"
    assert (
        shift([[0.2, 0.3], [0.25, 0.25]], [[0.25, 0.25], [0.2, 0.3]], (0.2, 0.3)).describe()
        == "stronger, 0.20 -> 0.30; no with low 20% -> 25%"
    )
