"""Types: the public modules are strictly typed, and type checkers see the names that are loaded when first used."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

import hld
import pcircuit

ROOT = pathlib.Path(__file__).resolve().parents[1]

USE = """
import pcircuit

circuit = pcircuit.hclt([[0, 1], [1, 0]], num_latents=2)
fitted, history = pcircuit.fit_em(circuit, [[0, 1], [1, 0]], num_epochs=1, batch_size=1)
reveal_type(fitted)
reveal_type(history)
reveal_type(pcircuit.exact_moments(fitted).trace)
pcircuit.Circuit(pcircuit.VTree([-1], [0]), [pcircuit.InputRegion(0, [[0.5, 0.5]])])
"""
REVEALED = ["pcircuit.circuit.Circuit", "numpy.ndarray", "float"]
WRONG = [
    "pcircuit.no_such_name",
    "pcircuit.hclt([[0]], num_latents='two')",
    "pcircuit.fit_em(1, [[0]])",
]


@pytest.mark.slow  # a minute for the types of NumPy; a step of its own in .ci/run
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_packages_their_lazy_names_and_wrong_uses(tmp_path, pytestconfig):
    """What mypy says about the packages, about a correct use of them, and about wrong ones, in one run for all.

    Its cache is kept with pytest's: a first run takes half a minute, most of it for the types of NumPy.
    """
    (tmp_path / "use.py").write_text(USE)
    for i, line in enumerate(WRONG):
        (tmp_path / f"wrong_{i}.py").write_text(f"import pcircuit\n{line}\n")
    cache = (
        pytestconfig.cache.mkdir("mypy") if hasattr(pytestconfig, "cache") else tmp_path / "cache"
    )
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--cache-dir",
            str(cache),
            "pcircuit",
            "hld",
            *map(str, sorted(tmp_path.glob("*.py"))),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    assert [line for line in lines if line.startswith(("pcircuit", "hld"))] == []
    notes = [line for line in lines if "use.py" in line]
    assert len(notes) == len(REVEALED)  # and no error
    for note, name in zip(notes, REVEALED, strict=True):
        assert "Revealed type" in note
        assert name in note
    for i in range(len(WRONG)):  # each is refused
        said = [line for line in lines if f"wrong_{i}.py" in line and ": note: " not in line]
        assert [": error: " in line for line in said] == [True]


def test_the_packages_say_that_they_are_typed():
    for package in (pcircuit, hld):
        assert (pathlib.Path(package.__file__).parent / "py.typed").exists()
