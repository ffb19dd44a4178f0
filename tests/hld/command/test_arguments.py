"""The commands and their options: examples that can be parsed, numbers that are refused by name, help."""
import pathlib
import re

import pytest

from hld.command import parser
from hld.command.arguments import EXAMPLES
from hld.command.parser import main


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_command_has_an_example_and_is_in_both_lists(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"hld {command}" in capsys.readouterr().out.partition("example:\n  ")[2]
    assert re.search(rf"^    hld {command}\b", parser.__doc__, re.MULTILINE)
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `hld {command}\b", page, re.MULTILINE)


@pytest.mark.parametrize("argv", [
    [], ["guess"], ["test"], ["fit", "train.csv"],
    ["test", "model.hld", "calm.csv", "--alpha", "x"],
    ["fit", "train.csv", "-o", "m.hld", "--seed", "-1"], ["fit", "train.csv", "-o", "m.hld", "--sep", ",,"],
    ["sample", "model.hld"], ["demo", "--digit", "10"],
])
def test_wrong_arguments_end_with_2(argv, run_here):
    """Argparse's own status is the right one."""
    status, out, err = run_here(*argv)
    assert (status, out) == (2, "")
    assert "usage: hld" in err


def test_version(run_here):
    """That of the package."""
    import pcircuit
    assert run_here("--version") == (0, f"hld {pcircuit.__version__}\n", "")


@pytest.mark.parametrize(("command", "said"), [
    (["--help"], "CSV, Parquet, JSON lines or JSON"),
    (["audit", "--help"], "HELDOUT.csv rows that the model has not seen"),
    (["test", "--help"], r"one character ('\t' is a tab)"),
])
def test_help_says_what_is_read(command, said, capsys):
    with pytest.raises(SystemExit):
        main(command)
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("given", "is_said"), [(["a.csv", "b.csv", "c.csv"], True), (["a.csv", "--no-such"], False)])
def test_more_tables_than_one_are_told_so(capsys, given, is_said):
    with pytest.raises(SystemExit):
        main(["test", "model.hld", *given])
    assert ("a command reads one table: run it once for each" in capsys.readouterr().err) == is_said
