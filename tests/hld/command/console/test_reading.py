"""Options for reading a table: lists of names, separators, what is not read, and options that give the same again."""

import argparse
import warnings

import pytest
from command_line import amounts
from hypothesis import given
from hypothesis import strategies as st

import hld
from hld.command.arguments import build_parser
from hld.command.console import reading
from hld.table_files.dialect import ReadOptions


@pytest.mark.parametrize(
    ("text", "names"), [("a,b", ["a", "b"]), ("a, b", ["a", "b"]), ('"a,b",c', ["a,b", "c"])]
)
def test_lists_of_names(text, names):
    """Commas separate, quotes keep."""
    assert reading.names(text) == names


@pytest.mark.parametrize("text", ["a\nb", "a,b\r,c"])
def test_a_line_break_outside_quotes_is_refused_in_words(capsys, text):
    with pytest.raises(SystemExit) as ended:
        parsed("--drop", text)
    assert ended.value.code == 2
    assert (
        "argument --drop: expected names separated by commas, found 'a" in capsys.readouterr().err
    )
    assert parsed("--drop", f'"{text}"').drop == [text]


@pytest.mark.parametrize(
    ("options", "unread"),
    [
        (("--drop", "amount"), "'amount'"),
        (("--columns", "k"), "'amount'"),
        (("--drop", "more"), None),
        (("--columns", "k,amount"), None),
        ((), None),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("test", "m.hld", "t.csv"),
        ("explain", "m.hld", "t.csv"),
        ("summarize", "m.hld", "t.csv", "-o", "s.json"),
    ],
)
def test_columns_of_the_model_that_are_not_read_are_told(
    run_here, tmp_path, command, options, unread
):
    """They count as missing, and so are an alarm, where whoever drops them wants them not to be tested."""
    table = amounts(200, 1)
    table["more"] = ["x", "y"] * 100
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(
        tmp_path / "m.hld"
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run_here(*command, *options)[0] in (0, 1)
    said = [str(one.message) for one in caught if "not read" in str(one.message)]
    assert said == (
        []
        if unread is None
        else [
            f"columns of the model that are not read count as missing in all rows: {unread}; to test the others alone, "
            "fit a model without them"
        ]
    )


PARSER = build_parser()


def parsed(*argv):
    """The arguments of a command that reads a table."""
    return PARSER.parse_args(["test", "m.hld", "t.csv", *argv])


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--sep", r"\t"],
        ["--sep", ";", "--decimal", ","],
        ["--no-header", "--encoding", "latin-1"],
        ["--na-values=-999,?"],
        ["--columns", '"a,b"," c",d', "--drop", '"say ""x"""'],
        ["--format", "csv"],
        ["--na-values", '""'],
    ],
)
def test_options_that_were_given_are_given_again(argv):
    args = parsed(*argv)
    again = parsed(*reading.given_options(args))
    assert vars(again) == vars(args)
    assert reading.reading_options(again) == reading.reading_options(args)
    assert bool(argv) == bool(reading.given_options(args))


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), min_size=1, max_size=3)
)
def test_names_of_any_letters_are_given_again(listed):
    args = parsed("--drop", ",".join('"' + name.replace('"', '""') + '"' for name in listed))
    assert args.drop == listed
    assert parsed(*reading.given_options(args)).drop == listed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"\t", "\t"),
        (";", ";"),
        ("|", "|"),
        ("\u00a7", "\u00a7"),
        (",,", None),
        ("", None),
        ('"', None),
        ("\n", None),
    ],
)
def test_a_separator_is_one_character_that_is_no_quote(text, found):
    if found is not None:
        assert reading.separator(text) == found
        return
    with pytest.raises(argparse.ArgumentTypeError, match="expected one character, found"):
        reading.separator(text)


def test_options_become_those_of_the_reader():
    found = reading.reading_options(
        parsed(
            "--sep",
            ";",
            "--no-header",
            "--decimal",
            ",",
            "--encoding",
            "latin-1",
            "--na-values",
            "?,-",
            "--columns",
            "x0,x1",
            "--drop",
            "x1",
        )
    )
    assert found == ReadOptions(";", False, ",", "latin-1", ("?", "-"), ("x0", "x1"), ("x1",), None)
    assert reading.reading_options(parsed()) == ReadOptions()
    with pytest.raises(ValueError, match="--columns is empty, expected names of columns to read"):
        reading.reading_options(parsed("--columns", ""))


def test_each_option_for_text_is_refused_by_name_for_other_files():
    values_of = {
        "--sep": [";"],
        "--no-header": [],
        "--decimal": [","],
        "--encoding": ["latin-1"],
        "--na-values": ["?"],
    }
    assert {f"--{name.replace('_', '-')}" for name in reading.OF_TEXT} == set(values_of)
    for option, values in values_of.items():
        with pytest.raises(
            ValueError, match=f"^{option} is for CSV, and 't.csv' is read as parquet: leave it out$"
        ):
            reading.reading_options(parsed("--format", "parquet", option, *values))


def test_bytes_of_utf_8_are_read_as_such_where_the_locale_is_ascii():
    assert reading.words("gr\udcc3\udcb6\u00dfe") == "gr\u00f6\u00dfe"
