"""Which units of a circuit make up the hierarchical likelihood vector.

The vector L(x) = (p_n(x_{S_n})) has one coordinate per selected unit n ("node" in the HLD paper): the likelihood
that unit n gives to the part of x in its scope.  A circuit has units of three kinds,

    "input"      distributions of one variable ("leaf" nodes of the paper)
    "product"    products of units with disjoint scopes
    "sum"        mixtures of the products of a region

and a selection is an array of distinct node ids, the numbers that `Circuit.nodes` lists.

    select_nodes     all units of some kinds
    check_nodes      the same array again if it is a selection, else an error that says what is wrong
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import is_listing
from pcircuit.array_types import Floats, Ints
from pcircuit.arrays import check_integers, check_numbers
from pcircuit.circuit import Circuit, check_circuit

KINDS = ("input", "product", "sum")


def select_nodes(circuit: Circuit, kinds: str | Sequence[str] = ("input", "sum")) -> Ints:
    """Node ids of all units of the given kinds.

    {n : kind(n) in kinds}, ascending.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    kinds : str or sequence of str, default ("input", "sum")
        Any of "input", "product", "sum", each at most once.  The default is the choice of the HLD paper: it had the
        highest power there, and products added none.

    Returns
    -------
    (m,) int64 array
        Ascending.

    Raises
    ------
    ValueError
        If a kind is unknown or named twice, if none is given, or if the circuit has no unit of these kinds.
    TypeError
        If `kinds` is not made of strings.

    Notes
    -----
    O(number of units).

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, section
    "Hierarchical Likelihood Vector", and table "Node Ablation" of the supplement.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> select_nodes(circuit)
    array([0, 1, 2, 3, 6])
    >>> select_nodes(circuit, "product")
    array([4, 5])
    """
    check_circuit(circuit)
    kinds = check_kinds(kinds)
    nodes = np.flatnonzero(np.isin(circuit.nodes.kind, kinds)).astype(np.int64, copy=False)
    if len(nodes) == 0:
        raise ValueError(
            f"`kinds` {kinds} selects nothing: {circuit} has no unit of that kind; name another of "
            f"{KINDS}"
        )
    return nodes


def check_nodes(circuit: Circuit, nodes: ArrayLike) -> Ints:
    """`nodes` as a read-only int64 array, refused unless it is a selection of units of `circuit`.

    Shapes: nodes (m,) -> (m,).
    """
    check_circuit(circuit)
    expected = f"a one-dimensional array of at least one node id 0..{circuit.num_nodes - 1}"
    given = check_integers(nodes, "nodes", expected, 0, circuit.num_nodes - 1)
    if given.ndim != 1 or given.size == 0:
        raise ValueError(
            f"`nodes` must be {expected}, found shape {given.shape}; `select_nodes(circuit)` makes one"
        )
    array: Ints = given.copy()
    repeated = np.flatnonzero(np.bincount(array) > 1)
    if len(repeated):
        raise ValueError(
            f"`nodes` holds {repeated[0]} more than once: name each node once, np.unique(nodes) does"
        )
    array.flags.writeable = False
    return array


def check_node_weights(node_weights: ArrayLike | None, m: int) -> Floats:
    """`node_weights` as a checked float array.

    Shapes: node_weights (m,) -> (m,).
    """
    if node_weights is None:
        return np.ones(m)
    expected = f"{m} finite positive numbers, one per selected node"
    return check_numbers(node_weights, "node_weights", expected, (m,), above=0)


def check_kinds(kinds: str | Sequence[str]) -> list[str]:
    """`kinds` as a list of kinds of units, refused unless they are known and each is named once."""
    if not is_listing(kinds):
        raise TypeError(f"`kinds` must be a sequence of strings out of {KINDS}, found {kinds!r}")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if not kinds:
        raise ValueError(f"`kinds` is empty: name at least one of {KINDS}")
    for kind in kinds:
        if not isinstance(kind, str):
            raise TypeError(f"`kinds` must hold strings out of {KINDS}, found {kind!r}")
        if kind == "leaf":
            raise ValueError(
                "`kinds` holds 'leaf': leaf nodes of the paper are called 'input' here"
            )
        if kind not in KINDS:
            raise ValueError(f"`kinds` holds {kind!r}, expected one of {KINDS}")
    if len(set(kinds)) < len(kinds):
        raise ValueError(f"`kinds` names a kind twice: {kinds}; name each once")
    return kinds
