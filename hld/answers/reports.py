"""Pages for people, one file of HTML each, which fetches nothing and runs nothing; and views in a notebook.

Names of columns and levels are text from outside: everything goes through `escaped`.

The report of a test is what a colleague needs to check it: verdict and size first; then which columns moved and how and
where dependence changed, the clearer of the two first; then the data quality, each test, the model, and how to
reproduce it all.  The report of segments has how many shifted, a picture of all, and the columns behind the ones called
shifted; that of an audit whether detectors keep their level, and what they find.
"""

import html
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import pcircuit
from hld.answers.column_shifts import ColumnShift, percent
from hld.answers.dependences import PairShift
from hld.answers.plots import shown_levels
from hld.answers.words import (
    called,
    column_rows,
    dependence_lines,
    effect_text,
    moved,
    p_text,
    pair_lines,
    procedure_of,
    what_moved,
)
from hld.tables.shown_names import listed, printable
from pcircuit.io.whole_file import replace_file

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SHORT = 12  # letters of a heading that is not broken, such as a date
MOST_CARDS = 24
MOST_NAMED = 6  # columns and pairs in the verdict
MOST_ROWS = 500  # of the table of segments
MOST_OPENED, MOST_PICTURES = 60, 6  # segments with pictures, and pictures of each
PLAIN = {
    "euclidean": "all nodes alike",
    "standardized": "each node by its spread",
    "marginals": "columns by themselves",
    "whitened": "directions of small spread",
    "whitened_fine": "directions of very small spread",
    "ordered": "ordered columns by themselves",
    "score": "use of each parameter",
    "weights": "weighted nodes",
    "largest_count": "single counts",
    "largest_dependence": "single dependences",
    "magnitude": "extreme numbers",
    "likelihood": "unlikely rows",
}
LEGEND = (
    '<p class="legend"><span><i style="background:var(--expected)"></i>expected (upper bar)</span>'
    '<span><i style="background:var(--observed)"></i>observed (lower bar)</span></p>'
)
SEGMENTS_LEGEND = (
    '<p class="legend"><span><i style="background:var(--shift)"></i>shifted (round)</span><span>'
    '<i style="background:var(--calm-soft);border:1px solid var(--calm)"></i>no shift (square)</span></p>'
)


def batch_report(
    detector: Any,
    result: Any,
    *,
    batch_name: str = "the batch",
    model_name: str = "the model",
    commands: Sequence[str] = (),
    digest: str | None = None,
) -> str:
    """The page about one test."""
    parts = [_columns(result), _pairs(result)]
    if any(len(one.names) > 1 for one in moved(result)[:1]):
        parts.reverse()
    rows = f"{result.num_samples:,} row{'s' * (result.num_samples != 1)}"
    quality = str(result.data_quality).split("\n")[1:]
    return page(
        f"{'Shift' if result.reject else 'No shift'}: {batch_name}",
        [
            _verdict(result, f"{batch_name} against {model_name}"),
            *parts,
            f"<h2>Data quality</h2>{preformatted(quality or ['nothing differs from training'])}",
            _tests(result),
            f"<h2>Model</h2>{preformatted(detector.describe().split(chr(10)))}",
            reproduction(commands, f", null {result.null}, {rows}", digest),
        ],
    )


def _verdict(result: Any, kicker: str) -> str:
    """The box on top."""
    words = [
        "The batch no longer follows the distribution that the model learned."
        if result.reject
        else "The batch gives no evidence against the distribution that the model learned."
    ]
    by_itself = "Moved" if result.reject else "Yet by themselves moved"
    for said, shifts in ((by_itself, result.columns), ("Dependence changed", result.pairs)):
        names = [" and ".join(one.names) for one in called(shifts, result.alpha)]
        if names:
            words.append(f"{said}: {listed(names, MOST_NAMED, is_quoted=False)}.")
    return verdict(kicker, _found(result), result.reject, words, _facts(result))


def _found(result: Any) -> str:
    """The verdict in two words."""
    return "Shift found" if result.reject else "No shift found"


def _facts(result: Any) -> dict[str, str]:
    """The numbers of a verdict."""
    return {
        "p-value": p_text(result.pvalue, result.alpha, ""),
        "level": f"{result.alpha:g}",
        "rows": f"{result.num_samples:,}",
        "effect size": effect_text(result),
    }


def _columns(result: Any) -> str:
    """A line for each column, which opens to its histogram; those of the first that moved are open."""
    columns, num_moved = result.columns, len(called(result.columns, result.alpha))
    if not columns:
        return (
            "<h2>Columns</h2><p>The model file holds no counts of its columns, or tests no column by itself: fit"
            " it again to see how they moved.</p>"
        )
    lines = ""
    for i, cells in enumerate(column_rows(columns, result.alpha)):
        name, p, size, words = map(escaped, cells)
        kind = "moved" if i < num_moved else "calm"  # which are behind them
        lines += (
            f"<details{' open' * (i < min(num_moved, MOST_CARDS))}><summary class={kind!r}><b>{name}</b>"
            f"<span>{p}</span><span>{size}</span><small>{words}</small></summary>{histogram(columns[i])}</details>"
        )
    tested = sum(one.adjusted == one.adjusted for one in columns)
    intro = f"{num_moved} of {tested} columns moved" if num_moved else "No column moved by itself"
    free = "; covariates may move and are not tested" * (tested < len(columns))
    return (
        f"<h2>Columns</h2><p>{intro} (p-values adjusted for their number, {procedure_of(result)}{free}). "
        f'Open one for what was expected and what came.</p>{LEGEND}<div class="lines">{lines}</div>'
    )


def _pairs(result: Any) -> str:
    """Where dependence changed."""
    moved = called(result.pairs, result.alpha)
    lines = [] if moved else dependence_lines(result)
    said = paragraphs(f"{line[0].upper()}{line[1:]}." for line in lines)
    if result.pairs:
        said += (
            "<p>Pairs of columns that are linked in the model, compared beyond what each column did by itself; "
            f"{len(moved)} of {len(result.pairs)} changed. Strength is Cramer's V, from 0 to 1; p-values are adjusted "
            f"(Holm).{f' The first {MOST_CARDS} are shown.' * (len(moved) > MOST_CARDS)}</p>"
        )
    cards = ""
    for one in moved[:MOST_CARDS]:
        p = p_text(one.adjusted, result.alpha)
        cards += card(one.title, p, [one.describe()], heat_tables(one))
    return f'<h2>Dependence</h2>{said}<div class="grid">{cards}</div>' if said else ""


def _tests(result: Any) -> str:
    """What was tested, each with its own p-value and its part of the level."""
    rest = percent(1 - sum(one.share for one in result.beside))
    quality = result.data_quality
    rows = [
        (PLAIN.get(name, name), p_text(pvalue), f"{rest} for all distances")
        for name, pvalue in zip(result.metrics, result.pvalues, strict=True)
    ]
    beside = {PLAIN.get(name, name): one for name, one in result.witnesses.items()}
    beside["shares of missing values"] = getattr(quality, "missingness", None)
    beside["new values"] = getattr(quality, "new_values", None)
    for name, one in beside.items():
        if one is not None and one.share:
            rows.append((name, p_text(one.pvalue), percent(one.share)))
    return (
        "<h2>What was tested</h2><p>The p-value on top covers all of these together. The effect size is the share of"
        " rows that would have to be others for chance to explain the batch.</p>"
        + table(("test", "p-value", "part of the level"), rows)
    )


def segments_report(
    detector: Any,
    result: Any,
    *,
    batch_name: str = "the table",
    model_name: str = "the model",
    commands: Sequence[str] = (),
    digest: str | None = None,
) -> str:
    """The page about a test of segments."""
    called, m = int(result.reject.sum()), len(result.labels)
    title = f"{called} of {m} segments shifted" if called else f"None of {m} segments shifted"
    words = [
        f"Of the segments called shifted, a share of at most {result.alpha:g} is expected to be false "
        f"({result.procedure_name}).",
        *result.cautions,
    ]
    facts = {
        "rows": f"{result.num_rows.sum():,}",
        "segments": f"{m:,}",
        "level": f"{result.alpha:g}",
        "smallest adjusted p": p_text(result.adjusted.min(), result.alpha, ""),
    }
    kicker = f"{batch_name} by {result.by}, against {model_name}"
    return page(
        f"{title}: {batch_name}",
        [
            verdict(kicker, title, called > 0, words, facts),
            _what_moved(result),
            f"<h2>All segments</h2>{SEGMENTS_LEGEND}{picture(result)}",
            _segments_table(result),
            reproduction(commands, digest=digest),
        ],
    )


def picture(result: Any) -> str:
    """One mark for each segment in order, its numbers where the pointer rests."""
    marks = ""
    for i, label in enumerate(result.labels):
        p, T = p_text(result.adjusted[i], result.alpha), int(result.num_rows[i])
        said = f"{named(label)}: adjusted {p}, {T} row{'s' * (T != 1)}"
        shift = ' class="shift"' if result.reject[i] else ""
        marks += f'<span{shift} title="{escaped(said)}"></span>'
    return f'<div class="segments">{marks}</div>'


def _what_moved(result: Any) -> str:
    """What moved in each segment that is called, the worst first, with pictures on demand."""
    cards = ""
    for rank, i in enumerate(result.worst_first()):
        found, pictures = result.results[i], ""
        if rank < MOST_OPENED:
            shown = pictures_of(moved(found)[:MOST_PICTURES])
            pictures = f"<details><summary>expected and observed</summary>{shown}</details>" * bool(
                shown
            )
        lines = [f"{result.num_rows[i]:,} rows, effect size {effect_text(found)}"]
        p = p_text(result.adjusted[i], result.alpha, "adjusted p")
        cards += card(result.labels[i], p, lines + what_moved(found), pictures)
    return f'<h2>What moved</h2><div class="grid">{cards}</div>' if cards else ""


def _segments_table(result: Any) -> str:
    """Segments by their p-value."""
    rows = [
        (
            result.labels[i],
            f"{result.num_rows[i]:,}",
            p_text(result.pvalues[i], name=""),
            p_text(result.adjusted[i], result.alpha, ""),
            effect_text(result.results[i]),
            "shift" if result.reject[i] else "no shift",
        )
        for i in result.worst_first(called=False)[:MOST_ROWS]
    ]
    m = len(result.labels)
    more = f"<p>The first {MOST_ROWS} of {m} are listed.</p>" * (m > MOST_ROWS)
    header = (result.by, "rows", "p", "adjusted p", "effect size", "verdict")
    return f"<h2>Segments by p-value</h2>{more}{table(header, rows)}"


def audit_report(
    result: Any, *, table_name: str = "the table", commands: Sequence[str] = ()
) -> str:
    """The page about an audit."""
    kept = result.keeps_level
    title = "Level kept" if None not in kept.values() else "Level not known"
    if False in kept.values():
        title = "Too many alarms"
    words = [
        f"At level {result.alpha:g} a detector may alarm on {100 * result.alpha:g} % of batches in which nothing has "
        "shifted. Intervals are 95 %, by Clopper and Pearson."
    ]
    facts = {
        "rows": f"{result.num_held_out:,}",
        "detectors": f"{len(kept)}",
        "level": f"{result.alpha:g}",
    }
    parts = [verdict(f"audit on {table_name}", title, title != "Level kept", words, facts)]
    for name in kept:
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
        note = f"<p>{escaped(result.notes[name])}.</p>" if name in result.notes else ""
        header = ("batches", "rows each", "alarms", "share", "interval", "share rows")
        parts.append(f"<h2>{escaped(name)}: {result.verdict(name)}</h2>{note}{table(header, rows)}")
    parts.append(
        '<p class="soft">If batches in the order of the table alarm more often than unshifted ones, the '
        "table itself drifts.  Batches that share rows are dependent, so their interval is too narrow.</p>"
    )
    return page(f"{title}: audit on {table_name}", [*parts, reproduction(commands)])


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


def verdict(kicker: str, title: str, is_shift: bool, words: Sequence[str], facts: Any) -> str:
    """The box on top: what was compared, what was found, and its numbers, all escaped here."""
    cells = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>"
        for name, value in facts.items()
    )
    return (
        f'<p class="kicker">{escaped(kicker)}</p><section class="verdict {"shift" if is_shift else "calm"}">'
        f'<h1>{escaped(title)}</h1>{paragraphs(words)}<dl class="facts">{cells}</dl></section>'
    )


def card(title: str, pvalue: str, lines: Sequence[str], pictures: str) -> str:
    """A box with a heading and a p-value, sentences, all escaped here, and pictures."""
    return (
        f'<article class="card"><header><h3>{escaped(named(title))}</h3>'
        f'<span class="p">{escaped(pvalue)}</span></header>{paragraphs(lines)}{pictures}</article>'
    )


def pictures_of(shifts: Any) -> str:
    """Histograms of columns and tables of pairs that moved, with their names."""
    shown = ""
    for one in shifts:
        picture = histogram(one) if len(one.names) == 1 else heat_tables(one)
        shown += f"<h3>{escaped(one.title)}</h3>{picture}"
    return shown


def reproduction(commands: Sequence[str], facts: str = "", digest: str | None = None) -> str:
    """The section that says how to get the same numbers again."""
    lines = [*commands, f"# hld {pcircuit.__version__}{facts}"]
    lines += [f"# SHA-256 of the model file: {digest}"] if digest else []
    return f"<h2>How to reproduce</h2>{preformatted(lines)}"


def preformatted(lines: Sequence[str]) -> str:
    """Lines as they are, each escaped."""
    return f"<pre>{chr(10).join(map(escaped, lines))}</pre>"


def write_page(text: str, path: str) -> None:
    """Write a document to a file, whole or not at all."""
    with replace_file(pathlib.Path(path)) as file:
        file.write(text.encode("utf-8"))


def heat_tables(pair: PairShift) -> str:
    """Expected and observed shares of a pair of columns as two tables, the darker the more rows."""
    tables = {"expected": pair.expected_table, "observed": pair.observed_table}
    most = max(1e-12, *(one.max() for one in tables.values()))
    head = "".join(f'<th scope="col">{escaped(named(label))}</th>' for label in pair.labels[1])
    both = ""
    for caption, shares in tables.items():
        rows = ""
        for label, row in zip(pair.labels[0], shares.tolist(), strict=True):
            cells = "".join(
                f'<td style="background:rgba(var(--heat),{0.5 * share / most:.3f})">{percent(share)}</td>'
                for share in row
            )
            rows += f'<tr><th scope="row">{escaped(named(label))}</th>{cells}</tr>'
        both += (
            f'<div class="scroll"><table class="heat"><caption>{caption}</caption><thead><tr><th></th>{head}</tr>'
            f"</thead><tbody>{rows}</tbody></table></div>"
        )
    return f'<div class="heats">{both}</div>'


def escaped(text: int | str) -> str:
    """Text as HTML shows it, control characters as Python writes them."""
    return html.escape(printable(str(text)), quote=True)


def named(label: str) -> str:
    """A label for `escaped`, in quotes where nothing would be seen of it."""
    return label if label.strip() else repr(label)


def paragraphs(lines: Iterable[str]) -> str:
    """Sentences, escaped, each a paragraph."""
    return "".join(f"<p>{escaped(line)}</p>" for line in lines)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of plain cells, escaped here; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in header)
    body = ""
    for first, *cells in rows:
        kind = ' class="day"' if len(first) <= SHORT else ""
        rest = "".join(f"<td>{escaped(cell)}</td>" for cell in cells)
        body += f'<tr><th scope="row"{kind}>{escaped(named(first))}</th>{rest}</tr>'
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def histogram(column: ColumnShift) -> str:
    """Expected and observed shares of the levels of a column: two bars each, with the numbers beside them."""
    shown = shown_levels(column)
    most, lines = max(1e-12, column.expected[shown].max(), column.observed[shown].max()), ""
    for k in shown:
        label = escaped(named(str(column.labels[k])))
        shares = {"expected": column.expected[k], "observed": column.observed[k]}
        bars = "".join(
            f'<i class="{kind}" style="width:{100 * share / most:.1f}%"></i>'
            for kind, share in shares.items()
        )
        numbers = " → ".join(map(percent, shares.values()))
        lines += f'<b title="{label}">{label}</b><span>{bars}</span><small>{numbers}</small>'
    said = f"expected and observed shares of {escaped(column.name)}"
    return f'<div class="histogram" role="img" aria-label="{said}">{lines}</div>'


def segments_view(result: Any) -> str:
    """How many segments shifted, and what moved in each of those, for a notebook."""
    rows = [
        (
            result.labels[i],
            f"{result.num_rows[i]:,}",
            p_text(result.adjusted[i], result.alpha),
            "; ".join(what_moved(result.results[i])),
        )
        for i in result.worst_first()
    ]
    body = table(("segment", "rows", "adjusted p", "what moved"), rows)
    return _view(repr(result), bool(result.reject.any()), {}, body + paragraphs(result.cautions))


def notebook_view(result: Any) -> str:
    """The verdict, the columns that moved, and the pairs whose dependence did, for a notebook."""
    facts, body = _facts(result), ""
    if result.columns:
        moved = called(result.columns, result.alpha)
        facts["columns moved"] = f"{len(moved)} of {len(result.columns)}"
        header = ("column", "adjusted p", "rows that differ", "expected -> observed")
        lines = [] if moved else [f"No column moved by itself at level {result.alpha:g}."]
        body = table(header, column_rows(moved, result.alpha)) if moved else ""
        lines += pair_lines(result) or dependence_lines(result)
        body += paragraphs(lines)
    return _view(_found(result), result.reject, facts, body)


def detector_view(detector: Any) -> str:
    """What a detector was fitted to, and what each column is, for a notebook."""
    header, *rows = detector.schema_.rows()
    return _view(repr(detector), False, {}, table(header, rows))


def _view(title: str, is_red: bool, facts: dict[str, str], body: str) -> str:
    """A verdict and its numbers in a box, red or green, and what is below."""
    colour = "#b4231f" if is_red else "#1a6b3c"
    cells = "".join(
        f'<span style="margin-right:2em"><small>{name}</small><br>{escaped(text)}</span>'
        for name, text in facts.items()
    )
    return (
        f'<div><div style="border-left:6px solid {colour};padding:.4em 1em;margin:.4em 0">'
        f'<strong style="color:{colour};font-size:1.2em">{escaped(title)}</strong>'
        f'<div style="display:flex;flex-wrap:wrap;margin-top:.4em">{cells}</div></div>{body}</div>'
    )


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
.histogram { display: grid; grid-template-columns: minmax(0, 9.5rem) minmax(0, 1fr) auto; gap: .3rem .6rem;
  align-items: center; max-width: 28rem; font-size: .78rem; font-variant-numeric: tabular-nums; }
.histogram b { font-weight: 400; text-align: right; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.histogram i { display: block; height: 8px; min-width: 1px; margin: 1px 0; } .histogram small { font-size: .72rem; }
.histogram .expected { background: var(--expected); } .histogram .observed { background: var(--observed); }
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
.lines { display: flex; flex-direction: column; margin-top: .5rem; }
.lines details { border-bottom: 1px solid var(--line); padding: .4rem 0; }
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
  .verdict, .card, .facts, .segments, tr, .histogram, pre, .heats > div { break-inside: avoid; }
  p { orphans: 3; widows: 3; max-width: none; } thead { display: table-header-group; }
  .verdict { border: 1px solid var(--calm); border-left-width: 6px; padding: .8rem 1rem; }
  .grid { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: .6rem; } .card { padding: .6rem .7rem; }
  th, td, caption, .heat td { overflow-wrap: anywhere; white-space: normal; min-width: 0; }
  .scroll, .heats > div { overflow: visible; } pre { overflow: visible; break-inside: auto; }
  details { display: block; } details::details-content { content-visibility: visible; display: block; height: auto; }
  details > summary { list-style: none; } }
@page { size: auto; margin: 16mm 14mm; }
"""
