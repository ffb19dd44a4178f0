"""Bits per pixel of MNIST's digits, 28 x 28 in 256 grey levels: Hidden Chow-Liu trees beside published values.

    HLD_DATA=... python -m benchmarks.digits_density [--states 16 64] [--passes 10] [--batch 512]

Learns the tree from 5,000 digits and the parameters from 55,000 with mini-batch EM (`fit_em(batch_size=...)`); 5,000
held-out digits are there to choose the options by, and the 10,000 test digits are only printed.  Bits per pixel are
``-log_likelihood / (784 log 2)``.  Wall-clock seconds, all CPUs.

Published, all with 784 x 256: Juice's notebook, an HCLT of 32 states and 6,980,767 parameters, 1.238 (its table: 1.20,
without a size), pruned and grown 1.14 (Dang, Liu and Van den Broeck, NeurIPS 2022), RAT-SPN 1.67, cirkit's notebooks
with 25,657,730 parameters 1.252, and 1.187 with weights given by a network; not tractable: IDF 1.90, BitSwap 1.27.
"""

from __future__ import annotations

import argparse
import gzip
import os
import pathlib
import time

import numpy as np

import pcircuit

from .measure import machine

HELD = 5_000


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--states", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--pseudocount", type=float, default=0.1)
    options = parser.parse_args()
    rows, test = digits("train"), digits("t10k")
    print(machine() + "\n")
    print(
        "| states | parameters | passes | training, bits per pixel | held out | test | tree, s | EM, s |\n"
        + "| ---: " * 8
        + "|"
    )
    for num_latents in options.states:
        line(num_latents, rows[:-HELD], rows[-HELD:], test, options)


def line(num_latents, rows, held, test, options):
    """Print one line."""
    clock = time.perf_counter()
    tree = pcircuit.chow_liu_tree(rows[:HELD], num_categories=256)
    circuit = pcircuit.hclt(rows[:HELD], num_latents, 256, rng=0, tree=tree)
    begun = time.perf_counter()
    circuit, _ = pcircuit.fit_em(
        circuit,
        rows,
        num_epochs=options.passes,
        pseudocount=options.pseudocount,
        batch_size=options.batch,
        rng=0,
    )
    seconds = time.perf_counter() - begun
    means = [
        bits(pcircuit.log_likelihood(circuit, some).mean()) for some in (rows[:HELD], held, test)
    ]
    print(
        f"| {num_latents} | {num_parameters(circuit):,} | {options.passes} | "
        + " | ".join(f"{mean:.3f}" for mean in means)
        + f" | {begun - clock:.0f} | {seconds:.0f} |",
        flush=True,
    )


def bits(mean):
    """Bits per pixel of a mean log-likelihood in nats."""
    return -mean / (784 * np.log(2))


def digits(name):
    """(N, 784) grey levels of one of the two files."""
    path = pathlib.Path(os.environ["HLD_DATA"]) / "mnist" / f"{name}-images-idx3-ubyte.gz"
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)


def num_parameters(circuit):
    """Numbers in its tables."""
    return sum(
        (region.probs if isinstance(region, pcircuit.InputRegion) else region.weights).size
        for region in circuit.regions
    )


if __name__ == "__main__":
    main()
