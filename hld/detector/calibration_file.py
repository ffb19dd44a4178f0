"""A calibration as JSON scalars and plain arrays, and back, everything checked.

mean, stds, nodes                    of the node likelihoods
feature.places, feature.factors      features of the score, if a metric looks at them
feature.scores                       the reference's mean score
metric.I.*                           the map of metric I
null.*                               what the null holds
kept.*                               sums over the rows of a reference
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pcircuit
from hld.nulls.named import Context
from hld.references.circuit import CircuitReference
from hld.references.kept_rows import KeptRows
from hld.testing.calibration import Calibration, refuse_scale
from hld.vectors.linear_maps import read_map
from hld.vectors.row_vectors import RowVectors, bounded_array
from hld.vectors.score_features import FLOOR, ScoreFeatures
from pcircuit.io.archive import check_names, finite_array, under_prefix, with_prefix


def calibration_parts(calibration: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scalars, as JSON holds them, and arrays of a calibration."""
    null, null_arrays = calibration.null.to_parts()
    scalars: dict[str, Any] = {"metrics": [], "null": null, "kept": None}
    arrays = {name: getattr(calibration, name) for name in ("nodes", "mean", "stds")}
    for i, metric in enumerate(calibration.metrics):
        own, own_arrays = metric.to_parts()
        scalars["metrics"].append(own)
        arrays |= with_prefix(f"metric.{i}.", own_arrays)
    if calibration.features is not None:
        arrays |= {
            "feature.places": calibration.features.places,
            "feature.factors": calibration.features.factors,
            "feature.scores": calibration.mean_score,
        }
    if calibration.kept is not None:
        scalars["kept"], own_arrays = calibration.kept.to_parts()
        arrays |= with_prefix("kept.", own_arrays)
    return scalars, arrays | with_prefix("null.", null_arrays)


def read_calibration(
    circuit: pcircuit.Circuit, scalars: dict[str, Any], arrays: dict[str, np.ndarray], seed: int
) -> Calibration:
    """A calibration from its parts; raises ValueError where they do not fit together."""
    check_names(scalars, {"metrics", "null", "kept"}, "the calibration")
    nodes = saved_nodes(circuit, arrays)
    m = len(nodes)
    features = read_features(circuit, arrays)
    size = m if features is None else m + features.num_features
    mean = bounded_array(arrays, "mean", (size,), RowVectors(circuit, nodes, features).bounds)
    stds = finite_array(arrays, "stds", (size,))
    if (mean[:m] < 0).any() or (stds < 0).any() or (mean[:m] > 1.001).any() or (stds[:m] > 1).any():
        raise ValueError("'mean' and 'stds' must be those of likelihoods, numbers from 0 to 1")
    if not isinstance(scalars["metrics"], list) or not scalars["metrics"]:
        raise ValueError("the test has no metric")
    metrics = tuple(
        read_map(own, under_prefix(f"metric.{i}.", arrays), size)
        for i, own in enumerate(scalars["metrics"])
    )
    if len({metric.name for metric in metrics}) < len(metrics):
        raise ValueError("the names of the metrics of the test must be different")
    for metric in metrics:
        refuse_scale(metric, stds, mean)
    context = Context(CircuitReference(circuit, nodes, mean[:m]), metrics, stds, seed)
    null = context.read(scalars["null"], under_prefix("null.", arrays))
    kept = None
    if scalars.get("kept") is not None:
        kept = KeptRows.from_parts(
            scalars["kept"], under_prefix("kept.", arrays), size, len(metrics)
        )
        kept.check_fits(stds, null.laws)
    scores = (
        None
        if features is None
        else bounded_array(arrays, "feature.scores", (circuit.num_parameters,), 1.0)
    )
    return Calibration(nodes, mean, stds, metrics, null, kept, features, scores)


def saved_nodes(circuit: pcircuit.Circuit, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """(m,) the nodes of a test in a file."""
    nodes = finite_array(arrays, "nodes", (None,), np.int64)
    if not len(nodes) or nodes.min() < 0 or nodes.max() >= circuit.num_nodes:
        raise ValueError("the nodes of the test are not nodes of the circuit")
    return nodes


def read_features(circuit: pcircuit.Circuit, arrays: dict[str, np.ndarray]) -> ScoreFeatures | None:
    """The features of the score that a file holds, if it does."""
    if "feature.places" not in arrays and "feature.factors" not in arrays:
        return None
    P = circuit.num_parameters
    places = finite_array(arrays, "feature.places", (P,), np.int64)
    factors = bounded_array(
        arrays, "feature.factors", (P,), FLOOR**-0.5
    )  # where the variance is zero
    r = int(places.max()) + 1
    if places.min() < 0 or r > P or len(np.unique(places)) < r:
        raise ValueError("every feature of the score must be the place of a parameter")
    return ScoreFeatures(places, factors, r)
