"""The shell: ``hld fit``, ``hld test`` and the other commands, one file for each group."""

import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line: see `hld.apps.command.parser`."""
    from hld.apps.command.parser import main as run_command

    return run_command(arguments)


def run() -> None:
    """Run the command line and end the process at once, with what was printed sent on its way.

    Threads of Arrow and DuckDB may still read through an object of Python, which Python's own end would answer with
    SIGABRT, or wait for.
    """
    try:
        status = main()
    except SystemExit as leaving:  # help, or arguments that are wrong
        status = leaving.code if isinstance(leaving.code, int) else 0
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)
