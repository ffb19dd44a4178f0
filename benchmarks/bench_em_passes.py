"""What a few passes of mini-batches are worth, in epochs of full-batch EM.

    HLD_DATA=... python -m benchmarks.bench_em_passes [--sets kdd audio] [--latents 16] [--epochs 100]

A hidden Chow-Liu tree learns from the training rows of binary sets: from the same start values, full-batch EM takes so
many epochs, and mini-batch EM (`fit_em(batch_size=...)`, decreasing steps) 1, 2, 5 and 10 passes.  One Markdown row a
set and batch size: mean log-likelihoods (nats) of training and of test rows after the passes, in brackets the number
of full-batch epochs that reach that of the training rows; then the same means of full-batch EM after its last epoch.

Exponents of the decreasing steps (.5, .6, .7, .9), a constant step of .1, and steps of the parameters in place of the
flows were compared on dna, nltcs and plants; the other sets took no part.
"""

from __future__ import annotations

import argparse
import os
import pathlib

import numpy as np

import pcircuit

SETS = ("dna", "nltcs", "plants", "msnbc", "kdd", "audio", "jester", "netflix", "accidents", "book")
PASSES = (1, 2, 5, 10)


def main():
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--latents", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batches", type=int, nargs="*", default=[256, 1024])
    options = parser.parse_args()
    print(
        "| set | rows | batch | "
        + " | ".join(f"{p} pass{'es' * (p > 1)}" for p in PASSES)
        + f" | {options.epochs} full epochs |\n"
        + "| --- " * (4 + len(PASSES))
        + "|"
    )
    folder = pathlib.Path(os.environ["HLD_DATA"]) / "binary"
    for name in options.sets:
        parts = np.load(folder / f"{name}.npz")
        rows, test = parts["train"], parts["test"]
        start = pcircuit.hclt(rows, options.latents, 2, rng=0)
        full, history = pcircuit.fit_em(start, rows, num_epochs=options.epochs)
        for size in options.batches:
            found = [cell(start, rows, test, size, passes, history) for passes in PASSES]
            print(
                f"| {name} | {len(rows):,} | {size:,} | "
                + " | ".join(found)
                + f" | {history[-1]:.3f}, {mean(full, test):.3f} |",
                flush=True,
            )


def cell(start, rows, test, size, passes, history) -> str:
    """Training and test means after some passes, and how many epochs of `history` reach the former."""
    fitted, _ = pcircuit.fit_em(start, rows, num_epochs=passes, batch_size=size, rng=0)
    reached = mean(fitted, rows)
    above = np.flatnonzero(history >= reached)
    worth = f"{above[0]}" if len(above) else f"> {len(history) - 1}"
    return f"{reached:.3f}, {mean(fitted, test):.3f} ({worth})"


def mean(circuit, rows) -> float:
    """Mean log-likelihood of rows."""
    return float(pcircuit.log_likelihood(circuit, rows).mean())


if __name__ == "__main__":
    main()
