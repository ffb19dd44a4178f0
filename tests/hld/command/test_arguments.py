"""The commands and their options: examples, help, and what is refused by name."""

import pathlib
import re
import shlex

import pytest

from hld.apps.command import parser
from hld.apps.command.arguments import COMMANDS, build_parser
from hld.apps.command.parser import main

PARSER = build_parser()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_is_in_the_list(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"hld {command}" in capsys.readouterr().out.partition("example:\n  ")[2]
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "command-line.md").read_text(
        encoding="utf-8"
    )
    assert re.search(rf"^\| `hld {command}\b", page, re.MULTILINE)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["guess"],
        ["test"],
        ["fit", "train.csv"],
        ["test", "model.hld", "calm.csv", "--alpha", "x"],
        ["fit", "train.csv", "-o", "m.hld", "--seed", "-1"],
        ["fit", "train.csv", "-o", "m.hld", "--sep", ",,"],
        ["sample", "model.hld"],
        ["demo", "--digit", "10"],
    ],
)
def test_wrong_arguments_end_with_2(argv, run_here):
    """Argparse's own status is the right one."""
    status, out, err = run_here(*argv)
    assert (status, out) == (2, "")
    assert "usage: hld" in err


@pytest.mark.parametrize(
    ("given", "is_said"),
    [
        (["a.csv", "b.csv", "c.csv"], True),
        (["a.csv", "b -new.csv"], True),
        (["a.csv", "--no-such"], False),
    ],
)
def test_more_tables_than_one_are_told_so(capsys, given, is_said):
    with pytest.raises(SystemExit):
        main(["test", "model.hld", *given])
    assert ("a command reads one table: run it once for each" in capsys.readouterr().err) == is_said


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_commands_that_can_be_given(command):
    """Each line of an example, without what is piped into it or written by the shell."""
    for line in COMMANDS[command].example.splitlines():
        words = shlex.split(line)
        words = words[words.index("hld") + 1 :]
        args = PARSER.parse_args(words[: words.index(">")] if ">" in words else words)
        assert callable(parser.command_of(args.run))
    assert args.command in (command, "test")


PARSER = build_parser()
NUMBERS = {
    "--every": ["monitor", "m"],
    "--max-rows": ["serve", "m"],
    "--max-bytes": ["serve", "m"],
    "--rows-per-day": ["plan", "m"],
    "--num-batches": ["audit", "m", "t"],
    "--sizes": ["audit", "m", "t"],
    "--workers": ["serve", "m"],
}
COUNTS = {
    "--seed": ["fit", "t", "-o", "m"],
    "--port": ["serve", "m"],
    "--queue": ["serve", "m"],
}


@pytest.mark.parametrize(
    ("option", "argv", "least"),
    [
        *((option, argv, 1) for option, argv in NUMBERS.items()),
        *((option, argv, 0) for option, argv in COUNTS.items()),
        ("--max-rows", ["fit", "t", "-o", "m"], 4),
    ],
)
def test_whole_numbers_that_are_too_small_name_their_option(option, argv, least, capsys):
    args = PARSER.parse_args([*argv, option, str(least)])
    assert getattr(args, option[2:].replace("-", "_")) in (least, [least])
    for bad in (str(least - 1), "1.5", "x", "", "5,,6"):
        with pytest.raises(SystemExit) as left:
            PARSER.parse_args([*argv, f"{option}={bad}"])
        said = capsys.readouterr().err
        assert left.value.code == 2
        assert f"argument {option}: expected a whole number of at least {least}, found " in said


@pytest.mark.parametrize(
    "argv",
    [
        ["t.csv", "--alpha", "0.1"],
        ["--alpha", "0.1", "t.csv"],
        ["--summary", "a", "b", "--alpha", "0.1", "t.csv"],
        ["--alpha", "0.1", "-"],
    ],
)
def test_the_table_of_a_test_may_stand_behind_options(argv):
    args = PARSER.parse_args(["test", "m.hld", *argv])
    assert (args.model, args.table, args.alpha) == (
        "m.hld",
        argv[-1] if argv[0] != "t.csv" else "t.csv",
        0.1,
    )
