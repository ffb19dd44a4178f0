"""A new process: what is imported when, with every cache empty, damaged, unwritable, or with no compiler at all."""
import os
import subprocess
import sys

import pytest

TEST_A_BATCH = """
import sys
import numpy as np
from pcircuit import hclt, fit_em, log_likelihood, mean_node_likelihoods
rows = np.random.default_rng(0).integers(0, 2, size=(50, 4))
circuit, _ = fit_em(hclt(rows, 2), rows, num_epochs=2)
print(log_likelihood(circuit, rows).sum().round(6), mean_node_likelihoods(circuit, rows).sum().round(6))
print("numba" in sys.modules)
"""

ONE_CALL = """
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, log_likelihood
import numpy as np
circuit = Circuit(VTree.from_nested([0, 1]), [
    InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.2, 0.8]]), InnerRegion([[0, 0]], [[1.0]])])
print(log_likelihood(circuit, np.array([[0, 1], [1, 0]])).round(12).tolist())
"""
ITS_OUTPUT = ["[-0.916290731874, -2.302585092994]"]


def run(program, folder, **environment):
    """Output lines of a program in a new process with its own compilation cache; it must print no warning."""
    result = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True,
                            env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment})
    assert result.stderr == ""
    return result.stdout.split("\n")[:-1]


@pytest.mark.parametrize("name", ["pcircuit", "hld"])
def test_an_import_loads_nothing_heavy(name, tmp_path):
    heavy = {"numba", "scipy", "pandas", "matplotlib", "sklearn", "rich"}
    program = f"import sys, {name}; print(sorted({heavy} & set(sys.modules)))"
    assert run(program, tmp_path) == ["[]"]


def test_the_numpy_engine_never_imports_numba_and_agrees(tmp_path):
    plain = run("import sys; sys.modules['numba'] = None\n" + TEST_A_BATCH.replace('"numba" in sys.modules', "'no'"),
                tmp_path, PCIRCUIT_ENGINE="numpy")
    assert plain == [*run(TEST_A_BATCH, tmp_path)[:1], "no"]


def test_a_second_process_compiles_nothing_and_a_damaged_cache_does_no_harm(tmp_path):
    assert run(ONE_CALL, tmp_path) == ITS_OUTPUT
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    written = {path: path.stat().st_mtime_ns for path in files}
    assert files
    assert run(ONE_CALL, tmp_path) == ITS_OUTPUT
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == written
    for path in files:
        path.write_bytes(path.read_bytes()[:20])
    assert run(ONE_CALL, tmp_path) == ITS_OUTPUT


def test_a_cache_folder_that_cannot_be_made_does_no_harm(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(ONE_CALL, blocked / "cache") == ITS_OUTPUT
