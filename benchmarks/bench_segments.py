"""Segments: seconds of processor time of `HLDDetector.test_by`, and what is called.

Two thousand segments of fifty rows on average, of which ten are shifted; five columns, without holes and with holes in
one column, so that every segment needs a law of its own.

    python -m benchmarks.bench_segments
"""

from __future__ import annotations

import time

import numpy as np

import hld

SEGMENTS, ROWS, SHIFTED = 2_000, 50, 10


def main() -> None:
    """Print one line for each share of holes."""
    rng = np.random.default_rng(0)
    print("| holes | segments | rows | seconds | called | of the shifted |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for holes in (0.0, 0.05):
        detector = hld.HLDDetector(num_epochs=5).fit(table(rng, 4_000, holes))
        big, labels = table(rng, SEGMENTS * ROWS, holes), rng.integers(0, SEGMENTS, SEGMENTS * ROWS)
        big["x1"][labels < SHIFTED] += 4
        detector.test_by({name: cells[:500] for name, cells in big.items()}, labels[:500])
        start = time.process_time()
        found = detector.test_by(big, labels)
        seconds = time.process_time() - start
        print(
            f"| {holes:.0%} | {SEGMENTS} | {len(labels)} | {seconds:.1f} | {int(found.reject.sum())} "
            f"| {int(found.reject[:SHIFTED].sum())} |",
            flush=True,
        )


def table(rng: np.random.Generator, n: int, holes: float) -> dict[str, np.ndarray]:
    """Rows of three numbers, of which the first has holes, a text and a whole number, all dependent."""
    kind = rng.integers(0, 3, n)
    numbers = {f"x{v}": rng.normal(kind) for v in range(3)}
    numbers["x0"][rng.random(n) < holes] = np.nan
    return {
        "c": np.array(list("abcdef"))[(kind + rng.integers(0, 4, n)) % 6],
        "n": kind + rng.integers(0, 3, n),
        **numbers,
    }


if __name__ == "__main__":
    main()
