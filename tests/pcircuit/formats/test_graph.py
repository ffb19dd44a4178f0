"""Single units become regions."""
import naive
import numpy as np
import pytest

from pcircuit import StructureError
from pcircuit.formats.graph import Graph, circuit_of_graph


def test_sums_of_sums_and_products_of_products_are_multiplied_out():
    graph = Graph()
    a, b, c = ([graph.add_input(f"{v}{k}", v, np.eye(2)[k]) for k in (0, 1)] for v in range(3))
    pairs = [graph.add_product("pair", (a[i], b[j])) for i, j in ((0, 0), (1, 1), (0, 1))]
    low = graph.add_sum("low", pairs[:2], (0.5, 0.5))
    high = graph.add_sum("high", (low, pairs[2]), (0.6, 0.4))
    flat = graph.add_product("flat", (a[1], b[0], c[0]))  # three factors where the v-tree has two children
    root = graph.add_sum("root", (graph.add_product("top", (high, c[1])), flat), (0.9, 0.1))
    circuit = circuit_of_graph(graph, root)
    values = np.exp(naive.log_likelihood(circuit, naive.states(circuit))).reshape(2, 2, 2)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 1], expected[1, 1, 1], expected[0, 1, 1], expected[1, 0, 0] = 0.27, 0.27, 0.36, 0.1
    np.testing.assert_allclose(values, expected, atol=1e-15)


def test_a_chain_of_sums_that_would_explode_is_refused():
    graph = Graph()
    coin, table = graph.add_input("a", 0, np.full(2, 0.5)), np.eye(3000)
    units = [graph.add_product(str(k), (coin, graph.add_input(f"b{k}", 1, table[k]))) for k in range(3000)]
    total = units[0]
    for unit in units[1:]:
        total = graph.add_sum("chain", (total, unit), (0.5, 0.5))
    with pytest.raises(StructureError, match="far more weights multiplied out"):
        circuit_of_graph(graph, total)
