"""What `hld` does not do well, in three numbers for docs/limits.md: dense vectors, wide tables, slow drifts.

    python -m benchmarks.limits

Vectors: 48 numbers that ten common causes and noise make, as in an embedding; batches of 100 rows whose means moved by
.05 standard deviations up or down.  Found by the detector, and by Hotelling's test, which knows all correlations.
Wide: processor seconds and bytes of a model of 2,000 rows.  Drift: five columns, of which one rises by .3 standard
deviations in 20,000 rows; the row of the monitor's alarm, the batches of 1,000 rows that are called at level .05 / 20,
the p-value of the last 5,000 rows together, and the share of the last 1,000 that are called one by one.
"""

import os
import tempfile
import time

import numpy as np
from scipy import stats

import hld


def vectors(trials: int = 40) -> None:
    """Shares of batches found."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(10, 48))

    def rows(n: int) -> np.ndarray:
        return rng.normal(size=(n, 10)) @ mixing / np.sqrt(10) + 0.3 * rng.normal(size=(n, 48))

    train = rows(3000)
    detector = hld.HLDDetector().fit(train)
    inverse, mean = np.linalg.inv(np.cov(train.T)), train.mean(axis=0)
    found = np.zeros((2, 2))
    for moved in (0, 1):
        for _ in range(trials):
            batch = rows(100) + moved * 0.05 * train.std(axis=0) * rng.choice([-1, 1], 48)
            difference = batch.mean(axis=0) - mean
            squared = difference @ inverse @ difference / (1 / 100 + 1 / len(train))
            found[moved] += detector.test(batch).reject, stats.chi2.sf(squared, 48) <= 0.05
    for name, shares in zip(("hld", "Hotelling"), (found / trials).T, strict=True):
        print(f"vectors, {name}: found {shares[1]:.2f}, without a shift {shares[0]:.2f}")


def wide(*sizes: int) -> None:
    """Seconds and bytes by number of columns."""
    for V in sizes:
        rng = np.random.default_rng(0)
        train = rng.normal(size=(2000, V)) + rng.normal(size=(2000, 1))
        start = time.process_time()
        detector = hld.HLDDetector().fit(train)
        middle = time.process_time()
        detector.test(train[:200])
        end = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.hld")
            detector.save(path)
            size = os.path.getsize(path) / 1e6
        print(
            f"wide, {V} columns: fit {middle - start:.0f} s, test {end - middle:.1f} s, {size:.0f} MB"
        )


def drift() -> None:
    """Rows until a slow drift is told."""
    rng = np.random.default_rng(0)
    detector = hld.HLDDetector().fit(rng.normal(size=(4000, 5)))
    rows = rng.normal(size=(20_000, 5))
    rows[:, 0] += np.linspace(0, 0.3, 20_000)
    watch = hld.Monitor(detector)
    for start in range(0, 20_000, 100):
        if watch.update(rows[start : start + 100]).alarm:
            break
    batches = np.split(rows, 20)
    called = [i for i, batch in enumerate(batches) if detector.test(batch, 0.05 / 20).reject]
    whole = detector.test(rows[-5000:]).pvalue
    alone = np.mean([detector.test(row[None]).reject for row in rows[-1000:]])
    print(f"drift: {alone:.3f} of the last 1,000 rows are called one by one")
    print(
        f"drift: alarm at row {watch.alarm_row}, batches called {called}, last 5,000 rows p = {whole:.2g}"
    )


if __name__ == "__main__":
    vectors()
    wide(300, 1000, 4000)
    drift()
