"""What happens when memory runs out: a MemoryError that says what did not fit, how large it is, and what would fit.

Only results can be that large.  Intermediate arrays are cut into blocks of fixed size.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


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
        shown = f"{size / 1024**power:.3g} {UNITS[power]}"
        raise MemoryError(f"{what} takes {shown}, more than there is: {advice}") from error
