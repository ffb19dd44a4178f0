"""`pcircuit.learn` on the ten binary data sets, beside the best published values.

    HLD_DATA=... python -m benchmarks.learning [--sets dna nltcs] [--trees 8]

One call with the defaults for each set: the circuit learns from training rows, is chosen by validation rows, and test
rows are used once, at the end.  Prints one Markdown table of mean test log-likelihoods (nats): the best single circuit,
the mixture, and how many states and trees the validation rows chose, with the processor time.

Published values: the best tractable model that we know of, of any kind, with its name (ID-SPN: Rooshenas and Lowd, ICML
2014; XCNet: Di Mauro et al., UAI 2021; HCLT mixture: Selvam et al., AISTATS 2023; SoftLearn: Ghandi et al., PGM 2024;
LearnPSDD: Geh, master's thesis, 2022).
"""
from __future__ import annotations

import argparse
import os
import pathlib
import time

import numpy as np

import pcircuit

PUBLISHED = {
    "nltcs": (-5.97, "SoftLearn"), "msnbc": (-6.04, "ID-SPN"), "kdd": (-2.11, "LearnPSDD"),
    "plants": (-11.99, "XCNet"), "audio": (-39.65, "SoftLearn"), "jester": (-51.29, "LearnPSDD"),
    "netflix": (-55.71, "LearnPSDD"), "accidents": (-26.74, "HCLT mixture"), "dna": (-79.05, "HCLT mixture"),
    "book": (-33.03, "SoftLearn"),
}


def main() -> None:
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument("--trees", type=int, default=pcircuit.LearnSearch().num_trees)
    options = parser.parse_args()
    folder = pathlib.Path(os.environ["HLD_DATA"]) / "binary"
    print("| set | circuit | mixture | states | trees | best published | processor seconds |\n" + "| --- " * 7 + "|")
    for name in options.sets:
        parts = np.load(folder / f"{name}.npz")
        started = time.process_time()
        learned = pcircuit.learn(parts["train"], parts["valid"], num_categories=2,
                                 search=pcircuit.LearnSearch(num_trees=options.trees))
        seconds = time.process_time() - started
        test = {kind: pcircuit.log_likelihood(model, parts["test"]).mean()
                for kind, model in (("circuit", learned.circuit), ("model", learned.model))}
        trees = 1 if learned.mixture is None else len(learned.mixture.circuits)
        value, model = PUBLISHED[name]
        print(f"| {name} | {test['circuit']:.3f} | {test['model']:.3f} | {learned.trials[-1].num_latents} | {trees} | "
              f"{value:.2f} ({model}) | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
