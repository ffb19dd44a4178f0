"""``hld warm-up``: after it, no kernel is left to compile."""
import pytest

import pcircuit
from hld.command.warming import warm_up


@pytest.mark.skipif(pcircuit.engine_is_numpy(), reason="kernels are never used")
def test_kernels_of_both_monitors_are_compiled(monkeypatch, capsys):
    from hld.monitoring import kernel as bets
    from hld.streams import kernel as races
    monkeypatch.setattr(pcircuit, "warm_up", lambda **_: None)  # which tests/test_start.py calls
    assert warm_up(None) == 0
    assert all(kernel.advance.signatures for kernel in (bets, races))
    out, err = capsys.readouterr()
    assert out.startswith("kernels ready after ")
    assert err == "kernels for monitors: compiled, or found in the cache\n"


def test_without_kernels_there_is_nothing_to_do(monkeypatch, capsys):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    assert warm_up(None) == 0
    assert capsys.readouterr().out == "nothing to compile: PCIRCUIT_ENGINE=numpy never uses kernels\n"
