"""Names of columns and levels as they stand in a printed table: any text, in one line, and not too long."""

import difflib
from collections.abc import Iterable
from typing import Any

LONGEST = 60  # characters
MOST, MOST_NEAR = 20, 3  # names in a message, and how many of them are put first


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


def listed(
    names: Iterable[Any], most: int = MOST, is_quoted: bool = True, *, near: Any = None
) -> str:
    """Names in a row for a message, the first of many only, before them those that are nearest to one that is none."""
    names = list(names)
    if isinstance(near, str):
        by_text = {str(name).casefold(): name for name in reversed(names)}
        nearest = difflib.get_close_matches(near.casefold(), by_text, MOST_NEAR)
        first = [by_text[text] for text in nearest]
        names = first + [name for name in names if name not in first]
    texts = [
        repr(name) if is_quoted or not isinstance(name, str) else repr(name)[1:-1]
        for name in names[:most]
    ]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(in_one_line, texts)) + more
