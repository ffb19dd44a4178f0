"""Rows from the circuit with the holes of a batch as reference: exact, and without filling them.

A row whose entries M are missing has the marginal likelihoods l_j(x_{S_j minus M}), the missing entries summed out.
Under the circuit these are the likelihoods of another circuit, in which every variable of M has a single category of
probability one; so their mean mu_M and covariance S_M are exact moments again.  If holes do not depend on the values
in them, a batch of T rows with patterns M_1..M_T has

    E[mean L] = (1/T) sum_t mu_{M_t}        T Cov[mean L] = (1/T) sum_t S_{M_t},

and its statistic has the generalised chi-square law of the averaged covariance, in the metric of the test.  Each
pattern costs one computation of moments, which is kept.
"""

import numpy as np

import pcircuit
from hld.references.reference import MAX_FULL_SPECTRUM
from pcircuit.evidence import is_missing

MOST_PATTERNS = 256  # kept; a batch may hold more, and then computes them anew


class HolePatterns:
    """Exact moments of marginal node likelihoods, pattern by pattern, kept; shapes nodes (m,)."""

    def __init__(self, circuit: pcircuit.Circuit, nodes: np.ndarray) -> None:
        if len(nodes) > MAX_FULL_SPECTRUM:
            raise ValueError(
                f"`missing` 'exact' forms covariances of at most {MAX_FULL_SPECTRUM} nodes, found "
                f"{len(nodes)}: select fewer `nodes`, or use missing='complete'"
            )
        self.circuit, self.nodes = circuit, nodes
        self._kept: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def of_batch(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (m,) of a batch (T, V) with these holes, and covariance (m, m) of its rows, averaged over patterns."""
        patterns, times = np.unique(is_missing(np.asarray(batch)), axis=0, return_counts=True)
        means, covariances = zip(*map(self.moments, patterns), strict=True)
        shares = times / len(batch)
        covariance = sum(share * one for share, one in zip(shares, covariances, strict=True))
        return shares @ np.stack(means), covariance

    def moments(self, pattern: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (m,) and covariance (m, m) of marginal likelihoods where the variables of `pattern` (V,) are missing."""
        key = np.packbits(pattern).tobytes()
        if key in self._kept:
            return self._kept[key]
        circuit = self.circuit
        if pattern.any():
            circuit = pcircuit.Circuit(
                circuit.vtree,
                [
                    pcircuit.InputRegion(region.variable, np.ones((region.num_units, 1)))
                    if region.is_input and pattern[region.variable]
                    else region
                    for region in circuit.regions
                ],
            )
        moments = pcircuit.exact_moments(circuit, self.nodes)
        result = np.array(moments.mean), moments.covariance()
        if len(self._kept) < MOST_PATTERNS:
            self._kept[key] = result
        return result
