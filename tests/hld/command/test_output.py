"""What the command line hands out: tables, files all or nothing, steps that are shown and logged."""

import io
import logging
import os
import sys

import pytest

from hld.apps.command.output import (
    LOG,
    check_output,
    log_to_standard_error,
    print_table,
    save_figure,
    step,
)


class Terminal(io.StringIO):
    """Standard output as a person sees it."""

    def isatty(self):
        return True


def test_plain_table_is_aligned(capsys):
    """Text to the left, numbers to the right with four digits; no blanks at the ends of lines."""
    print_table(("name", "share"), [])
    assert capsys.readouterr().out == "name  share\n"
    print_table(("name", "share"), [("a", 0.123456), ("long name", 12)])
    assert capsys.readouterr().out == "name        share\na          0.1235\nlong name      12\n"


def figure():
    from matplotlib.figure import Figure

    return Figure((1, 1))


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
    with pytest.raises(
        ValueError, match="is a folder, a device or a pipe, expected the name of a file"
    ):
        check_output(tmp_path)
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere"):
        check_output(tmp_path / "nowhere" / "out.txt")
    with pytest.raises(ValueError, match="'-' stands for no file here"):
        check_output("-")
    assert check_output("./-").name == "-"


def terminal(monkeypatch):
    """Standard error as a person sees it, from now on."""
    found = io.StringIO()
    found.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    return found


def test_a_terminal_shows_what_is_being_done(monkeypatch):
    pytest.importorskip("rich")
    found = terminal(monkeypatch)
    with step("counting \x1b[31m"):
        pass
    assert "counting \\x1b[31m" in found.getvalue()


def test_a_step_is_logged_with_its_time_and_without_control_characters(monkeypatch, capsys):
    monkeypatch.setattr(LOG, "handlers", [])
    monkeypatch.setattr(LOG, "propagate", True)
    monkeypatch.setattr(LOG, "level", logging.NOTSET)
    log_to_standard_error()
    with step("reading a\x07b"):
        pass
    said = capsys.readouterr().err
    assert "INFO hld.command: reading a\\x07b: 0.0" in said
    assert said.endswith(" s\n")
