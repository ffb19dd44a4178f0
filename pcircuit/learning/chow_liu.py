"""Chow-Liu trees: the best approximation of a distribution by a tree, found from pairwise counts.

A tree over the variables with edges E has the distributions p(x) = p(x_root) prod p(x_v | x_parent(v)).
The best distribution on a tree takes relative frequencies as its conditional probabilities.  Its mean log-likelihood is
then the sum of I(X_i; X_j) over the edges, minus the entropies of the single variables, which no tree changes.  Here
I(X_i; X_j) = sum_ab p_ij(a, b) log [p_ij(a, b) / (p_i(a) p_j(b))] is the mutual information.  So (Chow and Liu 1968)

    tree:        a maximum spanning tree of I; any node may be its root, `chow_liu_tree` takes the most central one
    parameters:  the conditional relative frequencies along its edges.

In a lecture, for a table of categories without missing entries:

>>> def plain_tree(rows, s=0.1):                                      # (N, V); s is the pseudocount of a pair
...     V, C = rows.shape[1], rows.max(axis=0) + 1
...     information = np.zeros((V, V))
...     for i in range(V):
...         for j in range(i):
...             p = np.full((C[i], C[j]), s / (C[i] * C[j]))          # joint frequencies of columns i and j
...             np.add.at(p, (rows[:, i], rows[:, j]), 1)
...             p /= p.sum()
...             independent = np.outer(p.sum(axis=1), p.sum(axis=0))
...             information[i, j] = information[j, i] = (p * np.log(p / independent)).sum()
...     inside, edges = [0], []
...     while len(inside) < V:                                        # Prim: the best edge that leaves the tree so far
...         outside = np.setdiff1d(np.arange(V), inside)
...         leaving = information[np.ix_(inside, outside)]
...         i, j = np.unravel_index(leaving.argmax(), leaving.shape)
...         edges.append((inside[i], int(outside[j])))
...         inside.append(int(outside[j]))
...     return edges
>>> from pcircuit import rat_spn, sample                               # `rat_spn` makes a random circuit
>>> rows = sample(rat_spn([3] * 6, num_units=3, depth=2, rng=0), 200, rng=1).astype(int)
>>> parent = chow_liu_tree(rows)
>>> {frozenset(edge) for edge in plain_tree(rows)} == {frozenset((v, int(p))) for v, p in enumerate(parent) if p >= 0}
True

The counts n_ij(a, b) of a pair are smoothed by one pseudocount s spread evenly over their C_i C_j cells,

    p_ij(a, b) = (n_ij(a, b) + s / (C_i C_j)) / (n_ij + s),        n_ij = sum_ab n_ij(a, b),

so that the marginals p_i(a) = (n_i(a) + s / C_i) / (N + s) are the same in all pairs of i.  With missing
entries only the rows in which both variables are present count, and p_i is the marginal of that pair.

Recoding categories or reordering columns must not change the tree, but rounding could.  Therefore the sums in the
information are exact in any order (`pair_counts`), and information is compared in steps of 1e-12 nats (units of the
natural logarithm).  `chow_liu_tree` says how ties are broken.

`chow_liu_tree` finds the tree, `chow_liu_circuit` writes it with its parameters as a circuit.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Evidence, Floats, Ints, check_integers, check_memory, check_number
from pcircuit.circuit import Circuit, InnerRegion, InputRegion
from pcircuit.evidence import MOST_WEIGHT
from pcircuit.learning.densities import start_of_densities
from pcircuit.learning.pair_counts import (
    checked_table,
    checked_weights,
    mutual_information,
    pair_counts,
    refuse_large_pairs,
)
from pcircuit.vtree import VTree

RESOLUTION = 1e-12  # nats; above the round-off of the information, far below what data can resolve


def chow_liu_tree(
    data: ArrayLike,
    *,
    num_categories: ArrayLike | None = None,
    pseudocount: float = 0.1,
    weights: ArrayLike | None = None,
) -> Ints:
    """Chow-Liu tree of a table: the spanning tree with the largest total mutual information.

    argmax over trees of ``sum_{(i, j) in tree} I(X_i; X_j)``, with the smoothed pairwise frequencies of the
    module's head, rooted at its centre.

    Parameters
    ----------
    data : (N, V) array_like
        Evidence: categories 0..C-1; -1, NaN or masked where an entry is missing; N, V >= 1.
    num_categories : int or (V,) ints, optional
        Categories of each variable.  Default: largest entry plus one, and at least two.
    pseudocount : float
        Mass s >= 0 added to the counts of each pair, spread evenly over its cells.  Default 0.1.
    weights : (N,) float array, optional
        Weight of each row, from 0 to 1e100: how often it counts.  Default: once.

    Returns
    -------
    (V,) int64 array
        Parent of each variable, -1 for the root.  The root is a node of least eccentricity (largest number of
        steps to another node); where two nodes are, the one with the smaller number.

    Raises
    ------
    TypeError
        If `data` does not hold numbers, or `pseudocount` is not one.
    ValueError
        If an argument has the wrong shape or values out of range.
    MemoryError
        If the tables of all pairs of columns do not fit into memory.

    Notes
    -----
    The undirected tree does not change when the categories of a column are recoded, and follows a permutation
    of the columns.  Edges whose information differs by less than about 1e-12 nats are tied.  Ties go to the
    variable with the larger total information about all variables, itself included, then to the one with the
    smaller entropy, then to the one with fewer categories; only between variables that agree in all three does the
    column number decide.

    A row with missing entries counts for the pairs that are present in it; a pair that never occurs together
    has information 0.

    Cost: N (sum of C)^2 / 2 multiplications in single precision for variables with few categories (double
    with `weights`), N V^2 / 2 steps of a few nanoseconds for those with many, and O(V^2) for the tree.  Memory
    besides `data`: three V x V tables of eight bytes and about 100 MB for the blocks, or 32 bytes per cell of the
    largest C_i x C_j table where that is more.

    References
    ----------
    C. K. Chow and C. N. Liu (1968), Approximating discrete probability distributions with dependence trees,
    IEEE Transactions on Information Theory 14(3).  R. C. Prim (1957), Shortest connection networks and some
    generalizations, Bell System Technical Journal 36(6).

    Examples
    --------
    The middle column is copied, with errors, by its neighbours:

    >>> rng = np.random.default_rng(0)
    >>> middle = rng.integers(3, size=200)
    >>> flip = rng.random((200, 2)) < 0.3
    >>> data = np.stack([np.where(flip[:, 0], 0, middle), middle, np.where(flip[:, 1], 2, middle)], axis=1)
    >>> chow_liu_tree(data)
    array([ 1, -1,  1])
    """
    table, categories = checked_table(data, num_categories)
    pseudocount = checked_pseudocount(pseudocount)
    information = mutual_information(
        table, categories, pseudocount, checked_weights(weights, len(table))
    )
    return _rooted_at_centre(_maximum_spanning_tree(information, categories))


def chow_liu_circuit(
    data: ArrayLike,
    *,
    num_categories: ArrayLike | None = None,
    pseudocount: float = 0.1,
    tree: ArrayLike | None = None,
    leaves: Any = None,
) -> Circuit:
    """Chow-Liu distribution of a table as a deterministic circuit.

    ``p(x) = p(x_root) prod_v p(x_v | x_parent(v))`` with the smoothed frequencies of the module's head.

    Parameters
    ----------
    data : (N, V) array_like
        Evidence: categories 0..C-1; -1, NaN or masked where an entry is missing; N, V >= 1.
    num_categories : int or (V,) ints, optional
        Categories of each variable.  Default: largest entry plus one, and at least two.
    pseudocount : float
        Mass s >= 0 added to the counts of each pair, spread evenly over its cells.  Default 0.1.
    tree : (V,) int array, optional
        Parent of each variable, -1 for the root.  Default: ``chow_liu_tree`` of the same arguments.
    leaves : str, family, or sequence of these, optional
        For columns of numbers, NaN where missing: "gaussian", "tailed", "atoms", "histogram", "poisson",
        "negative_binomial", "categorical", a class of `pcircuit.leaves`, or one for each column.  "auto": few whole
        numbers, all frequent, are categories, columns with heaps `Atoms`, others `Tailed`.  Then the tree is that
        of quantile codes, each with a density of its own.  Default: categories.

    Returns
    -------
    Circuit
        On the v-tree ``VTree.from_tree(tree)``.  A variable v with children is an inner region over the
        regions of its children and its own indicators, the inputs [x_v = c]; product c multiplies the units c
        of all of them, and row k of the (C_parent, C_v) weights is p(x_v | x_parent = k).  A variable without
        children is an input region with these rows.  The root has one row, p(x_root).

    Raises
    ------
    TypeError
        If `data` does not hold numbers, or `pseudocount` is not one.
    ValueError
        If an argument has the wrong shape or values out of range, or `tree` is not a tree on the columns.
    MemoryError
        If the tables of the circuit, or those of all pairs of columns, do not fit into memory.

    Notes
    -----
    Conditional probabilities come from the counts of the pair (v, parent), over the rows where both are
    present; p(x_root) from the rows where the root is present.  With ``pseudocount=0`` a parent category that
    never occurs has no frequencies: its row is uniform.

    Cost: that of the tree, and O(V N + V C^2).  Memory: the circuit has 8 C_parent C_v bytes for each variable, and
    8 C^2 for each one with children; twice the bytes of the largest table are needed beside it.

    References
    ----------
    C. K. Chow and C. N. Liu (1968), Approximating discrete probability distributions with dependence trees,
    IEEE Transactions on Information Theory 14(3).

    Examples
    --------
    >>> circuit = chow_liu_circuit([[0, 0], [0, 0], [1, 1], [1, 0]], pseudocount=0)
    >>> print(circuit.describe())
    Circuit(2 variables, 3 regions, 7 units, 10 parameters)
    region 0, scope {1}, unit ids 0..1: InputRegion(variable 1, 2 units, 2 categories)
      input 0: 1 0
      input 1: 0.5 0.5
    region 1, scope {0}, unit ids 2..3: InputRegion(variable 0, 2 units, 2 categories)
      input 0: 1 0
      input 1: 0 1
    region 2, scope {0,1}, unit ids 4..6: InnerRegion(2 children, 2 products, 1 sum)
      product 0: 0.0 x 1.0
      product 1: 0.1 x 1.1
      sum 0: 0.5 0.5
    """
    if leaves is not None:
        return start_of_densities(
            data,
            leaves,
            lambda codes, sizes: chow_liu_circuit(
                codes, num_categories=sizes, pseudocount=pseudocount, tree=tree
            ),
        )
    rows, categories = checked_table(data, num_categories)
    pseudocount = checked_pseudocount(pseudocount)
    refuse_large_pairs(categories)
    if tree is None:
        tree = chow_liu_tree(rows, num_categories=categories, pseudocount=pseudocount)
    vtree, parent = tree_and_vtree(tree, rows.shape[1])
    _check_tables(categories, parent)
    regions: list[InputRegion | InnerRegion] = []
    for r, v in enumerate(vtree.variables.tolist()):
        is_inner = v < 0
        if is_inner:
            v = int(
                vtree.variables[r - 1]
            )  # its own leaf is the last child, numbered just before it
        elif r < vtree.root and vtree.children(vtree.parent(r))[-1] == r:
            regions.append(InputRegion(v, np.eye(categories[v])))
            continue
        table = _conditional_table(rows, categories, pseudocount, v, int(parent[v]))
        if is_inner:
            units = np.arange(categories[v])[:, None]
            regions.append(InnerRegion(np.repeat(units, len(vtree.children(r)), axis=1), table))
        else:
            regions.append(InputRegion(v, table))
    return Circuit(vtree, regions)


def checked_pseudocount(pseudocount: float) -> float:
    """`pseudocount` as a float, refused unless it is a number from 0 to the largest weight of a row."""
    return check_number(pseudocount, "pseudocount", least=0, most=MOST_WEIGHT)


def tree_and_vtree(tree: ArrayLike, num_variables: int) -> tuple[VTree, Ints]:
    """V-tree and (V,) parents of a tree given by the user; refused unless it is one on all variables."""
    expected = f"the parent of each of the {num_variables} columns of `data`, -1 for the root"
    parent = check_integers(tree, "tree", expected, -1, num_variables - 1)
    if parent.shape != (num_variables,):
        raise ValueError(f"`tree` must be {expected}, found shape {parent.shape}")
    try:
        return VTree.from_tree(parent), parent
    except ValueError as error:
        raise ValueError(f"`tree` is not a tree on the columns of `data`: {error}") from None


# -- the tree ------------------------------------------------------------------------------------------------


def _maximum_spanning_tree(information: Floats, categories: Ints) -> Ints:
    """(V - 1, 2) edges of a maximum spanning tree, by Prim's algorithm; shapes information (V, V), categories (V,)."""
    steps = np.rint(information / RESOLUTION).astype(np.int64)
    V = len(steps)
    # an order that does not come from the numbers of variables unless they agree in all else; of equal edges the
    # one to the earlier variable, from the earlier neighbour, is taken
    ranked = np.lexsort((np.arange(V), categories, steps.diagonal(), -steps.sum(axis=1)))
    steps = steps[np.ix_(ranked, ranked)]
    outside = np.arange(V) > 0
    nearest = np.zeros(
        V, dtype=np.int64
    )  # the node of the tree with the best edge to each node outside
    edges = np.empty((V - 1, 2), dtype=np.int64)
    best = steps[0].copy()
    for e in range(V - 1):
        candidates = np.flatnonzero(outside)
        new = candidates[np.argmax(best[candidates])]  # the first of the largest
        edges[e] = nearest[new], new
        outside[new] = False
        better = steps[new] > best
        nearest[better] = new
        best[better] = steps[new, better]
    return ranked[edges]


def _rooted_at_centre(edges: Ints) -> Ints:
    """(V,) parents of the tree with the given edges, (V - 1, 2), rooted at its centre."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, shortest_path

    V = len(edges) + 1
    ends = edges.T.astype(np.int32)  # which all versions of SciPy's graph routines take
    graph = csr_array((np.ones(V - 1), ends), shape=(V, V))

    def steps_from(node: Any) -> Floats:
        found = shortest_path(graph, directed=False, unweighted=True, indices=node)
        return found

    # of a longest path: the largest number of steps from a node is that to one of its ends
    one = steps_from(steps_from(0).argmax())
    other = steps_from(one.argmax())
    root = int(np.maximum(one, other).argmin())
    parent: Ints = breadth_first_order(graph, root, directed=False)[1].astype(np.int64)
    parent[root] = -1
    return parent


# -- parameters ----------------------------------------------------------------------------------------------


def _check_tables(categories: Ints, parent: Ints) -> None:
    """Raise if the tables of the circuit would not fit into memory, before any of them is made."""
    child = np.flatnonzero(parent >= 0)
    cells = categories[parent[child]] * categories[child]
    total = int(cells.sum()) + int(
        (categories[np.unique(parent[child])] ** 2).sum()
    )  # of indicators
    column = int(np.argmax(categories))
    check_memory(
        f"the circuit, and the counts of a pair, of {len(categories)} columns of up to {categories[column]} "
        f"categories (column {column} of `data`)",
        8 * (total + 2 * int(cells.max(initial=0))),
        "group categories, or lower `num_categories`",
    )


def _conditional_table(
    data: Evidence, categories: Ints, pseudocount: float, v: int, parent: int
) -> Floats:
    """(C_parent, C_v) table p(x_v | x_parent), or (1, C_v) table p(x_v) of the root (parent -1)."""
    if parent < 0:
        table = pair_counts(data, categories, v, v).diagonal()[None]
    else:
        table = pair_counts(data, categories, parent, v)
    table = table + pseudocount / table.size
    sums = table.sum(axis=1, keepdims=True)
    table /= np.where(sums > 0, sums, 1)
    table[sums[:, 0] <= 0] = 1 / categories[v]
    return table
