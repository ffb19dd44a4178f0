"""Single units become regions."""

import naive
import numpy as np
import pytest

from pcircuit import StructureError, VTree
from pcircuit.io.graph import MOST_ENTRIES, SPARE_ENTRIES, Graph, circuit_of_graph


def test_sums_of_sums_and_products_of_products_are_multiplied_out():
    graph = Graph()
    a, b, c = ([graph.add_input(f"{v}{k}", v, np.eye(2)[k]) for k in (0, 1)] for v in range(3))
    pairs = [graph.add_product("pair", (a[i], b[j])) for i, j in ((0, 0), (1, 1), (0, 1))]
    low = graph.add_sum("low", pairs[:2], (0.5, 0.5))
    high = graph.add_sum("high", (low, pairs[2]), (0.6, 0.4))
    flat = graph.add_product(
        "flat", (a[1], b[0], c[0])
    )  # three factors where the v-tree has two children
    root = graph.add_sum("root", (graph.add_product("top", (high, c[1])), flat), (0.9, 0.1))
    circuit = circuit_of_graph(graph, root)
    values = np.exp(naive.log_likelihood(circuit, naive.states(circuit))).reshape(2, 2, 2)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 1], expected[1, 1, 1], expected[0, 1, 1], expected[1, 0, 0] = (
        0.27,
        0.27,
        0.36,
        0.1,
    )
    np.testing.assert_allclose(values, expected, atol=1e-15)


def test_a_chain_of_sums_that_would_explode_is_refused():
    graph = Graph()
    coin, table = graph.add_input("a", 0, np.full(2, 0.5)), np.eye(4200)
    units = [
        graph.add_product(str(k), (coin, graph.add_input(f"b{k}", 1, table[k])))
        for k in range(4200)
    ]
    total = units[0]
    for unit in units[1:]:
        total = graph.add_sum("chain", (total, unit), (0.5, 0.5))
    with pytest.raises(StructureError, match="sums would have more than 8388608 entries"):
        circuit_of_graph(graph, total)


def test_indicators_are_rows_of_zeros_and_a_one():
    graph = Graph()
    coin = graph.add_input("coin", 0, np.array([0.25, 0.75]))
    products = [
        graph.add_product(str(c), (coin, graph.add_indicator(f"is {c}", 1, c, 3))) for c in (2, 0)
    ]
    products.append(
        graph.add_product(
            "written out", (coin, graph.add_input("is 2", 1, np.array([0.0, 0.0, 1.0])))
        )
    )
    products.append(
        graph.add_product(
            "one of two", (coin, graph.add_sum("two", products_of_one(graph), (0.5, 0.5)))
        )
    )
    circuit = circuit_of_graph(graph, graph.add_sum("root", products, (0.2, 0.3, 0.4, 0.1)))
    assert circuit.regions[1].probs.tolist() == [[0, 0, 1], [1, 0, 0], [0.25, 0.5, 0.25]]
    np.testing.assert_allclose(circuit.regions[2].weights, [[0.6, 0.3, 0.1]])


def products_of_one(graph):
    """An indicator of variable 1, and a table of it that is shorter than those of others."""
    return graph.add_indicator("is 1", 1, 1, 2), graph.add_input(
        "short", 1, np.array([0.5, 0.0, 0.5])
    )


def test_only_entries_that_the_file_does_not_write_out_are_counted():
    graph = Graph(num_bytes=10)
    full = [graph.add_input(f"full {k}", 0, np.full(1000, k + 0.5)) for k in range(3)]
    kinds = [
        *full,
        graph.add_input("short", 0, np.ones(10)),
        graph.add_indicator("is 7", 0, 7, 1000),
    ]
    total = graph.add_sum("sum", kinds, [1.0] * 5)
    other = graph.add_input("b", 1, np.ones(1))
    circuit = circuit_of_graph(
        graph,
        graph.add_sum(
            "root",
            [graph.add_product("p", (f, other)) for f in (*kinds, total, kinds[-1])],
            [1.0] * 7,
        ),
    )
    assert circuit.regions[0].probs.shape == (6, 1000)
    written = 3 * 1000 + 10 + 1 + 1000  # full, short, the indicator, the sum
    assert graph.spent == 6 * 1000 - written + 1000 + len(circuit.regions[2].products)
    with pytest.raises(
        StructureError,
        match="more than 8388768 entries that the file of 10 bytes does not write out",
    ):
        graph.spend(MOST_ENTRIES * 10 + SPARE_ENTRIES)


@pytest.mark.parametrize("seed", range(8))
def test_products_between_the_factors_and_their_region_are_added(seed):
    rng = np.random.default_rng(seed)
    tree = VTree.random(7, rng=seed)
    graph, tables = Graph(), rng.random((7, 2))
    cut = rng.choice(np.flatnonzero(tree.variables[:-1] < 0)) if rng.random() < 0.7 else -1
    inside = tree.scope(cut).tolist() if cut >= 0 else []
    coins = [graph.add_input(str(v), v, tables[v]) for v in range(7)]
    factors = [coins[v] for v in rng.permutation(7) if v not in inside]
    factors += [graph.add_product("some", [coins[v] for v in inside])] * bool(inside)
    circuit = circuit_of_graph(graph, graph.add_product("all", factors), tree)
    assert circuit.vtree == tree
    expected = [np.prod(tables[range(7), row]) for row in naive.states(circuit)]
    np.testing.assert_allclose(
        np.exp(naive.log_likelihood(circuit, naive.states(circuit))), expected, rtol=1e-12
    )
