"""How a detector judges a summary, reports on batches and describes itself: parts of `HLDDetector`."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from hld.results.largest import largest_of
from hld.results.result import HLDResult
from hld.results.with_quality import with_quality
from hld.schemas.schema import GROUPING
from hld.summaries.of_tables import facts_of
from hld.summaries.summary import BatchSummary, check_summary
from hld.tables.cells import objects_of, read_table
from hld.tables.column_names import table_called
from hld.tables.factored import whole_cells
from hld.tables.shown_names import listed
from hld.tables.single_cells import is_missing

MISSING = {
    "complete": "drawn from the circuit given the rest of the row",
    "exact": "summed out",
    "available": "each node is compared by the rows that show its whole scope",
}
MOST_NAMED = 3  # groups in a warning


def judge_table_summary(detector: Any, summary: BatchSummary, alpha: float) -> HLDResult:
    """Test a batch of which a fitted detector has a summary."""
    check_summary(summary, "batch")
    if detector.judge_ is not detector.test_:
        raise ValueError(
            "`batch` is a summary, which holds what independent rows need: this detector judges groups, a "
            "series, or rows given covariates, and needs the rows"
        )
    summary, quality, evidence = facts_of(detector, summary)
    if quality is None:
        return detector.test_(summary, alpha)
    largest = largest_of(detector, None if evidence is None else evidence.batch)
    result = with_quality(lambda level: detector.test_(summary, level), quality, alpha, largest)
    return replace(result, evidence=evidence)


def with_groups(detector: Any, table: Any) -> tuple[Any, set[str]]:
    """A batch, and the groups that its rows say they are of: none where it does not have their column.

    Shapes: table (T, V).
    """
    known = [column.name for column in detector.schema_.left_out if column.note == GROUPING]
    if not known:
        return table, set()
    parts = read_table(table)
    if parts.names is None or known[0] not in parts.names:
        return parts, set()
    cells = objects_of(whole_cells(parts.arrays[parts.names.index(known[0])])).tolist()
    return parts, {str(cell) for cell in cells if not is_missing(cell)}


def warn_of_several(groups: set[str], stacklevel: int) -> None:
    """Warn of a batch with rows of more than one group: means of several vary less than those of one."""
    if len(groups) > 1:
        names = listed(sorted(groups), MOST_NAMED)
        warnings.warn(
            f"`batch` has rows of {len(groups)} groups ({names}), and is tested as one group: their mean "
            "varies less than that of one, and a shift in one of them is thinned by the others. Test each by "
            "itself (`detector.test_by`, `hld test --by`)",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def batch_as_named() -> AbstractContextManager[None]:
    """Errors about a `table` speak of the `batch`, which is what `HLDDetector.test` calls it."""
    return table_called("batch")


def describe(detector: Any) -> str:
    """The columns of a fitted detector and how each is treated, the circuit, and the test."""
    left_out = [
        f"{column.name!r}: left out, {column.note or 'as the schema says'}"
        for column in detector.schema_.left_out
    ]
    is_own = detector.judge_ is detector.test_
    return "\n".join(
        [
            f"HLDDetector fitted to {detector.num_train_} rows, mean log-likelihood {detector.history_[-1]:.4f}",
            detector.encoder_.describe(),
            *left_out,
            *(
                []
                if is_own
                else [
                    "against independent rows (`test_`), which is not how `test` judges (see below):"
                ]
            ),
            detector.test_.describe(),
            *_kept_rows(detector),
            *([] if is_own else [detector.judge_.describe()]),
            f"missing values: {MISSING[detector.test_.missing]}; {_tested_shares(detector)}",
        ]
    )


def _kept_rows(detector: Any) -> list[Any]:
    """A line about the rows of the reference, if they were held out."""
    test = detector.test_
    if test.reference == "circuit" or test.num_train == detector.num_train_:
        return []
    return [f"reference: {test.num_train} of the {detector.num_train_} rows, held out of learning"]


def _tested_shares(detector: Any) -> str:
    """What is done with the shares of missing values."""
    if not detector.missingness or detector.judge_ is not detector.test_:
        return "their shares are not tested"
    return "their shares are tested against those of training"
