"""Columns whose cells are no values: refused where they are looked at, and not before.

A batch may have columns that the model does not know, which are ignored; so what is wrong with a column must not stop
a table from being taken apart.
"""

from __future__ import annotations

from typing import Any, NoReturn

HOW = "split it into columns, or leave it out (drop it from the table; --drop on the command line)"


class Unreadable:
    """A column of nested values, or of another type that no level or number can be made of."""

    def __init__(self, num_rows: int, error: type[Exception], message: str) -> None:
        self.__dict__.update(num_rows=num_rows, error=error, message=message)

    def __len__(self) -> int:
        return self.__dict__["num_rows"]

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse()

    def __getitem__(self, rows: Any) -> NoReturn:
        self.refuse()

    def __iter__(self) -> NoReturn:
        self.refuse()

    def __array__(self, *how: Any, **also: Any) -> NoReturn:
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise what is wrong with the column."""
        raise self.__dict__["error"](self.__dict__["message"])


def nested(num_rows: int, name: str, kind: str) -> Unreadable:
    """A column of nested values."""
    return Unreadable(
        num_rows,
        TypeError,
        f"`table` column {name!r} holds nested values ({kind}), expected one value "
        f"in each cell: {HOW}",
    )
