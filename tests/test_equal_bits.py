"""The same call gives the same bits: again, elsewhere, forked, in two threads, with a cold and with a warm cache."""

import hashlib
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from engines import ENGINES

import hld
import pcircuit

N, V = (
    25_000,
    12,
)  # above the threshold of auto for likelihoods; a hundredth of the rows is far below


def calls(n_jobs):
    """Function by name; a number or arrays each."""
    rng = np.random.default_rng(0)
    rows = (rng.integers(0, 3, (N, 1)) + rng.integers(0, 2, (N, V))) % 3
    few = rows[: N // 100]
    circuit = pcircuit.hclt(few, 4, rng=0)
    given = np.arange(V) < 4
    table, holes = few[:, :5], np.where(rng.random(few.shape) < 0.2, -1, few)
    small = pcircuit.hclt(table, 2, rng=0)

    def flows(rows):
        found = pcircuit.expected_flows(circuit, rows, n_jobs=n_jobs)
        return found.edges, found.inputs, found.log_likelihood

    def fit(rows, epochs):
        fitted, history = pcircuit.fit_em(circuit, rows, num_epochs=epochs, n_jobs=n_jobs)
        return history, pcircuit.log_likelihood(fitted, few, n_jobs=n_jobs)

    def result(found):
        return found.statistic, found.pvalue, found.deltas

    def detected():
        detector = hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(table)
        found = detector.test(table[:40])
        return found.pvalue, [column.pvalue for column in found.columns]

    def moments():
        found = pcircuit.exact_moments(circuit)
        return found.mean, found.trace, found.trace_sq, found.covariance(), found.eigenvalues(3)

    return {
        "log_likelihood": lambda: pcircuit.log_likelihood(circuit, rows, n_jobs=n_jobs),
        "of few rows": lambda: pcircuit.log_likelihood(circuit, few, n_jobs=n_jobs),
        "with holes": lambda: pcircuit.log_likelihood(circuit, holes, n_jobs=n_jobs),
        "node_likelihoods": lambda: pcircuit.node_likelihoods(circuit, few, n_jobs=n_jobs),
        "mean_node_likelihoods": lambda: pcircuit.mean_node_likelihoods(
            circuit, rows, n_jobs=n_jobs
        ),
        "expected_node_likelihoods": lambda: pcircuit.expected_node_likelihoods(
            circuit, few, given, n_jobs=n_jobs
        ),
        "expected_flows": lambda: flows(rows),
        "flows of few rows": lambda: flows(holes),
        "fit_em": lambda: fit(rows, 2),
        "fit_em of few rows": lambda: fit(few, 3),
        "scores": lambda: pcircuit.scores(circuit, few),
        "mean_score": lambda: pcircuit.mean_score(circuit, few, n_jobs=n_jobs),
        "hclt": lambda: pcircuit.log_likelihood(pcircuit.hclt(rows, 2, rng=0), few),
        "sample": lambda: pcircuit.sample(circuit, 50, rng=0),
        "exact_moments": moments,
        "overlap": lambda: pcircuit.overlap(circuit, circuit),
        "kl_divergence": lambda: pcircuit.kl_divergence(small, small).value,
        "pairwise_tables": lambda: list(pcircuit.pairwise_tables(circuit, [(0, 1)]).values()),
        "most_probable_state": lambda: pcircuit.most_probable_state(circuit, holes[0]).state,
        "shapley_values": lambda: pcircuit.shapley_values(small, table[0]),
        "entropy": lambda: pcircuit.entropy(small).value,
        "HLDTest": lambda: result(hld.HLDTest(circuit)(few[:100])),
        "HLDDetector": detected,
        "Monitor": lambda: hld.Monitor(circuit).update(few).log_e_values,
    }


def bits(n_jobs=1):
    """A digest of what each function returns."""

    def digest(found):
        parts = found if isinstance(found, (tuple, list)) else [found]
        return hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()

    return {name: digest(call()) for name, call in calls(n_jobs).items()}


def bits_of_a_child():
    """The same in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(bits()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    return found


def all_bits():
    """Called once, again, with two threads, and in a child; no thread is left behind."""
    found = [bits(), bits(), bits(2), bits_of_a_child()]
    assert threading.active_count() == 1
    return found


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_equal_calls_give_equal_bits(engine, tmp_path):
    """Two processes, of which the first finds an empty cache and the second a full one."""
    found = []
    for _ in ("cold", "warm"):
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                "import json, test_equal_bits as t; print(json.dumps(t.all_bits()))",
            ],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "PCIRCUIT_ENGINE": engine,
                "NUMBA_CACHE_DIR": str(tmp_path),
                "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path]),
            },
        )
        found += json.loads(done.stdout)
    assert len(found[0]) >= 20
    for other in found[1:]:
        assert other == found[0]
