"""PyJuice's files, which are pickles: read without executing anything."""

import contextlib
import pickle
import tracemalloc

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
        entry["num_node_groups"], entry["group_size"] = (
            entry.pop("num_node_blocks"),
            entry.pop("block_size"),
        )
    (tmp_path / "a.jpc").write_bytes(pickle.dumps(entries))
    circuit = pcircuit.read_jpc(tmp_path / "a.jpc")
    np.testing.assert_allclose(
        np.exp(pcircuit.log_likelihood(circuit, [[1, 2]])), [expected[1, 2]], rtol=1e-12
    )


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


class Bernoulli(Categorical):
    """The same of PyJuice's inputs of two values."""


def saved(folder, entries):
    (folder / "a.jpc").write_bytes(pickle.dumps(entries))
    return folder / "a.jpc"


def test_inputs_of_two_values_hold_the_probability_of_the_second(tmp_path):
    entries = pyjuice_entries()[0][:1]
    entries[0] |= {
        "num_node_blocks": 1,
        "block_size": 1,
        "dist": pickle.dumps(Bernoulli()),
        "params": [0.25],
    }
    circuit = pcircuit.read_jpc(saved(tmp_path, entries))
    np.testing.assert_allclose(
        np.exp(pcircuit.log_likelihood(circuit, [[0], [1]])), [0.75, 0.25], rtol=1e-15
    )


def changed(i, **fields):
    """The entries with some fields of one replaced; a field of None is left out."""
    entries = pyjuice_entries()[0]
    entries[i] = {name: value for name, value in (entries[i] | fields).items() if value is not None}
    return entries


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({}, "it does not hold a list of units"),
        ([], "it does not hold a list of units"),
        ([3], "entry 0 must be a dictionary, found 3"),
        (pyjuice_entries()[0][:1], "its last entry has 4 units, a circuit has one root"),
        (changed(0, block_size=0), "entry 0 has 2 blocks of 0 units"),
        (changed(0, block_size=2**40), "entry 0 has 2 blocks of 1099511627776 units"),
        (changed(0, block_size=None), "entry 0 has no field 'block_size' or 'group_size'"),
        (changed(2, chs=None), "entry 2 has no field 'chs'"),
        (changed(0, type=None), "entry 0 has no field 'type'"),
        (changed(1, source_node=2), "entry 2 has no field 'params'"),
        (changed(2, chs=5), "entry 2 has 5 as 'chs', expected a"),
        (changed(1, source_node=6), "entry 1 names the entry 6, expected one of the first 6"),
        (changed(2, chs=(2,)), "entry 2 names the entry 2, expected one of the first 2"),
        (changed(0, scope=[0.5]), "entry 0 is an input of variable 0.5: they count from 0"),
        (changed(0, scope=0), "entry 0 has 0 as 'scope', expected a list"),
        (changed(0, dist=[1]), "entry 0 has <list> as 'dist', expected a pickle in bytes"),
        (changed(0, scope=[0, 1]), "entry 0 is an input of 2 variables, only single ones are read"),
        (
            changed(0, dist=pickle.dumps(Hostile)),
            "its inputs are none of Categorical and Bernoulli",
        ),
        (changed(0, params=None), "its inputs are none of Categorical and Bernoulli"),
        (changed(2, edge_ids=[0, 1]), "the edges of entry 2 are not a matrix of whole numbers"),
        (
            changed(2, edge_ids=[[0.5], [1.0]]),
            "the edges of entry 2 are not a matrix of whole numbers",
        ),
        (
            changed(2, edge_ids=np.zeros((2, 2), int)),
            r"the edges of entry 2 have shape \(2, 2\), which does not fit",
        ),
        (changed(2, edge_ids=np.full((2, 1), -1)), "the edges of entry 2 have shape"),
        (
            changed(2, edge_ids=np.full((2, 1), 9)),
            "the edges of entry 2 are beyond the units of its children",
        ),
        (
            changed(3, params=np.ones((2, 2, 2))),
            r"the weights of entry 3 have shape \(2, 2, 2\), its edges \(2, 4\)",
        ),
        (
            changed(3, params=np.full((4, 2, 2), np.nan)),
            "the weights or edges of entry 3 are out of range",
        ),
        (
            changed(3, params=-np.ones((4, 2, 2))),
            "the weights or edges of entry 3 are out of range",
        ),
        (changed(4, type="Mystery"), "entry 4 has the unknown type 'Mystery'"),
        (changed(2, chs=(-3,)), "entry 2 names the entry -3"),
        (changed(1, source_node=-6), "entry 1 names the entry -6"),
        (
            changed(3, edge_ids=np.array([[0, 0, 1, 1], [0, 1, 0, 2**62]])),
            "the edges of entry 3 are beyond the units",
        ),
        (changed(2, edge_ids=np.full((2, 1), 2**64 - 1, "u8")), "the edges of entry 2 have shape"),
        (
            changed(3, edge_ids=np.array([[0, 0, 0, 0], [0, 1, 0, 1]])),
            "entry 3 has sums without edges",
        ),
        (changed(0, params=np.zeros(0)), "entry 0 has no parameters"),
        (changed(0, scope=[-1]), "entry 0 is an input of variable -1: they count from 0"),
        (changed(4, type=np.zeros(0)), "entry 4 has the unknown type <ndarray>"),
        (changed(0, params=["a"]), "entry 0 has 'a' where a number is expected"),
        (changed(0, block_size=np.zeros((2, 2))), "entry 0 has 2 blocks of <ndarray> units"),
        (
            changed(0, params=np.ones(7)),
            "entry 0 has 7 parameters for 4 units, expected as many for each",
        ),
        (
            changed(2, edge_ids=np.zeros((2, 0), int), chs=()),
            "the edges of entry 2 are not a matrix of whole numbers, one",
        ),
        (
            changed(3, edge_ids=np.zeros((2, 0), int), params=np.zeros((0, 2, 2))),
            "the edges of entry 3 are not a matrix",
        ),
        (
            changed(3, params=np.zeros((4, 2, 0))),
            r"the weights of entry 3 have shape \(4, 2, 0\), its edges \(2, 4\)",
        ),
    ],
    ids=range(42),
)
def test_entries_that_do_not_fit_together_are_refused_with_their_number(entries, message, tmp_path):
    with pytest.raises(ValueError, match=r"a\.jpc' as a file of PyJuice: .*" + message):
        pcircuit.read_jpc(saved(tmp_path, entries))


def nested(size, depth):
    """A list of `size` times a list of `size` times a list and so on: a number for each of size ** depth places."""
    value = 0
    for _ in range(depth):
        value = [value] * size
    return value


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            changed(0, params=nested(10, 20)),
            "entry 0 has lists of more numbers than the file has bytes",
        ),
        (
            changed(2, edge_ids=nested(10, 20)),
            "entry 2 has lists of more numbers than the file has bytes",
        ),
        (changed(4, type=nested(10, 20)), "entry 4 has the unknown type <list>"),
        (
            changed(0, block_size=40_000_000, num_node_blocks=1, params=np.zeros(0)),
            "entry 0 has 1 blocks of 4",
        ),
        (
            changed(2, block_size=40_000_000, num_node_blocks=1),
            "entry 2 has 1 blocks of 40000000 units",
        ),
        (changed(3, num_node_blocks=49_999_999), "entry 3 has 49999999 blocks of 2 units"),
    ],
    ids=range(6),
)
def test_small_files_that_stand_for_many_units_or_numbers_are_refused_before_these_are_made(
    entries, message, tmp_path
):
    path = saved(tmp_path, entries)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"a\.jpc' as a file of PyJuice: " + message):
        pcircuit.read_jpc(path)
    assert tracemalloc.get_traced_memory()[1] < 1e7
    tracemalloc.stop()


def test_tied_parameters_are_counted_at_each_place(monkeypatch, tmp_path):
    path = saved(tmp_path, pyjuice_entries()[0])
    monkeypatch.setattr("pcircuit.formats.pyjuice.MOST_NUMBERS", 0)
    monkeypatch.setattr("pcircuit.formats.pyjuice.SPARE_NUMBERS", 44)  # 12 twice, 16 and 4
    assert pcircuit.read_jpc(path).num_variables == 2
    monkeypatch.setattr("pcircuit.formats.pyjuice.SPARE_NUMBERS", 23)
    with pytest.raises(
        ValueError, match="number 1 have more than 23 parameters, tied ones counted at each place"
    ):
        pcircuit.read_jpc(path)


@pytest.mark.parametrize("field", ["type", "block_size", "chs", "scope", "params"])
def test_lists_within_lists_have_any_depth(field, tmp_path):
    entry = pickle.dumps(pyjuice_entries()[0][0], 2)[2:-1]
    deep = b"]" * 100_000 + b"a" * 99_999
    (tmp_path / "a.jpc").write_bytes(
        b"\x80\x02]" + entry + pickle.dumps(field, 2)[2:-1] + deep + b"sa."
    )
    with pytest.raises(ValueError, match="as a file of PyJuice"):
        pcircuit.read_jpc(tmp_path / "a.jpc")


def test_weights_of_single_units_may_be_a_plain_list(tmp_path):
    entries, expected = pyjuice_entries()
    entries[5]["params"] = entries[5]["params"].ravel()
    circuit = pcircuit.read_jpc(saved(tmp_path, entries))
    np.testing.assert_allclose(
        np.exp(pcircuit.log_likelihood(circuit, [[1, 2]])), [expected[1, 2]], rtol=1e-12
    )


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
        read_pickle(bytes(good[: data.draw(st.integers(1, len(good)))]))
