"""Detectors as files: one uncompressed archive of plain arrays and a JSON header, no pickle.

The file holds what testing needs and nothing more: the encoder (names, levels, bin edges), the circuit, and of the
test the mean, standard deviations, eigenvalues and quantiles, so that loading computes nothing.  It holds no training
rows; its numbers are averages over them, which is less than the rows tell but not a formal privacy guarantee.

Writing is atomic and reading trusts nothing, see `pcircuit.write_archive` and `pcircuit.read_archive`.
"""
from __future__ import annotations

from dataclasses import asdict

import numpy as np

import pcircuit
from hld.calibration_file import calibration_parts, read_calibration
from hld.calibration_file_v1 import parts_of_version_1
from hld.checks import under_prefix, with_prefix
from hld.goodness_of_fit import HLDTest, Settings
from hld.tables.encoder import TableEncoder

FORMAT, FORMAT_VERSION = "hld.detector", 2
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
    scalars, arrays = calibration_parts(test.calibration)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "params": _plain_params(params),
        "encoder": fitted["encoder"].to_dict(),
        "num_train": fitted["num_train"],
        "test": {**asdict(test.settings), "calibration": scalars},
    }
    arrays = with_prefix(TEST, arrays) | with_prefix(CIRCUIT, pcircuit.to_arrays(test.circuit))
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
    params, saved = dict(header["params"]), dict(header["test"])
    unknown = set(params) - known
    if unknown:
        raise ValueError(f"unknown parameters {', '.join(sorted(map(str, unknown)))}")
    params["kinds"] = tuple(params["kinds"])
    params["metric"] = tuple(params["metric"]) if isinstance(params["metric"], list) else params["metric"]
    encoder = TableEncoder.from_dict(header["encoder"])
    circuit = pcircuit.check_distribution(pcircuit.from_arrays(under_prefix(CIRCUIT, arrays)), "circuit")
    if tuple(encoder.num_categories) != tuple(circuit.num_categories):
        raise ValueError("encoder and circuit disagree about the numbers of categories")
    calibration, saved_arrays = saved.pop("calibration"), under_prefix(TEST, arrays)
    settings = Settings(**saved)
    if header["version"] == 1:
        calibration, saved_arrays = parts_of_version_1(calibration, saved_arrays, settings.tolerance)
    calibration = read_calibration(circuit, calibration, saved_arrays, settings.seed)
    test = HLDTest.from_parts(circuit, settings, calibration)
    num_train = pcircuit.check_whole_number(header["num_train"], "num_train", 1)
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
