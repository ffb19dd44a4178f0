"""The likelihoods of single units, not only of the root: the hierarchical likelihood vector of the HLD paper.

    l_j(x) = p_j(x_{S_j})        unit j ("node" in the paper), S_j its scope

One upward pass computes them all; `node_likelihoods` gives them row by row, and `mean_node_likelihoods` only
averages them, which is all that a test statistic needs and avoids the table (N, units).  Which units make up the vector
is an array of distinct node ids, the numbers that `Circuit.nodes` lists: `select_nodes` gives all units of the kinds
"input" ("leaf" nodes of the paper), "product" and "sum", `check_nodes` refuses what is no selection.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Evidence,
    Floats,
    Ints,
    check_choice,
    check_integers,
    check_numbers,
    is_listing,
    memory_for,
)
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.evidence import as_integer_table, check_values, refuse_out_of_range
from pcircuit.inference.densities import AtRows, by_blocks
from pcircuit.inference.likelihood import (
    DTYPES,
    cut_rows,
    evaluated_in_numpy,
    upward,
)
from pcircuit.inference.log_domain import log_units, may_overflow
from pcircuit.inference.threads import count_jobs, map_in_threads
from pcircuit.kernels.packed import Packed, num_inputs
from pcircuit.kernels.packing import pack, packed_as
from pcircuit.kernels.programs import units
from pcircuit.kernels.tile import free_work, groups

NUMPY_ROWS = 256


def node_likelihoods(
    circuit: Circuit,
    data: ArrayLike,
    *,
    nodes: ArrayLike | None = None,
    n_jobs: int | None = None,
    dtype: str = "float64",
) -> Any:
    """Likelihood of units for each row: l_j(x_n) = p_j(x_{S_j}) for unit j with scope S_j.

    Parameters
    ----------
    circuit : Circuit
    data : (N, V) integer array_like
        Evidence; what is missing (-1, NaN or masked) is integrated out exactly.
    nodes : (m,) int array_like, optional
        Node ids; all units in node-id order by default.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.
    dtype : "float64" or "float32"
        Numbers to compute with and to return; the relative error of "float32" is that of `log_likelihood`, and what is
        below 1e-38 is less exact, or 0.

    Returns
    -------
    (N, m) array of that dtype
        Linear, not logarithms; densities where leaves are.  Likelihoods of large scopes may underflow to 0, and those
        of densities, or of a circuit that is not normalised, overflow to inf; nothing becomes NaN.  A product unit that
        is 2**-164 times as likely as another one of its region may be given as 0 (see `kernels.rescaling`).

    Raises
    ------
    TypeError, ValueError
        If `data` is not evidence for the circuit, see `check_evidence`, or `nodes` are not node ids.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, section
    "Hierarchical Likelihood Vector".

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.2, 0.8]]), InnerRegion([[0, 0]], [[1.0]])])
    >>> node_likelihoods(circuit, [[0, 1]])      # two inputs, their product, the root
    array([[0.5, 0.8, 0.4, 0.4]])
    """
    check_circuit(circuit)
    check_choice(dtype, "dtype", DTYPES)
    if not circuit.is_categorical:
        values, _ = check_values(circuit, data), count_jobs(n_jobs)
        ids = checked_nodes(circuit, nodes)
        return np.concatenate(list(_of_densities(circuit, values, ids, n_jobs))).astype(dtype)
    rows, _ = as_integer_table(circuit, data), count_jobs(n_jobs)
    ids, packed = checked_nodes(circuit, nodes), packed_as(circuit, dtype)
    with memory_for(
        f"a table of {len(rows)} rows and {len(ids)} nodes",
        np.dtype(dtype).itemsize * len(rows) * len(ids),
        "pass fewer rows at a time or fewer `nodes`, or take the mean by mean_node_likelihoods",
    ):
        result = np.empty((len(rows), len(ids)), packed.weights.dtype)

    if evaluated_in_numpy(circuit, len(rows)):
        refuse_out_of_range(circuit, rows)
        for start in range(0, len(rows), NUMPY_ROWS):
            block = rows[start : start + NUMPY_ROWS]
            result[start : start + NUMPY_ROWS] = _values_in_numpy(circuit, block, packed)[ids].T
        return result.astype(dtype, copy=False)
    free, program = free_work(circuit, "unit_work"), units(circuit, packed, ids, summed=False)

    def read(chunk: tuple[int, int]) -> Ints:
        suspects = [np.zeros(0, dtype=np.int64)]
        for work, lo, hi in groups(circuit, packed, program, rows, chunk, free):
            suspects.append(lo + work.run(packed, hi - lo, table=result[lo:hi].reshape(-1))[2])
        return np.concatenate(suspects)

    with map_in_threads(read, cut_rows(circuit, len(rows)), n_jobs) as found:
        for suspects in found:
            if len(suspects):
                result[suspects] = _again(circuit, rows[suspects], packed)[ids].T
    return result.astype(dtype, copy=False)


def mean_node_likelihoods(
    circuit: Circuit, data: ArrayLike, *, nodes: ArrayLike | None = None, n_jobs: int | None = None
) -> Floats:
    """Mean over the rows of the likelihood of units: (1/N) sum_n l_j(x_n).

    Parameters
    ----------
    circuit : Circuit
    data : (N, V) integer array_like
        Evidence; what is missing (-1, NaN or masked) is integrated out exactly; N at least 1.
    nodes : (m,) int array_like, optional
        Node ids; all units in node-id order by default.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.

    Returns
    -------
    (m,) float64 array
        Of a circuit that is not normalised infinite where a likelihood is, not where only the sum over rows would be.

    Raises
    ------
    TypeError, ValueError
        As `node_likelihoods`, and if `data` has no rows.

    Notes
    -----
    Faster than the mean of `node_likelihoods`, with memory for one tile per thread.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> mean_node_likelihoods(coin, [[0], [1]])
    array([0.5])
    """
    check_circuit(circuit)
    is_table = circuit.is_categorical
    rows, _ = (as_integer_table if is_table else check_values)(circuit, data), count_jobs(n_jobs)
    ids = checked_nodes(circuit, nodes)
    if not len(rows):
        raise ValueError("`data` has no rows: a mean needs at least one")
    if not is_table:
        blocks = _of_densities(circuit, rows, ids, n_jobs)
        return np.asarray(sum((block / len(rows)).sum(axis=0) for block in blocks))
    if evaluated_in_numpy(circuit, len(rows)):
        refuse_out_of_range(circuit, rows)
        return _mean_in_numpy(circuit, rows, ids)
    packed, free = pack(circuit), free_work(circuit, "unit_work")
    program = units(circuit, packed, ids, summed=True)
    total, counts = np.zeros(len(ids)), np.zeros(int((packed.categories + 1).sum()))

    def add(chunk: tuple[int, int]) -> tuple[Floats, Floats, Ints]:
        part, seen = np.zeros(len(ids)), np.zeros(len(counts))
        suspects = [np.zeros(0, dtype=np.int64)]
        for work, lo, hi in groups(circuit, packed, program, rows, chunk, free):
            counted, before = np.ones(hi - lo), (part.copy(), seen.copy())
            work.set_weights(counted)
            suspect = work.run(packed, hi - lo, part, seen)[2]
            if len(suspect):
                suspects.append(lo + suspect)
                part, seen = before
                counted[suspect] = 0.0
                work.set_weights(counted)
                work.run(packed, hi - lo, part, seen)
        return part, seen, np.concatenate(suspects)

    again = np.zeros(len(ids))
    with map_in_threads(add, cut_rows(circuit, len(rows)), n_jobs) as found:
        for part, seen, suspects in found:
            total += part
            counts += seen
            if len(suspects):
                again += _values_by_logarithms(circuit, rows[suspects])[ids].sum(axis=1)
    in_order = np.argsort(ids, kind="stable")
    again[in_order] += total
    return (again + _input_sums(circuit, packed, counts)[ids]) / len(rows)


def _of_densities(
    circuit: Circuit, values: Floats, ids: Ints, n_jobs: int | None
) -> Iterator[Floats]:
    """Yield likelihoods (n, m) of blocks of rows where some leaves are densities."""
    leaf_of, last = circuit.vtree.leaf_of(), np.arange(circuit.num_regions)
    order, is_leaf = np.argsort(leaf_of), np.isin(last, leaf_of)
    before = np.concatenate([[0], np.cumsum(is_leaf)])  # leaves in front of each region
    region = circuit.nodes.region[ids]
    start, stop = before[circuit.vtree.first[region]], before[region + 1]

    def of_block(block: AtRows) -> Floats:
        values = node_likelihoods(block.circuit, block.codes, nodes=ids, n_jobs=1)
        sums = np.cumsum(block.log_scale[:, order], axis=1)
        sums = np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)
        with np.errstate(over="ignore", invalid="ignore"):  # of densities beyond the doubles
            return np.where(values > 0, values * np.exp(sums[:, stop] - sums[:, start]), 0.0)

    in_numpy = evaluated_in_numpy(circuit, len(values))
    return by_blocks(circuit, values, n_jobs, in_numpy, of_block)


def _input_sums(circuit: Circuit, packed: Packed, counts: Floats) -> Floats:
    """(units,) sums of the input units over rows of which `counts` had each category; 0 for other units."""
    found = packed.programs.get("inputs")
    if found is None:
        widths = packed.categories + 1
        sizes = np.repeat(widths, num_inputs(packed))
        first = np.repeat(np.cumsum(widths) - widths, num_inputs(packed))
        starts = np.cumsum(sizes) - sizes
        entries = np.arange(len(packed.tables)) + np.repeat(first - starts, sizes)
        ends = np.cumsum([region.num_nodes for region in circuit.regions])
        leaves = ends[circuit.vtree.leaf_of()] - num_inputs(packed)
        units = [np.arange(a, a + n) for a, n in zip(leaves, num_inputs(packed), strict=True)]
        found = packed.programs["inputs"] = entries, starts, np.concatenate(units)
    entries, starts, ids = found
    result = np.zeros(circuit.num_nodes)
    result[ids] = np.add.reduceat(packed.tables * counts[entries], starts)
    return result


def _mean_in_numpy(circuit: Circuit, rows: Evidence, ids: Ints) -> Floats:
    """(m,) means over the rows: infinite where a likelihood is, and not where only their sum leaves the doubles."""
    total, scaled = np.zeros(len(ids)), np.zeros(len(ids))
    for start in range(0, len(rows), NUMPY_ROWS):
        values = _values_in_numpy(circuit, rows[start : start + NUMPY_ROWS], pack(circuit))[ids]
        with np.errstate(over="ignore"):
            total += values.sum(axis=1)
            scaled += (values / len(rows)).sum(axis=1)
    return np.where(total < np.inf, total / len(rows), scaled)


def _values_in_numpy(circuit: Circuit, data: Evidence, packed: Packed) -> Any:
    """(units, N) likelihoods of a block, in NumPy."""
    if may_overflow(circuit):
        return _values_by_logarithms(circuit, data)
    shown, products, exponents, suspect = upward(circuit, data, packed)
    parts = []
    for values, product, exponent in zip(shown, products, exponents, strict=True):
        parts += [] if product is None else [np.ldexp(product, exponent)]
        parts.append(np.ldexp(values, exponent))
    result = np.concatenate(parts)
    if suspect.any():
        result[:, suspect] = _again(circuit, data[suspect], packed)
    return result


def _again(circuit: Circuit, data: Evidence, packed: Packed) -> Floats:
    """(units, N) likelihoods of suspect rows: those of float32 in float64, those of float64 by logarithms."""
    if packed is not pack(circuit):
        values: Floats = node_likelihoods(circuit, data, n_jobs=1).T
        return values
    return _values_by_logarithms(circuit, data)


def _values_by_logarithms(circuit: Circuit, data: Evidence) -> Floats:
    """(units, N) likelihoods, by one logarithm per unit."""
    shown, products = log_units(circuit, data)
    parts = []
    for values, product in zip(shown, products, strict=True):
        parts += [values] if product is None else [product, values]
    with np.errstate(over="ignore"):  # where the circuit is not normalised
        likelihoods: Floats = np.exp(np.concatenate(parts))
    return likelihoods


def checked_nodes(circuit: Circuit, nodes: ArrayLike | None) -> Ints:
    """`nodes` as an index array, all units by default; shapes nodes (m,) -> (m,)."""
    if nodes is None:
        return np.arange(circuit.num_nodes)
    expected = f"a one-dimensional array of node ids 0..{circuit.num_nodes - 1}"
    nodes = check_integers(nodes, "nodes", expected, 0, circuit.num_nodes - 1)
    if nodes.ndim != 1:
        raise ValueError(f"`nodes` must be {expected}, found shape {nodes.shape}")
    return nodes


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
    array: Ints = checked_nodes(circuit, nodes).copy()
    if not len(array):
        raise ValueError("`nodes` is empty: name at least one, `select_nodes(circuit)` does")
    repeated = np.flatnonzero(np.bincount(array) > 1)
    if len(repeated):
        raise ValueError(
            f"`nodes` holds {repeated[0]} more than once: name each node once, np.unique(nodes) does"
        )
    array.flags.writeable = False
    return array


def check_node_weights(node_weights: ArrayLike | None, m: int) -> Floats:
    """`node_weights` as a checked float array; shapes node_weights (m,) -> (m,)."""
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
