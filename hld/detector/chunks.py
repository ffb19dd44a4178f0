"""Testing a batch that comes in chunks, such as a file larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.answers.profile import Profile
from hld.answers.table_facts import (
    ReadBatch,
    batch_profile,
    held_of,
    quality_of,
    read_batch,
    with_evidence,
)
from hld.detector.detector import HLDDetector, judge_rows, warn_of_several
from hld.detector.estimator import check_fitted
from hld.tables.schemas.encoder import EncodingReport
from hld.testing.summaries.summing import RowSums, row_sums
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
    is_one = (
        hasattr(chunks, "columns")
        or isinstance(chunks, (str, bytes, Mapping))
        or getattr(chunks, "ndim", 3) < 3
    )
    if is_one or not isinstance(chunks, Iterable):
        raise TypeError(
            f"`chunks` must be a sequence of tables, found one {type(chunks).__name__}: give a table in a "
            "list, or its parts"
        )
    alpha = check_fraction(alpha, "alpha")
    if detector.judge_ is detector.test_:
        facts = facts_of_chunks(detector, chunks, 0)
        if facts is not None:
            return judge_facts(detector, facts, alpha)
    else:  # which needs the rows together: their codes are held
        parts = [read_batch(detector, chunk) for chunk in chunks]
        if parts:
            batch = ReadBatch.joined(parts)
            warn_of_several(batch.groups, stacklevel=2)
            return judge_rows(detector, batch, alpha)
    raise ValueError("`chunks` has no table: at least one is needed")


def check_detector(detector: Any) -> None:
    """Raise unless a detector is one, and fitted."""
    if not isinstance(detector, HLDDetector):
        raise TypeError(f"`detector` must be an HLDDetector, found {type(detector).__name__}")
    check_fitted(detector)


@dataclass(frozen=True)
class ChunkFacts:
    """What a test needs of some rows; that of more rows is the sum, whose first rows are those of the first."""

    rows: RowSums
    counts: Profile
    report: EncodingReport
    absent: frozenset[str]
    extra: frozenset[str]

    def __add__(self, other: ChunkFacts) -> ChunkFacts:
        """Those of both."""
        return ChunkFacts(
            self.rows + other.rows,
            self.counts + other.counts,
            self.report + other.report,
            self.absent & other.absent,
            self.extra | other.extra,
        )


def facts_of_chunks(detector: HLDDetector, chunks: Iterable[Any], part: int) -> ChunkFacts | None:
    """What a test needs of a part of the rows."""
    found: ChunkFacts | None = None
    rng = np.random.default_rng([0, 2, part])
    for chunk in chunks:
        batch = read_batch(detector, chunk)
        first = part * PART + (0 if found is None else found.rows.num_rows)
        sums = row_sums(detector.test_, batch.rows, rng, first)
        counts = batch_profile(detector, batch.codes, batch.marks)
        own = ChunkFacts(sums, counts, batch.report, batch.absent, batch.extra)
        found = own if found is None else found + own
    return found


def judge_facts(detector: HLDDetector, facts: ChunkFacts, alpha: float) -> HLDResult:
    """The verdict on all rows."""
    held = held_of(detector, None)
    quality = quality_of(detector, facts.report, facts.absent, facts.extra, held)
    result = with_quality(
        lambda level: detector.test_.judge_sums(facts.rows, level),
        quality,
        alpha,
        witnesses_of(detector, held, facts.counts),
    )
    return with_evidence(detector, result, facts.counts)
