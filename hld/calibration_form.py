"""A calibration as JSON scalars and plain arrays, and back, everything checked.

mean, stds, nodes                    of the node likelihoods
metric.I.*                           weights, directions, gains and sparse rows of metric I
law.I.*                              eigenvalues and multiplicities of its law
joint                                harmonic means of drawn p-values, of several metrics
table.sizes, table.squared           statistics of drawn batches of training rows
"""
from __future__ import annotations

import numpy as np

from hld.calibration import Calibration
from hld.metrics.metric import Metric
from hld.nulls.drawn import BatchTable, CircuitDraws
from hld.nulls.joint import RESOLVED, JointLaw
from hld.nulls.limit_law import ExactLaw, NormalLaw

MOST_RESAMPLES = 10 ** 7


def calibration_form(calibration):
    """The parts of a calibration.

    Parameters
    ----------
    calibration : Calibration

    Returns
    -------
    dict
        Scalars, as JSON holds them.
    dict of arrays

    Examples
    --------
    >>> import hld, pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> scalars, arrays = calibration_form(hld.HLDTest(circuit).calibration)
    >>> scalars["metrics"], sorted(arrays)[:2]
    (['euclidean'], ['law.0.eigenvalues', 'law.0.multiplicities'])
    """
    scalars = {"metrics": [metric.name for metric in calibration.metrics],
               "bases": [metric.base for metric in calibration.metrics], "laws": [], "switch": calibration.switch,
               "draws": None}
    arrays = {"nodes": calibration.nodes, "mean": calibration.mean, "stds": calibration.stds}
    for i, (metric, law) in enumerate(zip(calibration.metrics, calibration.laws, strict=True)):
        arrays |= {f"metric.{i}.weights": metric.node_weights, f"metric.{i}.vectors": metric.vectors,
                   f"metric.{i}.gains": metric.gains, f"metric.{i}.index": metric.index,
                   f"metric.{i}.coefficients": metric.coefficients}
        if isinstance(law, NormalLaw):
            scalars["laws"].append({"trace": law.trace, "trace_sq": law.trace_sq})
            continue
        arrays |= {f"law.{i}.eigenvalues": law.eigenvalues, f"law.{i}.multiplicities": law.multiplicities}
        scalars["laws"].append({"quantile_error": law.quantile_error, "num_eigenvalues": law.num_eigenvalues,
                                "excess": law.excess})
    if calibration.joint is not None:
        arrays["joint"] = calibration.joint.means
    if isinstance(calibration.draws, CircuitDraws):
        scalars["draws"] = calibration.draws.num_resamples
    elif calibration.draws is not None:
        arrays |= {"table.sizes": calibration.draws.sizes, "table.squared": calibration.draws.squared}
    return scalars, arrays


def read_calibration(circuit, scalars, arrays, seed) -> Calibration:
    """A calibration from its parts; raises ValueError, KeyError or TypeError where they do not fit together.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    scalars : dict
    arrays : dict of arrays
    seed : int

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import hld, pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> calibration = hld.HLDTest(circuit).calibration
    >>> read_calibration(circuit, *calibration_form(calibration), 0).laws[0].num_eigenvalues == len(calibration.nodes)
    True
    """
    nodes = arrays["nodes"]
    m = len(nodes) if nodes.ndim == 1 else 0
    if not m or nodes.dtype.kind not in "iu" or nodes.min() < 0 or nodes.max() >= circuit.num_nodes:
        raise ValueError("the nodes of the test are not nodes of the circuit")
    mean, stds = (_floats(arrays, name, (m,)) for name in ("mean", "stds"))
    names, q = scalars["metrics"], len(scalars["metrics"])
    if (
        not q
        or not all(isinstance(name, str) for name in names)
        or not q == len(scalars["bases"]) == len(scalars["laws"])
    ):
        raise ValueError("metrics and laws of the test do not fit together")
    metrics = tuple(_metric(arrays, i, names[i], float(scalars["bases"][i]), m) for i in range(q))
    laws = tuple(_law(arrays, i, scalars["laws"][i]) for i in range(q))
    joint = None
    if q > 1:
        means = _floats(arrays, "joint", (arrays["joint"].size,))
        if len(means) <= RESOLVED or means[0] <= 0 or means[-1] > 1 or (np.diff(means) < 0).any():
            raise ValueError(f"the joint law of the metrics must be over {RESOLVED} ascending numbers in (0, 1]")
        joint = JointLaw(means.astype(np.float32))
    switch = scalars["switch"]
    if switch is not None and (not isinstance(switch, int) or switch < 0):
        raise ValueError(f"the switch must be a whole number, found {switch!r}")
    nodes = nodes.astype(np.int64)
    return Calibration(
        nodes, mean, stds, metrics, laws, joint, _draws(scalars, arrays, (circuit, nodes, mean, metrics), seed), switch
    )


def _metric(arrays, i, name, base, m) -> Metric:
    """Metric i."""
    vectors = arrays[f"metric.{i}.vectors"]
    k = vectors.shape[1] if vectors.ndim == 2 else -1
    gains = _floats(arrays, f"metric.{i}.gains", (k,))
    weights = _floats(arrays, f"metric.{i}.weights", (m,))
    if not (weights > 0).all() or not 0 <= base < np.inf or (len(gains) and (base + gains).min() < -1e-12 * base):
        raise ValueError(f"metric {name!r} is not a norm")
    index = arrays[f"metric.{i}.index"]
    if index.ndim != 2 or index.dtype.kind not in "iu" or (index.size and not 0 <= index.min() <= index.max() < m):
        raise ValueError(f"metric {name!r} refers to nodes that are not there")
    coefficients = _floats(arrays, f"metric.{i}.coefficients", index.shape)
    return Metric(name, weights, base, _floats(arrays, f"metric.{i}.vectors", (m, k)), gains,
                  index.astype(np.int32), coefficients)


def _law(arrays, i, saved):
    """Law i."""
    if "trace" in saved:
        return NormalLaw(float(saved["trace"]), float(saved["trace_sq"]))
    eigenvalues = arrays[f"law.{i}.eigenvalues"]
    k = len(eigenvalues)
    law = ExactLaw(_floats(arrays, f"law.{i}.eigenvalues", (k,)), _floats(arrays, f"law.{i}.multiplicities", (k,)),
                   float(saved["quantile_error"]), int(saved["num_eigenvalues"]), float(saved["excess"]))
    if not np.isfinite([law.quantile_error, law.excess]).all():
        raise ValueError("a law of the test is not finite")
    _ = law.spectrum  # refuses what is not a spectrum
    return law


def _draws(scalars, arrays, parts, seed):
    """The drawn batches, or how to draw them."""
    if scalars["draws"] is not None:
        resamples = scalars["draws"]
        if not isinstance(resamples, int) or not 1 <= resamples <= MOST_RESAMPLES:
            raise ValueError(f"the number of drawn batches must be 1..{MOST_RESAMPLES}, found {resamples!r}")
        return CircuitDraws(*parts, resamples, seed)
    if "table.sizes" not in arrays:
        return None
    sizes, squared = arrays["table.sizes"], arrays["table.squared"]
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes) or sizes[0] < 1 or (np.diff(sizes) <= 0).any():
        raise ValueError("the batch sizes of the test must be ascending whole numbers")
    if (
        squared.ndim != 3
        or len(squared) != len(sizes)
        or squared.shape[2] != len(scalars["metrics"])
        or not squared.size
    ):
        raise ValueError(f"the drawn statistics have shape {squared.shape}, which does not fit")
    return BatchTable(sizes, _floats(arrays, "table.squared", squared.shape))


def _floats(arrays, name, shape) -> np.ndarray:
    """A finite float64 array of the given shape."""
    array = arrays[name]
    if array.shape != shape or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ValueError(f"array {name!r} must hold {shape} finite numbers, found shape {array.shape}")
    return array.astype(np.float64, copy=False)
