"""Testing a batch that comes in chunks, such as a file larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hld.answers.table_facts import (
    batch_profile,
    cells_of,
    evidence_of,
    held_of,
    new_marks,
    quality_of,
    test_rows,
)
from hld.detector.detector import (
    HLDDetector,
    judge_rows,
    warn_of_several,
    with_evidence,
    with_groups,
)
from hld.detector.estimator import check_fitted
from hld.references.group_statistics import joined_cells
from hld.tables.cells import read_table
from hld.tables.schemas.encoding import EncodingReport
from hld.testing.row_sums import RowSums, row_sums
from hld.witnesses.result import HLDResult, with_quality
from hld.witnesses.witnesses import witnesses_of
from pcircuit.arguments import check_fraction

PART = 2**32  # between the seeds of parts that are summed by themselves


def judge_chunks(detector: HLDDetector, chunks: Iterable[Any], alpha: float = 0.05) -> HLDResult:
    """Test whether a batch that comes in chunks follows the distribution of the training table.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.
    chunks : iterable of tables
        Parts of one batch; each is read once and then forgotten.
    alpha : float
        Level, in (0, 1).

    Returns
    -------
    HLDResult
        As from `HLDDetector.test` for all rows at once; with more than 20,000 rows an alarm is checked by a sample, and
        holes that are filled by draws (the circuit as reference) are filled chunk by chunk, by other draws.

    Raises
    ------
    TypeError, ValueError
        As `HLDDetector.test`.

    Notes
    -----
    Memory for one chunk, 20,000 rows and the sums over the nodes; which pairs of nodes are seen together is estimated
    from the same 20,000 rows.

    Examples
    --------
    >>> import numpy as np, hld
    >>> rows = np.random.default_rng(0).integers(0, 3, size=(2000, 3))
    >>> detector = hld.HLDDetector(num_latents=2, num_epochs=5).fit(rows[:500])
    >>> result = judge_chunks(detector, (rows[start:start + 100] for start in range(500, 2000, 100)))
    >>> result.pvalue == detector.test(rows[500:]).pvalue
    True
    """
    check_detector(detector)
    if not isinstance(chunks, Iterable):
        raise TypeError(f"`chunks` must be a sequence of tables, found {chunks!r}")
    if _is_one_table(chunks):
        raise TypeError(
            f"`chunks` must be a sequence of tables, found one ({type(chunks).__name__}): give it in a "
            "list, or its parts"
        )
    alpha = check_fraction(alpha, "alpha")
    if detector.judge_ is not detector.test_:
        return _judge_whole(detector, chunks, alpha)
    facts = facts_of_chunks(detector, chunks)
    if facts is None:
        raise ValueError("`chunks` has no table: at least one is needed")
    return judge_facts(detector, facts, alpha)


def _is_one_table(chunks: Any) -> bool:
    """Whether what should be several tables is one, of which the names or the rows would be taken for tables."""
    return (
        hasattr(chunks, "columns")
        or isinstance(chunks, (str, bytes, Mapping))
        or getattr(chunks, "ndim", 3) < 3
    )


def check_detector(detector: Any) -> None:
    """Raise unless a detector is one, and fitted."""
    if not isinstance(detector, HLDDetector):
        raise TypeError(f"`detector` must be an HLDDetector, found {type(detector).__name__}")
    check_fitted(detector)


def facts_of_chunks(
    detector: HLDDetector, chunks: Iterable[Any], part: int = 0
) -> ChunkFacts | None:
    """What a test needs of a part of the rows."""
    sums: RowSums | None = None
    found: EncodingReport | None = None
    counts = None
    rng = np.random.default_rng([0, 2, part])
    absent: set[str] = set(detector.encoder_.names)
    extra: set[str] = set()
    for chunk in chunks:
        table = read_table(chunk)
        marks = new_marks(detector, table.num_rows)
        codes, report, not_there, new = detector.encoder_.encode_counting(table, marks)
        first = part * PART + (0 if sums is None else sums.num_rows)
        rows = test_rows(detector, table, codes)
        sums = _added(sums, row_sums(detector.test_, rows, rng, first))
        counts = _added(counts, batch_profile(detector, codes, marks))
        found = _added(found, report)
        absent, extra = absent & set(not_there), extra | set(new)
    if sums is None or found is None:
        return None
    return ChunkFacts(sums, counts, found, frozenset(absent), frozenset(extra))


def judge_facts(detector: HLDDetector, facts: ChunkFacts, alpha: float) -> HLDResult:
    """The verdict on all rows."""
    held = held_of(detector, None)
    quality = quality_of(detector, facts.report, set(facts.absent), sorted(facts.extra), held)
    result = with_quality(
        lambda level: detector.test_.judge_sums(facts.rows, level),
        quality,
        alpha,
        witnesses_of(detector, held, facts.counts),
    )
    return replace(result, evidence=evidence_of(detector, facts.counts, quality))


@dataclass(frozen=True)
class ChunkFacts:
    """What a test needs of some rows; that of more rows is the sum."""

    rows: RowSums
    counts: Any
    report: EncodingReport
    absent: frozenset[str]
    extra: frozenset[str]

    def __add__(self, other: ChunkFacts) -> ChunkFacts:
        """Those of both, this one's rows first."""
        return ChunkFacts(
            self.rows + other.rows,
            _added(self.counts, other.counts),
            self.report + other.report,
            self.absent & other.absent,
            self.extra | other.extra,
        )


def _added(first: Any, second: Any) -> Any:
    """The sum of what is known, None of nothing."""
    return second if first is None else first if second is None else first + second


def _judge_whole(detector: HLDDetector, chunks: Iterable[Any], alpha: float) -> HLDResult:
    """The test of a detector that needs the rows together: their codes are held."""
    codes, marks, parts, total = [], [], [], None
    absent: set[str] = set(detector.encoder_.names)
    extra: set[str] = set()
    groups: set[str] = set()
    for chunk in chunks:
        table, named = with_groups(detector, chunk)
        table = read_table(table)
        marks.append(new_marks(detector, table.num_rows))
        own, report, not_there, new = detector.encoder_.encode_counting(table, marks[-1])
        groups |= named
        codes.append(own)
        parts.append(cells_of(detector, table, marks[-1]))
        total = report if total is None else total + report
        absent, extra = absent & set(not_there), extra | set(new)
    if total is None:
        raise ValueError("`chunks` has no table: at least one is needed")
    warn_of_several(groups, stacklevel=3)
    further = {name: joined_cells([one[name] for one in parts]) for name in parts[0]}
    rows = np.concatenate(codes)
    whole = rows, rows, np.concatenate(marks)
    return with_evidence(
        detector,
        *judge_rows(detector, *whole, (total, absent, sorted(extra)), further, alpha=alpha),
    )
