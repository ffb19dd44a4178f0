"""Pictures of a page, drawn as inline SVG and as tables of colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hld.answers.column_shifts import percent
from hld.answers.html import escaped, named

if TYPE_CHECKING:
    from hld.answers.pair_shifts import PairShift


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
