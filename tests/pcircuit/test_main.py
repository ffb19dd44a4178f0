"""``python -m pcircuit``."""
import subprocess
import sys

import pytest
from format_files import binary_circuit, same_values

import pcircuit


@pytest.mark.thorough
def test_convert_from_the_shell(tmp_path):
    root = __file__.rsplit("/tests/", 1)[0]
    circuit = binary_circuit(2)
    pcircuit.save(circuit, tmp_path / "a.pc")
    steps = [("a.pc", "b.jpc"), ("b.jpc", "c.spn"), ("c.spn", "d.psdd"), ("d.psdd", "e.pc"), ("e.pc", "f.dot")]
    for source, target in steps:
        run = subprocess.run([sys.executable, "-m", "pcircuit", "convert", tmp_path / source, tmp_path / target],
                             cwd=root, capture_output=True, text=True, timeout=60)
        assert (run.returncode, run.stderr) == (0, "")
    same_values(circuit, pcircuit.load(tmp_path / "e.pc"))
    run = subprocess.run([sys.executable, "-m", "pcircuit", "convert", tmp_path / "a.pc", tmp_path / "a.xyz"],
                         cwd=root, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "has the ending '.xyz', expected one of" in run.stderr
