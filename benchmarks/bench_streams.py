"""The stream monitor on real rows: false alarms, and the delay beside the monitor that bets on the circuit.

    HLD_DATA=... python -m benchmarks.bench_streams --data adult --streams 100 --seconds 500
    HLD_DATA=... python -m benchmarks.bench_streams --delay --seconds 500
    python -m benchmarks.bench_streams --speed

A stream is a random order of held-out rows: the first 2,000 are the reference, the next 10,000 the stream.  With
--seconds no new stream is begun after that time, which is divided among the tables; each line says how many there were.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time
import warnings

import numpy as np

import hld
from hld.streams.races import BINS, advance, no_races, start
from hld.streams.stream_monitor import StreamMonitor

from .paper import datasets

ALPHA, REFERENCE, ROWS = 0.05, 2_000, 10_000
BINARY = ("nltcs", "msnbc", "kdd", "plants", "audio", "netflix")
TABLES = ("adult", "connect4", "covertype", "census", "mnist")


def main(argv=None) -> None:
    """Print what is asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", nargs="*", default=[], choices=TABLES + BINARY)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--delay", action="store_true")
    parser.add_argument("--speed", action="store_true")
    args = parser.parse_args(argv)
    begin, parts = time.monotonic(), max(len(args.data), 1)
    for i, name in enumerate(args.data):
        false_alarms(name, args.streams, begin + args.seconds * (i + 1) / parts)
    if args.delay:
        delays(args.streams, args.seconds)
    if args.speed:
        speed()


def false_alarms(name, streams, limit) -> None:
    """Alarms in streams of held-out rows without a shift, of both monitors."""
    table = load(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(table))
    learned = order[: min(len(table) - REFERENCE - ROWS, 5_000)]
    held = order[len(learned) :]
    detector = hld.HLDDetector(num_epochs=5, null="exact", num_resamples=99, missingness=False).fit(
        table[learned]
    )
    codes = detector.encoder_.encode(table[held])[0]
    found, plain = [], []
    for seed in range(streams):
        if time.monotonic() > limit:
            break
        chosen = rng.permutation(len(held))[: REFERENCE + ROWS]
        monitor = of_codes(detector, codes[chosen[:REFERENCE]], seed)
        found.append(monitor.update_codes(codes[chosen[REFERENCE:]]).alarm)
        if len(plain) < 4:
            plain.append(
                hld.Monitor(detector.circuit_, nodes=detector.test_.nodes)
                .update(codes[chosen[REFERENCE:]])
                .alarm
            )
    print(
        f"| {name} | {len(detector.test_.nodes)} | {sum(found)} of {len(found)} | {sum(plain)} of {len(plain)} |",
        flush=True,
    )


def of_codes(detector, codes, seed) -> StreamMonitor:
    """A monitor with reference rows that are encoded."""
    monitor = StreamMonitor.__new__(StreamMonitor)
    monitor.set_parts(detector, ALPHA, seed, codes, np.zeros(0, np.int64))
    return monitor


def delays(streams, seconds) -> None:
    """Rows from a shift to the alarm, without and with ordinary rows before it; real rows of two classes."""
    begin, cases = time.monotonic(), (("adult", "<=50K", ">50K"), ("connect4", "win", "loss"))
    for i, (name, own, other) in enumerate(cases):
        loaded = datasets.load_table(name)
        rows, labels = np.asarray(loaded.values), np.asarray(loaded.labels)
        rng = np.random.default_rng(0)
        ordinary, odd = (rng.permutation(np.flatnonzero(labels == one)) for one in (own, other))
        half = len(ordinary) // 2
        detector = hld.HLDDetector(num_epochs=15, null="exact", num_resamples=99).fit(
            rows[ordinary[:half]]
        )
        calm, moved = (detector.encoder_.encode(rows[one])[0] for one in (ordinary[half:], odd))
        for j, before in enumerate((0, 1000)):
            limit, found, plain = begin + seconds * (2 * i + j + 1) / (2 * len(cases)), [], []
            for seed in range(streams):
                if time.monotonic() > limit:
                    break
                chosen = calm[rng.permutation(len(calm))]
                stream = np.concatenate(
                    [
                        chosen[REFERENCE : REFERENCE + before],
                        moved[rng.permutation(len(moved))[:1000]],
                    ]
                )
                found.append(
                    of_codes(detector, chosen[:REFERENCE], seed).update_codes(stream).alarm_row
                )
                plain.append(
                    hld.Monitor(detector.circuit_, nodes=detector.test_.nodes)
                    .update(stream)
                    .alarm_row
                )
            cells = [
                f"{np.median(late) - before:.0f} ({sum(row <= before for row in late)} early)"
                if late
                else "-"
                for late in ([row or 10**6 for row in one] for one in (found, plain))
            ]
            print(
                f"| {name}, {own} to {other} | {before} | {len(found)} | {cells[0]} | {cells[1]} |",
                flush=True,
            )


def speed() -> None:
    """Microseconds per row for 300 races, in NumPy and compiled."""
    from hld.streams.kernel import advance as compiled
    from hld.streams.races import FACTORS, FIRST, SHARE, THRESHOLDS

    rng = np.random.default_rng(0)
    scores, uniforms = rng.normal(size=(200, 300)), rng.random(200)
    for name in ("numpy", "compiled", "compiled"):
        races = no_races(300)
        for k in range(300):
            start(races, k, rng.normal(size=500), rng.normal(size=2000), -9.0)
        begin, out = time.perf_counter(), (np.empty(200), np.empty(200, np.int64))
        if name == "numpy":
            advance(scores, uniforms, races, *out)
        else:
            compiled(scores, uniforms, races, THRESHOLDS, FACTORS, FIRST, SHARE, *out)
        print(
            f"{name}: {(time.perf_counter() - begin) / 200 * 1e6:.0f} microseconds a row, {BINS} bins"
        )


def load(name) -> np.ndarray:
    """(N, V) rows."""
    folder = pathlib.Path(os.environ["HLD_DATA"])
    if name in BINARY:
        with np.load(folder / "binary" / f"{name}.npz", allow_pickle=False) as arrays:
            return np.concatenate([arrays[part] for part in ("train", "valid", "test")])
    if name == "covertype":
        with np.load(folder / "covertype" / "covertype.npz", allow_pickle=False) as arrays:
            X = arrays["X"]
        return np.column_stack(
            [X[:, :10].astype(float), X[:, 10:14].argmax(axis=1), X[:, 14:].argmax(axis=1)]
        )
    if name == "census":
        with np.load(
            folder / "census_income_kdd" / "census_income_kdd.npz", allow_pickle=False
        ) as arrays:
            return np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(float)
    if name == "mnist":
        return (np.asarray(datasets.load_table("mnist7").values) >= 100).astype(int)
    return np.asarray(datasets.load_table(name).values)


if __name__ == "__main__":
    sys.exit(main())
