"""Steps of a command: shown on a terminal while they run, and logged on request.

The log goes through Python's `logging`, logger ``hld.command``, level INFO: one line for each finished step, with what
was done and how long it took.  ``--verbose`` sends it to standard error.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator
from typing import Any

LOG = logging.getLogger("hld.command")


def log_to_standard_error() -> None:
    """Send the log to standard error, a line each: date, level, logger, message."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Escaping("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    LOG.handlers[:] = [handler]
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Do a step; a terminal shows its text as long as it takes."""
    from hld.command.console.output import shown

    start = time.perf_counter()
    with _status(shown(text)):
        yield
    LOG.info("%s: %.3f s", text, time.perf_counter() - start)


class _Escaping(logging.Formatter):
    """Writes control characters in messages as Python does."""

    def format(self, record: Any) -> str:
        from hld.command.console.output import shown

        return shown(super().format(record))


def _status(text: str) -> Any:
    """A spinner with a text on standard error, on a terminal and if rich is installed."""
    if sys.stderr is None or not sys.stderr.isatty():
        return contextlib.nullcontext()
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return contextlib.nullcontext()
    return Console(stderr=True).status(Text(text))
