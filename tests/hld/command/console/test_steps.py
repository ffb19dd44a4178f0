"""Steps are shown on a terminal only, and logged on request."""

import io
import logging
import sys

import pytest

from hld.command.console.steps import LOG, log_to_standard_error, step


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


def test_without_rich_a_terminal_stays_as_it_is(monkeypatch):
    found = terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with step("counting"):
        pass
    assert found.getvalue() == ""


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
