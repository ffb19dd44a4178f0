"""Chow-Liu trees against enumeration of all trees, and what is refused."""

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_tables import naive_information, random_table, recoded

import pcircuit
from pcircuit import InputRegion, VTree, chow_liu_circuit, chow_liu_tree
from pcircuit.learning import chow_liu as module

seeds = st.integers(0, 2**32 - 1)


def all_trees(V):
    """Edge sets of all V^(V-2) trees, from their Pruefer sequences."""
    if V < 3:
        yield [(0, 1)] if V == 2 else []
        return
    for sequence in itertools.product(range(V), repeat=V - 2):
        degree = [1 + sequence.count(v) for v in range(V)]
        edges = []
        for v in sequence:
            leaf = degree.index(1)
            edges.append((leaf, v))
            degree[leaf], degree[v] = 0, degree[v] - 1
        edges.append(tuple(v for v in range(V) if degree[v] == 1))
        yield edges


def eccentricities(edges, V):
    """(V,) largest number of steps from each node, by Floyd's algorithm."""
    distance = np.where(np.eye(V, dtype=bool), 0, V)
    for u, v in edges:
        distance[u, v] = distance[v, u] = 1
    for w in range(V):
        distance = np.minimum(distance, distance[:, [w]] + distance[w])
    return distance.max(axis=1)


def undirected(parent):
    return {frozenset((v, int(p))) for v, p in enumerate(parent) if p >= 0}


def total_information(parent, information):
    return sum(information[v, p] for v, p in enumerate(parent) if p >= 0)


@given(seeds, st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([0.0, 0.3]))
def test_no_tree_has_more_information(seed, pseudocount, missing):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, num_variables=int(rng.integers(1, 6)), missing=missing)
    parent = chow_liu_tree(data, num_categories=categories, pseudocount=pseudocount)
    information = naive_information(data, categories, pseudocount)
    best = max(sum(information[u, v] for u, v in edges) for edges in all_trees(len(categories)))
    assert total_information(parent, information) >= best - len(categories) * module.RESOLUTION


@given(seeds, st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 0.3]))
def test_recoding_categories_and_reordering_rows_keep_the_tree(seed, pseudocount, missing):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, missing=missing)
    options = {"num_categories": categories, "pseudocount": pseudocount}
    parent = chow_liu_tree(data, **options)
    assert np.array_equal(chow_liu_tree(recoded(rng, data, categories), **options), parent)
    assert np.array_equal(chow_liu_tree(data[rng.permutation(len(data))], **options), parent)


def test_ties_of_zero_information_follow_the_columns(rng):
    """Constant columns tie with everything; each hangs on the variable with most information."""
    hub = rng.integers(0, 2, 300)
    near, far = hub ^ (rng.random(300) < 0.1), hub ^ (rng.random(300) < 0.3)
    columns = {"hub": hub, "near": near, "far": far, "empty": 0 * hub, "blank": 0 * hub}
    for names in itertools.permutations(columns):
        parent = chow_liu_tree(np.stack([columns[name] for name in names], axis=1), pseudocount=0)
        edges = {frozenset((names[u], names[v])) for u, v in map(tuple, undirected(parent))}
        assert edges == {frozenset(("hub", name)) for name in ("near", "far", "empty", "blank")}


def test_round_off_does_not_decide_ties(rng):
    """All pairs of columns of this design have one and the same table up to recoding: a tie of all edges."""
    thirds = np.array(list(itertools.product(range(3), repeat=3)))
    design = np.concatenate([thirds, np.repeat(np.arange(3), 5)[:, None].repeat(3, axis=1)])
    design = np.concatenate([design, rng.permutation(design, axis=0)])
    expected = chow_liu_tree(design)
    for _ in range(30):
        data = recoded(rng, rng.permutation(design[:, rng.permutation(3)]), [3, 3, 3])
        assert np.array_equal(chow_liu_tree(data), expected)


@given(seeds)
def test_root_is_the_smallest_node_of_least_eccentricity(seed):
    rng = np.random.default_rng(seed)
    V = int(rng.integers(1, 12))
    names = rng.permutation(V)
    edges = np.array(
        [(names[int(rng.integers(v))], names[v]) for v in range(1, V)], np.int64
    ).reshape(-1, 2)
    parent = module._rooted_at_centre(edges)
    assert np.flatnonzero(parent < 0).tolist() == [int(np.argmin(eccentricities(edges, V)))]
    assert undirected(parent) == {frozenset(edge) for edge in edges.tolist()}
    assert VTree.from_tree(parent).num_variables == V


@pytest.mark.parametrize("pseudocount", [0, 0.1])
@pytest.mark.parametrize(
    "data",
    [
        np.zeros((1, 1), int),
        np.zeros((5, 3), int),
        np.array([[2, 0, 1]]),
        np.full((4, 3), -1),
        np.array([[0, -1], [-1, 0]]),
        np.array([[0, 5, 0], [1, 0, 0]]),
    ],
    ids=["one entry", "constant", "one row", "all missing", "never together", "unused categories"],
)
@pytest.mark.parametrize("num_categories", [None, 7])
def test_degenerate_tables_give_a_tree_and_a_distribution(data, pseudocount, num_categories):
    options = {"num_categories": num_categories, "pseudocount": pseudocount}
    parent = chow_liu_tree(data, **options)
    assert len(parent) == data.shape[1]
    assert np.count_nonzero(parent < 0) == 1
    circuit = chow_liu_circuit(data, **options)
    assert circuit.is_normalized
    expected = np.maximum(data.max(axis=0) + 1, num_categories or 2)
    assert circuit.num_categories == tuple(expected)
    assert naive.likelihood(circuit, naive.states(circuit)).sum() == pytest.approx(1, rel=1e-12)


def test_weights_count_rows_several_times(rng):
    data, categories = random_table(rng, num_rows=40, num_variables=6, missing=0.1)
    times = rng.integers(0, 4, 40)
    repeated = chow_liu_tree(np.repeat(data, times, axis=0), num_categories=categories)
    assert np.array_equal(chow_liu_tree(data, num_categories=categories, weights=times), repeated)
    scaled = chow_liu_tree(
        data, num_categories=categories, weights=times / 1024, pseudocount=0.1 / 1024
    )
    assert np.array_equal(scaled, repeated)


def test_missing_entries_count_where_both_variables_are_present():
    """No row is complete, yet each pair of neighbours has rows; the ends never occur together."""
    data = np.array([[0, 0, -1], [1, 1, -1], [-1, 0, 1], [-1, 1, 0]] * 10)
    assert chow_liu_tree(data).tolist() == [1, -1, 1]
    assert chow_liu_tree(data[:, [1, 0, 2]]).tolist() == [-1, 0, 0]


@pytest.mark.parametrize("function", [chow_liu_tree, chow_liu_circuit])
@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (
            [[0.0, 1.5]],
            {},
            ValueError,
            "`data` holds 1.5 at row 0, column 1, expected whole numbers",
        ),
        ([["a", "b"]], {}, TypeError, "`data` must hold integers .* found <U1"),
        ([0, 1], {}, ValueError, r"`data` must be a table .* found shape \(2,\)"),
        (np.zeros((0, 3), int), {}, ValueError, r"at least one row .* found shape \(0, 3\)"),
        (np.zeros((3, 0), int), {}, ValueError, r"one column, found shape \(3, 0\)"),
        ([[0, 0], [1, -2]], {}, ValueError, "`data` holds -2 at row 1, column 1: categories are"),
        (
            np.array([[0, 2**64 - 1]], np.uint64),
            {},
            ValueError,
            "`data` holds 18446744073709551615 at row 0, column 1",
        ),
        (
            [[2**63 - 1, 0], [0, 1]],
            {},
            ValueError,
            "`data` holds 9223372036854775807 at row 0, column 0: categories are",
        ),
        (
            [[2**31 - 1, 0], [0, 1]],
            {},
            ValueError,
            "`data` holds 2147483647 at row 0, column 0: categories are",
        ),
        ([[0, 20_000]], {}, ValueError, "`data` column 1 has 20001 categories, .* up to 11585"),
        (
            [[0, 0]],
            {"num_categories": 20_000},
            ValueError,
            "has 20000 categories, .* lower `num_categories`",
        ),
        (
            [[0, 0], [1, 2]],
            {"num_categories": 2},
            ValueError,
            "category 2 in column 1, .* only 0..1",
        ),
        (
            [[0, 0]],
            {"num_categories": [2, 2, 2]},
            ValueError,
            "`num_categories` .* each of the 2 columns",
        ),
        (
            [[0, 0]],
            {"num_categories": 0},
            ValueError,
            "`num_categories` must be a whole number from 1 to .* found 0",
        ),
        ([[0, 0]], {"num_categories": 2.5}, TypeError, "`num_categories` must be a whole number"),
        (
            [[0, 0]],
            {"pseudocount": -1},
            ValueError,
            "`pseudocount` must be a finite number of at least 0 .* found -1",
        ),
        (
            [[0, 0]],
            {"pseudocount": np.nan},
            ValueError,
            "`pseudocount` must be a finite .* found nan",
        ),
        (
            [[0, 0]],
            {"pseudocount": np.inf},
            ValueError,
            "`pseudocount` must be a finite .* found inf",
        ),
        (
            [[0, 0]],
            {"pseudocount": "much"},
            TypeError,
            "`pseudocount` must be a finite number .* found 'much'",
        ),
    ],
)
def test_bad_tables(function, data, options, error, message):
    with pytest.raises(error, match=message):
        function(data, **options)


@pytest.mark.parametrize(
    ("function", "option", "message"),
    [
        (chow_liu_tree, {"weights": [1.0]}, r"one per row of `data`, found shape \(1,\)"),
        (chow_liu_tree, {"weights": [1.0, -1.0]}, "from 0 to .* found -1.0 at position 1"),
        (chow_liu_tree, {"weights": [0.0, 0.0]}, "`weights` must not all be zero"),
        (chow_liu_tree, {"weights": [1.0, np.nan]}, "found nan at position 1"),
        (chow_liu_tree, {"weights": [1.0, 1e200]}, "found 1e\\+200 at position 1"),
        (chow_liu_circuit, {"tree": [-1]}, "parent of each of the 2 columns"),
        (chow_liu_circuit, {"tree": [1, 0]}, "`tree` is not a tree on the columns .* 0 roots"),
        (chow_liu_circuit, {"tree": [-1, 2]}, "`tree` must be the parent of each .* found 2"),
        (chow_liu_circuit, {"tree": [-1, 1]}, "has a cycle"),
    ],
)
def test_bad_weights_and_trees(function, option, message):
    with pytest.raises(ValueError, match=message):
        function([[0, 0], [1, 1]], **option)


def test_the_largest_masses_leave_finite_numbers(rng):
    data = rng.integers(0, 3, size=(40, 3))
    for options in (
        {"pseudocount": 1e100},
        {"weights": np.full(40, 1e100)},
    ):
        assert sorted(chow_liu_tree(data, **options))[0] == -1
    tree = chow_liu_tree(data)
    np.testing.assert_array_equal(
        chow_liu_tree(data, weights=np.full(40, 2.0**300), pseudocount=0),
        chow_liu_tree(data, pseudocount=0),
    )
    assert chow_liu_circuit(data, pseudocount=1e100, tree=tree).is_normalized


# Mean test log-likelihood of the Chow-Liu tree in nats per row, computed with plug-in counts + alpha per
# joint cell for alpha = 0.01, 0.1, 1 on the standard splits (Lowd and Davis 2010, Van Haaren and Davis 2012).
REFERENCE = {
    "nltcs": (-6.75907, -6.75907, -6.75904),
    "msnbc": (-6.54013, -6.54013, -6.54013),
    "kdd": (-2.29491, -2.29491, -2.29489),
    "plants": (-16.52406, -16.52406, -16.52402),
    "audio": (-44.37493, -44.37493, -44.37490),
    "jester": (-58.22966, -58.22966, -58.22653),
    "netflix": (-60.25038, -60.25038, -60.25035),
    "accidents": (-33.18526, -33.18552, -33.18811),
    "dna": (-87.66215, -87.66874, -87.73478),
    "book": (-37.82778, -37.83257, -37.83148),
}


def look_up(tree, train, rows, pseudocount, categories):
    """(N,) log-likelihood of the Chow-Liu distribution, rows looked up in its tables, without a circuit."""
    total = np.zeros(len(rows))
    for v, p in enumerate(tree):
        own, C = train[:, v].astype(np.int64), categories[v]
        if p < 0:
            table = np.bincount(own, minlength=C) + pseudocount / C
            total += np.log(table / table.sum())[rows[:, v]]
            continue
        codes = train[:, p].astype(np.int64) * C + own
        table = np.bincount(codes, minlength=categories[p] * C).reshape(-1, C)
        table = table + pseudocount / (C * categories[p])
        total += np.log(table / table.sum(axis=1, keepdims=True))[rows[:, p], rows[:, v]]
    return total


@given(seeds, st.sampled_from([0.1, 2.0]))
def test_circuit_is_the_chow_liu_distribution(seed, pseudocount):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, num_variables=int(rng.integers(1, 6)))
    options = {"num_categories": categories, "pseudocount": pseudocount}
    circuit = chow_liu_circuit(data, **options)
    tree = chow_liu_tree(data, **options)
    states = naive.states(circuit)
    expected = look_up(tree, data, states, pseudocount, categories)
    assert circuit.is_normalized
    np.testing.assert_allclose(
        naive.log_likelihood(circuit, states), expected, rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(
        pcircuit.log_likelihood(circuit, states), expected, rtol=1e-12, atol=1e-13
    )
    assert np.exp(expected).sum() == pytest.approx(1, rel=1e-12)


@given(seeds)
def test_circuit_is_deterministic_and_laid_out_along_the_tree(seed):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, num_variables=int(rng.integers(2, 6)))
    circuit = chow_liu_circuit(data, num_categories=categories)
    parent = chow_liu_tree(data, num_categories=categories)
    assert circuit.vtree == VTree.from_tree(parent)
    values = naive.node_values(circuit, naive.states(circuit))
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            continue
        v = circuit.vtree.variables[r - 1]
        C = categories[v]
        num_children = len(circuit.vtree.children(r))
        assert np.array_equal(region.products, np.arange(C)[:, None].repeat(num_children, axis=1))
        assert region.weights.shape == (1 if parent[v] < 0 else categories[parent[v]], C)
        assert np.array_equal(circuit.regions[r - 1].probs, np.eye(C))
        products = values[:, circuit.offsets[r] : circuit.offsets[r] + C]
        assert np.count_nonzero(products, axis=1).max() <= 1


def test_parent_category_that_never_occurs_has_a_uniform_row():
    data = [[0, 0], [0, 1], [2, 1]]
    circuit = chow_liu_circuit(data, pseudocount=0, num_categories=[3, 2], tree=[-1, 0])
    assert np.array_equal(circuit.regions[0].probs, [[0.5, 0.5], [0.5, 0.5], [0, 1]])
    np.testing.assert_allclose(circuit.regions[-1].weights, [[2 / 3, 0, 1 / 3]])


def test_tables_of_missing_data_come_from_the_rows_where_both_are_present():
    data = np.array([[0, 0], [0, 1], [0, -1], [1, 1], [-1, 0]])
    circuit = chow_liu_circuit(data, pseudocount=0, tree=[-1, 0])
    assert np.array_equal(circuit.regions[0].probs, [[0.5, 0.5], [0, 1]])
    assert np.array_equal(circuit.regions[-1].weights, [[0.75, 0.25]])


@pytest.mark.thorough
@pytest.mark.parametrize("name", REFERENCE)
def test_log_likelihood_of_the_binary_sets(data_folder, name):
    with np.load(data_folder / "binary" / f"{name}.npz", allow_pickle=False) as file:
        train, test = file["train"], file["test"]
    for alpha, expected in zip((0.01, 0.1, 1), REFERENCE[name], strict=True):
        options = {"num_categories": 2, "pseudocount": 4 * alpha}
        tree = chow_liu_tree(train, **options)
        by_table = look_up(tree, train, test, 4 * alpha, [2] * train.shape[1])
        by_circuit = pcircuit.log_likelihood(chow_liu_circuit(train, tree=tree, **options), test)
        assert round(by_table.mean(), 5) == expected
        np.testing.assert_allclose(by_circuit, by_table, rtol=1e-12)
