"""New values as evidence: the level exactly and over whole detectors, what is found with certainty, and files."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from binomial_bounds import at_least, at_most
from scipy.stats import binom, hypergeom

import hld
from hld.schemas.counts.new_values import SHARE, KeptValues, compare_new


def kept(shown, new):
    return KeptValues(np.array(shown), np.array(new))


def test_pvalues_by_counting_all_draws():
    for k, T, K in itertools.product(range(1, 5), range(1, 5), range(1, 5)):
        if k + T < K:
            continue
        draws = [sum(row < K for row in batch) for batch in itertools.combinations(range(k + T), T)]
        for h in range(max(1, K - k), min(K, T) + 1):
            expected = np.mean([count >= h for count in draws])
            assert compare_new(kept([k], [K - h]), [T], [h]).pvalue == pytest.approx(expected)
            assert hypergeom.sf(h - 1, k + T, K, T) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("k", "T", "totals"), [(40, 12, (3, 0, 9)), (10, 30, (1, 2)), (500, 1, (4, 4, 4))]
)
def test_the_level_is_kept_exactly_given_the_totals(k, T, totals):
    """P(p <= a) <= a over the law of independent columns, at every level that there is."""
    laws = [
        [
            (h, math.comb(K, h) * math.comb(k + T - K, T - h) / math.comb(k + T, T))
            for h in range(max(0, K - k), min(K, T) + 1)
        ]
        for K in totals
    ]
    outcomes = []
    for one in itertools.product(*laws):
        found = compare_new(
            kept([k] * len(totals), [K - h for K, (h, _) in zip(totals, one, strict=True)]),
            [T] * len(totals),
            [h for h, _ in one],
        )
        assert found.share == SHARE
        outcomes.append((found.pvalue, math.prod(chance for _, chance in one)))
    assert sum(chance for _, chance in outcomes) == pytest.approx(1)
    for level, _ in outcomes:
        assert sum(chance for p, chance in outcomes if p <= level) <= level * (1 + 1e-12)


def test_a_tolerated_share_does_not_alarm():
    found = [
        compare_new(kept([10_000], [100]), [10_000], [count], 0.1).pvalue for count in (300, 2_500)
    ]
    assert found[0] > 0.5
    assert found[1] < 1e-50


def frame(N, seed):
    """A log-normal amount, a count, and words of which a few are rare."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(30)], dtype=object)
    return pd.DataFrame(
        {
            "amount": rng.lognormal(size=N),
            "count": rng.poisson(30, size=N),
            "word": words[np.minimum(rng.geometric(0.2, size=N) - 1, 29)],
        }
    )


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(frame(1000, 0))


def test_a_million_times_the_top_decile_is_found(detector):
    """With certainty where it is more than a few cells, since one or two of them are there by chance as well."""
    top, many = frame(1000, 0)["amount"].quantile(0.9), 0
    for seed in range(12):
        batch = frame(80, 100 + seed)
        shifted = batch.assign(
            amount=np.where(batch["amount"] > top, 1e6 * batch["amount"], batch["amount"])
        )
        result = detector.test(shifted)
        beyond = result.data_quality.columns[0].num_out_of_range
        assert beyond == (shifted["amount"] > 1e5).sum()
        assert result.reject or beyond <= 4
        many += beyond > 4
    assert many >= at_least(12, binom.sf(4, 80, 0.09))


@pytest.mark.parametrize("name", ["word", "count", "amount"])
def test_an_unseen_value_in_a_fifth_of_fifty_rows_is_found_in_every_batch(detector, name):
    for seed in range(5):
        batch = frame(50, 200 + seed).astype({name: object})
        batch.loc[np.random.default_rng(seed).permutation(50)[:10], name] = (
            "other" if name == "word" else 1e9
        )
        result = detector.test(batch)
        assert result.pvalue < 1e-6
        found = next(column for column in result.data_quality.columns if column.name == name)
        assert found.new_pvalue < 1e-8
        assert result.to_dict()["data_quality"]["new_values"]["share_of_level"] == SHARE


def test_unshifted_batches_keep_the_level_of_the_new_values(detector):
    """Of fits to fresh rows, since batches of one fit share its range; words are so many that some are always new."""
    trials, alpha, rejected = 30, 0.2, 0
    for seed in range(trials):
        table = frame(60, 1000 + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = hld.HLDDetector(1, 0, num_resamples=19, metric="euclidean", rng=seed).fit(
                table
            )
        rejected += fitted.test(frame(60, 5000 + seed)).data_quality.new_values.pvalue <= alpha
    assert rejected <= at_most(trials, alpha)


def test_pieces_and_files_say_the_same(detector, tmp_path):
    batch = frame(60, 7)
    batch.loc[:9, "amount"] = 1e9
    result = detector.test(batch)
    assert hld.judge_chunks(detector, [batch[:25], batch[25:]]).pvalue == result.pvalue
    detector.save(tmp_path / "model.hld")
    again = hld.load(tmp_path / "model.hld")
    assert again.test(batch).pvalue == result.pvalue
    assert again.new_values_.to_arrays().keys() == {"shown", "new"}


def test_what_is_not_tested():
    table = frame(60, 0)
    batch = frame(30, 1).assign(amount=1e9)
    off = hld.HLDDetector(num_latents=1, num_epochs=1, num_resamples=19, missingness=False).fit(
        table
    )
    assert off.test(batch).data_quality.new_values is None
    learned = hld.HLDDetector(
        num_latents=1, num_epochs=1, num_resamples=19, reference="circuit"
    ).fit(table)
    assert learned.new_values_ is None
    assert learned.test(batch).data_quality.new_values is None


@pytest.mark.parametrize(
    "arrays",
    [
        {"shown": np.array([3, 3]), "new": np.array([4, 0])},
        {"shown": np.array([3.0, 3.0]), "new": np.array([0.0, 0.0])},
        {"shown": np.array([3]), "new": np.array([0])},
        {"shown": np.array([9, 3]), "new": np.array([0, 0])},
        {"shown": np.array([3, 3]), "new": np.array([-1, 0])},
    ],
)
def test_counts_of_a_file_that_do_not_fit_are_refused(arrays):
    with pytest.raises(ValueError, match="counts of new values"):
        KeptValues.from_arrays(arrays, 2, 5)
