"""Functions that are circuits, against sums over all states; and the table of queries, row by row."""

import pathlib

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree

ZOO = zoo.circuits()
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "queries.md"


def turned(circuit):
    """Another function on the same v-tree: levels in reverse order, twice as large."""
    return Circuit(
        circuit.vtree,
        [
            InputRegion(r.variable, 2 * r.probs[:, ::-1]) if isinstance(r, InputRegion) else r
            for r in circuit.regions
        ],
    )


@pytest.mark.parametrize("name", ZOO)
def test_expectations_and_covariances_are_sums_over_states(name):
    p, g = ZOO[name], turned(ZOO[name])
    weights, f, h = (naive.likelihood(c, naive.states(p)) for c in (p, p, g))
    assert pcircuit.expectation(p, g) == pytest.approx(weights @ h, rel=1e-12)
    expected = weights @ ((f - weights @ f) * (h - weights @ h))
    assert pcircuit.covariance(p, p, g) == pytest.approx(
        expected, rel=1e-9, abs=1e-15 * (1 + weights @ (f * h))
    )
    spread = weights @ (h - weights @ h) ** 2
    assert pcircuit.variance(p, g) == pytest.approx(
        spread, rel=1e-9, abs=1e-15 * (1 + weights @ h**2)
    )


@pytest.mark.parametrize(
    "powers", [(-700, 700), (-1400, 1390), (900, -1800), (-600, 1500), (1020, 1)]
)
def test_covariances_of_functions_beyond_doubles_are_those_of_their_multiples(powers):
    """f and g times 2^a and 2^b: no digit is lost where E f is 0 or infinite as a double, or E fg 2^1021."""
    tree = VTree.from_nested([0, 1])

    def scaled(rows, power):
        halves = power // 2, power - power // 2
        tables = [np.ldexp(np.array([row]), half) for row, half in zip(rows, halves, strict=True)]
        return Circuit(
            tree,
            [InputRegion(v, table) for v, table in enumerate(tables)]
            + [InnerRegion([[0, 0]], [[1]])],
        )

    coins = scaled([[0.5, 0.5], [0.25, 0.75]], 0)
    f, g = [[0.25, 0.5], [0.5, 0.25]], [[0.125, 0.75], [0.5, 0.25]]
    expected = pcircuit.covariance(coins, scaled(f, 0), scaled(g, 0))
    found = pcircuit.covariance(coins, scaled(f, powers[0]), scaled(g, powers[1]))
    assert found == np.ldexp(expected, sum(powers))


def test_expectations_need_a_distribution():
    with pytest.raises(StructureError, match="not normalised"):
        pcircuit.expectation(turned(ZOO["two_coins"]), ZOO["two_coins"])
    with pytest.raises(StructureError, match="`f`"):
        pcircuit.variance(ZOO["two_coins"], ZOO["rat_like"])


@pytest.mark.parametrize("name", ZOO)
def test_circuits_that_count_are_indicators(name):
    circuit, rng = ZOO[name], np.random.default_rng(8)
    X, p = naive.states(circuit), naive.likelihood(circuit, naive.states(circuit))
    g = [rng.integers(-1, 3, C) for C in circuit.num_categories]
    total = sum(table[X[:, v]] for v, table in enumerate(g))
    for values in ([int(total[0])], range(1, 50), []):
        counting = pcircuit.sum_indicator(circuit.vtree, g, values)
        inside = np.isin(total, list(values))
        np.testing.assert_array_equal(naive.likelihood(counting, X), inside.astype(float))
        assert pcircuit.expectation(circuit, counting) == pytest.approx(
            p[inside].sum(), rel=1e-11, abs=1e-300
        )
        assert pcircuit.properties(counting).deterministic
    support, law = pcircuit.sum_distribution(circuit, g)
    assert pcircuit.expectation(
        circuit, pcircuit.sum_indicator(circuit.vtree, g, [int(support[-1])])
    ) == pytest.approx(law[-1], rel=1e-11)


@pytest.mark.parametrize(
    ("functions", "values", "error", "message"),
    [
        ([[0, 1]], {1}, ValueError, "one array for each of the 2 variables, found 1"),
        ([[0, 1], [0.5, 1]], {1}, (TypeError, ValueError), "`functions` must be whole numbers"),
        ([[0, 1], []], {1}, ValueError, "one number for each level of variable 1"),
        ([[0, 1], [0, 1]], 1.5, (TypeError, ValueError), "`values` must be whole numbers"),
        (3, {1}, TypeError, "must be a sequence of arrays"),
        (np.array(3), {1}, TypeError, "must be a sequence of arrays"),
        (
            [[2**62, 0], [2**62, 0]],
            [0],
            ValueError,
            "numbers up to 1000000000000 in size, .*, found",
        ),
    ],
)
def test_bad_counts_get_one_sentence(functions, values, error, message):
    with pytest.raises(error, match=message):
        pcircuit.sum_indicator(VTree.balanced(2), functions, values)
    with pytest.raises(TypeError, match=r"`vtree` must be a pcircuit\.VTree, found Circuit"):
        pcircuit.sum_indicator(ZOO["two_coins"], [[0, 1]] * 2, {1})


@pytest.mark.parametrize("values", [range(0), range(3, -3, -2)])
def test_a_range_is_the_list_of_its_values(values):
    tree, functions = VTree.balanced(3), [[-1, 2]] * 3
    listed = [value for value in range(-3, 7) if value in values]
    assert pcircuit.sum_indicator(tree, functions, values) == pcircuit.sum_indicator(
        tree, functions, listed
    )
    leaf = VTree([-1], [0])
    assert pcircuit.sum_indicator(leaf, [[4, -1]], values) == pcircuit.sum_indicator(
        leaf, [[4, -1]], listed
    )


def test_a_wide_node_that_counts_is_refused():
    flat = VTree.from_nested(list(range(40)))
    with pytest.raises(ValueError, match="use a v-tree with two children a node"):
        pcircuit.sum_indicator(flat, [[0, 1]] * 40, {3})


# -- the table: what each function says of each kind of circuit -------------------------------------------------------

HIDDEN = pcircuit.rat_spn(
    [4] * 12, num_units=3, depth=2, rng=0
)  # many states, hidden ones among them
OTHER = pcircuit.rat_spn([4] * 12, num_units=3, depth=2, rng=1)
OTHER = Circuit(
    HIDDEN.vtree,
    [
        InputRegion(a.variable, b.probs)
        if isinstance(a, InputRegion)
        else InnerRegion(a.products, b.weights)
        for a, b in zip(HIDDEN.regions, OTHER.regions, strict=True)
    ],
)
_ROWS = np.random.default_rng(0).integers(0, 4, (60, 12))
TREE = pcircuit.chow_liu_circuit(_ROWS, num_categories=[4] * 12)  # many states, deterministic
FEW = ZOO["hclt_like"]  # hidden states, few joint ones
CALLS = {
    "entropy": lambda c, d: pcircuit.entropy(c, num_samples=50, rng=0),
    "cross_entropy": lambda c, d: pcircuit.cross_entropy(c, d, num_samples=50, rng=0),
    "kl_divergence": lambda c, d: pcircuit.kl_divergence(c, d, num_samples=50, rng=0),
    "mutual_information": lambda c, d: pcircuit.mutual_information(
        c,
        range(c.num_variables // 2),
        range(c.num_variables // 2, c.num_variables),
        num_samples=50,
        rng=0,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_exact_where_is_what_the_table_says(name):
    line = next(
        line
        for line in PAGE.read_text().splitlines()
        if f"`{name}`" in line and line.startswith("|")
    )
    says = line.split("|")[3]
    found = [
        CALLS[name](c, d).method == "exact" for c, d in ((FEW, FEW), (TREE, TREE), (HIDDEN, HIDDEN))
    ]
    assert found == ["few" in says, "deterministic" in says, False]


@pytest.mark.parametrize("name", ZOO)
def test_linear_functions_have_their_moments_and_distribution(name):
    circuit, rng = ZOO[name], np.random.default_rng(4)
    X, p = naive.states(circuit), naive.values(circuit)
    g = [rng.integers(-2, 4, C) for C in circuit.num_categories]
    total = sum(table[X[:, v]] for v, table in enumerate(g))
    mean, variance = pcircuit.linear_moments(circuit, g)
    assert mean == pytest.approx(p @ total, rel=1e-12, abs=1e-12)
    assert variance == pytest.approx(p @ (total - p @ total) ** 2, rel=1e-10, abs=1e-12)
    support, law = pcircuit.sum_distribution(circuit, g)
    expected = [p[total == s].sum() for s in support]
    np.testing.assert_allclose(law, expected, rtol=1e-11, atol=1e-300)
    assert support[0] == sum(table.min() for table in g)
    assert support[-1] == sum(table.max() for table in g)


def test_linear_functions_are_checked():
    circuit = ZOO["two_coins"]
    with pytest.raises(ValueError, match="one array for each of the 2 variables, found 1"):
        pcircuit.linear_moments(circuit, [[0, 1]])
    with pytest.raises(ValueError, match="must hold whole numbers"):
        pcircuit.sum_distribution(circuit, [[0, 0.5], [0, 1]])
    with pytest.raises(ValueError, match=r"2 numbers up to 1e\+150 in size for variable 1"):
        pcircuit.linear_moments(circuit, [[0, 1], [0, np.nan]])
    with pytest.raises(ValueError, match="expected at most 1000000"):
        pcircuit.sum_distribution(circuit, [[0, 10**7], [0, 1]])
    for function in (pcircuit.linear_moments, pcircuit.sum_distribution):
        with pytest.raises(
            TypeError, match=r"`functions` must be a sequence of arrays, .* found array\(3\)"
        ):
            function(circuit, np.array(3))


def coins(V):
    return Circuit(
        VTree.from_nested(list(range(V))),
        [*[InputRegion(v, [[0.25, 0.75]]) for v in range(V)], InnerRegion([[0] * V], [[1.0]])],
    )


def test_numbers_of_a_size_that_loses_digits_are_refused():
    for functions in ([[10**12 + 1, 0], [0, 0]], [[0, 0], [-1e13, 0]]):
        with pytest.raises(ValueError, match=r"up to 1e\+12 in size for variable [01]"):
            pcircuit.sum_distribution(coins(2), functions)
    with pytest.raises(ValueError, match=r"up to 1e\+150 in size for variable 0"):
        pcircuit.linear_moments(coins(2), [[0, 1e151], [0, 0]])
    support, law = pcircuit.sum_distribution(coins(2), [[10**12 - 1, 10**12], [10**12, 10**12]])
    assert support.tolist() == [2 * 10**12 - 1, 2 * 10**12]
    assert law == pytest.approx([0.25, 0.75], rel=1e-15)
    assert pcircuit.linear_moments(coins(2), [[1e150] * 2, [1e150] * 2]) == (2e150, 0.0)
