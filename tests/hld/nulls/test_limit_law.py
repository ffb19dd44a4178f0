"""The limit law against its eigenvalues, replaced spectra, finite T."""

from types import SimpleNamespace

import numpy as np
import pytest
import zoo

from hld import exact_moments, gchi2
from hld.laws import limit_law as null_module
from hld.laws.limit_law import LimitLaw, law_of_leading, law_of_values


def moments_of(spectrum):
    """What a law needs of moments whose covariance has the given eigenvalues."""
    spectrum = np.sort(spectrum)[::-1]
    return SimpleNamespace(
        nodes=np.arange(len(spectrum)),
        trace=spectrum.sum(),
        trace_sq=(spectrum**2).sum(),
        eigenvalues=lambda k=None: spectrum[:k],
    )


def test_all_eigenvalues_of_a_small_circuit():
    eigenvalues = np.maximum(
        np.linalg.eigvalsh(exact_moments(zoo.circuits()["hclt_like"]).covariance()), 0
    )
    law = law_of_values(eigenvalues)
    assert law.quantile_error == 0
    found = law.pvalue([0.8 / 50], 50)
    assert found.value == pytest.approx(gchi2.sf(0.8, eigenvalues), rel=1e-9, abs=0.0)
    assert 0 <= found.error < 1e-10
    assert law.pvalue([law.threshold(0.01, 50)], 50).value == pytest.approx(0.01, rel=1e-9)
    assert "all there are" in law.describe(("euclidean",))[0]


J = np.arange(1.0, 3001)


@pytest.mark.parametrize(
    ("spectrum", "needed"),
    [
        (1 / J, 32),
        (J**-0.5, 128),
        (0.99**J, 128),
        (0.97**J, 64),
        (np.ones(3000), None),
        (np.r_[1.0, np.full(2999, 1e-3)], None),
        (np.r_[np.ones(40), np.zeros(2960)], None),
    ],
    ids=["1/j", "1/sqrt(j)", "0.99^j", "0.97^j", "flat", "spike", "rank 40"],
)
def test_a_replaced_rest_keeps_quantiles_within_the_stated_error(spectrum, needed):
    """Eigenvalues are added until quantiles are right to one in a thousand."""
    law, full = law_of_leading(moments_of(spectrum)), law_of_values(spectrum)
    assert needed in (None, law.num_eigenvalues)
    assert law.num_eigenvalues <= null_module.LEADING[-1]
    allowed = law.quantile_error + 1e-9 if needed is None else min(law.quantile_error + 1e-9, 1e-3)
    for alpha in null_module.CHECKED_LEVELS:
        assert abs(law.threshold(alpha, 1) / full.threshold(alpha, 1) - 1) <= allowed
    assert law.spectrum.mean == pytest.approx(spectrum.sum(), rel=1e-10)
    assert law.spectrum.variance == pytest.approx(2 * (spectrum**2).sum(), rel=1e-10)


@pytest.mark.parametrize("T", [1, 3, 20])
def test_finite_batches_have_the_variance_that_the_excess_says(T, rng):
    """Rows with fourth moments other than the normal's: mean and variance of T d^2 are those of the corrected law."""
    rows = rng.exponential(size=(200_000, 3)) * [1.0, 0.7, 0.4] - [1.0, 0.7, 0.4]
    eigenvalues = np.array([1.0, 0.49, 0.16])
    excess = (8 * (eigenvalues**2).sum()) / (
        2 * (eigenvalues**2).sum()
    ) - 1  # Var(x^2) = 8 for a centred exponential
    law = law_of_values(eigenvalues).with_excess(8 * (eigenvalues**2).sum())
    assert law.excess == pytest.approx(excess)
    assert law.at(T).mean == pytest.approx(eigenvalues.sum(), rel=1e-12)
    assert law.at(T).variance == pytest.approx(
        2 * (eigenvalues**2).sum() * (1 + excess / T), rel=1e-12
    )
    squared = T * (rows[: len(rows) // T * T].reshape(-1, T, 3).mean(axis=1) ** 2).sum(axis=1)
    spread = (
        12 * squared.var() / np.sqrt(len(squared))
    )  # six standard errors, with room for heavy tails
    assert squared.var() == pytest.approx(law.at(T).variance, abs=spread)


def test_nothing_that_varies():
    for law in (law_of_values(np.zeros(3)), LimitLaw(np.zeros(2), np.ones(2), 0.0, 2, 3.0)):
        assert [law.pvalue([d], 5).value for d in (0.0, 0.1)] == [1, 0]
        assert law.threshold(0.05, 5) == 0
