"""What a detector is made of and how it is described: the parts of `HLDDetector` that need no object."""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping

import numpy as np

import pcircuit
from hld.answers.segments import MISSING as NO_LABEL
from hld.answers.segments import numbered, split_off
from hld.goodness_of_fit import HLDTest
from hld.metrics.named import default_metrics
from hld.references.groups import split_groups
from hld.references.held_out import split_rows
from hld.references.stretches import FEWEST_ROWS

MISSING = {"complete": "drawn from the circuit given the rest of the row", "exact": "summed out",
           "available": "each node is compared by the rows that show its whole scope"}
SUPPORTED_LEVEL = 0.05  # below the smallest p-value of a single row `fit` warns
MOST_NAMED = 8  # columns that a warning names


def divide(columns, groups, order, reference: str, rng) -> tuple:
    """A table without its column of groups, positions of the rows to learn from and of the reference, and labels.

    Without groups the labels are None, and the positions those of `split_rows`; in order of time the first half is
    learned from.
    """
    if order is not None:
        return columns, _halves(columns.num_rows, groups, order, reference), None
    if groups is None:
        return columns, split_rows(columns.num_rows, reference, rng), None
    if reference not in ("auto", "held-out"):
        raise ValueError("`groups` are compared with groups that nothing was learned from: use reference='held-out', "
                         f"found reference={reference!r}")
    columns, cells, name = split_off(columns, groups, argument="groups")
    labels, names = numbered(cells, None, name)
    if names[-1] == NO_LABEL:
        raise ValueError(f"`groups` has {int((labels == len(names) - 1).sum())} rows without a group: leave them out, "
                         "or give them one")
    if not columns.arrays:
        raise ValueError("`groups` names the only column of `table`: there must be others to learn")
    return columns, split_groups(labels, rng), labels


def _halves(num_rows: int, groups, order, reference: str) -> tuple:
    """Positions of the earlier and of the later half of the rows."""
    if order != "time":
        raise ValueError("`order` must be 'time' (the rows are in order of time, without gaps) or None, found "
                         f"{order!r}")
    if groups is not None:
        raise ValueError("`order` and `groups` are two ways to say how rows hang together: give one of them")
    if reference not in ("auto", "held-out"):
        raise ValueError("`order` compares with rows that nothing was learned from: use reference='held-out', found "
                         f"reference={reference!r}")
    if num_rows < 2 * FEWEST_ROWS:
        raise ValueError(f"`table` has {num_rows} rows, expected at least {2 * FEWEST_ROWS} with order='time'")
    return np.arange(num_rows // 2), np.arange(num_rows // 2, num_rows)


def build_test(options: Mapping, circuit, kept, num_learned: int, seed: int) -> HLDTest:
    """The test of a fitted circuit against the rows `kept`, or, if these are None, against the circuit."""
    nodes, metric = pcircuit.select_nodes(circuit, options["kinds"]), options["metric"]
    if isinstance(metric, str) and metric == "auto":
        metric = default_metrics(circuit, nodes)
    return HLDTest(circuit, nodes=nodes, metric=metric, null=options["null"],
                   reference="circuit" if kept is None else "training", training_data=kept,
                   num_train=num_learned if options["estimation_error"] and kept is None else None,
                   rng=seed, num_resamples=options["num_resamples"], tolerance=options["tolerance"])


@contextlib.contextmanager
def batch_as_named():
    """Errors about a `table` speak of the `batch`, which is what `HLDDetector.test` calls it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error)
        if type(error) not in (TypeError, ValueError) or not said.startswith("`table`"):
            raise
        raise type(error)(said.replace("`table`", "`batch`", 1)) from None


def describe(detector) -> str:
    """The columns of a fitted detector and how each is treated, the circuit, and the test."""
    left_out = [f"{column.name!r}: left out, {column.note or 'as the schema says'}" for column in
                detector.schema_.left_out]
    return "\n".join([
        f"HLDDetector fitted to {detector.num_train_} rows, mean log-likelihood {detector.history_[-1]:.4f}",
        detector.encoder_.describe(), *left_out, detector.test_.describe(), *_kept_rows(detector),
        *([] if detector.judge_ is detector.test_ else [detector.judge_.describe()]),
        f"missing values: {MISSING[detector.test_.missing]}; {_tested_shares(detector)}"])


def _kept_rows(detector) -> list:
    """A line about the rows of the reference, if they were kept from learning."""
    test = detector.test_
    if test.reference == "circuit" or test.num_train == detector.num_train_:
        return []
    return [f"reference: {test.num_train} of the {detector.num_train_} rows, kept from learning"]


def _tested_shares(detector) -> str:
    """What is done with the shares of missing values."""
    if not detector.missingness or detector.judge_ is not detector.test_:
        return "their shares are not tested"
    if detector.schema_.trained is None:
        return "their shares are not tested, as those of training are not in this older file"
    return "their shares are tested against those of training"


def warn_of_few(judge, num_rows: int) -> None:
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


def warn_of_left_out(schema, given) -> None:
    """A warning that names the columns that are left out without having been asked for."""
    asked = {column.name for column in given.left_out} if given is not None else set()
    found = [f"{column.name!r} ({column.note})" for column in schema.left_out if column.name not in asked]
    if found:
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        warnings.warn(f"`table` has columns that tell rows apart and say nothing of others, which are left out: "
                      f"{', '.join(found[:MOST_NAMED])}{more}; name them in `categorical` or `continuous` to keep them",
                      UserWarning, stacklevel=3)
