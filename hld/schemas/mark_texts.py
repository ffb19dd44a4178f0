"""Numbers that mark bins as people read them: rounded, but never so far that different ones look alike."""
from __future__ import annotations

from collections.abc import Iterable

MOST_DIGITS = 17  # which tell any two doubles apart
LARGEST_PLAIN = 1e7


def mark_texts(marks: Iterable[float], digits: int) -> list[str]:
    """Texts of some numbers, with as many digits as tell different ones apart, and no exponent below ten millions.

    Parameters
    ----------
    marks : iterable of float
    digits : int
        Significant digits, at least.

    Returns
    -------
    list of str

    Examples
    --------
    >>> mark_texts([0.5, 11492.8], 4), mark_texts([1735689600000.0, 1735689600500.0], 6)
    (['0.5', '11490'], ['1.7356896e+12', '1.7356896005e+12'])
    """
    marks = list(map(float, marks))
    for enough in range(digits, MOST_DIGITS):
        texts = [_rounded(mark, enough) for mark in marks]
        if len(set(texts)) == len(set(marks)):
            return texts
    return list(map(repr, marks))


def _rounded(mark: float, digits: int) -> str:
    """A number of so many digits: 11490 for 11492.8."""
    text = f"{mark:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(mark) < LARGEST_PLAIN else text
