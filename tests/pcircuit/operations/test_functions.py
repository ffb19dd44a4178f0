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


def test_covariances_beyond_doubles_are_infinite_and_not_nan():
    coin, up, down, same, large, nothing = (
        Circuit(VTree([-1], [0]), [InputRegion(0, [row])])
        for row in (
            [0.5, 0.5],
            [2e200, 1e200],
            [1e200, 2e200],
            [1e200, 1e200],
            [1e308] * 2,
            [0.0, 0.0],
        )
    )
    assert pcircuit.variance(coin, up) == pcircuit.covariance(coin, up, up) == np.inf
    assert pcircuit.covariance(coin, up, down) == -np.inf
    assert pcircuit.covariance(coin, same, same) == pcircuit.covariance(coin, large, nothing) == 0


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
        ([[0, 1], [0, 1]], 1, ValueError, "`values` must be whole numbers .*, found 1"),
        (
            [[0, 1], [0, 1]],
            [[]],
            ValueError,
            r"`values` must be whole numbers .*, found \[\[\]\]",
        ),
        (
            [[0, 1], [0, 1]],
            [[1]],
            ValueError,
            r"`values` must be whole numbers .*, found \[\[1\]\]",
        ),
        (
            [[2**62, 0], [2**62, 0]],
            [-(2**63)],
            ValueError,
            r"sums between -2\*\*62 and 2\*\*62, found .* 92233720368547758",
        ),
        (
            [[-(2**61), 0], [-(2**61), -(2**61) - 1]],
            [0],
            ValueError,
            r"sums between -2\*\*62 and 2\*\*62",
        ),
        (
            np.array([[2**63, 0], [0, 1]], "u8"),
            [0],
            ValueError,
            "`functions` must be whole numbers, .*, found 92233",
        ),
    ],
)
def test_bad_counts_get_one_sentence(functions, values, error, message):
    with pytest.raises(error, match=message):
        pcircuit.sum_indicator(VTree.balanced(2), functions, values)
    with pytest.raises(TypeError, match=r"`vtree` must be a pcircuit\.VTree, found Circuit"):
        pcircuit.sum_indicator(ZOO["two_coins"], [[0, 1]] * 2, {1})


@pytest.mark.parametrize(
    "values", [range(0), range(3, -3, -2), range(-(2**70), 2**70, 3), range(2**64, 2**65)]
)
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


def test_drawn_mutual_information_lies_within_its_error(monkeypatch):
    exact = pcircuit.mutual_information(FEW, [0, 1], [2, 3]).value
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)
    found = pcircuit.mutual_information(FEW, [0, 1], [2, 3], num_samples=4000, rng=0)
    assert found.method == "monte-carlo"
    assert abs(found.value - exact) < 4.5 * found.error  # 7e-6


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
    with pytest.raises(ValueError, match="2 finite numbers for variable 1"):
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


@pytest.mark.parametrize(
    "functions",
    [
        [[2**62, 2**62 + 1], [0, 0]],
        [[2**53, 2**53 + 1], [0, 1]],
        [[2**63, 2**63], [0, 1]],
        [[0, 0], [-(2**53), 0]],
        [[0, 0], [-(2**53) - 1, -(2**53)]],
        [[0.0, 1e300], [0, 1]],
        [[10**25, 0], [0, 1]],
    ],
)
def test_numbers_that_doubles_do_not_hold_are_refused(functions):
    with pytest.raises(
        ValueError, match=r"between -2\*\*53 and 2\*\*53, .*, found .* for variable [01]: subtract"
    ):
        pcircuit.sum_distribution(coins(2), functions)


def test_the_largest_numbers_are_exact():
    most = 2**53 - 1
    for functions in (
        [[most - 1, most], [0, 1]],
        [[-most, -most + 1], [most, most - 1]],
        [[-most, -most], [0, 1]],
    ):
        support, law = pcircuit.sum_distribution(coins(2), functions)
        expected = {}
        for i in range(2):
            for j in range(2):
                total = functions[0][i] + functions[1][j]
                expected[total] = expected.get(total, 0) + [0.25, 0.75][i] * [0.25, 0.75][j]
        assert dict(zip(support.tolist(), law.tolist(), strict=True)) == pytest.approx(
            expected, rel=1e-15
        )


def test_sums_beyond_64_bits_are_refused():
    most, V = 2**53 - 1, 600
    support, law = pcircuit.sum_distribution(
        coins(V), [[most, most - 1]] * 500 + [[0, 0]] * (V - 500)
    )
    assert (int(support[0]), int(support[-1])) == (500 * (most - 1), 500 * most)
    assert law.sum() == pytest.approx(1, rel=1e-12)
    for sign in (-1, 1):
        with pytest.raises(ValueError, match=r"must have sums between -2\*\*62 and 2\*\*62"):
            pcircuit.sum_distribution(coins(V), [[sign * most, sign * (most - 1)]] * V)


def test_moments_of_sums_beyond_doubles_are_refused_and_not_nan():
    """A constant of 3.4e308 had the mean inf and the variance nan."""
    for functions in ([[1.7e308, 1.7e308], [1.7e308, 1.7e308]], [[0, 1e308], [-1e308, 0]]):
        with pytest.raises(
            ValueError,
            match=r"`functions` must have sums below 2\*\*1023 in size, found numbers that",
        ):
            pcircuit.linear_moments(coins(2), functions)
    mean, variance = pcircuit.linear_moments(coins(2), [[4e307, 4e307], [0, 4e307]])
    assert mean == pytest.approx(7e307, rel=1e-15)
    assert variance == np.inf
    assert pcircuit.linear_moments(coins(2), [[4e307, 4e307], [4e307, 4e307]]) == (8e307, 0.0)


def test_what_never_happens_does_not_count_however_large_it_is():
    leaf = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5, 0.0]])])
    assert pcircuit.linear_moments(leaf, [[0, 2, 1e200]]) == (1.0, 1.0)
    pair = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]),
            InputRegion(1, [[1.0]]),
            InnerRegion([[0, 0], [1, 0]], [[1.0, 0.0]]),
        ],
    )
    assert pcircuit.linear_moments(pair, [[0, 2, 1e200], [0]]) == (1.0, 1.0)
