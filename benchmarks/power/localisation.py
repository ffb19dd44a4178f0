"""Which column, or which dependence, a rejecting test names first, beside tests column by column.

    HLD_DATA=... python -m benchmarks.power.localisation --output FILE.json [--tables adult ...] [--sizes 50 200 1000]
                                                         [--batches 20] [--columns 2] [--rows 3000]
    python -m benchmarks.power.localisation report FILE.json

The shifts are those of `shifts.py` that move one column.  Among the batches that the default rejects at 0.05:

    column      the moved column is the first of `result.columns`
    by tests    it has the smallest p-value of two-sample Kolmogorov-Smirnov and chi-square tests
    pair        (permuted) the permuted column is one of the first of `result.pairs`
    dependence  (permuted) ... one of those of `result.largest_dependence`
"""

import numpy as np

from .methods import column_pvalues, detector_of
from .pieces import run
from .shifts import columns_for, shifted_batches
from .tables import TABLES, load_source

KINDS = ("margin", "drift", "swapped", "replaced", "tails", "unseen", "permuted")
NAMED = ("column", "by tests", "pair", "dependence")
ALPHA, SIZES = 0.05, (50, 200, 1000)


def main():
    """Run the tables that are not there yet, or report."""
    run(__doc__, study, report, TABLES, sizes=SIZES, batches=20, columns=2, rows=3000)


def study(name, options, done) -> list:
    """Cells of one table: of each rejecting batch, what names the moved column first."""
    if done:
        return []
    source = load_source(name, options.rows)
    detector = detector_of(source, "auto")
    cells = []
    for T in options.sizes:
        if len(source.fresh) < 2 * T:
            continue
        for kind in KINDS:
            for v in columns_for(kind, source, options.columns):
                batches = shifted_batches(kind, source, v, T, options.batches, 1)
                results = [(batch, detector.test(batch)) for batch in batches]
                named = [
                    names_first(detector, source, batch, result, v, kind)
                    for batch, result in results
                    if result.pvalue <= ALPHA
                ]
                cells.append(
                    {
                        "table": name,
                        "kind": kind,
                        "column": v,
                        "T": T,
                        "batches": len(batches),
                        "named": named,
                    }
                )
    return cells


def names_first(detector, source, batch, result, v, kind) -> dict:
    """Whether each way names column v first."""
    columns = [column.name for column in detector.encoder_.columns]
    own = columns[v]
    found = {
        "column": result.columns[0].name == own,
        "by tests": int(np.argmin(column_pvalues(source, batch))) == v,
    }
    if kind == "permuted":
        pairs, largest = result.pairs, result.largest_dependence
        found |= {
            "pair": bool(pairs) and own in pairs[0].names,
            "dependence": largest is not None and v in (largest.columns or ()),
        }
    return found


def report(cells) -> str:
    """Markdown: shares of rejecting batches, each batch alike, by kind and batch size."""
    sizes = sorted({cell["T"] for cell in cells})
    tables = list(dict.fromkeys(cell["table"] for cell in cells))
    lines = [
        f"Share of rejecting batches in which the moved column is named first, T = {' / '.join(map(str, sizes))}; "
        f"{', '.join(tables)}",
        "",
        "| shift | rejecting batches | " + " | ".join(NAMED) + " |",
        "|---" * (2 + len(NAMED)) + "|",
    ]
    for kind in KINDS:
        named = [
            [
                one
                for cell in cells
                if (cell["kind"], cell["T"]) == (kind, T)
                for one in cell["named"]
            ]
            for T in sizes
        ]
        shares = [
            " / ".join(_share([one[way] for one in some if way in one]) for some in named)
            for way in NAMED
        ]
        lines.append(
            f"| {kind} | {' / '.join(str(len(some)) for some in named)} | {' | '.join(shares)} |"
        )
    return "\n".join(lines)


def _share(values) -> str:
    """A mean with two digits."""
    return f"{np.mean(values):.2f}" if values else "-"


if __name__ == "__main__":
    main()
