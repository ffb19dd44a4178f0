"""The test itself: statistic, options, missing values, calibration in small, threads, and misuse."""

import threading

import naive
import numpy as np
import pytest
from binomial_bounds import SURE, at_least, at_most, drawn

from hld import HLDTest, distance, select_nodes
from pcircuit import StructureError, multiply, rat_spn, sample


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 2, 4, 2], num_units=3, depth=2, rng=5)


def test_statistic_is_the_distance_and_its_parts_add_up(circuit):
    batch = sample(circuit, 60, rng=0)
    result = HLDTest(circuit)(batch)
    assert result.statistic == pytest.approx(distance(circuit, batch), rel=1e-12)
    assert (result.contributions**2).sum() == pytest.approx(result.statistic**2, rel=1e-12)
    assert result.reject == (result.pvalue <= result.alpha) == (result.statistic > result.threshold)
    assert result.num_samples == 60
    np.testing.assert_allclose(
        result.stds**2, np.diag(naive.hlv_moments(circuit, result.nodes)[1]), rtol=1e-10
    )
    weights = np.linspace(0.5, 2, len(result.nodes))
    assert HLDTest(circuit, metric=weights)(batch).statistic == pytest.approx(
        distance(circuit, batch, node_weights=weights), rel=1e-12
    )


TRIALS = 1000


def test_exact_null_keeps_its_level_at_large_T(circuit):
    """The limit law at T = 300: rejections are binomial at the nominal level."""
    test = HLDTest(circuit)
    pvalues = np.array([test(sample(circuit, 300, rng=seed)).pvalue for seed in range(TRIALS)])
    for alpha in (0.1, 0.05, 0.01):
        assert at_least(TRIALS, alpha) <= (pvalues <= alpha).sum() <= at_most(TRIALS, alpha)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("T", [1, 2, 7])
def test_monte_carlo_null_keeps_its_level_at_every_T(circuit, T):
    """Given B drawn batches the level is a Beta(k, B + 1 - k) variable, k = alpha (B + 1), so rejections are
    beta-binomial; ties (few states at T = 1) only lower it."""
    B = 1999
    test = HLDTest(circuit, null="monte-carlo", rng=1, num_resamples=B)
    rows = sample(circuit, TRIALS * T, rng=2).reshape(TRIALS, T, -1)
    pvalues = np.array([test(batch).pvalue for batch in rows])
    for alpha in (0.1, 0.05, 0.01):
        law = drawn(TRIALS, alpha, B)
        assert (pvalues <= alpha).sum() <= law.isf(SURE)
        if T == 7:  # hardly any ties
            assert (pvalues <= alpha).sum() >= law.ppf(SURE)


def test_training_reference_uses_sample_moments(circuit):
    train, batch = sample(circuit, 500, rng=1), sample(circuit, 40, rng=2)
    test = HLDTest(circuit, reference="training", training_data=train)
    L = naive.node_values(circuit, train)[:, select_nodes(circuit)]
    np.testing.assert_allclose(test.mean, L.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(test.stds, L.std(axis=0, ddof=1), rtol=1e-9)
    result = test(batch)
    assert result.inflation == 1 + 40 / 500
    eigenvalues = np.linalg.eigvalsh(np.cov(L.T))
    from hld import gchi2

    expected = gchi2.sf(result.statistic**2 * 40 / result.inflation, np.maximum(eigenvalues, 0))
    assert result.pvalue == pytest.approx(expected, rel=1e-8)


def test_missing_entries_are_completed_reproducibly_and_keep_the_level(circuit):
    test, trials = HLDTest(circuit, rng=0, null="monte-carlo", num_resamples=999), 400
    rng = np.random.default_rng(3)
    rows = sample(circuit, trials * 10, rng=2).reshape(trials, 10, -1).astype(np.int64)
    rows[rng.random(rows.shape) < 0.4] = -1
    results = [test(batch) for batch in rows]
    assert results[0].num_missing == (rows[0] == -1).sum()
    assert test(rows[0]).pvalue == results[0].pvalue
    rejected = sum(result.pvalue <= 0.1 for result in results)
    law = drawn(trials, 0.1, 999)
    assert law.ppf(SURE) <= rejected <= law.isf(SURE)
    assert test(np.full((5, circuit.num_variables), -1)).num_missing == 30


def test_a_circuit_of_one_state_has_no_room_for_chance():
    from pcircuit import Circuit, InputRegion, VTree

    test = HLDTest(Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])]))
    assert test([[0]] * 7).pvalue == 1
    assert test([[0]] * 6 + [[1]]).pvalue == 1e-300  # the least that is said


def test_one_object_in_many_threads(circuit):
    test = HLDTest(circuit, null="monte-carlo", rng=0, num_resamples=99)
    batches = [sample(circuit, 20, rng=i) for i in range(6)]
    expected = [
        HLDTest(circuit, null="monte-carlo", rng=0, num_resamples=99)(batch).pvalue
        for batch in batches
    ]
    found = [None] * 6

    def work(i):
        found[i] = test(batches[i]).pvalue

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_results_and_tests_are_told_and_cannot_be_changed(circuit):
    result = HLDTest(circuit)(sample(circuit, 10, rng=0), alpha=0.01)
    assert "\n" not in str(result)
    values = result.to_dict()
    assert values["pvalue"] == result.pvalue
    assert {type(value) for value in values.values()} <= {float, int, bool, str, list}
    with pytest.raises(AttributeError):
        result.pvalue = 0
    plain = HLDTest(circuit).describe()
    assert "tolerance" not in plain
    assert "estimation error: ignored (no num_train)" in plain.splitlines()
    test = HLDTest(circuit, tolerance=0.125, num_train=500)
    lines = test.describe().splitlines()
    assert lines[-1] == "tolerance: 12% of the rows may be others"
    assert "estimation error: null scaled by 1 + T / 500" in lines
    for array in (test.nodes, test.mean, test.stds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"null": "gauss"},
            "`null` must be one of 'exact', 'normal', 'monte-carlo', 'auto', found 'gauss'",
        ),
        ({"ridge": 0}, "`ridge` must be a finite number above 0"),
        ({"tolerance": -1}, "`tolerance` must be"),
        ({"metric": ("euclidean", "whitened"), "null": "normal"}, "single `metric`"),
        ({"metric": [1.0]}, "`metric` must be .* 37 positive node weights"),
        ({"reference": "data"}, "`reference` must be"),
        ({"reference": "training"}, "`training_data` must be given"),
        ({"training_data": [[0] * 6]}, "`training_data` must be given"),
        ({"num_train": 0}, "`num_train` must be"),
        ({"num_resamples": 0}, "`num_resamples` must be"),
        (
            {"reference": "training", "training_data": [[0] * 6], "null": "monte-carlo"},
            "draws from the circuit",
        ),
        (
            {"reference": "training", "training_data": [[0] * 6]},
            "has 1 rows: a covariance needs at least two",
        ),
    ],
)
def test_bad_options_name_the_argument(circuit, options, message):
    with pytest.raises(ValueError, match=message):
        HLDTest(circuit, **options)


@pytest.mark.parametrize(
    ("batch", "alpha", "error", "message"),
    [
        (np.empty((0, 6), dtype=int), 0.05, ValueError, "`batch` has no rows"),
        ([[0] * 5], 0.05, ValueError, r"shape \(N, 6\)"),
        ([[9] * 6], 0.05, ValueError, "holds 9 at row 0"),
        ([[-2] * 6], 0.05, ValueError, "holds -2"),
        ([[0.5] * 6], 0.05, ValueError, "holds 0.5 at row 0"),
        ([[0] * 6], 0, ValueError, "`alpha` must be a finite number above 0 and below 1"),
        ([[0] * 6], 1, ValueError, "`alpha`"),
    ],
)
def test_bad_batches_get_one_clear_error(circuit, batch, alpha, error, message):
    with pytest.raises(error, match=message):
        HLDTest(circuit)(batch, alpha)


def test_what_is_not_of_the_right_type_is_named(circuit):
    exact = HLDTest(circuit, missing="exact")
    for error, message, call in (
        (
            TypeError,
            r"`circuit` must be a pcircuit\.Circuit, found str",
            lambda: HLDTest("circuit"),
        ),
        (ValueError, "`batch` must have shape", lambda: HLDTest(circuit)(None)),
        (TypeError, "`batch` must hold integers", lambda: exact([["a"] * 6])),
        (ValueError, "`batch` has no rows", lambda: exact(np.empty((0, 6), dtype=int))),
        (TypeError, "`alpha` must be a .*, found '5%'", lambda: exact([[0] * 6], alpha="5%")),
        (TypeError, "`num_resamples` must be a", lambda: HLDTest(circuit, num_resamples=True)),
        (ValueError, "`nodes` must be", lambda: distance(circuit, circuit, nodes=[-1])),
        (ValueError, "`nodes` must be", lambda: HLDTest(circuit, nodes=[10**6])),
        (StructureError, "not normalised", lambda: HLDTest(multiply(circuit, circuit))),
    ):
        with pytest.raises(error, match=message):
            call()
