"""The largest change of a dependence: level over all ways to divide the rows, power, and its part in a verdict."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from binomial_bounds import at_least, at_most
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

import hld
import pcircuit
from hld.answers.profile import Profile, profile_of
from hld.witnesses.largest_count import SHARE as COUNT_SHARE
from hld.witnesses.largest_dependence import (
    SHARE,
    LargestDependence,
    associations_of,
    largest_dependence,
    mean_tail_bound,
)
from hld.witnesses.witnesses import combined

EDGES = np.array([[0, 1], [1, 2]])


def profiles(kept, batch, sizes, associations, edges=EDGES):
    one, other = (profile_of(np.asarray(rows), sizes, edges) for rows in (kept, batch))
    return replace(one, associations=associations), other


def chain(rng, N, V=3, keep=0.85):
    """Binary columns, each like the one before in most rows."""
    rows = rng.integers(0, 2, size=(N, V))
    for v in range(1, V):
        rows[:, v] = np.where(rng.random(N) < keep, rows[:, v - 1], rows[:, v])
    return rows


def test_the_level_is_kept_over_all_ways_to_divide_the_rows():
    """Every division of twelve rows into seven kept and five of a batch is as likely as any other."""
    rng = np.random.default_rng(0)
    rows, sizes = rng.integers(0, (2, 3, 2), size=(12, 3)), (2, 3, 2)
    rows[2, 1] = -1
    associations, pvalues = (rng.normal(size=(2, 3)), rng.normal(size=(3, 2))), []
    for chosen in itertools.combinations(range(12), 5):
        is_batch = np.isin(np.arange(12), chosen)
        pvalues.append(
            largest_dependence(
                *profiles(rows[~is_batch], rows[is_batch], sizes, associations)
            ).pvalue
        )
    assert min(pvalues) < 0.2
    for level in set(pvalues):
        assert np.mean(np.array(pvalues) <= level) <= level * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_associations_are_those_of_all_states(seed):
    rng = np.random.default_rng(seed)
    circuit = pcircuit.hclt(rng.integers(0, 3, size=(60, 4)), 3, rng=rng)
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    for (u, v), found in zip(
        [(0, 1), (2, 1)], associations_of(circuit, np.array([[0, 1], [2, 1]])), strict=True
    ):
        for i, j in itertools.product(range(3), repeat=2):
            a, b = states[:, u] == i, states[:, v] == j
            ratio = p[a & b].sum() / (p[a].sum() * p[b].sum())
            assert found[i, j] == pytest.approx(math.log(0.99 * ratio + 0.01), abs=1e-9)


def test_what_cannot_be_has_a_bounded_association():
    circuit = pcircuit.chow_liu_circuit(
        np.array([[0, 0], [1, 1]] * 20), num_categories=[3, 2], pseudocount=0.0
    )
    found = associations_of(circuit, np.array([[0, 1]]))[0]
    assert found[0, 1] == pytest.approx(math.log(0.01))
    assert np.array_equal(found[2], [0.0, 0.0])  # a category that never occurs


@pytest.mark.parametrize("num_columns", [10, 300])
def test_one_broken_dependence_of_many_is_found_and_named(num_columns):
    rng, trials, found = np.random.default_rng(num_columns), 20, 0
    edges, sizes = np.array([[v, v + 1] for v in range(num_columns - 1)]), (2,) * num_columns
    one = np.log(0.99 * np.array([[1.85, 0.15], [0.15, 1.85]]) + 0.01)
    kept = replace(
        profile_of(chain(rng, 1000, num_columns), sizes, edges), associations=(one,) * len(edges)
    )
    for _ in range(trials):
        batch = chain(rng, 100, num_columns)
        batch[:, 4:] = batch[
            rng.permutation(100), 4:
        ]  # nothing changes but between columns 3 and 4
        result = largest_dependence(kept, profile_of(batch, sizes, edges))
        found += result.pvalue <= 0.05 * SHARE and result.columns == (3, 4) and result.is_weaker
    # in 100 rows 57.5 are unlike instead of 7.5 of 100: even with one in five more by chance, beyond what is asked for
    assert found >= at_least(trials, 0.95)


def test_a_dependence_that_gets_stronger_is_found_too():
    rng = np.random.default_rng(1)
    sizes, table = (2, 2), (np.array([[0.6, -1.0], [-1.0, 0.6]]),)
    kept, batch = chain(rng, 2000, 2, 0.4), chain(rng, 300, 2, 0.95)
    found = largest_dependence(*profiles(kept, batch, sizes, table, EDGES[:1]))
    assert found.pvalue < 1e-6
    assert not found.is_weaker


def test_nothing_to_compare():
    rows, table = np.zeros((5, 2), int), (np.ones((2, 2)),)
    assert largest_dependence(*profiles(rows, rows, (2, 2), table, EDGES[:1])) == LargestDependence(
        1.0, 0.0
    )
    missing = np.column_stack([np.full(5, -1), np.arange(5) % 2])
    varied = (np.array([[0.0, 1.0], [2.0, 0.0]]),)
    assert largest_dependence(*profiles(rows, missing, (2, 2), varied, EDGES[:1])).share == 0.0
    none = profile_of(rows, (2, 2), np.zeros((0, 2), int))
    assert largest_dependence(replace(none, associations=()), none) == LargestDependence(1.0, 0.0)
    assert largest_dependence(none, none).share == 0.0


def test_a_profile_keeps_its_associations_in_files_and_refuses_others():
    tables = (np.array([[0.5, -1.0], [-1.0, 0.5]]), np.array([[0.1, 0.0], [0.0, 2.0]]))
    profile, _ = profiles(np.zeros((4, 3), int), np.zeros((4, 3), int), (2, 2, 2), tables)
    arrays = profile.to_arrays()
    back = Profile.from_arrays(arrays, (2, 2, 2))
    assert all(np.array_equal(*pair) for pair in zip(back.associations, tables, strict=True))
    for wrong in (
        np.full(8, np.nan),
        np.full(8, 2001.0),
        np.zeros(7),
        np.zeros(8, np.float32),
        np.zeros((2, 4)),
    ):
        with pytest.raises(ValueError, match="array 'associations' must hold"):
            Profile.from_arrays(arrays | {"associations": wrong}, (2, 2, 2))


def test_a_detector_names_the_dependence_and_keeps_its_level(tmp_path):
    rng = np.random.default_rng(3)
    detector = hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(
        chain(rng, 600, 8)
    )
    detector.save(tmp_path / "model.hld")
    loaded, rejected = hld.load(tmp_path / "model.hld"), 0
    for _ in range(40):
        batch = chain(rng, 60, 8)
        result = detector.test(batch)
        beside = result.witnesses
        assert result.pvalue == combined(detector.test_(batch).pvalue, *beside.values())
        shares = COUNT_SHARE, SHARE
        assert (beside["largest_count"].share, beside["largest_dependence"].share) == shares
        assert loaded.test(batch).pvalue == result.pvalue
        rejected += result.reject
    assert rejected <= at_most(40, 0.05)
    batch[:, 5:] = batch[rng.permutation(60), 5:]
    broken = detector.test(batch)
    assert broken.reject
    assert broken.largest_dependence.columns == (4, 5)
    assert broken.to_dict()["witnesses"]["largest_dependence"]["columns"] == [4, 5]
    assert (
        hld.judge_chunks(detector, [batch[:20], batch[20:]]).largest_dependence
        == broken.largest_dependence
    )
    summed = detector.test(detector.summarize(batch[:20]) + detector.summarize(batch[20:]))
    assert summed.largest_dependence == broken.largest_dependence


COUNTS = st.lists(st.integers(0, 2), min_size=2, max_size=4)


def tail(values, kept, batch):
    """P(mean as far from that of all rows, on the batch's side) over all ways to draw the batch."""
    rows = [
        Fraction(float(v))
        for v, m in zip(values, np.add(kept, batch), strict=True)
        for _ in range(m)
    ]
    T, own = (
        int(sum(batch)),
        sum(Fraction(float(v)) * int(b) for v, b in zip(values, batch, strict=True)),
    )
    middle = sum(rows) * T / len(rows)
    side = 1 if own > middle else -1
    least = abs(own - middle)
    sums = [sum(chosen) for chosen in itertools.combinations(rows, T)]
    return sum(side * (one - middle) >= least for one in sums) / len(sums)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), COUNTS, COUNTS)
def test_no_bound_is_below_the_tail(values, kept, batch):
    size = min(len(kept), len(batch))
    kept, batch, values = np.array(kept[:size]), np.array(batch[:size]), np.array(values[:size])
    if kept.sum() and batch.sum():
        assert mean_tail_bound(values, kept, batch) >= tail(values, kept, batch) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("n", "T"), [(50, 1), (200, 10), (1000, 100), (300, 300), (100, 2000), (1000, 10_000)]
)
@pytest.mark.parametrize("values", [(0.0, 1.0), (3.0, -2.0)])
def test_two_values_have_a_hypergeometric_tail_and_the_bound_is_a_small_multiple(n, T, values):
    """With k of K ones drawn the bound decays as fast as the entropies of the binomial coefficients of the tail do.

    C(n, k) is at least e^(n H(k / n)) / sqrt(8 n q (1 - q)) and at most that with 2 pi instead of 8 (MacWilliams and
    Sloane 1977, chapter 10, lemma 7), which bounds the factor between the two.
    """

    def spread(of, drawn):
        return max(8 * drawn * (1 - drawn / of), 1.0)

    for share, shown in ((0.3, 0.6), (0.05, 0.3), (0.5, 0.2)):
        kept, batch = (
            [round(one * (1 - p)), round(one * p)] for one, p in ((n, share), (T, shown))
        )
        kept[0], batch[0] = n - kept[1], T - batch[1]
        law = hypergeom(n + T, kept[1] + batch[1], T)
        expected = (kept[1] + batch[1]) * T / (n + T)
        exact = law.sf(batch[1] - 1) if batch[1] > expected else law.cdf(batch[1])
        bound = mean_tail_bound(np.array(values), np.array(kept), np.array(batch))
        K, k = kept[1] + batch[1], batch[1]
        factor = math.sqrt(spread(K, k) * spread(n + T - K, T - k) * 4 / math.pi)
        assert exact * (1 - 1e-9) <= bound <= exact * factor * (1 + 1e-6)


def test_one_row_of_the_rarest_value_has_its_share_of_all_rows():
    assert mean_tail_bound(
        np.array([0.5, -4.0]), np.array([99, 0]), np.array([0, 1])
    ) == pytest.approx(0.01)


def test_a_mean_like_that_of_all_has_bound_one():
    values, kept, batch = np.array([0.0, 1.0]), np.array([5000, 5000]), np.array([450, 550])
    assert mean_tail_bound(values, kept, batch) < 0.02
    assert mean_tail_bound(values, kept, kept) == 1.0
    assert mean_tail_bound(values, kept, np.zeros(2, dtype=int)) == 1.0
    assert (
        mean_tail_bound(np.full(3, 2.271348838371966), np.array([1, 2, 0]), np.array([2, 2, 2]))
        == 1.0
    )


def test_values_of_any_size_and_place_have_the_same_bound():
    kept, batch = np.array([40, 30, 20, 10]), np.array([1, 2, 5, 12])
    bounds = [
        mean_tail_bound(np.array([0.0, 1.0, 2.0, 4.0]) * scale + shift, kept, batch)
        for scale in (1e-6, 1.0, 1e6)
        for shift in (0.0, 7.0 * scale)
    ]
    assert bounds == pytest.approx([bounds[0]] * len(bounds), rel=1e-6)
    assert bounds[0] < 1e-4
