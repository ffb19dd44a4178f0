"""Circuits to start EM from: hidden Chow-Liu trees learned from data, random circuits (RAT-SPN), and chains (HMM).

**Hidden Chow-Liu trees (HCLT)** are Chow-Liu trees whose edges join hidden variables instead of the columns.

Take the Chow-Liu tree of the data (`chow_liu`), rooted at its centre, and give each variable X_v a hidden variable Z_v
with K values, its states.  The hidden variables form the tree, and each X_v depends only on the
hidden variable next to it (Liu and Van den Broeck 2021):

    p(x) = sum_z p(z_root) prod_v p(z_v | z_parent(v)) p(x_v | z_v).

A variable without children needs no Z_v: sum_z p(z_v = z | z_parent) p(x_v | z) is again one table p(x_v | z_parent).
So the circuit has hidden variables only for variables with children, and a childless one depends on Z_parent(v).
Summing z out from below gives a circuit.  With k a state of Z_v or, for a childless variable, of Z_parent(v):

    input region of v                   K units    p(x_v | z = k)
    inner region of v (with children)   K products, number k multiplies the units k of v and of its children
                                        K sums, the weights of number j are p(z_v | z_parent(v) = j)
                                        at the root one sum, with the weights p(z_root)

In a lecture, with the random start values of `hclt`:

>>> def plain_hclt(rows, K, rng, stay=0.9):                           # (N, V) categories
...     def distributions(n, expected):                               # n rows near the expected one, all different
...         table = expected * np.exp(-2 * rng.random((n, len(expected))))
...         return table / table.sum(axis=1, keepdims=True)
...     vtree, regions = VTree.from_tree(chow_liu_tree(rows)), []
...     for r, v in enumerate(vtree.variables):                       # -1 at inner nodes
...         n = 1 if r == vtree.root else K
...         if v >= 0:
...             counts = np.bincount(rows[:, v])
...             regions.append(InputRegion(v, distributions(n, counts + 0.1 / len(counts))))
...             continue
...         weights = distributions(n, np.ones(K))
...         if n == K:
...             weights = (1 - stay) * weights + stay * np.eye(K)     # mostly the state of the parent
...         products = np.repeat(np.arange(K)[:, None], len(vtree.children(r)), axis=1)       # unit k of every child
...         regions.append(InnerRegion(products, weights))
...     return Circuit(vtree, regions)
>>> rows = np.random.default_rng(0).integers(0, [2, 3, 2, 4, 2], (100, 5))
>>> bool(plain_hclt(rows, 3, np.random.default_rng(1)) == hclt(rows, 3, rng=1))
True

The structure decides what can be expressed, EM (`fit_em`) finds the parameters, and the start values decide
which local maximum it finds; `hclt` says how they are chosen.

**RAT-SPNs** draw their structure at random.  All variables, in random order, are cut into two halves; the halves
are cut again, `depth` times (Peharz et al. 2019).  What remains at the bottom is factorised into single variables:

    v-tree, V = 7, depth 2:       all 7
                              4         3                  an odd scope gives its first half one variable more
                            2   2     2   1                depth 2: products of single variables

Each region is as in an HCLT: K inputs, or K products and K sums over all of them; the root has one sum.  As soon as
2^depth > V / 2 there are scopes of a single variable, with products and sums like every other scope that halving makes:
there the v-tree has an inner node with one child.  Such a region adds no distribution, but the HLD paper counts so.

With b regions that are not inputs both have V K input, b K product and (b - 1) K + 1 sum units.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Evidence,
    Floats,
    Ints,
    Seed,
    check_generator,
    check_integers,
    check_memory,
    check_numbers,
    check_whole_number,
    shown,
)
from pcircuit.circuit import Circuit, InnerRegion, InputRegion
from pcircuit.learning.chow_liu import checked_pseudocount, chow_liu_tree, tree_and_vtree
from pcircuit.learning.densities import PRIOR_WEIGHT, start_of_densities
from pcircuit.learning.em import fit_em
from pcircuit.learning.pair_counts import checked_table
from pcircuit.regions import LeafFamily
from pcircuit.vtree import VTree

WARM_EPOCHS = 10  # of EM on codes, before densities take their place
PERTURBATION = 2.0  # start values of one row differ by factors up to exp(2)


def rat_spn(
    num_categories: ArrayLike | None,
    num_units: int = 4,
    depth: int = 2,
    rng: Seed = 0,
    *,
    data: ArrayLike | None = None,
    leaves: Any = None,
) -> Circuit:
    """Random tensorised circuit with one repetition, element-wise products and random start values for EM.

    Unit k of a region with children c: ``sum_j weights[k, j] prod_c unit_j of child c``.

    Parameters
    ----------
    num_categories : (V,) ints, or None
        Categories of each variable, each at least 1; 2 is Bernoulli.  None where `data` and `leaves` are given.
    num_units : int
        K >= 1, units that each region shows its parent (the root shows one).  Default 4.
    depth : int
        How often scopes are halved, >= 0; scopes of one variable are halved no further.  Depth 0 is a mixture of K
        independent models.  Default 2.
    rng : int or numpy.random.Generator
        Seed or generator of the structure and of the start values.  Default 0.
    data : (N, V) array_like, optional
        What leaves that are no tables start from.
    leaves : str, family, or sequence of these, optional
        For columns of numbers, NaN where missing: "gaussian", "tailed", "atoms", "histogram", "poisson",
        "negative_binomial", "categorical", a class of `pcircuit.leaves`, or one for each column.  "auto": few whole
        numbers, all frequent, are categories, columns with heaps `Atoms`, others `Tailed`.  Start values come
        from quantile codes.  Default: categories.

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
    if (data is None) != (leaves is None) or (leaves is not None and num_categories is not None):
        raise ValueError("`data` and `leaves` must be given together, instead of `num_categories`")
    if data is not None:
        return start_of_densities(
            data, leaves, lambda codes, sizes: _warm(rat_spn(sizes, num_units, depth, rng), codes)
        )
    expected = "a whole number of at least 1 for each variable (for 14 binary ones [2] * 14)"
    categories = check_integers(num_categories, "num_categories", expected, 1)  # type: ignore[arg-type]
    if categories.ndim != 1 or not categories.size:
        raise ValueError(f"`num_categories` must be {expected}, found shape {categories.shape}")
    num_units = check_whole_number(num_units, "num_units", 1)
    depth = check_whole_number(depth, "depth", 0)
    rng = check_generator(rng)
    order = rng.permutation(len(categories)).tolist()
    vtree = VTree.from_nested(_halved(order, depth) if len(order) > 1 else 0)
    check_tables_fit(vtree, categories, num_units, "num_units")
    return _elementwise(
        vtree,
        num_units,
        lambda v, rows: random_rows(rows, categories[v], rng),
        lambda rows: random_rows(rows, num_units, rng),
    )


def _warm(circuit: Circuit, codes: Ints) -> Circuit:
    """The circuit after a few epochs of EM, so that its states mean something; shapes codes (N, V)."""
    return fit_em(circuit, codes, num_epochs=WARM_EPOCHS, pseudocount=PRIOR_WEIGHT)[0]


def _elementwise(
    vtree: VTree,
    num_units: int,
    inputs: Callable[[int, int], Any],
    weights: Callable[[int], Floats],
) -> Circuit:
    """The circuit whose product k multiplies the units k of all children, with tables made in post-order."""
    regions: list[InputRegion | InnerRegion] = []
    for r, v in enumerate(vtree.variables.tolist()):
        rows = 1 if r == vtree.root else num_units
        if v >= 0:
            regions.append(InputRegion(v, inputs(v, rows)))
        else:
            products = np.repeat(np.arange(num_units)[:, None], len(vtree.children(r)), axis=1)
            regions.append(InnerRegion(products, weights(rows)))
    return Circuit(vtree, regions)


def _halved(variables: list[int], depth: int) -> list[Any]:
    """Nested lists for `VTree.from_nested`: halves of halves down to `depth`, at the bottom flat lists."""
    if depth == 0 or len(variables) == 1:
        return variables
    middle = (len(variables) + 1) // 2
    return [_halved(half, depth - 1) for half in (variables[:middle], variables[middle:])]


def random_rows(
    rows: int, columns: int, rng: np.random.Generator, expected: Floats | float = 1.0
) -> Floats:
    """(rows, columns) positive numbers, rows sum to one: `expected` (columns,) times exp(-2 U) with U uniform."""
    table: Floats = expected * np.exp(-PERTURBATION * rng.random((rows, columns)))
    table /= table.sum(axis=1, keepdims=True)
    return table


def check_tables_fit(vtree: VTree, num_categories: Ints, num_units: int, name: str) -> None:
    """Raise a MemoryError unless a circuit with equally many units in all regions fits into memory.

    Shapes: num_categories (V,).
    """
    inner = vtree.num_nodes - vtree.num_variables
    rows = sum(num_categories.tolist()) + vtree.num_nodes + inner * num_units
    check_memory(
        f"a circuit of {vtree.num_variables} variables with `{name}` {shown(num_units)}",
        8 * rows * num_units,
        f"give a smaller `{name}`, or variables of fewer categories",
    )


PERSISTENCE = (
    0.9  # probability, at the start, that a hidden variable repeats the state of its parent
)


def hclt(
    data: ArrayLike,
    num_latents: int = 4,
    num_categories: ArrayLike | None = None,
    pseudocount: float = 0.1,
    rng: Seed = 0,
    *,
    tree: ArrayLike | None = None,
    leaves: Any = None,
) -> Circuit:
    """Hidden Chow-Liu tree of a table, with random start values for EM.

    ``p(x) = sum_z p(z_root) prod_v p(z_v | z_parent(v)) p(x_v | z_v)``, region by region as in the module's
    head.

    Parameters
    ----------
    data : (N, V) array_like
        Evidence: categories 0..C-1; -1, NaN or masked where an entry is missing; N, V >= 1.
    num_latents : int
        K >= 1, states of each hidden variable.  Default 4.
    num_categories : int or (V,) ints, optional
        Categories of each variable.  Default: largest entry plus one, and at least two, so that a column
        which is constant here may change later.
    pseudocount : float
        Mass s >= 0 added to the counts of each pair for the tree, and to those of each variable for the start
        values.  Default 0.1.
    rng : int or numpy.random.Generator
        Seed or generator of the start values.  Default 0.  The structure is not random.
    tree : (V,) int array, optional
        Parent of each variable, -1 for the root.  Default: `chow_liu_tree` of the data.
    leaves : str, family, or sequence of these, optional
        For columns of numbers, NaN where missing: "gaussian", "tailed", "atoms", "histogram", "poisson",
        "negative_binomial", "categorical", a class of `pcircuit.leaves`, or one for each column.  "auto": few whole
        numbers, all frequent, are categories, columns with heaps `Atoms`, others `Tailed`.  The structure is
        that of quantile codes, and so are the start values.  Default: categories.

    Returns
    -------
    Circuit
        Normalised, all parameters positive, on the v-tree ``VTree.from_tree(tree)``.  For V = 1 a single
        input region with one unit.

    Raises
    ------
    TypeError
        If `data` does not hold numbers, `num_latents` is not a whole number, or `pseudocount` not a number.
    ValueError
        If an argument has the wrong shape or values out of range, or `tree` is not a tree on the columns.
    MemoryError
        If the circuit does not fit into memory.

    Notes
    -----
    Start values, with U uniform on [0, 1], drawn anew for each number, and every row normalised:

        input row k:           (n_v(c) + s / C) exp(-2 U)           n_v(c): how often category c occurs
        weights row j:         0.1 * exp(-2 U) + 0.9 * [k = j]      (each part normalised)
        weights of the root:   exp(-2 U)

    Start values must differ, or states with equal parameters would stay equal in every step.  And if hidden variables
    start nearly independent of each other, EM has to align the meaning of "state k" edge by edge, and settles in maxima
    where it is not aligned.  So a hidden variable starts out repeating its parent's state nine times in ten: one
    meaning for the whole tree, close to a mixture of K independent models, which EM then differentiates.

    With ``pseudocount=0`` the input rows nevertheless use one pseudocount, because a probability that is 0 at the
    start stays 0.

    Cost: that of `chow_liu_tree`, and O(V K (K + C)).

    References
    ----------
    A. Liu and G. Van den Broeck (2021), Tractable regularization of probabilistic circuits, NeurIPS 34, on Hidden
    Chow-Liu trees.  K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution
    Detection, section "Experiments".

    Examples
    --------
    >>> data = [[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 2]]
    >>> circuit = hclt(data, num_latents=2)
    >>> circuit
    Circuit(3 variables, 4 regions, 9 units, 16 parameters)
    >>> circuit.nodes.kind.tolist().count("input"), circuit.is_normalized
    (6, True)
    """
    if leaves is not None:
        return start_of_densities(
            data,
            leaves,
            lambda codes, sizes: _warm(
                hclt(codes, num_latents, sizes, pseudocount, rng, tree=tree), codes
            ),
        )
    table, categories = checked_table(data, num_categories)
    num_latents = check_whole_number(num_latents, "num_latents", 1)
    pseudocount = checked_pseudocount(pseudocount)
    rng = check_generator(rng)
    if tree is None:
        tree = chow_liu_tree(table, num_categories=categories, pseudocount=pseudocount)
    vtree, _ = tree_and_vtree(tree, table.shape[1])
    check_tables_fit(vtree, categories, num_latents, "num_latents")
    return _elementwise(
        vtree,
        num_latents,
        lambda v, rows: _input_rows(table[:, v], int(categories[v]), rows, pseudocount, rng),
        lambda rows: _transitions(rows, num_latents, rng),
    )


def hmm(
    length: int,
    num_states: int,
    *,
    leaves: Any,
    start: ArrayLike | None = None,
    transitions: ArrayLike | None = None,
    rng: Seed = 0,
) -> Circuit:
    """Hidden Markov model of sequences as a circuit: variable t is the value at step t.

    ``p(x) = sum_z p(z_0) prod_t p(z_t | z_t-1) p(x_t | z_t)``

    Parameters
    ----------
    length : int
        T >= 1, steps of the longest sequence; shorter ones have missing values at the end.
    num_states : int
        K >= 1.
    leaves : LeafFamily or (K, C) float array_like
        p(x_t | z_t), the same at every step: a family with K units, or a table of categories.
    start : (K,) float array_like, optional
        p(z_0).  Default: drawn.
    transitions : (K, K) float array_like, optional
        p(z_t | z_t-1), a row for each state before.  Default: drawn, 0.9 of it on the diagonal.
    rng : int or numpy.random.Generator
        Seed or generator of what is drawn.  Default 0.

    Returns
    -------
    Circuit
        On a chain; ``fit_em(circuit, rows, tied=True)`` keeps the steps alike.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    One step of `fit_em` without a pseudocount is one of Baum and Welch where all sequences have full length.

    References
    ----------
    L. Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition, Proc. IEEE
    77.

    Examples
    --------
    >>> chain = hmm(5, 2, leaves=[[0.9, 0.1], [0.2, 0.8]], start=[0.5, 0.5], transitions=[[0.9, 0.1], [0.1, 0.9]])
    >>> bool(np.isclose(np.exp(chain.log_likelihood([[0, -1, -1, -1, -1]]))[0], 0.5 * 0.9 + 0.5 * 0.2))
    True
    """
    length = check_whole_number(length, "length", 1)
    num_states = check_whole_number(num_states, "num_states", 1)
    rng = check_generator(rng)
    first, following = (
        _transitions(rows, num_states, rng)
        if given is None
        else check_numbers(given, name, f"probabilities of shape {size}", size, least=0).reshape(
            rows, num_states
        )
        for given, name, size, rows in (
            (start, "start", (num_states,), 1),
            (transitions, "transitions", (num_states, num_states), num_states),
        )
    )
    nested: Any = [length - 1]
    for t in range(length - 2, -1, -1):
        nested = [t, nested]
    expected = f"a family of {num_states} units, or probabilities of shape ({num_states}, C)"
    if not isinstance(leaves, LeafFamily):
        leaves = check_numbers(leaves, "leaves", expected, least=0)
        if leaves.ndim != 2:
            raise ValueError(f"`leaves` must be {expected}, found shape {leaves.shape}")
    step = InputRegion(0, leaves)
    if step.num_units != num_states:
        raise ValueError(f"`leaves` must be {expected}, found {step.num_units} units")
    return _elementwise(
        VTree.from_nested(nested),
        num_states,
        lambda v, rows: step.leaves,
        lambda rows: first if rows == 1 else following,
    )


def _input_rows(
    column: Evidence, num_categories: int, rows: int, pseudocount: float, rng: np.random.Generator
) -> Floats:
    """(rows, C) start values of p(x_v | z): the smoothed frequencies of the column, perturbed."""
    counts: Floats = np.bincount(
        column[column >= 0].astype(np.int64), minlength=num_categories
    ).astype(np.float64)
    smoothed = counts + (pseudocount or 1.0) / num_categories
    return random_rows(rows, num_categories, rng, smoothed)


def _transitions(rows: int, num_latents: int, rng: np.random.Generator) -> Floats:
    """(rows, K) start values of p(z_v | z_parent), (K, K), or of p(z_root), (1, K)."""
    random = random_rows(rows, num_latents, rng)
    if rows == 1:
        return random
    return (1 - PERSISTENCE) * random + PERSISTENCE * np.eye(num_latents)
