r"""Whole groups as the batches of an audit, and how many of them may alarm.

A detector fitted with groups asks whether a batch is a group like those before, so its level is the share of alarms
among fresh groups, each tested as one batch.

All of them are ranked among the same G groups of the reference, so that their alarms depend on one another.  A batch
alarms if it is among the k = floor(alpha (G + 1)) oddest of itself and the G; given the reference it does with a
probability that has the law Beta(k, G + 1 - k), as exceedances of order statistics do.  So of B fresh groups a number
with the law BetaBinomial(B, k, G + 1 - k) alarms, however many there are: with 19 groups in the reference one detector
in eight alarms on more than a tenth of all groups to come, at level 0.05, and keeps its level nonetheless.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hld.answers.segment_labels import group_numbers
from hld.answers.segments import split_off
from hld.tables.cells import read_table
from hld.tables.column_names import table_called

WORDS = {
    "groups": "groups",
    "time": "order",
}  # kind of `judge_`: the argument of `fit` that made it
OUTSIDE = 0.025  # as beyond one end of an interval of 95 %


def whole_groups(table: Any, groups: Any, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions of the rows of each group, of a random choice of them where there are too many."""
    with table_called("held_out"):
        _, cells, name = split_off(read_table(table), groups, argument="groups")
    labels = group_numbers(cells, name)
    order = np.argsort(labels, kind="stable")
    found = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return (
        found
        if len(found) <= most
        else [found[g] for g in np.sort(rng.permutation(len(found))[:most])]
    )


def as_judged(table: Any, groups: Any) -> Any:
    """A table as detectors of groups test it: without the column of groups, where columns have no names."""
    columns = read_table(table) if isinstance(groups, (str, int, np.integer)) else None
    if columns is None or columns.names is not None:
        return table
    names = [f"x{v}" for v in range(len(columns.arrays))]
    at = names.index(groups) if isinstance(groups, str) else int(groups)
    keep = [v for v in range(len(names)) if v != at]
    if hasattr(table, "iloc"):
        return table.iloc[:, keep]
    return (
        table[:, keep]
        if isinstance(table, np.ndarray)
        else [[row[v] for v in keep] for row in table]
    )


def fit_all(detectors: Mapping[str, Any], train: Any, fitting: Mapping[str, Any]) -> None:
    """Fit those that have ``fit``, in the words that it knows.

    What a detector says of its `table` is said of `train`.
    """
    for name, one in detectors.items():
        word = WORDS.get(kind_of(one))  # type: ignore[arg-type]
        if word is not None and fitting.get(word) is None:
            raise ValueError(
                f"`{word}` must be given with `train`, as detector {name!r} was fitted with it: repeat it "
                "as in `fit`"
            )
    groups = fitting.get("groups")
    if groups is not None and not isinstance(groups, (str, int, np.integer)):
        raise ValueError(
            f"`groups` must be a column of both tables with `train`, found {type(groups).__name__}: add "
            "the labels to the tables as a column"
        )
    for one in detectors.values():
        if callable(getattr(one, "fit", None)):
            words = {word: value for word, value in fitting.items() if _knows(one.fit, word)}
            with table_called("train"):
                one.fit(train if "groups" in words else as_judged(train, groups), **words)


def _knows(function: Callable[..., Any], argument: str) -> bool:
    """Whether a function has an argument of this name."""
    try:
        return argument in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def kind_of(detector: Any) -> str | None:
    """What batches of a detector are: "groups", "time", another kind, or None."""
    return getattr(getattr(detector, "judge_", None), "kind", None)


def too_many(num_alarms: int, num_batches: int, alpha: float, num_groups: int) -> bool:
    """Whether so many groups alarm of B only once in forty detectors that keep their level."""
    from scipy.stats import betabinom

    k = int(alpha * (num_groups + 1) + 1e-9)
    if k == 0:
        return num_alarms > 0
    law = betabinom(num_batches, k, num_groups + 1 - k)
    return bool(law.sf(num_alarms - 1) < OUTSIDE)
