"""A small table in the form of the data sets of the paper's study."""

import numpy as np

from benchmarks.paper import datasets


def small_table():
    """Three classes of 60 rows: two nominal columns, two numeric ones that depend on the class."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["<=50K", ">50K", "other"], 60)
    shift = np.repeat([0.0, 1.5, 3.0], 60)
    nominal = rng.integers(0, 3, (180, 2))
    numeric = rng.normal(shift[:, None], 1.0, (180, 2))
    return datasets.Table(
        np.hstack([nominal, numeric]),
        np.array([False, False, True, True]),
        labels,
        np.array([3, 3, 0, 0]),
    )
