"""How kernels are compiled.  Imported only by the modules ``_*_kernel.py``, and those only where one is called.

No fast-math: a kernel rounds like its NumPy twin.  No ``parallel=True`` and no explicit signatures: kernels release
the interpreter lock, run in the caller's thread and compile at their first call, not at import.  Machine code is
kept on disk by Numba where it finds a writable folder; a cache that cannot be read or written costs a compilation
and never an exception.
"""
from __future__ import annotations

import logging

import numba

logger = logging.getLogger(__name__)


def jit(function):
    """`function` compiled at its first call, cached on disk if possible."""
    try:
        compiled = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError as error:  # Numba found no folder to write to
        logger.debug("%s is compiled anew in each process: %s", function.__name__, error)
        return numba.njit(nogil=True)(function)
    compiled._cache = _OptionalCache(compiled._cache)
    return compiled


class _OptionalCache:
    """Numba's on-disk cache of one function, with failures of the disk turned into misses."""

    def __init__(self, cache):
        self._cache = cache

    def __getattr__(self, name):
        return getattr(self._cache, name)

    def load_overload(self, signature, target_context):
        try:
            return self._cache.load_overload(signature, target_context)
        except Exception as error:  # a damaged file can raise anything
            logger.debug("machine code not read from the cache: %s", error)
            return None

    def save_overload(self, signature, compiled):
        try:
            self._cache.save_overload(signature, compiled)
        except Exception as error:  # a full disk, a folder that is gone
            logger.debug("machine code not written to the cache: %s", error)
