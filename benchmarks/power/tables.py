"""Tables to shift: training rows, fresh rows of the same source, and rows of another class.

Numeric columns stay numbers (the tests bin them, or do not); nominal ones are codes 0, 1, ....  The binary sets are
split on one variable that is 1 in about 30 % of the rows: rows where it is 0 are the source, those where it is 1 the
other class, and the variable itself is left out.
"""

import os
import pathlib
from dataclasses import dataclass

import numpy as np

from ..paper import datasets

CLASSES = {
    "adult": "<=50K",
    "connect4": "win",
    "covertype": "lodgepole",
    "census": "<50K",
    "sensorless": "healthy",
    "mnist7": "3",
}
BINARY = (
    "nltcs",
    "plants",
    "audio",
    "jester",
    "netflix",
    "accidents",
    "dna",
    "kdd",
    "msnbc",
    "book",
)
TABLES = (*CLASSES, *BINARY)
MOST_TRAIN, MOST_FRESH, MOST_OTHER = 4_000, 12_000, 4_000


@dataclass(frozen=True, eq=False)
class Source:
    """Rows of one source.

    Attributes
    ----------
    name : str
    train, fresh, other : (n, V) float arrays
        Rows to learn from, rows of the same source, rows of another class.
    is_numeric : (V,) bool array
    """

    name: str
    train: np.ndarray
    fresh: np.ndarray
    other: np.ndarray
    is_numeric: np.ndarray


def load_source(name: str, num_train: int = MOST_TRAIN) -> Source:
    """A source by its name, one of TABLES; fewer training rows where there are fewer than three times as many."""
    values, is_numeric, is_other = _binary(name) if name in BINARY else _table(name)
    order = np.random.default_rng(0).permutation(len(values))
    values, is_other = values[order], is_other[order]
    own, other = values[~is_other], values[is_other]
    n = min(num_train, len(own) // 3)
    return Source(name, own[:n], own[n : n + MOST_FRESH], other[:MOST_OTHER], is_numeric)


def _table(name):
    """Values, which columns are numeric, and which rows are of the other class."""
    table, own = datasets.load_table(name), CLASSES[name]
    is_other = np.isin(
        table.labels,
        datasets.PAIRS[name][own][:1] if name != "sensorless" else datasets.PAIRS[name][own],
    )
    kept = is_other | (table.labels == own)
    values, is_numeric = table.values[kept].astype(np.float64), table.is_numeric
    if name == "mnist7":
        values = (values >= datasets.Choices().pixel_threshold).astype(np.float64)
    return values, is_numeric, is_other[kept]


def _binary(name):
    """The same of a binary set."""
    with np.load(pathlib.Path(os.environ["HLD_DATA"]) / "binary" / f"{name}.npz") as parts:
        rows = np.concatenate([parts["train"], parts["valid"], parts["test"]])
    on = int(np.argmin(np.abs(rows.mean(axis=0) - 0.3)))
    rest = np.delete(rows, on, axis=1).astype(np.float64)
    return rest, np.zeros(rest.shape[1], bool), rows[:, on] == 1
