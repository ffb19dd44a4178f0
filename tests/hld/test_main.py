"""``python -m hld``."""

import runpy
import sys

import pytest

import hld


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [(["--version"], 0, hld.__version__), (["info", "none.hld"], 2, "none.hld")],
)
def test_the_module_is_the_command(argv, status, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hld", *argv])
    monkeypatch.delitem(
        sys.modules, "hld.__main__", raising=False
    )  # another test may have imported it
    with pytest.raises(SystemExit) as end:
        runpy.run_module("hld", run_name="__main__")
    assert (end.value.code or 0) == status
    assert said in "".join(capsys.readouterr())
