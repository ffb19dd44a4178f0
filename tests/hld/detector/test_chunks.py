"""Batches in chunks: the result of one piece where rows are held, and close to it where they are not."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import hld
from hld.testing.summaries import summing


def table(N, seed, levels=3):
    """Three columns that depend on each other, one with holes."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, levels, size=N)
    frame = pd.DataFrame(
        {
            "a": base,
            "b": (base + rng.integers(0, 2, size=N)) % levels,
            "c": rng.normal(size=N) + base,
        }
    )
    frame.loc[rng.random(N) < 0.1, "c"] = np.nan
    return frame


def cut(frame, size):
    """Chunks of a frame."""
    return [frame.iloc[start : start + size] for start in range(0, len(frame), size)]


@pytest.fixture(scope="module")
def detectors():
    found = {
        reference: hld.HLDDetector(
            num_latents=2, num_epochs=5, num_resamples=99, reference=reference
        ).fit(table(1200, 0))
        for reference in ("auto", "circuit")
    }
    found["no holes"] = hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(
        table(1200, 0).dropna()
    )
    return found


def test_few_rows_give_the_result_of_one_piece(detectors):
    batch = table(700, 1)
    for detector in (detectors["auto"], detectors["no holes"]):
        whole, parts = detector.test(batch), hld.judge_chunks(detector, cut(batch, 150))
        assert parts.to_dict() == whole.to_dict()
        assert parts.data_quality == whole.data_quality


def test_many_rows_give_nearly_the_result_of_one_piece(detectors, monkeypatch):
    monkeypatch.setattr(summing, "MOST_PAIRED", 400)  # rows that are held
    for name, detector in detectors.items():
        for seed, shift in ((1, 0), (2, 1)):
            batch = table(3000, seed).assign(
                b=lambda frame, s=shift: (frame["b"] + s) % 3 if s else frame["b"]
            )
            batch = batch.dropna() if name == "no holes" else batch
            whole, parts = detector.test(batch), hld.judge_chunks(detector, cut(batch, 700))
            assert (parts.reject, parts.num_missing, parts.num_samples) == (
                whole.reject,
                whole.num_missing,
                whole.num_samples,
            )
            if name == "no holes":  # sums of the same numbers; an alarm is checked by other rows
                np.testing.assert_allclose(parts.deltas, whole.deltas, rtol=1e-9, atol=1e-13)
            if name == "auto":  # the weights of the nodes do not depend on the sample
                np.testing.assert_allclose(parts.deltas, whole.deltas, rtol=1e-9, atol=1e-13)


def test_the_rows_that_are_kept_are_a_uniform_sample(detectors, monkeypatch):
    monkeypatch.setattr(summing, "MOST_PAIRED", 50)
    trials, hits, test = 400, np.zeros(200, dtype=int), detectors["no holes"].test_
    rows = np.stack(np.unravel_index(np.arange(200) % 9, (3, 3, 1)), axis=1)
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        chunks = [summing.row_sums(test, rows[i : i + 30], rng, i) for i in range(0, 200, 30)]
        kept = sum(chunks[1:], chunks[0])
        numbers = np.random.default_rng(seed).random(200)
        chosen = np.flatnonzero(np.isin(numbers, kept.numbers))
        assert len(chosen) == 50
        np.testing.assert_array_equal(kept.rows, rows[chosen])  # in their order
        hits[chosen] += 1
    low, high = binom.ppf([1e-6 / 400, 1 - 1e-6 / 400], trials, 50 / 200)
    assert low <= hits.min() <= hits.max() <= high


def test_no_chunks_and_no_rows_are_refused(detectors):
    with pytest.raises(ValueError, match="`chunks` has no table"):
        hld.judge_chunks(detectors["auto"], [])
    with pytest.raises(ValueError, match="has no rows"):
        hld.judge_chunks(detectors["auto"], [table(5, 0).iloc[:0]])


def test_one_table_is_no_sequence_of_tables(detectors, tmp_path):
    """The names of its columns had been taken for tables, and so for names of files."""
    frame, detector = table(50, 1), detectors["auto"]
    for one in (frame, frame.to_dict("list"), frame.to_numpy(), "rows.csv"):
        with pytest.raises(
            TypeError,
            match=r"`chunks` must be a sequence of tables, found one \w+: give a table in a",
        ):
            hld.judge_chunks(detector, one)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for chunks in (
        pd.read_csv(tmp_path / "t.csv", chunksize=20),
        frame.to_numpy()[None],
        iter([frame]),
    ):
        assert hld.judge_chunks(detector, chunks).num_samples == 50
