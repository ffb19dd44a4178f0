"""What a detector is made of and how it is described: the parts of `HLDDetector` that need no object."""
from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.metrics.named import COMBINATIONS, default_metrics
from hld.results.largest_count import largest_of
from hld.results.result import HLDResult
from hld.results.with_quality import with_quality
from hld.summaries.of_tables import facts_of
from hld.summaries.summary import BatchSummary, check_summary
from hld.testing.goodness_of_fit import HLDTest

MISSING = {"complete": "drawn from the circuit given the rest of the row", "exact": "summed out",
           "available": "each node is compared by the rows that show its whole scope"}
SUPPORTED_LEVEL = 0.05  # below the smallest p-value of a single row `fit` warns
MOST_NAMED = 8  # columns that a warning names
MOST_LEVELS = 11_000  # of a column
FEWEST_NUMBERS = 10  # levels of a column of text that is told to hold numbers
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.']\d{3})+([.,]\d+)?)([eE][+-]?\d+)?\s*%?\s*")


def build_test(options: Mapping[str, Any], circuit: pcircuit.Circuit, kept: np.ndarray, num_learned: int, seed: int,
               ordered: tuple[Any, ...]) -> HLDTest:
    """The test of a fitted circuit against the rows `kept`, or, if these are None, against the circuit."""
    nodes, metric = pcircuit.select_nodes(circuit, options["kinds"]), options["metric"]
    if isinstance(metric, str) and metric in COMBINATIONS:
        fresh = None if kept is None or options["reference"] == "training" else len(kept)
        metric = default_metrics(circuit, nodes, fresh, scores=metric == "auto" and options["covariates"] is None)
    return HLDTest(circuit, nodes=nodes, metric=metric, null=options["null"],
                   reference="circuit" if kept is None else "training", training_data=kept,
                   num_train=num_learned if options["estimation_error"] and kept is None else None,
                   rng=seed, num_resamples=options["num_resamples"], tolerance=options["tolerance"], ordered=ordered)


def judge_table_summary(detector: Any, summary: BatchSummary, alpha: float) -> HLDResult:
    """Test a batch of which a fitted detector has a summary."""
    check_summary(summary, "batch")
    if detector.judge_ is not detector.test_:
        raise ValueError("`batch` is a summary, which holds what independent rows need: this detector judges groups, a "
                         "series, or rows given covariates, and needs the rows")
    summary, quality, evidence = facts_of(detector, summary)
    if quality is None:
        return detector.test_(summary, alpha)
    counts = None if evidence is None else largest_of(detector, evidence.batch)
    result = with_quality(lambda level: detector.test_(summary, level), quality, alpha, counts)
    return replace(result, evidence=evidence)


@contextlib.contextmanager
def batch_as_named() -> Iterator[None]:
    """Errors about a `table` speak of the `batch`, which is what `HLDDetector.test` calls it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error)
        if type(error) not in (TypeError, ValueError) or not said.startswith("`table`"):
            raise
        raise type(error)(said.replace("`table`", "`batch`", 1)) from None


def describe(detector: Any) -> str:
    """The columns of a fitted detector and how each is treated, the circuit, and the test."""
    left_out = [f"{column.name!r}: left out, {column.note or 'as the schema says'}" for column in
                detector.schema_.left_out]
    return "\n".join([
        f"HLDDetector fitted to {detector.num_train_} rows, mean log-likelihood {detector.history_[-1]:.4f}",
        detector.encoder_.describe(), *left_out, detector.test_.describe(), *_kept_rows(detector),
        *([] if detector.judge_ is detector.test_ else [detector.judge_.describe()]),
        f"missing values: {MISSING[detector.test_.missing]}; {_tested_shares(detector)}"])


def _kept_rows(detector: Any) -> list[Any]:
    """A line about the rows of the reference, if they were kept from learning."""
    test = detector.test_
    if test.reference == "circuit" or test.num_train == detector.num_train_:
        return []
    return [f"reference: {test.num_train} of the {detector.num_train_} rows, kept from learning"]


def _tested_shares(detector: Any) -> str:
    """What is done with the shares of missing values."""
    if not detector.missingness or detector.judge_ is not detector.test_:
        return "their shares are not tested"
    if detector.schema_.trained is None:
        return "their shares are not tested, as those of training are not in this older file"
    return "their shares are tested against those of training"


def warn_of_few(judge: Any, num_rows: int) -> None:
    """A warning if nothing can be rejected at the default level, so little there is to compare with."""
    if not isinstance(judge, HLDTest):
        if judge.least_pvalue() > SUPPORTED_LEVEL:  # only groups have one
            warnings.warn(f"`groups` leaves {judge.num_groups} groups to compare with, so p-values are at least "
                          f"{judge.least_pvalue():.2g}: a test at a lower level never rejects", UserWarning,
                          stacklevel=3)
        return
    test = judge
    least = test.least_pvalue(1)
    if least > SUPPORTED_LEVEL:
        warnings.warn(f"`table` has {num_rows} rows, so the smallest p-value of a single row is {least:.2g}: a test at "
                      "a lower level never rejects one; `describe()` lists the smallest p-values of larger batches",
                      UserWarning, stacklevel=3)


def examine_columns(schema: Any, given: Any, categorical: Any) -> None:
    """Warnings that name columns left out without having been asked for, and numbers that are text.

    A ValueError where a column has more levels than pairs of columns can be counted with.
    """
    for column in schema.columns:
        if len(column.levels or ()) > MOST_LEVELS:
            raise ValueError(f"`table` column {column.name!r} has {len(column.levels)} levels, expected at most "
                             f"{MOST_LEVELS}: lower `max_categories`, the rarest then share a category")
    asked = {column.name for column in given.left_out} if given is not None else set()
    known = {str(name) for name in (categorical if categorical is not None else ())}
    known |= {column.name for column in given.columns} if given is not None else set()
    numbers = [repr(column.name) for column in schema.columns if column.name not in known and _are_numbers(column)]
    if numbers:
        more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
        named = ", ".join(numbers[:MOST_NAMED]) + more
        warnings.warn(f"`table` has columns of text most of which are numbers: {named}; each text is learned "
                      "as a level of its own: convert them to numbers, or name them in `categorical`",
                      UserWarning, stacklevel=3)
    found = [f"{column.name!r} ({column.note})" for column in schema.left_out if column.name not in asked]
    if found:
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        warnings.warn(f"`table` has columns that tell rows apart and say nothing of others, which are left out: "
                      f"{', '.join(found[:MOST_NAMED])}{more}; name them in `categorical` or `continuous` to keep them",
                      UserWarning, stacklevel=3)


def _are_numbers(column: Any) -> bool:
    """Whether a column has many levels, and most are texts that a person would read as numbers."""
    texts = [level for level in column.levels or () if isinstance(level, str)] if column.kind == "categorical" else []
    return len(texts) >= FEWEST_NUMBERS and sum(bool(NUMBER.fullmatch(text)) for text in texts) > len(texts) / 2
