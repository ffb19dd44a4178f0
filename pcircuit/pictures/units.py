"""A circuit drawn unit by unit.

A region is a panel.  It shows its sums, as circles, above its products, as squares; an input region shows the
table of each unit as small bars.  The thickness of a line from a sum to a product is its weight.  With a row, it is
the row's flow through the line (`pcircuit.expected_flows`), orange where there is any, and the bars of observed
categories are orange too: one sees which parts of the mixture explain the row.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pcircuit.arguments import Evidence, Floats
from pcircuit.circuit import Circuit
from pcircuit.inference.densities import at_rows
from pcircuit.inference.flows import expected_flows
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.inference.log_domain import log_flows
from pcircuit.inference.unit_likelihoods import node_likelihoods
from pcircuit.pictures.scene import (
    BLUE,
    FAINT,
    INK,
    PAPER,
    SKY,
    SOFT_INK,
    VERMILLION,
    Box,
    Curve,
    Disc,
    Layout,
    Scene,
    Shape,
    Text,
    arrange,
)
from pcircuit.regions import InputRegion

SUM_STEP, PRODUCT_STEP, INPUT_STEP = 36.0, 30.0, 44.0  # from one unit to the next
PAD, RADIUS, SQUARE = 14.0, 11.0, 18.0
SUMS_AT, PRODUCTS_AT, INNER_HEIGHT = 27.0, 89.0, 112.0
BARS_AT, BARS_HEIGHT, INPUT_HEIGHT = 14.0, 34.0, 76.0
MOST_LISTED = 16  # numbers in a tip

DRAWS, NUM_BARS = 2000, 24  # for the bars of densities


@dataclass
class Page:
    """What is known while a circuit is drawn: places, flows and likelihoods of a row, and the shapes so far."""

    circuit: Circuit
    labels: list[str]
    row: Evidence | None
    layout: Layout
    flows: list[Any] | None
    likelihoods: Floats | None
    panels: list[Shape] = field(default_factory=list)  # at the bottom, then lines, then units
    lines: list[Shape] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    def place(self, r: int, k: int) -> tuple[float, float]:
        """Where lines arrive at unit k of those that region r shows."""
        region = self.circuit.regions[r]
        step = INPUT_STEP if region.is_input else SUM_STEP
        _, x, y, width, _ = self.layout.rows[r]
        above = BARS_AT if region.is_input else SUMS_AT - RADIUS
        return x + width / 2 + (k - (region.num_units - 1) / 2) * step, y + above


def units_scene(circuit: Circuit, row: Evidence | None, labels: list[str]) -> Scene:
    """The picture of a circuit with all units, and the flow of a row through them; shapes row (V,)."""
    regions = circuit.regions
    widths = [_width(region, labels) for region in regions]
    heights = [INPUT_HEIGHT if region.is_input else INNER_HEIGHT for region in regions]
    layout = arrange(circuit.vtree, widths, heights, between=22, below=44)
    flows = likelihoods = None
    title = repr(circuit)
    if row is not None:
        flows = _flows_of_row(circuit, row)
        likelihoods = node_likelihoods(circuit, row[None])[0]
        title += f", ln p(row) = {log_likelihood(circuit, row[None])[0]:.4g}"
    page = Page(circuit, labels, row, layout, flows, likelihoods)
    for r, region in enumerate(regions):
        page.panels.append(Box(*layout.rows[r][1:], radius=10, region=r))
        if region.is_input:
            _inputs(page, r, region)
        else:
            _sums_and_products(page, r, region)
    shapes = (*page.panels, *page.lines, *page.shapes)
    return Scene(layout.width, layout.height, shapes, title, layout)


def _flows_of_row(circuit: Circuit, row: Evidence) -> list[Floats]:
    """The flow of a row through each parameter, region by region; of densities through each unit, in one column."""
    if circuit.is_categorical:
        return expected_flows(circuit, row[None]).by_region(circuit)
    block = at_rows(circuit, row[None], slice(None))
    flows = log_flows(block.circuit, block.codes, np.ones(1))[0]
    return [
        flow.sum(axis=1, keepdims=True)
        if region.is_input and not region.num_categories
        else region.stored(flow)
        if region.is_sparse
        else flow
        for region, flow in zip(circuit.regions, flows, strict=True)
    ]


def _width(region: Any, labels: list[str]) -> float:
    """The width of a region's panel."""
    if region.is_input:
        return float(
            max(INPUT_STEP * region.num_units, 7.0 * len(labels[region.variable])) + 2 * PAD
        )
    return float(
        max(SUM_STEP * region.num_units, PRODUCT_STEP * region.num_products, 40.0) + 2 * PAD
    )


def _bars(region: InputRegion, value: float | None) -> tuple[str, Floats, int]:
    """What the bars of an input region are, (K, n) their heights, and the one of a value of the row, -1 where none is.

    Those of densities are shares of draws.
    """
    if region.num_categories:
        return "probabilities", region.probs, -1 if value is None else int(value)
    units = np.repeat(np.arange(region.num_units), DRAWS)
    drawn = region.leaves.sample(units, np.random.default_rng(0))
    low, high = np.quantile(drawn, [0.005, 0.995])
    edges = np.linspace(low, max(high, np.nextafter(low, np.inf)), NUM_BARS + 1)
    heights = [np.histogram(part, edges)[0] / DRAWS for part in np.split(drawn, region.num_units)]
    is_seen = value is not None and edges[0] <= value <= edges[-1]
    place = int(np.searchsorted(edges, value)) - 1 if is_seen else -1  # type: ignore[arg-type]
    return f"{type(region.leaves).__name__} from {low:.4g} to {high:.4g}", np.array(heights), place


def _inputs(page: Page, r: int, region: InputRegion) -> None:
    """The tables of an input region as bars, and the name of its variable."""
    what, bars, seen = _bars(region, None if page.row is None else page.row[region.variable])
    top = max(float(bars.max()), 1e-300)
    for k, table in enumerate(bars):
        said = table if region.num_categories else region.leaves.said(k)
        centre, y = page.place(r, k)
        unit_id = int(page.circuit.offsets[r]) + k
        left, bar = centre - INPUT_STEP / 2 + 4, (INPUT_STEP - 8) / len(table)
        page.shapes.append(
            Box(
                left,
                y,
                INPUT_STEP - 8,
                BARS_HEIGHT,
                PAPER,
                SKY,
                4,
                key=f"n{unit_id}",
                region=r,
                tip=_tip(page, r, f"input {k}", unit_id, what, said),
            )
        )
        for c, p in enumerate(table):
            high = (BARS_HEIGHT - 6) * float(p) / top
            colour = VERMILLION if c == seen else BLUE if seen < 0 else SKY
            if high > 0:
                page.shapes.append(
                    Box(
                        left + (c + 0.12) * bar,
                        y + BARS_HEIGHT - 2 - high,
                        0.76 * bar,
                        high,
                        colour,
                        colour,
                        0,
                        region=r,
                    )
                )
    _, x, y, width, height = page.layout.rows[r]
    name = page.labels[region.variable]
    page.shapes.append(Text(x + width / 2, y + height - 13, name, 12, INK, region=r))


def _sums_and_products(page: Page, r: int, region: Any) -> None:
    """The units of an inner region, the lines between them, and those down to the units of other regions."""
    first, weights = int(page.circuit.offsets[r]), region.dense_weights()
    flow = None if page.flows is None else _dense(region, page.flows[r])
    _, left, top, width, _ = page.layout.rows[r]
    middle, y = left + width / 2, top + PRODUCTS_AT
    children = page.circuit.vtree.children(r).tolist()
    at = [
        float(middle + (p - (region.num_products - 1) / 2) * PRODUCT_STEP)
        for p in range(region.num_products)
    ]
    for p, units in enumerate(region.products.tolist()):
        unit_id = first + p
        through = None if flow is None else float(flow[:, p].sum())
        for child, unit in zip(children, units, strict=True):
            shown = page.circuit.regions[child].num_units  # the last units of the region
            below = int(page.circuit.offsets[child + 1]) - shown + unit
            page.lines.append(
                _line(
                    (at[p], y + SQUARE / 2),
                    page.place(child, unit),
                    0.35,
                    through,
                    f"n{unit_id} n{below}",
                    "",
                    (r, child),
                )
            )
        factors = " x ".join(
            f"unit {unit} of region {child}" for child, unit in zip(children, units, strict=True)
        )
        page.shapes += [
            Box(
                at[p] - SQUARE / 2,
                y - SQUARE / 2,
                SQUARE,
                SQUARE,
                PAPER,
                SOFT_INK,
                4,
                key=f"n{unit_id}",
                region=r,
                tip=_tip(page, r, f"product {p}", unit_id, "factors", factors, through),
            ),
            Text(at[p], y, "×", 13, SOFT_INK, region=r),
        ]
    for k in range(region.num_units):
        unit_id, (x, top) = first + region.num_products + k, page.place(r, k)
        through = None if flow is None else float(flow[k].sum())
        for p in np.flatnonzero(weights[k] > 0).tolist():
            share = None if flow is None else float(flow[k, p])
            page.lines.append(
                _line(
                    (x, top + 2 * RADIUS),
                    (at[p], y - SQUARE / 2),
                    float(weights[k, p]),
                    share,
                    f"n{unit_id} n{first + p}",
                    f"weight {weights[k, p]:.4g} of sum {k} on product {p} in region {r}",
                    (r, -1),
                )
            )
        page.shapes += [
            Disc(
                x,
                top + RADIUS,
                RADIUS,
                key=f"n{unit_id}",
                region=r,
                tip=_tip(page, r, f"sum {k}", unit_id, "weights", weights[k], through),
            ),
            Text(x, top + RADIUS, "+", 14, BLUE, region=r),
        ]


def _line(
    start: tuple[float, float],
    end: tuple[float, float],
    weight: float,
    flow: float | None,
    key: str,
    tip: str,
    regions: tuple[int, int],
) -> Curve:
    """A line as strong as its weight, or as the flow through it, within a region or down to another one."""
    r, below = regions
    strength = min(weight if flow is None else flow, 1.0)
    if flow is not None and flow < 1e-4:
        return Curve(*start, *end, FAINT, 0.8, 0.45, tip, key, r, below)
    colour = (BLUE if tip else FAINT) if flow is None else VERMILLION
    opacity = 0.25 + 0.65 * strength if tip or flow is not None else 0.8
    said = tip if flow is None or not tip else f"{tip}\nflow of the row: {flow:.4g}"
    return Curve(*start, *end, colour, 0.8 + 3.4 * strength, opacity, said, key, r, below)


def _tip(
    page: Page, r: int, name: str, unit_id: int, what: str, numbers: Any, flow: float | None = None
) -> str:
    """What is said of a unit: its scope, its table, and its likelihood for the row."""
    scope = [page.labels[v] for v in page.circuit.vtree.scope(r).tolist()]
    listed = ", ".join(scope[:MOST_LISTED]) + (
        f" and {len(scope) - MOST_LISTED} more" if len(scope) > MOST_LISTED else ""
    )
    if not isinstance(numbers, str):
        cut = "" if len(numbers) <= MOST_LISTED else f" ... ({len(numbers)} numbers)"
        numbers = " ".join(f"{value:.4g}" for value in numbers[:MOST_LISTED]) + cut
    lines = [f"{name} of region {r}, unit id {unit_id}", f"scope: {listed}", f"{what}: {numbers}"]
    if page.likelihoods is not None:
        lines.append(f"likelihood of the row: {page.likelihoods[unit_id]:.4g}")
    if flow is not None:
        lines.append(f"flow of the row: {flow:.4g}")
    return "\n".join(lines)


def _dense(region: Any, flows: Floats) -> Floats:
    """(K, P) flows of a region, from what `Flows.by_region` gives."""
    if not region.is_sparse:
        return flows
    from scipy.sparse import csr_array

    weights = region.weights
    return np.asarray(csr_array((flows, weights.indices, weights.indptr), weights.shape).toarray())
