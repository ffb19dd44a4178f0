"""Reading text formats: tokens and numbers, each refused with its file and line, and sums as they are written."""

import math
import sys

import pytest

from pcircuit.io.text import Line, lines_of


def line(text, size=10**6):
    return Line("a.jpc", 7, text.split(), size)


def test_lines_are_numbered_as_in_the_file_without_comments_and_empty_ones(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfpsdd 2\nc a comment\xff\xfe\n\n  \t\n L  0\t1 \r\ncomment\nEOF")
    found = list(lines_of(path))
    assert [(one.number, one.tokens) for one in found] == [
        (1, ["psdd", "2"]),
        (5, ["L", "0", "1"]),
        (7, ["EOF"]),
    ]
    assert {(one.path, one.size) for one in found} == {(str(path), path.stat().st_size)}
    assert [one.number for one in lines_of(path, comment=None)] == [1, 2, 5, 6, 7]
    assert [one.number for one in lines_of(path, comment="L")] == [1, 2, 6, 7]
    path.write_bytes(b"")
    assert list(lines_of(path)) == []
    with pytest.raises(FileNotFoundError):
        list(lines_of(tmp_path / "b.txt"))


@pytest.mark.parametrize(
    ("token", "least", "most", "expected"),
    [
        ("0", 0, 9, 0),
        ("9", 0, 9, 9),
        ("-3", -3, 3, -3),
        ("-0", 0, 9, 0),
        ("007", 0, 9, 7),
        ("99999999999999999", 0, 10**17, 10**17 - 1),
    ],
)
def test_whole_numbers(token, least, most, expected):
    assert line(f"x {token}").integer(1, "id", least=least, most=most) == expected


@pytest.mark.parametrize(
    "token", ["-1", "10", "1.0", "1e0", "+1", "1_0", "٣", "0x1", "--1", "1" * 18, "9" * 5000, "-"]
)
def test_what_is_no_whole_number_in_the_range_is_refused(token):
    with pytest.raises(ValueError) as caught:
        line(f"x {token}").integer(1, "id", most=9)
    assert str(caught.value) == (
        f"cannot read 'a.jpc', line 7: the id must be a whole number from 0 to 9, found "
        f"{token[:40]!r}"
    )


def test_variables_are_counted_from_one_up_to_the_lines_that_the_file_has_room_for():
    """Six bytes define a unit, so a file of 60 bytes has at most eleven variables."""
    assert [line(f"{v}", 60).variable(0) for v in (1, 11)] == [1, 11]
    assert [line(f"{v}", 60).variable(0, signed=True) for v in (-11, -1, 1, 11)] == [-11, -1, 1, 11]
    for token, signed in (("12", False), ("12", True), ("-12", True), ("0", False), ("-1", False)):
        with pytest.raises(
            ValueError, match=r"the variable must be a whole number from (-11|1) to 11, found"
        ):
            line(token, 60).variable(0, signed=signed)
    with pytest.raises(
        ValueError,
        match="the literal must be a variable or minus a variable, counted from 1, found 0",
    ):
        line("0", 60).variable(0, "literal", signed=True)


@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-300, 0.1, 1.0, 2.0, 1e300, sys.float_info.max])
def test_logarithms_are_read_as_what_they_are_of(p):
    token = repr(math.log(p)) if p else "-inf"
    assert line(token).probability(0) == pytest.approx(p, rel=1e-12)
    if p <= 1:
        assert line(token).at_most_one(0) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("nan", "the logarithm of a finite number, found nan"),
        ("inf", "the logarithm of a finite number, found inf"),
        ("709.79", "the logarithm of a finite number, found 709.79"),
        ("1e400", "the logarithm of a finite number, found"),
        ("half", "a number, found 'half'"),
        ("-1_0", "a number, found '-1_0'"),
        ("-٣", "a number, found '-٣'"),
        ("0" * 401, "a number, found '0000"),
    ],
)
def test_what_is_no_logarithm_is_refused(token, message):
    with pytest.raises(
        ValueError, match=f"^cannot read 'a.jpc', line 7: the log-probability must be {message}"
    ):
        line(token).probability(0)
