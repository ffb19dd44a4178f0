"""What happens when memory runs out: a MemoryError that says what did not fit, how large it is, and what would fit.

Only results can be that large.  Intermediate arrays are cut into blocks of fixed size.

    memory_for       around the making of one array
    check_memory     before the making of many that are as large together
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
MOST_BITS = 1000  # of a size that is written out: larger ones are not even floats


@contextmanager
def memory_for(what: str, size: int, advice: str) -> Iterator[None]:
    """Context in which a MemoryError says that `what`, of `size` bytes, does not fit, and gives advice.

    Parameters
    ----------
    what : str
        Such as "the covariance of 10 nodes".
    size : int
        Bytes.
    advice : str
        What to do instead.

    Examples
    --------
    >>> with memory_for("a large array", 3 * 2**40, "make a smaller one"):
    ...     raise MemoryError
    Traceback (most recent call last):
        ...
    MemoryError: a large array takes 3 TiB, more than there is: make a smaller one
    """
    try:
        yield
    except MemoryError as error:
        power = min((max(size, 1).bit_length() - 1) // 10, len(UNITS) - 1)
        if size.bit_length() > MOST_BITS:
            shown = f"more than 2**{MOST_BITS} bytes"
        else:
            shown = f"{size / 1024**power:.3g} {UNITS[power]}"
        raise MemoryError(f"{what} takes {shown}, more than there is: {advice}") from error


def check_memory(what: str, size: int, advice: str) -> None:
    """Raise the MemoryError of `memory_for` unless so many bytes can be had, without using them.

    Parameters
    ----------
    what : str
        Such as "a circuit of 10 units in each region".
    size : int
        Bytes; any whole number, also one that no machine could address.
    advice : str
        What to do instead.

    Raises
    ------
    MemoryError
        If the system refuses an array of this size.

    Examples
    --------
    >>> check_memory("a row", 1000, "make a shorter one")
    >>> check_memory("a large table", 10**30, "make a smaller one")
    Traceback (most recent call last):
        ...
    MemoryError: a large table takes 9.09e+17 TiB, more than there is: make a smaller one
    """
    with memory_for(what, size, advice):
        if size > sys.maxsize:
            raise MemoryError
        np.empty(size, np.uint8)
