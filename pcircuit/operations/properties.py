"""What kind of circuit is this: which properties hold, and where the others fail.

    smooth           the terms of each sum have one scope
    decomposable     the factors of each product have disjoint scopes
    structured       all products split their scopes as one v-tree says
    deterministic    for each row at most one term of each sum is positive
    normalised       the weights of each sum, and the probabilities of each input, sum to one

The first three hold for every `Circuit`: region form allows nothing else.  Determinism is checked exactly: two
products exclude each other if the supports of some pair of their factors do not meet, and whether the supports of two
units meet follows bottom-up like an overlap (`pcircuit.operations.products`) of the circuit with itself, with
"positive" in place of numbers.

`prune` removes what does not matter for determinism and normalisation: terms of weight zero and unused units.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pcircuit.circuit import Circuit, check_circuit, child_units, factors
from pcircuit.regions import InnerRegion, InputRegion


@dataclass(frozen=True)
class Properties:
    """Which properties a circuit has; made by `properties`.

    Attributes
    ----------
    smooth, decomposable, structured : bool
        True for every circuit in region form.
    deterministic, normalised : bool
        Whether at most one of the products that a sum mixes is positive on any complete row; whether every unit is a
        distribution.
    witnesses : dict of str to str
        For each property that fails, a sentence that says where.
    """

    smooth: bool
    decomposable: bool
    structured: bool
    deterministic: bool
    normalised: bool
    witnesses: dict[Any, Any]

    def __str__(self) -> str:
        names = ("smooth", "decomposable", "structured", "deterministic", "normalised")
        return "\n".join(
            f"{name}: " + ("yes" if getattr(self, name) else f"no, {self.witnesses[name]}")
            for name in names
        )


def properties(circuit: Circuit) -> Properties:
    """The properties of a circuit that queries depend on, with a witness for each one that fails.

    Parameters
    ----------
    circuit : Circuit

    Returns
    -------
    Properties

    Notes
    -----
    O(R P^2) for determinism.  Units that the root does not use are checked, too: `prune` removes them.

    References
    ----------
    Choi, Vergari and Van den Broeck (2020), Probabilistic Circuits: A Unifying Framework for Tractable Probabilistic
    Models (definitions); Darwiche (2003), A differential approach to inference in Bayesian networks, J. ACM 50.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> print(properties(circuit))
    smooth: yes
    decomposable: yes
    structured: yes
    deterministic: no, sum 0 of region 2 mixes products 0 and 1, which are both positive for some row
    normalised: yes
    """
    check_circuit(circuit)
    witnesses = {}
    shared = shared_terms(circuit)
    if shared is not None:
        r, k, p, q = shared
        witnesses["deterministic"] = (
            f"sum {k} of region {r} mixes products {p} and {q}, which are both positive for "
            "some row"
        )
    if not circuit.is_normalized:
        witnesses["normalised"] = _not_normalised(circuit)
    return Properties(
        True, True, True, "deterministic" not in witnesses, "normalised" not in witnesses, witnesses
    )


def shared_terms(circuit: Circuit) -> tuple[int, int, int, int] | None:
    """A sum that is not deterministic: region, sum, and two of its products with a common row; None if there is none.

    Returns (int, int, int, int).
    """
    meets: list[Any] = [None] * len(
        circuit.regions
    )  # per region (K, K) bool: the supports of two units meet
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            meets[r] = region.leaves.meets()
            continue
        products = np.ones((region.num_products, region.num_products), dtype=bool)
        for c, units in child_units(circuit, r):
            products &= meets[c][np.ix_(units, units)]
            meets[c] = None
        used = region.dense_weights() > 0
        others = products & ~np.eye(len(products), dtype=bool)
        for k in range(region.num_units):
            terms = np.flatnonzero(used[k])
            together = np.argwhere(others[np.ix_(terms, terms)])
            if len(together):
                return r, k, int(terms[together[0][0]]), int(terms[together[0][1]])
        weights = used.astype(np.float64)
        meets[r] = weights @ products.astype(np.float64) @ weights.T > 0
    return None


def prune(circuit: Circuit) -> Circuit:
    """The same function with fewer units: without terms of weight zero and units that the root does not use.

    Parameters
    ----------
    circuit : Circuit

    Returns
    -------
    Circuit
        On the same v-tree, with the same value for all evidence.  Units keep their order.  Products that are zero
        everywhere, because one of their factors is, are removed, too; each region keeps at least one unit and product.

    Notes
    -----
    O(number of parameters).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[1.0, 0.0]])])
    >>> prune(circuit)
    Circuit(2 variables, 3 regions, 4 units, 5 parameters)
    """
    check_circuit(circuit)
    alive = _alive_products(circuit)
    regions: list[Any] = [None] * len(circuit.regions)
    wanted: list[Any] = [None] * len(
        circuit.regions
    )  # per region the units that are used, ascending
    wanted[-1] = np.zeros(1, dtype=np.int64)
    for r in range(len(circuit.regions) - 1, -1, -1):
        region, units = circuit.regions[r], wanted[r]
        if region.is_input:
            regions[r] = InputRegion(region.variable, region.leaves.take(units))
            continue
        rows = region.weights[units]
        used = np.flatnonzero((np.asarray((rows > 0).sum(axis=0)).ravel() > 0) & alive[r])
        used = used if len(used) else np.zeros(1, dtype=np.int64)
        products = region.products[used].copy()
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            wanted[c], products[:, a] = np.unique(products[:, a], return_inverse=True)
        regions[r] = InnerRegion(products, rows[:, used])
    return Circuit(circuit.vtree, regions)


def _alive_products(circuit: Circuit) -> list[Any]:
    """Per inner region (P,) bool: products that are positive for some row."""
    positive: list[Any] = []  # per region (K,) bool: units that are
    alive: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            alive.append(None)
            positive.append(region.row_sums() > 0)
            continue
        alive.append(np.all(factors(circuit, r, positive), axis=0))
        positive.append(region.weights @ alive[r].astype(np.float64) > 0)
    return alive


def _not_normalised(circuit: Circuit) -> str:
    """Where the first row of numbers is that does not sum to one."""
    for r, region in enumerate(circuit.regions):
        sums = region.row_sums()
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > 1e-9:
            kind = "probabilities of input" if region.is_input else "weights of sum"
            return f"the {kind} {worst} of region {r} sum to {sums[worst]:.6g}"
    return "its rows sum to one within 1e-9"  # not reached: is_normalized looks at the same sums
