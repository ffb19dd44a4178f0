"""Completion scripts: every command and option once, in the words of the parser."""
import subprocess
import sys

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, run_here):
    if shell != "fish":
        pytest.importorskip("shtab")
    status, out, err = run_here("completion", shell)
    assert (status, err) == (0, "")
    assert all(word in out for word in ("monitor", "every", "report", "procedure"))
    if shell == "fish":  # options that take a value are told from those that do not
        test = [line for line in out.splitlines() if "__fish_seen_subcommand_from test" in line]
        assert [" -r" in line for line in test if " -l alpha" in line] == [True]
        assert [" -r" in line for line in test if " -l json" in line] == [False]
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=out, text=True, check=True)


def test_completion_without_shtab_says_what_to_install(run_here, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    said = "completion needs shtab, which is not installed: pip install 'hld[cli]'"
    assert run_here("completion", "bash") == (2, "", f"hld: error: {said}\n")
