"""The tables that every library gets: Adult in CSV files, unshifted batches, shifted ones, days, and a stream.

Rows of both files of Adult, shuffled, without `fnlwgt`.  The first 10,000 are for learning; the batches are of the
other 38,842, each row in one batch only, so that unshifted ones are unshifted.
"""

import gzip
import os
import pathlib

import numpy as np
import pandas as pd

NAMES = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
NUM_TRAIN, BATCH, NUM_UNSHIFTED, NUM_SHIFTED = 10_000, 300, 100, 3
DAYS, SHIFTED_DAYS = 10, (3, 7)
STREAM, CHANGE = 2_000, 1_000


def adult() -> pd.DataFrame:
    """All rows, shuffled; unknown values are a level, "?"."""
    rows = []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(pathlib.Path(os.environ["HLD_DATA"]) / "adult" / name, "rt") as file:
            cells = [line.strip().rstrip(".").split(", ") for line in file]
        rows += [row for row in cells if len(row) == len(NAMES)]
    table = pd.DataFrame(rows, columns=NAMES).drop(columns="fnlwgt")
    for name in ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week"):
        table[name] = table[name].astype(int)
    return table.sample(frac=1, random_state=0, ignore_index=True)


SHIFTS = {
    "ages + 5": lambda table, rng: table.assign(age=table["age"] + 5),
    "sexes permuted": lambda table, rng: table.assign(sex=rng.permutation(table["sex"])),
    "7 % of a new work class": lambda table, rng: table.assign(
        workclass=np.where(rng.random(len(table)) < 0.07, "Gig-work", table["workclass"])
    ),
    "hours and education unpaired": lambda table, rng: table.assign(
        **{name: rng.permutation(table[name]) for name in ("hours-per-week", "education-num")}
    ),
}


def write(folder: pathlib.Path) -> None:
    """Write train.csv, unshifted.csv, shifted.csv, days.csv and stream.csv."""
    table, rng = adult(), np.random.default_rng(0)
    table[:NUM_TRAIN].to_csv(folder / "train.csv", index=False)
    rest = table[NUM_TRAIN:]
    at = NUM_UNSHIFTED * BATCH
    rest[:at].assign(batch=np.arange(at) // BATCH).to_csv(folder / "unshifted.csv", index=False)
    parts = []
    for shift, change in SHIFTS.items():
        for number in range(NUM_SHIFTED):
            part = change(rest[at : at + BATCH], rng)
            parts.append(part.assign(batch=number, shift=shift))
            at += BATCH
    pd.concat(parts).to_csv(folder / "shifted.csv", index=False)
    parts = []
    for day in range(DAYS):
        part = rest[at : at + 200]
        part = SHIFTS["ages + 5"](part, rng) if day in SHIFTED_DAYS else part
        parts.append(part.assign(day=f"2026-03-{day + 1:02d}"))
        at += 200
    pd.concat(parts).to_csv(folder / "days.csv", index=False)
    stream = rest[at : at + STREAM].copy()
    stream.iloc[CHANGE:] = SHIFTS["sexes permuted"](SHIFTS["ages + 5"](stream[CHANGE:], rng), rng)
    stream.to_csv(folder / "stream.csv", index=False)
