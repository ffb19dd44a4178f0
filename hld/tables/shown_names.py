"""Names of columns and levels as they stand in a printed table: any text, in one line, and not too long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

LONGEST = 60  # characters
MOST = 20  # names in a message


def printable(text: str) -> str:
    """Text without control characters, line feeds among them: what is not printable is escaped as Python writes it."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def in_one_line(text: str, longest: int = LONGEST) -> str:
    r"""A text whose control characters, line feeds among them, are escaped, and that is cut where it is too long."""
    found = printable(text[: longest + 1])
    return found if len(found) <= longest else f"{found[: longest - 4].rstrip()} ..."


def visible(text: str) -> str:
    """A level or a label `in_one_line`, in quotes where nothing would be seen of it."""
    found = in_one_line(text)
    return found if text.strip() else repr(found)


def listed(names: Iterable[Any], most: int = MOST, is_quoted: bool = True) -> str:
    """Names in a row for a message, the first of many only: a table may have thousands of columns."""
    names = list(names)
    texts = [repr(name) for name in names[:most]]
    texts = (
        texts
        if is_quoted
        else [
            text[1:-1] if isinstance(name, str) else text
            for name, text in zip(names, texts, strict=False)
        ]
    )
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(in_one_line, texts)) + more
