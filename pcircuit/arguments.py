"""What arguments of public functions may be: each kind is checked in one place and refused in one kind of sentence.

    `name` must be <what is expected>, found <what was given>

The rule behind all of them: a value is taken only if nothing about it is lost.  So 3 and a NumPy integer are whole
numbers, 3.0 and True are not; numbers may come in any numeric dtype, byte order and memory layout, text that looks
like a number is refused, and so are complex numbers, NaN, and masked entries, whose value is not known.  What is of
the wrong kind is a TypeError, what is of the right kind and out of range a ValueError.

    check_whole_number    counts and sizes
    check_number          one real number in an interval
    check_numbers         arrays of real numbers
    check_integers        arrays of whole numbers, such as node ids
    check_choice          one of several names
    check_flag            true or false
    check_generator       seeds and generators

What may be missing, evidence, is checked in `pcircuit.evidence`.
"""
from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

INT64 = np.iinfo(np.int64)


@overload
def check_whole_number(value: object, name: str, least: int | None = None, most: int | None = None) -> int: ...


@overload
def check_whole_number(value: object, name: str, least: int | None = None, most: int | None = None, *,
                       none: str) -> int | None: ...


def check_whole_number(value: object, name: str, least: int | None = None, most: int | None = None, *,
                       none: str | None = None) -> int | None:
    """`value` as an int, refused unless it is a whole number in a range.

    Parameters
    ----------
    value : int
        Or whatever stands for a whole number in Python, such as NumPy integers; booleans and floats are refused.
    name : str
        What errors call it.
    least, most : int, optional
        The range, both ends included.
    none : str, optional
        What None stands for, if it is allowed, for the error: "all CPUs".

    Returns
    -------
    int, or None where that is allowed and was given

    Raises
    ------
    TypeError
        If `value` is not a whole number.
    ValueError
        If it is out of range.

    Examples
    --------
    >>> check_whole_number(np.uint8(3), "num_rows", 1)
    3
    >>> check_whole_number(0, "num_rows", 1)
    Traceback (most recent call last):
    ValueError: `num_rows` must be a whole number of at least 1, found 0
    """
    if value is None and none is not None:
        return None
    expected = "a whole number" + _bounds(least, None, most, None) + (f", or None for {none}" if none else "")
    try:
        if isinstance(value, (bool, np.bool_, np.ma.MaskedArray)):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"`{name}` must be {expected}, found {shown(value)}") from None
    if (least is not None and number < least) or (most is not None and number > most):
        raise ValueError(f"`{name}` must be {expected}, found {shown(number)}")
    return number


def check_number(value: object, name: str, *, least: float | None = None, above: float | None = None,
                 most: float | None = None, below: float | None = None) -> float:
    """`value` as a float, refused unless it is a finite real number in an interval.

    Parameters
    ----------
    value : float
        Any real number of Python or NumPy, whole ones too; booleans, text and complex numbers are refused.
    name : str
        What errors call it.
    least, above, most, below : float, optional
        Ends of the interval: `least` and `most` belong to it, `above` and `below` do not.

    Returns
    -------
    float

    Raises
    ------
    TypeError
        If `value` is not a real number.
    ValueError
        If it is NaN, infinite or outside the interval.

    Examples
    --------
    >>> check_number(1, "alpha", above=0, below=1)
    Traceback (most recent call last):
    ValueError: `alpha` must be a finite number above 0 and below 1, found 1
    """
    if isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(value, np.ma.MaskedArray):
        value = value[()]
    expected = "a finite number" + _bounds(least, above, most, below)
    if not is_real(value) or isinstance(value, bool):
        raise TypeError(f"`{name}` must be {expected}, found {shown(value)}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    inside = math.isfinite(number) and (least is None or number >= least) and (above is None or number > above) and (
        most is None or number <= most) and (below is None or number < below)
    if not inside:
        raise ValueError(f"`{name}` must be {expected}, found {shown(value)}")
    return number


def check_numbers(values: ArrayLike, name: str, expected: str, shape: tuple[int, ...] | None = None, *,
                  least: float | None = None, above: float | None = None,
                  most: float | None = None) -> NDArray[np.float64]:
    """`values` as an array of doubles, refused unless all are finite real numbers in an interval.

    Parameters
    ----------
    values : array_like
        Booleans count as 0 and 1, numbers of other precision are rounded to doubles; text, complex numbers, dates,
        None and masked entries are refused.
    name : str
        What errors call it.
    expected : str
        What it must be, for the errors: "3 positive numbers, one per node".
    shape : tuple of int, optional
        Its shape.
    least, above, most : float, optional
        Ends of the interval; `above` does not belong to it.

    Returns
    -------
    float64 array
        `values` itself where it is such an array.

    Raises
    ------
    TypeError
        If an entry is not a real number, or is masked.
    ValueError
        If the shape is another, or an entry is NaN, infinite or outside the interval.

    Examples
    --------
    >>> check_numbers([1, 2], "weights", "two weights", (2,), least=0)
    array([1., 2.])
    """
    array = as_array(values, name, expected)
    if array.dtype.kind not in "biuf":
        array = _numbers_of_objects(array, name, expected)
    if shape is not None and array.shape != shape:
        raise ValueError(f"`{name}` must be {expected}, found shape {array.shape}")
    numbers = array
    if array.dtype != np.float64 or not array.dtype.isnative:
        with np.errstate(over="ignore"):  # becomes infinite and is refused
            numbers = array.astype(np.float64)
    if numbers.size and not _inside(numbers.min(), numbers.max(), least, above, most):  # false for a NaN
        place = next(i for i, x in np.ndenumerate(numbers) if not _inside(x, x, least, above, most))
        raise ValueError(f"`{name}` must be {expected}, found {array[place]!s}{at(place)}")
    return numbers


def check_integers(values: ArrayLike, name: str, expected: str, least: int | None = None,
                   most: int | None = None) -> NDArray[np.int64]:
    """`values` as an array of int64, refused unless all are whole numbers in a range.

    Parameters
    ----------
    values : array_like of int
        In any integer dtype; booleans (a mask is no list of numbers), floats and masked entries are refused.
    name : str
        What errors call it.
    expected : str
        What it must be, for the errors: "a list of variables".
    least, most : int, optional
        The range, both ends included.

    Returns
    -------
    int64 array
        `values` itself where it is such an array.

    Raises
    ------
    TypeError
        If an entry is not an integer, or is masked.
    ValueError
        If an entry is out of range.

    Examples
    --------
    >>> check_integers([0, 2], "nodes", "node ids 0..3", 0, 3)
    array([0, 2])
    """
    array = as_array(values, name, expected)
    if array.dtype.kind not in "iu":
        if array.size and array.dtype.kind != "O":
            hint = ": turn a mask into numbers with np.flatnonzero" if array.dtype.kind == "b" else ""
            raise TypeError(f"`{name}` must be {expected}, found {array.dtype} instead of integers{hint}")
        for place, entry in np.ndenumerate(array):
            if isinstance(entry, (bool, np.bool_)) or not isinstance(entry, Integral) or not is_real(entry):
                raise TypeError(f"`{name}` must be {expected}, found {shown(entry)}{at(place)}")
    least, most = INT64.min if least is None else least, INT64.max if most is None else most
    if array.size and (array.min() < least or array.max() > most):
        place = first(np.asarray((array < least) | (array > most), dtype=bool))
        raise ValueError(f"`{name}` must be {expected}, found {shown(int(array[place]))}{at(place)}")
    return array.astype(np.int64, copy=False)


def check_choice(value: object, name: str, options: Sequence[str]) -> str:
    """`value`, refused unless it is one of several names.

    Parameters
    ----------
    value : str
    name : str
        What errors call it.
    options : sequence of str
        The names.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If `value` is not text.
    ValueError
        If it is none of the names.

    Examples
    --------
    >>> check_choice("exact", "null", ("exact", "normal"))
    'exact'
    """
    if isinstance(value, str) and value in options:
        return value
    wrong = ValueError if isinstance(value, str) else TypeError
    raise wrong(f"`{name}` must be one of {', '.join(map(repr, options))}, found {shown(value)}")


def check_flag(value: object, name: str) -> bool:
    """`value` as a bool, refused unless it is true or false.

    Parameters
    ----------
    value : bool
        Of Python or NumPy.
    name : str
        What errors call it.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If `value` is anything else.

    Examples
    --------
    >>> check_flag(np.bool_(True), "log")
    True
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be True or False, found {shown(value)}")
    return bool(value)


def check_generator(rng: object, name: str = "rng") -> np.random.Generator:
    """A random generator from a seed or a generator.

    Parameters
    ----------
    rng : int, sequence of int, numpy.random.Generator, or None
        What ``numpy.random.default_rng`` takes; None draws a fresh seed.
    name : str
        What errors call it.

    Returns
    -------
    numpy.random.Generator
        `rng` itself where it is one.

    Raises
    ------
    TypeError, ValueError
        If NumPy cannot make a generator of `rng`.

    Examples
    --------
    >>> bool(check_generator(7).random() == np.random.default_rng(7).random())
    True
    """
    wrong: type[Exception] = TypeError
    try:
        if not isinstance(rng, (bool, np.bool_, np.ma.MaskedArray)):
            return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        wrong = type(error) if type(error) is ValueError else TypeError
    raise wrong(f"`{name}` must be a seed (a whole number of at least 0) or a numpy.random.Generator, found "
                f"{shown(rng)}")


# -- parts that the other checks use -------------------------------------------------------------------------


def as_array(values: object, name: str, expected: str) -> np.ndarray:
    """`values` as a plain array without masked entries; what NumPy cannot make an array of is refused."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise TypeError(f"`{name}` must be {expected}, found masked entries: nothing is known about them, leave "
                        "them out")
    if hasattr(values, "tocsr"):
        raise TypeError(f"`{name}` must be {expected}, found a sparse {type(values).__name__}: give `.toarray()` of it")
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
    return [None if part is np.ma.masked else without_masks(part) if not isinstance(part, np.ma.MaskedArray)
            else np.where(np.ma.getmaskarray(part), None, part.data)  # type: ignore[call-overload]
            for part in values]


def is_real(value: object) -> bool:
    """Whether a value is a real number; NumPy counts durations among its integers."""
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def shown(value: object) -> str:
    """A value for an error, shortened."""
    try:
        return reprlib.repr(value)
    except ValueError:  # integers of more than some thousand digits, which Python does not write out
        return "a number of thousands of digits"


def first(wrong: NDArray[np.bool_]) -> tuple[int, ...]:
    """Place of the first true entry."""
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def at(place: tuple[int, ...]) -> str:
    """The place of an entry, for an error."""
    if len(place) == 2:
        return f" at row {place[0]}, column {place[1]}"
    return f" at position {', '.join(map(str, place))}" if place else ""


def _inside(smallest: float, largest: float, least: float | None, above: float | None, most: float | None) -> bool:
    """Whether numbers from `smallest` to `largest` are finite and in an interval."""
    return bool(-math.inf < smallest and largest < math.inf and (least is None or smallest >= least)
                and (above is None or smallest > above) and (most is None or largest <= most))


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


def _bounds(least: float | None, above: float | None, most: float | None, below: float | None) -> str:
    """The interval in words."""
    ends = [f"{words} {end}" for words, end in (("at least", least), ("above", above), ("at most", most),
                                                ("below", below)) if end is not None]
    if not ends:
        return ""
    return (" of " if ends[0].startswith("at") else " ") + " and ".join(ends)
