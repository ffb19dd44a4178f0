"""``hld serve`` hands the service what it was asked for."""

import sys

import numpy as np
import pytest

import hld
from hld.apps.command import serving
from hld.apps.command.parser import main


def test_the_service_gets_models_limits_and_address(tmp_path, monkeypatch, capsys):
    pytest.importorskip("uvicorn")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    table = np.random.default_rng(0).integers(0, 2, size=(200, 2))
    hld.HLDDetector(num_epochs=1, num_latents=1, metric="likelihoods", num_resamples=19).fit(
        table
    ).save(tmp_path / "orders.hld")
    (tmp_path / "token").write_text("a-token-of-thirty-characters..")
    found = []

    def instead(models, limits, *, told, **options):
        told("http://here")
        found.append((models, limits, options))

    monkeypatch.setattr("hld.apps.serve.server.serve", instead)
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


def test_an_absent_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "hld.apps.serve.server", raising=False)
    monkeypatch.delattr("hld.apps.serve.server", raising=False)
    with pytest.raises(ImportError, match="serving needs uvicorn, which is not installed: pip"):
        serving.serve(None)
