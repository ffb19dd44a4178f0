"""What files hold: arrays, numbers and names, refused with one sentence where they are not what the format has."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = sys.float_info.max


def finite_array(
    arrays: Mapping[str, Any],
    name: str,
    shape: tuple[Any, ...],
    dtype: np.dtype[Any] | type[Any] = np.float64,
) -> np.ndarray:
    """A finite array of a file, of the given shape and type; None in the shape stands for any length."""
    if name not in arrays:
        raise ValueError(f"array {name!r} is missing")
    array: np.ndarray = arrays[name]
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype or not np.isfinite(array).all():
        raise ValueError(
            f"array {name!r} must hold {shape} finite numbers of {np.dtype(dtype)}, found shape "
            f"{array.shape} of {array.dtype}"
        )
    return array


def saved_number(
    scalars: Mapping[str, Any], name: str, least: float = 0.0, most: float = LARGEST
) -> float:
    """A number of a file in a range, as a float."""
    value = _saved(scalars, name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(
            f"{name!r} must be a number from {least:g} to {most:g}, found {reprlib.repr(value)}"
        )
    return float(value)


def saved_count(scalars: Mapping[str, Any], name: str, least: int = 1, most: int = 2**53) -> int:
    """A whole number of a file in a range."""
    value = _saved(scalars, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(
            f"{name!r} must be a whole number from {least} to {most}, found {reprlib.repr(value)}"
        )
    return value


def check_names(found: dict[str, Any] | list[str] | set[str], known: Any, what: str) -> None:
    """Raise unless the names of entries of a file are exactly those that its format has."""
    missing, unknown = sorted(set(known) - set(found)), sorted(set(found) - set(known), key=str)
    if missing or unknown:
        lacks = f"lacks {reprlib.repr(missing)}" if missing else ""
        more = f"has {reprlib.repr(unknown)}, which are unknown" if unknown else ""
        raise ValueError(f"{what} {' and '.join(filter(None, (lacks, more)))}")


def with_prefix(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays under names that begin with a prefix."""
    return {prefix + name: array for name, array in arrays.items()}


def under_prefix(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with a prefix, without it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def _saved(scalars: Any, name: str) -> Any:
    """An entry of a JSON object of a file."""
    if not isinstance(scalars, Mapping) or name not in scalars:
        raise ValueError(f"{name!r} is missing in {reprlib.repr(scalars)}")
    return scalars[name]
