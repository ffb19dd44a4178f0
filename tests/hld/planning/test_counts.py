"""The power of a detector with its counts of single columns: parts of the level, events, and simulated batches."""

from dataclasses import replace

import binomial_bounds as bounds
import numpy as np
import pytest

import hld
from hld.testing.planning.alternatives import Edit
from hld.testing.planning.power import shared_level
from hld.witnesses.largest_count import SHARE, largest_count


def population(n, rng, share=0.1):
    """Six columns that depend on a hidden one; a level of the column of twelve shops has some share."""
    kind = rng.integers(0, 3, n)
    shop = np.where(rng.random(n) < share, 0, 1 + rng.integers(0, 11, n))
    return {
        "shop": shop,
        "age": (rng.normal(40 + 5 * kind, 10, n)).round(),
        "kind": np.array(list("abc"))[kind],
        "flag": (rng.random(n) < 0.2 + 0.2 * kind).astype(int),
        "size": kind + rng.integers(0, 3, n),
        "city": (shop + rng.integers(0, 2, n)) % 5,
    }


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_epochs=10, metric="likelihoods", num_resamples=199).fit(
        population(6000, np.random.default_rng(0))
    )


@pytest.mark.parametrize("T", [3, 50, 700])
def test_the_parts_of_the_level_are_those_of_a_batch_as_expected(detector, T):
    parts = shared_level(detector, T, 0.05)
    result = detector.test(population(T, np.random.default_rng(1)))
    rest = 1 - sum(one.share for one in result.beside)
    assert parts.distance == pytest.approx(result.scaled_alpha * rest, rel=0.3)
    assert 0.05 * rest <= parts.distance <= 0.05
    assert parts.counts <= 0.05 * SHARE * 2
    none = hld.HLDDetector(num_latents=2, num_epochs=1, null="exact", reference="circuit").fit(
        population(300, np.random.default_rng(2))
    )
    assert shared_level(none, T, 0.05).law is None


def test_without_a_shift_there_is_no_more_power_than_the_level(detector):
    for T in (20, 300):
        assert detector.power(Edit("shop", 0, 1e-9), T) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("T", "by"), [(100, 0.1), (300, 0.06), (1000, 0.05)])
def test_power_is_what_batches_show(T, by):
    """Mean over detectors, as the power depends on the held-out rows; a shop becomes more frequent, and its cities."""
    rng, planned, rejected, trials = np.random.default_rng(T), [], 0, 0
    for _ in range(6):
        one = hld.HLDDetector(
            num_epochs=5, metric="likelihoods", num_resamples=99, rng=len(planned)
        ).fit(population(4000, rng))
        planned.append(one.power(Edit("shop", 0, by), T))
        for _ in range(40):
            rejected += one.test(population(T, rng, 0.1 + by)).reject
            trials += 1
    assert 0.1 < np.mean(planned) < 0.98
    assert rejected >= bounds.at_least(trials, max(np.mean(planned) - 0.02, 0.0))
    assert rejected <= bounds.at_most(
        trials, min(np.mean(planned) + 0.1, 1.0)
    )  # dependences find some more


@pytest.mark.thorough
def test_a_table_as_alternative_is_found_by_its_counts():
    rng = np.random.default_rng(8)
    one = hld.HLDDetector(num_epochs=5, metric="likelihoods", num_resamples=99).fit(
        population(4000, rng)
    )
    found = one.power(population(20_000, rng, 0.17), 300)
    trials = 150
    rejected = sum(one.test(population(300, rng, 0.17)).reject for _ in range(trials))
    assert (
        bounds.at_least(trials, found - 0.05)
        <= rejected
        <= bounds.at_most(trials, min(found + 0.1, 1.0))
    )


def test_counts_have_their_part_in_what_is_found(detector):
    """A rare level of one column among many: the distance alone says much less."""
    edit, T = Edit("shop", 0, 0.06), 400
    both = detector.power(edit, T)
    codes = detector.encoder_.encode(population(1, np.random.default_rng(0), 1.0))[0]
    level = shared_level(detector, T, 0.05).distance
    alone = detector.test_.power(Edit(0, int(codes[0, 0]), 0.06), T, level)
    assert both > alone + 0.1
    kept = detector.profile_
    rare = replace(kept, counts=tuple(one.copy() for one in kept.counts))
    rare.counts[0][0] *= 2
    assert largest_count(kept, rare, ()).column == 0
