"""`pcircuit.learn` on the ten binary data sets, beside the best published values.

    HLD_DATA=... python -m benchmarks.learning [--sets dna nltcs] [--trees 8] [--points 0] [--no-grow] [--no-kernels]

One call with the defaults for each set: the circuit learns from training rows, is chosen by validation rows, and test
rows are used once, at the end.  Prints one Markdown table of mean test log-likelihoods (nats): the best single circuit
and its states, the mixture and its size, and the processor time.

Published values: the best tractable model that we know of, of any kind, with its name (ID-SPN: Rooshenas and Lowd, ICML
2014; XCNet: Di Mauro et al., UAI 2021; HCLT mixture: Selvam et al., AISTATS 2023; SoftLearn: Ghandi et al., PGM 2024;
LearnPSDD: Geh, master's thesis, 2022).
"""

import argparse
import os
import pathlib
import time

import numpy as np

import pcircuit

PUBLISHED = {
    "nltcs": (-5.97, "SoftLearn"),
    "msnbc": (-6.04, "ID-SPN"),
    "kdd": (-2.11, "LearnPSDD"),
    "plants": (-11.99, "XCNet"),
    "audio": (-39.65, "SoftLearn"),
    "jester": (-51.29, "LearnPSDD"),
    "netflix": (-55.71, "LearnPSDD"),
    "accidents": (-26.74, "HCLT mixture"),
    "dna": (-79.05, "HCLT mixture"),
    "book": (-33.03, "SoftLearn"),
}


def main() -> None:
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument(
        "--no-grow", action="store_true", help="do not split the states of smaller circuits"
    )
    parser.add_argument("--no-kernels", action="store_true", help="no kernels around rows")
    parser.add_argument("--trees", type=int, default=pcircuit.LearnSearch().num_trees)
    parser.add_argument("--points", type=int, default=pcircuit.LearnSearch().num_points)
    options = parser.parse_args()
    bandwidths = () if options.no_kernels else pcircuit.LearnSearch().bandwidths
    folder = pathlib.Path(os.environ["HLD_DATA"]) / "binary"
    print(
        "| set | circuit | its states | mixture | circuits | parameters | best published | processor seconds |\n"
        + "| --- " * 8
        + "|"
    )
    for name in options.sets:
        parts = np.load(folder / f"{name}.npz")
        started = time.process_time()
        learned = pcircuit.learn(
            parts["train"],
            parts["valid"],
            num_categories=2,
            search=pcircuit.LearnSearch(
                num_trees=options.trees,
                grow=not options.no_grow,
                num_points=options.points,
                bandwidths=bandwidths,
            ),
        )
        seconds = time.process_time() - started
        test = {
            kind: pcircuit.log_likelihood(model, parts["test"]).mean()
            for kind, model in (("circuit", learned.circuit), ("model", learned.model))
        }
        value, model = PUBLISHED[name]
        print(
            f"| {name} | {test['circuit']:.3f} | {states(learned)} | {test['model']:.3f} | {size(learned.model)} | "
            f"{value:.2f} ({model}) | {seconds:.0f} |",
            flush=True,
        )


def states(learned):
    """Of the best single circuit: the largest region of latent states."""
    return max(region.num_units for region in learned.circuit.regions)


def size(model):
    """Two cells: circuits, and numbers in their tables."""
    circuits = model.circuits if isinstance(model, pcircuit.Mixture) else (model,)
    numbers = sum(
        (region.probs if isinstance(region, pcircuit.InputRegion) else region.weights).size
        for circuit in circuits
        for region in circuit.regions
    )
    return f"{len(circuits):,} | {numbers:,}"


if __name__ == "__main__":
    main()
