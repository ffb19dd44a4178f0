"""The report of a test: what a colleague needs to check it, on one page.

Verdict and size first; then which columns moved and how and where dependence changed, the clearer of the two first;
then every column, to be sorted and opened; then the data quality, each test, the model, and how to reproduce it all.
"""

from typing import Any

from hld.answers.column_shifts import percent
from hld.answers.html import escaped, histogram, sortable
from hld.answers.reports.page import escaped_lines, facts, heat_tables, page, reproduction, table
from hld.answers.words import dependence_lines, effect_text, p_text, procedure_of

MOST_CARDS = 24
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


def batch_report(
    detector: Any,
    result: Any,
    *,
    batch_name: str = "the batch",
    model_name: str = "the model",
    commands: tuple[Any, ...] = (),
    digest: Any = None,
) -> str:
    """The page about one test."""
    parts = [_columns(result), _pairs(result)]
    title = f"{'Shift' if result.reject else 'No shift'}: {batch_name}"
    return page(
        title,
        [
            _verdict(result, batch_name, model_name),
            *(parts if _least(result.columns) <= _least(result.pairs) else parts[::-1]),
            _every_column(result),
            _quality(result),
            _tests(result),
            _model(detector),
            reproduction(commands, f", null {result.null}, {_rows(result.num_samples)}", digest),
        ],
    )


def _least(shifts: Any) -> float:
    """The smallest p-value of columns, or of pairs."""
    return min((one.adjusted for one in shifts if one.adjusted == one.adjusted), default=1.0)


def _rows(number: int, kind: str = "") -> str:
    """So many rows of a kind."""
    return f"{number:,} {kind}row{'s' * (number != 1)}"


def _verdict(result: Any, batch_name: str, model_name: str) -> str:
    """The box on top."""
    moved = [one.name for one in result.columns if one.adjusted <= result.alpha]
    tested = sum(one.adjusted == one.adjusted for one in result.columns)
    words = (
        "The batch no longer follows the distribution that the model learned."
        if result.reject
        else "The batch gives no evidence against the distribution that the model learned."
    )
    pvalue = p_text(result.pvalue, result.alpha)
    if moved:
        listed = ", ".join(moved[:6]) + (f" and {len(moved) - 6} more" if len(moved) > 6 else "")
        words += f" {'Moved' if result.reject else 'Yet by themselves moved'}: {listed}."
    pairs = [" and ".join(one.names) for one in result.pairs if one.adjusted <= result.alpha]
    if pairs:
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        words += f" Dependence changed: {', '.join(pairs[:3])}{more}."
    return (
        f'<p class="kicker">{escaped(batch_name)} against {escaped(model_name)}</p>'
        f'<section class="verdict {"shift" if result.reject else "calm"}">'
        f"<h1>{'Shift found' if result.reject else 'No shift found'}</h1><p>{escaped(words)}</p>"
        + facts(
            [
                ("p-value", pvalue[4:] if "=" in pvalue else "< 1e-300"),
                ("level", f"{result.alpha:g}"),
                ("rows", f"{result.num_samples:,}"),
                ("effect size", effect_text(result)),
                ("columns moved", f"{len(moved)} of {tested}" if result.columns else "unknown"),
            ]
        )
        + "</section>"
    )


def _tests(result: Any) -> str:
    """What was tested, each with its own p-value and its part of the level."""
    rest = 1 - sum(one.share for one in result.beside)
    quality = result.data_quality
    counted = (
        *((PLAIN.get(name, name), one) for name, one in result.witnesses.items()),
        ("shares of missing values", getattr(quality, "missingness", None)),
        ("new values", getattr(quality, "new_values", None)),
    )
    rows = [
        (PLAIN.get(name, name), p_text(pvalue), f"{percent(rest)} for all distances")
        for name, pvalue in zip(result.metrics, result.pvalues, strict=True)
    ]
    rows += [
        (name, p_text(one.pvalue), percent(one.share))
        for name, one in counted
        if one is not None and one.share
    ]
    return (
        "<h2>What was tested</h2><p>The p-value on top covers all of these together. The effect size is the share of"
        " rows that would have to be others for chance to explain the batch.</p>"
        + table(("test", "p-value", "part of the level"), rows)
    )


def _columns(result: Any) -> str:
    """The columns that moved, with their histograms, and the others in a table."""
    if not result.columns:
        return (
            "<h2>Columns</h2><p>The model file holds no counts of its columns, or tests no column by itself: fit"
            " it again to see how they moved.</p>"
        )
    moved = [one for one in result.columns if one.adjusted <= result.alpha]
    cards = "".join(
        f'<article class="card"><header><h3>{escaped(one.name)}</h3><span class="p">'
        f"{escaped(p_text(one.adjusted, result.alpha))}</span></header><p>{one.direction + ': ' * bool(one.direction)}"
        f"{percent(one.difference)} of rows differ</p>{histogram(one)}</article>"
        for one in moved[:MOST_CARDS]
    )
    free = [one.name for one in result.columns if one.adjusted != one.adjusted]
    tested = len(result.columns) - len(free)
    intro = (
        f"{len(moved)} of {tested} columns moved." if moved else "No column moved by itself."
    ) + (f" p-values are adjusted for the number of columns ({procedure_of(result)}).")
    if free:
        intro += f" Covariates may move and are not tested: {escaped(', '.join(free))}."
    return f'<h2>Columns</h2><p>{intro}</p>{LEGEND if moved else ""}<div class="grid">{cards}</div>'


def _every_column(result: Any) -> str:
    """All columns, sorted as the reader likes; each opens to its histogram."""
    if not result.columns:
        return ""
    number = f"{len(result.columns)} columns" if len(result.columns) != 1 else "The column"
    return (
        f"<h2>Every column</h2><p>{number}; open one for what was expected and what came.</p>"
        + sortable(result.columns, result.alpha)
    )


def _pairs(result: Any) -> str:
    """Where dependence changed."""
    largest = "".join(
        f"<p>{escaped(line[0].upper() + line[1:])}.</p>" for line in dependence_lines(result)
    )
    if not result.pairs:
        return f"<h2>Dependence</h2>{largest}" if largest else ""
    moved = [one for one in result.pairs if one.adjusted <= result.alpha]
    intro = (
        "Pairs of columns that are linked in the model, compared beyond what each column did by itself; "
        f"{len(moved)} of {len(result.pairs)} changed. Strength is Cramer's V, from 0 to 1; p-values are adjusted "
        "(Holm)." + f" The first {MOST_CARDS} are shown." * (len(moved) > MOST_CARDS)
    )
    cards = "".join(
        f'<article class="card"><header><h3>{escaped(" and ".join(one.names))}</h3><span class="p">'
        f"{escaped(p_text(one.adjusted, result.alpha))}</span></header><p>{escaped(one.describe())}</p>"
        f"{heat_tables(one)}</article>"
        for one in moved[:MOST_CARDS]
    )
    return f'<h2>Dependence</h2><p>{intro}</p>{"" if moved else largest}<div class="grid">{cards}</div>'


def _quality(result: Any) -> str:
    """Missing, unseen and out-of-range cells."""
    if result.evidence is None:
        return ""
    odd, T = result.evidence.odd_cells(), result.num_samples
    quality = result.data_quality
    absent = "".join(
        f"<p>{escaped(line[0].upper() + line[1:])}.</p>"
        for line in (() if quality is None else (*quality.absent_lines(), *quality.extra_lines()))
    )
    if not odd:
        return (
            "<h2>Data quality</h2><p>No cell is missing, of an unknown level, or out of the range that training "
            "showed.</p>" + absent
        )
    expected = {one.name: float(one.expected[-1]) for one in result.columns}
    rows = [
        (
            name,
            f"{missing:,} ({percent(missing / T)}; expected {percent(expected[name])})",
            f"{unseen:,}",
            f"{beyond:,}",
        )
        for name, missing, unseen, beyond in odd
    ]
    return (
        "<h2>Data quality</h2><p>Unusual cells, counted before any test.</p>"
        + absent
        + table(("column", "missing", "level not seen in training", "out of range"), rows)
    )


def _model(detector: Any) -> str:
    """Facts of the model."""
    test, circuit = detector.test_, detector.circuit_
    reference = {"circuit": "exact means of the circuit"}.get(
        test.reference, f"means of {test.num_train:,} rows" if test.num_train else test.reference
    )
    return (
        "<h2>Model</h2>"
        + facts(
            [
                ("training rows", f"{detector.num_train_:,}"),
                ("columns", circuit.num_variables),
                ("circuit nodes compared", f"{len(test.nodes):,}"),
                ("log-likelihood per row", f"{detector.history_[-1]:.3f}"),
                ("compared with", reference),
                ("metrics", ", ".join(metric.name for metric in test.calibration.metrics)),
            ]
        )
        + f"<details><summary>full description</summary><pre>{escaped_lines(detector.describe())}</pre></details>"
    )
