"""The command line ``hld``: learn a table, then test whether later batches still follow it.

    hld fit TRAIN.csv -o MODEL        learn the distribution of a table, write one model file
    hld test MODEL BATCH.csv          does the batch follow it?    status 0: no shift found, 1: shift found
    hld --help                        the other commands, which `hld.apps.command.arguments` lists

The commands read, call `hld.HLDDetector` and print; everything else is in the library.  Scripts get one JSON
object on standard output (`--json`) and the exit status.  As 1 means "shift found", a failure of any kind
ends with 2 and one line on standard error (behind the usage where an argument is wrong), never with 1: a crash must not
be mistaken for a shift.  What `fit` warns of is one line each, too.  An interrupted command ends with 130, one whose
reader closed the pipe with 141, as in the shell.

Nothing is imported before it is needed, so that ``hld --help`` answers at once.
"""

import ast
import contextlib
import csv
import io
import os
import pkgutil
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from hld.apps.command.arguments import build_parser
from hld.apps.command.output import flush_output, log_to_standard_error
from hld.tables.shown_names import printable

ERROR, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
EXPECTED = (
    ValueError,
    TypeError,
    OSError,
    ImportError,
)  # what the library raises for a user's mistake


def main(argv: list[str] | None = None) -> int:
    r"""Run the command line."""
    args = None
    try:
        words = sys.argv[1:] if argv is None else argv
        args = build_parser().parse_args(words)
        args.command_line = shlex.join(["hld", *words])
        if args.verbose:
            log_to_standard_error()
        with _warnings_in_a_line():
            status = command_of(args.run)(args)
        flush_output()
        return status
    except KeyboardInterrupt:
        _complain("hld: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _give_up(sys.stdout)
        return PIPE_CLOSED
    except Exception as error:
        if args is not None and args.debug:
            _complain(*traceback.format_exc().split("\n"))
        _complain(f"hld: {_one_line(error)}")
        return ERROR
    finally:
        _give_up_failing()


def command_of(name: str) -> Callable[[Any], int]:
    """The function of a command, whose module is imported now."""
    found: Callable[[Any], int] = pkgutil.resolve_name(f"hld.apps.command.{name}")
    return found


@contextlib.contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """The library's warnings read as the errors do, without the line of the source that gave them."""
    former = warnings.formatwarning

    def formatted(message: Any, category: Any, *where: Any) -> str:
        if category is not UserWarning:
            return former(message, category, *where)
        return f"hld: warning: {printable(_as_flags(' '.join(str(message).split())))}\n"

    warnings.formatwarning = formatted  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.formatwarning = former


# how the library names what a flag of the command line does
CODE = re.compile(
    r"`(?:calendar_columns\('(?P<date>.*?)'\)"
    r"|(?P<name>categorical|continuous|covariates|groups|order|schema|na_values)(?:=(?P<value>.*?))?)`"
)


def _as_flags(text: str) -> str:
    """A message whose advice names flags in place of arguments: `continuous=['a', 'b']` is --continuous a,b."""
    return CODE.sub(_flag, text).replace("`describe()`", "`hld info`")


def _flag(found: re.Match[str]) -> str:
    """The flag for an argument or a function in backticks."""
    if found["date"]:
        return f"--calendar {shlex.quote(found['date'])}"
    value = ast.literal_eval(found["value"] or "''")
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([value] if isinstance(value, str) else value)
    flag = f"--{found['name'].replace('_', '-')}"
    return f"{flag} {shlex.quote(line.getvalue())}" if value else flag


def _complain(*lines: str) -> None:
    """Lines on standard error, if there is one that takes them: the status tells of the error in any case."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(*map(printable, lines), sep="\n", file=sys.stderr, flush=True)


def _give_up_failing() -> None:
    """Streams that fail take no more: Python flushes them when it ends, and would change the status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _give_up(stream)


def _give_up(stream: Any) -> None:
    """What is written to a stream goes nowhere from here on."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _one_line(error: Any) -> str:
    """What went wrong, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or "failed to map segment" in text:
        return (
            f"error: there is not enough memory{text and f' ({text})'}: give the process more, or the table fewer "
            "rows"
        )
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.strerror}: {str(error.filename)!r}"
    if isinstance(error, EXPECTED) and text:
        return f"error: {_as_flags(text)}"
    return f"unexpected error: {type(error).__name__}: {text} (--debug shows where)"
