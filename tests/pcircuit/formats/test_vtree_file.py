"""V-tree files."""

import pytest

import pcircuit
from pcircuit import VTree


@pytest.mark.parametrize(
    "tree", [VTree([-1], [0]), VTree.balanced(7), VTree.right_linear(5), VTree.random(20, rng=3)]
)
def test_v_trees_come_back(tree, tmp_path):
    pcircuit.write_vtree(tree, tmp_path / "a")
    assert pcircuit.read_vtree(tmp_path / "a") == tree
