"""Exact moments of the hierarchical likelihood vector under the circuit's own distribution.

The vector L(x) = (l_j(x)) has one coordinate per selected unit, l_j(x) = w_j p_j(x_scope(j)), the likelihood that the
unit gives to the variables in its scope (the weights w_j are 1 unless one asks for others).  When x is drawn from
the circuit,

    mu_j = E[l_j(x)]                                the mean
    S_ij = E[l_i(x) l_j(x)] - mu_i mu_j             the covariance
    tr(S), tr(S^2)                                  what the null distribution of the HLD statistic needs

are finite sums over all states, exponentially many.  A circuit on a v-tree computes them exactly in polynomial time,
because two scopes are equal, nested or disjoint.  In a lecture, pair by pair as in algorithm 1 of the HLD paper.
`marginalize` sums all variables out of p but those of a scope; `subcircuit(circuit, n, top)` is unit n as a circuit
over the scope of region `top`, constant in the variables outside its own.  Then p, l_i and l_j are on one v-tree, and
`overlap` multiplies and sums them:

>>> def plain_moments(circuit, nodes):                                # m ids of units
...     vtree, region = circuit.vtree, circuit.nodes.region          # the v-tree node of each unit
...     mean, second = np.empty(len(nodes)), np.empty((len(nodes), len(nodes)))
...     for i, node in enumerate(nodes):
...         for j, other in enumerate(nodes[: i + 1]):
...             top = vtree.lowest_common_ancestor(int(region[node]), int(region[other]))
...             p = marginalize(circuit, keep=vtree.scope(top))       # x, restricted to the scope of both
...             l_i, l_j = (subcircuit(circuit, int(n), top) for n in (node, other))     # the units, as circuits on it
...             second[i, j] = second[j, i] = overlap(p, l_i, l_j)    # sum_x p(x) l_i(x) l_j(x)
...         mean[i] = overlap(p, l_i)                                 # the last pair was i, i
...     return mean, second - np.outer(mean, mean)
>>> from pcircuit import marginalize, overlap, rat_spn, subcircuit
>>> circuit = rat_spn([2] * 8, num_units=3, depth=2, rng=0)
>>> nodes = np.arange(0, circuit.num_nodes, 5)
>>> mean, S = plain_moments(circuit, nodes)
>>> moments = exact_moments(circuit, nodes)
>>> bool(np.allclose(mean, moments.mean)), bool(np.allclose(S, moments.covariance(), atol=1e-14))
(True, True)

(`pcircuit.operations.products` shows `overlap` in plain lines.)  Here one recursion over the regions serves all pairs
at once (docs/moments.md derives it), and the traces need time linear in the number of variables: S is not formed.

    exact_moments     mean, variances and traces at once; the rest on demand
    Moments           .covariance() dense, .operator() for S v, .eigenvalues()

Where to read on: `moments.overlaps` and `moments.inner_overlaps` (integrals of products of two and three units),
`moments.covariance_parts` (what the covariance is made of, region by region), and the three things done with it:
`moments.covariance`, `moments.traces`, `moments.operator`.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, Ints, check_numbers, check_whole_number, memory_for
from pcircuit.circuit import Circuit, check_distribution
from pcircuit.inference.unit_likelihoods import check_node_weights, check_nodes, select_nodes
from pcircuit.moments.covariance import dense_covariance
from pcircuit.moments.covariance_parts import covariance_parts, means_and_variances
from pcircuit.moments.leading import leading_eigenpairs
from pcircuit.moments.operator import apply_covariance
from pcircuit.moments.plan import Plan, make_plan
from pcircuit.moments.rounding import without_rounding
from pcircuit.moments.traces import trace_of_square

DENSE_SHARE = 2  # fewer than one in so many eigenvalues are found by products with S
MOST_BLOCKS = 48  # of 32 products, after which leading eigenvalues are taken as they are
RESIDUAL = 1e-10  # of an eigenvector; the error of its eigenvalue is of the order of the square


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Exact moments of the likelihoods of m selected units; made by `exact_moments`.

    Attributes
    ----------
    circuit : pcircuit.Circuit
        The circuit under which x is drawn, and of which the nodes are units.
    nodes : (m,) int64 array
        The selected node ids, in the order of the coordinates.
    node_weights : (m,) float64 array
        Weight of each coordinate.
    mean : (m,) float64 array
        E[L(x)].

    Notes
    -----
    All arrays are read-only.  What is computed on demand is computed once, even when threads ask at the same time,
    and kept with the object; `covariance` is not kept.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, section
    "Goodness-of-Fit Test using HLD".
    """

    circuit: Circuit
    nodes: Ints
    node_weights: Floats
    mean: Floats
    _variances: Floats
    _plan: Plan  # of the same nodes in ascending order; the weights of those that are constant are zero
    _place: Ints  # (m,) position of each coordinate in the plan
    _cache: dict[Any, Any] = field(default_factory=dict)  # "trace_sq", "parts", ("eigenvalues", k)
    _locks: dict[int, Any] = field(default_factory=dict)  # by process

    @property
    def trace(self) -> float:
        """tr(S), the sum of the variances, and the expected squared distance E |L(x) - E L(x)|^2 of a row (float)."""
        return float(self._variances.sum())

    @property
    def trace_sq(self) -> float:
        """tr(S^2), the sum of all squared covariances, in O(R K^5) without forming S; computed once (float)."""
        return float(self._cached("trace_sq", lambda: trace_of_square(self._plan)))

    def diagonal(self) -> Floats:
        """(m,) float64 array, read-only: the variances, the diagonal of S, in the order of `nodes`; O(1)."""
        return self._variances

    def covariance(self, nodes: ArrayLike | None = None, *, max_bytes: int = 2**31) -> Floats:
        """S, or the block of S of some of the selected nodes.

        S_ij = E[l_i l_j] - mu_i mu_j.

        Parameters
        ----------
        nodes : (n,) int array_like, optional
            Distinct node ids from `nodes`, in any order; default all m.
        max_bytes : int, default 2**31
            Largest result that may be made.

        Returns
        -------
        (n, n) float64 array
            Symmetric, rows in the order of `nodes`; a new array at every call.

        Raises
        ------
        TypeError, ValueError
            If an argument is of the wrong kind, if the result, 8 n^2 bytes, would not fit `max_bytes`, or if a node is
            not among the selected ones.

        Notes
        -----
        About n^2 K multiplications as matrix products, and K^3 per column and level of the v-tree.
        """
        nodes = self.nodes if nodes is None else check_nodes(self.circuit, nodes)
        ascending = np.sort(nodes)
        missing = np.setdiff1d(ascending, self._plan.nodes, assume_unique=True)
        if len(missing):
            raise ValueError(
                f"`nodes` holds {missing[0]}, which is not among the {len(self.nodes)} nodes that these "
                "moments are of: select it in `exact_moments`"
            )
        size, max_bytes = 8 * len(nodes) ** 2, check_whole_number(max_bytes, "max_bytes", 0)
        if size > max_bytes:
            raise ValueError(
                f"`max_bytes` is {max_bytes}, and the covariance of {len(nodes)} nodes takes {size}: "
                "name fewer `nodes`, raise `max_bytes`, or use .operator(), .diagonal() "
                "and .trace_sq, which never form it"
            )
        plan = self._plan
        if len(nodes) < len(self.nodes):
            plan = make_plan(
                self.circuit, ascending, plan.weights[np.searchsorted(plan.nodes, ascending)]
            )
        with memory_for(
            f"the covariance of {len(nodes)} nodes",
            size,
            "name fewer `nodes`, or use .operator(), .diagonal() and .trace_sq, which never form it",
        ):
            block = dense_covariance(plan, covariance_parts(plan, compress=False))
        if np.array_equal(nodes, ascending):
            return block
        order = np.searchsorted(ascending, nodes)
        return block[np.ix_(order, order)]

    def operator(self) -> Any:
        """S as a linear operator: S v in O(R K^3) per vector, without forming S.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator
            (m, m), symmetric, with matvec and matmat; may be used by several threads.

        Notes
        -----
        The first call stores the tables of all regions, O(R K^3) numbers.
        """
        from scipy.sparse.linalg import LinearOperator

        parts = self._cached("parts", lambda: list(covariance_parts(self._plan, compress=False)))
        m = len(self.nodes)

        def times(vectors: ArrayLike) -> Floats:
            given = check_numbers(vectors, "vectors", f"finite numbers, {m} in each vector")
            ascending = np.empty((m, given.size // m))
            ascending[self._place] = given.reshape(m, -1)
            product = apply_covariance(self._plan, parts, ascending)
            return product[self._place].reshape(given.shape)

        return LinearOperator(
            (m, m), matvec=times, rmatvec=times, matmat=times, rmatmat=times, dtype=np.float64
        )

    def eigenvalues(self, k: int | None = None, *, max_bytes: int = 2**31) -> Floats:
        """Eigenvalues of S, largest first: the weights of the null distribution.

        Parameters
        ----------
        k : int, optional
            How many of the largest; default all m.
        max_bytes : int, default 2**31
            As in `covariance`, where the dense S is needed: for all eigenvalues or at least half of them.

        Returns
        -------
        (k,) or (m,) float64 array
            Descending.  S has no negative eigenvalues; what is zero to working precision is returned as zero.

        Raises
        ------
        TypeError, ValueError
            If an argument is of the wrong kind, if `k` is not between 1 and m, or if the dense S is needed and would
            not fit `max_bytes`.

        Notes
        -----
        All: O(m^3) by LAPACK.  A few: block Krylov iteration on `operator` from a fixed start, to residuals of 1e-10
        times the largest, and at most about 1,500 products; errors of eigenvalues are quadratic in the residual.
        """
        m = len(self.nodes)
        k = check_whole_number(k, "k", 1, m, none="all")
        if k is None or DENSE_SHARE * k >= m:
            descending: Floats = self._cached(
                "eigenvalues", lambda: self._dense_eigenvalues(max_bytes)
            )
            return descending[:k]
        leading: Floats = self._cached(("eigenvalues", k), lambda: self._leading_eigenvalues(k))
        return leading

    def __repr__(self) -> str:
        return f"Moments({len(self.nodes)} nodes of {self.circuit}, tr(S) = {self.trace:.6g})"

    def __getstate__(self) -> dict[str, Any]:  # a copy in another process computes for itself
        return {**self.__dict__, "_cache": {}, "_locks": {}}

    def _cached(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The value kept under `key`, computed by the first who asks; a forked child has a lock of its own."""
        with self._locks.setdefault(os.getpid(), threading.RLock()):
            if key not in self._cache:
                self._cache[key] = compute()
            return self._cache[key]

    def _dense_eigenvalues(self, max_bytes: int) -> Floats:
        """All eigenvalues, descending, read-only."""
        import scipy.linalg

        dense = self.covariance(max_bytes=max_bytes)
        return _descending(scipy.linalg.eigvalsh(dense, overwrite_a=True, check_finite=False))

    def _leading_eigenvalues(self, k: int) -> Floats:
        """The k largest eigenvalues, descending, read-only."""
        values, _ = leading_eigenpairs(
            self.operator(), len(self.nodes), k, RESIDUAL, blocks=MOST_BLOCKS
        )
        return _descending(values)


def exact_moments(
    circuit: Circuit, nodes: ArrayLike | None = None, *, node_weights: ArrayLike | None = None
) -> Moments:
    """Exact mean, variances and traces of the covariance of node likelihoods under the circuit's distribution.

    mu_j = sum_x p(x) w_j p_j(x_scope(j)),   S_ij = sum_x p(x) l_i(x) l_j(x) - mu_i mu_j,   l_j = w_j p_j.

    The steps of the paper's algorithm 1, which takes them for one pair of nodes after the other, and what is done here
    for all at once (lesson 8 of the course runs the algorithm as it stands, with `pcircuit.subcircuit`):

    ================================  =================================================================================
    algorithm 1                       here
    ================================  =================================================================================
    marginalise p to S_i and S_j      top-down masses of the units of each region (`unit_masses`)
    multiply by p_i, then by p_j      integrals of products of two and three units of a region, from those of its
                                      children (`moments.overlaps`, `moments.inner_overlaps`)
    sum over all states               masses times integrals: mu_j, and E l_i l_j region by region
                                      (`moments.covariance_parts`)
    subtract mu_i mu_j                never done: likelihoods are centred from the start
    repeat for all pairs (i, j)       `covariance()` only; the traces are recursions over regions (`moments.traces`)
    ================================  =================================================================================

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    nodes : (m,) int array_like, optional
        Distinct node ids, in any order; default `select_nodes(circuit)`, all inputs and sums.
    node_weights : (m,) float array_like, optional
        Positive weight w_j of each coordinate; default 1.  Weights scale rows and columns of S, and tr(S^2) sums fourth
        powers of weighted likelihoods: weights that make it overflow are refused.

    Returns
    -------
    Moments
        With mean, variances and trace computed; the rest on demand.

    Raises
    ------
    pcircuit.StructureError
        If the circuit is not normalised.
    TypeError
        If `circuit` is not a circuit or `nodes` are not integers.
    ValueError
        If `nodes` is not a selection, or `node_weights` are not positive and finite, one per node, or so large that
        the moments are not finite.

    Notes
    -----
    For R regions with K units each: O(R K^4) for mean and variances, O(R K^5) for `trace_sq`, with O(K^4) numbers
    for each region that waits for its parent.  Likelihoods of large scopes underflow; such a coordinate
    contributes zero, which is what it is to working precision, and nothing becomes NaN.  Covariances are
    computed centred, so that likelihoods that hardly vary do not lose digits by cancellation.  A variance that is no
    larger than the rounding errors of the terms it was summed from, see `pcircuit.moments.rounding`, is exactly zero,
    and so are all covariances with it.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, sections
    "Exact Computation of mu" and "Exact computation of Sigma", and algorithm 1 of the supplement.

    Vergari et al. (2021), A Compositional Atlas of Tractable Circuit Operations, NeurIPS (products of circuits).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> moments = exact_moments(circuit)
    >>> moments.nodes, moments.mean.round(4)
    (array([0, 1, 2, 3, 6]), array([0.4   , 0.575 , 0.49  , 0.505 , 0.2735]))
    >>> dense = moments.covariance()
    >>> bool(np.isclose(moments.trace_sq, np.sum(dense**2)))
    True

    The same by going over the four states, for the first coordinate:

    >>> p0 = 0.25 * 0.9 + 0.75 * 0.2                                  # P(x_0 = 0)
    >>> mean = p0 * 0.9 + (1 - p0) * 0.1
    >>> bool(np.isclose(dense[0, 0], p0 * (0.9 - mean)**2 + (1 - p0) * (0.1 - mean)**2))
    True
    """
    check_distribution(circuit)
    nodes = select_nodes(circuit) if nodes is None else nodes
    nodes = check_nodes(circuit, nodes)
    weights = np.array(check_node_weights(node_weights, len(nodes)))
    order = np.argsort(nodes)
    plan = make_plan(circuit, nodes[order], weights[order])
    place = np.argsort(order)
    with np.errstate(over="ignore", invalid="ignore"):  # is found here: tr(S)^2 is at least tr(S^2)
        mean, variances = means_and_variances(plan)
        is_finite = np.isfinite(mean.sum()) and np.isfinite(np.square(variances.sum()))
    if not is_finite:
        raise ValueError(
            f"`node_weights` up to {plan.weights.max():g} make the moments overflow: divide all weights "
            "by one number, only their ratios matter to a test"
        )
    if (variances <= 0).any():  # constants have no covariances, not even of the size of rounding
        variances = np.maximum(variances, 0.0)
        plan = replace(plan, weights=np.where(variances > 0, plan.weights, 0.0))
    mean, variances = mean[place], variances[place]
    for array in (weights, mean, variances, place):
        array.flags.writeable = False
    return Moments(circuit, nodes, weights, mean, variances, plan, place)


def _descending(values: Floats) -> Floats:
    """Eigenvalues of a positive semi-definite matrix, largest first, read-only."""
    values = without_rounding(np.sort(values)[::-1])
    values.flags.writeable = False
    return values
