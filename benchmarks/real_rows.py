"""Training rows of three classes for the benchmarks of speed, from the folder named by HLD_DATA.

Without the folder, rows of the same shape are drawn at random, and the name in the tables ends in "-like".
"""

from __future__ import annotations

import os
import pathlib

import numpy as np

from .paper import datasets


def adult():
    """Name and (18,577, 14) rows: half of Adult's class <=50K, numeric columns in ten bins."""
    if not os.environ.get("HLD_DATA"):
        return "Adult-like", dependent_rows(18_577, [8, 8, 8, 16, 7, 14, 6, 5, 2, 5, 5, 8, 42, 8])
    return "Adult, <=50K", _training_half(datasets.load_table("adult"), "<=50K")


def covertype():
    """Name and (141,650, 54) rows: half of Covertype's largest class, ten columns in ten bins and 44 of two values."""
    folder = os.environ.get("HLD_DATA")
    if not folder:
        return "Covertype-like", dependent_rows(141_650, [10] * 10 + [2] * 44)
    with np.load(pathlib.Path(folder, "covertype", "covertype.npz"), allow_pickle=False) as arrays:
        values, classes = arrays["X"], arrays["y"]
    is_numeric = np.arange(values.shape[1]) < 10
    labels = np.array(datasets.COVER_TYPES)[classes.astype(int) - 1]
    table = datasets.Table(
        values.astype(np.float32), is_numeric, labels, np.where(is_numeric, 0, 2)
    )
    return "Covertype, lodgepole", _training_half(table, "lodgepole")


def digit():
    """Name and (6,000, 784) binarised images of the digit 1."""
    if not os.environ.get("HLD_DATA"):
        return "MNIST-like", dependent_rows(6_000, [2] * 784)
    table = datasets.load_table("mnist28")
    return "MNIST, digit 1", (table.values[table.labels == "1"][:6000] >= 127.5).astype(np.uint8)


def _training_half(table, name):
    """(N, V) categories of a random half of a class."""
    return datasets.split_class(table, name, (), datasets.Choices()).train


def dependent_rows(num_rows, categories):
    """(N, V) rows whose columns depend on a hidden class of ten."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 10, size=num_rows)
    rows = np.empty((num_rows, len(categories)), dtype=np.uint8)
    for v, C in enumerate(categories):
        table = np.cumsum(rng.dirichlet(np.full(C, 0.5), size=10), axis=1)
        rows[:, v] = np.minimum((rng.random(num_rows)[:, None] > table[hidden]).sum(axis=1), C - 1)
    return rows
