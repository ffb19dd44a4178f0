"""What long work is doing, in one line on a terminal."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown_steps(is_wanted: bool = True) -> Iterator[Callable[[str], None]]:
    """A function that shows a text beside a spinner on standard error until the next one; an empty text hides it.

    Nothing is shown where that is no terminal, or `rich` is not installed.
    """
    is_seen = sys.stderr is not None and sys.stderr.isatty()  # None in programs without a console
    if not (is_wanted and is_seen and importlib.util.find_spec("rich")):
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status("")

    def show(text: str) -> None:
        status.update(Text(text))
        (status.start if text else status.stop)()

    try:
        yield show
    finally:
        status.stop()
