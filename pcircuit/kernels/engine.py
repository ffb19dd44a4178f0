"""Which engine does a job: NumPy, or the compiled kernels.

What takes time is written twice.  The NumPy version is the one to read; the Numba kernels under ``kernels/`` do the
same faster, over tiles of rows that fit the cache, but must be compiled once, which takes seconds.  The environment
variable ``PCIRCUIT_ENGINE`` says which of them runs:

    auto     the default: NumPy where it takes less than SMALL_JOB seconds, kernels elsewhere
    numpy    NumPy always; Numba is never imported and need not be installed
    numba    kernels always

A job is one public call.  Its NumPy seconds are counts of operations times constants measured once, so the engine is
a function of the sizes of circuit and rows: equal calls give equal bits, whatever the process did before.  Both
engines agree up to rounding, and draw the same random numbers.

Why SMALL_JOB is so small: calls that cost that much are several times faster by kernels, and a loop of them must not
lose much.  Sixty cost NumPy about what importing Numba and reading its cache costs (`benchmarks.bench_engines`).

The compiler has locks.  A process forks only while no thread is inside it, so that no child inherits one that is held.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from pcircuit.arguments import shown

ENGINE_VARIABLE = "PCIRCUIT_ENGINE"
AUTO, NUMPY, NUMBA = ENGINES = ("auto", "numpy", "numba")
SMALL_JOB = 0.015
logger = logging.getLogger("pcircuit.kernels")
_within: ContextVar[str | None] = ContextVar("engine", default=None)
compiling = threading.RLock()  # held while Numba is imported, or one of the kernels compiled
_ready: dict[tuple[Callable[..., Any], bool], Any] = {}  # machine code of functions
_held: list[Any] = []  # locks, while the process forks


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
    """Whether ``PCIRCUIT_ENGINE=numpy`` asks for NumPy only; read at every call."""
    return chosen_engine() == NUMPY


def in_numpy(seconds: float) -> bool:
    """Whether NumPy, which takes about so many seconds, does a job."""
    engine = chosen_engine()
    return engine == NUMPY or (engine == AUTO and seconds < SMALL_JOB)


def kernel(function: Callable[..., Any], arrays: Sequence[Any] = (), *numbers: int) -> Any:
    """`function` in machine code with its first arguments: arrays, which must be contiguous, and whole numbers."""
    code = machine_code(function)
    from pcircuit.kernels.jit import place

    bound = partial(code, *map(place, arrays), *numbers)
    bound.arrays = arrays  # type: ignore[attr-defined]  # so that they are not freed
    return bound


def machine_code(function: Callable[..., Any], *, is_single: bool = False) -> Any:
    """`function`, maybe for values of float32, compiled or read from Numba's cache at its first use in a process."""
    key = function, is_single
    with compiling:
        code = _ready.get(key)
        if code is None:
            started, name = time.perf_counter(), function.__name__
            logger.info("kernel %s: compiling, or reading it from Numba's cache", name)
            from pcircuit.kernels.jit import compiled

            code = _ready[key] = compiled(function, is_single)
            logger.info("kernel %s: ready after %.1f s", name, time.perf_counter() - started)
    return code


def warm_up(*, report: Callable[[str], object] | None = None) -> None:
    """Compile, or load from the on-disk cache, the kernels of likelihoods, EM and sampling.

    For processes that must not compile later: workers of a service, or the build of a container, where ``hld warm-up``
    does this and more.  Does nothing with ``PCIRCUIT_ENGINE=numpy``.

    Parameters
    ----------
    report : callable, optional
        Called with a few words before each step.

    Raises
    ------
    TypeError
        If `report` cannot be called.
    ModuleNotFoundError
        If Numba is not installed.

    Notes
    -----
    Seconds with an empty cache, tenths of one after.  Without it kernels are compiled at the first large call.

    Examples
    --------
    >>> import pcircuit
    >>> pcircuit.warm_up()
    """
    if report is not None and not callable(report):
        raise TypeError(f"`report` must be a function or None, found {shown(report)}")
    if engine_is_numpy():
        return
    from pcircuit.kernels.em_steps import complete, share
    from pcircuit.kernels.operations import OPERATIONS, run
    from pcircuit.kernels.transpose import transpose

    groups = {"likelihoods and flows": (transpose, run, *OPERATIONS), "EM": (complete, share)}
    for words, functions in groups.items():
        if report is not None:
            report(words)
        for function in functions:
            machine_code(function)


def _wait_for_compilers() -> None:
    """Before a fork: hold the locks of kernels and, if it is there, of Numba, in the order in which they are taken."""
    compiling.acquire()
    numba = sys.modules.get("numba.core.compiler_lock")
    lock = getattr(numba, "global_compiler_lock", None)
    if lock is not None:
        lock.acquire()
    _held[:] = [compiling] if lock is None else [lock, compiling]


def _go_on() -> None:
    """After a fork, in parent and child, of which each has its own: free the locks."""
    for lock in _held:
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_compilers, after_in_parent=_go_on, after_in_child=_go_on)
