"""False alarms of the circuit as reference, with four states and as `pcircuit.learn` chooses it.

    HLD_DATA=... python -m benchmarks.learned_reference [--sets nltcs plants ...] [--size 1000] [--batches 200]

What a test against the circuit's own moments rejects on held-out rows is the circuit's error, so a better circuit is to
reject less. A fit that `learn` ends early, where validation rows gain no more, is not at its maximum, though: the means
of the circuit are not those of its training rows yet. So a third circuit goes on from there with EM for 300 epochs.

Training and held-out rows are those of `benchmarks.options`: half of the in-distribution rows each. The circuits learn
from the training half (`learn` chooses on a tenth of it, with `num_trees=1`), and ``HLDTest(circuit,
reference="circuit", null="auto", metric=...)`` tests batches drawn from the held-out half without replacement within a
batch, with the metrics euclidean, standardized, marginals and whitened together. Batches of one set share its circuit,
so rates differ between sets by far more than their binomial error.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import hld
import pcircuit

from .options import BINARY, DIGITS, PSEUDOCOUNT, TABULAR, pools

METRICS = ("euclidean", "standardized", "marginals", "whitened")
MORE_EPOCHS = 300
CELLS = [*TABULAR, *DIGITS, *BINARY]


def main():
    """Print one row for each set, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", help="names, such as adult or nltcs; by default all")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=200)
    options = parser.parse_args()
    print(
        f"| set | training rows | held-out log-likelihood, K = 4 | learned (K) | rejected at 0.05, T = "
        f"{options.size}: K = 4 | learned | learned, EM to the end | seconds |\n"
        + "| --- " * 8
        + "|"
    )
    rates = []
    for name, id_class in CELLS:
        if options.sets and name not in options.sets and id_class not in options.sets:
            continue
        train, held_out, _, categories = pools(name, id_class)
        if len(held_out) < 2 * options.size:
            continue
        started = time.process_time()
        batches = batches_of(held_out, options)
        four, (found, num_latents) = four_states(train, categories), learned(train, categories)
        ended, _ = pcircuit.fit_em(found, train, num_epochs=MORE_EPOCHS, pseudocount=PSEUDOCOUNT)
        rejected = [rate(circuit, len(train), batches) for circuit in (four, found, ended)]
        means = [pcircuit.log_likelihood(circuit, held_out).mean() for circuit in (four, found)]
        rates.append(rejected)
        print(
            f"| {name} {id_class} | {len(train):,} | {means[0]:.3f} | {means[1]:.3f} ({num_latents}) | "
            f"{' | '.join(f'{one:.3f}' for one in rejected)} | {time.process_time() - started:.0f} |",
            flush=True,
        )
    print("| mean | | | | " + " | ".join(f"{one:.3f}" for one in np.mean(rates, axis=0)) + " | |")


def batches_of(rows, options) -> list:
    """Batches of held-out rows."""
    rng = np.random.default_rng(1)
    return [
        rows[rng.choice(len(rows), options.size, replace=False)] for _ in range(options.batches)
    ]


def four_states(train, categories) -> pcircuit.Circuit:
    """The circuit of the paper."""
    circuit = pcircuit.hclt(train, 4, categories, PSEUDOCOUNT, rng=0)
    return pcircuit.fit_em(circuit, train, num_epochs=100, pseudocount=PSEUDOCOUNT)[0]


def learned(train, categories) -> tuple:
    """The best single circuit of `pcircuit.learn`, and its number of states."""
    found = pcircuit.learn(
        train, num_categories=categories, search=pcircuit.LearnSearch(num_trees=1)
    )
    best = max(found.trials, key=lambda trial: trial.best)
    return found.circuit, best.num_latents


def rate(circuit, num_train, batches) -> float:
    """The share of batches with p <= 0.05."""
    test = hld.HLDTest(
        circuit, metric=METRICS, null="auto", reference="circuit", num_train=num_train, rng=2
    )
    return float(np.mean([test(batch).pvalue <= 0.05 for batch in batches]))


if __name__ == "__main__":
    main()
