"""What the sentences of all checks have in common: how a value, its place and an interval are written."""
from __future__ import annotations

import reprlib
from numbers import Real

import numpy as np
from numpy.typing import NDArray


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


def bounds(least: float | None, above: float | None, most: float | None, below: float | None) -> str:
    """The interval in words."""
    ends = [f"{words} {end}" for words, end in (("at least", least), ("above", above), ("at most", most),
                                                ("below", below)) if end is not None]
    if not ends:
        return ""
    return (" of " if ends[0].startswith("at") else " ") + " and ".join(ends)
