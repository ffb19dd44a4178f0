"""V-trees: builders, numbering, refusals, and that they are values."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vtree_sets import below, nested_lists, scope_set

from pcircuit import VTree

LONG = [20_000, pytest.param(100_000, marks=pytest.mark.slow)]


def right_nested(num_variables):
    nested = num_variables - 1
    for v in reversed(range(num_variables - 1)):
        nested = [v, nested]
    return nested


# -- the numbering -------------------------------------------------------------------------------------------


def test_arrays_of_a_small_tree():
    tree = VTree.from_nested([[0, 3], 1, [2, [5, 4]]])
    assert tree.parents.tolist() == [2, 2, 9, 9, 8, 7, 7, 8, 9, -1]
    assert tree.variables.tolist() == [0, 3, -1, 1, 2, 5, 4, -1, -1, -1]
    assert tree.first.tolist() == [0, 1, 0, 3, 4, 5, 6, 5, 4, 0]
    assert [tree.children(r).tolist() for r in (2, 7, 8, 9)] == [[0, 1], [5, 6], [4, 7], [2, 3, 8]]
    assert tree.children(0).tolist() == []
    assert tree.scope(8).tolist() == [2, 4, 5]
    assert tree.scope_sizes().tolist() == [1, 1, 2, 1, 1, 1, 1, 2, 3, 6]
    assert tree.leaf_of().tolist() == [0, 3, 4, 1, 6, 5]
    assert (tree.num_nodes, tree.num_variables, tree.root) == (10, 6, 9)
    assert (tree.parent(0), tree.parent(9)) == (2, -1)


@given(nested_lists())
def test_nested_lists_come_back(nested):
    tree = VTree.from_nested(nested)
    assert tree.to_nested() == nested
    assert VTree(tree.parents, tree.variables) == tree


# -- builders ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_variables", "nested"),
    [
        (1, 0),
        (2, [0, 1]),
        (3, [[0, 1], 2]),
        (5, [[[0, 1], 2], [3, 4]]),
        (6, [[[0, 1], 2], [[3, 4], 5]]),
    ],
)
def test_balanced(num_variables, nested):
    assert VTree.balanced(num_variables).to_nested() == nested


@pytest.mark.parametrize("num_variables", [1, 2, 3, 6])
def test_right_linear(num_variables):
    assert VTree.right_linear(num_variables).to_nested() == right_nested(num_variables)


@pytest.mark.parametrize("num_variables", [1, 2, 17])
def test_random_is_binary_over_all_variables(num_variables):
    tree = VTree.random(num_variables, rng=3)
    assert tree.num_variables == num_variables
    assert tree.num_nodes == 2 * num_variables - 1
    assert all(len(tree.children(r)) in (0, 2) for r in range(tree.num_nodes))


@pytest.mark.thorough
@pytest.mark.parametrize("V", LONG)
def test_many_thousand_variables_in_a_chain(V):
    chain = VTree.right_linear(V)
    assert chain.num_nodes == 2 * V - 1
    assert chain.scope_sizes()[-3:].tolist() == [V - 2, V - 1, V]
    assert chain.lowest_common_ancestor(V - 1, V) == V
    assert VTree.from_nested(right_nested(V)) == chain
    assert VTree.from_nested(chain.to_nested()) == chain
    path = VTree.from_tree(np.arange(-1, V - 1))
    assert path.num_nodes == 2 * V - 1
    assert path.scope(path.num_nodes - 2).tolist() == [0]
    assert path.lowest_common_ancestor(0, path.num_nodes - 2) == path.root


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 4, 5, 6])
def test_exactly_the_post_order_trees_are_accepted(num_nodes):
    # the number of ordered trees with R nodes is a Catalan number
    accepted = 0
    for above in itertools.product(*[range(r + 1, num_nodes) for r in range(num_nodes - 1)]):
        parents = [*above, -1]
        leaves = [r for r in range(num_nodes) if r not in above]
        variables = np.full(num_nodes, -1)
        variables[leaves] = np.arange(len(leaves))
        try:
            tree = VTree(np.array(parents), variables)
        except ValueError:
            continue
        accepted += 1
        for r in range(num_nodes):
            assert below(tree, r) == set(range(tree.first[r], r + 1))
    assert accepted == {1: 1, 2: 1, 3: 2, 4: 5, 5: 14, 6: 42}[num_nodes]


@pytest.mark.parametrize(
    ("parents", "variables", "message"),
    [
        ([2, 2, -1], [0, 1], "`parents` has 3 entries and `variables` 2"),
        (
            [],
            [],
            "`parents` must be a non-empty one-dimensional array of integers, found shape \\(0,\\)",
        ),
        ([[-1]], [0], "`parents` must be .* found shape \\(1, 1\\)"),
        ([2, 2, 0], [0, 1, -1], "`parents` is not a post-order numbering: every node but the last"),
        (
            [0, 2, -1],
            [0, 1, -1],
            "every node but the last \\(the root, -1\\) needs a parent with a larger",
        ),
        ([-1, 2, -1], [0, 1, -1], "`parents` is not a post-order numbering"),
        ([2, 3, -1], [0, 1, -1], "`parents` is not a post-order numbering"),
        ([2, 2, -1], [0, 0, -1], "`variables` must name each variable 0..V-1 at exactly one leaf"),
        ([2, 2, -1], [0, 2, -1], "`variables` must name each variable"),
        ([2, 2, -1], [-2, 0, -1], "`variables` must name each variable"),
        (
            [2, 2, -1],
            [0, 1, 2],
            "`variables` has 2 at node 2, which has 2 children in post-order: a leaf has",
        ),
        (
            [2, 2, -1],
            [0, -1, -1],
            "`variables` has -1 at node 1, which has 0 children in post-order",
        ),
        (
            [3, 4, 4, 4, -1],
            [0, 1, 2, -1, -1],
            "node 0 must be attached to its parent 3 before node 1",
        ),
    ],
)
def test_bad_arrays(parents, variables, message):
    with pytest.raises(ValueError, match=message):
        VTree(parents, variables)


@pytest.mark.parametrize(
    ("parents", "variables", "message"),
    [
        ([-1.0], [0], "`parents` must be .* found float64 instead of integers"),
        (
            [-1],
            [0.0],
            "`variables` must be a non-empty one-dimensional array of integers, found float64",
        ),
        ([-1], [True], "`variables` must be .* found bool instead of integers"),
        (np.ma.array([-1], mask=[True]), [0], "`parents` must be .* found None"),
    ],
)
def test_arrays_of_another_kind(parents, variables, message):
    with pytest.raises(TypeError, match=message):
        VTree(parents, variables)


@pytest.mark.parametrize("build", [VTree.balanced, VTree.right_linear, VTree.random])
@pytest.mark.parametrize("num_variables", [0, -1, 2.5, True])
def test_bad_numbers_of_variables(build, num_variables):
    message = f"`num_variables` must be a whole number of at least 1, found {num_variables}"
    with pytest.raises(ValueError if type(num_variables) is int else TypeError, match=message):
        build(num_variables)


# -- a value -------------------------------------------------------------------------------------------------


def test_arrays_are_read_only_copies():
    parents, variables = np.array([2, 2, -1]), np.array([0, 1, -1])
    tree = VTree(parents, variables)
    parents[0] = variables[0] = 7
    assert tree == VTree.from_nested([0, 1])
    for array in (tree.parents, tree.variables, tree.first, tree.children(2)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for fresh in (tree.scope(2), tree.scope_sizes(), tree.leaf_of()):
        fresh[0] = 99
    assert tree.scope(2).tolist() == [0, 1]
    assert tree.scope_sizes().tolist() == [1, 1, 2]
    assert tree.leaf_of().tolist() == [0, 1]


def test_fields_cannot_be_replaced():
    with pytest.raises(AttributeError, match="parents"):
        VTree.balanced(2).parents = np.array([-1])


def test_equality_is_equality_of_trees():
    assert VTree.from_nested([0, [1, 2]]) == VTree.right_linear(3)
    assert VTree.from_nested([0, [1, 2]]) != VTree.from_nested([0, [2, 1]])
    assert VTree.from_nested([0, [1, 2]]) != VTree.from_nested([0, 1, 2])
    assert VTree.balanced(2) != [[0, 1]]
    with pytest.raises(TypeError, match="unhashable"):
        hash(VTree.balanced(2))


def test_repr_of_a_small_tree_is_the_tree():
    for nested in (0, [[0]], [0, [1, 2]], [[3, 1, 2], [0]]):
        assert repr(VTree.from_nested(nested)) == f"VTree.from_nested({nested})"


@pytest.mark.parametrize("build", [VTree.balanced, VTree.right_linear, VTree.random])
@pytest.mark.parametrize("num_variables", [10**12, 10**30])
def test_more_variables_than_fit_into_memory_are_refused_at_once(build, num_variables):
    with pytest.raises(
        MemoryError, match=f"^a v-tree of {num_variables} variables takes .*: give fewer `num_vari"
    ):
        build(num_variables)


UNARY = VTree.from_nested(
    [[[0]], [[2, [1]]]]
)  # nodes with one child above a leaf, above one another, below the root


@given(nested_lists())
def test_ancestors_and_lowest_common_ancestors_agree_with_scopes(nested):
    tree = VTree.from_nested(nested)
    scopes = [scope_set(tree, r) for r in range(tree.num_nodes)]
    for r, s in itertools.product(range(tree.num_nodes), repeat=2):
        assert tree.is_ancestor(r, s) is (scopes[r] >= scopes[s])
        common = [t for t in range(tree.num_nodes) if scopes[t] >= scopes[r] | scopes[s]]
        assert tree.lowest_common_ancestor(r, s) == min(common, key=lambda t: len(scopes[t]))


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
        ([0, -1], "`nested` must be a whole number of at least 0, found -1"),
    ],
)
def test_bad_nested_lists(nested, message):
    with pytest.raises(ValueError, match=message):
        VTree.from_nested(nested)


@pytest.mark.parametrize("leaf", [0.0, "0", True, None, np.array([0, 1]), {0: 1}])
def test_leaves_that_are_no_variables(leaf):
    with pytest.raises(TypeError, match="`nested` must be a whole number of at least 0, found"):
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
