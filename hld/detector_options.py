"""The options of a detector, checked before anything is learned: a fit may take minutes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hld.metrics.named import COMBINATIONS, DEFAULT, METRICS, names_in
from hld.nulls.named import NULLS, OF_ONE_METRIC, ON_DEMAND
from hld.schemas.schema import TableSchema
from pcircuit.arguments import (
    check_choice,
    check_flag,
    check_generator,
    check_number,
    check_whole_number,
)
from pcircuit.arrays import check_numbers
from pcircuit.inference.node_selection import check_kinds

REFERENCES = ("auto", "training", "held-out", "circuit")


def check_options(options: Mapping[str, Any]) -> None:
    """Raise a TypeError or a ValueError for the first option of an `HLDDetector` that cannot be used."""
    for name, least in (
        ("num_latents", 1),
        ("num_epochs", 0),
        ("num_bins", 2),
        ("max_categories", 2),
        ("num_resamples", 1),
    ):
        check_whole_number(options[name], name, least)
    for name in ("pseudocount", "tolerance"):
        check_number(options[name], name, least=0)
    if isinstance(
        options["kinds"], Iterator
    ):  # which can be read once, and options are read again and again
        raise TypeError(
            f"`kinds` is {options['kinds']!r}, expected a sequence of kinds: give a list"
        )
    check_kinds(options["kinds"])
    _check_metric(options["metric"])
    check_choice(options["null"], "null", tuple(NULLS))
    check_choice(options["reference"], "reference", REFERENCES)
    if options["null"] in ON_DEMAND and options["reference"] != "circuit":
        raise ValueError(
            f"`null` {options['null']!r} draws from the circuit: use null='auto', or reference='circuit', "
            f"found reference={options['reference']!r}"
        )
    if options["null"] in OF_ONE_METRIC and _num_names(options["metric"]) > 1:
        raise ValueError(
            f"`null` {options['null']!r} needs a single `metric`, found metric={options['metric']!r}"
        )
    check_flag(options["estimation_error"], "estimation_error")
    check_flag(options["missingness"], "missingness")
    if not isinstance(options["schema"], TableSchema | None):
        raise TypeError(f"`schema` must be a TableSchema, found {type(options['schema']).__name__}")
    check_generator(options["rng"])


def _num_names(metric: Any) -> int:
    """Number of metrics that are named."""
    if isinstance(metric, str):
        return len(DEFAULT) if metric in COMBINATIONS else 1
    return sum(isinstance(part, str) for part in metric) if isinstance(metric, (list, tuple)) else 1


def _check_metric(metric: str) -> None:
    """Raise unless `metric` is a combination, names of metrics, or positive numbers, whose count is not known yet."""
    if isinstance(metric, str) and metric in COMBINATIONS:
        return
    expected = (
        f"'auto', 'likelihoods', one of {', '.join(map(repr, METRICS))}, several different ones, or positive "
        "node weights"
    )
    if names_in(metric, expected) is None:
        weights = check_numbers(metric, "metric", expected, above=0)
        if weights.ndim != 1 or not weights.size:
            raise ValueError(f"`metric` must be {expected}, found shape {weights.shape}")
