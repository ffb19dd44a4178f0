r"""What is exported from a detector, as numbers and flat arrays that every target can hold.

The input is the codes of a batch of T rows, one for each column: the category that the encoder gives, or -1 for a hole.
A value that training did not show has a code of its own: the last category of a column of levels, and for bins of C
categories C below the range of training and C + 1 above it (`codes_of`).

The output is the p-value of ``detector.test(rows)``, of these witnesses together, and what they say one by one:

===================  ==========================================================  =====================================
witness              tables that are exported                                    what is computed from them
===================  ==========================================================  =====================================
distance             circuit, metrics, eigenvalues, tails of drawn scores        as `HLDTest`, an alarm checked by the
                                                                                 batch's own rows
missing, new values  counts of training rows, and of held-out ones               exact tests (`schemas.counts`)
counts               counts of held-out rows by column                           `hld.witnesses.largest_count`
dependences          counts by pair along the tree, and their associations       `hld.witnesses.largest_dependence`
===================  ==========================================================  =====================================

The distance of all levels and numbers of whole rows (`hld.features.odd_rows`) are not carried; their parts of the level
go to the distance.

With holes every node is compared by the rows that show it, under a law for the holes of the batch
(`hld.references.available`); so it is where the circuit is the reference, whatever ``missing`` says.  Draws are needed
at no T where rows are the reference: their tails are tables.  Where the circuit is, the distance is not heard below
`least_rows`, nor under another null than a law.

Detectors fitted to groups, to a series or with covariates are refused: for them ``detector.test`` compares a batch with
others like it, and the law of independent rows would reject most batches that differ only as groups do.

The circuit is that of a model file, region by region: tables of leaves, units that products multiply, weights of sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.gchi2.three_moments import three_moments
from hld.laws.drawn import RESOLVED as DRAWN_RESOLVED
from hld.laws.limit_law import MOST_SCALED, LimitLaw
from hld.laws.ranks.confirmation import ASKED_BELOW, MOST_VECTORS
from hld.references.available import FEWEST
from hld.references.reference import MAX_FULL_SPECTRUM
from hld.tables.schemas.columns import BINNED, NEW, UNSEEN
from hld.tables.schemas.counts import MISSING_SHARE, MOST_VALUES, NEW_SHARE
from hld.testing.verdict import keeps_apart
from hld.witnesses import largest_count, largest_dependence
from hld.witnesses.witnesses import has_witnesses
from pcircuit.io.circuit_file import to_arrays

MOST_NUMBERS = 2**22  # of a matrix F, so that the file can be compiled


@dataclass(frozen=True, eq=False)
class Plan:
    """All that is exported: sizes and constants, and arrays, by name; of each metric the same."""

    columns: tuple[Any, ...]
    witnesses: tuple[str, ...]
    numbers: dict[str, Any]
    arrays: dict[str, np.ndarray]
    metrics: tuple[MetricPlan, ...]


@dataclass(frozen=True, eq=False)
class MetricPlan:
    """One metric, |F z|; shapes matrix F (l, m)."""

    name: str
    matrix: np.ndarray
    numbers: dict[str, Any]
    arrays: dict[str, np.ndarray]


def plan_of(detector: Any) -> Plan:
    """The plan of a fitted detector."""
    test = detector.test_
    if detector.judge_ is not test:
        raise ValueError(
            "`detector` judges groups, a series, or rows given covariates, but only the test of "
            "independent rows is exported: fit without `groups`, `order` and `covariates`"
        )
    if detector.densities_ is not None:
        raise ValueError(
            "`detector` has leaves that are densities, and only bins are exported: fit with leaves='bins'"
        )
    if test.vectors.features is not None:
        raise ValueError(
            "`detector` tests the metric 'score', which is not exported: fit with "
            "metric='likelihoods' (hld fit --metric likelihoods on the command line)"
        )
    if test.tolerance:
        raise ValueError(
            f"`detector` tolerates that {test.tolerance:.2%} of the rows are others, which is not "
            "exported: fit without `tolerance`"
        )
    null, parts, m = test.calibration.null, test.calibration, len(test.nodes)
    if m * m > MOST_NUMBERS:
        raise ValueError(
            f"`detector` compares {m} nodes, which is more than a file can hold a metric of: "
            f"at most {int(MOST_NUMBERS**0.5)} are exported"
        )
    laws = null.laws if all(isinstance(one, LimitLaw) for one in null.laws) else ()
    metrics = tuple(
        _metric_plan(test, i, law) for i, law in enumerate(laws or [None] * len(parts.metrics))
    )
    known = {**_circuit(test), **_reference(test, laws), **_tails(null), **_counts(detector)}
    draws = null.limit.law.means if len(laws) > 1 else np.zeros(0, dtype=np.float32)
    known["joint"] = draws if len(draws) and draws[0] < 1 else draws[:0]  # else of rows all alike
    images = max(len(one.matrix) for one in metrics)
    formed = images if len(known["covariance"]) else min(images, MOST_VECTORS)
    numbers = {
        "nodes": test.circuit.num_nodes,
        "metrics": len(metrics),
        "train": test.num_train or 0,
        "least_rows": (getattr(null, "switch", 1) or 0) if laws else 0,
        "most_eigenvalues": max([1, *(len(one.arrays["eigenvalue"]) for one in metrics)]),
        "most_images": images,
        "square": formed**2,
        "most_vectors": MOST_VECTORS,
        "kept_rows": 0 if parts.kept is None else parts.kept.num_rows,
        "fewest": FEWEST,
        "most_scaled": MOST_SCALED,
        "asked_below": ASKED_BELOW,
        "drawn_resolved": DRAWN_RESOLVED,
        "counts": int(known["count_start"][-1]),
        "cells": int(known["pair_start"][-1]),
        "trained": detector.schema_.trained[0] if len(known["train_missing"]) else 0,
        "missing_share": MISSING_SHARE,
        "new_share": NEW_SHARE,
        "count_share": largest_count.SHARE,
        "dependence_share": largest_dependence.SHARE,
        "exact": largest_count.EXACT,
        "most_values": MOST_VALUES,
        "enclosed": largest_dependence.ENCLOSED,
        "rounds": largest_dependence.ROUNDS,
        "longest": largest_dependence.LONGEST,
    }
    carried = {
        "distance": numbers["least_rows"],
        "missing values": numbers["trained"],
        "new values": len(known["kept_new"]),
        "counts": len(known["event_column"]),
        "dependences": len(known["edge"]),
    }
    witnesses = tuple(name for name, is_there in carried.items() if is_there)
    return Plan(detector.encoder_.columns, witnesses, numbers, known, metrics)


def codes_of(detector: Any, table: Any) -> np.ndarray:
    """The codes of a table as an exported program takes them; shapes (T, V)."""
    encoder = detector.encoder_
    parts = encoder.read(table)
    marks = np.zeros((parts.num_rows, len(encoder.columns)), dtype=np.uint8)
    codes, *_ = encoder.encode_counting(table, marks)
    categories = np.array(encoder.num_categories)
    is_binned = np.array([one.kind in BINNED for one in encoder.columns])
    new = np.where(is_binned, categories + (codes > 0), categories - 1)
    return np.where(marks & NEW, new, codes).astype(np.int32)


def _circuit(test: Any) -> dict[str, np.ndarray]:
    """The circuit as files hold it (`pcircuit.io.circuit_file`), children of regions, and which nodes are compared."""
    circuit, children = test.circuit, test.circuit.vtree.child_lists()
    _, places, regions = np.unique(
        circuit.nodes.region[test.nodes], return_index=True, return_inverse=True
    )
    held = {f"circuit_{name}": values for name, values in to_arrays(circuit).items()}
    del held["circuit_parents"]  # the children tell the same
    return held | {
        "child": np.concatenate([np.zeros(0, dtype=np.int64), *children]).astype(np.int64),
        "child_start": np.cumsum([0, *map(len, children)]),
        "chosen": np.asarray(test.nodes),
        "region": regions,
        "first": np.asarray(test.nodes)[places],
    }


def _reference(test: Any, laws: tuple[Any, ...]) -> dict[str, np.ndarray]:
    """What is known of the rows that a batch is compared with; without rows, of the circuit."""
    kept, none = test.calibration.kept, np.zeros((0, 0))
    is_formed = laws and len(test.nodes) <= MAX_FULL_SPECTRUM
    covariance, shared = (none, none) if kept is None else (kept.covariance, kept.shared)
    if kept is None and is_formed:
        covariance = pcircuit.exact_moments(test.circuit, test.nodes).covariance()
    rounding = np.zeros(len(test.nodes))
    if kept is not None and not kept.farthest.all():
        rounding = test.vectors.rounding(test.mean, kept.num_rows)
    return {
        "mean": np.asarray(test.mean),
        "covariance": covariance,
        "kept_shown": np.zeros(0) if kept is None else kept.counts.astype(np.float64),
        "kept_shared": shared,
        "rounding": rounding,
        "offset": np.random.default_rng(0).random(MOST_VECTORS),  # of `some_rows`
    }


def _tails(null: Any) -> dict[str, np.ndarray]:
    """Tails of drawn scores, of all metrics together, at some numbers of rows."""
    tails = getattr(null, "tails", None)
    sizes = getattr(tails, "sizes", np.zeros(0, dtype=np.int64))
    drawn = [tails.tails[i][-1] for i in range(len(sizes))]  # type: ignore[union-attr]
    return {
        "size": sizes,
        "drawn_start": np.cumsum([0, *(len(one.values) for one in drawn)]),
        "drawn": np.concatenate([np.zeros(0), *(one.values for one in drawn)]),
        "drawn_rank": np.concatenate([np.zeros(0, np.int64), *(one.ranks for one in drawn)]),
    }


def _counts(detector: Any) -> dict[str, np.ndarray]:
    """What is known of single cells and of pairs of columns; empty where a witness has nothing to compare with."""
    encoder, profile, kept = detector.encoder_, detector.profile_, detector.new_values_
    trained, has_largest = detector.schema_.trained, has_witnesses(detector)
    categories = np.array(encoder.num_categories)
    is_binned = np.array([one.kind in BINNED for one in encoder.columns])
    whole = ("count", "event_column", "event_category", "event_is_cut", "edge", "pair")
    known = {
        **dict.fromkeys(("train_missing", "kept_new", "kept_values", "association"), np.zeros(0)),
        **dict.fromkeys(whole, np.zeros(0, dtype=np.int64)),
        "categories": categories,
        "new": categories - ~is_binned,
        "unseen": np.array([UNSEEN.index(one.policy) for one in encoder.columns]),
        "count_start": np.cumsum([0, *(categories + 1)]),
        "has_cuts": np.zeros(len(categories), dtype=np.int64),
        "pair_start": np.zeros(1, dtype=np.int64),
    }
    if detector.missingness and trained is not None:
        known["train_missing"] = np.asarray(trained[1], dtype=np.float64)
    if detector.missingness and kept is not None:
        known |= {"kept_values": kept.shown.astype(float), "kept_new": kept.new.astype(float)}
    if has_largest:
        events = largest_count.count_events(profile.counts, encoder.ordered)
        known |= {
            "count": np.concatenate(profile.counts),
            "event_column": events.columns,
            "event_category": events.categories,
            "event_is_cut": events.is_cut.astype(np.int64),
        }
        known["has_cuts"][np.unique(events.columns[events.is_cut])] = 1
    if has_largest and profile.associations is not None and len(profile.pairs):
        known |= {
            "edge": profile.edges.ravel(),
            "pair_start": np.cumsum([0, *(one.size for one in profile.pairs)]),
            "pair": np.concatenate([one.ravel() for one in profile.pairs]),
            "association": np.concatenate([one.ravel() for one in profile.associations]),
        }
    return known


def _metric_plan(test: Any, i: int, law: LimitLaw | None) -> MetricPlan:
    """The plan of one metric."""
    metric, kept, m = test.calibration.metrics[i], test.calibration.kept, len(test.mean)
    values = np.zeros(0) if law is None else law.eigenvalues
    is_there = values > 0
    order = np.argsort(-values[is_there], kind="stable")
    counts = values if law is None else law.multiplicities
    score = three_moments(values, counts)
    return MetricPlan(
        metric.name,
        np.asarray(metric.apply(np.eye(m))).T,
        {
            "is_constant": int(test.are_constant[i]),
            "is_apart": int(keeps_apart(metric, test.vectors)),
            "round_off": float(test.round_offs[i]),
            "excess": 0.0 if law is None else float(law.excess),
            "first": score.first,
            "second": score.second,
            "scale": score.scale,
            "fourth": 0.0 if kept is None else float(kept.fourth[i]),
            "farthest": 0.0 if kept is None else float(kept.farthest[i]),
        },
        {
            "eigenvalue": values[is_there][order],
            "multiplicity": counts[is_there][order],
            "norm": np.zeros(3) if kept is None else kept.norms[i],
        },
    )
