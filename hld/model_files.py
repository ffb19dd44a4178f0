"""Fitted detectors as files: one archive without pickle, written whole or not at all (`docs/file-format.md`)."""

from __future__ import annotations

import os
from typing import Any

from hld.detector import HLDDetector
from hld.files.detector import FORMAT, FORMAT_VERSION
from pcircuit.io.archive import read_object


def save(detector: Any, path: str | os.PathLike[str]) -> None:
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
        raise TypeError(
            f"`detector` must be an HLDDetector, found {type(detector).__name__}; save circuits with "
            "pcircuit.save"
        )
    detector.save(path)


def load(path: str | os.PathLike[str]) -> HLDDetector:
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
    TypeError, ValueError
        If `path` is no path, or the file is damaged, of another kind, or of a newer format version; the message names
        the file and the defect.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    Costs reading the file and checking its means; the example of `save` shows a round trip.

    Examples
    --------
    >>> load("no-such-file.hld")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.hld'
    """
    return read_object(path, FORMAT, FORMAT_VERSION, HLDDetector.from_parts)
