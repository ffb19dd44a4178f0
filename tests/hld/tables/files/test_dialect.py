"""How text files are written: found out, or refused with the option that says how it is meant."""

import pytest

from hld.tables.files.dialect import SNIFFED, Dialect, ReadOptions, find_dialect


def found(text, **options):
    """The dialect of a text."""
    return find_dialect(
        text.encode(options.get("encoding", "utf-8")), ReadOptions(**options), "'x.csv'"
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(separator):
    rows = [["a", "b", "c"], ["x y", "1", "2"], ["", "3", "4"]]
    text = "\n".join(separator.join(row) for row in rows)
    assert found(text) == Dialect(separator, ".", ("a", "b", "c"))
    assert found(text.replace("x y", '"x,y;z|u\tv"')) == Dialect(separator, ".", ("a", "b", "c"))
    assert found(text, separator=separator).separator == separator


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_header_that_holds_another_separator_is_refused(separator):
    with pytest.raises(
        ValueError,
        match=r"read with the separator ',', but its only column .* holds .*: give that as",
    ):
        found(f"a{separator}b\n1{separator}2\n", separator=",")


def test_one_column_is_a_table():
    assert found("a\n1\n2\n") == Dialect(",", ".", ("a",))
    assert found("word\none; two\nthree\n").names == ("word",)


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("a;b\n1,5;x\n2,25;y\n", ","),
        ("a;b\n1.5;x\n2,5;y\n", "."),
        ("a;b\n1,5;2.5\n2,5;3.5\n", "."),
        ("a;b\n1;2\n3;4\n", "."),
        ("a,b\n1,5\n2,5\n", "."),
        ("a;b\n-1,5e3;x\n;y\n", ","),
        ("a;b\n1,5;x\nno;y\n", "."),
    ],
)
def test_decimal_commas_are_found(text, decimal):
    assert found(text).decimal == decimal
    assert found(text, decimal=".").decimal == "."


def test_headers_that_are_rows_are_refused():
    with pytest.raises(
        ValueError, match=r"has a first row that looks like the others .*\(--no-header\)"
    ):
        found("1.5,2\n3.5,4\n")
    with pytest.raises(ValueError, match="has a first row that looks like the others"):
        found("5,5\n3,4\n")
    assert found("1.5,2\n3.5,4\n", has_header=False).names == ("x0", "x1")
    assert found("0,1,2\n3,4,5\n").names == ("0", "1", "2")  # what data frames without names write


def test_names_twice_and_no_text_and_nothing_are_refused():
    with pytest.raises(ValueError, match="more than one column named 'a', expected distinct names"):
        found("a,b,a\n1,2,3\n")
    with pytest.raises(ValueError, match="is empty"):
        found(" \n\n")
    with pytest.raises(ValueError, match="is not text in UTF-8"):
        find_dialect("straße,b\n".encode("latin-1"), ReadOptions(), "'x.csv'")
    for encoding in ("utf-8", "latin-1"):  # of which it is text
        with pytest.raises(
            ValueError,
            match=r"^'x\.csv' holds NUL characters, expected .* \(--encoding .*utf-16-le",
        ):
            find_dialect("a,b\n".encode("utf-16-le"), ReadOptions(encoding=encoding), "'x.csv'")
    with pytest.raises(ValueError, match="unknown encoding"):
        find_dialect(b"a,b\n", ReadOptions(encoding="nonsense"), "'x.csv'")
    assert found("straße,b\n1,2\n", encoding="latin-1").names == ("straße", "b")
    assert find_dialect("\ufeffa,b\n1,2\n".encode(), ReadOptions(), "'x.csv'").names == ("a", "b")


def test_columns_are_chosen_and_row_numbers_are_not():
    options = ReadOptions(drop=("c",))
    assert options.chosen(("", "a", "b", "c"), "'x.csv'") == ["a", "b"]
    assert ReadOptions(columns=("b", "a")).chosen(("a", "b", "c"), "'x.csv'") == ["a", "b"]
    for name in ("columns", "drop"):
        with pytest.raises(ValueError, match=f"'x.csv' has no column 'z', which `{name}` names"):
            ReadOptions(**{name: ("z",)}).chosen(("a",), "'x.csv'")


@pytest.mark.parametrize(
    "text", ["49.1,F,1\n30.2,M,3\n18.0,F,2\n", "F,M\nM,F\nF,M\n", "-1,x\n-2,x\n"]
)
def test_first_rows_that_look_like_the_others_are_refused(text):
    with pytest.raises(ValueError, match=r"first row that looks like the others .*\(--no-header\)"):
        found(text)


@pytest.mark.parametrize(
    "text", ["country,2019,2020\nNO,1,2\nPE,3,4\n", "a,b\na,1\nb,2\n", "name,1.5\nx,2\n"]
)
def test_names_may_be_years_and_one_may_be_a_level(text):
    assert found(text).names == tuple(text.split("\n")[0].split(","))


def test_utf_16_says_so_itself():
    found = find_dialect("a;b\n1;2\n".encode("utf-16"), ReadOptions(), "'x.csv'")
    assert (found.separator, found.names, found.encoding) == (";", ("a", "b"), "utf-16")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "shift_jis", "latin-1"])
@pytest.mark.parametrize("more", range(4))
def test_long_files_are_cut_between_characters(encoding, more):
    word = "K\u00fcche" if encoding == "latin-1" else "\u53f0\u6240"
    text = "a;b\n" + "x" * more + f";{500 * word}\n" * (SNIFFED // 500)
    found = find_dialect(text.encode(encoding)[:SNIFFED], ReadOptions(encoding=encoding), "'x.csv'")
    assert (found.separator, found.names, found.encoding) == (";", ("a", "b"), encoding)


def test_text_in_another_encoding_is_refused_even_where_it_is_cut():
    head = ("a;b\n" + f";{500 * chr(0x53F0)}\n" * (SNIFFED // 500)).encode("shift_jis")[:SNIFFED]
    with pytest.raises(ValueError, match=r"'x\.csv' is not text in UTF-8, expected a CSV file"):
        find_dialect(head, ReadOptions(), "'x.csv'")


def test_blanks_behind_separators_are_no_part_of_names():
    assert found("age, sex, n\n39, F, 3\n") == Dialect(",", ".", ("age", "sex", "n"), "utf-8", True)
    assert not found("age,sex, n\n39,F,3\n").has_blanks


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"PAR1xx", "Parquet file"),
        (b"ARROW1", "write it as Parquet"),
        (b"PK\x03\x04", "spreadsheet"),
        (b'[{"a": 1}]', "--format json"),
    ],
)
def test_files_that_are_no_text_are_named(head, said):
    with pytest.raises(ValueError, match=said):
        find_dialect(head, ReadOptions(), "'x.csv'")


def test_first_rows_without_an_end_are_refused():
    for text in (b"a" * 200_000 + b"\n1\n", b'a,"b' + b"\n1,2" * 100_000):
        with pytest.raises(
            ValueError, match=r"a cell of more than 131072 characters in its first row"
        ):
            find_dialect(text, ReadOptions(), "'x.csv'")


def test_nothing_left_to_read_is_refused():
    with pytest.raises(ValueError, match=r"'x\.csv' has no columns but those that `drop` names"):
        ReadOptions(drop=("a",)).chosen(("", "a"), "'x.csv'")
