r"""What the command line writes: text and tables for people, one JSON object for programs, whole files.

JSON has no NaN and no infinities, so these become null.  A file takes its name only when it is complete.

Names of columns, levels and files are text from outside.  Printed as they are, the control characters in them
would be commands to the terminal (colours, moving the cursor, the title of the window), so everything that is not
printable is escaped as Python writes it: ESC becomes \x1b.

Steps of a command are shown on a terminal while they run.  The log goes through Python's `logging`, logger
``hld.command``, level INFO: one line for each finished step, with what was done and how long it took.  ``--verbose``
sends it to standard error.
"""

import contextlib
import json
import logging
import os
import pathlib
import sys
import time
from collections.abc import Iterator
from typing import Any

from hld.answers.for_programs import plain_json
from hld.answers.progress import shown_steps
from hld.tables.shown_names import printable
from pcircuit.io.whole_file import replace_file

LOG = logging.getLogger("hld.command")


def on_screen(text: str) -> str:
    """One line as the terminal can show it: control characters are escaped, and letters that its encoding lacks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return printable(text).encode(encoding, "backslashreplace").decode(encoding)


@contextlib.contextmanager
def naming_output() -> Iterator[None]:
    """OSError that what is printed within raises names standard output."""
    try:
        yield
    except OSError as error:
        error.filename = "standard output"
        raise


def flush_output() -> None:
    """Send what was printed on its way; OSError, which names standard output, if it does not arrive."""
    with naming_output():
        if sys.stdout is not None:
            sys.stdout.flush()


def send(text: str, flush: bool = False) -> None:
    """Print text as it is; OSError as from `flush_output` where Python does not wait for more before it writes."""
    with naming_output():
        print(text, end="", flush=flush)


def print_text(text: str) -> None:
    """Print lines, each as the terminal can show it, see `on_screen`."""
    send("\n".join(map(on_screen, text.split("\n"))) + "\n")


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object, see `plain_json`."""
    send(json.dumps(plain_json(value), indent=2, allow_nan=False) + "\n")


def print_result(result: Any, as_json: bool) -> None:
    """Print what a test or a plan says, as one JSON object or in words."""
    if as_json:
        print_json(result.to_dict())
    else:
        print_text(str(result))


def print_table(header: tuple[str, ...], rows: list[Any]) -> None:
    """Print a table."""
    right = [
        bool(rows) and not any(isinstance(row[i], str) for row in rows) for i in range(len(header))
    ]
    cells = [
        [f"{one:.4g}" if isinstance(one, float) else on_screen(str(one)) for one in row]
        for row in [header, *rows]
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        aligned = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, right, strict=True)
        ]
        print_text("  ".join(aligned).rstrip())


def save_figure(figure: Any, path: Any, dpi: Any) -> None:
    """Write a figure of matplotlib to a file, whole or not at all; the ending of its name decides the format."""
    path = check_output(path)
    with replace_file(path) as file:
        figure.savefig(file, dpi=dpi, format=path.suffix.lower().lstrip(".") or "png")


def check_output(path: Any, inputs: Any = ()) -> pathlib.Path:
    """The path of a file that can be written, so that long work does not end without a place for it."""
    if path == "-":
        raise ValueError(
            "'-' stands for no file here, expected the name of a file to write (./- for one of that name)"
        )
    path = pathlib.Path(path)
    if path.exists() and not path.is_file():
        raise ValueError(
            f"{str(path)!r} is a folder, a device or a pipe, expected the name of a file to write"
        )
    if not path.parent.is_dir():
        raise ValueError(
            f"{str(path)!r} cannot be written, as there is no folder {str(path.parent)!r}: create it"
        )
    read = [one for one in inputs if one not in (None, "", "-") and os.path.exists(one)]
    if path.exists() and any(path.samefile(one) for one in read):
        raise ValueError(
            f"{str(path)!r} is read by this command, expected another file to write: it would be replaced"
        )
    with contextlib.suppress(_Tried), replace_file(path):
        raise _Tried  # which leaves all as it was
    return path


class _Tried(Exception):
    """A file can be written."""


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
    start = time.perf_counter()
    with shown_steps() as show:
        show(printable(text))
        yield
    LOG.info("%s: %.3f s", text, time.perf_counter() - start)


class _Escaping(logging.Formatter):
    """Writes control characters in messages as Python does."""

    def format(self, record: Any) -> str:
        return printable(super().format(record))
