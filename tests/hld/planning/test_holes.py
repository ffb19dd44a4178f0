"""Planned batches with holes: what a test sees of them, and simulated batches of tables with missing cells."""

import binomial_bounds as bounds
import numpy as np
import pytest

import hld
from hld.planning.alternatives import Edit
from hld.planning.holes import planned_holes
from hld.references.available import correlations, shown, weights


def population(n, rng, share=0.3, holes=0.4):
    """Five columns, of which one moves another; four cells in ten of three of them are missing."""
    kind, shop = (
        rng.integers(0, 3, n),
        np.where(rng.random(n) < share, 0, 1 + rng.integers(0, 4, n)),
    )
    table = {
        "shop": shop,
        "size": kind + (rng.random(n) < 0.3),
        "kind": np.array(list("abc"))[kind],
        "flag": (rng.random(n) < 0.2 + 0.2 * kind).astype(int),
        "city": (shop + rng.integers(0, 2, n)) % 5,
    }
    table = {name: cells.astype(object) for name, cells in table.items()}
    for name in ("shop", "size", "kind"):
        table[name][rng.random(n) < holes] = None
    return table


def fitted(n, seed, **options):
    """A detector of a table with holes."""
    options = {"num_latents": 4, "num_epochs": 20, "num_resamples": 199, "rng": seed} | options
    return hld.HLDDetector(**options).fit(population(n, np.random.default_rng([seed, 0])))


def test_a_batch_with_the_holes_of_the_reference_is_seen_as_planned():
    """Weights and correlations are those with which the test compares the reference rows themselves."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(200, 4))
    rows[:, 1] = np.where(rng.random(200) < 0.7, rows[:, 0], rows[:, 1])
    rows[rng.random(rows.shape) < 0.3] = -1
    rows[:, 3] = np.where(np.arange(200) < 195, -1, rows[:, 3])  # a node that too few rows show
    circuit = hld.HLDDetector(num_latents=2, num_epochs=5).fit(np.abs(rows)).circuit_
    holed, whole = (
        hld.HLDTest(circuit, reference="training", training_data=one, num_resamples=99)
        for one in (rows, np.abs(rows))
    )
    batch, counts = shown(holed.vectors, rows), holed.calibration.kept.counts
    g = weights(batch, counts, len(rows))
    found = planned_holes(holed, len(rows))
    assert (g == 0).any()
    np.testing.assert_allclose(found.weights, g, rtol=1e-12)
    np.testing.assert_allclose(
        found.correlations,
        correlations(batch, g, holed.calibration.kept.shared, len(rows)),
        rtol=1e-9,
    )
    assert planned_holes(whole, 50) is None


def test_missing_cells_make_a_change_harder_to_find():
    """A distance was planned as if every row of a batch showed all cells."""
    rng, n = np.random.default_rng(1), 3000
    whole, powers = population(n, rng, holes=0.0), []
    for missing in (0.0, 0.5, 0.8):
        table = {**whole, "shop": np.where(rng.random(n) < missing, None, whole["shop"])}
        detector = hld.HLDDetector(
            num_latents=2, num_epochs=10, metric="euclidean", null="exact", rng=0
        ).fit(table)
        powers.append(detector.power(Edit("shop", 0, 0.3), 400))
    assert powers[0] > 0.9 > 0.4 > powers[1] > 0.2 > 0.15 > powers[2]


@pytest.mark.thorough
def test_as_much_is_found_as_planned_where_cells_are_missing():
    """Plans for batches without holes said a half, of batches of which two in five were found."""
    T, each, planned, found = 300, 50, [], 0
    for seed in range(12):
        detector = fitted(6000, seed)
        planned.append(detector.power(Edit("shop", 0, 0.1), T))
        found += sum(
            detector.test(population(T, np.random.default_rng([seed, T, b]), 0.4)).reject
            for b in range(each)
        )
    trials, expected = each * len(planned), float(np.mean(planned))
    assert (
        bounds.at_least(trials, expected - 0.02) <= found <= bounds.at_most(trials, expected + 0.02)
    )
