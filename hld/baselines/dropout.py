r"""Tractable dropout: how uncertain is a likelihood when edges of the circuit fail at random?

Each edge of each sum unit below the root keeps its weight with probability q = 1 - rate, independently, and is cut
otherwise; kept weights are divided by q, so that nothing changes on average.  For a fixed row x every unit then is a
random variable N_i.  Its mean is the ordinary likelihood; one upward pass also gives the variance (Ventola et al.
2023).  In terms of relative variances C_a = Var N_a / (E N_a)^2,

    inputs      C = 0
    products    1 + C_p = prod_c (1 + C_c[u(p,c)])                                children are independent
    sums        C_a = sum_i r_ai^2 (C_i + (rate/q) (1 + C_i))

with the responsibilities r_ai = w_ai E P_i / sum_j w_aj E P_j; the root sum has no mask and so no term with rate/q.
Nothing is subtracted, so nothing cancels, and ln(1 + C) is carried, so nothing overflows.

This is the published method, which drops the covariances of different units.  It is exact where no unit has two
parents; otherwise the variance is too small, because both children of a sum may depend on the same masks further down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from pcircuit.arguments import check_number
from pcircuit.circuit import check_distribution
from pcircuit.evidence import check_evidence

CHUNK_VALUES = 2_000_000  # numbers in the largest array of a chunk of rows
LARGE = 500.0  # ln(1 + C) beyond which exp would come near its range


def dropout_moments(
    circuit: pcircuit.Circuit, data: ArrayLike, *, rate: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and relative spread of the likelihood of rows under dropout of the edges of sums.

    With S(x) the random root value, E S = p(x), and c^2 = Var S / (E S)^2 by the recursion of the module.

    Shapes: data (N, V) -> log_mean (N,), log_spread (N,).
    O(N R K P) in plain NumPy.
    """
    check_distribution(circuit)
    rate = check_number(rate, "rate", least=0, below=1)
    data = check_evidence(circuit, data)
    width = max(region.num_nodes for region in circuit.regions)
    rows = max(1, CHUNK_VALUES // width**2)
    log_mean, log_spread = np.empty(len(data)), np.empty(len(data))
    for start in range(0, len(data), rows):
        part = slice(start, start + rows)
        log_mean[part], log_spread[part] = _upward(circuit, data[part], rate)
    return log_mean, log_spread


def _upward(
    circuit: pcircuit.Circuit, data: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """ln E and ln(1 + C) of the root for a chunk of rows, each (N,)."""
    waiting: list[Any] = [None] * len(
        circuit.regions
    )  # of finished regions: (N, K) ln E, (N, K) ln(1 + C)
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            log_values = _inputs(region, data[:, region.variable])
            waiting[r] = log_values, np.zeros(log_values.shape)
            continue
        log_products, spreads = 0.0, 0.0
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            units = region.products[:, a]
            log_child, child_spread = waiting[c]
            waiting[c] = None
            log_products, spreads = (
                log_products + log_child[:, units],
                spreads + child_spread[:, units],
            )
        cut = 0.0 if r == len(circuit.regions) - 1 else rate / (1 - rate)
        waiting[r] = _sums(region.dense_weights(), log_products, spreads, cut)
    log_root, spread = waiting[-1]
    return log_root[:, 0], spread[:, 0]


def _inputs(region: pcircuit.InputRegion, column: np.ndarray) -> np.ndarray:
    """ln p(x) (N, K) of an input region, 0 where x is missing."""
    with np.errstate(divide="ignore"):
        table = np.log(
            np.column_stack([region.probs, np.ones(region.num_units)])
        )  # -1 is the last column
    return table.T[column]


def _sums(
    weights: np.ndarray, log_products: Any, spreads: Any, cut: float
) -> tuple[np.ndarray, np.ndarray]:
    """ln E (N, K) and ln(1 + C) of the sums; `cut` is rate/q, or 0 where edges are safe."""
    with np.errstate(divide="ignore"):
        terms = np.log(weights) + log_products[:, None, :]  # (N, K, P)
        # each sum by its own largest term, beside which those of others may be far behind; all impossible: no NaN
        top = np.maximum(terms.max(axis=2, keepdims=True), np.finfo(float).min)
        values = np.exp(terms - top)
        sums = values.sum(axis=2)
        log_sums = np.log(sums) + top[:, :, 0]
    shares = values / np.where(sums > 0, sums, 1.0)[:, :, None]  # responsibilities
    # scaled by exp(-scale), which is 1 unless the spread is beyond the range of exp
    largest = spreads.max(axis=1, keepdims=True)
    scale = np.where(largest > LARGE, largest, 0.0)
    grown = np.expm1(spreads - scale) - np.expm1(-scale)  # C = exp(spread) - 1, scaled
    relative = np.einsum("nkp,np->nk", shares**2, grown * (1 + cut) + cut * np.exp(-scale))
    return log_sums, _log1p(relative, scale)


def _log1p(relative: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """ln(1 + C) from C exp(-scale)."""
    with np.errstate(divide="ignore"):
        return np.where(scale > 0, scale + np.log(np.exp(-scale) + relative), np.log1p(relative))
