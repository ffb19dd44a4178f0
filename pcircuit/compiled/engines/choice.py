"""NumPy or kernels: which engine does a job, where ``PCIRCUIT_ENGINE`` leaves the choice open.

Kernels are bought once, by compiling them, and NumPy is rented job by job.  If it is unknown how much work will come,
one should rent until the rent has reached the price, and then buy: that costs at most twice what it would have cost
with foresight (the ski rental problem).  So every job comes with an estimate of its NumPy seconds, and

* a job that alone costs as much as compiling waits for the kernels;
* the seconds of smaller jobs are added up.  When they reach the price, the kernels are compiled in a background
  thread (`compiled.engines.background`), and NumPy goes on until they are ready;
* where a cache on disk has the kernels, their price is the half second of loading them, and nobody waits longer.

A process that tests a few batches neither compiles nor imports Numba.  The estimates are counts of operations times
constants measured once, not a clock: the same calls lead to the same decisions on a busy machine.

What is remembered between calls, like Numba's own memory of compiled functions, belongs to the process: whether the
kernels are there, and the NumPy seconds so far.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import pathlib
import sys
import threading
import time
from collections.abc import Callable

from pcircuit.compiled.engines.background import compile_in_background
from pcircuit.engine import AUTO, ENGINE_VARIABLE, NUMBA, NUMPY, chosen_engine, engine_set_to

logger = logging.getLogger("pcircuit.compiled")
LOADING = 0.5  # seconds to import Numba and to read kernels from its cache
STEP_SECONDS, VALUE_SECONDS = (
    6e-5,
    4e-9,
)  # of NumPy: for a region of a block of rows, and for a unit or weight of a row
BLOCK_ROWS = 1024
ROOT = pathlib.Path(__file__).resolve().parents[2]  # of the package


class Kernels:
    """Kernels that are compiled together, because one kind of work needs them all."""

    def __init__(
        self,
        name: str,
        seconds: float,
        entry: str,
        compile_them: Callable[[], object],
        includes: tuple[Kernels, ...] = (),
    ) -> None:
        self.name, self.seconds, self._entry, self._compile = name, seconds, entry, compile_them
        self._includes = includes
        self.is_ready, self._is_broken, self._spent = False, False, 0.0
        self._cached: bool | None = None  # not yet looked
        self._job: threading.Event | None = None  # set when the compilation in the background ends

    def in_numpy(self, seconds: float) -> bool:
        """Whether NumPy does a piece of work, for which it takes about so many seconds; may compile before it tells."""
        engine = chosen_engine()
        if engine != AUTO or self.is_ready or self._is_broken:
            return engine == NUMPY or (engine == AUTO and self._is_broken)
        self._spent += seconds
        if seconds >= self.price or (self.is_cached and self._spent >= self.price):
            self.make_ready()
        elif self._spent >= self.price:
            self.begin()
        return not self.is_ready

    @property
    def price(self) -> float:
        """Seconds until the kernels are there."""
        return LOADING if self.is_cached else self.seconds

    @property
    def is_compiling(self) -> bool:
        """Whether the background thread has them to do."""
        return self._job is not None and not self._job.is_set()

    def begin(self) -> None:
        """Compile in the background, unless that has begun."""
        if not self.is_ready and not self._is_broken and not self.is_compiling:
            self._job = compile_in_background(self._compile_or_give_up)

    def make_ready(self) -> None:
        """Compile, or wait for the background thread that does."""
        if self._job is not None:
            self._job.wait()
        if not self.is_ready and not self._is_broken:
            self.compile_now()

    def compile_now(self) -> None:
        """Compile, or load from the cache; without Numba a warning, and NumPy from then on."""
        started = time.perf_counter()
        if not self.is_cached:
            logger.info("compiling the kernels for %s, once: about %.0f s", self.name, self.seconds)
        try:
            with engine_set_to(NUMBA):
                self._compile()
        except ModuleNotFoundError as error:
            self._is_broken = True
            logger.warning(
                "NumPy does all %s: %s; %s=numpy says so without a warning",
                self.name,
                error,
                ENGINE_VARIABLE,
            )
            return
        for kernels in (self, *self._includes):
            kernels.is_ready = True
        logger.info("kernels for %s ready after %.1f s", self.name, time.perf_counter() - started)

    def _compile_or_give_up(self) -> None:
        """Compile where nobody sees an exception: what cannot be compiled is left to NumPy."""
        try:
            self.compile_now()
        except Exception:
            logger.exception("NumPy does all %s, since its kernels cannot be compiled", self.name)
            self._is_broken = True

    @property
    def is_cached(self) -> bool:
        """Whether a cache on disk had these kernels when it was first asked for."""
        if self._cached is None:
            self._cached = self._is_on_disk()
        return self._cached

    def _is_on_disk(self) -> bool:
        """Whether there are files of these kernels for this Python, newer than the sources, by their names alone.

        Without sources on disk, as in a zip archive, Numba caches nothing.
        """
        folder, _, function = self._entry.rpartition("/")
        source = ROOT / folder
        newest = max((path.stat().st_mtime for path in source.glob("*.py")), default=math.inf)
        pattern = f"{function}-*.py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}.nbi"
        found = (path for place in _cache_folders(source) for path in place.glob(pattern))
        return any(path.stat().st_mtime >= newest for path in found)


def numpy_seconds(num_steps: int, num_values: int, num_rows: int) -> float:
    """About what NumPy takes for rows of evidence, with so many regions, and units and weights."""
    return (
        num_steps * STEP_SECONDS * -(-num_rows // BLOCK_ROWS)
        + num_values * VALUE_SECONDS * num_rows
    )


def _cache_folders(source: pathlib.Path) -> list[pathlib.Path]:
    """Where Numba keeps what it compiled from a folder: see `numba.core.caching`."""
    named = f"{source.name}_{hashlib.sha1(str(source).encode(), usedforsecurity=False).hexdigest()}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [pathlib.Path(chosen) / named]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(
        "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    )
    return [source / "__pycache__", pathlib.Path(home) / "numba" / named]
