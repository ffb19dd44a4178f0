"""The likelihoods of single units, not only of the root: the hierarchical likelihood vector of the HLD paper.

    l_j(x) = p_j(x_{S_j})        unit j, S_j its scope

One upward pass computes them all; `node_likelihoods` writes them out row by row, and `mean_node_likelihoods` only
adds them up, which is all that a test statistic needs and saves the table (N, units).
"""
from __future__ import annotations

import numpy as np

from . import _packed
from ._log_domain import log_units
from .engine import engine_is_numpy, map_in_threads
from .evidence import as_integer_table, check_evidence, refuse_out_of_range
from .likelihood import FULL_TILE, new_tile, tile_rows, upward

CHUNK_ROWS = 2048  # rows of one thread's unit of work
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
        Linear, not logarithms: likelihoods of large scopes may underflow to 0.

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
    result = np.empty((len(data), len(nodes)))

    def write(tile, lo, hi):
        from ._units_kernel import write_units
        write_units(*tile, result[lo:hi])

    if _runs_in_numpy(circuit):
        refuse_out_of_range(circuit, data)
        for start in range(0, len(data), NUMPY_ROWS):
            block = data[start:start + NUMPY_ROWS]
            result[start:start + NUMPY_ROWS] = _values_in_numpy(circuit, block)[nodes].T
        return result
    work = _tile_worker(circuit, data, nodes, write)
    for suspect in map_in_threads(lambda chunk: work(*chunk), _chunks(len(data)), n_jobs):
        if len(suspect):
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
            total += _values_in_numpy(circuit, data[start:start + NUMPY_ROWS])[nodes].sum(axis=1)
        return total / len(data)
    for part in map_in_threads(lambda chunk: _sum_of_chunk(circuit, data, nodes, chunk), _chunks(len(data)), n_jobs):
        total += part
    return total / len(data)


def _sum_of_chunk(circuit, data, nodes, chunk):
    """(m,) sum over the rows of a chunk."""
    total = np.zeros(len(nodes))

    def add(tile, lo, hi):
        from ._units_kernel import add_units
        add_units(*tile, total)

    suspect = _tile_worker(circuit, data, nodes, add)(*chunk)
    if len(suspect):
        total += _values_by_logarithms(circuit, data[suspect])[nodes].sum(axis=1)
    return total


def _tile_worker(circuit, data, nodes, consume):
    """A function (start, stop) that runs the kernel tile by tile, hands each tile on, and returns the suspect rows."""
    from ._upward_kernel import transpose_rows, upward_tile
    packed, layout = _packed.pack(circuit), _packed.full_layout(circuit)
    order = _packed.unit_order(circuit)[nodes]

    def work(start, stop):
        tile = tile_rows(8 * layout.rows + 2 * circuit.num_variables, stop - start, *FULL_TILE)
        codes, buffer, exponent, suspect = new_tile(circuit, layout.rows, tile, len(packed.region) + 1)
        suspects = []
        for lo in range(start, stop, tile):
            hi = min(lo + tile, stop)
            if not transpose_rows(data, lo, hi, packed.categories, codes):
                check_evidence(circuit, data[:hi])
            upward_tile(packed, layout.products, layout.sums, codes, hi - lo, buffer, exponent, suspect)
            consume((packed, order, codes, buffer, exponent, suspect[:hi - lo]), lo, hi)
            suspects.append(lo + np.flatnonzero(suspect[:hi - lo]))
        return np.concatenate(suspects)

    return work


def _values_in_numpy(circuit, data):
    """(units, N) likelihoods of a block, by the NumPy text."""
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
    return np.exp(np.concatenate(parts))


def _runs_in_numpy(circuit) -> bool:
    """A circuit of one region has nothing to compile."""
    return len(circuit.regions) == 1 or engine_is_numpy()


def _chunks(N: int) -> list:
    """Units of work, cut without looking at the number of threads."""
    return [(start, min(start + CHUNK_ROWS, N)) for start in range(0, N, CHUNK_ROWS)]


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
