"""Many tiles in one call: groups, chunks, tiles that are not full, and work spaces that are used again."""

import numpy as np
import pytest
from kernel_circuits import CIRCUITS, rows

from pcircuit import Circuit, log_likelihood, mean_node_likelihoods, node_likelihoods
from pcircuit.inference import flows, likelihood, unit_likelihoods
from pcircuit.kernels import tile


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of four rows, groups of three tiles."""
    new_work = tile.new_work

    def small(circuit, layout, num_exponents, most_bytes):
        work, group = new_work(circuit, layout, num_exponents, most_bytes)
        codes = np.empty((circuit.num_variables, 12 + 8), dtype=group.codes.dtype)
        return work, group._replace(
            codes=codes,
            roots=group.roots[:12],
            exponents=group.exponents[:12],
            suspects=group.suspects[:12],
            skip=group.skip[:12],
            weights=group.weights[:12],
            block=np.empty((8, 24), dtype=np.uint8),
            step=4,
        )

    for module in (likelihood, flows, unit_likelihoods):
        monkeypatch.setattr(module, "new_work", small)
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
    """`flow_tiles` adds a chunk to the whole when it is full, and at the last row; its tiles may share blocks."""
    from pcircuit.kernels import layouts
    from pcircuit.kernels.layouts import full_layout

    if block_bytes is not None:
        monkeypatch.setattr(layouts, "MOST_KEPT", -1)
        monkeypatch.setattr(layouts, "BLOCK_BYTES", block_bytes)
    from pcircuit.kernels.packing import pack
    from pcircuit.kernels.tile import load_group, new_sums
    from pcircuit.kernels.tiles import flow_tiles

    circuit, data = fresh(name), rows(CIRCUITS[name], rng)[:22]
    weights = rng.uniform(0.5, 2.0, 22)
    parts, layout = pack(circuit), full_layout(circuit)
    assert len(layout.ends) == (len(parts.region) if block_bytes == 0 else 1) or block_bytes
    work, group = flows.new_work(circuit, layout, 1, np.inf)
    part, whole, suspects = new_sums(parts), new_sums(parts), 0
    for lo in range(0, 22, 12):
        count = min(12, 22 - lo)
        load_group(circuit, parts.categories, data, lo, lo + count, group)
        group.weights[:count] = weights[lo : lo + count]
        suspects += flow_tiles(
            parts, layout, work, group, count, (lo, 0, 22, per_chunk), (part, whole)
        )
    assert not part.edges.any()
    assert not part.counts.any()
    assert part.log[0] == 0
    _, _, _, suspect = likelihood.upward(circuit, data)
    assert suspects == suspect.sum()
    usual = expected_sums(circuit, data[~suspect], weights[~suspect])
    np.testing.assert_allclose(whole.edges * parts.weights, usual[0], rtol=1e-12, atol=1e-14)
    assert whole.log[0] == pytest.approx(usual[1], rel=1e-12)


def expected_sums(circuit, data, weights):
    """Edge flows and log-likelihood by the other way of calling."""
    whole = flows.expected_flows(circuit, data, weights=weights)
    return whole.edges, whole.log_likelihood
