"""How the arguments of ``hld`` are read: by argparse, which is told where a table may stand and what a user meant."""

from __future__ import annotations

import argparse
from typing import Any

from hld.command.console.output import flush_output, send, shown

NEAR = 0.75  # likeness of an option to one that is there, from 0 to 1
ONE_TABLE = " (a command reads one table: run it once for each, or put the tables together)"


class Parser(argparse.ArgumentParser):
    """Escapes what it quotes of the arguments, such as the names of files."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Arguments all of which are known; an error that says what is near to the first option that is not."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            unknown = [word for word in rest if word.startswith("-")]
            self.error(
                f"unrecognized arguments: {' '.join(rest)}"
                + (self._meant(found, unknown) if unknown else ONE_TABLE)
            )
        return found

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Also takes a table that may be left out where it stands behind options, which argparse misses."""
        found, rest = super().parse_known_args(args, namespace)
        if (
            rest
            and getattr(found, "table", "") is None
            and (rest[0] == "-" or not rest[0].startswith("-"))
        ):
            found.table = rest.pop(0)
        return found, rest

    def _meant(self, found: Any, unknown: list[str]) -> str:
        """The option of the command that is nearest to the first unknown one that is near to any; else nothing."""
        import difflib

        commands: Any = next(action.choices for action in self._actions if action.dest == "command")
        options = [
            name for name in commands[found.command]._option_string_actions if name.startswith("--")
        ]
        for word in unknown:
            if near := difflib.get_close_matches(word.partition("=")[0], options, 1, NEAR):
                return f" (did you mean {near[0]}?)"
        return ""

    def print_help(self, file: Any = None) -> None:
        """Help that does not arrive is an error, which argparse would pass over."""
        send(self.format_help())

    def exit(self, status: Any = 0, message: Any = None) -> Any:
        """Leave after all that was printed has arrived."""
        flush_output()
        super().exit(status, message)

    def error(self, message: Any) -> None:  # type: ignore[override]
        """The usage and one line on standard error, and status 2."""
        super().error(shown(message))
