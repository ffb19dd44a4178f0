"""What a v-tree answers, against sets of nodes and of variables."""

import itertools

import numpy as np
import pytest
import zoo
from hypothesis import given
from vtree_sets import below, nested_lists, scope_set

from pcircuit import VTree

UNARY = VTree.from_nested(
    [[[0]], [[2, [1]]]]
)  # nodes with one child above a leaf, above one another, below the root


@given(nested_lists())
def test_queries_agree_with_sets(nested):
    tree = VTree.from_nested(nested)
    assert sorted(tree.variables[tree.variables >= 0]) == list(range(tree.num_variables))
    assert tree.parents[tree.root] == -1
    for r in range(tree.num_nodes):
        nodes = below(tree, r)
        assert nodes == set(range(tree.first[r], r + 1))
        assert tree.children(r).tolist() == [
            s for s in range(tree.num_nodes) if tree.parents[s] == r
        ]
        assert len(tree.children(r)) != 1
        assert tree.scope(r).tolist() == sorted(scope_set(tree, r))
        assert tree.scope_sizes()[r] == len(scope_set(tree, r))
        assert tree.parent(r) == tree.parents[r]
    assert [tree.scope(r).tolist() for r in tree.leaf_of()] == [
        [v] for v in range(tree.num_variables)
    ]


@given(nested_lists())
def test_ancestors_and_lowest_common_ancestors_agree_with_scopes(nested):
    tree = VTree.from_nested(nested)
    scopes = [scope_set(tree, r) for r in range(tree.num_nodes)]
    for r, s in itertools.product(range(tree.num_nodes), repeat=2):
        assert tree.is_ancestor(r, s) is (scopes[r] >= scopes[s])
        common = [t for t in range(tree.num_nodes) if scopes[t] >= scopes[r] | scopes[s]]
        assert tree.lowest_common_ancestor(r, s) == min(common, key=lambda t: len(scopes[t]))


@given(nested_lists())
def test_two_scopes_are_equal_nested_or_disjoint(nested):
    tree = VTree.from_nested(nested)
    for r, s in itertools.combinations(range(tree.num_nodes), 2):
        a, b = set(tree.scope(r).tolist()), set(tree.scope(s).tolist())
        assert a != b  # one region per scope
        assert a < b or b < a or not a & b
        assert tree.is_ancestor(r, s) or tree.is_ancestor(s, r) or not a & b


@pytest.mark.parametrize(
    "ask",
    [
        VTree.children,
        VTree.parent,
        VTree.scope,
        lambda t, r: t.is_ancestor(r, 0),
        lambda t, r: t.is_ancestor(0, r),
        lambda t, r: t.lowest_common_ancestor(r, 0),
        lambda t, r: t.lowest_common_ancestor(0, r),
    ],
)
@pytest.mark.parametrize("r", [-1, 3])
def test_nodes_that_do_not_exist(ask, r):
    with pytest.raises(IndexError, match=f"v-tree node {r} does not exist: nodes are 0..2"):
        ask(VTree.balanced(2), r)


@pytest.mark.parametrize("r", [0.0, "0", True, None, np.array([0])])
def test_what_is_no_number_of_a_node_is_refused(r):
    for ask in (
        UNARY.children,
        UNARY.parent,
        UNARY.scope,
        lambda r: UNARY.is_ancestor(0, r),
        lambda r: UNARY.lowest_common_ancestor(r, 0),
    ):
        with pytest.raises(TypeError, match="`r` must be a whole number, found"):
            ask(r)


def test_nodes_with_one_child_have_its_scope():
    assert UNARY.child_lists() == [[], [0], [1], [], [], [4], [3, 5], [6], [2, 7]]
    assert [UNARY.scope(r).tolist() for r in range(9)] == [
        [0],
        [0],
        [0],
        [2],
        [1],
        [1],
        [1, 2],
        [1, 2],
        [0, 1, 2],
    ]
    assert UNARY.scope_sizes().tolist() == [1, 1, 1, 1, 1, 1, 2, 2, 3]
    assert UNARY.leaf_of().tolist() == [0, 4, 3]
    assert UNARY.is_ancestor(2, 1)
    assert not UNARY.is_ancestor(1, 2)
    assert (UNARY.lowest_common_ancestor(0, 2), UNARY.lowest_common_ancestor(4, 3)) == (2, 6)


@pytest.mark.parametrize("circuit", zoo.circuits().values(), ids=list(zoo.circuits()))
def test_lists_of_all_nodes_are_the_answers_of_each(circuit):
    tree = circuit.vtree
    nodes = range(tree.num_nodes)
    assert tree.child_lists() == [tree.children(r).tolist() for r in nodes]
    assert tree.scope_sizes().tolist() == [len(tree.scope(r)) for r in nodes]
    assert tree.variables[tree.leaf_of()].tolist() == list(range(tree.num_variables))
    assert (tree.num_regions, tree.root) == (tree.num_nodes, tree.num_nodes - 1)


def test_one_leaf_is_its_own_root():
    leaf = VTree.from_nested(0)
    assert (leaf.num_nodes, leaf.num_variables, leaf.root, leaf.parent(0), leaf.to_nested()) == (
        1,
        1,
        0,
        -1,
        0,
    )
    assert (leaf.child_lists(), leaf.scope(0).tolist(), leaf.leaf_of().tolist()) == ([[]], [0], [0])
    assert leaf.is_ancestor(0, 0)
    assert leaf.lowest_common_ancestor(0, 0) == 0
