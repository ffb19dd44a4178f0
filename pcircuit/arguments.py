"""What arguments of public functions may be: each kind is checked in one place and refused in one form of words.

    `name` must be <what is expected>, found <what was given>

The rule behind all of them: a value is taken only if nothing about it is lost.  So 3 and a NumPy integer are whole
numbers, 3.0 and True are not; numbers may come in any numeric dtype, byte order and memory layout, text that looks
like a number is refused, and so are complex numbers, NaN, and masked entries, whose value is not known.  A value of
the wrong kind is a TypeError, a value of the right kind but out of range a ValueError.

    check_whole_number    counts and sizes
    check_number          one real number in an interval
    check_fraction        one strictly between 0 and 1
    check_choice          one of several names
    check_flag            true or false
    check_generator       seeds and generators
    check_seed            the same, of which one number is kept

Arrays of numbers are checked in `pcircuit.arrays`, and what may be missing, evidence, in `pcircuit.evidence`.
"""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import overload

import numpy as np
from numpy.typing import NDArray


@overload
def check_whole_number(
    value: object, name: str, least: int | None = None, most: int | None = None
) -> int: ...


@overload
def check_whole_number(
    value: object, name: str, least: int | None = None, most: int | None = None, *, none: str
) -> int | None: ...


def check_whole_number(
    value: object,
    name: str,
    least: int | None = None,
    most: int | None = None,
    *,
    none: str | None = None,
) -> int | None:
    """`value` as an int, refused unless it is a whole number in a range.

    Parameters
    ----------
    value : int
        Or whatever stands for a whole number in Python, such as NumPy integers; booleans and floats are refused.
    name : str
        Name of the argument in error messages.
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
    try:
        if isinstance(value, (bool, np.bool_, np.ma.MaskedArray)):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
        if (least is None or number >= least) and (most is None or number <= most):
            return number
        wrong: type[Exception] = ValueError
    except TypeError:
        wrong, number = TypeError, value  # type: ignore[assignment]
    expected = (
        "a whole number"
        + bounds(least, None, most, None)
        + (f", or None for {none}" if none else "")
    )
    raise wrong(f"`{name}` must be {expected}, found {shown(number)}")


def check_number(
    value: object,
    name: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """`value` as a float, refused unless it is a finite real number in an interval.

    Parameters
    ----------
    value : float
        Any real number of Python or NumPy, whole ones too; booleans, text and complex numbers are refused.
    name : str
        Name of the argument in error messages.
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
    >>> check_number(-1, "margin", least=0)
    Traceback (most recent call last):
    ValueError: `margin` must be a finite number of at least 0, found -1
    """
    if (
        isinstance(value, np.ndarray)
        and value.ndim == 0
        and not isinstance(value, np.ma.MaskedArray)
    ):
        value = value[()]
    wrong: type[Exception] = TypeError
    if is_real(value) and not isinstance(value, bool):
        wrong = ValueError
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            number = math.inf
        if (
            math.isfinite(number)
            and (least is None or number >= least)
            and (above is None or number > above)
            and (most is None or number <= most)
            and (below is None or number < below)
        ):
            return number
    raise wrong(
        f"`{name}` must be a finite number{bounds(least, above, most, below)}, found {shown(value)}"
    )


def check_fraction(value: object, name: str) -> float:
    """`value` as a float, refused unless it is strictly between 0 and 1, such as a level, a power, a confidence.

    Parameters
    ----------
    value : float
        As for `check_number`.
    name : str
        Name of the argument in error messages.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        As `check_number` does.

    Examples
    --------
    >>> check_fraction(1, "alpha")
    Traceback (most recent call last):
    ValueError: `alpha` must be a finite number above 0 and below 1, found 1
    """
    return check_number(value, name, above=0, below=1)


def check_choice(value: object, name: str, options: Sequence[str]) -> str:
    """`value`, refused unless it is one of several names.

    Parameters
    ----------
    value : str
    name : str
        Name of the argument in error messages.
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
        Name of the argument in error messages.

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
        Name of the argument in error messages.

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
    raise wrong(
        f"`{name}` must be a seed (a whole number of at least 0) or a numpy.random.Generator, found "
        f"{shown(rng)}"
    )


def check_seed(rng: object, name: str = "rng") -> int:
    """The one number below 2^53 that everything drawn later depends on, for objects that draw again and again.

    Parameters
    ----------
    rng : int, sequence of int, numpy.random.Generator, or None
        As for `check_generator`; a generator moves on by one number.
    name : str
        Name of the argument in error messages.

    Returns
    -------
    int
        Drawn from it, so not `rng` itself; equal seeds give equal numbers.

    Raises
    ------
    TypeError, ValueError
        As `check_generator` does.

    Examples
    --------
    >>> check_seed(7) == check_seed(np.random.default_rng(7)) != check_seed(8)
    True
    """
    return int(check_generator(rng, name).integers(2**53))


# -- what a sentence says: a value, its place, an interval ----------------------------------------------------


def is_real(value: object) -> bool:
    """Whether a value is a real number; NumPy counts durations among its integers."""
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def is_listing(value: object) -> bool:
    """Whether a value can be gone through; arrays without dimensions say so of themselves, and cannot."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def shown(value: object) -> str:
    """A value for an error, shortened, on one line."""
    try:
        text = reprlib.repr(value)
        return " ".join(text.split()) if "\n" in text else text  # a table has several
    except (
        ValueError
    ):  # integers of more than some thousand digits, which Python does not write out
        return "a number of thousands of digits"


def first(wrong: NDArray[np.bool_]) -> tuple[int, ...]:
    """Place of the first true entry."""
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def at(place: tuple[int, ...]) -> str:
    """The place of an entry, for an error."""
    if len(place) == 2:
        return f" at row {place[0]}, column {place[1]}"
    return f" at position {', '.join(map(str, place))}" if place else ""


def bounds(
    least: float | None, above: float | None, most: float | None, below: float | None
) -> str:
    """The interval in words.

    Parameters
    ----------
    least, above, most, below : float or None
        Ends of the interval; None where it has none on that side.

    Returns
    -------
    str
        Such as " of at least 1 and below 2", with a leading blank; empty without ends.
    """
    ends = [
        f"{words} {end}"
        for words, end in (
            ("at least", least),
            ("above", above),
            ("at most", most),
            ("below", below),
        )
        if end is not None
    ]
    if not ends:
        return ""
    return (" of " if ends[0].startswith("at") else " ") + " and ".join(ends)
