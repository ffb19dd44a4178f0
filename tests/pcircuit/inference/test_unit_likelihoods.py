"""Likelihoods of single units: chosen units, their means over rows, and what is refused."""

import naive
import numpy as np
import pytest
import zoo

from hld import select_nodes
from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    mean_node_likelihoods,
    node_likelihoods,
)
from pcircuit.inference.unit_likelihoods import KINDS, check_nodes

ZOO = zoo.all_circuits()


@pytest.mark.parametrize("name", ZOO)
def test_means_and_selected_nodes_equal_the_full_table(name, engine, rng):
    circuit = ZOO[name]
    data = zoo.rows_with_holes(circuit, rng, 50)
    table = naive.node_values(circuit, data)
    nodes = np.flatnonzero(rng.random(circuit.num_nodes) < 0.5)
    np.testing.assert_allclose(
        node_likelihoods(circuit, data, nodes=nodes), table[:, nodes], rtol=1e-12
    )
    np.testing.assert_allclose(
        mean_node_likelihoods(circuit, data, nodes=nodes[::-1]),
        table.mean(axis=0)[nodes[::-1]],
        rtol=1e-12,
    )


@pytest.mark.thorough
def test_means_do_not_depend_on_threads_and_include_suspect_rows(engine, rng):
    V = 600
    low, high = [1e-6, 1 - 1e-6], [1 - 1e-6, 1e-6]
    circuit = zoo.mixture_of_two(
        np.array([high] * 300 + [low] * 300), np.array([low] * 300 + [high] * 300)
    )
    data = np.zeros((1100, V), dtype=np.uint8)  # more than four groups of rows, for three threads
    data[1::2] = 1
    one, many = (mean_node_likelihoods(circuit, data, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one, many)
    np.testing.assert_allclose(one, node_likelihoods(circuit, data[:2]).mean(axis=0), rtol=1e-12)


def test_a_mean_needs_rows():
    with pytest.raises(ValueError, match="`data` has no rows"):
        mean_node_likelihoods(zoo.circuits()["two_coins"], np.empty((0, 2), dtype=int))


def test_units_come_in_the_order_in_which_they_are_asked_for(engine):
    circuit, data = ZOO["irregular_csr"], [[0, 5, 2, 1, 1], [-1, 3, np.nan, 0, 0]]
    nodes = [circuit.num_nodes - 1, 3, 3, 0]
    expected = naive.node_values(circuit, np.nan_to_num(data, nan=-1).astype(int))[:, nodes]
    np.testing.assert_allclose(node_likelihoods(circuit, data, nodes=nodes), expected, rtol=1e-12)
    np.testing.assert_allclose(
        mean_node_likelihoods(circuit, data, nodes=nodes), expected.mean(axis=0), rtol=1e-12
    )
    assert node_likelihoods(circuit, data, nodes=[]).shape == (2, 0)
    assert mean_node_likelihoods(circuit, data, nodes=[]).shape == (0,)


def test_likelihoods_of_rows_that_need_logarithms_are_no_logarithms(engine):
    """Units that fall behind by 1e-300 and catch up again, in one row of three; both are 1e-300 below the root."""
    low, high = [1e-10, 1 - 1e-10], [1 - 1e-10, 1e-10]
    circuit = zoo.mixture_of_two(
        np.array([low] * 30 + [high] * 30), np.array([high] * 30 + [low] * 30)
    )
    data = np.zeros((3, 60), dtype=int)
    data[0, :30], data[2, 30:] = 1, 1
    root = [circuit.num_nodes - 1]
    np.testing.assert_allclose(
        node_likelihoods(circuit, data, nodes=root).T, [[0.5, 1e-300, 0.5]], rtol=1e-8
    )
    np.testing.assert_allclose(
        mean_node_likelihoods(circuit, data[1:2], nodes=root), [1e-300], rtol=1e-8
    )


def test_a_mean_is_infinite_where_a_likelihood_is_and_not_where_only_the_sum_is(engine):
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[1e300, 1e154]]),
            InputRegion(1, [[1e8, 1e9]]),
            InnerRegion([[0, 0]], [[0.5]]),
        ],
    )
    data = np.array([[0, 0], [0, 0], [1, 0]] * 200)
    found = mean_node_likelihoods(circuit, data)
    np.testing.assert_allclose(found, [1e300 / 1.5, 1e8, 1e308 / 1.5, 1e308 / 3], rtol=1e-11)
    assert mean_node_likelihoods(circuit, [[0, 0], [0, 1]])[2] == np.inf
    assert mean_node_likelihoods(circuit, [[1, 1]] * 3)[2] == pytest.approx(1e163)


@pytest.mark.parametrize("name", zoo.circuits())
def test_select_nodes_agrees_with_the_table_of_nodes(name):
    circuit = zoo.circuits()[name]
    for kinds in ((kind,) for kind in KINDS):
        expected = [n for n, record in enumerate(circuit.nodes) if record.kind in kinds]
        if expected:
            selected = select_nodes(circuit, kinds)
            assert selected.tolist() == expected
            assert selected.dtype == np.int64
        else:
            with pytest.raises(ValueError, match="selects nothing"):
                select_nodes(circuit, kinds)
    together = np.concatenate(
        [select_nodes(circuit, kind) for kind in KINDS if kind in circuit.nodes.kind]
    )
    np.testing.assert_array_equal(np.sort(together), np.arange(circuit.num_nodes))


def test_default_is_inputs_and_sums_and_order_of_kinds_does_not_matter():
    circuit = zoo.hclt_like()
    np.testing.assert_array_equal(select_nodes(circuit), select_nodes(circuit, ["sum", "input"]))
    assert set(circuit.nodes.kind[select_nodes(circuit)]) == {"input", "sum"}


@pytest.mark.parametrize(
    ("kinds", "error", "message"),
    [
        ("leaf", ValueError, "called 'input' here"),
        (("input", "leaf"), ValueError, "called 'input' here"),
        ("inputs", ValueError, "`kinds` holds 'inputs', expected one of"),
        ((), ValueError, "`kinds` is empty"),
        (("sum", "sum"), ValueError, "names a kind twice"),
        ((1,), TypeError, "must hold strings"),
        (3, TypeError, "`kinds` must be a sequence of strings out of"),
        (np.array("sum"), TypeError, "`kinds` must be a sequence of strings out of"),
    ],
)
def test_refused_kinds(kinds, error, message):
    with pytest.raises(error, match=message):
        select_nodes(zoo.two_coins(), kinds)


@pytest.mark.parametrize(
    ("nodes", "error", "message"),
    [
        ([], ValueError, "`nodes` is empty: name at least one"),
        ([[0, 1]], ValueError, r"found shape \(1, 2\)"),
        ([0.0, 1.0], TypeError, "found float64 instead of integers"),
        (
            np.ones(7, dtype=bool),
            TypeError,
            "found bool instead of integers: turn a mask into numbers",
        ),
        ([0, 7], ValueError, "`nodes` must be .* node ids 0..6, found 7 at position 1"),
        ([-1, 2], ValueError, "`nodes` must be .* found -1 at position 0"),
        ([3, 0, 3], ValueError, "`nodes` holds 3 more than once"),
    ],
)
def test_refused_nodes(nodes, error, message):
    with pytest.raises(error, match=message):
        check_nodes(zoo.two_coins(), nodes)


def test_checked_nodes_are_a_read_only_copy():
    given = np.array([4, 1], dtype=np.int32)
    checked = check_nodes(zoo.two_coins(), given)
    given[0] = 0
    assert checked.tolist() == [4, 1]
    assert checked.dtype == np.int64
    assert not checked.flags.writeable
