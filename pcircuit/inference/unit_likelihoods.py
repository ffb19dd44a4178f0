"""The likelihoods of single units, not only of the root: the hierarchical likelihood vector of the HLD paper.

    l_j(x) = p_j(x_{S_j})        unit j, S_j its scope

One upward pass computes them all; `node_likelihoods` writes them out row by row, and `mean_node_likelihoods` only
adds them up, which is all that a test statistic needs and saves the table (N, units).
"""
from __future__ import annotations

import numpy as np

from pcircuit.compiled import packed as _packed
from pcircuit.compiled.tile import borrow, free_work, load_group, new_work
from pcircuit.engine import engine_is_numpy
from pcircuit.evidence import as_integer_table, refuse_out_of_range
from pcircuit.inference.likelihood import NO_TABLE, NO_TOTALS, STACK_BYTES, cut_rows, upward
from pcircuit.inference.log_domain import log_units
from pcircuit.inference.ranges import may_overflow
from pcircuit.memory import memory_for
from pcircuit.threads import map_in_threads

NUMPY_ROWS = 256


def node_likelihoods(circuit, data, *, nodes=None, n_jobs=None) -> np.ndarray:
    """Likelihood of units for each row: l_j(x_n) = p_j(x_{S_j}) for unit j with scope S_j.

    Parameters
    ----------
    circuit : Circuit
    data : (N, V) integer array_like
        Evidence, -1 missing (integrated out exactly).
    nodes : (m,) int array_like, optional
        Node ids; all units in node-id order by default.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.

    Returns
    -------
    (N, m) float64 array
        Linear, not logarithms: likelihoods of large scopes may underflow to 0, and those of a circuit that is not
        normalised overflow to inf; nothing becomes NaN.  A product unit that is 2**-164 times as likely as another one
        of its region may be given as 0 (see `compiled.rescaling`).

    Raises
    ------
    TypeError, ValueError
        If `data` is not evidence for the circuit, see `check_evidence`, or `nodes` are not node ids.

    References
    ----------
    K, S and Krishnan (2026), Hierarchical Likelihood Distance, section "Hierarchical Likelihood Vector".

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.2, 0.8]]), InnerRegion([[0, 0]], [[1.0]])])
    >>> node_likelihoods(circuit, [[0, 1]])      # two inputs, their product, the root
    array([[0.5, 0.8, 0.4, 0.4]])
    """
    data = as_integer_table(circuit, data)
    nodes = _checked_nodes(circuit, nodes)
    with memory_for(f"a table of {len(data)} rows and {len(nodes)} nodes", 8 * len(data) * len(nodes),
                    "pass fewer rows at a time or fewer `nodes`, or take the mean by mean_node_likelihoods"):
        result = np.empty((len(data), len(nodes)))

    if _runs_in_numpy(circuit):
        refuse_out_of_range(circuit, data)
        for start in range(0, len(data), NUMPY_ROWS):
            block = data[start:start + NUMPY_ROWS]
            result[start:start + NUMPY_ROWS] = _values_in_numpy(circuit, block)[nodes].T
        return result
    readers, free = _packed.unit_readers(circuit, nodes), free_work(circuit, "unit_work")

    def work(chunk):
        return _read_chunk(circuit, data, *chunk, readers, result, NO_TOTALS, free)

    with map_in_threads(work, cut_rows(circuit, len(data)), n_jobs) as found:
        for suspect in found:
            if suspect is not None:
                result[suspect] = _values_by_logarithms(circuit, data[suspect])[nodes].T
    return result


def mean_node_likelihoods(circuit, data, *, nodes=None, n_jobs=None) -> np.ndarray:
    """Mean over the rows of the likelihood of units: (1/N) sum_n l_j(x_n).

    Parameters
    ----------
    circuit : Circuit
    data : (N, V) integer array_like
        Evidence, -1 missing (integrated out exactly); N at least 1.
    nodes : (m,) int array_like, optional
        Node ids; all units in node-id order by default.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.

    Returns
    -------
    (m,) float64 array

    Raises
    ------
    TypeError, ValueError
        As `node_likelihoods`, and if `data` has no rows.

    Notes
    -----
    Faster than the mean of `node_likelihoods`, and in memory for one tile per thread.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> mean_node_likelihoods(coin, [[0], [1]])
    array([0.5])
    """
    data = as_integer_table(circuit, data)
    nodes = _checked_nodes(circuit, nodes)
    if not len(data):
        raise ValueError("`data` has no rows: a mean needs at least one")
    total = np.zeros(len(nodes))
    if _runs_in_numpy(circuit):
        refuse_out_of_range(circuit, data)
        for start in range(0, len(data), NUMPY_ROWS):
            with np.errstate(over="ignore"):
                total += _values_in_numpy(circuit, data[start:start + NUMPY_ROWS])[nodes].sum(axis=1)
        return total / len(data)
    readers, free = _packed.unit_readers(circuit, nodes), free_work(circuit, "unit_work")

    def work(chunk):
        part = np.zeros(len(nodes))
        return part, _read_chunk(circuit, data, *chunk, readers, NO_TABLE, part, free)

    with map_in_threads(work, cut_rows(circuit, len(data)), n_jobs) as found:
        for part, suspect in found:
            total += part
            if suspect is not None:
                total += _values_by_logarithms(circuit, data[suspect])[nodes].sum(axis=1)
    return total / len(data)


def _read_chunk(circuit, data, start, stop, readers, table, totals, free):
    """Read units off rows start..stop, group by group, into table rows or totals; returns the suspect rows, or None."""
    from pcircuit.compiled.tiles import upward_tiles
    packed, layout = _packed.pack(circuit), _packed.stack_layout(circuit)
    tile, group = work = borrow(free, lambda: new_work(circuit, layout, len(packed.region) + 1, STACK_BYTES))
    suspects = []
    for lo in range(start, stop, len(group.roots)):
        rows = min(len(group.roots), stop - lo)
        load_group(circuit, packed.categories, data, lo, lo + rows, group)
        before = totals.copy()
        upward_tiles(packed, layout, tile, group, rows, readers, table[lo:lo + rows], totals)
        if group.suspects[:rows].any():
            suspects.append(lo + np.flatnonzero(group.suspects[:rows]))
            if len(totals):  # once more without them
                group.skip[:rows], totals[:] = group.suspects[:rows], before
                upward_tiles(packed, layout, tile, group, rows, readers, table[lo:lo + rows], totals)
                group.skip[:] = False
    free.append(work)
    return np.concatenate(suspects) if suspects else None


def _values_in_numpy(circuit, data):
    """(units, N) likelihoods of a block, by the NumPy text."""
    if may_overflow(circuit):
        return _values_by_logarithms(circuit, data)
    shown, products, exponents, suspect = upward(circuit, data)
    parts = []
    for values, product, exponent in zip(shown, products, exponents, strict=True):
        parts += [] if product is None else [np.ldexp(product, exponent)]
        parts.append(np.ldexp(values, exponent))
    result = np.concatenate(parts)
    if suspect.any():
        result[:, suspect] = _values_by_logarithms(circuit, data[suspect])
    return result


def _values_by_logarithms(circuit, data):
    """(units, N) likelihoods, by one logarithm per unit."""
    shown, products = log_units(circuit, data)
    parts = []
    for values, product in zip(shown, products, strict=True):
        parts += [values] if product is None else [product, values]
    with np.errstate(over="ignore"):  # where the circuit is not normalised
        return np.exp(np.concatenate(parts))


def _runs_in_numpy(circuit) -> bool:
    """A circuit of one region has nothing to compile, one that may overflow is evaluated by logarithms."""
    return len(circuit.regions) == 1 or engine_is_numpy() or may_overflow(circuit)


def _checked_nodes(circuit, nodes) -> np.ndarray:
    """`nodes` as an index array, all units by default."""
    if nodes is None:
        return np.arange(circuit.num_nodes)
    nodes = np.asarray(nodes)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu" or (nodes.size and (nodes.min() < 0 or
                                                                           nodes.max() >= circuit.num_nodes)):
        raise ValueError(f"`nodes` must be a one-dimensional array of node ids 0..{circuit.num_nodes - 1}, found shape "
                         f"{nodes.shape} of {nodes.dtype}" + (f", {nodes.min()}..{nodes.max()}" if nodes.size else ""))
    return nodes
