"""Power against simulation and against its own exact law; sizes, detectable changes, edits that do not fit."""

import binomial_bounds as bounds
import numpy as np
import pytest
import zoo
from scipy import integrate

import hld
import pcircuit
from hld.references.available import correlations, shown, weights
from hld.testing.planning.alternatives import Edit
from hld.testing.planning.power import (
    LEAST_SHARE,
    Planner,
    planned_holes,
    smallest_batch,
)

SEVERAL = ["euclidean", "standardized", "whitened"]


def drawn_under(circuit, edit, T, rng):
    """Rows of the edited distribution."""
    p = np.exp(pcircuit.log_probability(circuit, {edit.column: edit.level}))
    rows, has = pcircuit.sample(circuit, 20 * T, rng=rng), rng.random(T) < p + edit.by
    own = rows[:, edit.column] == edit.level
    result = np.empty((T, circuit.num_variables), dtype=rows.dtype)
    result[has], result[~has] = rows[own][: has.sum()], rows[~own][: (~has).sum()]
    return result


def simulated(test, draw, trials, rng):
    """Rejected batches."""
    return sum(test(draw(rng)).reject for _ in range(trials))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["euclidean", SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("null", ["exact", "auto"])
def test_power_is_that_of_simulated_batches(metric, null):
    circuit, edit, T, trials = zoo.circuits()["rat_like"], Edit(0, 0, 0.12), 150, 150
    test = hld.HLDTest(circuit, metric=metric, null=null, rng=0)
    found = test.power(edit, T)
    rejected = simulated(
        test, lambda rng: drawn_under(circuit, edit, T, rng), trials, np.random.default_rng(1)
    )
    assert 0.2 < found < 0.95
    assert bounds.at_least(trials, found - 0.02) <= rejected <= bounds.at_most(trials, found + 0.02)


@pytest.mark.thorough
def test_power_against_rows_as_reference():
    circuit, edit, T, each = zoo.circuits()["hclt_like"], Edit(0, 0, 0.15), 150, 10
    rng, rejected, expected = np.random.default_rng(2), 0, []
    for _ in range(12):
        test = hld.HLDTest(
            circuit,
            metric=SEVERAL,
            reference="training",
            rng=0,
            training_data=pcircuit.sample(circuit, 500, rng=rng),
        )
        alternative = drawn_under(circuit, edit, 5000, rng)  # of this reference
        expected.append(test.power(alternative, T))
        rejected += simulated(test, lambda rng: drawn_under(circuit, edit, T, rng), each, rng)
    found = np.mean(expected)
    assert (
        bounds.at_least(12 * each, found - 0.05)
        <= rejected
        <= bounds.at_most(12 * each, found + 0.05)
    )
    assert abs(test.power(edit, T) - found) < 0.15


def imhof(q, weights, shifts):
    """P(sum of weights times chi2_1(shifts) >= q) by Imhof's integral (1961), with q as its unit."""
    c = weights / q

    def integrand(u):
        s = 1 + (c * u) ** 2
        angle = (np.arctan(c * u) + shifts * c * u / s).sum() / 2 - u / 2
        return np.sin(angle) / u * np.exp(-(np.log(s) / 4 + shifts * (c * u) ** 2 / s / 2).sum())

    return 0.5 + integrate.quad(integrand, 0, np.inf, limit=500)[0] / np.pi


def test_the_power_of_one_distance_is_that_of_its_noncentral_law():
    """P(|F Z|^2 >= q) = P(sum_j c_j chi2_1((u_j^t F delta)^2 / c_j) >= q) with F C F^t = U diag(c) U^t."""
    circuit = zoo.circuits()["hclt_like"]
    test = hld.HLDTest(circuit)
    found = Planner(test).alternative(Edit(0, 0, 0.1))
    for T in (20, 100, 400):
        c, U = np.linalg.eigh(found.covariance / T)
        varies = c > 1e-13 * c[-1]
        along = (U.T @ found.delta)[varies] ** 2
        exact = imhof(test.calibration.null.threshold(0.05, T), c[varies], along / c[varies])
        drawn = 2000 * test.power(Edit(0, 0, 0.1), T)
        assert bounds.at_least(2000, exact) <= drawn <= bounds.at_most(2000, exact)


def test_without_a_shift_power_is_the_level():
    circuit = zoo.circuits()["rat_like"]
    for metric in ("euclidean", SEVERAL):
        test = hld.HLDTest(circuit, metric=metric)
        assert abs(test.power(circuit, 50) - 0.05) < 0.02


def test_sample_size_has_the_power_and_detectable_too():
    circuit = zoo.circuits()["rat_like"]
    test = hld.HLDTest(circuit)
    T = test.sample_size(Edit(0, 0, 0.15), power=0.8)
    assert test.power(Edit(0, 0, 0.15), T) >= 0.8 > test.power(Edit(0, 0, 0.15), int(0.97 * T) - 1)
    assert test.sample_size(circuit) is None
    found = [one for one in test.detectable(300) if one.by is not None]
    assert [one.by for one in found] == sorted(one.by for one in found)
    one = min(found, key=lambda one: abs(one.share - 0.5))
    assert abs(test.power(Edit(one.column, one.level, one.by), 300) - 0.9) < 0.04
    assert all(one.by is None for one in test.detectable(1, alpha=1e-6))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *(
            (lambda test, bad=bad: test.power(bad, 100), said)
            for bad, said in [
                (None, "alternative"),
                (zoo.circuits()["two_coins"], "other variables"),
                (Edit(99, 0, 0.1), "`column`"),
                (Edit(0, 99, 0.1), "`level`"),
                (Edit(0, 0, 0.99), "`by`"),
                ([[0] * zoo.circuits()["rat_like"].num_variables], "at least two"),
            ]
        ),
        *(
            (lambda test, by=by: Edit(0, 0, by), "`by` of an edit")
            for by in (0, 1, -1, "a", True, float("nan"))
        ),
        *(
            (lambda test, text=text: Edit.read(text), "an edit is written")
            for text in ("", "a", "a=b", "a=b:c", "=b:0.1")
        ),
        *((lambda test, T=T: test.power(test.circuit, T), "`T` must be") for T in (0, 1.5, "a")),
    ],
)
def test_what_is_no_alternative_is_refused(call, said):
    test = hld.HLDTest(zoo.circuits()["rat_like"])
    with pytest.raises((TypeError, ValueError), match=said):
        call(test)


@pytest.mark.parametrize("needed", [1, 2, 7, 63, 2049, 2500, 3000])
def test_the_smallest_batch_is_found_up_to_the_rows_that_the_alternative_is_known_by(needed):
    asked = []

    def power_of(T):
        asked.append(T)
        return 0.95 if needed <= T else 0.1

    found = smallest_batch(power_of, 0.9, 3000)
    assert needed <= found <= min(needed + max(1, needed // 200), 3000)
    assert max(asked) <= 3000
    assert smallest_batch(lambda T: 0.1, 0.9, 3000) is None
    assert smallest_batch(lambda T: 0.1, 0.9, None) is None


@pytest.mark.parametrize("metric", ["euclidean", ("euclidean", "standardized")])
@pytest.mark.parametrize(
    ("null", "reference"),
    [("exact", "circuit"), ("exact", "training"), ("normal", "circuit"), ("normal", "training")],
)
def test_single_rows_are_tested_one_by_one_with_every_null(metric, null, reference):
    """The normal law of a mean had said 0.05 where the law of the test rejects no single row."""
    if null == "normal" and metric != "euclidean":
        metric = "standardized"  # it is for one metric
    circuit, rng = pcircuit.rat_spn([3] * 6, num_units=3, depth=2, rng=3), np.random.default_rng(0)
    known = (
        {} if reference == "circuit" else {"training_data": pcircuit.sample(circuit, 300, rng=4)}
    )
    test = hld.HLDTest(circuit, metric=metric, null=null, reference=reference, rng=0, **known)
    rows = pcircuit.sample(circuit, 300, rng=1)
    rows[:90] = rng.integers(0, 3, (90, 6))
    found = np.array([test(row[None]).pvalue for row in rows])
    for alpha in (0.05, 0.2, 0.4):
        assert test.power(rows, 1, alpha) == pytest.approx((found <= alpha).mean(), abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "null"), [("euclidean", "exact"), (SEVERAL, "exact"), (SEVERAL, "auto")]
)
@pytest.mark.parametrize("T", [1, 2, 10, 100])
def test_rounding_is_not_found_where_nothing_varies(metric, null, T):
    """A power of 1 had been told of the rows that were learned from, for which the test has p = 1."""
    table = {"a": ["one"] * 90, "b": ["two"] * 90}
    detector = hld.HLDDetector(
        num_latents=1, num_epochs=2, num_resamples=99, metric=metric, null=null
    ).fit(table)
    assert detector.test({name: cells[:T] for name, cells in table.items()}).pvalue == 1
    assert detector.power({name: cells[:50] for name, cells in table.items()}, T) == 0
    assert detector.power({"a": ["one"] * 50, "b": ["three"] * 50}, 10) == 1
    third = pcircuit.Circuit(pcircuit.VTree([-1], [0]), [pcircuit.InputRegion(0, [[1 / 3] * 3])])
    assert hld.HLDTest(third, metric=metric).power(pcircuit.sample(third, 500, rng=0), T) < 1e-12


def population(n, rng, share=0.3, holes=0.4):
    """Five columns, of which one moves another; four cells in ten of three of them are missing."""
    kind, shop = (
        rng.integers(0, 3, n),
        np.where(rng.random(n) < share, 0, 1 + rng.integers(0, 4, n)),
    )
    table = {
        "shop": shop,
        "size": kind + (rng.random(n) < 0.3),
        "kind": np.array(list("abc"))[kind],
        "flag": (rng.random(n) < 0.2 + 0.2 * kind).astype(int),
        "city": (shop + rng.integers(0, 2, n)) % 5,
    }
    table = {name: cells.astype(object) for name, cells in table.items()}
    for name in ("shop", "size", "kind"):
        table[name][rng.random(n) < holes] = None
    return table


def fitted(n, seed, **options):
    """A detector of a table with holes."""
    options = {"num_latents": 4, "num_epochs": 20, "num_resamples": 199, "rng": seed} | options
    return hld.HLDDetector(**options).fit(population(n, np.random.default_rng([seed, 0])))


def test_a_batch_with_the_holes_of_the_reference_is_seen_as_planned():
    """Weights and correlations are those with which the test compares the reference rows themselves."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(200, 4))
    rows[:, 1] = np.where(rng.random(200) < 0.7, rows[:, 0], rows[:, 1])
    rows[rng.random(rows.shape) < 0.3] = -1
    rows[:, 3] = np.where(np.arange(200) < 195, -1, rows[:, 3])  # a node that too few rows show
    circuit = hld.HLDDetector(num_latents=2, num_epochs=5).fit(np.abs(rows)).circuit_
    holed, whole = (
        hld.HLDTest(circuit, reference="training", training_data=one, num_resamples=99)
        for one in (rows, np.abs(rows))
    )
    batch, counts = shown(holed.vectors, rows), holed.calibration.kept.counts
    g = weights(batch, counts, len(rows))
    found = planned_holes(holed, len(rows))
    assert (g == 0).any()
    np.testing.assert_allclose(found.weights, g, rtol=1e-12)
    np.testing.assert_allclose(
        found.correlations,
        correlations(batch, g, holed.calibration.kept.shared, len(rows)),
        rtol=1e-9,
    )
    assert planned_holes(whole, 50)[:2] == (1.0, 1.0)


def test_missing_cells_make_a_change_harder_to_find():
    """A distance was planned as if every row of a batch showed all cells."""
    rng, n = np.random.default_rng(1), 3000
    whole, powers = population(n, rng, holes=0.0), []
    for missing in (0.0, 0.5, 0.8):
        table = {**whole, "shop": np.where(rng.random(n) < missing, None, whole["shop"])}
        detector = hld.HLDDetector(
            num_latents=2, num_epochs=10, metric="euclidean", null="exact", rng=0
        ).fit(table)
        powers.append(detector.power(Edit("shop", 0, 0.3), 400))
    assert powers[0] > 0.9 > 0.4 > powers[1] > 0.2 > 0.15 > powers[2]


@pytest.mark.slow
def test_as_much_is_found_as_planned_where_cells_are_missing():
    """Plans for batches without holes said a half, of batches of which two in five were found."""
    T, each, planned, found = 300, 50, [], 0
    for seed in range(12):
        detector = fitted(6000, seed)
        planned.append(detector.power(Edit("shop", 0, 0.1), T))
        found += sum(
            detector.test(population(T, np.random.default_rng([seed, T, b]), 0.4)).reject
            for b in range(each)
        )
    trials, expected = each * len(planned), float(np.mean(planned))
    assert (
        bounds.at_least(trials, expected - 0.02) <= found <= bounds.at_most(trials, expected + 0.02)
    )


@pytest.mark.parametrize("per_column", [1, 2, 9])
def test_levels_are_the_most_frequent_of_each_column_but_none_rare_or_nearly_certain(per_column):
    circuit = zoo.independent([[0.5, 0.3, 0.195, 0.005], [0.995, 0.005], [0.2, 0.8]])
    found = Planner(hld.HLDTest(circuit)).detectable(100, per_column=per_column)
    expected = [(0, 0), (0, 1), (0, 2)][:per_column] + [(2, 1), (2, 0)][:per_column]
    assert sorted((one.column, one.level) for one in found) == sorted(expected)
    for one in found:
        assert one.share == pytest.approx(
            pcircuit.marginal_tables(circuit)[one.column][one.level], rel=1e-12
        )
        assert one.share >= LEAST_SHARE
