"""Whole numbers among arguments: checked in one place, refused in one sentence."""
from __future__ import annotations

import operator
from typing import Any


def whole_number(value: Any, name: str, least: int) -> int:
    """`value` as an int, refused unless it is a whole number of at least `least`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be a whole number of at least {least}, found {value!r}") from None
    if number < least:
        raise ValueError(f"`{name}` must be a whole number of at least {least}, found {number}")
    return number
