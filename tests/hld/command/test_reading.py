"""Tables on the command line: options for reading, files as tables of the types of training, rows out."""

import argparse
import datetime
import warnings

import numpy as np
import pytest
from command_line import amounts
from hypothesis import given
from hypothesis import strategies as st

import hld
from hld.apps.command import arguments, reading
from hld.apps.command.arguments import build_parser
from hld.apps.command.reading import read_batch, write_rows
from hld.tables.files.files import read_training
from hld.tables.schemas.learn_schema import fit_encoder


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


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), min_size=1, max_size=3)
)
def test_names_of_any_letters_can_be_given(listed):
    args = parsed("--drop", ",".join('"' + name.replace('"', '""') + '"' for name in listed))
    assert args.drop == listed


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
        assert arguments.separator(text) == found
        return
    with pytest.raises(argparse.ArgumentTypeError, match="expected one character, found"):
        arguments.separator(text)


def test_each_option_for_text_is_refused_by_name_for_other_files():
    values_of = {
        "--sep": [";"],
        "--no-header": [],
        "--decimal": [","],
        "--encoding": ["latin-1"],
        "--na-values": ["?"],
    }
    assert {f"--{name.replace('_', '-')}" for name in arguments.OF_TEXT} == set(values_of)
    for option, values in values_of.items():
        with pytest.raises(
            ValueError, match=f"^{option} is for CSV, and 't.csv' is read as parquet: leave it out$"
        ):
            reading.reading_options(parsed("--format", "parquet", option, *values))


def test_bytes_of_utf_8_are_read_as_such_where_the_locale_is_ascii():
    assert arguments.words("gr\udcc3\udcb6\u00dfe") == "gr\u00f6\u00dfe"


HEADER = "colour,member,visits,income,code"
COLOURS, WORDS, CODES = ["red", "green", "blue"], ["True", "False", ""], ["1", "2", "z"]
TRAINING = [
    f"{COLOURS[i % 3]},{WORDS[i % 3]},{i % 4},{i * 0.37 if i % 7 else ''},{CODES[i % 3]}"
    for i in range(60)
]


@pytest.fixture
def csv_file(tmp_path):
    """A function that writes lines to a file and returns its name."""

    def write(*lines, name="table.csv"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.fixture
def encoder(csv_file):
    """Fitted to the training table."""
    return fit_encoder(read_training(csv_file(HEADER, *TRAINING, name="training.csv"))[0])


def codes(encoder, path):
    """Evidence of a batch file."""
    return encoder.encode(read_batch(path, encoder))[0].tolist()


@pytest.mark.parametrize(
    "lines",
    [
        ["red,,1,2.5,1", "red,,1,2.5,2"],  # pandas would read "code" as numbers
        ["red,True,1,2.5,1", "red,False,1,,"],  # ... "code" as numbers with a gap
        ["red,true,1.0,2.5,1", "red,FALSE,1,3,z"],
    ],
)
def test_a_batch_that_looks_like_other_types_keeps_its_levels(lines, encoder, csv_file):
    """No cell is unseen because of how the other cells of its column look."""
    _, report = encoder.encode(read_batch(csv_file(HEADER, *lines), encoder))
    assert report.num_unseen.tolist() == [0] * 5


def test_text_in_a_column_of_numbers_is_counted(encoder, csv_file):
    """Such a cell has no number and no level; the file is read all the same."""
    batch = read_batch(
        csv_file(HEADER, "red,True,1,2.5,z", "red,maybe,1,abc,z", "red,True,1,<unseen>,z"), encoder
    )
    _, report, absent, extra = encoder.encode_counting(batch)
    assert report.num_odd.tolist() == [0, 1, 0, 2, 0]  # bins have no category of unseen values
    assert report.num_unseen.tolist() == [0, 1, 0, 0, 0]
    assert report.num_missing.tolist() == [0, 0, 0, 2, 0]
    assert (absent, extra) == ([], [])
    with pytest.raises(TypeError, match="column 'member' holds text"):
        encoder.encode(batch)


def test_days_are_written_without_a_time(tmp_path):
    day, moment = datetime.datetime(2026, 1, 31), datetime.datetime(2026, 1, 31, 12)
    path = tmp_path / "rows.csv"
    rows = np.array([[day, day, None], [None, moment, None]], dtype=object)
    write_rows(["day", "when", "never"], rows, str(path))
    assert (
        path.read_text()
        == "day,when,never\n2026-01-31,2026-01-31 00:00:00,\n,2026-01-31 12:00:00,\n"
    )
    assert rows[0, 0] is day
    write_rows(["day", "when"], np.empty((0, 2), dtype=object), str(path))
    assert path.read_text() == "day,when\n"
