"""Values that cannot change: v-trees, regions, circuits, mixtures.

Their arrays are read-only, so each is its own copy, deep or not.  A pickle holds what the constructor takes, and what
comes out of one has gone through the constructor: it is checked and read-only again, and derives anew what it needs.
Left to itself, a pickle would bring back arrays that can be written.
"""
from __future__ import annotations

from typing import Any, ClassVar, TypeVar

T = TypeVar("T", bound="Immutable")


class Immutable:
    """Base of frozen dataclasses with read-only arrays, which their constructors check and take by position."""

    __match_args__: ClassVar[tuple[str, ...]]  # what the constructor takes; quicker to go through than all fields

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(map(self.__getattribute__, self.__match_args__))
