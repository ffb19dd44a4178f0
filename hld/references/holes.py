"""The null distribution of a batch with holes, exactly and without filling them.

A row whose entries M are missing has the marginal likelihoods l_j(x_{S_j minus M}), the missing entries summed out.
Under the circuit these are the likelihoods of another circuit, in which every variable of M has a single category of
probability one; so their mean mu_M and covariance S_M are exact moments again.  If holes do not depend on the values
in them, a batch of T rows with patterns M_1..M_T has

    E[mean L] = (1/T) sum_t mu_{M_t}        T Cov[mean L] = (1/T) sum_t S_{M_t},

and its statistic has the generalised chi-square law of the averaged covariance, in the metric of the test.  Each
pattern costs one computation of moments, which is kept.
"""
from __future__ import annotations

import numpy as np

import pcircuit
from hld.metrics.metric import MAX_FULL_SPECTRUM

MOST_PATTERNS = 256  # kept; a batch may hold more, and then computes them anew


class PatternMoments:
    """Exact moments of marginal node likelihoods, pattern by pattern, kept.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    nodes : (m,) int array
        At most 1500, since covariances are formed.

    Raises
    ------
    ValueError
        If there are more nodes.

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> moments = PatternMoments(circuit, np.array([circuit.num_nodes - 1]))
    >>> mean, covariance = moments.of_batch(np.array([[-1, -1, -1, -1]]))     # the root of an empty row is 1
    >>> round(float(mean[0]), 12), float(covariance[0, 0]) < 1e-15
    (1.0, True)
    """

    def __init__(self, circuit, nodes):
        if len(nodes) > MAX_FULL_SPECTRUM:
            raise ValueError(f"`missing` 'exact' forms covariances of at most {MAX_FULL_SPECTRUM} nodes, found "
                             f"{len(nodes)}: select fewer `nodes`, or use missing='complete'")
        self.circuit, self.nodes = circuit, nodes
        self._kept: dict[bytes, tuple] = {}

    def of_batch(self, batch):
        """Mean (m,) and T times the covariance (m, m) of the mean likelihoods of a batch with these holes."""
        patterns, counts = np.unique(batch < 0, axis=0, return_counts=True)
        mean, covariance = np.zeros(len(self.nodes)), np.zeros((len(self.nodes),) * 2)
        for pattern, count in zip(patterns, counts, strict=True):
            one_mean, one_covariance = self.of_pattern(pattern)
            mean += count / len(batch) * one_mean
            covariance += count / len(batch) * one_covariance
        return mean, covariance

    def of_pattern(self, pattern):
        """Mean and covariance of the marginal likelihoods where the variables of `pattern` (V,) bool are missing."""
        key = np.packbits(pattern).tobytes()
        if key in self._kept:
            return self._kept[key]
        circuit = self.circuit
        if pattern.any():
            circuit = pcircuit.Circuit(circuit.vtree, [
                pcircuit.InputRegion(region.variable, np.ones((region.num_units, 1)))
                if isinstance(region, pcircuit.InputRegion) and pattern[region.variable] else region
                for region in circuit.regions])
        moments = pcircuit.exact_moments(circuit, self.nodes)
        result = np.array(moments.mean), moments.covariance()
        if len(self._kept) < MOST_PATTERNS:
            self._kept[key] = result
        return result
