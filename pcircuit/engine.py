"""Which engine does the work: NumPy, or the compiled kernels.

What takes time is written twice.  The NumPy version is the one to read; the Numba kernels under ``compiled/`` do the
same faster, over tiles of rows that fit the cache, but must be compiled first, which takes seconds.  The environment
variable ``PCIRCUIT_ENGINE`` says which of them runs:

    auto     the default: NumPy while there is little to do, kernels when they pay (`pcircuit.compiled.engines.choice`)
    numpy    NumPy always; Numba is never imported and need not be installed
    numba    kernels always, compiled at their first call

Both give the same results up to rounding, and draw the same random numbers.  Compiled code is kept on disk where a
folder is writable (Numba's cache, ``NUMBA_CACHE_DIR``), so that a process compiles only what no earlier process has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ENGINE_VARIABLE = "PCIRCUIT_ENGINE"
AUTO, NUMPY, NUMBA = ENGINES = ("auto", "numpy", "numba")
_within: ContextVar[str | None] = ContextVar("engine", default=None)


def chosen_engine() -> str:
    """The engine, "numpy", "numba" or "auto": what ``PCIRCUIT_ENGINE`` says, or who called within `engine_set_to`."""
    engine = _within.get() or os.environ.get(ENGINE_VARIABLE) or AUTO
    if engine not in ENGINES:
        raise ValueError(
            f"environment variable {ENGINE_VARIABLE} is {engine!r}, expected 'auto', 'numpy' or 'numba'"
        )
    return engine


@contextmanager
def engine_set_to(engine: str) -> Iterator[None]:
    """Context in which this thread has the given engine, whatever the environment variable says."""
    token = _within.set(engine)
    try:
        yield
    finally:
        _within.reset(token)


def engine_is_numpy() -> bool:
    """Whether ``PCIRCUIT_ENGINE=numpy`` asks for NumPy only.

    For packages with kernels of their own, so that the variable is read in one place.

    Read at every call: the engine may change while a process runs.
    """
    return chosen_engine() == NUMPY
