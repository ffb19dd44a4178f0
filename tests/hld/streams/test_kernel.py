"""The compiled races do what their NumPy text does."""

import numpy as np
import pytest
from engines import needs_numba

from hld.streams.races import BINS, FACTORS, FIRST, SHARE, THRESHOLDS, advance, no_races, start


@needs_numba
def test_the_compiled_text_does_the_same():
    from hld.streams.kernel import advance as compiled

    rng = np.random.default_rng(2)
    both = [no_races(5), no_races(5)]
    trained, reference = rng.normal(size=(4, 80)).round(1), rng.normal(size=(4, 200)).round(1)
    scores, uniforms = rng.normal(size=(300, 5)).round(1) + 0.3, rng.random(300)
    for races in both:
        for k in range(4):  # the fifth is not run
            start(races, k, trained[k], reference[k], -1.0 - k)
    out = [(np.empty(300), np.empty(300, np.int64)) for _ in both]
    advance(scores, uniforms, both[0], *out[0])
    compiled(scores, uniforms, both[1], THRESHOLDS, FACTORS, FIRST, SHARE, *out[1])
    np.testing.assert_allclose(out[0][0], out[1][0], atol=1e-10)
    assert (out[0][1] == out[1][1]).all()
    for name in ("counts", "money", "log", "ages"):
        np.testing.assert_allclose(
            getattr(both[0], name)[:4], getattr(both[1], name)[:4], atol=1e-10
        )


def both_texts(races, scores, uniforms):
    """Races, evidence and leaders after the NumPy text and after the compiled one."""
    from hld.streams.kernel import advance as compiled

    found = []
    for text, more in ((advance, ()), (compiled, (THRESHOLDS, FACTORS, FIRST, SHARE))):
        own, evidence, leaders = (
            races.copy(),
            np.full(len(scores), np.nan),
            np.full(len(scores), -1, dtype=np.int64),
        )
        text(scores, uniforms, own, *more, evidence, leaders)
        found.append((own, evidence, leaders))
    return found


@needs_numba
def test_scores_on_edges_beyond_all_and_infinite_ones_fall_into_the_same_bins():
    races = no_races(3)
    for k, trained in enumerate((np.arange(4.0), np.full(5, 0.5), np.linspace(0, 1, 200))):
        start(races, k, trained, trained, -1.0)
    edges = np.concatenate(
        [races.edges[0, :5], races.edges[2, :9], [-np.inf, np.inf, 0.0, 0.5, 1.0, 3.0]]
    )
    (plain, *told), (kernel, *told_by_kernel) = both_texts(
        races, np.repeat(edges[:, None], 3, axis=1), np.linspace(0, 0.999, len(edges))
    )
    np.testing.assert_array_equal(plain.counts, kernel.counts)
    np.testing.assert_allclose(plain.log, kernel.log, atol=1e-12)
    np.testing.assert_allclose(told[0], told_by_kernel[0], atol=1e-12)
    assert plain.counts[0, 0] > 0 < plain.counts[0, 5]  # both ends have a bin of their own


@needs_numba
@pytest.mark.parametrize("uniform", [0.0, 0.02, 0.25, 0.98, 1 - 2.0**-53])
def test_a_rank_on_a_threshold_is_in_the_part_that_it_closes(uniform):
    """All scores are alike, so that the rank of a row is its uniform number."""
    races = no_races(1)
    start(races, 0, np.ones(3), np.ones(7), 0.0)
    found = both_texts(races, np.ones((1, 1)), np.array([uniform]))
    part = np.searchsorted(THRESHOLDS, uniform)
    for own, evidence, leaders in found:
        assert evidence[0] == own.log[0] == pytest.approx(np.log(FACTORS[part] @ FIRST), abs=1e-14)
        assert (leaders[0], own.ages[0], own.counts[0].sum()) == (0, 1, 8)
        assert own.money[0].sum() == pytest.approx(1)


@needs_numba
def test_the_first_of_equal_races_leads_no_row_changes_nothing_and_no_race_has_no_evidence():
    races = no_races(4)
    for k in (1, 3):
        start(races, k, np.arange(5.0), np.arange(9.0), -2.0)
    for _, _, leaders in both_texts(races, np.full((6, 4), 2.5), np.full(6, 0.4)):
        assert leaders.tolist() == [1] * 6
    for own, evidence, _ in both_texts(races, np.zeros((0, 4)), np.zeros(0)):
        assert len(evidence) == 0
        assert all(np.array_equal(one, other) for one, other in zip(own, races, strict=True))
    for _, evidence, leaders in both_texts(no_races(2), np.zeros((2, 2)), np.full(2, 0.5)):
        assert (evidence.tolist(), leaders.tolist()) == ([-np.inf] * 2, [0, 0])
    assert races.counts.shape == (4, BINS)
