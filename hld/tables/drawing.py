"""Drawing rows of a table under a condition, exactly and without rejection.

A condition is a box (`hld.tables.conditions`).  Its bins may be cut, so the input tables of the circuit are cut
alike: a part of a bin has its share of the bin's probability.  Then P(box) is exact, and rows are drawn from
p(x | box) (`pcircuit.condition`): every row that is drawn satisfies the condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.tables.amounts import UNIT, written
from hld.tables.conditions import Condition, cut_edges, read_condition
from hld.tables.factored import object_cells
from hld.tables.times import from_seconds
from hld.tables.values import drawable, grids
from pcircuit.arguments import check_generator, check_whole_number

if TYPE_CHECKING:
    from hld.tables.schemas.encoder import TableEncoder
    from hld.tables.values import Grid, ValueTables


def draw_rows(
    circuit: pcircuit.Circuit,
    columns: tuple[Any, ...],
    tables: ValueTables,
    num_samples: Any,
    *,
    where: Any = None,
    rng: Any = None,
) -> np.ndarray:
    """(N, V) rows of a table drawn from a circuit."""
    num_samples = check_whole_number(num_samples, "num_samples", 0)
    rng = check_generator(rng)
    inside = grids(columns, tables)
    columns = drawable(columns, inside)
    condition = Condition({}, {}) if where is None else read_condition(where, columns, inside)
    finer = cut_circuit(circuit, columns, inside, condition.cuts)
    codes = _drawn(finer, condition, num_samples, rng)
    rows = np.empty((num_samples, len(columns)), dtype=object)
    for v, (column, grid) in enumerate(zip(columns, inside, strict=True)):
        if grid is None:
            rows[:, v] = object_cells(column.values(None, None))[codes[:, v]]
            continue
        marks = cut_edges(column, condition.cuts.get(v, ()))
        numbers = grid.draw(marks[codes[:, v]], marks[codes[:, v] + 1], rng.random(num_samples))
        rows[:, v] = _plain(numbers, column.kind, grid.unit)
    return rows


def as_learned(
    encoder: TableEncoder, tables: ValueTables, rows: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Names and cells of drawn rows as their table has them: numbers and units as one column of amounts.

    Shapes: rows (N, V) -> (N, V').
    """
    names, inside = [*encoder.names], grids(encoder.columns, tables)
    rows = rows.copy()
    units = {one.source: names.index(one.name) for one in encoder.derived if one.part == UNIT}
    for one in encoder.derived:
        if one.name in units:
            v, u = names.index(one.name), units[one.name]
            step = getattr(inside[v], "unit", 1.0)
            rows[:, v] = [written(x, unit, one.part, step) for x, unit in rows[:, [v, u]].tolist()]
    kept = [v for v in range(len(names)) if v not in units.values()]
    return [names[v] for v in kept], rows[:, kept]


def condition_probability(
    circuit: pcircuit.Circuit, columns: Any, tables: Any, where: Any
) -> float:
    """P(where) under the circuit, exact up to the values inside bins."""
    inside = grids(columns, tables)
    columns = drawable(columns, inside)
    condition = read_condition(where, columns, inside)
    finer = cut_circuit(circuit, columns, inside, condition.cuts)
    if not condition.is_possible:
        return 0.0
    return min(float(np.exp(pcircuit.log_probability(finer, condition.box))), 1.0)  # rounded sums


def cut_circuit(
    circuit: pcircuit.Circuit, columns: tuple[Any, ...], grids: list[Grid | None], cuts: Any
) -> pcircuit.Circuit:
    """The circuit over bins that are cut: every part of a bin has its share of the bin's probability."""
    if not cuts:
        return circuit
    regions = []
    for region in circuit.regions:
        v = getattr(region, "variable", None)
        if v is None or v not in cuts:
            regions.append(region)
            continue
        coarse, fine = cut_edges(columns[v], ()), cut_edges(columns[v], cuts[v])
        bins = np.searchsorted(coarse, fine[:-1], side="right") - 1
        shares = np.concatenate(
            [
                grids[v].shares(np.append(fine[:-1][bins == k], coarse[k + 1]))
                for k in range(len(coarse) - 1)
            ]
        )
        regions.append(pcircuit.InputRegion(v, region.probs[:, bins] * shares))  # type: ignore[union-attr]
    return pcircuit.Circuit(circuit.vtree, regions)


def _plain(numbers: np.ndarray, kind: str, unit: float) -> list[Any]:
    """Numbers (N,) as Python has them: whole ones, floats, or times."""
    if kind != "continuous":
        return [from_seconds(number, kind) for number in numbers.tolist()]
    return [int(x) for x in numbers] if unit == 1 else numbers.tolist()


def _drawn(circuit: pcircuit.Circuit, condition: Condition, count: int, rng: Any) -> np.ndarray:
    """(count, V) categories drawn from the circuit given a condition."""
    box = condition.box
    if not condition.is_possible or pcircuit.log_probability(circuit, box) == -np.inf:
        raise ValueError(
            "`where` has probability zero under the model, so there are no such rows to draw"
        )
    given = pcircuit.condition(circuit, box, keep_known=True) if box else circuit
    return pcircuit.sample(given, count, rng=rng).astype(np.int64)
