"""Results in words."""

from __future__ import annotations

import math
from typing import Any

from hld.answers.column_shifts import ColumnShift, percent
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
    if level is not None:
        while digits < MOST_DIGITS and (float(f"{pvalue:.{digits}g}") <= level) != (
            pvalue <= level
        ):
            digits += 1
    return f"{name} = {pvalue:.{digits}g}" if name else f"{pvalue:.{digits}g}"


def least_text(pvalue: float) -> str:
    """A bound that no p-value is below, in two digits, rounded down so that it stays one."""
    unit = 10.0 ** (math.floor(math.log10(pvalue)) - 1)
    return f"{math.floor(pvalue / unit * (1 + ROUNDING)) * unit:.2g}"


def effect_text(result: Any) -> str:
    """The effect size: a share of rows, or with a context a distance in its own unit."""
    return f"{result.effect:.2g}" if result.context else f"{percent(result.effect)} of rows"


def headline(result: Any) -> str:
    """Verdict, p-value and effect size in one line."""
    verdict, T, least = "shift" if result.reject else "no shift", result.num_samples, ""
    found = [
        f"{verdict}: {p_text(result.pvalue, result.alpha)} at level {result.alpha:g}",
        f"{T} row{'s' * (T != 1)}",
    ]
    if result.context is None:
        if len(result.pvalues) == 1:
            found.append(f"distance {result.statistic:.4g} (threshold {result.threshold:.4g})")
        if result.effect_interval[0] > 0:
            least = f" (at least {percent(result.effect_interval[0])})"
    return ", ".join([*found, f"effect size {effect_text(result)}{least}"])


def in_words(result: Any) -> str:
    """The verdict; and where the columns of the batch are known, which of them moved and how."""
    quality, alpha = result.data_quality, result.alpha
    lines = [headline(result), *([] if result.context is None else result.context.lines())]
    if quality is not None:
        lines += quality.absent_lines()
    if result.columns:
        procedure = procedure_of(result)
        lines += column_lines(result.columns, alpha, procedure)
        lines += pair_lines(result.pairs, alpha, procedure) or dependence_lines(result)
        lines += witness_lines(result)
        if not result.reject and called(result.columns, alpha):
            lines[0] += ", yet:"
    if quality is not None:
        lines += quality.extra_lines()
        lines += quality_lines(quality, result.columns or (), alpha)
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
            in_one_line(one.name),
            p_text(one.adjusted, alpha),
            f"{percent(one.difference)} of rows",
            one.describe(),
        )
        for one in columns
    ]


def column_lines(
    columns: tuple[ColumnShift, ...], alpha: float, procedure: str = "Holm"
) -> list[str]:
    """Lines about the columns that moved."""
    free = [
        f"{in_one_line(one.name)} is a covariate and not tested: {one.describe()}"
        for one in columns
        if one.adjusted != one.adjusted
    ]
    tested, moved = len(columns) - len(free), called(columns, alpha)
    if not moved:
        number = f"{tested} column{'s' * (tested != 1)}"
        return [
            f"no column moved by itself at level {alpha:g} (p-values adjusted for {number}, {procedure})",
            *_first(free),
        ]
    return [
        f"{len(moved)} of {tested} columns moved (p-values adjusted, {procedure}; share of rows that differ; "
        "expected -> observed):",
        *_first(_aligned(column_rows(moved, alpha))),
        *_first(free),
    ]


def pair_rows(pairs: Any, alpha: float) -> list[tuple[str, ...]]:
    """Names, p-value and words of each pair, as text and pages show them."""
    return [
        (" and ".join(map(in_one_line, one.names)), p_text(one.adjusted, alpha), one.describe())
        for one in pairs
    ]


def pair_lines(pairs: tuple[Any, ...], alpha: float, procedure: str = "Holm") -> list[str]:
    """Lines about the pairs of columns whose dependence changed."""
    moved = called(pairs, alpha)
    if not moved:
        return []
    return [
        f"dependence changed in {len(moved)} of {len(pairs)} pairs of columns (Cramer's V; p-values adjusted, "
        f"{procedure}):",
        *_first(_aligned(pair_rows(moved, alpha))),
    ]


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


def moved(result: Any) -> list[tuple[tuple[str, ...], Any]]:
    """Names and shift of the columns that moved, and of the pairs whose dependence did, most telling first."""
    found = [((one.name,), one) for one in called(result.columns, result.alpha)]
    found += [(one.names, one) for one in called(result.pairs, result.alpha)]
    return sorted(found, key=lambda entry: entry[1].adjusted)


def what_moved(result: Any) -> list[str]:
    """A line for each of what moved, the first ones in words; for a verdict without any, what it rests on."""
    found = [(" with ".join(map(in_one_line, names)), one) for names, one in moved(result)]
    if not found and result.columns:
        one = result.columns[0]
        likely = f"no column by itself, most likely {in_one_line(one.name)}: {one.describe()}"
        return dependence_lines(result) or [likely]
    lines = [f"{name}: {one.describe()}" for name, one in found[:DESCRIBED]]
    if found[DESCRIBED:]:
        lines.append(f"also {', '.join(name for name, _ in found[DESCRIBED:])}")
    return lines


def quality_lines(quality: Any, columns: tuple[ColumnShift, ...], alpha: float) -> list[str]:
    """Lines about cells of another type, and about missing and new values of columns that are not called moved."""
    told = {one.name for one in called(columns, alpha)}
    level = alpha / max(1, 2 * len(quality.columns))  # two tests a column
    found: list[str] = []
    for one in quality.columns:
        lines = [] if one.is_absent else one.lines(quality.num_rows)
        if one.name not in told and one.is_notable(level):
            found += lines
        elif one.num_odd:  # the first line
            found += lines[:1]
    return _first(found)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows of text, their cells below one another where they are shown."""
    widths = [max(map(len, cells)) for cells in zip(*rows[:MOST_LINES], strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return [f"  {line}".rstrip() for line in lines]


def _first(lines: list[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"  and {more} more"] if more > 0 else [])]
