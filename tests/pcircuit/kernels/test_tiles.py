"""Many tiles in one call: groups, chunks, tiles that are not full, and work spaces that are used again."""

import numpy as np
import pytest
from kernel_circuits import CIRCUITS, rows

from pcircuit import Circuit, log_likelihood, mean_node_likelihoods, node_likelihoods
from pcircuit.inference import flows, likelihood
from pcircuit.kernels import programs, tile
from pcircuit.kernels.packing import pack


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of four rows, groups of three tiles."""
    monkeypatch.setattr(tile, "TILE_ROWS", 4)
    monkeypatch.setattr(tile, "MOST_TILES", 3)
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")


def fresh(name):
    """A circuit without work spaces."""
    return Circuit(CIRCUITS[name].vtree, CIRCUITS[name].regions)


@pytest.mark.parametrize("dtype", [np.int64, np.int8])
@pytest.mark.parametrize(
    "name", ["chain", "chain, zero weights", "irregular_csr", "mixed_categories"]
)
def test_rows_in_small_tiles_are_the_rows_in_a_large_one(
    name, dtype, small_tiles, monkeypatch, rng
):
    circuit, data = fresh(name), np.tile(rows(CIRCUITS[name], rng), (2, 1))[:43].astype(dtype)
    for _ in range(2):  # the second time in work spaces that have been used
        found = (
            log_likelihood(circuit, data),
            node_likelihoods(circuit, data),
            mean_node_likelihoods(circuit, data),
        )
        large = CIRCUITS[name]
        monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
        expected = (
            log_likelihood(large, data),
            node_likelihoods(large, data),
            mean_node_likelihoods(large, data),
        )
        monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")
        np.testing.assert_allclose(
            found[0], expected[0], rtol=1e-12, atol=1e-13
        )  # an empty row has logarithm 0
        for one, other in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("block_bytes", [None, 0, 10_000, 30_000])
@pytest.mark.parametrize("per_chunk", [4, 12, 16, 64])
@pytest.mark.parametrize("name", ["chain", "hub, zero weights", "nary", "irregular_csr"])
def test_chunks_of_flows_add_up(name, per_chunk, block_bytes, small_tiles, monkeypatch, rng):
    """Of several tiles each and the last not full; tiles may share blocks."""
    if block_bytes is not None:
        monkeypatch.setattr(programs, "MOST_KEPT", -1)
        monkeypatch.setattr(programs, "BLOCK_BYTES", block_bytes)
    circuit, data = fresh(name), rows(CIRCUITS[name], rng)[:22]
    weights, packed = rng.uniform(0.5, 2.0, 22), pack(circuit)
    blocks = (len(programs.flows(packed).ends) + 1) // 2
    assert blocks == (len(packed.region) if block_bytes == 0 else 1) or block_bytes
    whole, suspects = flows.new_sums(packed), []
    for start in range(0, 22, per_chunk):
        job, free = (start, min(start + per_chunk, 22)), []
        part, found = flows._rows_by_kernel(circuit, packed, data, weights, job, free, False)
        suspects += found
        for mine, more in zip(whole, part, strict=True):
            mine += more
    _, _, _, suspect = likelihood.upward(circuit, data)
    np.testing.assert_array_equal(np.concatenate([*suspects, []]), np.flatnonzero(suspect))
    usual = expected_sums(circuit, data[~suspect], weights[~suspect])
    np.testing.assert_allclose(whole.edges * packed.weights, usual[0], rtol=1e-12, atol=1e-14)
    assert whole.log[0] == pytest.approx(usual[1], rel=1e-12)


def expected_sums(circuit, data, weights):
    """Edge flows and log-likelihood by the other way of calling."""
    whole = flows.expected_flows(circuit, data, weights=weights)
    return whole.edges, whole.log_likelihood
