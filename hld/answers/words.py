"""Results in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hld.answers.column_shifts import percent
from hld.features.odd_rows import ODDNESS
from hld.tables.shown_names import in_one_line

LEAST_SHOWN = 1e-300  # p-values up to it are not distinguished: smaller ones are given as this
MOST_LINES = 10
DESCRIBED = 4  # of what moved in a segment in words; the rest is named
DIGITS, MOST_DIGITS = 3, 17  # of p-values
ROUNDING = 1e-9  # relative: a bound such as 0.05 is not 0.049


def p_text(pvalue: float, level: float | None = None, name: str = "p") -> str:
    """A p-value with its sign of relation, and digits enough to show on which side of a level it is."""
    if pvalue != pvalue:
        return "not tested"
    if pvalue <= LEAST_SHOWN:
        return f"{name} < {LEAST_SHOWN:g}".strip()
    digits = DIGITS
    shown = f"{pvalue:.{digits}g}"
    while (
        level is not None and digits < MOST_DIGITS and (float(shown) <= level) != (pvalue <= level)
    ):
        digits += 1
        shown = f"{pvalue:.{digits}g}"
    return f"{name} = {shown}" if name else shown


def least_text(pvalue: float) -> str:
    """A bound that no p-value is below, in two digits, rounded down so that it stays one."""
    unit = 10.0 ** (math.floor(math.log10(pvalue)) - 1)
    return f"{math.floor(pvalue / unit * (1 + ROUNDING)) * unit:.2g}"


def effect_text(result: Any) -> str:
    """The effect size: a share of rows, or with a context a distance in its own unit."""
    return f"{result.effect:.2g}" if result.context else f"{percent(result.effect)} of rows"


def headline(result: Any) -> str:
    """Verdict, p-value and effect size in one line."""
    verdict, T = "shift" if result.reject else "no shift", result.num_samples
    found = [
        f"{verdict}: {p_text(result.pvalue, result.alpha)} at level {result.alpha:g}",
        f"{T} row{'s' * (T != 1)}",
    ]
    size = f"effect size {effect_text(result)}"
    if result.context is None:
        if len(result.pvalues) == 1:
            found.append(f"distance {result.statistic:.4g} (threshold {result.threshold:.4g})")
        if result.effect_interval[0] > 0:
            size += f" (at least {percent(result.effect_interval[0])})"
    return ", ".join([*found, size])


def in_words(result: Any) -> str:
    """The verdict; and where the columns of the batch are known, which of them moved and how."""
    quality = result.data_quality
    lines = [headline(result), *([] if result.context is None else result.context.lines())]
    if quality is not None:
        lines += quality.absent_lines()
    if result.columns:
        if not result.reject and called(result.columns, result.alpha):
            lines[0] += ", yet:"
        lines += column_lines(result) + (pair_lines(result) or dependence_lines(result))
        lines += witness_lines(result)
    if quality is not None:
        lines += quality.extra_lines() + quality_lines(result)
    return "\n".join(lines)


def procedure_of(result: Any) -> str:
    """How the p-values of the columns of a result were adjusted."""
    return "Holm" if result.context is None else result.context.procedure


def called(shifts: Any, alpha: float) -> list[Any]:
    """The columns or pairs that moved, by their adjusted p-values."""
    return [one for one in shifts if one.adjusted <= alpha]


def column_rows(columns: Any, alpha: float) -> list[tuple[str, ...]]:
    """Name, p-value, size and words of each column, as text and pages show them."""
    return [
        (
            one.title,
            p_text(one.adjusted, alpha),
            f"{percent(one.difference)} of rows",
            one.describe(),
        )
        for one in columns
    ]


def column_lines(result: Any) -> list[str]:
    """Lines about the columns that moved."""
    columns, alpha, procedure = result.columns, result.alpha, procedure_of(result)
    free = [
        f"{one.title} is a covariate and not tested: {one.describe()}"
        for one in columns
        if one.adjusted != one.adjusted
    ]
    tested, moved = len(columns) - len(free), called(columns, alpha)
    said = (
        f"{len(moved)} of {tested} columns moved (p-values adjusted, {procedure}; share of rows that differ; "
        "expected -> observed):"
    )
    if not moved:
        number = f"{tested} column{'s' * (tested != 1)}"
        said = f"no column moved by itself at level {alpha:g} (p-values adjusted for {number}, {procedure})"
    return [said, *_first(_aligned(column_rows(moved, alpha))), *_first(free)]


def pair_lines(result: Any) -> list[str]:
    """Lines about the pairs of columns whose dependence changed."""
    moved = called(result.pairs, result.alpha)
    rows = [(one.title, p_text(one.adjusted, result.alpha), one.describe()) for one in moved]
    said = (
        f"dependence changed in {len(moved)} of {len(result.pairs)} pairs of columns (Cramer's V; p-values adjusted, "
        f"{procedure_of(result)}):"
    )
    return [said, *_first(_aligned(rows))] if moved else []


def dependence_lines(result: Any) -> list[str]:
    """A line about the largest change of a dependence, if that is enough for the verdict."""
    found = result.largest_dependence
    if found is None or not found.share or found.pvalue > result.scaled_alpha * found.share:
        return []
    names = [result.evidence.name_of(v) for v in found.columns]
    if any(one.name in names for one in called(result.columns, result.alpha)):
        return []
    return [
        f"the dependence of {' and '.join(map(in_one_line, names))} is not that of the reference: "
        f"{p_text(found.pvalue)} (an upper bound, for all pairs of the tree together)"
    ]


def witness_lines(result: Any) -> list[str]:
    """Lines about witnesses of whole rows that say more than columns do, and about those that were not heard."""
    scaled, least = result.scaled_alpha, min(one.adjusted for one in result.columns)
    odd = [
        f"more rows are odd by their {name} than in the reference: {p_text(one.pvalue)}"
        for name, one in result.witnesses.items()
        if name in ODDNESS and one.pvalue <= min(scaled * one.share or result.alpha, least)
    ]
    if result.witnesses and result.not_heard:
        odd.append(f"not heard here: {', '.join(result.not_heard)}")
    return odd


def moved(result: Any) -> list[Any]:
    """The columns that moved, and the pairs whose dependence did, most telling first."""
    found = called(result.columns, result.alpha) + called(result.pairs, result.alpha)
    return sorted(found, key=lambda one: one.adjusted)


def what_moved(result: Any) -> list[str]:
    """A line for each of what moved, the first ones in words; for a verdict without any, what it rests on."""
    found = moved(result)
    if not found and result.columns:
        one = result.columns[0]
        likely = f"no column by itself, most likely {one.title}: {one.describe()}"
        return dependence_lines(result) or [likely]
    lines = [f"{one.title}: {one.describe()}" for one in found[:DESCRIBED]]
    if found[DESCRIBED:]:
        lines.append(f"also {', '.join(one.title for one in found[DESCRIBED:])}")
    return lines


def quality_lines(result: Any) -> list[str]:
    """Lines about cells of another type, and about missing and new values of columns that are not called moved."""
    quality, told = result.data_quality, {one.name for one in called(result.columns, result.alpha)}
    level = result.alpha / max(1, 2 * len(quality.columns))  # two tests a column
    found: list[str] = []
    for one in quality.columns:
        lines = [] if one.is_absent else one.lines(quality.num_rows)
        if one.name not in told and one.is_notable(level):
            found += lines
        elif one.num_odd:  # the first line
            found += lines[:1]
    return _first(found)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of text, their cells below one another where they are shown."""
    widths = [max(map(len, cells)) for cells in zip(*rows[:MOST_LINES], strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _first(lines: list[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"  and {more} more"] if more > 0 else [])]
