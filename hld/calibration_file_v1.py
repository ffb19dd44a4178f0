"""Calibrations of model files of format version 1, which hold every metric as one form with seven fields.

d^2 = b |w Z|^2 + sum_k g_k (v_k . w Z)^2 + |A Z|^2, of which each metric of that version used one part only: node
weights w with b = 1 and no directions; directions v_k with w = 1 and gains g_k; or sparse rows A with b = 0.  This is
read into the parts of today's format (`hld.calibration_file`), which then checks them.
"""
from __future__ import annotations

import numpy as np

from hld.checks import with_prefix


def parts_of_version_1(scalars: dict, arrays: dict, tolerance: float) -> tuple[dict, dict]:
    """Scalars and arrays of today's format from those of version 1.

    Raises
    ------
    ValueError, KeyError, TypeError
        Where they do not fit together.
    """
    q = len(scalars["metrics"])
    if not q or not q == len(scalars["bases"]) == len(scalars["laws"]):
        raise ValueError("metrics and laws of the test do not fit together")
    found = {name: arrays[name] for name in ("nodes", "mean", "stds")}
    metrics = []
    for i in range(q):
        own, parts = _metric(arrays, i, scalars["metrics"][i], float(scalars["bases"][i]), len(arrays["nodes"]))
        metrics.append(own)
        found |= with_prefix(f"metric.{i}.", parts)
    null, parts = _null(scalars, arrays)
    found["margins"] = tolerance * np.sqrt([_mean(arrays, i, law) for i, law in enumerate(scalars["laws"])])
    return {"metrics": metrics, "null": null}, found | with_prefix("null.", parts)


def _metric(arrays, i, name, base, m):
    """The map of metric i."""
    weights, vectors, gains, index, coefficients = (
        arrays[f"metric.{i}.{part}"] for part in ("weights", "vectors", "gains", "index", "coefficients"))
    if len(index):
        return ({"form": "SparseRows", "name": name, "width": m},
                {"index": index.astype(np.int32), "coefficients": coefficients})
    if gains.size == 0:
        return {"form": "Scaled", "name": name}, {"weights": np.sqrt(base) * weights}
    if (base + gains).min() < -1e-12 * base or (weights != 1).any():
        raise ValueError(f"metric {name!r} is not a norm")
    return ({"form": "Stretched", "name": name, "rest": float(np.sqrt(base))},
            {"vectors": vectors, "factors": np.sqrt(np.maximum(base + gains, 0.0))})


def _null(scalars, arrays):
    """Scalars and arrays of the null: laws, where there are several metrics their joint law, and drawn batches."""
    laws, parts = [], {}
    joint = len(scalars["laws"]) > 1
    for i, law in enumerate(scalars["laws"]):
        laws.append({"kind": "normal" if "trace" in law else "limit", **law})
        own = {name: arrays[f"law.{i}.{name}"] for name in ("eigenvalues", "multiplicities") if "trace" not in law}
        parts |= with_prefix(f"{i}." if joint else "", own)
    large = {"kind": "joint", "nulls": laws} if joint else laws[0]
    parts |= {"means": arrays["joint"]} if joint else {}
    if scalars["draws"] is None and "table.sizes" not in arrays:
        return large, parts
    small, drawn = {"kind": "drawn", "num_resamples": scalars["draws"]}, {}
    if scalars["draws"] is None:
        small, drawn = {"kind": "tabulated"}, {"sizes": arrays["table.sizes"], "squared": arrays["table.squared"]}
    if scalars["switch"] is None:
        return small, drawn
    return ({"kind": "switched", "switch": scalars["switch"], "small": small, "large": large},
            with_prefix("small.", drawn) | with_prefix("large.", parts))


def _mean(arrays, i, law) -> float:
    """E[T d^2] under law i."""
    if "trace" in law:
        return float(law["trace"])
    return float(arrays[f"law.{i}.eigenvalues"] @ arrays[f"law.{i}.multiplicities"])
