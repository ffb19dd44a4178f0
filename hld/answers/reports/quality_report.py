"""The report on drawn rows: four numbers, the columns and pairs that agree least, and the distance to training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.column_shifts import percent, tenths
from hld.answers.html import escaped, histogram
from hld.answers.reports.page import facts, page, table
from hld.answers.words import p_text

if TYPE_CHECKING:
    from hld.answers.reports.quality import SampleQuality

WORST = 6
LEGEND = (
    '<p class="legend"><span><i style="background:var(--expected)"></i>real (upper bar)</span>'
    '<span><i style="background:var(--observed)"></i>drawn (lower bar)</span></p>'
)


def quality_report(quality: Any, *, model_name: str = "the model") -> str:
    """The page on how good drawn rows are."""
    trend = "-" if quality.trend is None else tenths(quality.trend)
    told = facts(
        [
            ("rows drawn", f"{quality.num_rows:,}"),
            ("columns agree", tenths(quality.shape)),
            ("pairs agree", trend),
            (
                "classifier AUC (0.5 is chance)",
                "-" if quality.auc is None else f"{quality.auc:.2f}",
            ),
            ("test of the rows", p_text(quality.result.pvalue)),
        ]
    )
    verdict = "shift" if quality.result.reject else "calm"
    words = (
        "The model's own test distinguishes the drawn rows from the rows that it keeps as reference."
        if quality.result.reject
        else "The model's own test does not distinguish the drawn rows from real ones."
    )
    worst = sorted(quality.columns, key=quality.columns.get)[:WORST]
    shown = {one.name: one for one in quality.result.columns}
    cards = "".join(
        f'<article class="card"><header><h3>{escaped(name)}</h3><span class="p">agreement '
        f"{tenths(quality.columns[name])}</span></header>{histogram(shown[name])}</article>"
        for name in worst
        if name in shown
    )
    pairs = sorted(quality.pairs, key=quality.pairs.get)[:WORST]
    rows = [(" and ".join(pair), tenths(quality.pairs[pair])) for pair in pairs]
    return page(
        f"Drawn rows of {model_name}",
        [
            f'<p class="kicker">rows drawn from {escaped(model_name)}</p><section class="verdict {verdict}">'
            f"<h1>Drawn rows</h1><p>{words}</p>{told}</section>",
            "<p><small>Agreement is one less the total variation distance of frequencies; the test and the histograms "
            "compare with the reference rows whose counts the model keeps, the other numbers with real rows if "
            "they were given.</small></p>",
            f'<h2>Columns that agree least</h2>{LEGEND}<div class="grid">{cards}</div>',
            "<h2>Pairs that agree least</h2>" + table(("pair", "agreement"), rows) if rows else "",
            _closest(quality),
        ],
    )


def _closest(quality: SampleQuality) -> str:
    """Distances to the closest training row."""
    if quality.closest is None:
        return ""
    rows = [
        (
            name,
            f"{np.quantile(d, 0.05):.3g}",
            f"{np.median(d):.3g}",
            percent(float((d == 0).mean())),
        )
        for name, d in (("drawn rows", quality.closest), ("real rows", quality.real_closest))
        if d is not None
    ]
    return (
        "<h2>Distance to the closest training row</h2><p>From 0 (identical) to 1. Drawn rows much closer than real "
        "rows that were not used in training would be copies.</p>"
        + table(("", "5% quantile", "median", "identical"), rows)
    )
