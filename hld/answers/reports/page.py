"""One page of HTML: its frame, which fetches nothing and runs nothing.

Pictures of a page, drawn as inline SVG and as tables of colour.
"""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import percent
from hld.answers.html import escaped, named
from pcircuit.io.whole_file import replace_file

if TYPE_CHECKING:
    from hld.answers.pair_shifts import PairShift


SHORT, NOWRAP = 12, ' class="day"'  # letters of a heading that is not broken, such as a date
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(title: str, sections: list[str]) -> str:
    """A whole document."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><meta name="generator" content="hld '
        f'{escaped(pcircuit.__version__)}"><title>{escaped(title)}</title><style>{STYLE}</style></head>\n'
        f"<body><main>\n" + "\n".join(sections) + "\n</main></body></html>\n"
    )


def reproduction(commands: Sequence[str], facts: str = "", digest: str | None = None) -> str:
    """The section that says how to get the same numbers again."""
    lines = [*commands, f"# hld {pcircuit.__version__}{facts}"]
    lines += [f"# SHA-256 of the model file: {digest}"] if digest else []
    return f"<h2>How to reproduce</h2><pre>{escaped_lines(chr(10).join(lines))}</pre>"


def escaped_lines(text: str) -> str:
    """Lines of text, each escaped."""
    return "\n".join(map(escaped, text.split("\n")))


def write_page(text: str, path: str) -> None:
    """Write a document to a file, whole or not at all."""
    with replace_file(pathlib.Path(path)) as file:
        file.write(text.encode("utf-8"))


def facts(pairs: list[Any]) -> str:
    """Names with values, as a list of definitions, both escaped here."""
    inner = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in pairs
    )
    return f'<dl class="facts">{inner}</dl>'


def table(header: tuple[str, ...], rows: list[Any]) -> str:
    """A table of plain cells, escaped here; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row"{NOWRAP * (len(str(row[0])) <= SHORT)}>{escaped(row[0])}</th>'
        + "".join(f"<td>{escaped(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d2430; --soft: #5a6372; --line: #e2e0da;
  --expected: #8a8f98; --observed: #1f6feb; --shift: #b4231f; --shift-soft: #fdeceb; --calm: #1a6b3c;
  --calm-soft: #e8f5ec; --heat: 31, 111, 235; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171c; --card: #1c2027; --ink: #e8eaed; --soft: #a3abb8; --line: #2e343e;
  --expected: #868e9b; --observed: #6ea8fe; --shift: #ff9a92; --shift-soft: #3a2022; --calm: #7ddba0;
  --calm-soft: #1b3325; --heat: 110, 168, 254; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.55;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.8rem 0 .3rem; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .4rem 0 .8rem; max-width: 46rem; overflow-wrap: anywhere; }
.soft { color: var(--soft); } small { color: var(--soft); font-size: .85rem; }
.kicker { color: var(--soft); font-size: .85rem; margin: 0 0 .6rem; }
.verdict { border-radius: 14px; padding: 1.5rem 1.6rem 1.3rem; background: var(--calm-soft);
  border-left: 6px solid var(--calm); }
.verdict.shift { background: var(--shift-soft); border-color: var(--shift); }
.verdict h1 { color: var(--calm); } .verdict.shift h1 { color: var(--shift); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 1rem; margin: 1.2rem 0 0; }
.facts div { min-width: 0; } .facts dt { color: var(--soft); font-size: .82rem; }
.facts dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); gap: 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.1rem;
  min-width: 0; break-inside: avoid; }
.card header { display: flex; justify-content: space-between; gap: .8rem; align-items: baseline; }
.card .p { white-space: nowrap; color: var(--soft); font-size: .85rem; font-variant-numeric: tabular-nums; }
.card p { font-size: .92rem; margin: .2rem 0 .7rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .value, svg .axis { fill: var(--soft); font-variant-numeric: tabular-nums; font-size: 11px; }
svg .expected { fill: var(--expected); } svg .observed { fill: var(--observed); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; color: var(--soft); font-size: .85rem;
  margin: .3rem 0 .9rem; }
.legend i { display: inline-block; width: 1.1rem; height: .6rem; margin-right: .4rem; border-radius: 2px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .42rem .7rem .42rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { color: var(--soft); font-weight: 500; font-size: .82rem; }
tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 6rem; }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; min-width: 4.8rem; }
tr.moved th { color: var(--shift); }
.day { white-space: nowrap; }
.sortable input { accent-color: var(--observed); margin: 0 .3rem 0 .8rem; } .sortable label { font-size: .85rem; }
.lines { display: flex; flex-direction: column; margin-top: .5rem; }
.lines details { border-bottom: 1px solid var(--line); padding: .4rem 0; } .lines svg { max-width: 28rem; }
#order0:checked ~ .lines details { order: var(--o0); } #order1:checked ~ .lines details { order: var(--o1); }
#order2:checked ~ .lines details { order: var(--o2); }
.lines summary { color: var(--ink); display: grid; grid-template-columns: 11rem 8rem 7rem 1fr; gap: .2rem .8rem;
  font-size: .9rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.lines summary.moved b { color: var(--shift); }
.heats { display: flex; flex-wrap: wrap; gap: .8rem 1.6rem; }
.heats > div { min-width: 0; max-width: 100%; overflow-x: auto; }
.heat { width: auto; max-width: 100%; }
.heat td, .heat th { padding: .3rem .5rem; border: 0; font-size: .78rem; font-weight: 400; }
.heat td { text-align: right; white-space: nowrap; min-width: 0; }
.heat th { color: var(--soft); min-width: 0; }
.heat caption { text-align: left; color: var(--soft); font-size: .8rem; padding-bottom: .2rem; }
.segments { display: flex; flex-wrap: wrap; gap: 3px; margin: .6rem 0 1.2rem; }
.segments span { width: 18px; height: 18px; border-radius: 3px; background: var(--calm-soft);
  border: 1px solid var(--calm); }
.segments .shift { background: var(--shift); border-color: var(--shift); border-radius: 9px; }
.calendar { width: auto; } .calendar td { min-width: 0; width: 24px; height: 22px; padding: 2px; border: 0; }
.calendar th { padding: 2px .6rem 2px 0; border: 0; font-size: .78rem; font-weight: 400; color: var(--soft); }
.calendar span { display: block; width: 18px; height: 18px; border-radius: 3px; border: 1px solid var(--calm);
  background: var(--calm-soft); }
.calendar .shift { background: var(--shift); border-color: var(--shift); border-radius: 9px; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1rem;
  font-size: .85rem;  white-space: pre-wrap; overflow-wrap: anywhere; }
details summary { cursor: pointer; color: var(--soft); }
@media (max-width: 34rem) { main { padding: 1rem .8rem 3rem; } .verdict { padding: 1.1rem 1rem; }
  h1 { font-size: 1.5rem; } .facts { grid-template-columns: 1fr 1fr; }
  .lines summary { grid-template-columns: 1fr auto auto; } .lines summary small { grid-column: 1 / -1; } }
@media print { :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ccc;
  --expected: #888; --observed: #1f4f9e; --shift: #a01010; --shift-soft: #fff; --calm: #145c30; --calm-soft: #fff;
  --heat: 31, 79, 158; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { background: none; font-size: 10.5pt; line-height: 1.4; } main { max-width: none; padding: 0; }
  h1 { font-size: 17pt; } h2 { font-size: 13pt; margin-top: 1.4rem; } h3 { font-size: 11pt; }
  h1, h2, h3, .card header, .legend, caption, summary { break-after: avoid; }
  .verdict, .card, .facts, .segments, tr, svg, pre, .heats > div { break-inside: avoid; }
  p { orphans: 3; widows: 3; max-width: none; } thead { display: table-header-group; }
  .verdict { border: 1px solid var(--calm); border-left-width: 6px; padding: .8rem 1rem; }
  .grid { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: .6rem; } .card { padding: .6rem .7rem; }
  .card > svg { max-width: 22rem; }
  th, td, caption, .heat td { overflow-wrap: anywhere; white-space: normal; min-width: 0; }
  .calendar td { width: 17px; padding: 1px; } .calendar span { width: 14px; height: 14px; }
  .scroll, .heats > div { overflow: visible; } pre { overflow: visible; break-inside: auto; }
  details { display: block; } details::details-content { content-visibility: visible; display: block; height: auto; }
  details > summary { list-style: none; } }
@page { size: auto; margin: 16mm 14mm; }
"""


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
