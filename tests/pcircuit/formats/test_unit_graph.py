"""Units one by one: their positions, what is kept of them, and how many entries a small file may stand for."""

import numpy as np
import pytest

from pcircuit import StructureError
from pcircuit.formats.unit_graph import MOST_ENTRIES, SPARE_ENTRIES, Graph, Indicator


def test_units_have_the_positions_in_which_they_came():
    graph, table = Graph(), np.array([0.5, 0.5])
    positions = [
        graph.add_input("a", 0, table),
        graph.add_indicator("b", 1, 2, 5),
        graph.add_product("c", [0, 1]),
        graph.add_sum("d", [2, 2], [0.25, 0.75]),
    ]
    assert positions == [0, 1, 2, 3]
    assert graph.labels == ["a", "b", "c", "d"]
    assert graph.units[0][:2] == ("input", 0)
    assert graph.units[0][2] is table
    assert graph.units[1:] == [
        ("input", 1, Indicator(2, 5)),
        ("product", (0, 1)),
        ("sum", (2, 2), (0.25, 0.75)),
    ]


def test_graphs_share_nothing_and_units_do_not_change_with_the_lists_they_were_made_of():
    graph, other, children = Graph(), Graph(), [0]
    graph.add_input("a", 0, np.ones(1))
    graph.add_product("b", children)
    children.append(7)
    assert graph.units[1] == ("product", (0,))
    assert (other.units, other.labels, other.spent) == ([], [], 0)


def test_an_indicator_takes_no_memory_for_its_table():
    indicator = Indicator(3, 2**40)
    assert len(indicator) == 2**40
    assert indicator == Indicator(3, 2**40)
    assert hash(indicator) == hash(Indicator(3, 2**40))  # one table for all that are alike
    assert indicator not in (Indicator(4, 2**40), Indicator(3, 2**40 - 1))


@pytest.mark.parametrize("num_bytes", [0, 1, 1000])
def test_entries_are_counted_against_the_size_of_the_file(num_bytes):
    graph, allowed = Graph(num_bytes), MOST_ENTRIES * num_bytes + SPARE_ENTRIES
    graph.spend(0)
    graph.spend(allowed - 5)
    graph.spend(5)
    assert graph.spent == allowed
    with pytest.raises(StructureError) as caught:
        graph.spend(1)
    assert str(caught.value) == (
        f"the tables of its input units would have more than {allowed} entries that the file "
        f"of {num_bytes} bytes does not write out: such a circuit is not read"
    )
