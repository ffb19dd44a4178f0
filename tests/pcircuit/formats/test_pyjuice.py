"""PyJuice's files, which are pickles: read without executing anything."""
import contextlib
import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pcircuit
from pcircuit.formats.unpickled import Named, read_pickle


class Categorical:
    """Stands in for PyJuice's class: of the pickle only the name is used."""


def pyjuice_entries(K=4, size=2, C=3):
    """A small model as PyJuice saves it, with its own evaluation: two variables, block sizes over one, a tied entry."""
    rng = np.random.default_rng(0)
    params = rng.dirichlet(np.ones(C), K)
    sums = rng.dirichlet(np.ones(K), K)  # (K, K): sums over the products of the region below
    top = rng.dirichlet(np.ones(K))
    blocks = K // size
    edges = np.array([[i, j] for i in range(blocks) for j in range(blocks)]).T
    weights = np.array([sums[i * size:(i + 1) * size, j * size:(j + 1) * size] for i, j in edges.T]).astype(np.float32)
    dist = pickle.dumps(Categorical())
    ids = np.arange(blocks)[:, None]
    entries = [
        {"type": "Input", "num_node_blocks": blocks, "block_size": size, "chs": (), "scope": [0], "dist": dist,
         "params": params.ravel()},
        {"type": "Input", "num_node_blocks": blocks, "block_size": size, "chs": (), "scope": [1], "dist": dist,
         "source_node": 0},
        {"type": "Product", "num_node_blocks": blocks, "block_size": size, "chs": (0,), "edge_ids": ids},
        {"type": "Sum", "num_node_blocks": blocks, "block_size": size, "chs": (2,), "edge_ids": edges,
         "params": weights},
        {"type": "Product", "num_node_blocks": K, "block_size": 1, "chs": (3, 1),
         "edge_ids": np.stack([np.arange(K), np.arange(K)[::-1]], axis=1)},
        {"type": "Sum", "num_node_blocks": 1, "block_size": 1, "chs": (4,),
         "edge_ids": np.stack([np.zeros(K, int), np.arange(K)]), "params": top[:, None, None]},
    ]
    matrix = weights.astype(float).reshape(blocks, blocks, size, size).transpose(0, 2, 1, 3).reshape(K, K)
    left = matrix @ params
    return entries, np.einsum("k,kx,ky->xy", top, left, params[::-1])


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pyjuice_files_have_the_values_of_their_tensors(protocol, tmp_path):
    entries, expected = pyjuice_entries()
    (tmp_path / "a.jpc").write_bytes(pickle.dumps(entries, protocol))
    circuit = pcircuit.read_jpc(tmp_path / "a.jpc")
    found = np.exp(pcircuit.log_likelihood(circuit, naive.states(circuit))).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_older_names_of_pyjuice_are_read(tmp_path):
    entries, expected = pyjuice_entries()
    for entry in entries:
        entry["num_node_groups"], entry["group_size"] = entry.pop("num_node_blocks"), entry.pop("block_size")
    (tmp_path / "a.jpc").write_bytes(pickle.dumps(entries))
    circuit = pcircuit.read_jpc(tmp_path / "a.jpc")
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, [[1, 2]])), [expected[1, 2]], rtol=1e-12)


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_nothing_in_a_pickle_is_executed(tmp_path):
    trap = tmp_path / "trap"
    (tmp_path / "a.jpc").write_bytes(pickle.dumps([Hostile(trap)]))
    with pytest.raises(ValueError, match="as a file of PyJuice"):
        pcircuit.read_jpc(tmp_path / "a.jpc")
    assert not trap.exists()
    assert isinstance(read_pickle(pickle.dumps(Hostile(trap))), Named)
    assert not trap.exists()


@settings(max_examples=300)
@given(st.data())
def test_damaged_pickles_raise_value_errors_only(data):
    good = bytearray(pickle.dumps(pyjuice_entries()[0]))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        read_pickle(bytes(good[:data.draw(st.integers(1, len(good)))]))
