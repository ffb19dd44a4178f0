"""Results in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.column_shifts import UNSEEN, percent
from hld.features.odd_rows import ODDNESS
from hld.tables.shown_names import in_one_line

if TYPE_CHECKING:
    from hld.answers.column_shifts import ColumnShift

LEAST_SHOWN = 1e-300  # p-values up to it are not distinguished: smaller ones are given as this
MOST_LINES = 10
DESCRIBED = 4  # of what moved in a segment in words; the rest is named
DIGITS, MOST_DIGITS = 3, 17  # of p-values
ROUNDING = 1e-9  # relative: a bound such as 0.05 is not 0.049


def p_text(pvalue: float, level: float | None = None) -> str:
    """A p-value with its sign of relation, and digits enough to show on which side of a level it is."""
    if pvalue != pvalue:
        return "not tested"
    digits = DIGITS
    while (
        level is not None
        and digits < MOST_DIGITS
        and (float(f"{pvalue:.{digits}g}") <= level) != (pvalue <= level)
    ):
        digits += 1
    return f"p = {pvalue:.{digits}g}" if pvalue > LEAST_SHOWN else f"p < {LEAST_SHOWN:g}"


def least_text(pvalue: float) -> str:
    """A bound that no p-value is below, in two digits, rounded down so that it stays one."""
    unit = 10.0 ** (math.floor(math.log10(pvalue)) - 1)
    return f"{math.floor(pvalue / unit * (1 + ROUNDING)) * unit:.2g}"


def effect_text(result: Any) -> str:
    """The effect size: a share of rows, or with a context a distance in its own unit."""
    return f"{result.effect:.2g}" if result.context else f"{percent(result.effect)} of rows"


def headline(result: Any) -> str:
    """Verdict, p-value and effect size in one line."""
    found = [
        f"{'shift' if result.reject else 'no shift'}: {p_text(result.pvalue, result.alpha)} at level "
        f"{result.alpha:g}, "
        f"{result.num_samples} row{'s' * (result.num_samples != 1)}"
    ]
    if len(result.pvalues) == 1 and result.context is None:
        found.append(f"distance {result.statistic:.4g} (threshold {result.threshold:.4g})")
    low = 0.0 if result.context is not None else result.effect_interval[0]
    least = f" (at least {percent(low)})" if low > 0 else ""
    found.append(f"effect size {effect_text(result)}{least}")
    return ", ".join(found)


def in_words(result: Any) -> str:
    """The verdict; and where the columns of the batch are known, which of them moved and how."""
    lines = [headline(result), *([] if result.context is None else result.context.lines())]
    if result.data_quality is not None:
        lines += result.data_quality.absent_lines()
    if result.columns:
        lines += column_lines(result.columns, result.alpha, procedure_of(result))
        lines += familiar_lines(result.columns, result.alpha)
        lines += pair_lines(result.pairs, result.alpha, procedure_of(result)) or dependence_lines(
            result
        )
        lines += witness_lines(result)
        if not result.reject and any(one.adjusted <= result.alpha for one in result.columns):
            lines[0] += ", yet:"
    if result.data_quality is not None:
        lines += result.data_quality.extra_lines()
        lines += quality_lines(result.data_quality, result.columns or (), result.alpha)
    return "\n".join(lines)


def procedure_of(result: Any) -> str:
    """How the p-values of the columns of a result were adjusted."""
    return "Holm" if result.context is None else result.context.procedure


def column_lines(
    columns: tuple[ColumnShift, ...], alpha: float, procedure: str = "Holm"
) -> list[Any]:
    """Lines about the columns that moved."""
    moved = [one for one in columns if one.adjusted <= alpha]
    tested = [one for one in columns if one.adjusted == one.adjusted]
    free = [
        f"{in_one_line(one.name)} is a covariate and not tested: {one.describe()}"
        for one in columns
        if one.adjusted != one.adjusted
    ]
    if not moved:
        number = f"{len(tested)} columns" if len(tested) != 1 else "1 column"
        return [
            f"no column moved by itself at level {alpha:g} (p-values adjusted for {number}, {procedure})",
            *free[:MOST_LINES],
            *_more(free),
        ]
    rows = [
        (
            in_one_line(one.name),
            p_text(one.adjusted, alpha),
            f"{percent(one.difference)} of rows",
            one.describe(),
        )
        for one in moved[:MOST_LINES]
    ]
    return [
        f"{len(moved)} of {len(tested)} columns moved (p-values adjusted, {procedure}; share of rows that differ; "
        "expected -> observed):",
        *_aligned(rows),
        *_more(moved),
        *free[:MOST_LINES],
        *_more(free),
    ]


def familiar_lines(columns: tuple[ColumnShift, ...], alpha: float) -> list[str]:
    """A line where columns moved because few of their values are new: as in rows that were learned from.

    Levels come from rows that the reference does not have, so that a part of its values is new to the model.  In the
    rows that were learned from none is, by construction: they are no test.
    """
    found = []
    for one in columns:
        at = len(one.labels) - 2  # before missing cells, also where a level has the same text
        is_new = one.adjusted <= alpha and one.labels[at] == UNSEEN
        fewer, holes = np.subtract(one.expected[at:], one.observed[at:])
        if is_new and fewer > one.difference / 2 and -holes <= one.difference / 2:  # not lacking
            found.append(in_one_line(one.name))
    if not found:
        return []
    return [
        f"few values are new to the model in {', '.join(found[:3])}{', ...' if len(found) > 3 else ''}, fewer than "
        "in rows held out: rows that it was fitted to look like this, and testing these says nothing"
    ]


def pair_lines(pairs: tuple[Any, ...], alpha: float, procedure: str = "Holm") -> list[Any]:
    """Lines about the pairs of columns whose dependence changed."""
    moved = [one for one in pairs if one.adjusted <= alpha]
    if not moved:
        return []
    rows = [
        (" and ".join(map(in_one_line, one.names)), p_text(one.adjusted, alpha), one.describe())
        for one in moved[:MOST_LINES]
    ]
    return [
        f"dependence changed in {len(moved)} of {len(pairs)} pairs of columns (Cramer's V; p-values adjusted, "
        f"{procedure}):",
        *_aligned(rows),
        *_more(moved),
    ]


def dependence_lines(result: Any) -> list[Any]:
    """A line about the largest change of a dependence, if that is enough for the verdict."""
    found = result.largest_dependence
    if found is None or not found.share or found.pvalue > result.scaled_alpha * found.share:
        return []
    names = [result.evidence.name_of(v) for v in found.columns]
    both = " and ".join(map(in_one_line, names))
    if any(one.adjusted <= result.alpha and one.name in names for one in result.columns):
        return []
    change = "stronger" if not found.is_weaker else "weaker"
    if found.is_weaker and result.evidence.is_opposed(names):
        change = "between other values"
    return [
        f"the dependence of {both} is {change} than in the reference: "
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
    found = [((one.name,), one) for one in result.columns]
    found += [(one.names, one) for one in result.pairs]
    return sorted(
        (entry for entry in found if entry[1].adjusted <= result.alpha),
        key=lambda entry: entry[1].adjusted,
    )


def what_moved(result: Any) -> list[str]:
    """A line for each of what moved, the first ones in words; for a verdict without any, what it rests on."""
    found = [(" with ".join(map(in_one_line, names)), one) for names, one in moved(result)]
    if not found and result.columns:
        one = result.columns[0]
        likely = f"no column by itself, most likely {in_one_line(one.name)}: {one.describe()}"
        return dependence_lines(result) or [likely]
    rest = ", ".join(name for name, _ in found[DESCRIBED:])
    lines = [f"{name}: {one.describe()}" for name, one in found[:DESCRIBED]]
    return [*lines, f"also {rest}"] if rest else lines


def quality_lines(quality: Any, columns: tuple[ColumnShift, ...], alpha: float) -> list[Any]:
    """Lines about cells of another type, and about missing and new values of columns that are not called moved."""
    told = {one.name for one in columns if one.adjusted <= alpha}
    level = alpha / max(1, 2 * len(quality.columns))  # two tests a column
    found: list[str] = []
    for one in quality.columns:
        lines = [] if one.is_absent else one.lines(quality.num_rows)
        if one.name not in told and one.is_notable(level):
            found += lines
        elif one.num_odd:  # the first line
            found += lines[:1]
    return found[:MOST_LINES] + _more(found)


def _aligned(rows: Any) -> list[Any]:
    """Rows of text, their cells below one another."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _more(found: list[Any]) -> list[Any]:
    """How many are not listed."""
    return [f"  and {len(found) - MOST_LINES} more"] if len(found) > MOST_LINES else []
