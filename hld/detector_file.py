"""Detectors as files: one uncompressed archive of plain arrays and a JSON header, no pickle.

The file holds what testing needs and nothing more: the encoder (names, levels, bin edges), the circuit, and of the
test the mean, standard deviations, eigenvalues and quantiles, so that loading computes nothing.  It holds no training
rows; its numbers are averages over them, which is less than the rows tell but not a formal privacy guarantee.

Writing is atomic and reading trusts nothing, see `pcircuit.write_archive` and `pcircuit.read_archive`.
"""
from __future__ import annotations

import numpy as np

import pcircuit
from hld.calibration_form import calibration_form, read_calibration
from hld.goodness_of_fit import NULLS, HLDTest
from hld.tables.encoder import TableEncoder

FORMAT, FORMAT_VERSION = "hld.detector", 1
CIRCUIT = "circuit."  # prefix of the circuit's arrays
TEST = "test."  # prefix of the arrays of its test


def detector_parts(params: dict, fitted: dict) -> tuple:
    """Header and arrays of a fitted detector.

    Parameters
    ----------
    params : dict
        Constructor parameters.
    fitted : dict
        "encoder", "test", "history" and "num_train".

    Returns
    -------
    dict, dict of arrays
        What `pcircuit.write_archive` takes.
    """
    test = fitted["test"]
    scalars, arrays = calibration_form(test.calibration)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "params": _plain_params(params),
        "encoder": fitted["encoder"].to_dict(),
        "num_train": fitted["num_train"],
        "test": {
            "null": test.null,
            "reference": test.reference,
            "num_train": test.num_train,
            "tolerance": test.tolerance,
            "missing": test.missing,
            "seed": test._seed,
            "calibration": scalars,
        },
    }
    arrays = {TEST + name: array for name, array in arrays.items()}
    arrays |= {CIRCUIT + name: array for name, array in pcircuit.to_arrays(test.circuit).items()}
    return header, arrays | {"history": fitted["history"]}


def read_parts(header: dict, arrays: dict, known: set) -> tuple:
    """Constructor parameters and fitted parts, each checked: the inverse of `detector_parts`.

    Parameters
    ----------
    header : dict
    arrays : dict of arrays
    known : set of str
        Names of the parameters that there are.

    Returns
    -------
    dict, dict

    Raises
    ------
    ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError
        Where the parts do not fit together.
    """
    params, saved = dict(header["params"]), header["test"]
    unknown = set(params) - known
    if unknown:
        raise ValueError(f"unknown parameters {', '.join(sorted(map(str, unknown)))}")
    params["kinds"] = tuple(params["kinds"])
    params["metric"] = tuple(params["metric"]) if isinstance(params["metric"], list) else params["metric"]
    encoder = TableEncoder.from_dict(header["encoder"])
    circuit = pcircuit.from_arrays(_with_prefix(arrays, CIRCUIT))
    if tuple(encoder.num_categories) != tuple(circuit.num_categories):
        raise ValueError("encoder and circuit disagree about the numbers of categories")
    if not circuit.is_normalized:
        raise ValueError("the circuit is not normalised")
    num_train = _positive_int(header["num_train"], "num_train")
    test_num_train = None if saved["num_train"] is None else _positive_int(saved["num_train"], "num_train")
    if saved["reference"] not in ("circuit", "training") or saved["null"] not in NULLS:
        raise ValueError(f"unknown reference {saved['reference']!r} or null {saved['null']!r}")
    seed, tolerance = _positive_int(saved["seed"], "seed", 0), float(saved["tolerance"])
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"the tolerance {tolerance} is not finite and at least 0")
    if saved["missing"] not in ("complete", "exact"):
        raise ValueError(f"unknown treatment of missing values {saved['missing']!r}")
    calibration = read_calibration(circuit, saved["calibration"], _with_prefix(arrays, TEST), seed)
    test = HLDTest.__new__(HLDTest)._set(circuit, saved["null"], saved["reference"], test_num_train, tolerance,
                                         saved["missing"], seed, calibration)
    history = arrays["history"]
    if history.ndim != 1 or not len(history):
        raise ValueError(f"the history must be one-dimensional, found shape {history.shape}")
    return params, {"encoder": encoder, "test": test, "history": history, "num_train": num_train}


def _plain_params(params) -> dict:
    """Constructor parameters that JSON can hold; a generator as seed is not kept."""
    params = dict(params)
    params["kinds"] = [params["kinds"]] if isinstance(params["kinds"], str) else list(params["kinds"])
    for name in ("categorical", "continuous"):
        params[name] = None if params[name] is None else [_plain(item) for item in params[name]]
    metric = params["metric"]
    params["metric"] = metric if isinstance(metric, str) else [_plain(part) for part in metric]
    params["rng"] = _plain(params["rng"]) if isinstance(params["rng"], (int, np.integer)) else None
    return params


def _plain(value):
    """A NumPy scalar as a Python one."""
    return value.item() if isinstance(value, np.generic) else value


def _with_prefix(arrays, prefix) -> dict:
    """The arrays whose names begin with a prefix, without it."""
    return {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}


def _positive_int(value, name, least=1) -> int:
    """A whole number of the header."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name!r} must be a whole number of at least {least}, found {value!r}")
    return value
