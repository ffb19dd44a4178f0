"""Circuits of densities beside circuits of bins: test nats a row, what a test of batches finds, and their speed.

    python -m benchmarks.densities nats           likelihoods of fresh rows, beside mixtures of scikit-learn
    python -m benchmarks.densities power          level and power of `HLDTest` with bins and with densities
    python -m benchmarks.densities speed          rows per CPU second of one thread, beside libcirkit and SPFlow

Tables: covertype's ten quantitative columns and sensorless's 48 (`HLD_DATA`), breast cancer, diabetes, wine and digits
of scikit-learn; half of the rows, at most 3,000, to learn from, the others fresh.

One measure for all models.  Columns are standardised by the training rows.  A column that is rounded to multiples of a
unit u is dequantised: to every number is added a uniform one from (-u/2, u/2), for all models the same.  A bin has the
density of its share over its width, the outer ones reach one deviation beyond the training rows, and what lies
further counts as their end.
"""

from __future__ import annotations

import argparse
import importlib
import time

import numpy as np

import hld
import pcircuit
from pcircuit.inference.densities import at_rows, block_rows
from pcircuit.leaves import Histogram
from pcircuit.leaves.columns import rounding_unit

from .measure import median_time
from .paper import datasets
from .peers import best_rate

MOST_ROWS, EPOCHS, NUM_LATENTS = 3_000, 100, 12
MOST_CELLS = 500_000  # rows times columns for `speed`
SETTINGS = ((50, 4), (50, 16), (500, 4), (2_000, 4))  # V, K
TABLES = ("breast", "diabetes", "wine", "digits", "covertype", "sensorless")


def load(name):
    """(N, V) numbers of a table in random order."""
    if name in ("covertype", "sensorless"):
        table = datasets.load_table(name)
        rows = table.values[:, table.is_numeric].astype(float)
    else:
        from sklearn import datasets as bundled

        named = {"breast": "breast_cancer"}.get(name, name)
        rows = getattr(bundled, f"load_{named}")().data.astype(float)
        rows = rows[:, rows.std(axis=0) > 0]
    return rows[np.random.default_rng(0).permutation(len(rows))]


def split(rows):
    """Training rows and fresh ones, standardised; both dequantised as well."""
    n = min(len(rows) // 2, MOST_ROWS)
    train, test = rows[:n], rows[n : 2 * n]
    units = np.array([rounding_unit(column) for column in rows.T])
    mean, std = train.mean(axis=0), np.maximum(train.std(axis=0), 1e-9)
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, (2 * n, rows.shape[1])) * units
    smooth = [
        (part + noise[i * n : (i + 1) * n] - mean) / std for i, part in enumerate((train, test))
    ]
    return (train - mean) / std, (test - mean) / std, *smooth


def of_bins(train, num_bins):
    """A hidden Chow-Liu tree of equal-frequency bins as densities; the outer bins reach one deviation further."""
    cuts = [np.unique(np.quantile(column, np.arange(1, num_bins) / num_bins)) for column in train.T]
    codes = np.stack(
        [np.searchsorted(cut, column) for cut, column in zip(cuts, train.T, strict=True)], axis=1
    )
    numbers = [max(len(cut) + 1, 2) for cut in cuts]
    start = pcircuit.hclt(codes, NUM_LATENTS, num_categories=numbers)
    circuit, _ = start.fit_em(codes, num_epochs=EPOCHS, pseudocount=1.0)
    regions = list(circuit.regions)
    for v, r in enumerate(circuit.vtree.leaf_of().tolist()):
        ends = train[:, v].min() - 1, train[:, v].max() + 1
        edges = np.concatenate([[ends[0]], cuts[v], [ends[1]]])
        regions[r] = pcircuit.InputRegion(
            v, Histogram(edges, circuit.inputs[v].probs[:, : len(edges) - 1])
        )
    return pcircuit.Circuit(circuit.vtree, regions)


def nats(names):
    """A table of mean log-likelihoods of fresh rows."""
    from sklearn.mixture import GaussianMixture

    heads = ("8 bins", "32 bins", "Gaussian", "learn", "mixture diag", "mixture full")
    print(f"| table | V, n | {' | '.join(heads)} |\n| --- | --- {'| --- ' * len(heads)}|")
    for name in names:
        _, _, smooth, test = split(load(name))
        inside = np.clip(test, smooth.min(axis=0) - 1, smooth.max(axis=0) + 1)
        found = [of_bins(smooth, bins).log_likelihood(inside) for bins in (8, 32)]
        start = pcircuit.hclt(smooth, NUM_LATENTS, leaves="gaussian")
        circuit, _ = start.fit_em(smooth, num_epochs=EPOCHS, pseudocount=1.0)
        found.append(circuit.log_likelihood(test))
        learned = pcircuit.learn(smooth, leaves="gaussian").model
        found.append(learned.log_likelihood(test))
        held = len(smooth) // 10
        for kind in ("diag", "full"):
            fits = [
                GaussianMixture(k, covariance_type=kind, random_state=0, reg_covar=1e-4).fit(
                    smooth[held:]
                )
                for k in (1, 2, 4, 8, 16, 32)
            ]
            best = max(fits, key=lambda model: model.score(smooth[:held]))
            found.append(best.score_samples(test))
        shape = f"{smooth.shape[1]}, {len(smooth)}"
        print(
            f"| {name} | {shape} | {' | '.join(f'{logs.mean():.2f}' for logs in found)} |",
            flush=True,
        )


SHIFTS = {
    "none": lambda rows, rng: rows,
    "one mean": lambda rows, rng: rows + np.eye(rows.shape[1])[0] * 0.5,
    "all means": lambda rows, rng: rows + 0.25,
    "one variance": lambda rows, rng: rows * (1 + 0.5 * np.eye(rows.shape[1])[0]),
    "permuted": lambda rows, rng: np.column_stack([rng.permutation(rows[:, 0]), rows[:, 1:]]),
    "one outlier": lambda rows, rng: np.concatenate([rows[1:], rows[:1] + 20.0]),
}


def power(names, trials):
    """Shares of batches at the 5 % level: detectors of bins, and densities against held-out rows."""
    print(
        f"| table | T | model | {' | '.join(SHIFTS)} |\n| --- | --- | --- {'| --- ' * len(SHIFTS)}|"
    )
    for name in names:
        train, fresh, *_ = split(load(name))
        half = len(train) // 2
        start = pcircuit.hclt(train[:half], 4, leaves="gaussian")
        circuit, _ = start.fit_em(train[:half], num_epochs=50, pseudocount=1.0)
        metrics = ["euclidean", "standardized", "whitened"]
        tests = {
            "bins": hld.HLDDetector(rng=0).fit(train),
            "densities": hld.HLDTest(
                circuit, metric=metrics, reference="training", training_data=train[half:], rng=0
            ),
            "densities, circuit": hld.HLDTest(circuit, rng=0),
        }
        for T in (10, 50, 200):
            for model, test in tests.items():
                judge = getattr(test, "test", test)
                shares = []
                for shift in SHIFTS.values():
                    rng = np.random.default_rng(2)
                    batches = [fresh[rng.integers(len(fresh), size=T)] for _ in range(trials)]
                    shares.append(np.mean([judge(shift(batch, rng)).reject for batch in batches]))
                print(
                    f"| {name} | {T} | {model} | {' | '.join(f'{x:.2f}' for x in shares)} |",
                    flush=True,
                )


def speed(settings):
    """A table of rates of Gaussian hidden Chow-Liu trees for (V, K), with the same circuit in other libraries."""
    print("| V | K | rows a second | fill | epoch | libcirkit | SPFlow | over the best |")
    print("| ---: " * 8 + "|")
    rng = np.random.default_rng(0)
    for V, K in settings:
        rows = rng.standard_normal((MOST_CELLS // V, V)) + rng.standard_normal((MOST_CELLS // V, 1))
        start = pcircuit.hclt(rows[:2000], K, leaves="gaussian")
        circuit, _ = start.fit_em(rows[:2000], num_epochs=2)
        step, times = block_rows(circuit), [time.process_time()]

        def seconds(function):
            function()
            return median_time(function, 5, clock=time.process_time)

        whole = seconds(lambda c=circuit, x=rows: c.log_likelihood(x, n_jobs=1))
        fill = seconds(
            lambda c=circuit, x=rows, n=step: [
                at_rows(c, x, slice(i, i + n)) for i in range(0, len(x), n)
            ]
        )
        circuit.fit_em(
            rows, num_epochs=6, n_jobs=1, callback=lambda *_, t=times: t.append(time.process_time())
        )
        rates = [of_peer(name, circuit, rows) for name in ("libcirkit", "spflow")]
        best = max((rate for rate in rates if rate), default=None)
        cells = [f"{rate:,.0f}" if rate else "-" for rate in rates]
        cells.append(f"{len(rows) / whole / best:.1f}" if best else "-")
        epoch = np.median(np.diff(times)[1:]) / whole
        print(
            f"| {V:,} | {K} | {len(rows) / whole:,.0f} | {fill / whole:.2f} | {epoch:.1f} "
            f"| {' | '.join(cells)} |",
            flush=True,
        )
    print(
        "\nFill (of leaf tables) and an epoch of EM in units of an evaluation.  A dash: not installed, or rows too "
        "unlikely for it."
    )


def of_peer(name, circuit, rows):
    """Rows per CPU second of the same circuit in another library at its best batch size; None where it cannot."""
    try:
        peer = importlib.import_module(f"benchmarks.peer_{name}")
    except ImportError:
        return None
    evaluate, few = peer.evaluator(circuit), rows[:100]
    want = circuit.log_likelihood(few)
    if want.min() < peer.LOWEST:
        return None
    np.testing.assert_allclose(evaluate(peer.as_input(few)), want, rtol=1e-4, atol=1e-3)
    return best_rate(evaluate, rows, True, as_input=peer.as_input)


def main():
    """One of the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("nats", "power", "speed"))
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--trials", type=int, default=50)
    given = parser.parse_args()
    begun = time.perf_counter()
    if given.what == "speed":
        speed(SETTINGS)
    else:
        nats(given.tables) if given.what == "nats" else power(given.tables, given.trials)
    print(f"\n{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
