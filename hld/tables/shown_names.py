"""Names of columns and levels as they stand in a printed table: any text, in one line, and not too long."""
from __future__ import annotations

LONGEST = 60  # characters


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
    start = text[:longest + 1]
    found = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in start)
    return found if len(found) <= longest else f"{found[:longest - 4].rstrip()} ..."
