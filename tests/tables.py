"""Tables for the tests of the encoder: cells of every type, kept as they are."""

import math

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from hld.tables.files.dialect import ReadOptions
from hld.tables.files.files import read_chunks

TEXT = st.text(max_size=4)
CELL = (
    st.integers(-5, 5)
    | st.floats(-4, 4, width=16)
    | st.booleans()
    | TEXT
    | st.sampled_from([None, math.nan, np.nan, pd.NA, pd.NaT])
)
ROWS = st.integers(1, 3).flatmap(
    lambda v: st.lists(st.tuples(*[CELL] * v), min_size=1, max_size=12)
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def column(*cells):
    """Object array (N, 1) whose cells are exactly those given."""
    return objects([(cell,) for cell in cells])


def objects(rows):
    """Object array (N, V) whose cells are exactly those of the rows."""
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for v, cell in enumerate(row):
            table[i, v] = cell
    return table


def codes_of(encoder, table):
    """First column of the codes of a table as a list."""
    return encoder.encode(table)[0][:, 0].tolist()


def form(encoder):
    """Text of an encoder, which tells 1 from 1.0 and True."""
    return repr(encoder)


def mixed_table(N, seed=0, *, shift=False):
    """Text, booleans, whole and continuous numbers, with missing values; `shift` makes it rain."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Oslo", "Lima", "Pune"], size=N, p=[0.5, 0.3, 0.2])
    base = np.select([city == "Oslo", city == "Lima"], [0.0, 5.0], 9.0)
    heat = base + rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "city": city,
            "heat": heat,
            "rain": rng.random(N) < (0.9 if shift else 0.3),
            "visits": rng.poisson(2, size=N),
        }
    )
    frame.loc[rng.random(N) < 0.1, "heat"] = np.nan
    frame.loc[rng.random(N) < 0.05, "city"] = None
    return frame


def file_codes(encoder, path, options=None):
    """Evidence of a file, its chunks one below the other."""
    chunks = read_chunks(str(path), encoder, options or ReadOptions())
    return np.concatenate([encoder.encode_counting(chunk)[0] for chunk in chunks])
