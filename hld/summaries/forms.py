"""Summaries as JSON: plain numbers with names, each checked when it is read.

JSON is one object: "format" and "version", the scalars, and "arrays", nested lists by name.  Doubles are written with
enough digits to read them back exactly.

A summary may come from anywhere, so nothing is trusted and nothing evaluated: sizes are bounded, counts are whole
numbers of at least 0 that do not exceed the rows, names of columns are text.  Whether the numbers fit is checked by the
model that they claim to be for.
"""

from __future__ import annotations

import json
import reprlib
from typing import Any

import numpy as np

from pcircuit.io.archive import check_names, saved_count
from pcircuit.io.header_json import RepeatedName, distinct_names

FORMAT, VERSION = "hld.summary", 1
MOST_NUMBERS = 10_000_000
MOST_NAMES, LONGEST_NAME = 100_000, 10_000
WHOLE = (
    "seen",
    "odd",
    "cells",
    "categories",
    "pairs",
    "odd_rows",
)  # arrays of counts; the others are doubles
DIMENSIONS = {
    "sums": 1,
    "seen": 1,
    "squares": 1,
    "fourths": 1,
    "odd": 1,
    "sketch": 3,
    "cells": 2,
    "categories": 1,
    "pairs": 1,
    "odd_rows": 1,
}
GROUPS = (
    {"squares", "fourths", "odd", "sketch"},
    {"cells", "categories", "pairs", "odd_rows", "absent", "extra"},
)  # that are there together or not at all
ALWAYS = {"format", "version", "model", "num_rows", "num_missing", "sums"}
FINGERPRINT = 64  # hexadecimal digits


def json_form(scalars: dict[str, Any], arrays: dict[str, Any]) -> str:
    """The JSON of scalars and arrays."""
    lists = {name: array.tolist() for name, array in arrays.items()}
    form = {"format": FORMAT, "version": VERSION, **scalars, "arrays": lists}
    return json.dumps(form, allow_nan=False)


def read_json(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scalars and arrays of a text that `json_form` wrote; ValueError for anything else."""
    if not isinstance(text, str):
        raise TypeError(f"`text` must be the JSON of a summary, found {type(text).__name__}")
    try:
        scalars = json.loads(text, object_pairs_hook=distinct_names)
    except RepeatedName as error:
        raise ValueError(f"the summary cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError("the summary is not JSON") from error
    if not isinstance(scalars, dict) or scalars.get("format") != FORMAT:
        raise ValueError(
            f"the summary must be one JSON object with the format {FORMAT!r}, found {reprlib.repr(scalars)}"
        )
    if saved_count(scalars, "version") > VERSION:
        raise ValueError(
            f"the summary has version {scalars['version']}, newer than {VERSION}: update the library"
        )
    found = scalars.pop("arrays", None)
    if not isinstance(found, dict):
        raise ValueError("`text` is not a summary: it has no arrays")
    arrays = {name: _array(name, value) for name, value in found.items()}
    _check(scalars, arrays)
    return scalars, arrays


def _array(name: str, value: Any) -> np.ndarray:
    """An array of nested lists of numbers."""
    try:
        found = np.array(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"array {reprlib.repr(name)} of the summary is not a table of numbers"
        ) from error
    fits = (
        found.dtype.kind in ("iu" if name in WHOLE else "iuf") and not _has_truths(value)
    ) or not found.size
    if not fits or found.size > MOST_NUMBERS or (found.dtype.kind == "u" and found.size):
        raise ValueError(
            f"array {reprlib.repr(name)} of the summary is not a table of numbers in range"
        )
    return found.astype(np.int64 if name in WHOLE else np.float64)


def _has_truths(value: Any) -> bool:
    """Whether true or false is among numbers in nested lists, where NumPy makes 1 and 0 of them."""
    if isinstance(value, list):
        return bool in set(map(type, value)) or any(
            _has_truths(one) for one in value if isinstance(one, list)
        )
    return isinstance(value, bool)


def _check(scalars: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Raise unless each of the scalars and arrays is what it must be and they fit together."""
    names = {*scalars, *arrays}
    groups = [group for group in GROUPS if names & group]
    check_names(names, ALWAYS.union(*groups, names & {"seen"}), "the summary")
    if misplaced := sorted(scalars.keys() & DIMENSIONS.keys() | arrays.keys() - DIMENSIONS.keys()):
        is_one = misplaced[0] in DIMENSIONS
        raise ValueError(
            f"{misplaced[0]!r} of the summary must be {'an' if is_one else 'no'} array"
        )
    model, T = scalars["model"], saved_count(scalars, "num_rows", 0)
    if (
        not isinstance(model, str)
        or len(model) != FINGERPRINT
        or set(model) - set("0123456789abcdef")
    ):
        raise ValueError(
            f"'model' must be {FINGERPRINT} hexadecimal digits, found {reprlib.repr(model)}"
        )
    saved_count(scalars, "num_missing", 0)
    for name, array in arrays.items():
        if array.ndim != DIMENSIONS.get(name) or not np.isfinite(array).all():
            raise ValueError(
                f"array {reprlib.repr(name)} of the summary must be finite numbers of "
                f"{DIMENSIONS.get(name)} dimensions, found shape {array.shape}"
            )
        if name in WHOLE and ((array < 0) | (array > T)).any():
            raise ValueError(f"array {name!r} of the summary must be counts of at most {T} rows")
    _check_shapes(arrays)
    for name in ("absent", "extra"):
        _check_texts(name, scalars.get(name, []))


def _check_shapes(arrays: dict[str, Any]) -> None:
    """Raise unless related arrays have the same sizes, and sums of squares are not negative."""
    q, sketch = (
        arrays.get("squares", np.zeros(0)).shape,
        arrays.get("sketch", np.zeros((0, 0, 0))).shape,
    )
    fits = [arrays.get("seen", arrays["sums"]).shape == arrays["sums"].shape]
    fits += [arrays[name].shape == q for name in ("fourths", "odd") if name in arrays]
    fits += [sketch[:1] == q and sketch[1] == sketch[2] if "sketch" in arrays else True]
    fits += [len(arrays["cells"]) == 5 if "cells" in arrays else True]
    if not all(fits) or not len(arrays["sums"]):
        raise ValueError("the arrays of the summary do not fit together")
    if any((arrays[name] < 0).any() for name in ("squares", "fourths") if name in arrays):
        raise ValueError("sums of squares of the summary must be at least 0")


def _check_texts(name: str, value: Any) -> None:
    """Raise unless a value is a list of names of columns."""
    if (
        not isinstance(value, list)
        or len(value) > MOST_NAMES
        or not all(isinstance(one, str) and len(one) <= LONGEST_NAME for one in value)
    ):
        raise ValueError(
            f"{name!r} of the summary must be names of columns, found {reprlib.repr(value)}"
        )
