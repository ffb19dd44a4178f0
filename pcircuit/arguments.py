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
    """`value` as an int, refused unless it is a whole number in a range."""
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
    """`value` as a float, refused unless it is a finite real number in an interval."""
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
    """`value` as a float, refused unless it is strictly between 0 and 1, such as a level, a power, a confidence."""
    return check_number(value, name, above=0, below=1)


def check_choice(value: object, name: str, options: Sequence[str]) -> str:
    """`value`, refused unless it is one of several names."""
    if isinstance(value, str) and value in options:
        return value
    wrong = ValueError if isinstance(value, str) else TypeError
    raise wrong(f"`{name}` must be one of {', '.join(map(repr, options))}, found {shown(value)}")


def check_flag(value: object, name: str) -> bool:
    """`value` as a bool, refused unless it is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be True or False, found {shown(value)}")
    return bool(value)


def check_generator(rng: object, name: str = "rng") -> np.random.Generator:
    """A random generator from a seed or a generator."""
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


def check_seed(rng: object) -> int:
    """The one number below 2^53 that everything drawn later depends on, for objects that draw again and again."""
    return int(check_generator(rng).integers(2**53))


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
    """The interval in words."""
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
