"""Arrays: their types, checks of those that callers give, and memory for those that are made.

Types in annotations have no shapes, which docstrings give: NumPy's do not carry them.

    check_numbers     real numbers in an interval
    check_integers    whole numbers in a range, such as node ids
    memory_for        around the making of one array
    check_memory      before the making of many that are as large together

When memory runs out, a MemoryError says what did not fit, how large it is, and what would fit.  Only results can be
that large: intermediate arrays are cut into blocks of fixed size.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcircuit.arguments import at, first, is_real, shown

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Evidence: TypeAlias = NDArray[Any]  # integers of any size, signed or not
Weights: TypeAlias = Any  # Floats, or scipy.sparse.csr_array, which has no type information
Seed: TypeAlias = int | np.random.Generator | None
INT64 = np.iinfo(np.int64)
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
MOST_BITS = 1000  # of a size that is written out: larger ones are not even floats


def check_numbers(
    values: ArrayLike,
    name: str,
    expected: str,
    shape: tuple[int, ...] | None = None,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    finite: bool = True,
) -> NDArray[np.float64]:
    """`values` as an array of doubles, refused unless all are finite real numbers in an interval."""
    array = as_array(values, name, expected)
    if array.dtype.kind not in "biuf":
        array = _numbers_of_objects(array, name, expected)
    if shape is not None and array.shape != shape:
        raise ValueError(f"`{name}` must be {expected}, found shape {array.shape}")
    numbers = array
    if not finite:
        return numbers.astype(np.float64)
    if array.dtype != np.float64 or not array.dtype.isnative:
        with np.errstate(over="ignore"):  # becomes infinite and is refused
            numbers = array.astype(np.float64)
    if numbers.size and not _inside(
        numbers.min(), numbers.max(), least, above, most
    ):  # false for a NaN
        place = next(i for i, x in np.ndenumerate(numbers) if not _inside(x, x, least, above, most))
        raise ValueError(f"`{name}` must be {expected}, found {array[place]!s}{at(place)}")
    return numbers


def check_integers(
    values: ArrayLike, name: str, expected: str, least: int | None = None, most: int | None = None
) -> NDArray[np.int64]:
    """`values` as an array of int64, refused unless all are whole numbers in a range."""
    array = as_array(values, name, expected)
    if array.dtype.kind == "f" and isinstance(values, (list, tuple)):
        entries = np.asarray(values, dtype=object)  # doubles where uint64 and signed types meet
        if entries.size and all(map(_is_whole_number, entries.flat)):
            array = entries
    if array.dtype.kind not in "iu":
        if array.size and array.dtype.kind != "O":
            hint = (
                ": turn a mask into numbers with np.flatnonzero" if array.dtype.kind == "b" else ""
            )
            raise TypeError(
                f"`{name}` must be {expected}, found {array.dtype} instead of integers{hint}"
            )
        for place, entry in np.ndenumerate(array):
            if not _is_whole_number(entry):
                raise TypeError(f"`{name}` must be {expected}, found {shown(entry)}{at(place)}")
    least, most = INT64.min if least is None else least, INT64.max if most is None else most
    if array.size and (array.min() < least or array.max() > most):
        place = first(np.asarray((array < least) | (array > most), dtype=bool))
        raise ValueError(
            f"`{name}` must be {expected}, found {shown(int(array[place]))}{at(place)}"
        )
    return array.astype(np.int64, copy=False)


def as_array(values: object, name: str, expected: str) -> np.ndarray:
    """`values` as a plain array without masked entries; what NumPy cannot make an array of is refused."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise TypeError(
            f"`{name}` must be {expected}, found masked entries: nothing is known about them, leave "
            "them out"
        )
    if hasattr(values, "tocsr"):
        raise TypeError(
            f"`{name}` must be {expected}, found a sparse {type(values).__name__}: give `.toarray()` of it"
        )
    values = without_masks(values)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"`{name}` must be {expected}, found rows of different lengths") from None


def without_masks(values: object) -> object:
    """Lists with None in place of masked entries, which NumPy would replace by what is under the mask."""
    if not isinstance(values, (list, tuple)):
        return values
    if not any(isinstance(part, (np.ma.MaskedArray, list, tuple)) for part in values):
        return values
    return [
        None
        if part is np.ma.masked
        else without_masks(part)
        if not isinstance(part, np.ma.MaskedArray)
        else np.where(np.ma.getmaskarray(part), None, part.data)  # type: ignore[call-overload]
        for part in values
    ]


@contextmanager
def memory_for(what: str, size: int, advice: str) -> Iterator[None]:
    """Context in which a MemoryError says that `what`, of `size` bytes, does not fit, and gives advice."""
    try:
        yield
    except MemoryError as error:
        power = min((max(size, 1).bit_length() - 1) // 10, len(UNITS) - 1)
        if size.bit_length() > MOST_BITS:
            taken = f"more than 2**{MOST_BITS} bytes"
        else:
            taken = f"{size / 1024**power:.3g} {UNITS[power]}"
        raise MemoryError(f"{what} takes {taken}, more than there is: {advice}") from error


def check_memory(what: str, size: int, advice: str) -> None:
    """Raise the MemoryError of `memory_for` unless so many bytes can be had, without using them."""
    with memory_for(what, size, advice):
        if size > sys.maxsize:
            raise MemoryError
        np.empty(size, np.uint8)


def for_ranking(values: ArrayLike) -> np.ndarray:
    """Finite `values` as whole numbers of steps of about 2e-9 of the largest: what differs by round-off alone is a tie.

    Round-off depends on the engine and on how rows are cut into chunks; what is ranked must not.
    """
    array = np.asarray(values, dtype=np.float64)
    exponent = math.frexp(float(np.abs(array).max(initial=0.0)))[1]
    return np.asarray(np.rint(np.ldexp(array, 29 - exponent)))


def _is_whole_number(entry: object) -> bool:
    """Whether an entry is an integer of Python or NumPy, and neither a boolean nor a duration."""
    return isinstance(entry, Integral) and is_real(entry) and not isinstance(entry, bool)


def _inside(
    smallest: float, largest: float, least: float | None, above: float | None, most: float | None
) -> bool:
    """Whether numbers from `smallest` to `largest` are finite and in an interval."""
    return bool(
        -math.inf < smallest
        and largest < math.inf
        and (least is None or smallest >= least)
        and (above is None or smallest > above)
        and (most is None or largest <= most)
    )


def _numbers_of_objects(array: np.ndarray, name: str, expected: str) -> np.ndarray:
    """An array of Python numbers as doubles; TypeError for what is no real number."""
    if array.size and array.dtype.kind != "O":
        raise TypeError(f"`{name}` must be {expected}, found {array.dtype} instead of numbers")
    numbers = np.empty(array.shape)
    for place, entry in np.ndenumerate(array):
        if not is_real(entry):
            raise TypeError(f"`{name}` must be {expected}, found {shown(entry)}{at(place)}")
        try:
            numbers[place] = float(entry)
        except OverflowError:
            numbers[place] = math.inf
    return numbers
