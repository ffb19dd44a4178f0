"""Pictures of a page, drawn as inline SVG and as tables of colour."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.column_shifts import percent
from hld.answers.html import escaped, named
from hld.answers.words import p_text

if TYPE_CHECKING:
    from hld.answers.pair_shifts import PairShift
    from hld.testing.null_curves import NullCurve

WIDTH, HEIGHT, BASE = 420, 130, 104  # of a curve, and the height of its axis
REACH = 2.2  # critical distances that the axis shows
PLAIN = {
    "euclidean": "all nodes alike",
    "standardized": "each node by its spread",
    "marginals": "columns by themselves",
    "whitened": "directions of small spread",
    "whitened_fine": "directions of very small spread",
    "ordered": "ordered columns by themselves",
    "score": "use of each parameter",
    "weights": "weighted nodes",
}


def null_curve(curve: NullCurve, alpha: float) -> str:
    """The law of a distance under the null hypothesis, its tail beyond the level, and the batch."""

    def at(x: float) -> float:
        return min(x, REACH) / REACH * (WIDTH - 20) + 10

    shown = np.append(
        curve.x[curve.x < REACH], [REACH] * bool(curve.x[-1] >= REACH)
    )  # the axis cuts the curve
    points = [
        (at(x), BASE - 78 * y)
        for x, y in zip(
            shown.tolist(), np.interp(shown, curve.x, curve.density).tolist(), strict=True
        )
    ]
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    level = BASE - 78 * float(
        np.interp(1.0, curve.x, curve.density)
    )  # the curve's height where the tail begins
    tail = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(at(1.0), level), *points] if x >= at(1.0))
    last, first = points[-1][0], points[0][0]
    parts = [f'<polygon class="density" points="{first:.1f},{BASE} {outline} {last:.1f},{BASE}"/>']
    if last > at(1.0):
        parts.append(
            f'<polygon class="tail" points="{at(1.0):.1f},{BASE} {tail} {last:.1f},{BASE}"/>'
        )
    parts.append(
        f'<line class="rule" x1="10" y1="{BASE}" x2="{WIDTH - 10}" y2="{BASE}"/>'
        f'<line class="critical" x1="{at(1.0):.1f}" y1="14" x2="{at(1.0):.1f}" y2="{BASE}"/>'
        f'<text class="axis" x="{at(1.0):.1f}" y="{BASE + 18}" text-anchor="middle">level {alpha:g}</text>'
    )
    parts.append(_mark(curve, at))
    name = PLAIN.get(curve.metric, curve.metric)
    label = f"{name}: {p_text(curve.pvalue)}"
    return (
        f'<figure class="card" style="margin:0"><header><h3>{escaped(name)}</h3>'
        f'<span class="p">{escaped(p_text(curve.pvalue))}</span></header>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escaped(label)}">{"".join(parts)}</svg>'
        f"</figure>"
    )


def _mark(curve: NullCurve, at: Callable[..., Any]) -> str:
    """The batch: a line at its distance, or an arrow to where it is beyond the axis."""
    if curve.observed is not None and curve.observed <= REACH:
        x = at(curve.observed)
        side = "end" if x > WIDTH * 0.75 else "start"
        return (
            f'<line class="mark" x1="{x:.1f}" y1="22" x2="{x:.1f}" y2="{BASE}"/>'
            f'<text x="{x + (-6 if side == "end" else 6):.1f}" y="30" text-anchor="{side}">this batch</text>'
        )
    x = WIDTH - 10
    far = (
        f", {curve.observed:.1f} times the critical distance"
        if curve.observed is not None
        else ", far beyond"
    )
    return (
        f'<polygon class="arrow" points="{x},{BASE - 14} {x - 14},{BASE - 22} {x - 14},{BASE - 6}"/>'
        f'<line class="mark" x1="{x - 44}" y1="{BASE - 14}" x2="{x - 12}" y2="{BASE - 14}"/>'
        f'<text x="{x}" y="{BASE - 32}" text-anchor="end">this batch{far}</text>'
    )


def heat_tables(pair: PairShift) -> str:
    """Expected and observed shares of a pair of columns as two tables, the darker the more rows."""
    most = max(float(pair.expected_table.max()), float(pair.observed_table.max()), 1e-12)
    both = "".join(
        _heat(pair, caption, shares, most)
        for caption, shares in (
            ("expected", pair.expected_table),
            ("observed", pair.observed_table),
        )
    )
    return f'<div class="heats">{both}</div>'


def _heat(pair: PairShift, caption: str, shares: np.ndarray, most: float) -> str:
    """One of the two."""
    head = "".join(f'<th scope="col">{escaped(named(label))}</th>' for label in pair.labels[1])
    rows = "".join(
        f'<tr><th scope="row">{escaped(named(label))}</th>'
        + "".join(
            f'<td style="background:rgba(var(--heat),{0.5 * share / most:.3f})">{percent(share)}</td>'
            for share in row
        )
        + "</tr>"
        for label, row in zip(pair.labels[0], shares.tolist(), strict=True)
    )
    return (
        f'<div class="scroll"><table class="heat"><caption>{caption}</caption><thead><tr><th></th>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )
