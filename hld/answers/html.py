"""Pieces of HTML: escaped text, histograms as inline SVG, the table of columns, the view in a notebook.

Names of columns and levels are text from outside: everything goes through `escaped`, and nothing is fetched.
"""

from __future__ import annotations

import html
import unicodedata
from typing import TYPE_CHECKING, Any

from hld.answers.column_shifts import percent
from hld.answers.plots import shortened, shown_levels
from hld.answers.words import dependence_lines, effect_text, p_text, pair_lines, what_moved
from hld.tables.shown_names import printable

if TYPE_CHECKING:
    from hld.answers.column_shifts import ColumnShift

WIDTH, ROW, LABEL = (
    420,
    26,
    150,
)  # of a histogram in SVG units: width, height of a level, room for labels
GAP = 8  # between a label and its bars
NARROW, WIDE = (18, 21), (11, 13)  # letters of a label, usual and set closer; of ideographs


def escaped(text: int | str) -> str:
    """Text as HTML shows it, control characters as Python writes them."""
    return html.escape(printable(str(text)), quote=True)


def named(label: str) -> str:
    """A label for `escaped`, in quotes where nothing would be seen of it."""
    return label if label.strip() else repr(label)


def histogram(column: ColumnShift) -> str:
    """Expected and observed shares of the levels of a column as an SVG picture, with the numbers in it."""
    shown = shown_levels(column)
    most = max(float(max(column.expected[shown].max(), column.observed[shown].max())), 1e-12)
    reach = WIDTH - LABEL - 96
    parts = []
    for i, k in enumerate(shown):
        a, b, y = float(column.expected[k]), float(column.observed[k]), i * ROW
        label = column.labels[k]
        parts.append(
            f"{_label(label, y + 16)}"
            f'<rect class="expected" x="{LABEL}" y="{y + 4}" width="{max(a / most * reach, 0.6):.1f}" height="8"/>'
            f'<rect class="observed" x="{LABEL}" y="{y + 13}" width="{max(b / most * reach, 0.6):.1f}" height="8"/>'
            f'<text class="value" x="{WIDTH}" y="{y + 16}" text-anchor="end">{percent(a)} → {percent(b)}</text>'
        )
    height = ROW * len(shown) + 4
    return (
        f'<svg class="histogram" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="expected and observed shares of {escaped(column.name)}">{"".join(parts)}</svg>'
    )


def _label(label: str, y: int) -> str:
    """The name of a level, which ends before its bars: set closer where it is a little too long, or else cut."""
    text, room = printable(named(str(label))), LABEL - GAP
    is_wide = any(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    usual, most = WIDE if is_wide else NARROW
    closer = f' textLength="{room}" lengthAdjust="spacingAndGlyphs"' * (len(text) > usual)
    return (
        f'<text class="label" x="{room}" y="{y}" text-anchor="end"{closer}>'
        f"{escaped(shortened(text, most))}<title>{escaped(label)}</title></text>"
    )


def columns_table(columns: list[ColumnShift], alpha: float) -> str:
    """A table of columns: name, adjusted p-value, difference, what happened."""
    rows = "".join(
        f'<tr class="{"moved" if one.adjusted <= alpha else "calm"}"><th scope="row">{escaped(one.name)}</th>'
        f"<td>{escaped(p_text(one.adjusted, alpha))}</td><td>{percent(one.difference)}</td>"
        f"<td>{escaped(one.describe())}</td></tr>"
        for one in columns
    )
    return (
        "<table><thead><tr><th>column</th><th>adjusted p</th><th>rows that differ</th>"
        f"<th>expected -&gt; observed</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def sortable(columns: Any, alpha: float) -> str:
    """Lines of columns, each opened by a click to its histogram, in the order that is chosen; without a script."""
    orders = {
        "p-value": sorted(columns, key=lambda one: (not one.adjusted <= alpha, one.adjusted)),
        "name": sorted(columns, key=lambda one: one.name.casefold()),
        "rows that differ": sorted(columns, key=lambda one: -one.difference),
    }
    places = [{id(one): i for i, one in enumerate(order)} for order in orders.values()]
    choices = "".join(
        f'<input type="radio" name="order" id="order{k}"{" checked" * (k == 0)}><label for="order{k}">{name}</label>'
        for k, name in enumerate(orders)
    )
    lines = "".join(
        f'<details style="{";".join(f"--o{k}:{place[id(one)]}" for k, place in enumerate(places))}">'
        f'<summary class="{"moved" if one.adjusted <= alpha else "calm"}"><b>{escaped(one.name)}</b>'
        f"<span>{escaped(p_text(one.adjusted, alpha))}</span><span>{percent(one.difference)} of rows</span>"
        f"<small>{escaped(one.describe())}</small></summary>{histogram(one)}</details>"
        for one in orders["p-value"]
    )
    return f'<div class="sortable"><small>sort by </small>{choices}<div class="lines">{lines}</div></div>'


def segments_view(result: Any) -> str:
    """How many segments shifted, and what moved in each of those, for a notebook."""
    rows = "".join(
        f'<tr><th scope="row">{escaped(named(result.labels[i]))}</th><td>{int(result.num_rows[i]):,}</td>'
        f"<td>{escaped(p_text(float(result.adjusted[i]), result.alpha))}</td>"
        f"<td>{'<br>'.join(map(escaped, what_moved(result.results[i])))}</td></tr>"
        for i in result.worst_first.tolist()
        if result.reject[i]
    )
    lines = [] if result.can_call else [result.caution]
    if result.determined:
        lines.append(f"Not tested, as the segments determine them: {', '.join(result.determined)}.")
    return (
        f"<div>{_head(repr(result), bool(result.reject.any()), {})}"
        "<table><thead><tr><th>segment</th><th>rows</th><th>adjusted p</th><th>what moved</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{''.join(f'<p>{escaped(line)}</p>' for line in lines)}</div>"
    )


def notebook_view(result: Any) -> str:
    """The head of the page, the columns that moved, and the pairs whose dependence did, for a notebook."""
    moved = [one for one in result.columns if one.adjusted <= result.alpha]
    facts = {
        "p-value": p_text(result.pvalue, result.alpha).removeprefix("p ").removeprefix("= "),
        "level": f"{result.alpha:g}",
        "rows": f"{result.num_samples:,}",
        "effect size": effect_text(result),
    }
    if result.columns:
        facts["columns moved"] = f"{len(moved)} of {len(result.columns)}"
    view = _head("Shift found" if result.reject else "No shift found", result.reject, facts)
    if moved:
        view += columns_table(moved, result.alpha)
    elif result.columns:
        view += f"<p>No column moved by itself at level {result.alpha:g}.</p>"
    lines = pair_lines(result.pairs, result.alpha) or (
        dependence_lines(result) if result.columns else []
    )
    return f"<div>{view}{''.join(f'<p>{escaped(line)}</p>' for line in lines)}</div>"


def detector_view(detector: Any) -> str:
    """What a detector was fitted to, and what each column is, for a notebook."""
    rows = "".join(
        f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>"
        for row in detector.schema_.rows()
    )
    return f"<div>{_head(repr(detector), False, {})}<table><tbody>{rows}</tbody></table></div>"


def _head(title: str, is_red: bool, facts: dict[str, str]) -> str:
    """A verdict and its numbers in a box, red or green."""
    colour = "#b4231f" if is_red else "#1a6b3c"
    cells = "".join(
        f'<span style="margin-right:2em"><small>{name}</small><br>{escaped(text)}</span>'
        for name, text in facts.items()
    )
    return (
        f'<div style="border-left:6px solid {colour};padding:.4em 1em;margin:.4em 0">'
        f'<strong style="color:{colour};font-size:1.2em">{escaped(title)}</strong>'
        f'<div style="display:flex;flex-wrap:wrap;margin-top:.4em">{cells}</div></div>'
    )
