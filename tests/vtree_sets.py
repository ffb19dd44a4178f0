"""V-trees written as nested lists, and what is below their nodes as sets, found by following parents."""

from hypothesis import strategies as st


@st.composite
def nested_lists(draw):
    """V-trees written as nested lists: any arity from 2 to 4, variables in any order."""
    shape = draw(
        st.recursive(st.none(), lambda s: st.lists(s, min_size=2, max_size=4), max_leaves=12)
    )
    count = _count_leaves(shape)
    order = iter(draw(st.permutations(range(count))))
    return _label(shape, order)


def _count_leaves(shape):
    return 1 if shape is None else sum(_count_leaves(s) for s in shape)


def _label(shape, order):
    return next(order) if shape is None else [_label(s, order) for s in shape]


def below(tree, r):
    """Set of the nodes at or below r, by following the parents of all nodes."""
    found = set()
    for s in range(tree.num_nodes):
        t = s
        while t not in (r, -1):
            t = int(tree.parents[t])
        if t == r:
            found.add(s)
    return found


def scope_set(tree, r):
    return {int(tree.variables[s]) for s in below(tree, r) if tree.variables[s] >= 0}
