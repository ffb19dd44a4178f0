"""CSV in and out: a batch has the types of the training table, whatever its cells look like."""

import datetime
import gzip
import io
import sys

import numpy as np
import pytest

from hld.command.console.csv_files import read_batch, read_training, write_rows
from hld.schemas.encoder import fit_encoder
from hld.table_files.dialect import ReadOptions

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


def codes(encoder, path, separator=None):
    """Evidence of a batch file."""
    return encoder.encode(read_batch(path, encoder, ReadOptions(separator)))[0].tolist()


def test_kinds_are_those_of_the_cells(encoder):
    """Text, booleans with gaps, whole numbers, numbers with gaps, and numbers among text."""
    kinds = {column.name: column.kind for column in encoder.columns}
    assert kinds == {
        "colour": "categorical",
        "member": "boolean",
        "visits": "integer",
        "income": "continuous",
        "code": "categorical",
    }


def test_training_table_reads_the_same_as_a_batch(encoder, csv_file):
    """Both readers, one evidence, gaps as -1."""
    path = csv_file(HEADER, *TRAINING)
    direct = encoder.encode(read_training(path)[0])[0]
    np.testing.assert_array_equal(direct, encoder.encode(read_batch(path, encoder))[0])
    assert (direct[:, 1] == -1).sum() == 20


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


def test_columns_may_come_in_another_order(encoder, csv_file):
    """They are matched by name."""
    path = csv_file("code,income,visits,member,colour", "z,2.5,3,True,blue")
    assert codes(encoder, path) == codes(encoder, csv_file(HEADER, "blue,True,3,2.5,z"))


def test_an_encoder_without_names_goes_by_position(csv_file):
    """It was fitted to an array, so the header's names mean nothing."""
    encoder = fit_encoder(np.array([["1", 2], ["a", 3]], dtype=object))
    assert codes(encoder, csv_file("p,q", "1,2", "1,3", "a,4")) == [[0, 0], [0, 1], [1, 2]]


def test_levels_of_two_types_are_told_by_their_text(csv_file):
    """A level that is the number 1 among text is found as "1"."""
    encoder = fit_encoder([[1, 0], ["a", 1], [1, 2]], names=["p", "q"])
    assert codes(encoder, csv_file("p,q", "1,0", "a,0")) == [[0, 0], [1, 0]]


def test_decoded_rows_are_read_back(encoder, tmp_path):
    """Every category of every column, unseen levels and gaps included, survives the way through a file."""
    tops = np.array(encoder.num_categories)
    every = np.minimum(np.arange(-1, tops.max())[:, None], tops - 1)
    path = str(tmp_path / "decoded.csv")
    write_rows(encoder.names, encoder.decode(every), path)
    assert codes(encoder, path) == every.tolist()


def test_rows_go_to_standard_output(capsys):
    """Gaps are empty cells, and text is quoted where it must be."""
    write_rows(["a", "b"], [[None, True], ["x,y", 0.5]])
    assert capsys.readouterr().out == 'a,b\n,True\n"x,y",0.5\n'


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separator(separator, encoder, csv_file):
    """One character between cells; "|" is no pattern."""
    path = csv_file(HEADER.replace(",", separator), "red,True,1,2.5,z".replace(",", separator))
    assert codes(encoder, path, separator) == codes(encoder, csv_file(HEADER, "red,True,1,2.5,z"))


def test_compressed_file(encoder, tmp_path, csv_file):
    """As its name says."""
    with gzip.open(tmp_path / "batch.csv.gz", "wt") as file:
        file.write(f"{HEADER}\nred,True,1,2.5,z\n")
    plain = csv_file(HEADER, "red,True,1,2.5,z")
    assert codes(encoder, str(tmp_path / "batch.csv.gz")) == codes(encoder, plain)


def test_standard_input(encoder, monkeypatch):
    """A dash; UTF-8 with the mark that some programs put in front."""
    text = f"\ufeff{HEADER}\nred,True,1,2.5,z\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert encoder.encode(read_batch("-", encoder))[1].num_rows == 1


def test_longer_numbers_come_back_to_the_last_digit(csv_file):
    """A column of one constant has that level only: one unit in the last place would be a new level."""
    number = 0.1 + 0.2
    encoder = fit_encoder(
        read_training(csv_file("a,b", *[f"{number!r},{i % 2}" for i in range(4)]))[0]
    )
    assert codes(encoder, csv_file("a,b", f"{number!r},0", "<unseen>,0")) == [[0, 0], [1, 0]]


def test_booleans_are_booleans_in_a_batch(encoder, csv_file):
    """As in a frame: 0 and 1 are equal to them, but their texts are others."""
    batch = read_batch(
        csv_file(HEADER, *[f"red,{word},1,2.5,z" for word in ("true", "False", "1", "0", "", "2")]),
        encoder,
    )
    assert [repr(cell) for cell in batch["member"]] == [
        "True",
        "False",
        "True",
        "False",
        "None",
        "2",
    ]


def test_large_whole_numbers_are_not_rounded_beside_a_missing_cell(csv_file):
    """Neither in training nor in a batch: as doubles these three are one number."""
    large = [1234567890123456701, 1234567890123456702, 1234567890123456703]
    training = csv_file(
        "a,b", *[f"{large[i % 3]},{i}" for i in range(9)], ",9", name="training.csv"
    )
    encoder = fit_encoder(read_training(training)[0])
    assert encoder.columns[0].levels == tuple(large)
    batch = csv_file(
        "a,b", *[f"{number},0" for number in large], ",0", f"{large[0] + 5},0", "1,0", "-7,0"
    )
    assert [row[0] for row in codes(encoder, batch)] == [0, 1, 2, -1, 3, 3, 3]
    assert [row[0] for row in encoder.encode(read_training(training)[0])[0].tolist()] == [
        0,
        1,
        2,
    ] * 3 + [-1]


@pytest.mark.parametrize("largest", [2**64 - 1, 10**25])
def test_whole_numbers_beyond_64_bits_keep_their_gaps(largest, csv_file):
    """Pandas makes text of such columns, and an empty text of their gaps."""
    encoder = fit_encoder(
        read_training(csv_file("a,b", f"{largest},1", ",2", f"{largest - 1},3", "5,4"))[0]
    )
    assert len(encoder.columns[0].levels) == 3
    assert [
        row[0] for row in codes(encoder, csv_file("a,b", f"{largest},1", ",1", f"{largest - 2},1"))
    ][1:] == [-1, 3]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty, expected a header and rows"),
        (["a,b", "1,2,3"], "is not a table separated by ','"),
        (
            ["# of today", "a,b", "1,2", "3,4"],
            "(its first line is '# of today': remove lines that precede the names)",
        ),
        (["a,b", "1,2", "1,2,3,4"], "is not a table separated by ','"),
        (["a,b", '"1,2'], "is not a table separated by ','"),
    ],
)
def test_training_files_that_are_no_tables(lines, message, csv_file):
    """The file is named, and what is wrong with it."""
    with pytest.raises(ValueError, match=message):
        read_training(csv_file(*lines))


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


def test_bytes_that_are_no_text(tmp_path):
    """Not a message about codecs."""
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not text in UTF-8, expected a CSV file"):
        read_training(str(tmp_path / "picture.png"))


def test_addresses_are_not_fetched():
    """A batch is a file on this machine, whatever its name looks like."""
    with pytest.raises(FileNotFoundError):
        read_training("http://127.0.0.1:1/batch.csv")


def test_missing_pandas_is_explained(monkeypatch, csv_file):
    """One sentence, with the command."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"needs pandas, which is not installed: pip install 'hld\[cli\]'"
    ):
        read_training(csv_file("a", "1"))


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


def test_columns_of_parquet_are_read_as_in_one_piece(tmp_path):
    """pandas rounds whole numbers beside a missing cell, and refuses times of the day with nanoseconds."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    large = 2**60
    table = pa.table(
        {
            "id": pa.array([large, None, large + 1, large + 2] * 3),
            "clock": pa.array([1, 86_399_999_999_999, None, 3] * 3, pa.time64("ns")),
            "far": pa.array([0, 10**11, None, -(10**11)] * 3, pa.timestamp("s")),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    encoder = fit_encoder(table)
    assert encoder.columns[0].levels == (large, large + 1, large + 2)
    assert codes(encoder, str(tmp_path / "t.parquet")) == encoder.encode(table)[0].tolist()
