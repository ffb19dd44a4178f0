"""Calibrations of model files of format version 1, which hold every metric as one form with seven fields.

The form is d^2 = b |w Z|^2 + sum_k g_k (v_k . w Z)^2 + |A Z|^2, and each metric of that version used one part only:
node weights w with b > 0 and no directions; directions v_k with w = 1 and gains g_k; or sparse rows A with b = 0.  This
is read into the parts of today's format (`hld.files.calibration`), which then checks them.
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from pcircuit.files.contents import check_names, finite_array, saved_number, with_prefix


def parts_of_version_1(
    scalars: dict[str, Any], arrays: dict[str, Any], tolerance: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scalars and arrays of today's format from those of version 1."""
    check_names(scalars, ("metrics", "bases", "laws", "switch", "draws"), "the calibration")
    q = len(scalars["metrics"]) if isinstance(scalars["metrics"], list) else 0
    if not q or not all(
        isinstance(scalars[name], list) and len(scalars[name]) == q for name in ("bases", "laws")
    ):
        raise ValueError("metrics and laws of the test do not fit together")
    check_names(arrays, _names(scalars, "table.sizes" in arrays), "the test")
    found = {name: finite_array(arrays, name, (None,)) for name in ("mean", "stds")}
    found["nodes"] = arrays["nodes"]
    metrics = []
    for i in range(q):
        base = saved_number(dict(enumerate(scalars["bases"])), i)  # type: ignore[arg-type]
        own, parts = _metric(arrays, i, scalars["metrics"][i], base, len(found["mean"]))
        metrics.append(own)
        found |= with_prefix(f"metric.{i}.", parts)
    null, parts = _null(scalars, arrays)
    found["margins"] = tolerance * np.sqrt(
        [_mean(arrays, i, law) for i, law in enumerate(scalars["laws"])]
    )
    return {"metrics": metrics, "null": null, "kept": None}, found | with_prefix("null.", parts)


def _names(scalars: Any, has_table: Any) -> list[Any]:
    """Names of the arrays that a calibration has."""
    names = [
        "nodes",
        "mean",
        "stds",
        *["joint"] * (len(scalars["laws"]) > 1),
        *["table.sizes", "table.squared"] * has_table,
    ]
    for i, law in enumerate(scalars["laws"]):
        names += [
            f"metric.{i}.{part}"
            for part in ("weights", "vectors", "gains", "index", "coefficients")
        ]
        if not isinstance(law, dict):
            raise ValueError(f"law {i} of the test must be a mapping, found {reprlib.repr(law)}")
        numbers = (
            ("trace", "trace_sq")
            if "trace" in law
            else ("quantile_error", "num_eigenvalues", "excess")
        )
        check_names(law, numbers, f"law {i} of the test")
        for name in numbers:
            saved_number(law, name, -1.0)
        names += [
            f"law.{i}.{name}" for name in ("eigenvalues", "multiplicities") if "trace" not in law
        ]
    return names


def _metric(arrays: Any, i: Any, name: Any, base: Any, m: Any) -> Any:
    """The map of metric i: rows, node weights or directions; the parts of the other two are empty, or ones."""
    weights, vectors, gains, coefficients = (
        finite_array(arrays, f"metric.{i}.{part}", shape)
        for part, shape in (
            ("weights", (m,)),
            ("vectors", (m, None)),
            ("gains", (None,)),
            ("coefficients", (None, None)),
        )
    )
    index = finite_array(arrays, f"metric.{i}.index", coefficients.shape, np.int32)
    is_plain = bool((weights == 1).all())
    if index.size and base == 0 and is_plain and not gains.size and not vectors.size:
        return {"form": "SparseRows", "name": name, "width": m}, {
            "index": index,
            "coefficients": coefficients,
        }
    if base > 0 and not index.size and not gains.size and not vectors.size:
        return {"form": "Scaled", "name": name}, {"weights": np.sqrt(base) * weights}
    if (
        base == 0
        or index.size
        or not is_plain
        or not gains.size
        or (base + gains).min() < -1e-12 * base
    ):
        raise ValueError(f"metric {reprlib.repr(name)} is not a norm")
    return (
        {"form": "Stretched", "name": name, "rest": float(np.sqrt(base))},
        {"vectors": vectors, "factors": np.sqrt(np.maximum(base + gains, 0.0))},
    )


def _null(scalars: Any, arrays: Any) -> Any:
    """Scalars and arrays of the null: laws, where there are several metrics their joint law, and drawn batches."""
    laws, parts = [], {}  # type: ignore[var-annotated]
    joint = len(scalars["laws"]) > 1
    for i, law in enumerate(scalars["laws"]):
        laws.append({"kind": "normal" if "trace" in law else "limit", **law})
        own = {
            name: arrays[f"law.{i}.{name}"]
            for name in ("eigenvalues", "multiplicities")
            if "trace" not in law
        }
        parts |= with_prefix(f"{i}." if joint else "", own)
    large = {"kind": "joint", "nulls": laws} if joint else laws[0]
    parts |= {"means": arrays["joint"]} if joint else {}
    if scalars["draws"] is None and "table.sizes" not in arrays:
        return large, parts
    small, drawn = {"kind": "drawn", "num_resamples": scalars["draws"]}, {}
    if scalars["draws"] is None:
        small, drawn = (
            {"kind": "tabulated"},
            {"sizes": arrays["table.sizes"], "squared": arrays["table.squared"]},
        )
    if scalars["switch"] is None:
        return small, drawn
    return (
        {"kind": "switched", "switch": scalars["switch"], "small": small, "large": large},
        with_prefix("small.", drawn) | with_prefix("large.", parts),
    )


def _mean(arrays: Any, i: Any, law: Any) -> float:
    """E[T d^2] under law i."""
    if "trace" in law:
        return saved_number(law, "trace")
    values = finite_array(arrays, f"law.{i}.eigenvalues", (None,))
    return max(float(values @ finite_array(arrays, f"law.{i}.multiplicities", values.shape)), 0.0)
