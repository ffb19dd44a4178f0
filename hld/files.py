"""Detectors as files: one uncompressed archive of plain arrays and a JSON header, no pickle.

The file holds what testing needs and nothing more: the encoder (names, levels, bin edges), the circuit, and of the
test the mean, standard deviations, eigenvalues and quantiles, so that loading computes nothing.  It holds no training
rows; its numbers are averages over them, which is less than the rows tell but not a formal privacy guarantee.

Writing is atomic and reading trusts nothing, see `pcircuit.write_archive` and `pcircuit.read_archive`.
"""
from __future__ import annotations

import os

import numpy as np

import pcircuit

from .calibration_form import calibration_form, read_calibration
from .detector import HLDDetector
from .encoding import TableEncoder
from .goodness_of_fit import NULLS, HLDTest

FORMAT, FORMAT_VERSION = "hld.detector", 1
CIRCUIT = "circuit."  # prefix of the circuit's arrays
TEST = "test."  # prefix of the arrays of its test


def save(detector, path) -> None:
    """Write a fitted detector to one file, whole or not at all.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.
    path : str or os.PathLike
        The file; an existing one is replaced at the end, and stays as it was if anything fails.

    Raises
    ------
    TypeError, ValueError
        If `detector` is not a fitted HLDDetector.
    OSError
        If the folder does not exist or cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> table = np.random.default_rng(0).integers(0, 2, size=(200, 3))
    >>> detector = HLDDetector(num_epochs=5).fit(table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(detector, os.path.join(folder, "model.hld"))
    ...     load(os.path.join(folder, "model.hld")).test(table[:50]).pvalue == detector.test(table[:50]).pvalue
    True
    """
    if not isinstance(detector, HLDDetector):
        raise TypeError(f"`detector` must be an HLDDetector, found {type(detector).__name__}; save circuits with "
                        "pcircuit.save")
    detector._check_fitted()
    test = detector.test_
    scalars, arrays = calibration_form(test.calibration)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "params": _plain_params(detector),
        "encoder": detector.encoder_.to_dict(),
        "num_train": detector.num_train_,
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
    arrays |= {CIRCUIT + name: array for name, array in pcircuit.to_arrays(detector.circuit_).items()}
    pcircuit.write_archive(path, header, arrays | {"history": detector.history_})


def load(path) -> HLDDetector:
    """Read a fitted detector that `save` wrote; safe for files from strangers.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    HLDDetector
        Fitted, with the same results on every batch.

    Raises
    ------
    ValueError
        If the file is damaged, of another kind, or of a newer format version: its name and what is wrong.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    Computes no moments: the cost is that of reading the file.

    Examples
    --------
    >>> load("no-such-file.hld")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.hld'
    """
    header, arrays = pcircuit.read_archive(path, FORMAT, FORMAT_VERSION)
    try:
        return _restored(header, arrays)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"cannot read {os.fspath(path)!r}: its contents do not fit together "
                         f"({type(error).__name__}: {error})") from error
    except ValueError as error:
        raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from error


def _plain_params(detector) -> dict:
    """Constructor parameters that JSON can hold; a generator as seed is not kept."""
    params = detector.get_params()
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


def _restored(header, arrays) -> HLDDetector:
    """A detector from the parts of a file, each checked."""
    params, saved = dict(header["params"]), header["test"]
    unknown = set(params) - set(HLDDetector().get_params())
    if unknown:
        raise ValueError(f"unknown parameters {', '.join(sorted(map(str, unknown)))}")
    params["kinds"] = tuple(params["kinds"])
    params["metric"] = tuple(params["metric"]) if isinstance(params["metric"], list) else params["metric"]
    detector = HLDDetector(**params)
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
    detector.encoder_, detector.circuit_, detector.test_ = encoder, circuit, test
    detector.history_, detector.num_train_, detector.n_features_in_ = history, num_train, circuit.num_variables
    return detector


def _with_prefix(arrays, prefix) -> dict:
    """The arrays whose names begin with a prefix, without it."""
    return {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}


def _positive_int(value, name, least=1) -> int:
    """A whole number of the header."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name!r} must be a whole number of at least {least}, found {value!r}")
    return value
