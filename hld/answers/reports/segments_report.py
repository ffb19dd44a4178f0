"""The report of segments: how many shifted, a picture of all, and the columns behind the ones called shifted.

The report of an audit: whether detectors keep their level, and what they find.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from hld.answers.html import escaped, histogram, named
from hld.answers.reports.page import facts, heat_tables, page, reproduction, table
from hld.answers.words import effect_text, p_text, what_moved

if TYPE_CHECKING:
    from hld.answers.segments import SegmentsResult


MOST_ROWS = 500
MOST_OPENED, MOST_PICTURES = 60, 6  # segments with histograms, and histograms of each
PROCEDURES = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}


def segments_report(
    detector: Any,
    result: Any,
    *,
    batch_name: str = "the table",
    model_name: Any = "the model",
    commands: Any = (),
    digest: Any = None,
) -> str:
    """The page about a test of segments."""
    called, m = int(result.reject.sum()), len(result.labels)
    verdict = f"{called} of {m} segments shifted" if called else f"None of {m} segments shifted"
    top = (
        f'<p class="kicker">{escaped(batch_name)} by {escaped(result.by)}, against {escaped(model_name)}</p>'
        f'<section class="verdict {"shift" if called else "calm"}"><h1>{verdict}</h1>'
        f"<p>Of the segments called shifted, a share of at most {result.alpha:g} is expected to be false "
        f"({PROCEDURES[result.procedure]}).</p>"
        + ("" if result.can_call else f"<p>{escaped(result.caution)}</p>")
        + (
            f"<p>Not tested, as the segments determine them: {escaped(', '.join(result.determined))}.</p>"
            if result.determined
            else ""
        )
        + facts(
            [
                ("rows", f"{int(result.num_rows.sum()):,}"),
                ("segments", f"{m:,}"),
                ("level", f"{result.alpha:g}"),
                ("smallest adjusted p", _pvalue(result.adjusted.min(), result.alpha)),
            ]
        )
        + "</section>"
    )
    legend = (
        '<p class="legend"><span><i style="background:var(--shift)"></i>shifted (round)</span><span>'
        '<i style="background:var(--calm-soft);border:1px solid var(--calm)"></i>no shift (square)</span></p>'
    )
    return page(
        f"{verdict}: {batch_name}",
        [
            top,
            _moved(result),
            f"<h2>All segments</h2>{legend}",
            picture(result),
            _table(result),
            reproduction(commands, digest=digest),
        ],
    )


def picture(result: SegmentsResult) -> str:
    """A calendar where the labels are days, else one mark for each segment in order."""
    days = [_day(label) for label in result.labels]
    if all(days):
        return _calendar(dict(zip(days, range(len(days)), strict=True)), result)
    marks = "".join(_mark(result, i) for i in range(len(result.labels)))
    return f'<div class="segments">{marks}</div>'


def _calendar(at: dict[Any, int], result: SegmentsResult) -> str:
    """A row for each month, a mark for each day of it."""
    months = sorted({(day.year, day.month) for day in at})
    rows = []
    for year, month in months:
        cells = "".join(
            f"<td>{_mark(result, at[day]) if (day := _date(year, month, d)) in at else ''}</td>"
            for d in range(1, 32)
        )
        rows.append(f'<tr><th scope="row">{year}-{month:02d}</th>{cells}</tr>')
    head = "".join(f"<th>{d if d % 5 == 0 or d == 1 else ''}</th>" for d in range(1, 32))
    return (
        f'<div class="scroll"><table class="calendar"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _mark(result: SegmentsResult, i: int) -> str:
    """The mark of one segment, its numbers where the pointer rests."""
    pvalue, count = p_text(float(result.adjusted[i]), result.alpha), int(result.num_rows[i])
    said = f"{named(result.labels[i])}: adjusted {pvalue}, {count} row{'s' * (count != 1)}"
    shift = ' class="shift"' if result.reject[i] else ""
    return f'<span{shift} title="{escaped(said)}"></span>'


def _moved(result: SegmentsResult) -> str:
    """What moved in each segment that is called, the worst first, with histograms on demand."""
    called = [i for i in result.worst_first.tolist() if result.reject[i]]
    if not called:
        return ""
    cards = "".join(_card(result, i, i in called[:MOST_OPENED]) for i in called)
    return f'<h2>What moved</h2><div class="grid">{cards}</div>'


def _card(result: SegmentsResult, i: int, has_pictures: bool) -> str:
    """One of these segments."""
    found = result.results[i]
    columns = [one for one in found.columns if one.adjusted <= found.alpha][:MOST_PICTURES]
    pictures = "".join(f"<h3>{escaped(one.name)}</h3>{histogram(one)}" for one in columns)
    pairs = [one for one in found.pairs if one.adjusted <= found.alpha][:MOST_PICTURES]
    pictures += "".join(
        f"<h3>{escaped(' and '.join(one.names))}</h3>{heat_tables(one)}" for one in pairs
    )
    return (
        f'<article class="card"><header><h3 class="day">{escaped(named(result.labels[i]))}</h3><span class="p">'
        f"adjusted {escaped(p_text(float(result.adjusted[i]), result.alpha))}</span></header>"
        f"<p><small>{int(result.num_rows[i]):,} rows, effect size {escaped(effect_text(found))}</small></p>"
        + "".join(f"<p>{escaped(line)}</p>" for line in what_moved(found))
        + (
            f"<details><summary>expected and observed</summary>{pictures}</details>"
            if pictures and has_pictures
            else ""
        )
        + "</article>"
    )


def _table(result: SegmentsResult) -> str:
    """Segments by their p-value."""
    order = result.worst_first[:MOST_ROWS].tolist()
    rows = [
        (
            named(result.labels[i]),
            f"{int(result.num_rows[i]):,}",
            _pvalue(result.pvalues[i]),
            _pvalue(result.adjusted[i], result.alpha),
            effect_text(result.results[i]),
            "shift" if result.reject[i] else "no shift",
        )
        for i in order
    ]
    is_cut = len(result.labels) > MOST_ROWS
    more = f"<p>The first {MOST_ROWS} of {len(result.labels)} are listed.</p>" if is_cut else ""
    return f"<h2>Segments by p-value</h2>{more}" + table(
        (result.by, "rows", "p", "adjusted p", "effect size", "verdict"), rows
    )


def _pvalue(p: Any, level: float | None = None) -> str:
    """A p-value under a heading that says what it is, with digits enough to show on which side of a level it is."""
    return p_text(float(p), level).removeprefix("p ").removeprefix("= ")


def _day(label: str) -> Any:
    """The date that a label of the form 2026-03-07 names, or None."""
    try:
        day = datetime.date.fromisoformat(label)
    except ValueError:
        return None
    return (
        day if day.isoformat() == label else None
    )  # Python 3.11 also reads 2026-W10-6 and 20260307


def _date(year: int, month: int, day: int) -> Any:
    """A date, or None where there is none."""
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def audit_report(result: Any, *, table_name: Any = "the table", commands: Any = ()) -> str:
    """The page about an audit."""
    kept = result.keeps_level
    bad, known = False in kept.values(), None not in kept.values()
    verdict = "Too many alarms" if bad else "Level kept" if known else "Level not known"
    colour = "shift" if bad or not known else "calm"
    top = (
        f'<p class="kicker">audit on {escaped(table_name)}</p><section class="verdict {colour}">'
        f"<h1>{verdict}</h1><p>At level {result.alpha:g} a detector may alarm on {100 * result.alpha:g} % of "
        "batches in which nothing has shifted.  Intervals are 95 %, by Clopper and Pearson.</p>"
        + facts(
            [
                ("rows", f"{result.num_held_out:,}"),
                ("detectors", str(len(kept))),
                ("level", f"{result.alpha:g}"),
            ]
        )
        + "</section>"
    )
    parts = [top]
    for name, keeps in kept.items():
        rows = [
            (
                row.situation,
                f"{row.num_rows:,}",
                f"{row.num_alarms} of {row.num_batches}",
                f"{100 * row.rate:.3g} %",
                f"{100 * row.low:.3g} to {100 * row.high:.3g} %",
                "yes" if row.is_reused else "no",
            )
            for row in result.rows
            if row.detector == name
        ]
        said = (
            "alarms too often, or these rows differ from those that it learned"
            if keeps is False
            else result.verdict(name)
        )
        note = f"<p>{escaped(result.notes[name])}.</p>" if name in result.notes else ""
        parts.append(
            f"<h2>{escaped(name)}: {said}</h2>{note}"
            + table(("batches", "rows each", "alarms", "share", "interval", "share rows"), rows)
        )
    parts.append(
        '<p class="soft">If batches in the order of the table alarm more often than unshifted ones, the '
        "table itself drifts.  Batches that share rows are dependent, so their interval is too narrow.</p>"
    )
    return page(f"{verdict}: audit on {table_name}", [*parts, reproduction(commands)])
