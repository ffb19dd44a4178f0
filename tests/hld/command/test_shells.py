"""Completion scripts: every command and option once, in the words of the parser."""

import argparse
import itertools
import shlex
import subprocess
import sys

import pytest

from hld.command.arguments import build_parser
from hld.command.shells import fish_script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, run_here):
    if shell != "fish":
        pytest.importorskip("shtab")
    status, out, err = run_here("completion", shell)
    assert (status, err) == (0, "")
    assert all(word in out for word in ("monitor", "every", "report", "procedure"))
    if shell == "fish":  # options that take a value are told from those that do not
        test = [line for line in out.splitlines() if "__fish_seen_subcommand_from test" in line]
        assert [" -r" in line for line in test if " -l alpha" in line] == [True]
        assert [" -r" in line for line in test if " -l json" in line] == [False]
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=out, text=True, check=True)


def test_completion_without_shtab_says_what_to_install(run_here, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    said = "completion needs shtab, which is not installed: pip install 'hld[cli]'"
    assert run_here("completion", "bash") == (2, "", f"hld: error: {said}\n")


def options_of(line):
    """What a line of fish says: the words, and the names of its option."""
    words = shlex.split(line.replace("\\'", "’"))
    return words, [word for flag, word in itertools.pairwise(words) if flag in ("-l", "-s")]


def test_fish_has_one_line_for_each_command_and_option_that_help_shows():
    """Options before the command were left out."""
    parser = build_parser()
    lines = [options_of(line) for line in fish_script(parser).splitlines()]
    commands = next(action for action in parser._actions if action.dest == "command").choices
    assert [
        words[words.index("-a") + 1]
        for words, names in lines
        if "__fish_use_subcommand" in words and not names
    ] == list(commands)
    for condition, one in (
        ("__fish_use_subcommand", parser),
        *((f"__fish_seen_subcommand_from {name}", command) for name, command in commands.items()),
    ):
        expected = [
            [name.lstrip("-") for name in action.option_strings]
            for action in one._actions
            if action.option_strings and action.help != argparse.SUPPRESS
        ]
        assert [names for words, names in lines if condition in words and names] == expected
    assert "-a 'bash zsh fish'" in fish_script(parser)


def test_fish_says_what_help_says():
    """A percent sign, which argparse wants twice, was shown twice."""
    parser = argparse.ArgumentParser()
    command = parser.add_subparsers(dest="command").add_parser("run", help="it's 5 %% of a\\b")
    command.add_argument("--share", choices=("1 %", "2 %"), help="one %% of '$HOME'")
    first, *_, last = [line for line in fish_script(parser).splitlines() if "help" not in line]
    assert first == r"complete -c hld -n __fish_use_subcommand -f -a run -d 'it\'s 5 % of a\\b'"
    assert last.endswith(r" -l share -r -a '1 % 2 %' -d 'one % of \'$HOME\''")
