"""``hld completion``: a script that completes commands and options, bash and zsh by shtab, fish by our own code."""

from __future__ import annotations

import argparse
from typing import Any

from hld.command.output import send

SHELLS = ("bash", "zsh", "fish")


def completion(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    if args.shell == "fish":
        send(fish_script(args.parser))
        return 0
    try:
        import shtab
    except ImportError:
        raise ImportError(
            "completion needs shtab, which is not installed: pip install 'hld[cli]'"
        ) from None
    send(shtab.complete(args.parser, shell=args.shell) + "\n")
    return 0


def fish_script(parser: Any) -> str:
    """Completions for fish, which shtab does not write: a line for each command and option."""
    commands = next(action for action in parser._actions if action.dest == "command")
    helps = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    lines = [
        f"complete -c hld -n __fish_use_subcommand -f -a {name} -d {_said(helps.get(name))}"
        for name in commands.choices
    ]
    lines += _lines_of_options(parser, "__fish_use_subcommand")
    for name, command in commands.choices.items():
        condition = _quoted(f"__fish_seen_subcommand_from {name}")
        lines += _lines_of_options(command, condition)
        lines += [
            f"complete -c hld -n {condition} -f -a {_quoted(' '.join(map(str, action.choices)))}"
            for action in command._actions
            if action.choices and not action.option_strings
        ]
    return "\n".join(lines) + "\n"


def _lines_of_options(parser: Any, condition: str) -> list[str]:
    """A line for each option of a parser that its help shows."""
    lines = []
    for action in parser._actions:
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        names = "".join(
            f" -l {one[2:]}" if one.startswith("--") else f" -s {one[1:]}"
            for one in action.option_strings
        )
        takes = " -r" if action.nargs != 0 else ""
        takes += f" -a {_quoted(' '.join(map(str, action.choices)))}" if action.choices else ""
        lines.append(f"complete -c hld -n {condition}{names}{takes} -d {_said(action.help)}")
    return lines


def _said(help_text: str | None) -> str:
    """What the help of argparse says, where a percent sign is written twice."""
    return _quoted((help_text or "").replace("%%", "%"))


def _quoted(text: str) -> str:
    """Text as one word of fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
