"""Rows per second of other ways to evaluate and to learn the same circuit, on the same rows, in the same process.

`PEERS` are plain NumPy, a library of circuits, and JAX and PyTorch as a programmer uses them (`peer_arrays`), in
float64 and float32.  Each runs at its best batch size: 256 rows, then
1,024, 4,096 and all, as long as the larger batch is faster, takes less than seconds, and fits in memory.
Before it is measured, each has to agree with `pcircuit` to 1e-4 relative (some compute in single precision):
its log-likelihoods, and for learning those after one epoch of EM, or the flows.  A rate is None where the library is
not installed, where one row would not fit in memory, where values lie below the least it can represent (`LOWEST`), or
where it would compile for minutes (`MOST_REGIONS`).
"""

import time
import warnings
from importlib.util import find_spec

import numpy as np

from pcircuit import expected_flows, fit_em, log_likelihood

from . import peer_arrays, plain_numpy
from .measure import median_time

DTYPES = ("float64", "float32")
ARRAYS = {f"{name} {dtype}": (name, dtype) for name in peer_arrays.LIBRARIES for dtype in DTYPES}
PEERS = ("NumPy", "libcirkit", *ARRAYS)
BATCHES = (256, 1024, 4096)
NOTE = (
    "A dash: not installed, rows too unlikely for it (libcirkit cuts log-likelihoods off at -708.4), or minutes of "
    "compiling (derivatives by JAX of hundreds of regions)."
)
SLOW = 0.5  # seconds of a call after which no larger batch is tried
MOST_ROWS = 1024  # of a batch of JAX and PyTorch, which leave the cache with more
MOST_REGIONS = 200  # whose derivatives JAX compiles


def likelihood_rates(circuit, rows, *, quick) -> dict:
    """Rows per CPU second of the log-likelihood by peer."""
    few = rows[:256]
    want = log_likelihood(circuit, few)
    rates = {
        "NumPy": best_rate(
            lambda some: plain_numpy.log_likelihood(circuit, some, batch=len(some)),
            rows[: plain_numpy.largest_batch(circuit)],
            quick,
        )
    }
    np.testing.assert_allclose(plain_numpy.log_likelihood(circuit, few), want, rtol=1e-10)
    peer = libcirkit()
    rates["libcirkit"] = None
    if peer is not None and want.min() > peer.LOWEST:
        evaluate = peer.evaluator(circuit)
        np.testing.assert_allclose(evaluate(peer.as_input(few)), want, rtol=1e-4)
        rates["libcirkit"] = best_rate(evaluate, rows, quick, as_input=peer.as_input)
    for name in ARRAYS:
        peer = array_peer(name, circuit)
        rates[name] = None
        if peer is not None:
            np.testing.assert_allclose(peer.evaluate(peer.as_input(few)), want, rtol=1e-4)
            rates[name] = best_rate(peer.evaluate, rows[:MOST_ROWS], quick, as_input=peer.as_input)
    return rates


def em_rates(circuit, rows, *, quick) -> dict:
    """Rows per CPU second of an epoch of EM by peer."""
    rates = {
        "NumPy": best_rate(
            lambda some: plain_numpy.em_epoch(circuit, some, batch=len(some)),
            rows[: plain_numpy.largest_batch(circuit)],
            quick,
        )
    }
    least = log_likelihood(circuit, rows[:256]).min()
    peer = libcirkit()
    rates["libcirkit"] = None
    if peer is not None and least > peer.LOWEST and peer.largest_batch(circuit) > 0:
        rates["libcirkit"] = _em_rate(peer, circuit, rows[: peer.largest_batch(circuit)], quick)
    for name in ARRAYS:
        peer = array_peer(name, circuit)
        rates[name] = None
        if peer is None or (name.startswith("jax") and circuit.num_regions > MOST_REGIONS):
            continue
        few = rows[:256]
        expected = expected_flows(circuit, few).by_region(circuit)
        for found, wanted in zip(peer.flows(peer.as_input(few)), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)
        rates[name] = best_rate(peer.flows, rows[:MOST_ROWS], quick, as_input=peer.as_input)
    return rates


def _em_rate(peer, circuit, rows, quick):
    """Rows per CPU second of a library's epoch, after its first one has been checked."""
    few = rows[:256]
    epoch, evaluate = peer.learner(circuit)
    epoch(peer.as_input(few))
    ours, _ = fit_em(circuit, few, num_epochs=1, pseudocount=0)
    np.testing.assert_allclose(evaluate(peer.as_input(few)), log_likelihood(ours, few), rtol=1e-4)
    return best_rate(epoch, rows, quick, as_input=peer.as_input)


def libcirkit():
    """The module of the library, or None where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from . import peer_libcirkit
    except ImportError:
        return None
    return peer_libcirkit


def array_peer(name, circuit):
    """The circuit in JAX or PyTorch, or None where that is not installed."""
    library, dtype = ARRAYS[name]
    return peer_arrays.LIBRARIES[library](circuit, dtype) if find_spec(library) else None


def missing() -> str:
    """A sentence about what is not installed, or nothing."""
    names = [name for name in ("cirkit", *peer_arrays.LIBRARIES) if find_spec(name) is None]
    return f"Not installed, so not compared: {', '.join(names)}.\n" if names else ""


def best_rate(function, rows, quick, *, as_input=np.asarray) -> float:
    """Rows per CPU second of a function of rows at its best batch size."""
    best = 0.0
    for batch in sorted({min(size, len(rows)) for size in (*BATCHES, len(rows))}):
        some = as_input(rows[:batch])
        function(some)  # may compile
        start = time.process_time()
        function(some)
        slow = time.process_time() - start > SLOW
        repeats = 3 if quick or slow else 7
        rate = batch / median_time(
            lambda s=some: function(s),
            repeats,
            least=0.05 if quick else 0.2,
            clock=time.process_time,
        )
        if slow or rate < best:
            return max(rate, best)
        best = rate
    return best


def cells(rates: dict) -> str:
    """Columns of a Markdown table."""
    return " | ".join("-" if rate is None else f"{rate:,.0f}" for rate in rates.values())


def over_best(rate: float, rates: dict, dtype: str) -> str:
    """How many times faster than the best of the installed peers that compute in float64 or float32."""
    of_dtype = {"NumPy": "float64", "libcirkit": "float32"} | {
        name: own for name, (_, own) in ARRAYS.items()
    }
    best = max((r for name, r in rates.items() if r and of_dtype[name] == dtype), default=None)
    return f"{rate / best:.1f}" if best else "-"
