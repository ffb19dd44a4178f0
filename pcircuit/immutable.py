"""Values that cannot change: v-trees, regions, circuits, mixtures.

Their arrays are read-only, so each is its own copy, deep or not.  A pickle holds what the constructor takes, and what
comes out of one has gone through the constructor: it is checked and read-only again, and derives anew what it needs.
Left to itself, a pickle would bring back arrays that can be written.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

Value = TypeVar("Value", bound="Immutable")


class Immutable:
    """Base of frozen dataclasses with read-only arrays, which their constructors check and take by position."""

    __match_args__: ClassVar[
        tuple[str, ...]
    ]  # what the constructor takes; quicker to go through than all fields

    def __copy__(self: Value) -> Value:
        return self

    def __deepcopy__(self: Value, memo: dict[int, Any]) -> Value:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(map(self.__getattribute__, self.__match_args__))


def unchecked(kind: type[Value], **fields: Any) -> Value:
    """A region, or a circuit, from fields in their order that are known to be right."""
    new = object.__new__(kind)
    for (
        name,
        value,
    ) in (
        fields.items()
    ):  # not by its dictionary: to make one is more work, now and for the collector
        object.__setattr__(new, name, value)
    return new
