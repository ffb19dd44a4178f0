"""Codes with zeros in front, which are no numbers where they stand beside the same ones without."""

import json
import warnings

import pyarrow as pa
import pytest

import hld
from hld.command.parser import main
from hld.schemas.encoder import fit_encoder
from hld.table_files import files
from hld.table_files.dialect import Dialect, ReadOptions
from hld.table_files.text_cells import typed_frame


def codes(cells, kinds=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        texts, dialect = pa.table({"a": pa.array(cells, pa.string())}), Dialect(",", ".", ("a",))
        found = typed_frame(texts, dialect, ReadOptions(), kinds, "t.csv")["a"]
    is_text = found.dtype == "string" and all(map(str.isdigit, found.dropna()))
    return is_text, len(caught)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["01", "1", "2"], True),
        (["1", "", "001", "NA"], True),
        (["00", "0"], True),
        (["007", "07"], True),
        (["01", "02", "10"], False),
        (["1", "2"], False),
        (["01", "1", "2.5"], False),
        (["01", "1", "x"], False),
        (["0", "0.5"], False),
        (["-01", "-1"], False),
        (["", "NA"], False),
        ([], False),
        (["01", None, "1"], True),
    ],
)
def test_whole_numbers_are_codes_where_two_of_them_differ_by_zeros_in_front(cells, expected):
    assert codes(cells) == (expected, int(expected))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("continuous", (False, 0)),
        ("integer", (False, 0)),
        ("categorical", (True, 0)),
        ("date", (True, 1)),
    ],
)
def test_what_a_column_is_said_to_be_counts(kind, expected):
    assert codes(["01", "1"], {"a": kind}) == expected


def test_codes_are_levels_of_their_own_in_training_and_in_batches(tmp_path):
    """Both had been the number 1, whatever the options said, and one in place of the other was never seen."""
    path = tmp_path / "t.csv"
    path.write_text("code,zip\n" + "01,01234\n1,90210\n,501\n2,501\n" * 9)
    with pytest.warns(
        UserWarning,
        match=r"t.csv' has columns of whole numbers of which some have zeros in front, as "
        r"'01' beside '1': 'code'; each is learned as text",
    ):
        table, _ = files.read_training(str(path))
    encoder = fit_encoder(table)
    assert encoder.columns[0].levels == ("01", "1", "2")
    assert encoder.columns[1].levels == (501, 1234, 90210)
    (chunk,) = files.read_chunks(str(path), encoder)
    assert encoder.encode(chunk)[0][:4].tolist() == [[0, 1], [1, 2], [-1, 0], [2, 0]]
    assert (
        files.read_training(str(path), kinds={"code": "continuous"})[0]["code"].dropna().tolist()
        == [1, 1, 2] * 9
    )


def test_the_command_learns_codes_and_takes_what_its_options_say(tmp_path):
    path, model = tmp_path / "t.csv", str(tmp_path / "m.hld")
    path.write_text("code,k\n" + "01,a\n1,b\n2,a\n" * 40)
    schema = hld.learn_schema({"code": [1, 2] * 60, "k": ["a", "b"] * 60})
    (tmp_path / "s.json").write_text(json.dumps(schema.to_dict()))
    for options, kind, told in (
        ([], "categorical", 1),
        (["--categorical", "code"], "categorical", 0),
        (["--continuous", "code"], "continuous", 0),
        (["--schema", str(tmp_path / "s.json")], "integer", 0),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert main(["fit", str(path), "-o", model, "--num-epochs", "2", *options]) == 0
        assert hld.load(model).schema_["code"].kind == kind
        assert sum("zeros in front" in str(one.message) for one in caught) == told
