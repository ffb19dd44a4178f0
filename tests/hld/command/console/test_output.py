"""What the command line hands out: JSON that is JSON, tables, files all or nothing."""

import io
import json
import math
import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hld.command.console.output import (
    check_output,
    plain_json,
    print_json,
    print_table,
    print_text,
    save_figure,
)

LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
KEY = st.text(max_size=3)
NESTED = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3),
    max_leaves=8,
)


def strict(text):
    """JSON read by the standard: NaN and Infinity are refused, which Python's reader accepts."""

    def refuse(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.thorough
@given(NESTED)
def test_whatever_goes_in_comes_out_as_standard_json(value):
    """Text of it can be read by any reader; finite values are unchanged."""
    back = strict(json.dumps(plain_json(value), allow_nan=False))

    def same(a, b):
        if isinstance(a, float) and not math.isfinite(a):
            return b is None
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
        if isinstance(a, list):
            return len(a) == len(b) and all(map(same, a, b))
        return a == b and type(a) is type(b)

    assert same(value, back)


def test_arrays_and_other_objects(capsys):
    """NumPy values as Python's, tuples as lists, the rest as text."""
    print_json(
        {
            "a": np.array([1.5, np.nan]),
            "b": np.float32(np.inf),
            "c": (np.int8(3), np.bool_(True)),
            4: 1j,
        }
    )
    assert strict(capsys.readouterr().out) == {
        "a": [1.5, None],
        "b": None,
        "c": [3, True],
        "4": "1j",
    }


def test_plain_table_is_aligned(capsys):
    """Text to the left, numbers to the right with four digits; no blanks at the ends of lines."""
    print_table(("name", "share"), [("a", 0.123456), ("long name", 12)])
    assert capsys.readouterr().out == "name        share\na          0.1235\nlong name      12\n"


def test_table_without_rows(capsys):
    """The header alone."""
    print_table(("name", "share"), [])
    assert capsys.readouterr().out == "name  share\n"


def test_table_on_a_terminal_shows_names_as_they_are(monkeypatch):
    """Rich must not take a name in brackets for markup."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    print_table(("name", "share"), [("[red]a[/red]", 0.5), (":smile:", 1)])
    shown = sys.stdout.getvalue()
    assert "[red]a[/red]" in shown
    assert ":smile:" in shown
    assert "─" in shown or "━" in shown


def test_table_on_a_terminal_without_rich(monkeypatch):
    """Then it is plain."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    for module in ("rich.console", "rich.table", "rich.text"):
        monkeypatch.setitem(sys.modules, module, None)
    print_table(("a", "b"), [("x", 1)])
    assert sys.stdout.getvalue() == "a  b\nx  1\n"


def test_text_that_the_terminal_cannot_show_is_escaped(monkeypatch):
    """A name in another script is no reason to fail."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    print_text("Größe")
    sys.stdout.flush()
    assert buffer.getvalue() == b"Gr\\xf6\\xdfe\n"


def test_control_characters_do_not_reach_the_terminal(capsys):
    """Neither in lines nor in tables; line feeds are kept between lines and escaped in cells."""
    evil = "a\x1b[31m\x07\x9b\u202e\ud800"
    print_text(f"{evil}\nb")
    print_table((evil, "n"), [(f"{evil}\nc", 1)])
    escaped = r"a\x1b[31m\x07\x9b\u202e\ud800"
    assert capsys.readouterr().out == f"{escaped}\nb\n{escaped}     n\n{escaped}\\nc  1\n"


def figure():
    from matplotlib.figure import Figure

    return Figure((1, 1))


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.png", b"\x89PNG"), ("a.PDF", b"%PDF"), ("a.svg", b"<?xml"), ("a", b"\x89PNG")],
)
def test_the_ending_decides_the_format_of_a_figure(name, start, tmp_path):
    """Without one it is a PNG file, of the name that was given."""
    save_figure(figure(), str(tmp_path / name), dpi=50)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [name]


def test_a_figure_that_fails_leaves_the_old_file(tmp_path):
    """And no temporary one."""
    target = tmp_path / "out.xyz"
    target.write_text("old")
    with pytest.raises(ValueError, match="xyz"):
        save_figure(figure(), target, dpi=50)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.xyz"]


def test_places_that_cannot_be_written(tmp_path):
    """Said before the work, not after."""
    with pytest.raises(ValueError, match="is a folder, expected the name of a file"):
        check_output(tmp_path)
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere"):
        check_output(tmp_path / "nowhere" / "out.txt")
    with pytest.raises(ValueError, match="'-' stands for no file here"):
        check_output("-")
    assert check_output("./-").name == "-"
    with pytest.raises(
        ValueError, match="'/dev/null' is a device or a pipe, expected the name of a file to write"
    ):
        check_output("/dev/null")
