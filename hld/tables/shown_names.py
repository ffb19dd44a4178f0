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
    r"""A text whose control characters, line feeds among them, are escaped, and that is cut where it is too long.

    Parameters
    ----------
    text : str
    longest : int

    Returns
    -------
    str

    Examples
    --------
    >>> in_one_line("size\n(cm)"), in_one_line("a name of many words", 10)
    ('size\\n(cm)', 'a name ...')
    """
    found = printable(text[: longest + 1])
    return found if len(found) <= longest else f"{found[: longest - 4].rstrip()} ..."


def visible(text: str) -> str:
    """A level or a label `in_one_line`, in quotes where nothing would be seen of it.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> visible("red"), visible(""), visible("  ")
    ('red', "''", "'  '")
    """
    found = in_one_line(text)
    return found if text.strip() else repr(found)


def listed(names: Iterable[Any], most: int = MOST, is_quoted: bool = True) -> str:
    """Names in a row for a message, the first of many only: a table may have thousands of columns.

    Parameters
    ----------
    names : iterable of object
        Shown as `repr` has them.
    most : int
        How many are shown.
    is_quoted : bool
        Whether texts are in quotes.

    Returns
    -------
    str

    Examples
    --------
    >>> listed(["age", "sex"]), listed([f"x{v}" for v in range(10_000)], 2)
    ("'age', 'sex'", "'x0', 'x1' and 9,998 more")
    """
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
