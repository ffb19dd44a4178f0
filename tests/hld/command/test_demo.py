"""The demonstration: nothing it tests was seen in training, and it says how often it was wrong."""

import json
import os
import sys

import pytest

from hld.apps.command import demo as _demo
from hld.apps.command.parser import main


@pytest.fixture(scope="module")
def demo():
    """A short run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PCIRCUIT_ENGINE", "numpy")
        return _demo.run(3, 1, num_epochs=5)


@pytest.fixture
def short(monkeypatch, demo):
    """The command runs that one; returns the engines that were set meanwhile."""
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")  # which the command leaves as it is
    engines = []

    def run(digit, seed):
        assert (digit, seed) == (3, 1)
        engines.append(os.environ.get("PCIRCUIT_ENGINE"))
        return demo

    monkeypatch.setattr(_demo, "run", run)
    return engines


def test_every_digit_is_tested_at_both_sizes(demo):
    """Right means: a shift for the nine others, none for the digit itself."""
    assert [(trial.digit, trial.result.num_samples) for trial in demo.trials] == [
        (digit, T) for digit in range(10) for T in (10, 50)
    ]
    for trial in demo.trials:
        assert trial.right == (trial.result.reject == (trial.digit != 3))
        assert trial.result.inflation == 1 + trial.result.num_samples / len(demo.training)
    assert (len(demo.history), demo.drawn.shape) == (6, (12, 64))


def test_picture(demo, tmp_path):
    """A PNG file of some size; drawing warns of nothing, and other formats go by the ending."""
    for name, start in (("demo.png", b"\x89PNG"), ("demo.pdf", b"%PDF")):
        _demo.draw(demo, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_command_prints_the_table(short, demo, tmp_path, monkeypatch, capsys):
    """One line for each test, wrong ones marked; then how many were right, and where the picture is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PCIRCUIT_ENGINE")
    assert main(["demo", "--digit", "3", "--seed", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["digit", "T", "distance", "threshold", "p-value", "verdict"]
    assert [line.split()[:2] for line in lines[1:21]] == [
        [str(trial.digit), str(trial.result.num_samples)] for trial in demo.trials
    ]
    assert [line.endswith("(wrong)") for line in lines[1:21]] == [
        not trial.right for trial in demo.trials
    ]
    assert "\n".join(lines[21:]) == f"{_demo.summary(demo)}\npicture in hld-demo.png"
    assert (tmp_path / "hld-demo.png").exists()
    assert short == ["numpy"]


def test_command_prints_json(short, demo, tmp_path, monkeypatch, capsys):
    """The same numbers; an engine that the user chose is kept."""
    target = str(tmp_path / "a.png")
    assert main(["demo", "--digit", "3", "--seed", "1", "--json", "--output", target]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert err == ""
    assert found == json.loads(json.dumps(demo.to_dict() | {"picture": target}))
    assert found["num_right"] == sum(trial.right for trial in demo.trials)
    assert short == ["numba"]


def test_missing_packages(short, tmp_path, monkeypatch, capsys):
    """Status 2, one sentence with the command, no picture."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--digit", "3", "--seed", "1"]) == 2
    assert "pip install 'hld[plot]'" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'hld\[demo\]'"):
        _demo._digits()
    assert os.listdir(tmp_path) == []
