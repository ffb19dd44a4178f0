"""Products of circuits: the product as a circuit, and the sum of a product over all states.

Let a and b be circuits on one v-tree and r a region with units a_k and b_l on the scope of r.  Because the
scopes of the children are disjoint and both circuits split them alike, a product of units is made of products
of the units below:

    input:      (a_k b_l)(x) = a_k(x) b_l(x)
    products:   a_p b_p' = prod_c  a_{u(p,c)} b_{u'(p',c)}          u(p,c): the unit of child c in product p
    sums:       a_k b_l = sum_{p,p'} W_a[k,p] W_b[l,p'] a_p b_p'

`multiply` writes these lines down as a new circuit.  It walks from the root to the leaves and makes only the
pairs of units that are asked for from above: the root asks for one pair, a pair of sums for the pairs of
products under positive weights, a pair of products for one pair per child.

`overlap` needs the sum over x only.  Summed over x the lines above become a recursion on tables,

    input:      M[k,l] = sum_x a_k(x) b_l(x)
    products:   M[p,p'] = prod_c M_c[u(p,c), u'(p',c)]
    sums:       M[k,l] = sum_{p,p'} W_a[k,p] W_b[l,p'] M[p,p'],     M = W_a Mp W_b^T,

and likewise with three indices: the product circuit is never formed.  In a lecture:

>>> def plain_overlap(a, b):
...     tables = []                                                    # of all regions, children before parents
...     for r, (left, right) in enumerate(zip(a.regions, b.regions)):
...         children = a.vtree.children(r)
...         if len(children) == 0:
...             tables.append(left.probs @ right.probs.T)
...             continue
...         M = np.ones((left.num_products, right.num_products))
...         for i, c in enumerate(children):
...             M *= tables[c][np.ix_(left.products[:, i], right.products[:, i])]
...         tables.append(left.dense_weights() @ M @ right.dense_weights().T)
...     return tables[-1][0, 0]
>>> from pcircuit import rat_spn
>>> a = rat_spn([2] * 6, num_units=3, depth=2, rng=0)
>>> bool(np.isclose(plain_overlap(a, a), overlap(a, a), rtol=1e-12))
True

**Scale.**  Overlaps of large scopes are far below the smallest double, and those inside one table can be
further apart than a double's range.  So every entry is carried as a pair  (mantissa m, exponent e)  for
m * 2**e, with 1/2 <= m < 1, or m = 0 for zero.  Multiplying adds exponents.  A weighted sum goes as an
ordinary matrix product where a common power of two per column keeps all terms in range, and term by term
where none does.

**Mixtures and powers.**  A mixture sum_i a_i f_i(x) of circuits on one v-tree is a circuit again: each region holds the
units of all of them side by side, and the root mixes their products.  f(x)^n is the product of f with itself, pruned.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Floats,
    Ints,
    Weights,
    check_flag,
    check_numbers,
    check_whole_number,
    is_listing,
)
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, StructureError, check_circuit
from pcircuit.operations.properties import prune
from pcircuit.regions import LeafError
from pcircuit.vtree import VTree

SPARSE_FILL = (
    0.25  # weights of a product are kept as CSR when a smaller share of them is positive ...
)
SPARSE_SIZE = 256  # ... and there are at least so many
RANGE = (
    1000  # powers of two by which terms of one sum may differ; normal doubles go down to 2**-1022
)
Table: TypeAlias = tuple[Floats, Ints]  # mantissa and exponent
ZERO_EXPONENT = -(
    1 << 40
)  # exponent that goes with mantissa 0: below all others, so it never sets a scale


def multiply(a: Circuit, b: Circuit) -> Circuit:
    """The product of two circuits as a circuit: f(x) = a(x) b(x).

    Parameters
    ----------
    a, b : Circuit
        On one v-tree, with the same numbers of categories.

    Returns
    -------
    Circuit
        On the same v-tree, in general not normalised: its sum over all states is ``overlap(a, b)``.  Unit j
        of a region is one reachable pair of units; pairs are in ascending order.  Weights are dense or CSR by
        their fill.

    Raises
    ------
    StructureError
        If the v-trees differ, or a product is beyond the largest double.
    ValueError
        If the numbers of categories differ.
    TypeError
        If `a` or `b` is not a circuit.

    Notes
    -----
    At most K_a K_b units and P_a P_b products per region, and time proportional to the size of the resulting tables.
    "Reachable" considers only weights from above; a pair whose product is zero everywhere may remain.
    Probabilities and weights are products of two: those below the smallest double, 5e-324, become 0 (`overlap` loses
    none), and those beyond the largest are refused.

    References
    ----------
    Vergari et al. (2021), A Compositional Atlas of Tractable Circuit Operations, NeurIPS (product of
    compatible circuits).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> a = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.2, 0.8]]), InnerRegion([[0, 0]], [[1.0]])])
    >>> square = multiply(a, a)
    >>> square.regions[1].probs.round(2), square.is_normalized
    (array([[0.04, 0.64]]), False)
    """
    check_one_space((a, b))
    vtree = a.vtree
    regions: list[Any] = [None] * vtree.num_nodes
    factors: dict[int, Floats] = {}  # of leaves that are no tables, ln of what their units lack
    needed: list[Any] = [
        None
    ] * vtree.num_nodes  # per region, ascending codes k * K_b + l of the pairs asked for
    needed[vtree.root] = np.zeros(1, dtype=np.int64)
    for r in range(vtree.num_nodes - 1, -1, -1):
        of_a: Any = a.regions[r]
        of_b: Any = b.regions[r]  # of the same kind
        k, l = np.divmod(needed[r], of_b.num_units)
        if of_a.is_input and not of_a.num_categories:
            regions[r], factors[r] = _product_of_leaves(of_a, of_b, k, l)
            continue
        if of_a.is_input:
            regions[r] = InputRegion(of_a.variable, _product(of_a.probs[k], of_b.probs[l]))
            continue
        left, right = _alike(of_a.weights[k], of_b.weights[l])
        p, q = _pairs_in_use(left, right)
        products = np.empty((len(p), of_a.products.shape[1]), dtype=np.int64)
        for c, child in enumerate(vtree.children(r).tolist()):
            codes = of_a.products[p, c] * b.regions[child].num_units + of_b.products[q, c]
            needed[child], products[:, c] = np.unique(codes, return_inverse=True)
        regions[r] = InnerRegion(products, _product_weights(left, right, p, q))
    return Circuit(vtree, _with_factors(vtree, regions, factors))


def _product_of_leaves(of_a: Any, of_b: Any, k: Ints, l: Ints) -> tuple[InputRegion, Floats]:
    """The products of units k of a and l of b as distributions, and ln of their integrals."""
    found = of_a.leaves.take(k).product(of_b.leaves.take(l))
    if found is None:
        raise LeafError(
            f"products of leaves of the family {type(of_a.leaves).__name__} are of no known family: define `product`, "
            "or use `overlap` for their integral"
        )
    return InputRegion(of_a.variable, found[0]), found[1]


def _with_factors(
    vtree: VTree, regions: list[Any], factors: dict[int, Floats]
) -> list[InputRegion | InnerRegion]:
    """The regions with the integrals of leaves moved into the weights above them."""
    if vtree.root in factors:
        raise LeafError(
            "a product of circuits with one region, whose leaves are densities, has no weights for their integral: "
            "use `overlap`"
        )
    for r, region in enumerate(regions):
        inside = [(a, c) for a, c in enumerate(vtree.children(r).tolist()) if c in factors]
        if inside:
            logs = sum(factors[c][region.products[:, a]] for a, c in inside)
            weights = region.weights * np.exp(logs)
            regions[r] = InnerRegion(region.products, weights)
    return regions


def overlap(a: Circuit, b: Circuit, c: Circuit | None = None, *, log: bool = False) -> float:
    """Sum over all states of the product of two or three circuits: sum_x a(x) b(x), or sum_x a(x) b(x) c(x).

    Parameters
    ----------
    a, b : Circuit
        On one v-tree, with the same numbers of categories; normalised or not.
    c : Circuit, optional
        A third factor.
    log : bool, default False
        Return the natural logarithm, which is right even where the sum itself is too small (or large) for a
        double.

    Returns
    -------
    float
        The overlap; 0.0 where it underflows and inf where it overflows.  With `log` its natural logarithm,
        -inf exactly if the overlap is zero.  Never NaN.

    Raises
    ------
    StructureError
        If the v-trees differ.
    ValueError
        If the numbers of categories differ.
    TypeError
        If an argument is not a circuit.

    Notes
    -----
    Two circuits of the same size: O(K P^2 + K^2 P) multiplications per region; three: O(K P^3) and tables of
    P^3 numbers.  A table is freed once its parent is done.  No positive term is lost to underflow on the way.

    References
    ----------
    Vergari et al. (2021), A Compositional Atlas of Tractable Circuit Operations, NeurIPS; K, S and Krishnan (2026), A
    Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, section "Exact computation of mu and
    Sigma" (overlaps as node moments).

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> a = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    >>> b = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.2, 0.8]])])
    >>> overlap(a, b), round(overlap(b, b), 12), round(overlap(b, b, b), 12)
    (0.5, 0.68, 0.52)
    >>> bool(np.isclose(overlap(a, b, log=True), np.log(0.5)))
    True
    """
    circuits = (a, b) if c is None else (a, b, c)
    log = check_flag(log, "log")
    check_one_space(circuits)
    return (_log_of if log else _value_of)(*scaled_overlap(circuits))


def scaled_overlap(circuits: Sequence[Circuit]) -> tuple[float, int]:
    """The overlap of circuits on one v-tree, which is not checked, as a number that cannot leave its range."""
    vtree = circuits[0].vtree
    tables: list[Any] = [None] * vtree.num_nodes
    for r in range(vtree.num_nodes):
        regions: list[Any] = [circuit.regions[r] for circuit in circuits]
        if regions[0].is_input:
            tables[r] = _table_of_inputs(regions)
            continue
        table: Any = (1.0, 0)
        for position, child in enumerate(vtree.children(r).tolist()):
            units = np.ix_(*(region.products[:, position] for region in regions))
            mantissa, exponent = tables[child]
            table = _times(table, (mantissa[units], exponent[units]))
            tables[child] = None
        for region in regions:  # each index in turn is summed; the next one comes first
            mantissa, exponent = _weighted(region.weights, *table)
            table = np.moveaxis(mantissa, 0, -1), np.moveaxis(exponent, 0, -1)
        tables[r] = table
    return tables[-1][0].item(), tables[-1][1].item()


def check_one_space(circuits: Sequence[Circuit], names: Sequence[str] = ("a", "b", "c")) -> None:
    """Raise unless all are circuits on one v-tree with the same numbers of categories; `names` are for the errors."""
    names = list(names)[: len(circuits)]
    for name, circuit in zip(names, circuits, strict=True):
        check_circuit(circuit, name)
    categories = circuits[0].num_categories
    for name, circuit in zip(names[1:], circuits[1:], strict=True):
        if circuit.vtree != circuits[0].vtree:
            raise StructureError(
                f"`{names[0]}` is on {circuits[0].vtree} and `{name}` on {circuit.vtree} with other "
                "scopes or another order: circuits can be multiplied on one v-tree only"
            )
        for v, (own, first) in enumerate(zip(circuit.inputs, circuits[0].inputs, strict=True)):
            if not own.num_categories and not own.leaves.is_like(first.leaves):
                raise ValueError(
                    f"`{name}` has {own.leaves!r} of variable {v}, expected leaves like {first.leaves!r} as in "
                    f"`{names[0]}`: circuits can be multiplied on the same states only"
                )
        for v, (found, expected) in enumerate(zip(circuit.num_categories, categories, strict=True)):
            if found != expected:
                raise ValueError(
                    f"`{name}` has {found} categories of variable {v}, expected {expected} as in "
                    f"`{names[0]}`: circuits can be multiplied on the same states only"
                )


def _alike(left: Weights, right: Weights) -> tuple[Weights, Weights]:
    """Both weight matrices dense, or both CSR if one is."""
    if hasattr(left, "indptr") == hasattr(right, "indptr"):
        return left, right
    import scipy.sparse

    return scipy.sparse.csr_array(left), scipy.sparse.csr_array(right)


def _pairs_in_use(left: Weights, right: Weights) -> tuple[Ints, Ints]:
    """Products p, q with left[j, p] right[j, q] > 0 in some row j, ascending; rows (J, P_a) and (J, P_b)."""
    together = (left > 0).astype(np.float64).T @ (right > 0).astype(np.float64)
    p, q = together.nonzero()
    if len(p) == 0:  # the pairs are zero everywhere, but a region needs a product
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    order = np.lexsort((q, p))
    return p[order].astype(np.int64), q[order].astype(np.int64)


def _product_weights(left: Weights, right: Weights, p: Ints, q: Ints) -> Weights:
    """Weights left[j, p] right[j, q] of each pair of sums j over the pairs of products (p, q): (J, pairs)."""
    if hasattr(left, "indptr"):
        weights = left[:, p].multiply(right[:, q]).tocsr()
        return weights if _is_sparse(weights.nnz, len(p) * left.shape[0]) else weights.toarray()
    weights = _product(left[:, p], right[:, q])
    if _is_sparse(int(np.count_nonzero(weights)), weights.size):
        import scipy.sparse

        return scipy.sparse.csr_array(weights)
    return weights


def _product(left: Floats, right: Floats) -> Floats:
    """The entries' products; one that becomes infinite is refused by its region."""
    with np.errstate(over="ignore"):
        return left * right


def _is_sparse(count: int, size: int) -> bool:
    """Whether CSR is the better form of an array with `count` positive entries."""
    return size >= SPARSE_SIZE and count < SPARSE_FILL * size


def _table_of_inputs(regions: list[Any]) -> Table:
    """Overlaps of input units (K_a, K_b[, K_c]): products of all but a, summed over x with a's table."""
    leaves = [region.leaves for region in regions]
    if not leaves[0].num_categories:
        if len(leaves) == 2:
            return _pair(leaves[0].overlap2(leaves[1]), 0)
        ends = np.cumsum([0, *(one.num_units for one in leaves)]).tolist()
        parts = [slice(start, end) for start, end in itertools.pairwise(ends)]
        return _pair(leaves[0].joined(leaves[1:]).overlap3()[tuple(parts)], 0)
    table = _pair(regions[1].probs.T, 0)  # (C, K_b)
    for region in regions[2:]:
        table = _times(
            (table[0][:, :, None], table[1][:, :, None]), _pair(region.probs.T[:, None, :], 0)
        )
    return _weighted(regions[0].probs, *table)


def _pair(values: Any, exponent: Any) -> Table:
    """`values` * 2**exponent as a pair of arrays (mantissa, exponent)."""
    mantissa, shift = np.frexp(values)
    return mantissa, np.where(mantissa > 0, shift.astype(np.int64) + exponent, ZERO_EXPONENT)


def _times(left: Any, right: Table) -> Table:
    """Product of two pairs."""
    return _pair(left[0] * right[0], left[1] + right[1])


def _shifted(mantissa: Floats, exponent: Ints) -> Floats:
    """mantissa * 2**exponent for exponents that may be far below the range of `ldexp`."""
    return np.ldexp(mantissa, np.maximum(exponent, -4000).astype(np.int32))


def _weighted(weights: Weights, mantissa: Floats, exponent: Ints) -> Table:
    """Pair (K, ...) of the sums over p of weights[k, p] times pair p of (P, ...)."""
    shape = (weights.shape[0], *mantissa.shape[1:])
    mantissa, exponent = mantissa.reshape(len(mantissa), -1), exponent.reshape(len(mantissa), -1)
    top = exponent.max(axis=0)
    positive = weights.data if hasattr(weights, "indptr") else weights[weights > 0]
    powers = np.frexp(positive[positive > 0])[1]
    depth = np.where(mantissa > 0, top - exponent, 0).max()
    # the entries themselves must be in range, too: large weights of others do not lift them before they are formed
    if powers.size == 0 or (depth - min(powers.min(), 0) <= RANGE and powers.max() <= RANGE):
        summed, scale = weights @ _shifted(mantissa, exponent - top), top
    else:
        summed, scale = _weighted_term_by_term(weights, mantissa, exponent)
    mantissa, exponent = _pair(summed, scale)
    return mantissa.reshape(shape), exponent.reshape(shape)


def _weighted_term_by_term(weights: Weights, mantissa: Floats, exponent: Ints) -> Table:
    """The same sums with a power of two for each: arrays (K, Q) and exponents (K, Q) for pairs (P, Q)."""
    summed = np.zeros((weights.shape[0], mantissa.shape[1]))
    scale = np.full(summed.shape, ZERO_EXPONENT)
    for k in range(weights.shape[0]):
        row = weights[[k]].toarray()[0] if hasattr(weights, "indptr") else weights[k]
        used = row > 0
        if used.any():
            terms = _times(_pair(row[used, None], 0), (mantissa[used], exponent[used]))
            scale[k] = terms[1].max(axis=0)
            summed[k] = _shifted(terms[0], terms[1] - scale[k]).sum(axis=0)
    return summed, scale


def _value_of(mantissa: float, exponent: int) -> float:
    """mantissa * 2**exponent, 0.0 or inf outside the range of a double."""
    return math.inf if exponent > 1024 else math.ldexp(mantissa, exponent)


def _log_of(mantissa: float, exponent: int) -> float:
    """Natural logarithm of mantissa * 2**exponent."""
    if mantissa == 0:
        return -math.inf
    if abs(exponent) < RANGE:  # one logarithm: no cancellation where the value is near 1
        return math.log(math.ldexp(mantissa, exponent))
    return math.log(mantissa) + exponent * math.log(2.0)


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
        if parts[0].is_input:
            leaves: Any = parts[0].leaves.joined([part.leaves for part in parts[1:]])
            leaves = leaves.mixed(shares[None, :]) if rows else leaves
            if leaves is None:
                raise LeafError(
                    f"mixtures of leaves of the family {type(parts[0].leaves).__name__} are not of the family, and "
                    "circuits with one region have no weights for them"
                )
            regions.append(InputRegion(parts[0].variable, leaves))
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
