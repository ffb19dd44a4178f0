"""The trials behind the metrics of the default: which of them add power beside the others, at equal size.

    HLD_DATA=... python -m benchmarks.power.trials --output FILE.json [--tables nltcs adult ...] [--batches 30]
    python -m benchmarks.power.trials report FILE.json [--tables ...]

A detector takes seconds to calibrate, and choosing among metrics takes many detectors.  So here each table is learned
once, and of every batch only its mean vector is computed; each combination of metrics is the harmonic mean of their
scores, as the detector combines them (`hld.laws.drawn`), and rejects what lies beyond the 95 % quantile of unshifted
batches (at equal size), or what has a p-value of at most 0.05 (at nominal size, which `bench_level` measures).

The tables are two halves: their names in alphabetical order, every other one, are for choosing (CHOOSING), the others
are held back (HELD_BACK) until the choice is made.
"""

from dataclasses import replace

import numpy as np

import hld
import pcircuit
from hld.answers.table_facts import batch_profile, held_of, quality_of, read_batch
from hld.features.linear_maps import squared_distances
from hld.features.score_features import score_features
from hld.laws.auto import PILOT_ROWS
from hld.laws.drawn import scores_of
from hld.laws.joint import harmonic_mean
from hld.laws.limit_law import limit_laws
from hld.references.rows import row_reference
from hld.tables.schemas.counts import NEW_SHARE
from hld.witnesses.distances import SHARE as LEVELS_SHARE
from hld.witnesses.distances import levels
from hld.witnesses.largest_count import SHARE as COUNTS_SHARE
from hld.witnesses.largest_count import largest_count
from hld.witnesses.largest_dependence import SHARE as DEPENDENCES_SHARE
from hld.witnesses.largest_dependence import largest_dependence
from hld.witnesses.metrics.named import DEFAULT, build_metric
from hld.witnesses.row_ranks import row_ranks
from hld.witnesses.witnesses import combined

from .pieces import run
from .shifts import SHIFTS, columns_for, fresh_batches, shifted_batches
from .tables import TABLES, load_source

HELD_BACK, CHOOSING = sorted(TABLES)[::2], sorted(TABLES)[1::2]
COUNTS = "counts"  # the largest difference of a single count, `hld.witnesses.largest_count`, with a share of the level
EVERY = (*DEFAULT, "whitened_fine", "score", "ordered")
COMBINED = {
    "four": DEFAULT,
    "+ fine": EVERY[:5],
    "+ score": (*DEFAULT, "score"),
    "+ fine + score": EVERY[:6],
    "+ fine + score + ordered": EVERY,
    COUNTS: (COUNTS,),
}
SHARES = (
    0.1,
    0.2,
    0.35,
    0.5,
)  # of the level, for the test of counts beside all metrics but "ordered"
COMBINED |= {
    f"+ fine + score + {share:.0%} counts": (*EVERY[:6], COUNTS, share) for share in SHARES
}
DEPENDENCES = (
    "dependences"  # the largest change of a dependence, beside counts with the share of the default
)
COMBINED |= {
    f"+ counts + {share:.0%} dependences": (*EVERY[:6], COUNTS, COUNTS_SHARE, DEPENDENCES, share)
    for share in (0.1, 0.2, 0.3)
}
NEW = "new"  # new values, `hld.tables.schemas.counts`, beside both; its share is the others' where nothing is new
COMBINED |= {
    f"+ counts + dependences + {share:.0%} new": (
        *EVERY[:6],
        COUNTS,
        COUNTS_SHARE,
        DEPENDENCES,
        DEPENDENCES_SHARE,
        NEW,
        share,
    )
    for share in (0.02, 0.1, 0.2, 0.3)
}
LEVELS, ODD = (
    "levels",
    ("magnitude", "likelihood"),
)  # `hld.witnesses.distances`, `hld.witnesses.row_ranks`
COMBINED |= {
    f"+ counts + dependences + new + levels + {share:.0%} odd rows": (
        *(*EVERY[:6], COUNTS, COUNTS_SHARE, DEPENDENCES, DEPENDENCES_SHARE, NEW, NEW_SHARE),
        *(LEVELS, LEVELS_SHARE, ODD[0], share, ODD[1], share),
    )
    for share in (0.05, 0.08)
}
BESIDE = (COUNTS, DEPENDENCES, NEW, LEVELS, *ODD)
ALPHA, SIZES = 0.05, (10, 50, 200)


def main():
    """Run tables that are not there yet, or report; three times as many unshifted batches as shifted ones in a cell."""
    run(
        __doc__,
        study,
        lambda cells: f"{report(cells)}\n\n{report(cells, 'nominal')}",
        CHOOSING,
        batches=30,
        columns=1,
        rows=2000,
    )


def study(name, options, done) -> list:
    """Cells of one table."""
    if done:
        return []
    source = load_source(name, options.rows)
    nominal, numeric = (
        np.flatnonzero(kind).tolist() for kind in (~source.is_numeric, source.is_numeric)
    )
    detector = hld.HLDDetector(
        categorical=nominal, continuous=numeric, metric="euclidean", null="normal"
    )
    detector.fit(source.train)
    half = np.random.default_rng(0).permutation(len(source.train))[
        : len(source.train) // 2
    ]  # as the detector's
    circuit, encode = detector.circuit_, lambda rows: detector.encoder_.encode(rows)[0]
    nodes = pcircuit.select_nodes(circuit)
    reference = row_reference(
        circuit, nodes, encode(source.train[np.sort(half)]), score_features(circuit)
    )
    ascending, kept = detector.encoder_.ordered, detector.profile_
    held = held_of(detector, None)
    metrics = tuple(
        build_metric(metric, reference, **({"ordered": ascending} if ascending else {}))
        for metric in EVERY
        if ascending or metric != "ordered"
    )
    spread = squared_distances(metrics, reference.rows(PILOT_ROWS, np.random.default_rng(0))).var(
        axis=0
    )
    laws = zip(limit_laws(reference, metrics), spread.tolist(), strict=True)
    corrected = tuple(law.with_excess(one) for law, one in laws)  # for T, as the detector's are

    def each(batches, T):
        """What is tested beside in each of B batches, and (B, q) scores of the metrics, one by one."""
        read = [read_batch(detector, batch) for batch in batches]
        quality = [quality_of(detector, one.report, one.absent, one.extra, held) for one in read]
        means = np.stack([reference.vectors.mean(one.codes) for one in read]) - reference.mean
        scores = scores_of(
            corrected, squared_distances(metrics, means) / (1 + T / reference.num_rows), T
        )[:, : len(metrics)]
        own = [batch_profile(detector, one.codes, one.marks) for one in read]
        beside = [
            {
                COUNTS: largest_count(kept, one, ascending),
                DEPENDENCES: largest_dependence(kept, one),
                NEW: checked.new_values,
                LEVELS: levels(held, one),
                **row_ranks(held, one),
            }
            for one, checked in zip(own, quality, strict=True)
        ]
        return beside, scores

    cells = []
    for T in SIZES:
        unshifted = each(fresh_batches(source, T, 3 * options.batches, 0), T)
        for kind in SHIFTS:
            for v in columns_for(kind, source, options.columns):
                found = each(shifted_batches(kind, source, v, T, options.batches, 1), T)
                cells.append(
                    {
                        "table": name,
                        "kind": kind,
                        "column": v,
                        "T": T,
                        "power": {
                            label: _power(found, unshifted, chosen)
                            for label, chosen in COMBINED.items()
                        },
                        "nominal": {
                            label: float((_combined(found, chosen) <= ALPHA).mean())
                            for label, chosen in COMBINED.items()
                        },
                    }
                )
    return cells


def _power(found, unshifted, chosen) -> float:
    """Share of batches whose combined p-value is below the 5 % quantile of unshifted ones."""
    own, others = (_combined(scores, chosen) for scores in (found, unshifted))
    return float((own < np.quantile(others, ALPHA, method="lower")).mean())


def _combined(batches, chosen) -> np.ndarray:
    """(B,) the harmonic mean of the scores of some metrics, and what is tested beside them with its share."""
    beside, scores = batches
    places = [
        EVERY.index(name)
        for name in chosen
        if name in EVERY and EVERY.index(name) < scores.shape[1]
    ]
    if not places:
        return np.array([one[COUNTS].pvalue for one in beside])
    shares = {name: chosen[chosen.index(name) + 1] for name in BESIDE if name in chosen}
    together = harmonic_mean(np.maximum(scores[:, places], 1e-300))
    return np.array(
        [
            combined(
                p,
                *(
                    replace(found[name], share=share)
                    for name, share in shares.items()
                    if found[name].share
                ),
            )
            for p, found in zip(together.tolist(), beside, strict=True)
        ]
    )


def report(cells, of="power") -> str:
    """Markdown: mean power by kind of shift, at equal size or (of="nominal") at the level of the p-values."""
    tables, kinds = (list(dict.fromkeys(cell[key] for cell in cells)) for key in ("table", "kind"))
    size = "equal" if of == "power" else "nominal"
    lines = [
        f"Mean power at {size} size, level {ALPHA}, T = {' / '.join(map(str, SIZES))}; {', '.join(tables)}",
        "",
        "| shift (cells) | " + " | ".join(COMBINED) + " |",
        "|---" * (1 + len(COMBINED)) + "|",
    ]
    for kind in [*kinds, "all"]:
        chosen = [cell for cell in cells if kind in (cell["kind"], "all")]
        shown = [
            " / ".join(
                f"{np.mean([cell[of][label] for cell in chosen if cell['T'] == T]):.2f}"
                for T in SIZES
            )
            for label in COMBINED
        ]
        lines.append(f"| {kind} ({len(chosen)}) | " + " | ".join(shown) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
