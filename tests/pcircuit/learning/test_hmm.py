"""Chains with tied parameters: hidden Markov models, beside hmmlearn where that is installed."""

import numpy as np
import pytest

import pcircuit
from pcircuit.leaves import Gaussian

START, STEP = np.array([0.6, 0.3, 0.1]), np.random.default_rng(0).dirichlet(np.ones(3) * 2, 3)
TABLE = np.random.default_rng(1).dirichlet(np.ones(4), 3)
MEAN, STD = np.array([-1.0, 0.5, 3.0]), np.array([0.7, 1.0, 1.5])


def chain(leaves, length=12):
    return pcircuit.hmm(length, 3, leaves=leaves, start=START, transitions=STEP)


def forward(densities):
    """ln p of a sequence from the densities (T, K) of its values: the textbook's forward pass."""
    state = START * densities[0]
    for density in densities[1:]:
        state = (state @ STEP) * density
    return np.log(state.sum())


@pytest.mark.parametrize("leaves", [TABLE, Gaussian(MEAN, STD)], ids=["table", "gaussian"])
def test_sequences_of_any_length_have_the_likelihood_of_the_forward_pass(leaves):
    circuit = chain(leaves)
    rows = circuit.sample(30, rng=2).astype(float)
    for length in (1, 5, 12):
        cut = rows.copy()
        cut[:, length:] = np.nan
        family = circuit.inputs[0].leaves
        expected = [forward(np.exp(family.log_density(row[:length]))) for row in rows]
        assert circuit.log_likelihood(cut) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("leaves", [TABLE, Gaussian(MEAN, STD)], ids=["table", "gaussian"])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_tied_parameters_stay_equal_and_gain(leaves, engine, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    rows = chain(leaves).sample(200, rng=3)
    start = pcircuit.hmm(12, 3, leaves=leaves, rng=1)
    fitted, history = start.fit_em(rows, num_epochs=10, pseudocount=0, tied=True)
    assert np.diff(history).min() > -1e-10
    assert all(region.leaves == fitted.inputs[0].leaves for region in fitted.inputs)
    inner = [region for region in fitted.regions[:-1] if not region.is_input]
    assert all(np.array_equal(region.weights, inner[0].weights) for region in inner)
    assert not np.array_equal(inner[0].weights, STEP)
    groups = [
        start.vtree.leaf_of().tolist(),
        [r for r in range(23) if not start.regions[r].is_input],
    ]
    again, _ = start.fit_em(rows, num_epochs=10, pseudocount=0, tied=groups)
    assert again == fitted


def test_groups_that_cannot_be_tied_are_refused():
    circuit = pcircuit.rat_spn([2, 2, 2], 2, 1, rng=0)
    for tied, words in (
        ([[0, 1]], "must begin with equal"),
        ([[0], [0]], "none of them twice"),
        ([[9]], "found 9"),
    ):
        with pytest.raises(ValueError, match=words):
            circuit.fit_em([[0, 1, 0]], tied=tied)


@pytest.mark.parametrize("kind", ["table", "gaussian"])
def test_steps_of_em_equal_those_of_hmmlearn(kind):
    hmm = pytest.importorskip("hmmlearn.hmm")
    rows = chain(TABLE if kind == "table" else Gaussian(MEAN, STD)).sample(50, rng=4)
    start = pcircuit.hmm(
        12, 3, leaves=TABLE if kind == "table" else Gaussian(MEAN + 0.3, STD), rng=5
    )
    steps = 5
    options = {"init_params": "", "n_iter": steps, "tol": -np.inf}
    if kind == "table":
        other = hmm.CategoricalHMM(3, params="ste", n_features=4, **options)
        other.emissionprob_ = TABLE
    else:
        other = hmm.GaussianHMM(
            3, "diag", params="stmc", covars_prior=0, covars_weight=0, min_covar=0, **options
        )
        other.means_, other.covars_ = (MEAN + 0.3)[:, None], (STD**2)[:, None]
    other.startprob_ = start.regions[-1].weights[0]
    other.transmat_ = start.regions[-2].weights
    column = rows.reshape(-1, 1)
    assert start.log_likelihood(rows).sum() == pytest.approx(
        other.score(column, [12] * 50), rel=1e-9
    )
    other.fit(column, [12] * 50)
    fitted, _ = start.fit_em(rows, num_epochs=steps, pseudocount=0, tied=True)
    assert fitted.regions[-1].weights[0] == pytest.approx(other.startprob_, rel=1e-9, abs=1e-12)
    assert fitted.regions[-2].weights == pytest.approx(other.transmat_, rel=1e-9, abs=1e-12)
    leaves = fitted.inputs[0].leaves
    if kind == "table":
        assert leaves.probs == pytest.approx(other.emissionprob_, rel=1e-9, abs=1e-12)
    else:
        assert leaves.mean == pytest.approx(other.means_[:, 0], rel=1e-9)
        assert leaves.std**2 == pytest.approx(other.covars_.ravel(), rel=1e-9)
