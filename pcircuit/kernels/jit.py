"""The one place with Numba options.  Imported only by kernel modules, which are imported only when first used.

No ``parallel=True`` and no explicit signatures: kernels release the interpreter lock, run in the caller's thread and
compile at their first call, not at import.  Numba keeps machine code on disk where it finds a writable folder; a
cache that cannot be read or written costs a compilation and never an exception.

    jit               kernels over rows, where sums may be reordered
    compile_kernel    kernels that round like their NumPy twins: no fast-math
    inner             called by kernels of the first kind only: not cached by itself, and without a door for Python
    inner_kernel      the same for the second kind
    inlined           copied into each caller of the first kind
    inlined_kernel    the same for the second kind

What a function calls is optimised again with it, and so again by its own caller.  So there are few levels, and a
function with one caller and many arguments is copied into it.  Nor is a literal passed where the same function also
gets a variable: Numba would compile it once for each.
"""

import logging
import pathlib
from collections.abc import Callable
from functools import cache
from typing import Any

try:
    import numba
    from numba.core.caching import FunctionCache
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}: install Numba, or set the environment variable PCIRCUIT_ENGINE=numpy, which "
        "runs everything on plain NumPy",
        name=error.name,
    ) from error

logger = logging.getLogger(__name__)

# The lock is released, so tiles run in plain threads.  `contract` lets a*b + c be one fused operation, and
# `reassoc` lets a sum over rows run in vector lanes; infinities, NaN and signed zeros keep their meaning.  Kernels
# allocate nothing, so Numba's reference counting is switched off: counting arrays in and out of every inlined
# function took two thirds of the time of a call with one row.
_OPTIONS = {
    "nogil": True,
    "_nrt": False,
    "fastmath": {"contract", "reassoc"},
    "error_model": "numpy",
}


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at first call, with an on-disk cache that may fail without making the call fail."""
    return _cached(numba.njit(**_OPTIONS)(function))


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled at its first call without fast-math, so that it rounds like its NumPy twin."""
    return _cached(numba.njit(nogil=True, error_model="numpy")(function))


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """For functions that only kernels call: without a door for Python, which costs as much as a small function."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)


def inner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same without fast-math."""
    return numba.njit(
        no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True, error_model="numpy"
    )(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copied into each caller: for functions with many array arguments, which cost more to pass than to use."""
    return numba.njit(inline="always", **_OPTIONS)(function)


def inlined_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for kernels without fast-math: for views of the parts of one region."""
    return numba.njit(inline="always", nogil=True)(function)


class _KernelCache(FunctionCache):
    """Numba's cache of one function, where the sources of all kernels are part of the signature.

    Callees are compiled into their callers, and Numba itself looks at the caller's file only.  A full disk or a damaged
    file means compiling, not an exception.
    """

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload((sig, _sources()), target_context)
        except Exception as error:  # whatever a damaged file causes
            logger.debug("compilation cache not read: %s", error)
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload((sig, _sources()), data)
        except Exception as error:
            logger.debug("compilation cache not written: %s", error)


def _cached(dispatcher):
    """The same dispatcher, with an on-disk cache if Numba finds a folder for it."""
    if not numba.config.DISABLE_JIT:  # else a plain function, as coverage and a debugger want it
        try:
            dispatcher._cache = _KernelCache(dispatcher.py_func)
        except RuntimeError as error:  # no folder is writable
            logger.debug("no compilation cache: %s", error)
    return dispatcher


@cache
def _sources() -> tuple[tuple[str, float, int], ...]:
    """Name, time and size of every file of the package that has kernels."""
    files = sorted(pathlib.Path(__file__).parents[1].rglob("kernels/*.py"))
    return tuple((path.name, path.stat().st_mtime, path.stat().st_size) for path in files)
