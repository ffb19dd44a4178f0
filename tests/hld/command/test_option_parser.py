"""What is said of arguments that no command has."""

import pytest

from hld.command.arguments import build_parser

PARSER = build_parser()


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["test", "m", "t", "--alhpa", "0.1"], "--alpha"),
        (["test", "m", "t", "--alpa=0.1"], "--alpha"),
        (["audit", "m", "t", "--edits", "x=1:+0.05"], "--edit"),
        (["fit", "t", "-o", "m", "--frobnicate"], None),
        (["fit", "t", "-o", "m", "--catgorical", "zip"], "--categorical"),
        (["test", "m", "t", "--no_header"], "--no-header"),
        (["test", "m", "t", "-x", "--reprot", "r.html"], "--report"),
        (["test", "m", "t", "-x"], None),
        (["test", "m", "t", "--verbsoe"], "--verbose"),
    ],
)
def test_an_unknown_option_is_told_the_one_it_is_near_to(argv, meant, capsys):
    with pytest.raises(SystemExit) as left:
        PARSER.parse_args(argv)
    assert left.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("hld: error: unrecognized arguments: -")
    assert said.endswith(f" (did you mean {meant}?)") if meant else "did you mean" not in said


def test_a_second_table_with_a_blank_in_its_name_is_no_option(capsys):
    with pytest.raises(SystemExit):
        PARSER.parse_args(["test", "m", "a.csv", "b -new.csv"])
    assert "a command reads one table: run it once for each" in capsys.readouterr().err
