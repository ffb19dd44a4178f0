"""Batches compared with rows: which small p-values are checked by the batch's own rows."""

from types import SimpleNamespace

import numpy as np
import pytest

import hld
from hld.laws.limit_law import limit_law
from hld.laws.null import PValue
from hld.references.available import correlations, shown, weights
from hld.references.covariances import through
from hld.testing.verdict import (
    HoledNull,
    compared,
    judge_rows,
    row_factors,
    verdict,
)
from pcircuit import Circuit, InnerRegion, InputRegion, VTree


@pytest.fixture(scope="module")
def fitted():
    """A test against 300 held-out rows, and its codes."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(600, 5)) * rng.integers(0, 2, size=(600, 1))
    return hld.HLDDetector(categorical=range(5), num_epochs=5).fit(rows).test_, rows


@pytest.mark.parametrize("holes", [False, True])
def test_a_single_row_needs_no_check_only_if_it_was_ranked(fitted, holes):
    """One without holes has been ranked among the reference rows; the laws of one with holes know nothing of ranks."""
    test, rows = fitted
    row = rows[:1].copy()
    row[0, 1] = -1 if holes else row[0, 1]
    small = PValue(1e-9, (1e-9,) * len(test.metric_names), 1e-10, "drawn", 999)
    known = SimpleNamespace(pvalue=lambda squared, T: small)
    found = compared(test, shown(test.vectors, row))._replace(null=known)
    assert (found.factors is not None) == holes
    own = (0.3,) * len(test.metric_names)
    raised = verdict(test, found, 1, 0.05, 0, own=lambda squared: own)
    if holes:
        assert raised.pvalues == own
        assert raised.pvalue == test.calibration.null.limit.of_pvalues(own, 1).value
        assert raised.null_error == pytest.approx(raised.pvalue / 10)
    else:
        assert (raised.pvalues, raised.pvalue) == (small.each, small.value)


def sparse(T, count, metric="euclidean"):
    """A test against 1,000 rows of which 40 show the first column, and `count` of T rows have a level they lack."""
    leaves = [InputRegion(v, [[1 - p, p], [p, 1 - p]]) for v, p in enumerate((0.02, 0.5))]
    circuit = Circuit(VTree([2, 2, -1], [0, 1, -1]), [*leaves, InnerRegion([[0, 0]], [[1.0]])])
    before, rows = np.full((1000, 2), -1), np.zeros((T, 2), dtype=int)
    before[:40, 0], rows[:count, 0] = 0, 1
    before[:, 1], rows[:, 1] = np.arange(1000) % 2, np.arange(T) % 2
    test = hld.HLDTest(
        circuit,
        metric=metric,
        null="auto",
        reference="training",
        training_data=before,
        num_resamples=9,
        rng=0,
    )
    return test, rows


@pytest.mark.parametrize(
    "metric", ["euclidean", ("euclidean", "standardized", "marginals", "whitened")]
)
@pytest.mark.parametrize("count", [3, 5, 8])
def test_a_column_that_few_reference_rows_show_is_compared_with_these(metric, count):
    """Of 1,000 reference rows 40 show the first column, as all 100 of the batch do, and only these have the level.

    Given that, all of them are in the batch with a probability of 0.36, 0.18 and 0.06: no alarm at level 0.05.
    """
    test, rows = sparse(100, count, metric)
    assert test(rows).pvalue > 0.05
    assert test(test.summarize(rows)).pvalue > 0.05


@pytest.mark.parametrize("T", [1, 2, 10, 30])
def test_one_odd_row_is_one_of_those_that_show_the_column(T):
    test, rows = sparse(T, 1)
    assert test(rows).pvalue == pytest.approx(T / (40 + T), rel=1e-9)
    assert test(test.summarize(rows)).pvalue == pytest.approx(T / (40 + T), rel=1e-9)


def test_rows_count_more_where_the_reference_shows_a_node_less_often(rng):
    """Nodes of the same shares of holes count as before, others so that pooled variances are those of the rows shown.

    With rows of variance 1 on both sides, that of all is 1 as well, or more, but for single degrees of freedom.
    """
    T, k = 50, 200
    own, counts = rng.integers(25, T + 1, size=100), rng.integers(30, k + 1, size=100)
    own[:2], counts[:2] = (T, T // 2), (k, k // 2)
    g = np.sqrt((1 / T + 1 / k) / (1 / own + 1 / counts))
    factors = row_factors(g, own, T, counts, k)
    np.testing.assert_allclose(factors[:2], [1, np.sqrt(2)], rtol=0.005)
    assert (factors >= g * T / own).all()
    pooled = ((k - 1) + (own - 1) * factors**2) / (k + T - 1)
    assert (pooled >= 0.99).all()
    assert row_factors(np.zeros(1), np.zeros(1, int), T, np.zeros(1, int), k) == 0


@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_only_holes_need_a_null_of_their_own(fitted, holes, in_chunks):
    test, rows = fitted
    rows = np.where(np.arange(450).reshape(90, 5) % 7 == 0, -1, rows[:90]) if holes else rows[:90]
    batch = shown(test.vectors, rows)
    found = compared(test, batch)
    assert isinstance(found.null, HoledNull) == holes == (found.factors is not None)
    if not holes:
        np.testing.assert_allclose(found.deltas, test.vectors.mean(rows) - test.mean, atol=1e-12)
    result = judge_rows(test, rows, batch if in_chunks else None, 0.05, 0)
    assert result.pvalue == pytest.approx(test(rows).pvalue, rel=1e-9)


def test_features_have_the_law_that_they_have_without_holes(fitted):
    """The same rows show all of them, so that the covariance of their means is that of a row, up to a factor."""
    test, rows = fitted
    holed, i = (
        np.where(np.random.default_rng(5).random((60, 5)) < 0.1, -1, rows[:60]),
        test.metric_names.index("score"),
    )
    seen, kept = shown(test.vectors, holed), test.calibration.kept
    counts = np.full(len(seen.counts), kept.num_rows)
    together = correlations(
        seen, weights(seen, counts, kept.num_rows), 1 / kept.num_rows, kept.num_rows
    )
    expected = limit_law(through(test.calibration.metrics[i], kept.covariance * together))
    law = compared(test, seen).null.laws[i]
    np.testing.assert_allclose(
        law.eigenvalues, expected.eigenvalues, rtol=1e-9, atol=1e-9 * law.mean
    )


def test_laws_of_batches_with_holes_are_remembered_and_change_nothing(fitted, monkeypatch):
    """At most so many are kept, by all that they depend on, and a result never depends on them."""
    test, rows = fitted
    rng = np.random.default_rng(3)
    batches = [np.where(rng.random((40, 5)) < 0.1, -1, rows[i : i + 40]) for i in range(5)]
    monkeypatch.setattr("hld.testing.verdict.MOST_HOLED", 3)
    known = test.calibration.holed_laws
    known.clear()
    first = [test(batch).pvalue for batch in batches]
    assert len(known) == 3
    laws = list(known.values())
    assert [test(batch).pvalue for batch in batches[2:]] == first[2:]
    assert all(a is b for a, b in zip(laws, known.values(), strict=True))  # none was made anew
    assert [test(batch).pvalue for batch in batches] == first
