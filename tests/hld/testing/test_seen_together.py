"""Own z-scores where rows have holes: standard normal without a shift, and none where they cannot be known."""

import numpy as np
import pytest
import zoo
from scipy.stats import chi2

from hld import HLDTest
from hld.references.available import correlations, shown, weights
from hld.testing.verdict import seen_together
from pcircuit import exact_moments, sample

CIRCUIT = zoo.circuits()["hclt_like"]


def with_holes(n, rng, share):
    """Rows of the circuit, with a share of holes at random."""
    rows = sample(CIRCUIT, n, rng=rng).astype(np.int64)
    rows[rng.random(rows.shape) < share] = -1
    return rows


def own_zscores(result):
    """(m,) in the order of the nodes, and the positions of those that have nodes below them."""
    found = sorted(result.localize(top=None).nodes, key=lambda shift: shift.node)
    return np.array([shift.own_zscore for shift in found]), np.array(
        [len(shift.scope) > 1 for shift in found]
    )


@pytest.mark.parametrize("before", [0.0, 0.3])
def test_the_covariance_is_that_of_differences_with_holes(before):
    rng = np.random.default_rng(0)
    reference, rows = with_holes(200, rng, before), with_holes(90, rng, 0.2)
    test = HLDTest(CIRCUIT, reference="training", training_data=reference)
    parts, batch = test.calibration, shown(test.vectors, rows)
    counts, shared = (
        (parts.kept.counts, shown(test.vectors, reference).shared)
        if before
        else (np.full(len(test.nodes), 200), 1 / 200)
    )
    g = weights(batch, counts, 200)
    expected = exact_moments(CIRCUIT, test.nodes).covariance() * correlations(batch, g, shared, 200)
    found, positions = (
        seen_together(test.vectors, rows, 90, g, parts.kept),
        np.array([0, 3, 4, len(g) - 1]),
    )
    np.testing.assert_allclose(
        found(positions), expected[np.ix_(positions, positions)], rtol=1e-9, atol=1e-15
    )


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["available", "exact"])
def test_own_zscores_of_unshifted_rows_with_holes_are_standard_normal(missing):
    trials, T, own = 100, 400, []
    test = HLDTest(CIRCUIT, missing="exact")
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        if missing == "available":
            test = HLDTest(CIRCUIT, reference="training", training_data=with_holes(2000, rng, 0.2))
        own.append(own_zscores(test(with_holes(T, rng, 0.3)))[0])
    own = np.array(own)
    squares = (own**2).sum(axis=0)[
        np.abs(own).max(axis=0) > 0
    ]  # chi-square with `trials` degrees of freedom
    assert len(squares) > CIRCUIT.num_variables
    assert chi2.ppf(1e-7, trials) < squares.min()
    assert squares.max() < chi2.isf(1e-7, trials)


def test_there_are_none_where_correlations_are_not_known():
    rng = np.random.default_rng(1)
    test = HLDTest(CIRCUIT, reference="training", training_data=sample(CIRCUIT, 500, rng=rng))
    summary = test.summarize(with_holes(300, rng, 0.2))
    for result, is_known in ((test(summary), False), (test(with_holes(300, rng, 0.2)), True)):
        own, has_others = own_zscores(result)
        assert (np.isnan(own) == (has_others & (not is_known))).all()
        assert has_others.any()


def test_holes_that_alternate_are_sampled(monkeypatch):
    """Every second row had stood for all: of a variable that the others lack none was seen."""
    monkeypatch.setattr("hld.testing.verdict.MOST_PAIRED", 60)
    rows = sample(CIRCUIT, 120, rng=3).astype(np.int64)
    test = HLDTest(CIRCUIT, reference="training", training_data=rows)
    holed = rows.copy()
    holed[::2, 0] = -1
    found = seen_together(test.vectors, holed, 120, np.ones(len(test.nodes)), test.calibration.kept)
    holes = np.unpackbits(found.args[1], axis=1, count=CIRCUIT.num_variables)[:, 0]
    assert len(holes) == 60
    assert 15 < holes.sum() < 45
