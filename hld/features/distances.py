"""Hierarchical likelihood vectors, and the exact distance between two distributions by them.

For selected units n_1..n_m of a circuit, with scopes S_1..S_m (the columns that each looks at), the hierarchical
likelihood vector (HLV) of a row x is

    L(x) = (p_{n_1}(x_{S_1}), ..., p_{n_m}(x_{S_m})),        each entry in [0, 1]:

how well each part of the model explains its part of x.  In a lecture, by this definition, for all input and sum units:

>>> def plain_vectors(circuit, rows):                                 # (N, V) categories
...     columns = []
...     for unit in pcircuit.select_nodes(circuit):                   # the ids of all input and sum units
...         part = pcircuit.subcircuit(circuit, unit)                 # a circuit with this unit as its root
...         columns.append(np.exp(part.log_likelihood(rows[:, circuit.scope(unit)])))
...     return np.stack(columns, axis=1)                              # (N, m)
>>> circuit = pcircuit.rat_spn([2] * 6, num_units=3, depth=2, rng=0)
>>> rows = pcircuit.sample(circuit, 100, rng=1)
>>> bool(np.allclose(plain_vectors(circuit, rows), likelihood_vectors(circuit, rows), rtol=1e-12))
True

One pass over the circuit computes the values of all units on the way (`pcircuit.inference.likelihood`), so that
`likelihood_vectors` costs no more than one likelihood.

A circuit C turns a distribution P of x into the mean of its
hierarchical likelihood vectors, and

    d_C(P, Q) = || E_P[L(X)] - E_Q[L(X)] ||_2

is a pseudo-metric: symmetric, zero for P = Q, and it obeys the triangle inequality; "pseudo", since it may be zero for
others.  It is the largest difference of means E_P[f] - E_Q[f] among the functions f(x) = a . L(x) with ||a||_2 <= 1
(HLD paper, theorem 1: an integral probability metric).

If P is itself a circuit on the v-tree of C, its mean vector is exact.  Let X_r[a, b] = sum_x p_a(x) l_b(x), of shape
(K of P, K of C), for the units a of P and b of C in region r.  With the tables T (K, categories) of input regions and
the weights W (K, products) of inner ones,

    inputs    X = T_P T_C^t            products  Xp[p, p'] = prod_c X_c[u_P(p, c), u_C(p', c)]
    sums      X = W_P Xp W_C^t         mean of unit j in r:  sum_a q_r[a] X_r[a, j]

where q is the top-down mass of the units of P: the probability that a sample from P passes through the unit.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from hld.features.row_vectors import check_rows
from pcircuit.circuit import check_distribution
from pcircuit.inference.masses import unit_masses
from pcircuit.inference.unit_likelihoods import check_node_weights, check_nodes


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


def distance(
    circuit: pcircuit.Circuit,
    first: pcircuit.Circuit | ArrayLike,
    second: pcircuit.Circuit | ArrayLike | None = None,
    *,
    nodes: ArrayLike | None = None,
    node_weights: ArrayLike | None = None,
) -> float:
    """Hierarchical Likelihood Distance d_C(P, Q) of two distributions, each a circuit or a data set.

    d_C(P, Q) = || w * (E_P[L(X)] - E_Q[L(X)]) ||_2, with L the likelihoods of the selected units of `circuit`.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        C, whose units define the distance.
    first, second : pcircuit.Circuit or (N, V) integer array_like
        P and Q.  A circuit must share the v-tree and categories of C and be normalised; its mean is exact.  Data
        stand for their empirical distribution.  `second` is `circuit` itself by default.
    nodes : (m,) int array_like, optional
        Node ids of C; by default ``select_nodes(circuit)``.
    node_weights : (m,) float array_like, optional
        Positive weights w of the nodes; ones by default.

    Returns
    -------
    float
        Non-negative.

    Raises
    ------
    pcircuit.StructureError
        If a circuit is not normalised, or does not share v-tree and categories with `circuit`.
    TypeError, ValueError
        If data are not evidence for the circuit or have no rows, `nodes` are not distinct node ids, or the weights are
        not positive.

    Notes
    -----
    Two circuits cost one pass over pairs of units per region, O(R (K^2 P + K P^2)) multiplications; data cost one
    upward pass per row.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection,
    definition 2 and theorem 1.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> fair, biased = (Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.5, 0.9))
    >>> round(distance(biased, fair), 3)        # | 0.5 - (0.81 + 0.01) |
    0.32
    """
    nodes = pcircuit.select_nodes(circuit) if nodes is None else check_nodes(circuit, nodes)
    weights = check_node_weights(node_weights, len(nodes))
    second = circuit if second is None else second
    means = [
        _mean_under(circuit, source, nodes, name)
        for source, name in ((first, "first"), (second, "second"))
    ]
    scale = weights.max()  # squares of large and of small weights leave the range of doubles
    return float(scale * np.linalg.norm(weights / scale * (means[0] - means[1])))


def _mean_under(circuit: pcircuit.Circuit, source: Any, nodes: np.ndarray, name: str) -> np.ndarray:
    """(m,) mean of the nodes' likelihoods under a circuit or a data set."""
    if not isinstance(source, pcircuit.Circuit):
        rows = check_rows(circuit, source, name=name)
        return pcircuit.mean_node_likelihoods(circuit, rows, nodes=nodes)
    if source.vtree != circuit.vtree or source.num_categories != circuit.num_categories:
        raise pcircuit.StructureError(
            f"`{name}` does not share the v-tree and the numbers of categories of `circuit`: "
            "only then are exact overlaps tractable; pass a sample of it instead"
        )
    check_distribution(source, name)
    return np.concatenate(_means_by_region(circuit, source))[nodes]


def _means_by_region(circuit: pcircuit.Circuit, source: pcircuit.Circuit) -> list[Any]:
    """Means of all units of `circuit` under `source`, region by region, in node-id order."""
    masses = unit_masses(source)
    tables, means = [], []
    for r, (region, other) in enumerate(zip(circuit.regions, source.regions, strict=True)):
        if region.is_input:
            tables.append(other.probs @ region.probs.T)  # type: ignore[union-attr]
        else:
            pairs = np.ones((other.num_products, region.num_products))  # type: ignore[union-attr]
            for a, c in enumerate(circuit.vtree.children(r).tolist()):
                pairs = pairs * tables[c][other.products[:, a]][:, region.products[:, a]]  # type: ignore[union-attr]
                tables[c] = None
            means.append(masses[r][1] @ pairs)  # type: ignore[operator]
            tables.append(other.weights @ (region.weights @ pairs.T).T)  # type: ignore[union-attr]
        means.append(masses[r][0] @ tables[r])
    return means
