"""Post-order numbers for nested lists, orders that are cut, and trees of variables; and what is no such hierarchy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vtree_sets import nested_lists

from pcircuit import VTree
from pcircuit.post_order import check_leaves, numbered, numbered_by_cuts, numbered_tree


def lists(parents, variables):
    return parents.tolist(), variables.tolist()


def by_recursion(nested, parents, variables):
    """The same numbers as `numbered` gives to nested lists, by a function that calls itself; the node's own."""
    below = (
        [by_recursion(child, parents, variables) for child in nested]
        if isinstance(nested, list)
        else []
    )
    for r in below:
        parents[r] = len(parents)
    parents.append(-1)
    variables.append(-1 if below else nested)
    return len(parents) - 1


@settings(max_examples=30)
@given(nested_lists())
def test_nodes_are_numbered_when_all_below_them_are(nested):
    parents, variables = [], []
    by_recursion(nested, parents, variables)
    assert lists(*numbered(nested, lambda node: node if isinstance(node, list) else None)) == (
        parents,
        variables,
    )
    check_leaves(nested)


def test_nodes_may_be_whatever_a_rule_expands():
    rule = {"all": ["left", 2], "left": [(1,), "right"], (1,): [1], "right": [3, 0]}
    found = numbered("all", rule.get)
    assert lists(*found) == ([1, 5, 4, 4, 5, 7, 7, -1], [1, -1, 3, 0, -1, -1, 2, -1])
    assert lists(*numbered(7, lambda node: None)) == ([-1], [7])


@pytest.mark.parametrize(
    ("cut", "nested"),
    [
        (lambda n: 1, [4, [2, [0, [3, 1]]]]),
        (lambda n: n - 1, [[[[4, 2], 0], 3], 1]),
        (lambda n: n // 2, [[4, 2], [0, [3, 1]]]),
    ],
)
def test_an_order_is_cut_where_the_rule_says(cut, nested):
    tree = VTree(*numbered_by_cuts(np.array([4, 2, 0, 3, 1]), cut))
    assert tree.to_nested() == nested
    assert lists(*numbered_by_cuts(np.array([0]), cut)) == ([-1], [0])


def test_no_hierarchy_is_too_deep():
    V, nested = 5000, 4999
    for v in reversed(range(V - 1)):
        nested = [v, nested]
    check_leaves(nested)
    deep = lists(*numbered(nested, lambda node: node if isinstance(node, list) else None))
    assert deep[0] == [
        *range(2 * V - 2, V - 1, -1),
        V,
        *range(V + 1, 2 * V - 1),
        -1,
    ]  # all leaves, then the chain up
    assert deep[1] == [*range(V), *[-1] * (V - 1)]
    assert lists(*numbered_by_cuts(np.arange(V), lambda n: 1)) == deep
    assert lists(*numbered_tree(np.arange(-1, V - 1)))[1][:1] == [V - 1]


def test_a_list_that_occurs_twice_names_its_variables_twice():
    pair = [0, 1]
    with pytest.raises(ValueError, match=r"`nested` has 4 leaves: .* but 2 is not among them"):
        check_leaves([pair, pair])


def test_from_tree_puts_the_own_leaf_last():
    assert VTree.from_tree([-1]).to_nested() == 0
    assert VTree.from_tree([-1, 0]).to_nested() == [1, 0]
    assert VTree.from_tree([2, 2, -1, 0, 2, 0]).to_nested() == [[3, 5, 0], 1, 4, 2]


@given(st.integers(1, 12).flatmap(lambda V: st.tuples(st.permutations(range(V)), st.data())))
def test_from_tree_has_the_subtrees_as_scopes(drawn):
    order, data = drawn
    parent = np.full(len(order), -1)
    for i, v in enumerate(order[1:], start=1):  # each variable hangs below one that came before it
        parent[v] = order[data.draw(st.integers(0, i - 1))]
    tree = VTree.from_tree(parent)
    inner = set(parent[parent >= 0].tolist())
    expected = {frozenset([v]) for v in range(len(order))}
    for v in inner:
        subtree = {v}
        for w in order:  # parents come before their children in `order`
            if parent[w] in subtree:
                subtree.add(w)
        expected.add(frozenset(subtree))
    assert {frozenset(tree.scope(r).tolist()) for r in range(tree.num_nodes)} == expected
    assert tree.num_nodes == len(order) + len(inner)


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ([0, []], "`nested` holds an empty list: an inner v-tree node needs at least one child"),
        ([], "an inner v-tree node needs at least one child"),
        ([0, 2], "`nested` has 2 leaves: .* but 1 is not among them"),
        ([0, [1, 0]], "`nested` has 3 leaves: .* but 2 is not among them"),
        ([0, -1], "`nested` must hold variables, whole numbers of at least 0, found -1"),
    ],
)
def test_bad_nested_lists(nested, message):
    with pytest.raises(ValueError, match=message):
        VTree.from_nested(nested)


@pytest.mark.parametrize("leaf", [0.0, "0", True, None, np.array([0, 1]), {0: 1}])
def test_leaves_that_are_no_variables(leaf):
    with pytest.raises(
        TypeError, match="`nested` must hold variables, whole numbers of at least 0, found"
    ):
        VTree.from_nested([1, leaf])


def test_a_list_that_contains_itself_is_refused():
    nested = [0]
    nested.append([1, nested])
    with pytest.raises(ValueError, match="`nested` holds a list that contains itself"):
        VTree.from_nested(nested)


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        ([0, 0], "`parent` must hold one -1 \\(the root\\) and else variables 0..1, found 0 roots"),
        ([-1, -1], "found 2 roots and values -1..-1"),
        ([-1, 2], "found 1 roots and values -1..2"),
        ([-1, -3, 0], "found 1 roots and values -3..0"),
        ([-1, 2, 1], "`parent` has a cycle: 2 of 3 variables are not connected to the root"),
        ([-1, 1], "`parent` has a cycle: 1 of 2"),
        ([], "`parent` must be a non-empty one-dimensional array of integers"),
    ],
)
def test_bad_trees_on_variables(parent, message):
    with pytest.raises(ValueError, match=message):
        VTree.from_tree(parent)
