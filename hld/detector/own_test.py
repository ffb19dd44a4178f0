"""The test of a fitted circuit, and what a user should know about it as soon as it is fitted."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import pcircuit
from hld.answers.words import least_text
from hld.tables.shown_names import in_one_line
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.variation.time_test import TimeTest
from hld.witnesses.metrics.named import COMBINATIONS, default_metrics

SHOWN_NAMES = 5
SUPPORTED_LEVEL = 0.05  # below the smallest p-value of a single row `fit` warns


def build_test(
    options: Mapping[str, Any],
    circuit: pcircuit.Circuit,
    kept: np.ndarray,
    num_learned: int,
    seed: int,
    ordered: tuple[Any, ...],
) -> HLDTest:
    """The test of a fitted circuit against the rows `kept`, or, if these are None, against the circuit.

    Shapes: kept (k, V).
    """
    nodes, metric = pcircuit.select_nodes(circuit, options["kinds"]), options["metric"]
    if isinstance(metric, str) and metric in COMBINATIONS:
        fresh = None if kept is None or options["reference"] == "training" else len(kept)
        metric = default_metrics(
            circuit, nodes, fresh, scores=metric == "auto" and options["covariates"] is None
        )
    return HLDTest(
        circuit,
        nodes=nodes,
        metric=metric,
        null=options["null"],
        reference="circuit" if kept is None else "training",
        training_data=kept,
        num_train=num_learned if options["estimation_error"] and kept is None else None,
        rng=seed,
        num_resamples=options["num_resamples"],
        tolerance=options["tolerance"],
        ordered=ordered,
    )


def warn_of_few(judge: Any, num_rows: int, names: Sequence[str]) -> None:
    """A warning if there is too little to compare with, so that nothing can be rejected, or too much is."""
    if not isinstance(judge, HLDTest):
        if isinstance(judge, TimeTest) and (judge.is_too_short or judge.dependent_columns):
            warnings.warn(
                f"`order`='time' compares with stretches of up to {judge.reference.longest} of "
                f"{judge.reference.num_rows} rows, which are still dependent{_consequence(judge, names)}: "
                "give a longer series",
                UserWarning,
                stacklevel=4,
            )
        elif (
            not isinstance(judge, TimeTest)
            and judge.least_pvalue() >= SUPPORTED_LEVEL
            and not judge.law
        ):  # only groups have one
            warnings.warn(
                f"`groups` leaves {judge.num_groups} groups to compare with, so p-values are at least "
                f"{least_text(judge.least_pvalue())}: a test at a lower level never rejects, and of several segments "
                "tested together one that is odd cannot be called",
                UserWarning,
                stacklevel=4,
            )
        return
    test = judge
    least = test.least_pvalue(1)
    if least > SUPPORTED_LEVEL:
        warnings.warn(
            f"`table` has {num_rows} rows, so the smallest p-value of a single row is {least:.2g}: a test at "
            "a lower level never rejects one; `describe()` lists the smallest p-values of larger batches",
            UserWarning,
            stacklevel=4,
        )


def _consequence(judge: TimeTest, names: Sequence[str]) -> str:
    """What follows from stretches that are dependent, as a whole or in some columns."""
    if judge.is_too_short:
        return f", so p-values are at least {least_text(judge.least_pvalue())}, and more for long batches"
    slow = [in_one_line(names[v]) for v in judge.dependent_columns]
    more = f" and {len(slow) - SHOWN_NAMES} more" if len(slow) > SHOWN_NAMES else ""
    return (
        f" in {', '.join(map(repr, slow[:SHOWN_NAMES]))}{more}, whose own p-values are then at least "
        f"{judge.least_of_columns():.2g}, and more for long batches"
    )
