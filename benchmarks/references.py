"""What to compare a batch with: the three references of the detector at several numbers of training rows.

    HLD_DATA=... python -m benchmarks.references [--splits 8] [--datasets adult ...]

For each data set and number of rows n: `splits` random choices of n training rows, a detector for each reference, and
batches of fresh rows and of shifted ones. Many splits and few batches of each, since an error of the reference is
shared by all batches of a split. This table is the reason why `reference="auto"` holds half of the rows out.
"""

from __future__ import annotations

import argparse

import numpy as np

import hld

from .options import pools

CELLS = (
    ("binary", "dna"),
    ("binary", "accidents"),
    ("binary", "jester"),
    ("binary", "netflix"),
    ("binary", "plants"),
    ("adult", ">50K"),
    ("mnist7", "3"),
    ("covertype", "ponderosa"),
)
REFERENCES = ("circuit", "training", "held-out")
ROWS = (200, 1000, 5000)
FRESH = 1000  # rows that must be left for the largest batches
SIZES = {"fresh rows": (10, 100, 1000), "shifted rows": (10, 100)}
BATCHES = 40


def main():
    """Print one row for each data set and number of training rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--datasets", nargs="*")
    options = parser.parse_args()
    columns = [f"{kind}, T = {T}" for kind, sizes in SIZES.items() for T in sizes]
    print("Rejections at level 0.05:", " / ".join(REFERENCES), "\n")
    print(
        "| data | n | n / nodes | "
        + " | ".join(columns)
        + " |\n"
        + "|---" * (3 + len(columns))
        + "|"
    )
    for name, id_class in CELLS:
        if options.datasets and name not in options.datasets and id_class not in options.datasets:
            continue
        train, held_out, shifted, _ = pools(name, id_class)
        rows, shifted = np.concatenate([train, held_out]), np.concatenate(list(shifted.values()))
        for n in sorted({min(n, len(rows) - FRESH) for n in ROWS}):
            nodes, rates = study(rows, shifted, n, options.splits)
            print(
                f"| {id_class if name == 'binary' else f'{name} {id_class}'} | {n} | {n / nodes:.1f} | "
                + " | ".join(" / ".join(f"{rate:.3f}" for rate in cell) for cell in rates)
                + " |",
                flush=True,
            )


def study(rows, shifted, n, splits):
    """Nodes of the circuit, and for each (population, T) the rejection rates of the references."""
    counts: dict = {}
    for split in range(splits):
        rng = np.random.default_rng(split)
        order = rng.permutation(len(rows))
        for reference in REFERENCES:
            detector = hld.HLDDetector(reference=reference, categorical=list(range(rows.shape[1])))
            detector.fit(rows[order[:n]])
            if reference == "circuit":
                nodes = len(detector.test_.nodes)
            for kind, pool in (("fresh rows", rows[order[n:]]), ("shifted rows", shifted)):
                for T in SIZES[kind]:
                    batches = min(BATCHES, max(4 * len(pool) // T, 1))
                    found = [
                        detector.test(pool[rng.choice(len(pool), T, replace=False)]).reject
                        for _ in range(batches)
                    ]
                    counts.setdefault((kind, T), {}).setdefault(reference, []).append(
                        np.mean(found)
                    )
    return nodes, [
        [float(np.mean(counts[key][reference])) for reference in REFERENCES] for key in counts
    ]


if __name__ == "__main__":
    main()
