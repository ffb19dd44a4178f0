"""``hld serve`` hands the service what it was asked for."""

import os
import signal

import numpy as np
import pytest

import hld
from hld.apps.command import serving
from hld.apps.command.parser import main


def test_the_service_gets_models_limits_and_address(tmp_path, monkeypatch, capsys):
    for module in ("starlette", "uvicorn", "prometheus_client"):
        pytest.importorskip(module)
    table = np.random.default_rng(0).integers(0, 2, size=(200, 2))
    hld.HLDDetector(num_epochs=1, num_latents=1, metric="likelihoods", num_resamples=19).fit(
        table
    ).save(tmp_path / "orders.hld")
    (tmp_path / "token").write_text("a-token-of-thirty-characters..")
    found = []

    def instead(models, limits, *, told, **options):
        told("http://here")
        found.append((models, limits, options))

    monkeypatch.setattr("hld.apps.command.serving.run_server", instead)
    assert (
        main(
            [
                "serve",
                str(tmp_path / "orders.hld"),
                "--port",
                "81",
                "--host",
                "0.0.0.0",
                "--token-file",
                str(tmp_path / "token"),
                "--watch",
                "7",
                "--max-rows",
                "5",
                "--max-bytes",
                "99",
                "--seconds",
                "2",
                "--workers",
                "3",
                "--queue",
                "4",
            ]
        )
        == 0
    )
    ((models, limits, options),) = found
    assert list(models.loaded) == ["orders"]
    assert options == {
        "host": "0.0.0.0",
        "port": 81,
        "token": "a-token-of-thirty-characters..",
        "watch_seconds": 7.0,
    }
    assert (limits.max_rows, limits.max_bytes, limits.seconds, limits.workers, limits.queue) == (
        5,
        99,
        2.0,
        3,
        4,
    )
    assert capsys.readouterr().out == "serving orders at http://here\n"


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP")
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_hangup_while_models_are_loaded_is_a_reload_afterwards(monkeypatch, number):
    """It would end the process: the service listens to it only when it is there."""
    for module in ("starlette", "uvicorn", "prometheus_client"):
        pytest.importorskip(module)
    reloads = []

    class Models:
        loaded = ("orders",)

        def __init__(self, *options):
            for _ in range(number):
                os.kill(os.getpid(), signal.SIGHUP)

        def reload(self):
            reloads.append(signal.getsignal(signal.SIGHUP))

    def ends(number, frame):
        raise AssertionError("the process would have ended")

    monkeypatch.setattr("hld.apps.command.serving.Models", Models)
    monkeypatch.setattr(
        "hld.apps.command.serving.run_server", lambda *models, **options: reloads.append("serves")
    )
    before = signal.signal(signal.SIGHUP, ends)
    try:
        assert main(["serve", "orders.hld"]) == 0
        assert signal.getsignal(signal.SIGHUP) is ends
    finally:
        signal.signal(signal.SIGHUP, before)
    assert reloads[-1] == "serves"
    assert len(reloads) == 1 + (number > 0)
    assert ends not in reloads


def test_several_absent_packages_are_named_in_the_plural(monkeypatch):
    monkeypatch.setattr(serving, "NEEDED", {"no_such_one": "one", "no_such_two": "two"})
    with pytest.raises(ImportError, match="serving needs one, two, which are not installed"):
        serving.serve(None)
