"""The test as C: compiled, called, and compared with `HLDDetector.test`; and what is not exported."""

import ctypes
import itertools
import shutil

import numpy as np
import pytest

import hld
from benchmarks.c_programs import compiled
from hld import gchi2
from hld.apps.export.plan import codes_of, plan_of
from tests.binomial_bounds import at_most
from tests.witness_tables import BROKEN, CALM, heard, table

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
WITNESSES = ["distance", "missing values", "new values", "counts", "dependences"]

OPTIONS = {
    "default": ({"metric": "likelihoods"}, 0.0),
    "holes in training": ({"metric": "likelihoods"}, 0.05),
    "one metric": ({"metric": "whitened"}, 0.0),
    "circuit": ({"reference": "circuit", "metric": "euclidean", "null": "exact"}, 0.0),
}


@pytest.mark.thorough
@needs_compiler
@pytest.mark.parametrize("name", OPTIONS)
def test_what_c_says_is_what_the_library_says(name, tmp_path):
    """Every witness at every number of rows, with holes, without, and where an alarm is checked by the batch's rows."""
    options, holes = OPTIONS[name]
    rng, train = np.random.default_rng(1), table(np.random.default_rng(0), 600, holes)
    detector = hld.HLDDetector(num_latents=3, num_epochs=4, **options).fit(train)
    (call, _), plan, verdicts = compiled(detector, tmp_path), plan_of(detector), set()
    assert plan.witnesses == tuple(WITNESSES[: {"one metric": 3, "circuit": 2}.get(name, 5)])
    for T, change in itertools.product((1, 2, 9, 60, 200, 700), (CALM, *BROKEN)):
        if name == "circuit" and "holes" in change:
            continue  # the library fills these by draws
        batch = table(rng, T, **change)
        (status, found), (result, expected) = (
            call(codes_of(detector, batch)),
            heard(detector, batch),
        )
        assert status == 0
        told = [
            getattr(found, one)
            for one in ("pvalue", "distance", "missing", "new_values", "count", "dependence")
        ]
        np.testing.assert_allclose(told, expected, rtol=1e-7, atol=1e-290)
        np.testing.assert_allclose(found.means, detector.test_.calibration.mean + 0, atol=1.0)
        verdicts.add((found.pvalue <= 0.05, result.reject))
        if result.largest_count is not None and result.largest_count.share:
            largest = result.largest_count
            assert (found.count_column, found.count_category) == (largest.column, largest.category)
        if result.largest_dependence is not None and result.largest_dependence.share:
            assert (found.first_column, found.second_column) == result.largest_dependence.columns
    assert verdicts == {(False, False), (True, True)}


@needs_compiler
def test_circuits_judge_rows_with_holes_by_what_these_show(tmp_path):
    """The library fills these by draws: both agree on what is clear, and on calm rows the program keeps its level."""
    options = {
        "reference": "circuit",
        "metric": "standardized",
        "null": "exact",
        "missingness": False,
    }
    detector = hld.HLDDetector(num_latents=3, num_epochs=4, **options).fit(
        table(np.random.default_rng(0), 600)
    )
    call, _ = compiled(detector, tmp_path)
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(100):
        codes = detector.circuit_.sample(80, rng=rng).astype(np.int32)
        codes = np.where(rng.random(codes.shape) < 0.2, -1, codes)
        status, found = call(codes)
        alarms += found.pvalue <= 0.05
        assert status == 0
    assert alarms <= at_most(100, 0.05)
    shifted = table(rng, 400, shift=5.0, holes=0.2)
    assert call(codes_of(detector, shifted))[1].pvalue < 1e-9
    assert detector.test(shifted).pvalue < 1e-9


@needs_compiler
def test_what_cannot_be_judged_is_said(tmp_path):
    rng = np.random.default_rng(0)
    schema = hld.learn_schema(table(rng, 300))
    schema = schema.replace("n", policy="refuse").replace("*/ column", policy="missing")
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, metric="likelihoods", schema=schema)
    detector.fit(table(rng, 300))
    call, _ = compiled(detector, tmp_path)
    codes, plan = np.zeros((3, 3), dtype=np.int32), plan_of(detector)
    for column, wrong in (
        (1, -2),
        (1, plan.columns[1].num_categories + 2),
        (2, plan.columns[2].num_categories),
    ):
        codes[2, column] = wrong
        assert call(codes)[0] == 2
        codes[2, column] = 0
    assert call(codes[:0])[0] == 2
    codes[0, 1] = plan.columns[1].num_categories  # below the range of a column that refuses this
    assert call(codes)[0] == 3
    batch = table(rng, 50, level=0.3)  # new levels that count as new, and as missing
    found, (_, expected) = call(codes_of(detector, batch))[1], heard(detector, batch)
    assert [found.pvalue, found.distance, found.new_values] == pytest.approx(
        [expected[0], expected[1], expected[3]], rel=1e-7
    )
    normal = hld.HLDDetector(2, 2, reference="circuit", metric="euclidean", null="normal")
    (tmp_path / "other").mkdir()
    call, _ = compiled(normal.fit(table(rng, 300)), tmp_path / "other")
    status, found = call(codes_of(normal, table(rng, 50)))
    assert (status, np.isnan(found.distance), found.missing) == (
        1,
        True,
        pytest.approx(np.nan, nan_ok=True),
    )


@needs_compiler
def test_sums_of_many_rows_are_as_exact_as_those_of_few(tmp_path):
    """Added one by one, a million likelihoods had been wrong by 2e-11, and p-values of 1e-139 by 1e-8."""
    detector = hld.HLDDetector(num_latents=3, num_epochs=4, metric="likelihoods")
    detector.fit(table(np.random.default_rng(0), 600))
    call, _ = compiled(detector, tmp_path)
    codes = codes_of(detector, table(np.random.default_rng(1), 400_000, 3.0))
    rows = detector.encoder_.encode(table(np.random.default_rng(1), 400_000, 3.0))[0]
    distinct, counts = np.unique(
        rows, axis=0, return_counts=True
    )  # whose sum has few rounding errors
    expected = counts @ detector.test_.vectors.rows(distinct) / len(rows)
    np.testing.assert_allclose(call(codes)[1].means, expected, rtol=2e-15)


@needs_compiler
def test_tails_of_one_large_eigenvalue_and_many_small_ones_are_those_of_the_library(tmp_path):
    """As of 200 columns of which 15 move together: the line of integration had come too close to the second branch
    point, and P(Q > q) = 0.1 was found to be 1, and 1e-6 to be 0; from q = 1e16 on it was not a number."""
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, metric="euclidean")
    detector.fit(table(np.random.default_rng(0), 200))
    wrapper = "double tail(double *v, double *n, int k, double q);\n"
    wrapper += (
        "double tail(double *v, double *n, int k, double q) { return hld_tail(v, n, k, q); }\n"
    )
    function = compiled(detector, tmp_path, wrapper)[1].tail
    function.restype = ctypes.c_double
    for small, counts in itertools.product(
        (0.9, 0.5, 0.1, 0.01, 1e-6), ([0.1, 10.0], [1.0, 100.0], [1.0, 5000.0], [10.0, 1000.0])
    ):
        pair = [(ctypes.c_double * 2)(*numbers) for numbers in ([1.0, small], counts)]
        law = gchi2.prepare([1.0, small], counts)
        for p in (0.999, 0.9, 0.5, 0.1, 1e-2, 1e-3, 1e-6, 1e-50, 1e-200):
            q = gchi2.isf(p, law)
            assert function(*pair, 2, ctypes.c_double(q)) == pytest.approx(p, rel=1e-9), (
                small,
                counts,
            )
        assert {
            function(*pair, 2, ctypes.c_double(q)) for q in (2e4, 1e16, 1e17, 1e300, np.inf)
        } == {0.0}


ROWS = np.random.default_rng(0).integers(0, 3, (600, 3))


@pytest.mark.parametrize(
    ("options", "fitting"),
    [
        ({}, {"groups": np.repeat(np.arange(40), 15)}),
        ({}, {"order": "time"}),
        ({"covariates": [0]}, {}),
    ],
    ids=["groups", "time", "covariates"],
)
def test_only_the_test_of_independent_rows_is_exported(options, fitting):
    detector = hld.HLDDetector(2, 2, metric="likelihoods", num_resamples=99, **options).fit(
        ROWS, **fitting
    )
    with pytest.raises(
        ValueError,
        match="`detector` judges groups, a series, or rows given covariates, but only the "
        "test of independent rows is exported: fit without `groups`",
    ):
        plan_of(detector)


def test_a_tolerance_is_not_exported():
    detector = hld.HLDDetector(2, 2, metric="likelihoods", tolerance=0.05).fit(ROWS)
    with pytest.raises(ValueError, match=r"tolerates that .* of the rows are others"):
        plan_of(detector)
