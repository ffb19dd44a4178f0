"""The report of an audit: whether detectors keep their level, and what they find."""

from __future__ import annotations

from typing import Any

from hld.answers.html import escaped
from hld.answers.reports.page import facts, page, reproduction, table


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
