"""Circuits of densities at given rows: there every leaf is a table, and the circuit one of categories.

Let a block have the rows n = 0, 1, ..., B - 1.  For a variable v with densities p_k put into the table of input unit k

    T_v[k, n] = p_k(x_nv) / s_nv        s_nv = max_k p_k(x_nv),

and call n itself the category of row n.  A look-up then finds the density of the row, up to a factor s_nv that all
units share.  So likelihoods, units, flows and conditional samples come from the code for tables, compiled or not:

    log p(x_n) = log of the circuit with these tables at (n, ..., n)  +  sum_v log s_nv.

A missing value has p_k = 1 for each unit, which integrates it out.  Filling the tables costs one logarithm, or whatever
a family takes, and one exponential for each unit and row.  Entries of less than 2**LEAST_DENSITY are lifted to that,
which the passes take for lost, see `kernels.rescaling`; rows in which such a one counts are evaluated by logarithms,
which the leaves of a block keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pcircuit.arguments import Evidence, Floats, Ints, unchecked
from pcircuit.circuit import Circuit, derived, factors, with_regions
from pcircuit.inference.threads import map_in_threads
from pcircuit.kernels.engine import NUMBA, NUMPY, engine_set_to
from pcircuit.kernels.packed import CATEGORIES, IS_LEAF, SOURCE, VARIABLE, Packed, num_inputs
from pcircuit.kernels.packing import pack
from pcircuit.kernels.rescaling import LEAST_DENSITY
from pcircuit.kernels.tile import WORK
from pcircuit.leaves import Rescaled
from pcircuit.regions import InputRegion, LeafFamily

T = TypeVar("T")
TABLE_VALUES = (
    2**22
)  # of the tables of a block: where rows are wide, fewer rows cost more than a cache brings
LEAF_VALUES = 2**16  # of one variable: fewer, and calls of NumPy take longer than what they do
LEAST_ROWS, MOST_ROWS = 64, 4096  # of a block
LOWEST_LOG = float(LEAST_DENSITY * np.log(2.0))


class AtRows(NamedTuple):
    """A block of n rows as a circuit of tables, and its evidence."""

    circuit: Circuit
    codes: Evidence  # (n, V): the number of the row; categories, -1 where missing, where leaves are tables
    log_scale: Floats  # (n, V) ln of what the likelihoods of each column were divided by
    values: Floats  # (n, V) the rows themselves
    rows: slice  # where they are among all rows


@dataclass(frozen=True, eq=False, repr=False)
class _Filled(LeafFamily):
    """The units of a variable at the rows of a block."""

    base: LeafFamily
    logs: Floats  # (K, n) ln of the densities
    top: Floats  # (n,) what they were divided by, as a logarithm
    filled: Floats  # (K, B + 1) the same as likelihoods; 1 behind the rows

    @property
    def num_units(self) -> int:
        """K."""
        return len(self.filled)

    @property
    def num_categories(self) -> int:  # type: ignore[override]
        """B, room for as many rows."""
        return int(self.filled.shape[1]) - 1

    @property
    def num_statistics(self) -> int:
        """B: the flow of each row."""
        return int(self.filled.shape[1]) - 1

    @property
    def probs(self) -> Floats:
        """(K, B) likelihoods."""
        return self.filled[:, :-1]

    def overlap2(self, other: _Filled) -> Floats:
        """(K, K') integrals of products of two densities."""
        return self.base.overlap2(other.base)

    def table(self) -> Floats:
        """(K, B + 1) likelihoods."""
        return self.filled

    def log_table(self) -> Floats:
        """(K, B + 1) their logarithms, where nothing is lifted."""
        table = np.zeros(self.filled.shape)
        np.subtract(self.logs, self.top, out=table[:, : len(self.top)])
        return table


class _Shape(NamedTuple):
    """What the blocks of a size share."""

    packed: Packed  # with tables of which those of categories are filled
    dense: tuple[int, ...]  # variables whose tables are not
    work: dict[str, list[Any]]  # memory to work in, as circuits keep it


def at_rows(circuit: Circuit, values: Floats, rows: slice) -> AtRows:
    """Some rows of checked values (N, V) as a circuit of tables."""
    values = values[rows]
    n = len(values)
    shape = _shape(circuit, n)
    packed, regions = shape.packed, list(circuit.regions)
    is_mixed = len(shape.dense) < circuit.num_variables
    tables = packed.tables.copy() if is_mixed else np.empty_like(packed.tables)
    leaf_of = circuit.vtree.leaf_of().tolist()
    codes = np.empty(values.shape, dtype=np.int64)
    codes[:] = np.arange(n)[:, None]
    columns = np.ascontiguousarray(values.T)
    log_scale = np.zeros(columns.shape).T
    for v, region in enumerate(circuit.inputs):
        if region.num_categories:
            codes[:, v] = np.where(np.isnan(values[:, v]), -1, values[:, v])
            continue
        logs = np.asarray(region.leaves.log_density(columns[v])).T
        top = logs.max(axis=0)
        if top.min(initial=0.0) == -np.inf:
            top = np.where(top > -np.inf, top, 0.0)
        log_scale[:, v] = top
        start, K = packed.table_start[v], len(logs)
        filled = tables[start : start + K * (packed.categories[v] + 1)].reshape(K, -1)
        filled[:, n:] = 1.0
        here = filled[:, :n]
        np.subtract(logs, top, out=here)
        if here.min(initial=0.0) < LOWEST_LOG:
            np.maximum(here, LOWEST_LOG, out=here, where=here > -np.inf)  # and exp(-inf) is 0
        np.exp(here, out=here)
        leaves = unchecked(_Filled, base=region.leaves, logs=logs, top=top, filled=filled)
        regions[leaf_of[v]] = unchecked(InputRegion, variable=v, leaves=leaves)
    new = {"packed": packed._replace(tables=tables)} | shape.work
    block = with_regions(circuit, regions, new, (), circuit.is_normalized)
    for name in ("num_categories", "num_parameters", "inputs", "is_categorical"):
        block.__dict__.pop(name, None)
    return AtRows(block, codes, log_scale, values, rows)


def _shape(circuit: Circuit, num_rows: int) -> _Shape:
    """The tables of a block of so many rows: of a few sizes only, so that the memory of a block serves the next."""
    size = min(block_rows(circuit), max(LEAST_ROWS, 1 << max(num_rows - 1, 0).bit_length()))

    def make() -> _Shape:
        packed, inputs = pack(circuit), num_inputs(pack(circuit))
        categories = np.where(packed.categories > 0, packed.categories, size)
        sizes = inputs * (categories + 1)
        starts = np.cumsum(sizes) - sizes
        tables, child = np.ones(sizes.sum()), packed.child.copy()
        for v in np.flatnonzero(packed.categories).tolist():
            first = packed.table_start[v]
            tables[starts[v] : starts[v] + sizes[v]] = packed.tables[first : first + sizes[v]]
        leaves = np.flatnonzero(child[:, IS_LEAF])
        variables = child[leaves, VARIABLE]
        child[leaves, SOURCE], child[leaves, CATEGORIES] = starts[variables], categories[variables]
        packed = packed._replace(
            child=child, tables=tables, table_start=starts, categories=categories, programs={}
        )
        dense = np.flatnonzero(pack(circuit).categories == 0).tolist()
        return _Shape(packed, tuple(dense), {kind: [] for kind in WORK})

    return derived(circuit, f"tables of {size} rows", make)


def block_rows(circuit: Circuit) -> int:
    """How many rows a block of a circuit has."""
    units = [region.num_units for region in circuit.inputs if not region.num_categories]
    most = min(TABLE_VALUES // max(sum(units), 1), LEAF_VALUES // max(units, default=1))
    return int(np.clip(1 << max(most, 1).bit_length() - 1, LEAST_ROWS, MOST_ROWS))


def by_blocks(
    circuit: Circuit,
    values: Floats,
    n_jobs: int | None,
    in_numpy: bool,
    function: Callable[[AtRows], T],
) -> Iterator[T]:
    """Yield ``function(block)`` for each block of the rows in turn, at least one; all on one engine."""
    pack(circuit), circuit.is_normalized  # made once, not in each thread
    step = block_rows(circuit)
    starts = range(0, max(len(values), 1), step)

    def work(start: int) -> T:
        with engine_set_to(NUMPY if in_numpy else NUMBA):
            return function(at_rows(circuit, values, slice(start, min(start + step, len(values)))))

    with map_in_threads(work, starts, n_jobs) as results:
        yield from results


def statistics_of(circuit: Circuit, block: AtRows, inputs: Floats) -> list[Any]:
    """Per variable the flat statistics of its leaves, from the flows (inputs) of a block of rows."""
    parts, end = [], 0
    for v, (region, of_block) in enumerate(zip(circuit.inputs, block.circuit.inputs, strict=True)):
        start, end = end, end + region.num_units * of_block.num_categories
        flows = inputs[start:end]
        if not region.num_categories:
            of_rows = flows.reshape(region.num_units, -1)[:, : len(block.codes)].T
            flows = region.leaves.statistics(block.values[:, v], of_rows).ravel()
        parts.append(flows)
    return parts


def with_leaves(circuit: Circuit, leaves: dict[int, LeafFamily]) -> Circuit:
    """The circuit with other units of the same families at some variables."""
    regions = list(circuit.regions)
    for v, r in enumerate(circuit.vtree.leaf_of().tolist()):
        if v in leaves:
            regions[r] = InputRegion(v, leaves[v])
    return with_regions(circuit, regions, {}, ("packed", "may_overflow"), circuit.is_normalized)


def dense_variables(circuit: Circuit) -> Ints:
    """Variables whose leaves are no tables of categories."""
    return np.flatnonzero(np.asarray(circuit.num_categories) == 0)


def bounded(circuit: Circuit) -> Circuit:
    """The circuit with the columns in units in which no density exceeds 1, as probabilities do not."""
    largest = {
        v: Rescaled(region.leaves, float(region.leaves.log_bound().max()))
        for v, region in enumerate(circuit.inputs)
        if not region.num_categories
    }
    return with_leaves(circuit, largest) if largest else circuit  # type: ignore[arg-type]


def log_bounds(circuit: Circuit) -> Floats:
    """(units,) ln of what no likelihood of a unit exceeds: largest densities; products; weighted sums."""
    shown: list[Any] = []
    parts: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            shown.append(region.leaves.log_bound())
            parts.append(shown[-1])
            continue
        products: Any = sum(factors(circuit, r, shown))
        top = products.max()
        with np.errstate(divide="ignore"):
            shown.append(np.log(region.weights @ np.exp(products - top)) + top)
        parts += [products, shown[-1]]
    return np.concatenate(parts)
