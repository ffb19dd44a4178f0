"""A new process: what is imported when, with every cache empty, damaged, unwritable, or with no compiler at all."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from engines import needs_numba

import pcircuit

pytestmark = pytest.mark.thorough

TEST_A_BATCH = """
import sys
import numpy as np
from pcircuit import hclt, fit_em, log_likelihood, mean_node_likelihoods
rows = np.random.default_rng(0).integers(0, 2, size=(50, 4))
circuit, _ = fit_em(hclt(rows, 2), rows, num_epochs=2)
print(log_likelihood(circuit, rows).sum().round(6), mean_node_likelihoods(circuit, rows).sum().round(6))
print("numba" in sys.modules)
"""


def run(program, cache=None, **environment):
    """Output lines of a program in a new process, with its own compilation cache if asked; it must print no warning."""
    own = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **own, **environment},
    )
    assert result.stderr == ""
    return result.stdout.split("\n")[:-1]


EVERY_ROOM = """
import sys
sys.modules["numba"] = None                                       # importing it fails
import numpy as np
import hld, pcircuit
rows = np.random.default_rng(0).integers(0, 3, size=(120, 5))
circuit, _ = pcircuit.fit_em(pcircuit.hclt(rows, 2), rows, num_epochs=2)
pcircuit.warm_up()
pcircuit.sample(circuit, 3, rng=0), pcircuit.expected_flows(circuit, rows), pcircuit.overlap(circuit, circuit)
moments = hld.exact_moments(circuit)
moments.covariance(), moments.operator() @ moments.mean, moments.eigenvalues(2)
print(hld.HLDTest(circuit)(rows).reject)
print(hld.HLDDetector(num_latents=2, num_epochs=2).fit(rows).test(rows[:20]).reject)
"""


def test_nothing_needs_numba_under_the_numpy_engine():
    assert run(EVERY_ROOM, PCIRCUIT_ENGINE="numpy") == ["False", "False"]


@pytest.mark.parametrize(
    "call", ["pcircuit.warm_up()", "circuit.log_likelihood([[0] * 4] * 200_000)"]
)
def test_without_numba_and_without_a_choice_the_error_names_the_variable(call):
    program = f"""
import sys
sys.modules["numba"] = None
import hld, pcircuit
circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
try:
    {call}
except ModuleNotFoundError as error:
    print(error.name, "install Numba, or set the environment variable PCIRCUIT_ENGINE=numpy" in str(error))
"""
    environment = {key: value for key, value in os.environ.items() if key != "PCIRCUIT_ENGINE"}
    assert (
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        == "numba True\n"
    )


def test_without_numba_and_without_a_choice_small_work_is_done():
    environment = {key: value for key, value in os.environ.items() if key != "PCIRCUIT_ENGINE"}
    program = EVERY_ROOM.replace("pcircuit.warm_up()", "")
    assert (
        subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        == "False\nFalse\n"
    )


def test_a_first_process_compiles_nothing_for_a_small_table(tmp_path):
    """With an empty cache: fitted, tested and judged before any kernel could be there."""
    environment = {key: value for key, value in os.environ.items() if key != "PCIRCUIT_ENGINE"}
    program = """
import sys
import numpy as np, hld
rows = np.random.default_rng(0).integers(0, 4, size=(200, 8))
print(hld.HLDDetector(num_epochs=20).fit(rows).test(rows[:50]).reject, "numba" in sys.modules)
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**environment, "NUMBA_CACHE_DIR": str(tmp_path)},
        ).stdout
        == "False False\n"
    )
    assert not list(tmp_path.iterdir())


@needs_numba
def test_the_numpy_engine_never_imports_numba_and_agrees():
    plain = run(
        "import sys; sys.modules['numba'] = None\n"
        + TEST_A_BATCH.replace('"numba" in sys.modules', "'no'"),
        PCIRCUIT_ENGINE="numpy",
    )
    assert plain == [*run(TEST_A_BATCH, PCIRCUIT_ENGINE="numba")[:1], "no"]


KERNEL = """
from pcircuit.kernels.jit import compile_kernel

@compile_kernel
def twice(x):
    return 2 * x
"""


@pytest.fixture
def tiny_kernel(tmp_path):
    """Function that runs a kernel, which takes a second to compile, in a new process with a given cache folder."""
    (tmp_path / "twice_kernel.py").write_text(KERNEL, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    return lambda cache: run(
        "from twice_kernel import twice; print(twice(21))", cache, PYTHONPATH=path
    )


@needs_numba
def test_a_second_process_compiles_nothing_and_a_damaged_cache_does_no_harm(tmp_path, tiny_kernel):
    cache = tmp_path / "cache"
    assert tiny_kernel(cache) == ["42"]
    written = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    assert written
    assert tiny_kernel(cache) == ["42"]
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()} == written
    for path in written:
        path.write_bytes(path.read_bytes()[:20])
    assert tiny_kernel(cache) == ["42"]


@needs_numba
def test_a_read_only_installation_without_a_home_works(tmp_path):
    """No folder can take the cache: neither the one of the source, nor the one of the user.  So nothing is written."""
    root = pathlib.Path(pcircuit.__file__).parents[1]
    shutil.copytree(
        root / "pcircuit", tmp_path / "pcircuit", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "twice_kernel.py").write_text(KERNEL, encoding="utf-8")
    for folder in [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # a file in its place: also root cannot make the folder
    before = sorted(tmp_path.rglob("*"))
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NUMBA_CACHE_DIR", "PCIRCUIT_ENGINE")
    }
    environment |= {
        "HOME": os.devnull,
        "XDG_CACHE_HOME": f"{os.devnull}/cache",
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    program = "from twice_kernel import twice; import pcircuit; print(twice(21), pcircuit.__file__)"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=tmp_path,
    )
    assert result.stdout == f"42 {tmp_path / 'pcircuit' / '__init__.py'}\n"
    assert result.stderr == ""
    assert sorted(tmp_path.rglob("*")) == before


@needs_numba
def test_eight_processes_fill_the_cache_at_once(tmp_path):
    """All answer, none waits for another, and a ninth one finds a cache that it can read."""
    (tmp_path / "twice_kernel.py").write_text(KERNEL, encoding="utf-8")
    program = """
import pathlib, time
from twice_kernel import twice
folder = pathlib.Path("ready")
folder.mkdir(exist_ok=True)
(folder / str(hash(time.perf_counter_ns()))).touch()
while len(list(folder.iterdir())) < 8:
    time.sleep(0.005)
print(twice(21), twice(1.5))
print(sum(twice.stats.cache_hits.values()) == 2)
"""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    environment.pop("PCIRCUIT_ENGINE", None)
    command = [sys.executable, "-W", "error", "-c", program]
    eight = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
        for _ in range(8)
    ]
    for process in eight:
        assert process.communicate(timeout=120)[0].startswith("42 3.0")
    ninth = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    assert ninth.stdout == "42 3.0\nTrue\n"
