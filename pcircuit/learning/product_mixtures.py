r"""Mixtures of products of columns, as circuits that fit the cache.

.. math:: p(x) = \sum_s w_s \prod_v p_{sv}(x_v)

is one sum unit over S products of inputs.  With thousands of products its values for a few rows leave the cache, so
that it is cut into circuits of 256 products each, whose mixture it is.

A kernel around every training row: the density estimate that finds rows which are nearly copies of others.

.. math:: p(x) = \sum_i \frac{n_i}{N} \prod_v \bigl((1 - h) \, 1[x_v = x_{iv}] + h \, m_v(x_v)\bigr)

with the different rows x_i, which occur n_i times, the frequencies m_v of the columns, and the bandwidth h: each entry
of a new row is that of x_i, or, with probability h, drawn anew.  It needs no learning, and by itself it is a poor model
of many columns: a row that is like no other one has the probability of many chances at once.  But tables often hold
rows that are nearly copies: a text with one word changed, the same patient a year later, genes of one family.  Beside
such a row every smooth model gives away tens of nats; in a mixture with kernels, it has that of the kernel, less the
logarithm of its small weight.

An entry that is missing is drawn anew in any case.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Evidence, Floats, Ints
from pcircuit.circuit import Circuit, Mixture
from pcircuit.regions import InnerRegion, InputRegion
from pcircuit.vtree import VTree

CIRCUIT_PRODUCTS = 256


def product_circuit(columns: Sequence[Any], weights: ArrayLike) -> Circuit:
    """The circuit of S products: one sum over inputs, which are leaves or tables (S, C); shapes weights (S,)."""
    weights = np.asarray(weights, dtype=float)
    products = np.repeat(np.arange(len(weights))[:, None], len(columns), axis=1)
    inputs = [InputRegion(v, own) for v, own in enumerate(columns)]
    tree = VTree.from_nested(list(range(len(columns))))
    return Circuit(tree, [*inputs, InnerRegion(products, (weights / weights.sum())[None])])


def product_mixture(columns: Sequence[Floats], weights: Floats) -> Mixture:
    """The mixture of S products.

    Shapes: weights (S,).
    O(S sum_v C_v) time and memory.
    """
    parts = [
        slice(begin, begin + CIRCUIT_PRODUCTS) for begin in range(0, len(weights), CIRCUIT_PRODUCTS)
    ]
    circuits = [
        product_circuit([column[part] for column in columns], weights[part]) for part in parts
    ]
    return Mixture(circuits, np.array([weights[part].sum() for part in parts]) / weights.sum())


def row_kernels(rows: Evidence, counts: Floats, num_categories: Ints, bandwidth: float) -> Mixture:
    """The mixture of kernels around rows.

    Shapes: rows (n, V), counts (n,), num_categories (V,).
    O(n sum_v C_v) time and memory.  A category that no row has counts 1 / C_v of a row.
    """
    columns = []
    for v, C in enumerate(num_categories.tolist()):
        codes, is_there = rows[:, v], rows[:, v] >= 0
        frequencies = np.bincount(codes[is_there], weights=counts[is_there], minlength=C) + 1 / C
        frequencies /= frequencies.sum()
        probs = np.where(is_there, bandwidth, 1.0)[:, None] * frequencies
        probs[np.flatnonzero(is_there), codes[is_there]] += 1 - bandwidth
        columns.append(probs)
    return product_mixture(columns, counts)
