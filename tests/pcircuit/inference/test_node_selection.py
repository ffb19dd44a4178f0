"""Node selection: which ids are chosen, and what is refused."""

import numpy as np
import pytest
import zoo

from hld import select_nodes
from pcircuit.inference.node_selection import KINDS, check_nodes


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


def test_a_single_string_is_a_kind():
    circuit = zoo.hclt_like()
    np.testing.assert_array_equal(
        select_nodes(circuit, "product"), select_nodes(circuit, ("product",))
    )


def test_counts_of_the_paper_for_a_hidden_chow_liu_tree_on_14_variables():
    # Adult in the paper: 7 variables with children, 4 latent states
    from pcircuit import Circuit, InnerRegion, InputRegion, VTree

    vtree = VTree.from_tree([-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6])
    regions = []
    for r, v in enumerate(vtree.variables):
        if v >= 0:
            regions.append(InputRegion(v, np.full((4, 2), 0.5)))
        else:
            products = np.repeat(np.arange(4)[:, None], len(vtree.children(r)), axis=1)
            regions.append(InnerRegion(products, np.full((1 if r == vtree.root else 4, 4), 0.25)))
    circuit = Circuit(vtree, regions)
    assert [len(select_nodes(circuit, kind)) for kind in KINDS] == [56, 28, 25]


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
        ([], ValueError, "at least one node id"),
        ([[0, 1]], ValueError, r"found shape \(1, 2\)"),
        ([0.0, 1.0], TypeError, "found float64 instead of integers"),
        (
            np.ones(7, dtype=bool),
            TypeError,
            "found bool instead of integers: turn a mask into numbers",
        ),
        ([0, 7], ValueError, "`nodes` must be .* node id 0..6, found 7 at position 1"),
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
