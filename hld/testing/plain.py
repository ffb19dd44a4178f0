r"""The paper's test from beginning to end, algorithms 1 and 2, as a first reading of `hld.testing.goodness_of_fit`.

Let L(x) be the likelihoods of m selected units of a circuit in a row x, each of its own part of the row.  Under the
circuit's distribution P this vector has a mean and a covariance, which follow exactly from the circuit,

.. math:: \mu = E_P[L(X)], \qquad S = \mathrm{Cov}_P(L(X)).

A batch of T rows from P has a mean vector near mu: with the distance

.. math:: d = \Bigl\| \frac{1}{T} \sum_t L(x_t) - \mu \Bigr\|_2

T d^2 has the mean tr(S), since the mean of T independent rows has the covariance S / T, and for many rows the variance
2 tr(S^2), twice the sum of all squared covariances.  So d is compared with a threshold: the quantile of a normal law of
T d^2 with this mean and variance, which a share alpha of batches from P exceeds.  Algorithm 1 computes mu and both
traces once; algorithm 2 needs nothing else to judge a batch:

>>> circuit = pcircuit.rat_spn([2] * 6, num_units=3, depth=2, rng=0)
>>> known = precompute(circuit, pcircuit.select_nodes(circuit))
>>> decide(known, pcircuit.sample(circuit, 50, rng=1), alpha=0.05).is_ood
False
>>> decide(known, np.zeros((50, 6), dtype=int), alpha=0.05).is_ood
True

``HLDTest(circuit, null="normal")`` gives the same numbers, and adds other references than the circuit
(`hld.references`), other norms than the Euclidean one (`hld.witnesses.metrics`), and laws that are right for few rows
(`hld.laws`).
"""

from typing import NamedTuple

import numpy as np

import pcircuit


class Offline(NamedTuple):
    """What algorithm 1 returns: units (m,), their mean likelihoods (m,), and traces of S and S^2."""

    circuit: pcircuit.Circuit
    nodes: np.ndarray
    mean: np.ndarray
    trace: float
    trace_sq: float


class Decision(NamedTuple):
    """What algorithm 2 returns: the distance, its threshold, and whether the batch is out of distribution."""

    distance: float
    threshold: float
    is_ood: bool


def precompute(circuit: pcircuit.Circuit, nodes: np.ndarray) -> Offline:
    """Algorithm 1: exact mean and traces, by sums over all states that the circuit's structure makes short.

    mu_i is the sum over x of p(x) l_i(x), where p is the circuit on the unit's own variables; E[l_i l_j] is a sum of
    three factors over the variables of both (`pcircuit.exact_moments`).  Both traces need time linear in the number of
    variables, though S has m^2 entries.
    """
    moments = pcircuit.exact_moments(circuit, nodes)
    return Offline(circuit, nodes, np.array(moments.mean), moments.trace, moments.trace_sq)


def decide(known: Offline, batch: np.ndarray, alpha: float) -> Decision:
    """Algorithm 2: is a batch farther from the mean than all but a share alpha of batches from the circuit?

    Shapes: batch (T, V) of categories.
    """
    from scipy.special import ndtri

    T, z = len(batch), ndtri(1 - alpha)  # the quantile of the standard normal law
    threshold = np.sqrt(known.trace / T + z / T * np.sqrt(2 * known.trace_sq))
    vectors = pcircuit.node_likelihoods(known.circuit, batch, nodes=known.nodes)  # L(x_t), t = 1..T
    distance = np.linalg.norm(vectors.mean(axis=0) - known.mean)
    return Decision(float(distance), float(threshold), bool(distance > threshold))
