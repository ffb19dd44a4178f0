"""False alarms and delays of the monitor, against a test of fixed size that is repeated every 50 rows.

    HLD_DATA=... python -m benchmarks.bench_monitor [--quick]

prints Markdown tables.  Without HLD_DATA the circuits are synthetic and only the first two tables appear.

1. *False alarms*: streams of fresh samples of the circuit, followed to their end.
2. *Delay*: rows between a shift and the first alarm.  The stream is a sample of the circuit, and from some row on a
   sample (with replacement) of the rows of another class, or of another circuit.
3. *Held-out rows*: streams (without replacement) of unshifted real rows, which the circuit fits only approximately.
   The margin is statistic plus threshold of one HLD test, at level 0.01, on half of them; streams use the other half.
4. *Of a detector* (alone with ``--detectors``): `hld.monitor_of` of detectors with the defaults, each fitted to a few
   fresh rows of one source, in a long stream of further rows of it.  The source is a circuit, so that rows never end.

The competitors test every 50 rows: each window of 50 rows by itself, or all rows so far; at level alpha each time, at
alpha / (number of tests) (Bonferroni: needs the end of the stream to be known), or alpha / (k (k + 1)) in test k (alpha
spending).  Their null is the generalised chi-square law of the HLD statistic.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

import hld
import pcircuit
from hld.monitoring.monitor import Monitor

ALPHA, WINDOW = 0.05, 50
CASES = (("adult", "<=50K", (">50K",)), ("connect4", "win", ("loss", "draw")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter streams")
    parser.add_argument("--detectors", action="store_true", help="the fourth table alone")
    options = parser.parse_args()
    quick = options.quick
    cases = real_cases() if os.environ.get("HLD_DATA") else [synthetic_case()]
    if options.detectors:
        return print_detectors(cases, *((20, 10_000) if quick else (100, 60_000)))
    streams, num_rows = (100, 2000) if quick else (2000, 10_000)
    print(
        f"alpha = {ALPHA}\n\n## False alarms: {streams} streams of {num_rows:,} rows from the circuit\n"
    )
    print("| circuit | nodes | method | streams | with alarm | share | seconds per stream |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for name, circuit, _, _ in cases:
        print_false_alarms(name, circuit, streams, num_rows)
    repeats, before = (20, (0, 1000)) if quick else (200, (0, 1000, 5000))
    print(
        f"\n## Delay: rows from the shift to the alarm, over {repeats} streams, cut off 3000 rows after the shift\n"
    )
    print(
        "| circuit | shift | rows before | method | alarms before | median delay | 90 % quantile |"
    )
    print("| --- | --- | ---: | --- | ---: | ---: | ---: |")
    for name, circuit, _, shifts in cases:
        for shift, rows in shifts.items():
            for t in before:
                print_delays(name, circuit, (shift, rows), t, repeats)
    if os.environ.get("HLD_DATA"):
        print(
            f"\n## Held-out rows: {repeats} streams of unshifted real rows, and the delay with a margin\n"
        )
        print(
            "| circuit | margin | streams with alarm | rows per stream | shift | HLD of the shift | median delay |"
        )
        print("| --- | ---: | ---: | ---: | --- | ---: | ---: |")
        for name, circuit, held_out, shifts in cases:
            print_margins(name, circuit, held_out, shifts, repeats)
    return print_detectors(cases, *((20, 10_000) if quick else (100, 60_000)))


# -- circuits and rows ---------------------------------------------------------------------------------------


def real_cases():
    """Name, fitted circuit, held-out rows, and rows of other classes by name."""
    from .paper import datasets

    cases = []
    for name, id_class, others in CASES:
        split = datasets.split_class(
            datasets.load_table(name), id_class, others, datasets.Choices()
        )
        circuit = pcircuit.hclt(
            split.train, num_latents=4, num_categories=split.num_categories, rng=0
        )
        circuit, _ = pcircuit.fit_em(circuit, split.train, num_epochs=100)
        cases.append((f"{name} {id_class}", circuit, split.held_out, split.ood))
    return cases


def synthetic_case():
    """A random circuit, and samples of the same circuit with its inputs mixed with other ones."""
    circuit, other = (pcircuit.rat_spn([3] * 16, num_units=4, depth=3, rng=seed) for seed in (0, 1))
    shifts = {}
    for share in (0.1, 0.3):
        regions = [
            pcircuit.InputRegion(a.variable, (1 - share) * a.probs + share * b.probs)
            if isinstance(a, pcircuit.InputRegion)
            else a
            for a, b in zip(circuit.regions, other.regions, strict=False)
        ]
        shifts[f"{share:.0%} mixed"] = pcircuit.sample(
            pcircuit.Circuit(circuit.vtree, regions), 50_000, rng=2
        )
    return "synthetic", circuit, None, shifts


# -- methods: first row of alarm in a stream, or None --------------------------------------------------------


class Repeated:
    """HLD tests every 50 rows; one object for a circuit and a number of tests."""

    def __init__(self, circuit, num_rows):
        self.circuit, self.test = circuit, hld.HLDTest(circuit)
        self.nodes, self.mean = hld.select_nodes(circuit), hld.exact_moments(circuit).mean
        K, row = num_rows // WINDOW, pcircuit.sample(circuit, 1, rng=0)
        unit = {
            level: self.test(row, level).threshold for level in (ALPHA, ALPHA / K)
        }  # at T = 1; as 1 / sqrt(T)
        spending = np.array(
            [self.test(row, ALPHA / (k * (k + 1))).threshold for k in range(1, K + 1)]
        )
        self.levels = {
            "uncorrected": np.full(K, unit[ALPHA]),
            "Bonferroni": np.full(K, unit[ALPHA / K]),
            "spending": spending,
        }

    def first_alarms(self, rows) -> dict:
        """Method -> row of its first alarm, or None."""
        deviations = hld.likelihood_vectors(self.circuit, rows, self.nodes) - self.mean
        K = len(rows) // WINDOW
        sums = deviations[: K * WINDOW].reshape(K, WINDOW, -1).sum(axis=1)
        looks = np.arange(1, K + 1) * WINDOW
        statistics = {
            "windows": np.linalg.norm(sums, axis=1) / np.sqrt(WINDOW),
            "all rows": np.linalg.norm(np.cumsum(sums, axis=0), axis=1) / np.sqrt(looks),
        }
        found = {}
        for of, values in statistics.items():
            for correction, thresholds in self.levels.items():
                alarms = looks[values > thresholds[:K]]
                found[f"{of}, {correction}"] = int(alarms[0]) if len(alarms) else None
        return found


# -- tables --------------------------------------------------------------------------------------------------


def print_false_alarms(name, circuit, streams, num_rows):
    """Rows of the first table."""
    monitor, repeated, rng = (
        Monitor(circuit, ALPHA),
        Repeated(circuit, num_rows),
        np.random.default_rng(1),
    )
    alarms, others, seconds = 0, {}, 0.0
    compared = max(streams // 10, 100)
    for stream in range(streams):
        rows = pcircuit.sample(circuit, num_rows, rng=rng)
        monitor.reset()
        start = time.perf_counter()
        alarms += monitor.update(rows).alarm
        seconds += time.perf_counter() - start
        if stream < compared:
            for method, row in repeated.first_alarms(rows).items():
                others[method] = others.get(method, 0) + (row is not None)
    m = len(monitor.nodes)
    print(
        f"| {name} | {m} | monitor | {streams} | {alarms} | {alarms / streams:.4f} | {seconds / streams:.3f} |"
    )
    for method, count in others.items():
        print(
            f"| {name} | {m} | {method} | {compared} | {count} | {count / compared:.3f} | |",
            flush=True,
        )


def print_delays(name, circuit, shift, before, repeats):
    """Rows of the second table."""
    after, rng = 3000, np.random.default_rng(2)
    monitor, repeated = Monitor(circuit, ALPHA, rng=3), Repeated(circuit, before + after)
    found = {"monitor": []}
    for _ in range(repeats):
        rows = np.concatenate(
            [pcircuit.sample(circuit, before, rng=rng), rng.choice(shift[1], size=after)]
        )
        monitor.reset()
        found["monitor"].append(monitor.update(rows).alarm_row)
        for method, row in repeated.first_alarms(rows).items():
            found.setdefault(method, []).append(row)
    for method, alarm_rows in found.items():
        delays = np.array([np.inf if row is None else row - before for row in alarm_rows])
        early, late = int((delays <= 0).sum()), delays[delays > 0]
        shown = [
            f"{np.quantile(late, q, method='lower'):.0f}" if len(late) else "-" for q in (0.5, 0.9)
        ]
        print(
            f"| {name} | {shift[0]} | {before} | {method} | {early} | {shown[0]} | {shown[1]} |",
            flush=True,
        )


def print_margins(name, circuit, held_out, shifts, repeats):
    """Rows of the third table."""
    rng = np.random.default_rng(4)
    held_out = held_out[rng.permutation(len(held_out))]
    measured, streamed = np.array_split(held_out, 2)
    result = hld.HLDTest(circuit)(measured, alpha=0.01)
    for margin in (0.0, result.statistic + result.threshold):
        monitor, alarms = Monitor(circuit, ALPHA, margin=margin), 0
        for _ in range(repeats):
            monitor.reset()
            alarms += monitor.update(rng.permutation(streamed)).alarm
        for shift, rows in shifts.items():
            delays = []
            for _ in range(repeats):
                monitor.reset()
                row = monitor.update(rng.choice(rows, size=3000)).alarm_row
                delays.append(np.inf if row is None else row)
            print(
                f"| {name} | {margin:.4f} | {alarms} of {repeats} | {len(streamed)} | {shift} "
                f"| {hld.distance(circuit, rows):.3f} | {np.median(delays):.0f} |",
                flush=True,
            )


def print_detectors(cases, repeats, num_rows):
    """The fourth table."""
    print(
        f"\n## Of a detector: {repeats} detectors, each with a stream of {num_rows:,} rows of its source\n"
    )
    print(
        "| source | training rows | margin | its mean | streams with alarm | shift | found | median delay |"
    )
    print("| --- | ---: | --- | ---: | ---: | --- | ---: | ---: |")
    for name, circuit, _, shifts in [two_columns(), *cases]:
        for num_train in (200, 2000):
            found = [
                of_detector(circuit, num_train, num_rows, shifts, seed) for seed in range(repeats)
            ]
            for margin in found[0]:
                margins, alarms, delays = zip(*(one[margin] for one in found), strict=True)
                for shift in shifts:
                    rows = np.array([delay[shift] for delay in delays], dtype=float)
                    print(
                        f"| {name} | {num_train:,} | {margin} | {np.mean(margins):.3f} | {sum(alarms)} of {repeats} "
                        f"| {shift} | {np.isfinite(rows).sum()} of {repeats} | {np.median(rows):.0f} |",
                        flush=True,
                    )


def two_columns():
    """Two columns that agree in 0.58 of the rows, and in 0.68 after the shift: so few nodes that chance matters."""

    def agreeing(noise):
        table = np.array([[1 - noise, noise], [noise, 1 - noise]])
        return pcircuit.Circuit(
            pcircuit.VTree.from_nested([0, 1]),
            [
                pcircuit.InputRegion(0, table),
                pcircuit.InputRegion(1, table),
                pcircuit.InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
            ],
        )

    return (
        "two columns",
        agreeing(0.3),
        None,
        {"agree more": pcircuit.sample(agreeing(0.2), 50_000, rng=6)},
    )


def of_detector(circuit, num_train, num_rows, shifts, seed):
    """Name of a margin -> the margin, whether an unshifted stream had an alarm, and delays by shift."""
    rng = np.random.default_rng([5, seed])
    names = [f"x{v}" for v in range(circuit.num_variables)]
    as_table = lambda rows: dict(zip(names, rows.T, strict=True))  # noqa: E731
    detector = hld.HLDDetector(rng=seed).fit(as_table(pcircuit.sample(circuit, num_train, rng=rng)))
    encode = lambda rows: detector.encoder_.encode(as_table(rows))[0]  # noqa: E731
    stream = encode(pcircuit.sample(circuit, num_rows, rng=rng))
    shifted = {name: encode(rng.choice(rows, size=3000)) for name, rows in shifts.items()}
    distance = float(
        np.linalg.norm(
            detector.test_.mean[: len(detector.test_.nodes)]
            - hld.exact_moments(detector.circuit_, detector.test_.nodes).mean
        )
    )
    found = {}
    for name, margin in (("distance of the held-out rows", distance), ("default", None)):
        monitor = hld.monitor_of(detector, ALPHA, margin)
        alarm, delays = monitor.update(stream).alarm, {}
        for shift, rows in shifted.items():
            monitor.reset()
            row = monitor.update(rows).alarm_row
            delays[shift] = np.inf if row is None else row
        found[name] = (monitor.margin, alarm, delays)
    return found


if __name__ == "__main__":
    main()
