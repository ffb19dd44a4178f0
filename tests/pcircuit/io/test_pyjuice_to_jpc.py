"""The converter of files of PyJuice, which runs where PyJuice is: here stand-ins of its classes are enough."""

import pathlib
import pickle
import runpy

import naive
import numpy as np
import pytest

import pcircuit

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONVERTER = runpy.run_path(str(ROOT / "examples" / "adapters" / "pyjuice_to_jpc.py"))["convert"]


class Categorical:
    """Stands in for PyJuice's class of this name."""


class Bernoulli:
    """The same of inputs of two values."""


class Gaussian:
    """The same of inputs that are not discrete."""


def converted(folder, entries):
    """The circuit of entries as PyJuice saves them."""
    (folder / "pickle").write_bytes(pickle.dumps(entries))
    with np.errstate(divide="ignore"):
        CONVERTER(folder / "pickle", folder / "text")
    return pcircuit.read_jpc(folder / "text")


def pyjuice_entries(K=4, size=2, C=3):
    """A small model as PyJuice saves it, with its own evaluation: two variables, block sizes over one, a tied entry."""
    rng = np.random.default_rng(0)
    params = rng.dirichlet(np.ones(C), K)
    sums = rng.dirichlet(np.ones(K), K)  # (K, K): sums over the products of the region below
    top = rng.dirichlet(np.ones(K))
    blocks = K // size
    edges = np.array([[i, j] for i in range(blocks) for j in range(blocks)]).T
    weights = np.array(
        [sums[i * size : (i + 1) * size, j * size : (j + 1) * size] for i, j in edges.T]
    ).astype(np.float32)
    dist = pickle.dumps(Categorical())
    ids = np.arange(blocks)[:, None]
    entries = [
        {
            "type": "Input",
            "num_node_blocks": blocks,
            "block_size": size,
            "chs": (),
            "scope": [0],
            "dist": dist,
            "params": params.ravel(),
        },
        {
            "type": "Input",
            "num_node_blocks": blocks,
            "block_size": size,
            "chs": (),
            "scope": [1],
            "dist": dist,
            "source_node": 0,
        },
        {
            "type": "Product",
            "num_node_blocks": blocks,
            "block_size": size,
            "chs": (0,),
            "edge_ids": ids,
        },
        {
            "type": "Sum",
            "num_node_blocks": blocks,
            "block_size": size,
            "chs": (2,),
            "edge_ids": edges,
            "params": weights,
        },
        {
            "type": "Product",
            "num_node_blocks": K,
            "block_size": 1,
            "chs": (3, 1),
            "edge_ids": np.stack([np.arange(K), np.arange(K)[::-1]], axis=1),
        },
        {
            "type": "Sum",
            "num_node_blocks": 1,
            "block_size": 1,
            "chs": (4,),
            "edge_ids": np.stack([np.zeros(K, int), np.arange(K)]),
            "params": top[:, None, None],
        },
    ]
    matrix = (
        weights.astype(float)
        .reshape(blocks, blocks, size, size)
        .transpose(0, 2, 1, 3)
        .reshape(K, K)
    )
    left = matrix @ params
    return entries, np.einsum("k,kx,ky->xy", top, left, params[::-1])


def test_files_of_pyjuice_become_circuits_with_the_values_of_their_tensors(tmp_path):
    entries, expected = pyjuice_entries()
    circuit = converted(tmp_path, entries)
    found = np.exp(pcircuit.log_likelihood(circuit, naive.states(circuit))).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def of_one_unit(family, params):
    """The entries of a circuit of one input unit."""
    entry = pyjuice_entries()[0][0] | {"num_node_blocks": 1, "block_size": 1, "params": params}
    return [entry | {"dist": pickle.dumps(family())}]


def test_inputs_of_two_values_hold_the_probability_of_the_second(tmp_path):
    circuit = converted(tmp_path, of_one_unit(Bernoulli, [0.25]))
    np.testing.assert_allclose(circuit.regions[0].probs, [[0.75, 0.25]], rtol=1e-15)


def test_other_inputs_are_refused(tmp_path):
    with pytest.raises(SystemExit, match="Gaussian are not discrete"):
        converted(tmp_path, of_one_unit(Gaussian, [0.5, 0.5]))


def test_readers_refuse_a_pickle_and_run_nothing(tmp_path):
    (tmp_path / "a.jpc").write_bytes(pickle.dumps(pyjuice_entries()[0]))
    with pytest.raises(ValueError, match="expected a first line 'jpc COUNT'"):
        pcircuit.read_jpc(tmp_path / "a.jpc")
