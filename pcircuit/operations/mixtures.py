"""Sums and powers of circuits: mixtures of circuits on one v-tree, squares and cubes.

A mixture sum_i a_i f_i(x) of circuits on one v-tree is a circuit again: each region holds the units of all of them side
by side, weights in blocks, and the root mixes their products.  The power f(x)^n is the product of f with itself
(`pcircuit.operations.products`), pruned after each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import check_whole_number, is_listing
from pcircuit.array_types import Floats, Weights
from pcircuit.arrays import check_numbers
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.operations.products import check_one_space, multiply
from pcircuit.operations.properties import prune
from pcircuit.regions import InnerRegion, InputRegion


def mixture(circuits: Sequence[Circuit], weights: ArrayLike | None = None) -> Circuit:
    """The weighted sum of circuits on one v-tree, as a circuit.

    f(x) = sum_i a_i f_i(x).

    Parameters
    ----------
    circuits : sequence of Circuit
        At least one, on one v-tree with the same numbers of categories.
    weights : (n,) float array_like, optional
        a_i, not negative; by default 1/n each.

    Returns
    -------
    Circuit
        On the same v-tree, with all their units; normalised if they are and the weights sum to one.

    Raises
    ------
    StructureError
        If the v-trees differ.
    TypeError, ValueError
        If an argument is of the wrong kind, there is no circuit, the numbers of categories differ, or the weights are
        not n finite numbers of at least 0.

    Notes
    -----
    O(number of parameters); weights of inner regions become block-diagonal and sparse.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coins = [Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.2, 0.6)]
    >>> mixture(coins, [0.5, 0.5]).regions[0].probs
    array([[0.4, 0.6]])
    """
    if not is_listing(circuits):
        raise TypeError(
            f"`circuits` must be a sequence of circuits, found {type(circuits).__name__}"
        )
    circuits = list(circuits)
    if not circuits:
        raise ValueError("`circuits` is empty: a mixture needs at least one")
    check_one_space(circuits, [f"circuits[{i}]" for i in range(len(circuits))])
    shares = np.full(len(circuits), 1 / len(circuits))
    if weights is not None:
        expected = f"{len(circuits)} finite numbers of at least 0, one for each circuit"
        shares = check_numbers(weights, "weights", expected, shares.shape, least=0)
    vtree = circuits[0].vtree
    regions: list[InputRegion | InnerRegion] = []
    for r in range(vtree.num_nodes):
        parts: list[Any] = [circuit.regions[r] for circuit in circuits]
        rows = [shares[:, None]] if r == vtree.root else None
        if isinstance(parts[0], InputRegion):
            probs = np.concatenate([part.probs for part in parts])
            regions.append(
                InputRegion(parts[0].variable, shares[None, :] @ probs if rows else probs)
            )
            continue
        first = {
            c: np.cumsum([0, *(circuit.regions[c].num_units for circuit in circuits)])
            for c in vtree.children(r).tolist()
        }
        products = np.concatenate(
            [part.products + [first[c][i] for c in first] for i, part in enumerate(parts)]
        )
        regions.append(InnerRegion(products, _stacked(parts, shares if rows else None)))
    return Circuit(vtree, regions)


def power(circuit: Circuit, exponent: int) -> Circuit:
    """A whole power of a circuit, as a circuit: f(x)^n.

    Parameters
    ----------
    circuit : Circuit
    exponent : int
        n, at least 1.

    Returns
    -------
    Circuit
        On the same v-tree, in general not normalised.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or the exponent is not a whole number of at least 1.

    Notes
    -----
    Regions grow like K^n: squares and cubes are what is practical.

    References
    ----------
    Vergari et al. (2021), A Compositional Atlas of Tractable Circuit Operations, NeurIPS.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> power(Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.1]])]), 3).regions[0].probs.round(6)
    array([[0.125, 0.001]])
    """
    check_circuit(circuit)
    result = circuit
    for _ in range(check_whole_number(exponent, "exponent", 1) - 1):
        result = prune(multiply(result, circuit))
    return result


def _stacked(parts: list[Any], shares: Floats | None) -> Weights:
    """Weights of regions side by side: a block for each, or one row of all of them times the shares."""
    import scipy.sparse

    if shares is None:
        if len(parts) == 1:
            return parts[0].weights
        return scipy.sparse.block_diag(
            [scipy.sparse.csr_array(part.weights) for part in parts], format="csr"
        )
    rows = [share * part.dense_weights() for share, part in zip(shares, parts, strict=True)]
    return np.concatenate(rows, axis=1)
