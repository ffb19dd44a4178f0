"""Which engine does the work: NumPy, or the compiled kernels.

What takes time is written twice.  The NumPy text is what a reader reads; the Numba kernels under ``compiled/`` do the
same faster, over tiles of rows that fit the cache.  Setting the environment variable ``PCIRCUIT_ENGINE=numpy`` selects
the former everywhere, and then Numba is never imported.

Compiled code is kept on disk where a folder is writable (Numba's cache), so that a process compiles only what no
process before it has compiled.  A service that must not stall on its first request calls `pcircuit.warm_up` at start.
"""
from __future__ import annotations

import os

ENGINE_VARIABLE = "PCIRCUIT_ENGINE"


def chosen_engine() -> str | None:
    """"numpy" or "numba" where the environment variable ``PCIRCUIT_ENGINE`` chooses one, else None."""
    engine = os.environ.get(ENGINE_VARIABLE)
    if engine not in (None, "numpy", "numba"):
        raise ValueError(f"environment variable {ENGINE_VARIABLE} is {engine!r}, expected 'numpy' or 'numba'")
    return engine


def engine_is_numpy() -> bool:
    """Whether ``PCIRCUIT_ENGINE=numpy`` asks for the NumPy text; without a choice the kernels run.

    For packages with kernels of their own, so that the variable is read in one place.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If the variable is anything but "numpy" and "numba".

    Notes
    -----
    Read at every call: the engine may change while a process runs.

    Examples
    --------
    >>> import os
    >>> engine_is_numpy() == (os.environ.get("PCIRCUIT_ENGINE") == "numpy")
    True
    """
    return chosen_engine() == "numpy"
