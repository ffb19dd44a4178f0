"""Results that do not fit into memory: an error that says what, how large, and what to do instead."""

import os
import re
import subprocess
import sys
import tracemalloc

import pytest
from engines import needs_numba

from pcircuit import Circuit, Mixture, hclt, log_likelihood
from pcircuit.arguments import check_memory, memory_for

resource = pytest.importorskip("resource", reason="needs memory limits of POSIX")

PROGRAM = """
import resource
import numpy as np
import pcircuit
circuit = pcircuit.rat_spn([2] * 12, num_units=4, depth=2, rng=0)
moments = pcircuit.exact_moments(circuit)
pcircuit.exact_moments(circuit).covariance()
rows = np.broadcast_to(np.zeros(12, np.uint8), (50_000_000, 12))
large = pcircuit.rat_spn([2] * 1200, num_units=4, depth=3, rng=0)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27))
for call in (lambda: pcircuit.node_likelihoods(circuit, rows), lambda: pcircuit.sample(circuit, 10**9),
             lambda: pcircuit.exact_moments(large).covariance(max_bytes=2**40)):
    try:
        call()
        print("it fits")
    except MemoryError as error:
        print(error)
print(pcircuit.log_likelihood(circuit, rows[:3]).shape)          # what fits still works
"""


@pytest.mark.thorough
@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="reads the memory in use from /proc"
)
def test_a_memory_limit_gives_an_error_with_advice():
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={
            **os.environ,
            "PCIRCUIT_ENGINE": "numpy",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )
    assert result.returncode == 0, result.stderr
    nodes, rows, covariance, rest = result.stdout.split("\n")[:-1]
    assert nodes.startswith("a table of 50000000 rows and ")
    assert (
        "GiB, more than there is: pass fewer rows at a time or fewer `nodes`, or take the mean"
        in nodes
    )
    assert (
        rows
        == "a table of 1000000000 rows takes 11.2 GiB, more than there is: draw fewer at a time"
    )
    assert covariance.startswith("the covariance of ")
    assert "MiB, more than there is: name fewer `nodes`, or use .operator()" in covariance
    assert rest == "(3,)"


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 bytes"), (1023, "1.02e+03 bytes"), (2**30, "1 GiB"), (3 * 2**50, "3.07e+03 TiB")],
)
def test_sizes_are_readable(size, shown):
    with (
        pytest.raises(
            MemoryError, match=f"^it takes {shown.replace('+', '.')}, more than there is: wait$"
        ),
        memory_for("it", size, "wait"),
    ):
        raise MemoryError


def test_what_fits_is_not_refused():
    check_memory("nothing", 0, "wait")
    check_memory("a megabyte", 2**20, "wait")


@pytest.mark.parametrize(
    ("size", "shown"),
    [(2**62, "4.19e+06 TiB"), (2**64, "1.68e+07 TiB"), (10**400, "more than 2**1000 bytes")],
)
def test_what_cannot_be_had_is_refused_before_it_is_made(size, shown):
    with pytest.raises(
        MemoryError, match=f"^it takes {re.escape(shown)}, more than there is: wait$"
    ):
        check_memory("it", size, "wait")


@needs_numba
def test_a_mixture_of_many_circuits_does_not_keep_the_memory_in_which_each_has_worked(
    rng, monkeypatch
):
    """Each circuit of some keeps a megabyte for its next call; in mixtures of hundreds these were gigabytes."""
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")
    rows = rng.integers(2, size=(4000, 30))
    circuits = [hclt(rows[:100], 4, 2, rng=seed) for seed in range(40)]
    kept = []
    for some in (circuits[:10], circuits):
        mixture = Mixture([fresh(one) for one in some])
        tracemalloc.start()
        log_likelihood(mixture, rows)
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert kept[1] < kept[0]


def fresh(circuit):
    """The same circuit, of which nothing is known yet."""
    return Circuit(circuit.vtree, circuit.regions)
