"""Hierarchical likelihood vectors: what the test looks at in an observation.

For selected units n_1..n_m of a circuit, with scopes S_1..S_m, the hierarchical likelihood vector (HLV) of x is

    L(x) = (p_{n_1}(x_{S_1}), ..., p_{n_m}(x_{S_m})),        each entry in [0, 1]:

how well each part of the model explains its part of x.  The inputs look at single variables, the sums at larger and
larger scopes, up to the root, whose entry is the likelihood of all of x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

import pcircuit


def likelihood_vectors(
    circuit: pcircuit.Circuit,
    data: ArrayLike,
    nodes: ArrayLike | None = None,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Hierarchical likelihood vector of each row.

    L_j(x_n) = p_j(x_{n, S_j}), the likelihood of the row under the sub-circuit of unit j, on its scope.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    data : (N, V) integer array_like
        Evidence, -1 missing (integrated out exactly).
    nodes : (m,) int array_like, optional
        Node ids; by default ``select_nodes(circuit)``, all input and sum units.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.

    Returns
    -------
    (N, m) float64 array
        Linear likelihoods; those of large scopes may underflow to 0.

    Raises
    ------
    TypeError, ValueError
        If `data` is not evidence for the circuit, or `nodes` are not node ids.

    Notes
    -----
    One upward pass over the circuit per row.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, section
    "Hierarchical Likelihood Vector".

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.2, 0.8]]), InnerRegion([[0, 0]], [[1.0]])])
    >>> likelihood_vectors(circuit, [[0, 1]])      # two inputs and the root
    array([[0.5, 0.8, 0.4]])
    """
    nodes = pcircuit.select_nodes(circuit) if nodes is None else nodes
    return pcircuit.node_likelihoods(circuit, data, nodes=nodes, n_jobs=n_jobs)
