"""Hidden Chow-Liu tree circuits with random parameters, and rows drawn uniformly, for the benchmarks of speed.

Three kinds of circuit, named by kind and number of variables:

    bin49, bin784     spanning tree of a grid of pixels, two categories: deep, as learned from binary images
    byte49, byte784   the same trees, 256 categories a variable
    cat14, cat42      random recursive tree rooted at its centre, 5 to 20 categories a variable: a wide table

Speed does not depend on the values.  Arithmetic per row: a multiplication per product and child, and a multiplication
and an addition per weight.
"""

import numpy as np

from pcircuit import Circuit, InnerRegion, InputRegion, VTree

GRIDS = {
    "bin49": (7, 2),
    "bin784": (28, 2),
    "byte49": (7, 256),
    "byte784": (28, 256),
}  # side, categories
TABLES = {
    "cat14": (14, 5),
    "cat42": (42, 25),
}  # variables, seed of a tree of which half the variables have children
CIRCUITS, UNITS = ("bin49", "bin784", "cat14", "cat42", "byte49", "byte784"), (4, 16, 64)


def named_circuit(name: str, num_units: int, num_rows: int):
    """One of `CIRCUITS` with K units a region, and rows for it in the smallest unsigned dtype."""
    if name in GRIDS:
        side, num_categories = GRIDS[name]
        return circuit_and_rows(side, num_units, num_categories, num_rows)
    num_variables, seed = TABLES[name]
    rng = np.random.default_rng(seed)
    parents = recursive_tree(num_variables, rng)
    categories = rng.integers(5, 21, size=num_variables)
    circuit = tree_circuit(parents, num_units, categories)
    return circuit, rng.integers(0, categories, size=(num_rows, num_variables), dtype=np.uint8)


def batch_of(name: str, num_units: int, quick: bool) -> int:
    """Rows for which plain NumPy takes about a second, at most 10,000."""
    num_variables = GRIDS[name][0] ** 2 if name in GRIDS else TABLES[name][0]
    rows = int(np.clip(4e9 / (num_variables * num_units * (num_units + 60)), 256, 10_000))
    return max(256, rows // 4) if quick else rows


def circuit_and_rows(side: int, num_units: int, num_categories: int, num_rows: int):
    """A circuit over side x side variables, and rows for it in the smallest unsigned dtype."""
    rows = np.random.default_rng(1).integers(
        0, num_categories, size=(num_rows, side * side), dtype=np.uint8
    )
    parents = grid_tree(side, np.random.default_rng(0))
    return tree_circuit(parents, num_units, np.full(side * side, num_categories)), rows


def tree_circuit(parents, num_units: int, categories):
    """Hidden Chow-Liu tree circuit of a rooted tree; `parents` (V,) with -1 at the root, `categories` (V,)."""
    rng = np.random.default_rng(0)
    vtree = VTree.from_tree(parents)
    regions = []
    for r, v in enumerate(vtree.variables.tolist()):
        if v >= 0:
            regions.append(InputRegion(v, rng.dirichlet(np.ones(categories[v]), size=num_units)))
        else:
            products = np.repeat(np.arange(num_units)[:, None], len(vtree.children(r)), axis=1)
            num_sums = 1 if r == vtree.root else num_units
            regions.append(InnerRegion(products, rng.dirichlet(np.ones(num_units), size=num_sums)))
    return Circuit(vtree, regions)


def grid_tree(side: int, rng):
    """(V,) parents in the grid's least spanning tree for random edge lengths, rooted at the middle pixel."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    pixel = np.arange(side * side).reshape(side, side)
    left = np.concatenate([pixel[:, :-1].ravel(), pixel[:-1].ravel()])
    right = np.concatenate([pixel[:, 1:].ravel(), pixel[1:].ravel()])
    graph = _graph(left, right, rng.random(len(left)) + 1.0, side * side)
    return _parents(minimum_spanning_tree(graph), int(pixel[side // 2, side // 2]))


def recursive_tree(num_variables: int, rng):
    """(V,) parents in a tree whose vertices join a random earlier one each, rooted at its centre."""
    from scipy.sparse.csgraph import shortest_path

    joined = [int(rng.integers(0, v)) for v in range(1, num_variables)]
    tree = _graph(joined, np.arange(1, num_variables), np.ones(num_variables - 1), num_variables)
    return _parents(tree, int(shortest_path(tree, directed=False).max(axis=1).argmin()))


def _graph(left, right, lengths, num_vertices):
    """Sparse matrix of a graph; 32-bit indices, which all versions of SciPy's graph routines take."""
    from scipy.sparse import coo_array

    ends = np.asarray(left, dtype=np.int32), np.asarray(right, dtype=np.int32)
    return coo_array((lengths, ends), shape=(num_vertices, num_vertices)).tocsr()


def _parents(tree, root):
    """(V,) parents when a tree is rooted at `root`, -1 there."""
    from scipy.sparse.csgraph import breadth_first_order

    parents = breadth_first_order(tree, root, directed=False)[1].astype(np.int64)
    parents[root] = -1
    return parents


def flops_per_row(circuit) -> int:
    """Multiplications and additions of one evaluation of one row."""
    inner = [region for region in circuit.regions if not isinstance(region, InputRegion)]
    return sum(2 * region.weights.size + region.products.size for region in inner)
