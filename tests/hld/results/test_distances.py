"""Distances of counts: their definition, their exact mean, and their p-values."""

from dataclasses import replace
from types import SimpleNamespace

import binomial_bounds as bounds
import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom
from sql_tables import OPTIONS, counted

import hld
import pcircuit
from hld.answers.profile import Profile, profile_of
from hld.witnesses import distances
from hld.witnesses.count_law import FLOOR, merged_counts
from hld.witnesses.distances import count_distances


def of_counts(counts):
    """A profile of one column, nothing missing, without pairs."""
    return Profile(sum(counts), (np.array([*counts, 0]),), np.zeros((0, 2), dtype=np.int64), ())


def known_by(profile):
    """All that distances ask of a detector whose reference is rows."""
    return SimpleNamespace(
        test_=SimpleNamespace(reference="training"),
        profile_=profile,
        encoder_=SimpleNamespace(columns=[None] * len(profile.counts)),
    )


def table_of(n, seed):
    """Four columns, of which the second follows the first; one has rare levels and holes."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    many = rng.zipf(1.6, n) % 40
    return pd.DataFrame(
        {
            "a": a,
            "b": np.where(rng.random(n) < 0.7, a, rng.integers(0, 3, n)),
            "many": [f"m{k}" if k % 7 else None for k in many],
            "c": rng.random(n) < 0.2,
        }
    )


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(**OPTIONS).fit(table_of(900, 0))


@pytest.fixture(scope="module")
def of_circuit():
    """A detector whose reference is the circuit."""
    return hld.HLDDetector(**OPTIONS, reference="circuit").fit(table_of(900, 0))


def by_definition(reference, batch):
    """Q: per column or pair (n T / (n + T)) sum of (difference of shares)^2 / (pooled share + floor)."""
    total = 0.0
    for one, own in zip(reference, batch, strict=True):
        n, T = one.sum(), own.sum()
        total += (
            n * T / (n + T) * ((own / T - one / n) ** 2 / ((one + own) / (n + T) + FLOOR)).sum()
        )
    return total


def test_distances_are_those_of_pooled_shares(detector):
    profile = counted(detector, table_of(200, 1)).profile
    singles, pairs = merged_counts(detector.encoder_.columns, detector.profile_)
    found = count_distances(detector, profile)
    assert found[0].squared == pytest.approx(
        by_definition(singles, [one[:-1] for one in profile.counts]), rel=1e-12
    )
    assert found[1].squared == pytest.approx(by_definition(pairs, profile.pairs), rel=1e-12)


@pytest.mark.parametrize(("n", "T", "ones"), [(7, 3, 4), (2, 5, 1), (1, 1, 1)])
def test_the_mean_of_a_distance_is_exact_given_the_sums_of_both_tables(n, T, ones, monkeypatch):
    """Of n + T rows `ones` show a level, which rows are the batch is left to chance: the mean over all choices."""
    monkeypatch.setattr("hld.witnesses.distances.LEAST_ROWS", 1)

    def distance(k):
        kept = replace(of_counts([n - ones + k, ones - k]), laws=np.zeros((2, 4)))
        return count_distances(known_by(kept), of_counts([T - k, k]))[0]

    possible = range(max(0, ones - n), min(ones, T) + 1)
    mean = sum(hypergeom.pmf(k, n + T, ones, T) * distance(k).squared for k in possible)
    assert [distance(k).expected for k in possible] == pytest.approx(
        [mean] * len(possible), rel=1e-12
    )


def test_a_larger_difference_has_a_smaller_p_value_and_none_has_one(detector):
    table, rng = table_of(300, 2), np.random.default_rng(3)
    ps = []
    for share in (0.0, 0.1, 0.3, 1.0):
        odd = table.assign(a=np.where(rng.random(300) < share, 0, table["a"]))
        ps.append([one.pvalue for one in count_distances(detector, counted(detector, odd).profile)])
    assert (np.diff(ps, axis=0) < 0).all()
    assert ps[-1][0] < 1e-6
    kept = detector.profile_
    singles, pairs = merged_counts(detector.encoder_.columns, kept)
    own = replace(kept, counts=tuple(np.append(one, 0) for one in singles), pairs=tuple(pairs))
    assert [(one.squared, one.pvalue) for one in count_distances(detector, own)] == [(0.0, 1.0)] * 2


def test_rows_that_are_others_leave_larger_p_values(detector):
    distance = count_distances(detector, counted(detector, table_of(300, 2).assign(a=0)).profile)[0]
    left = [distance.after(rows) for rows in (0, 10, 50, 300)]
    assert left[0] == pytest.approx(distance.pvalue, rel=1e-9, abs=0)
    assert left[0] < 1e-6
    assert left == sorted(left)
    assert left[-1] == 1.0


def test_few_rows_and_older_detectors_have_no_distances(detector):
    few, many = (
        counted(detector, table_of(n, 4)).profile
        for n in (distances.LEAST_ROWS - 1, distances.LEAST_ROWS)
    )
    assert count_distances(detector, few) is None
    assert count_distances(detector, many) is not None
    assert count_distances(known_by(replace(detector.profile_, laws=None)), many) is None


def test_batches_of_the_circuit_keep_the_level_and_a_shift_is_found(of_circuit):
    trials, T, found = 30, 60, []
    rows = pcircuit.sample(of_circuit.circuit_, trials * T, rng=5)
    sizes, edges = of_circuit.encoder_.num_categories, of_circuit.profile_.edges
    merged = [
        merged_profile(of_circuit.encoder_.columns, profile_of(own, sizes, edges))
        for own in rows.reshape(trials, T, -1)
    ]
    for own in merged:
        found.append([one.pvalue for one in count_distances(of_circuit, own)])
    for p in np.transpose(found):
        assert (p <= 0.05).sum() <= bounds.at_most(trials, 0.05)
        assert (p <= 0.5).any()
    moved = counted(of_circuit, table_of(300, 2).assign(a=0)).profile
    assert max(one.pvalue for one in count_distances(of_circuit, moved)) < 1e-3


def merged_profile(columns, profile):
    """Counts as a database has them."""
    singles, pairs = merged_counts(columns, profile)
    return replace(profile, counts=tuple(np.append(one, 0) for one in singles), pairs=tuple(pairs))
