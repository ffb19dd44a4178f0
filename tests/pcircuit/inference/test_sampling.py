"""Sampling against enumeration: frequencies inside exact binomial bounds, and what holds for every draw."""

import naive
import numpy as np
import pytest
import scipy.sparse
import zoo
from fixed_uniforms import FixedUniforms
from hypothesis import given
from scipy.stats import binom

from pcircuit import Circuit, InnerRegion, InputRegion, Mixture, StructureError, VTree, sample
from pcircuit.inference import sampling

FALSE_ALARM = 1e-6  # of a whole test, by Bonferroni's bound over everything that it counts
SMALLEST, LARGEST = 0.0, 1.0 - 2.0**-53  # the extreme values of Generator.random
CIRCUITS = zoo.circuits()


def assert_frequencies(rows, states, probs, num_tests=1):
    """The counts of the states among the rows are inside exact two-sided binomial bounds, one per state."""
    places = np.ravel_multi_index(states.T, states.max(axis=0) + 1)
    found = np.ravel_multi_index(rows.astype(np.int64).T, states.max(axis=0) + 1)
    assert np.isin(found, places).all()
    counts = np.array([np.count_nonzero(found == place) for place in places])
    assert (counts[probs == 0] == 0).all()
    probs = np.minimum(probs, 1.0)
    tails = np.minimum(binom.cdf(counts, len(rows), probs), binom.sf(counts - 1, len(rows), probs))
    assert 2 * tails.min() >= FALSE_ALARM / len(states) / num_tests


def masked(rng, rows, fraction):
    """Copy of the rows in which each entry is missing with the given probability."""
    return np.where(rng.random(rows.shape) < fraction, -1, rows.astype(np.int64))


@pytest.mark.parametrize("name", CIRCUITS)
def test_frequencies_of_all_states(name):
    circuit = CIRCUITS[name]
    states = naive.states(circuit)
    rows = sample(circuit, 40_000, rng=11)
    assert_frequencies(rows, states, naive.likelihood(circuit, states), len(CIRCUITS))


def test_bounds_reject_a_small_error():
    def coins(weight):
        region = InnerRegion([[0, 0], [1, 1]], [[weight, 1 - weight]])
        return Circuit(VTree.from_nested([0, 1]), [*CIRCUITS["two_coins"].regions[:2], region])

    states = naive.states(coins(0.25))
    rows = sample(coins(0.28), 40_000, rng=11)
    with pytest.raises(AssertionError):
        assert_frequencies(rows, states, naive.likelihood(coins(0.25), states), len(CIRCUITS))


@pytest.mark.parametrize("name", CIRCUITS)
def test_completions_follow_the_conditional(name):
    circuit = CIRCUITS[name]
    rng = np.random.default_rng(5)
    for row in masked(rng, sample(circuit, 4, rng=rng), 0.5):
        states = naive.completions(circuit, row)
        joint = naive.likelihood(circuit, states)
        rows = sample(circuit, 5_000, given=row[None], rng=rng)
        assert (rows[:, row >= 0] == row[row >= 0]).all()
        free = np.flatnonzero(row < 0)
        if len(free):
            assert_frequencies(
                rows[:, free], states[:, free], joint / joint.sum(), 4 * len(CIRCUITS)
            )


@given(zoo.circuit_strategy(zeros=True))
def test_no_impossible_row(circuit):
    for uniforms in (FixedUniforms(SMALLEST), FixedUniforms(LARGEST), np.random.default_rng(0)):
        rows = sample(circuit, 20, rng=uniforms)
        assert (naive.likelihood(circuit, rows) > 0).all()
        evidence = masked(np.random.default_rng(1), rows, 0.5)
        completed = sample(circuit, given=evidence, rng=uniforms)
        assert (naive.likelihood(circuit, completed) > 0).all()
        assert (completed[evidence >= 0] == rows[evidence >= 0]).all()


@pytest.mark.parametrize("total", [1 - 9e-10, 1.0, 1 + 9e-10])
@pytest.mark.parametrize(("uniform", "expected"), [(SMALLEST, 1), (LARGEST, 3)])
def test_rounded_sums_do_not_reach_impossible_categories(total, uniform, expected):
    probs = np.array([[0.0, 0.1, 0.2, 0.7, 0.0, 0.0]])
    probs[0, 3] += total - 1
    leaf = Circuit(VTree([-1], [0]), [InputRegion(0, probs)])
    one, chain = np.ones((1, 1)), VTree.from_nested([0, 1])
    categories = InputRegion(0, np.eye(6))
    products = np.stack([np.arange(6), np.zeros(6, dtype=int)], axis=1)
    for weights in (probs, scipy.sparse.csr_array(probs)):
        circuit = Circuit(chain, [categories, InputRegion(1, one), InnerRegion(products, weights)])
        assert (sample(circuit, 3, rng=FixedUniforms(uniform))[:, 0] == expected).all()
        assert (
            sample(circuit, given=[[-1, 0]], rng=FixedUniforms(uniform))[:, 0] == expected
        ).all()
    assert (sample(leaf, 3, rng=FixedUniforms(uniform)) == expected).all()


def test_small_probabilities_have_their_exact_intervals():
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[2.0**-40, 1 - 2.0**-40]])])
    for uniform, expected in (
        (2.0**-41, 0),
        (np.nextafter(2.0**-40, 0), 0),
        (2.0**-40, 1),
        (2.0**-39, 1),
    ):
        assert sample(coin, 1, rng=FixedUniforms(uniform)) == expected


def test_seed_and_generator_reproduce():
    circuit = CIRCUITS["nary"]
    rows = sample(circuit, 500, rng=3)
    np.testing.assert_array_equal(rows, sample(circuit, 500, rng=3))
    np.testing.assert_array_equal(rows, sample(circuit, 500, rng=np.random.default_rng(3)))
    assert (rows != sample(circuit, 500, rng=4)).any()
    generator = np.random.default_rng(3)
    assert (sample(circuit, 500, rng=generator) != sample(circuit, 500, rng=generator)).any()
    assert sample(circuit, 5).shape == (5, 8)


def test_frequencies_of_a_mixture():
    """Circuits are drawn as often as their weights say, and independently of what is drawn from them."""
    coins = [
        Circuit(
            VTree.from_nested([0, 1]),
            [
                InputRegion(0, [[p, 1 - p]]),
                InputRegion(1, [[0.5, 0.5]]),
                InnerRegion([[0, 0]], [[1.0]]),
            ],
        )
        for p in (0.9, 0.2)
    ]
    states = naive.states(coins[0])
    probs = 0.3 * naive.likelihood(coins[0], states) + 0.7 * naive.likelihood(coins[1], states)
    rows = sample(Mixture(coins, [0.3, 0.7]), 40_000, rng=11)
    assert_frequencies(rows, states, probs, 3)
    assert_frequencies(
        rows[::2] + 2 * rows[1::2],
        np.array([[a, b] for a in range(4) for b in range(4)]),
        np.array(
            [
                probs.reshape(2, 2)[a % 2, b % 2] * probs.reshape(2, 2)[a // 2, b // 2]
                for a in range(4)
                for b in range(4)
            ]
        ),
        3,
    )
    completed = sample(Mixture(coins, [0.3, 0.7]), 40_000, given=[[0, -1]], rng=12)
    assert_frequencies(completed[:, 1:], np.array([[0], [1]]), np.array([0.5, 0.5]), 3)


def test_sparse_and_dense_weights_give_the_same_rows():
    sparse = CIRCUITS["irregular_csr"]
    dense = Circuit(
        sparse.vtree,
        [
            region
            if isinstance(region, InputRegion)
            else InnerRegion(region.products, region.dense_weights())
            for region in sparse.regions
        ],
    )
    np.testing.assert_array_equal(sample(sparse, 2000, rng=0), sample(dense, 2000, rng=0))


def test_rows_of_very_unequal_length():
    rng = np.random.default_rng(8)
    weights = np.zeros((3, 40))
    weights[0], weights[1, 17], weights[2, [3, 39]] = rng.dirichlet(np.ones(40)), 1.0, [0.25, 0.75]
    products = np.stack([np.arange(40), np.zeros(40, dtype=int)], axis=1)
    circuit = Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, np.eye(40)),
            InputRegion(1, [[1.0]]),
            InnerRegion(products, scipy.sparse.csr_array(weights)),
            InputRegion(2, np.eye(3)),
            InnerRegion([[0, 0], [1, 1], [2, 2]], [[0.3, 0.3, 0.4]]),
        ],
    )
    states = naive.states(circuit)
    assert_frequencies(sample(circuit, 40_000, rng=2), states, naive.likelihood(circuit, states))


def class_circuit(num_variables, probs):
    """Two classes: variables that equal the class with probability `probs`, and the class itself, last."""
    vtree = VTree.from_nested([*range(num_variables), num_variables])
    inputs = [
        InputRegion(v, [[probs, 1 - probs], [1 - probs, probs]]) for v in range(num_variables)
    ]
    products = np.repeat([[0], [1]], num_variables + 1, axis=1)
    classes = InputRegion(num_variables, np.eye(2))
    return Circuit(vtree, [*inputs, classes, InnerRegion(products, [[0.5, 0.5]])])


@pytest.mark.thorough
@pytest.mark.parametrize(("surplus", "posterior"), [(0, 0.5), (1, 0.9), (2, 81 / 82)])
def test_more_than_a_thousand_observed_variables(surplus, posterior):
    # the first 600 observations favour class 0 by a factor of 9 each, the last 600 - surplus class 1: half
    # way the classes are 10**-572 apart, in the end the odds of class 0 are 9**surplus : 1
    row = np.concatenate([np.zeros(600, dtype=int), np.ones(600 - surplus, dtype=int), [-1]])
    rows = sample(class_circuit(1200 - surplus, 0.9), 2000, given=row[None], rng=6)
    assert_frequencies(rows[:, -1:], np.array([[0], [1]]), np.array([posterior, 1 - posterior]), 3)


def test_unlikely_class_that_alone_is_possible():
    # 800 observations favour class 0 by 9 : 1 each, but variable 801 says that it is class 1: a region shows
    # both classes, and the one that is needed is smaller by 10**-763
    vtree = VTree.from_nested([list(range(801)), 801])
    inputs = [InputRegion(v, [[0.9, 0.1], [0.1, 0.9]]) for v in range(800)] + [
        InputRegion(800, np.eye(2))
    ]
    middle = InnerRegion(np.repeat([[0], [1]], 801, axis=1), np.eye(2))
    circuit = Circuit(
        vtree,
        [*inputs, middle, InputRegion(801, np.eye(2)), InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])],
    )
    evidence = np.zeros((3, 802), dtype=int)
    evidence[:, 800] = -1
    evidence[1, 801] = 1
    np.testing.assert_array_equal(sample(circuit, given=evidence, rng=0)[:, 800], [0, 1, 0])
    evidence[1, 800] = 0
    with pytest.raises(ValueError, match="`given` has probability zero at row 1"):
        sample(circuit, given=evidence)


def test_longer_samples_begin_with_the_shorter(monkeypatch):
    circuit = CIRCUITS["irregular_csr"]
    rows = sample(circuit, 100, rng=0)
    evidence = masked(np.random.default_rng(0), rows, 0.5)
    completed = sample(circuit, given=evidence, rng=0)
    np.testing.assert_array_equal(rows[:30], sample(circuit, 30, rng=0))
    for size in (1, 7, 64):
        monkeypatch.setattr(sampling, "_rows_per_block", lambda *_, size=size: size)
        np.testing.assert_array_equal(rows, sample(circuit, 100, rng=0))
        np.testing.assert_array_equal(completed, sample(circuit, given=evidence, rng=0))


def test_longer_samples_of_a_mixture_begin_with_the_shorter():
    """Circuits of other structures, one of which is drawn seldom."""
    first = CIRCUITS["hclt_like"]
    V = first.num_variables
    other = Circuit(
        VTree.balanced(V),
        [
            InputRegion(v, [np.full(first.num_categories[v], 1 / first.num_categories[v])])
            if v >= 0
            else InnerRegion([[0, 0]], [[1.0]])
            for v in VTree.balanced(V).variables.tolist()
        ],
    )
    mixture = Mixture([first, other, first], [0.5, 0.49, 0.01])
    rows = sample(mixture, 5000, rng=3)
    evidence = masked(np.random.default_rng(0), rows, 0.5)
    completed = sample(mixture, given=evidence, rng=4)
    for n in (0, 1, 2, 100, 4999):
        np.testing.assert_array_equal(rows[:n], sample(mixture, n, rng=3))
        np.testing.assert_array_equal(completed[:n], sample(mixture, given=evidence[:n], rng=4))
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(rows, sample(mixture, 5000, rng=generator))
    assert (rows != sample(mixture, 5000, rng=generator)).any()


@pytest.mark.parametrize(
    ("num_categories", "dtype"),
    [(1, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)],
)
def test_dtype_and_shape(num_categories, dtype):
    circuit = Circuit(
        VTree([-1], [0]), [InputRegion(0, np.full((1, num_categories), 1 / num_categories))]
    )
    rows = sample(circuit, 50, rng=0)
    assert rows.dtype == dtype
    assert rows.shape == (50, 1)
    assert (sample(circuit, 1, rng=FixedUniforms(LARGEST)) == num_categories - 1).all()
    assert sample(circuit, 0).shape == (0, 1)
    assert sample(circuit, given=np.empty((0, 1), dtype=int)).shape == (0, 1)
    small = sample(circuit, 30, given=np.array([[-1]], dtype=np.int8), rng=FixedUniforms(LARGEST))
    assert (small == num_categories - 1).all()  # evidence of a dtype too small for the result


def test_impossible_evidence_names_the_first_row(monkeypatch):
    circuit = CIRCUITS["deterministic"]
    possible = sample(circuit, 1, rng=0).astype(int)
    bad = naive.states(circuit)[naive.likelihood(circuit, naive.states(circuit)) == 0][:1]
    evidence = np.concatenate([np.repeat(possible, 10, axis=0), bad, bad])
    for size in (3, 100):
        monkeypatch.setattr(sampling, "_rows_per_block", lambda *_, size=size: size)
        with pytest.raises(ValueError, match="probability zero at row 10:"):
            sample(circuit, given=evidence, rng=0)


WRONG = [
    ({}, ValueError, "`num_samples` is missing"),
    (
        {"num_samples": -1},
        ValueError,
        "`num_samples` must be a whole number of at least 0, found -1",
    ),
    *(
        (
            {"num_samples": wrong},
            TypeError,
            "`num_samples` must be a whole number of at least 0, found",
        )
        for wrong in (2.5, "3", True, [4])
    ),
    (
        {"num_samples": 4, "given": np.zeros((3, 2), dtype=int)},
        ValueError,
        "`num_samples` is 4 but `given` has 3 rows",
    ),
    ({"given": [[0, 0], [2, 0]]}, ValueError, "holds 2 at row 1, column 0"),
    ({"given": [[0, 0, 0]]}, ValueError, "must have shape"),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        sample(CIRCUITS["two_coins"], **options)


def test_only_distributions_are_drawn_from():
    with pytest.raises(StructureError, match="`circuit` is not normalised"):
        sample(zoo.unnormalized_circuits()["dense"], 3)


@pytest.mark.parametrize(
    "model", [CIRCUITS["two_coins"], Mixture([CIRCUITS["two_coins"]])], ids=["circuit", "mixture"]
)
@pytest.mark.parametrize("count", [2**62, 2**63 - 1, 10**30])
def test_more_rows_than_any_memory_holds(model, count):
    with pytest.raises(
        MemoryError, match=f"a table of {count} rows takes .*: draw fewer at a time"
    ):
        sample(model, count)
