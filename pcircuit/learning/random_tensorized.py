"""Random tensorised circuits (RAT-SPN): a structure drawn at random instead of learned from data.

The scope of all variables, in random order, is cut into two halves; the halves are cut again, `depth` times
(Peharz et al. 2019).  What remains at the bottom is not cut but factorised into its single variables:

    v-tree, V = 7, depth 2:       all 7
                              4         3                  an odd scope gives its first half one variable more
                            2   2     2   1                depth 2: products of single variables

Every region shows K units.  A variable is an input region with K distributions.  Every other region has K
products, number k multiplying the units k of its children, and K sums over all of them; the root has one sum.
Here there is one repetition of the structure: one v-tree, hence a structured-decomposable circuit (several
repetitions would each have a v-tree of their own).

With b regions that are not inputs this makes V K input, b K product and (b - 1) K + 1 sum units.  As soon as
2^depth > V / 2 there are scopes of a single variable.  They have products and sums like every other scope that
halving makes, so there the v-tree has an inner node with one child: for V = 14 and depth 3 there are two, and
K = 4 gives 173 units.  Such a region adds no distribution that the inputs below could not represent, but this is how
the HLD paper, and the implementation it uses, count.

Random start values for EM: all different, none far from the others; and whether their tables fit into memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import check_generator, check_whole_number, shown
from pcircuit.array_types import Floats, Ints, Seed
from pcircuit.arrays import check_integers, check_memory
from pcircuit.circuit import Circuit, InnerRegion, InputRegion
from pcircuit.vtree import VTree

PERTURBATION = 2.0  # start values of one row differ by factors up to exp(2)


def rat_spn(
    num_categories: ArrayLike, num_units: int = 4, depth: int = 2, rng: Seed = 0
) -> Circuit:
    """Random tensorised circuit with one repetition, element-wise products and random start values for EM.

    Unit k of a region with children c: ``sum_j weights[k, j] prod_c unit_j of child c``.

    Parameters
    ----------
    num_categories : (V,) ints
        Categories of each variable, each at least 1; 2 is Bernoulli.
    num_units : int
        K >= 1, units that each region shows its parent (the root shows one).  Default 4.
    depth : int
        How often scopes are halved, >= 0; scopes of one variable are halved no further.  Depth 0 is a mixture of K
        independent models.  Default 2.
    rng : int or numpy.random.Generator
        Seed or generator of the structure and of the start values.  Default 0.

    Returns
    -------
    Circuit
        Normalised, all parameters positive.  For V = 1 a single input region with one unit.

    Raises
    ------
    TypeError
        If `num_units` or `depth` is not a whole number.
    ValueError
        If `num_categories`, `num_units` or `depth` is out of range.
    MemoryError
        If the circuit does not fit into memory.

    Notes
    -----
    Each row of start values is proportional to exp(-2 U), with U uniform on [0, 1], drawn anew for each
    number: no two units start equal, and none is far from the others.  Cost: O(V K (K + C)).

    References
    ----------
    R. Peharz, A. Vergari, K. Stelzner, A. Molina, X. Shao, M. Trapp, K. Kersting and Z. Ghahramani (2019), Random
    sum-product networks: a simple and effective approach to probabilistic deep learning, UAI. K, S and Krishnan (2026),
    A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, section "Ablations", paragraph on
    RAT-SPN.

    Examples
    --------
    >>> circuit = rat_spn([2] * 14, num_units=4, depth=2)
    >>> circuit
    Circuit(14 variables, 21 regions, 109 units, 212 parameters)
    >>> circuit.vtree.scope_sizes()[circuit.vtree.children(circuit.vtree.root)]
    array([7, 7])
    """
    categories = _checked_categories(num_categories)
    num_units = check_whole_number(num_units, "num_units", 1)
    depth = check_whole_number(depth, "depth", 0)
    rng = check_generator(rng)
    order = rng.permutation(len(categories)).tolist()
    vtree = VTree.from_nested(_halved(order, depth) if len(order) > 1 else 0)
    check_tables_fit(vtree, categories, num_units, "num_units")
    regions: list[InputRegion | InnerRegion] = []
    for r, v in enumerate(vtree.variables.tolist()):
        rows = 1 if r == vtree.root else num_units
        if v >= 0:
            regions.append(InputRegion(v, random_rows(rows, categories[v], rng)))
        else:
            products = np.repeat(np.arange(num_units)[:, None], len(vtree.children(r)), axis=1)
            regions.append(InnerRegion(products, random_rows(rows, num_units, rng)))
    return Circuit(vtree, regions)


def _checked_categories(num_categories: ArrayLike) -> Ints:
    """`num_categories` as a (V,) int array, refused unless it is one number of at least 1 per variable."""
    expected = "a whole number of at least 1 for each variable (for 14 binary ones [2] * 14)"
    categories = check_integers(num_categories, "num_categories", expected, 1)
    if categories.ndim != 1 or not categories.size:
        raise ValueError(f"`num_categories` must be {expected}, found shape {categories.shape}")
    return categories


def _halved(variables: list[int], depth: int) -> list[Any]:
    """Nested lists for `VTree.from_nested`: halves of halves down to `depth`, at the bottom flat lists."""
    if depth == 0 or len(variables) == 1:
        return variables
    middle = (len(variables) + 1) // 2
    return [_halved(half, depth - 1) for half in (variables[:middle], variables[middle:])]


def random_rows(
    rows: int, columns: int, rng: np.random.Generator, expected: Floats | float = 1.0
) -> Floats:
    """(rows, columns) positive numbers, rows sum to one: `expected` (columns,) times exp(-2 U) with U uniform.

    Returns (rows, columns).
    """
    table: Floats = expected * np.exp(-PERTURBATION * rng.random((rows, columns)))
    table /= table.sum(axis=1, keepdims=True)
    return table


def check_tables_fit(vtree: VTree, num_categories: Ints, num_units: int, name: str) -> None:
    """Raise a MemoryError unless a circuit with equally many units in all regions fits into memory.

    Shapes: num_categories (V,).
    """
    inner = vtree.num_nodes - vtree.num_variables
    if not inner:
        numbers = int(num_categories[0])
    else:
        rows = sum(num_categories.tolist()) + vtree.num_nodes - 1 + (inner - 1) * num_units + 1
        numbers = rows * num_units
    check_memory(
        f"a circuit of {vtree.num_variables} variables with `{name}` {shown(num_units)}",
        8 * numbers,
        f"give a smaller `{name}`, or variables of fewer categories",
    )
