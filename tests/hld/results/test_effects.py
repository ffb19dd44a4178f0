"""The interval of the effect size covers what it should, and the shell can be ruled by it."""

import binomial_bounds as bounds
import numpy as np
import pytest
from scipy import stats

import hld
import pcircuit
from hld.results.effects import effect_interval


@pytest.mark.thorough
@pytest.mark.parametrize("size", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("law", ["flat", "steep"])
def test_the_interval_covers_the_effect(size, law):
    rng, m, trials, share = np.random.default_rng(7), 12, 400, 1 / 150
    values = np.ones(m) if law == "flat" else 0.5 ** np.arange(m)
    vectors = stats.ortho_group.rvs(m, random_state=1)
    delta = vectors @ (np.sqrt(values) * rng.normal(size=m))
    delta *= size * np.sqrt(values.sum()) / np.linalg.norm(delta)
    covered = 0
    for _ in range(trials):
        seen = delta + vectors @ (np.sqrt(values * share) * rng.normal(size=m))
        low, high = effect_interval(seen, (values, vectors), share)
        covered += low <= size <= high
    assert covered >= bounds.at_least(trials, 0.95)


def test_the_unit_of_the_vectors_does_not_matter(rng):
    values, deltas = np.array([1.0, 0.3, 0.0]), rng.normal(size=3)
    expected = effect_interval(deltas, (values, np.eye(3)), 1 / 50)
    for unit in (1e-60, 1e-130, 1e60):  # eigenvalues of 1e-260, whose third power is 0
        found = effect_interval(deltas * unit, (values * unit**2, np.eye(3)), 1 / 50)
        assert found == pytest.approx(expected, rel=1e-8)


def test_no_variance_no_effect():
    assert effect_interval(np.zeros(2), (np.zeros(2), np.eye(2)), 0.1) == (0.0, 0.0)


def test_the_interval_does_not_depend_on_the_choice_among_eigenvectors_of_equal_eigenvalues(rng):
    values, deltas = np.repeat([3.0, 1.0], 4), 3.0 * rng.normal(size=8)
    turned = np.zeros((8, 8))
    for part in (slice(0, 4), slice(4, 8)):
        turned[part, part] = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    low, high = effect_interval(deltas, (values, np.eye(8)), 0.2)
    assert 0 < low < high
    np.testing.assert_allclose(
        effect_interval(deltas, (values, turned), 0.2), (low, high), rtol=1e-8
    )


def _rare_and_often(num_columns, holes=0.0, hidden=0.0, T=100, trials=150):
    """Results of batches in which levels of one row in fifty have become those of three in ten, and true effects."""
    rng = np.random.default_rng(11)
    circuit = pcircuit.chow_liu_circuit((rng.random((500, num_columns)) < 0.1).astype(int))
    for _ in range(trials):
        rows, batch = (
            (rng.random((n, num_columns)) < p).astype(int) for n, p in ((200, 0.02), (T, 0.3))
        )
        rows[rng.random(rows.shape) < hidden] = -1
        batch[rng.random(batch.shape) < holes] = -1
        test = hld.HLDTest(
            circuit,
            hld.select_nodes(circuit, "input"),
            reference="training",
            training_data=rows,
            null="auto",
            num_resamples=19,
        )
        values = pcircuit.node_likelihoods(
            circuit, np.repeat([[0], [1]], num_columns, axis=1), nodes=test.nodes
        )
        moved = 0.28 * (values[1] - values[0])
        yield test(batch), float(np.linalg.norm(moved) / np.linalg.norm(test.stds))


@pytest.mark.parametrize(("holes", "hidden"), [(0.0, 0.0), (0.4, 0.0), (0.4, 0.4)])
def test_the_interval_covers_the_effect_where_the_batch_varies_more_than_the_reference(
    holes, hidden
):
    found = [
        (result.effect_interval, result.effect, size)
        for result, size in _rare_and_often(3, holes, hidden)
    ]
    covered = sum(low <= size <= high for (low, high), _, size in found)
    assert covered >= bounds.at_least(len(found), 0.95)
    assert all(low <= effect <= high for (low, high), effect, _ in found)


def test_holes_do_not_make_an_effect_smaller():
    sizes = [
        (result.effect, size)
        for result, size in _rare_and_often(3, holes=0.5, hidden=0.5, T=2000, trials=60)
    ]
    ratios = np.array([effect / size for effect, size in sizes])
    assert abs(ratios.mean() - 1) < 4 * ratios.std() / len(ratios) ** 0.5


def test_one_rare_level_that_the_reference_missed_is_no_effect():
    rng = np.random.default_rng(3)
    detector = hld.HLDDetector(num_latents=1, num_epochs=0, num_resamples=99).fit(
        np.where(np.arange(200)[:, None] < 2, 1, 0) * np.ones((1, 3), int)
    )
    batch = np.zeros((60, 3), dtype=int)
    batch[rng.integers(60)] = 1
    result = detector.test(batch)
    assert result.pvalues[result.metrics.index("euclidean")] > 0.025
    assert result.effect_interval[0] == 0.0


def test_rows_that_vary_as_the_reference_are_a_larger_share():
    spectrum, deltas = (np.array([2.0]), np.eye(1)), np.array([0.7])
    expected = effect_interval(deltas, spectrum, 1 / 40 + 1 / 90)
    found = effect_interval(deltas, spectrum, 1 / 90, own=np.sqrt([[2.0 / 100], [2.0 * 3 / 200]]))
    assert found == pytest.approx(expected, rel=1e-8)


def test_weights_of_holes_are_taken_off():
    values, vectors = np.array([3.0, 1.0]), stats.ortho_group.rvs(2, random_state=0)
    deltas, own = np.array([0.5, -0.3]), np.array([[0.05, 0.02], [-0.01, 0.1]])
    expected = effect_interval(deltas, (values, vectors), 0.02, own=own)
    assert effect_interval(
        deltas, (values, vectors), 0.02, own=own, weights=np.ones(2)
    ) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("scale", [1.0, 1e60])
def test_rows_that_vary_unlike_the_reference_by_any_factor_have_an_interval(scale):
    """Third powers of what the batch varies by had left the range of doubles, and ended in an OverflowError."""
    own = np.array([[0.3, -0.2], [-0.3, 0.2]]) * scale
    low, high = effect_interval(
        np.array([1.0, 0.5]) * scale, (np.array([1.0, 0.3]), np.eye(2)), 1 / 100, own=own
    )
    assert 0 <= low < high < np.inf
    if scale > 1:  # the reference is nothing beside it: one direction, of which half is noise
        again = effect_interval(
            np.array([10.0, 5.0]) * scale, (np.array([1.0, 0.3]), np.eye(2)), 1 / 100, own=10 * own
        )
        np.testing.assert_allclose(again, (10 * low, 10 * high), rtol=1e-6)


@pytest.mark.parametrize(("size", "is_known"), [(800, False), (1000, True)])
def test_a_single_column_of_numbers_has_an_effect_only_where_bins_differ_in_frequency(
    size, is_known
):
    rng = np.random.default_rng(
        0
    )  # half of the rows are learned from: 50 in each of eight bins, or 62 and 63
    detector = hld.HLDDetector(num_epochs=1, null="exact").fit(rng.normal(size=(size, 1)))
    found = detector.test(rng.normal(2, 1, size=(100, 1)))
    assert found.reject
    assert (found.effect > 0.3) == is_known == (found.effect_interval != (0, 0))
