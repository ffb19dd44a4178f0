"""Odd tables for databases, and their counts as the encoder counts them."""

import datetime
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd

from hld.answers.profile import profile_of
from hld.sql.slots import counted_column
from hld.sql.tables import TableInDatabase
from hld.witnesses.count_law import merged_codes

OPTIONS = {"num_latents": 2, "num_epochs": 3, "num_resamples": 99, "max_categories": 6}
QUOTES = [
    "it's",
    'say "x"',
    "back\\slash",
    "; DROP TABLE odd; --",
    "%s {0} :a $1",
    "naïve ☃",
    "",
    " ",
    "NULL",
]
NAMES = {"text": "te'xt", "size": 'si"ze', "when": "when; --", "flag": "Flag ☃"}


def odd_table(num_rows, seed, *, new=False):
    """Every kind of column, with quotes, holes, infinities and, if asked for, values that training had not."""
    rng = np.random.default_rng(seed)
    texts = np.array([*QUOTES[:6], *(["new 'level'"] if new else [])], dtype=object)
    group = rng.integers(3, size=num_rows)
    size = np.round(rng.normal(size=num_rows) + group, 2)
    table = pd.DataFrame(
        {
            "text": texts[np.minimum(rng.integers(len(texts), size=num_rows), 2 + 2 * group + new)],
            "size": size,
            "single": size.astype(np.float32) * 3,
            "count": rng.integers(0, 5 + 2 * new, size=num_rows),
            "many": rng.integers(-1000, 1000, size=num_rows),
            "when": np.datetime64("2020-01-01")
            + rng.integers(0, 10**13, size=num_rows).astype("m8[us]"),
            "flag": rng.random(num_rows) < 0.3,
            "huge": 2**53 + rng.integers(0, 3, size=num_rows),
            "names": [f"name {k}" for k in rng.zipf(1.5, size=num_rows) % 400],
            "day": [
                datetime.date(2024, 1, 1) + datetime.timedelta(days=int(k))
                for k in rng.integers(0, 90, num_rows)
            ],
            "clock": [
                datetime.time(int(k) // 60, int(k) % 60, 1, 500_000)
                for k in rng.integers(0, 1440, num_rows)
            ],
            "price": [Decimal(int(k)) / 100 for k in rng.integers(0, 999, num_rows)],
        }
    )
    table["size"] = table["size"].mask(rng.random(num_rows) < 0.1)
    table["text"] = table["text"].mask(rng.random(num_rows) < 0.1, None)
    if new:
        table.loc[:3, "size"] = [math.inf, -math.inf, -0.0, 1e300]
    return table.rename(columns=NAMES)


def local_counts(detector, table):
    """Counts of a table by the encoder, and its report."""
    codes, report, *_ = detector.encoder_.encode_counting(table)
    sizes = [counted_column(column).num_categories for column in detector.encoder_.columns]
    return profile_of(
        merged_codes(detector.encoder_.columns, codes), sizes, detector.profile_.edges
    ), report


def counted(detector, table):
    """What `hld.sql.count` returns, of a table in memory."""
    profile, report = local_counts(detector, table)
    columns = tuple(map(counted_column, detector.encoder_.columns))
    merged = [
        getattr(column, "merged", False) for column in columns
    ]  # with rare levels, and then not told
    report = replace(report, num_unseen=np.where(merged, 0, report.num_unseen))
    return TableInDatabase(columns, profile, report, (), (), 0)
