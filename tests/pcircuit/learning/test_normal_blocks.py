"""Mixtures of multivariate normal distributions: against their formula, with holes; and as members of mixtures."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import pcircuit
from pcircuit.learning.normal_blocks import BlockSteps, NormalBlocks, product_circuit
from pcircuit.leaves import Categorical, Gaussian

rng = np.random.default_rng(0)
MEAN, WEIGHTS = rng.normal(0, 2, (2, 3)), np.array([0.3, 0.7])
ROOTS = rng.normal(0, 1, (2, 3, 3))
COVARIANCE = ROOTS @ ROOTS.transpose(0, 2, 1) + 0.1 * np.eye(3)
PROBS = np.array([[0.9, 0.1], [0.2, 0.8]])


@pytest.fixture(scope="module")
def blocks():
    """Two products of three correlated columns and one of categories, which is number 1."""
    std = np.sqrt(np.diagonal(COVARIANCE, axis1=1, axis2=2))
    normal = [Gaussian(MEAN[:, i], std[:, i]) for i in range(3)]
    products = product_circuit([normal[0], Categorical(PROBS), *normal[1:]], WEIGHTS)
    return NormalBlocks(products, COVARIANCE / (std[:, :, None] * std[:, None, :]))


def formula(rows):
    """Likelihoods of rows, each without what it lacks."""
    found = []
    for row in rows:
        numbers, total = row[[0, 2, 3]], 0.0
        shown = np.flatnonzero(~np.isnan(numbers))
        for m in range(2):
            p = WEIGHTS[m] * (1.0 if np.isnan(row[1]) else PROBS[m, int(row[1])])
            if len(shown):
                covariance = COVARIANCE[m][np.ix_(shown, shown)]
                p *= multivariate_normal(MEAN[m][shown], covariance).pdf(numbers[shown])
            total += p
        found.append(total)
    return np.array(found)


def with_holes(blocks, num_rows, seed):
    rows = blocks.sample(num_rows, rng=seed)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.2] = np.nan
    return rows


def test_likelihoods_equal_the_formula(blocks):
    rows = with_holes(blocks, 60, 1)
    rows[0] = np.nan
    assert np.exp(blocks.log_likelihood(rows)) == pytest.approx(formula(rows), rel=1e-12)


def test_draws_given_a_part_of_the_row(blocks):
    given, count = np.array([[np.nan, 1.0, 0.5, np.nan]]), 40_000
    drawn = blocks.sample(count, given=given, rng=2)
    assert (drawn[:, 1:3] == given[:, 1:3]).all()
    r = np.array([formula(given)[0], 0.0])
    shares, means, squares = [], [], []
    for m in range(2):
        S = COVARIANCE[m]
        own = WEIGHTS[m] * PROBS[m, 1] * multivariate_normal(MEAN[m][1], S[1, 1]).pdf(0.5)
        mean = MEAN[m][[0, 2]] + S[[0, 2], 1] / S[1, 1] * (0.5 - MEAN[m][1])
        covariance = S[np.ix_([0, 2], [0, 2])] - np.outer(S[[0, 2], 1], S[1, [0, 2]]) / S[1, 1]
        shares.append(own / r[0])
        means.append(mean)
        squares.append(covariance + np.outer(mean, mean))
    assert sum(shares) == pytest.approx(1, rel=1e-12)
    mean = np.einsum("m,mi->i", shares, means)
    second = np.einsum("m,mij->ij", shares, squares)
    pairs = drawn[:, [0, 3]]
    error = 4.9 * pairs.std(axis=0) / np.sqrt(count)
    assert (np.abs(pairs.mean(axis=0) - mean) < error).all()
    products = pairs[:, 0] * pairs[:, 1]
    assert abs(products.mean() - second[0, 1]) < 4.9 * products.std() / np.sqrt(count)


def test_em_never_loses_likelihood_and_finds_what_made_the_rows(blocks):
    rows = with_holes(blocks, 3000, 3)
    normal, either = Gaussian([0.0], [1.0]), Categorical([[0.5, 0.5]])
    families = [normal, either, normal, normal]
    far = product_circuit([Gaussian([99.0], [1.0]), either, normal, normal], [1.0])
    is_normal = np.array([True, False, True, True])
    steps = BlockSteps(rows, families, is_normal, 2, 0.0, np.random.default_rng(0), far)
    both, history = steps.steps(None, 60)
    assert both.circuits[1] is steps.model
    # the shares of categories are smoothed by one row, which may cost that much
    assert np.diff(history).min() > -1e-6
    fresh = with_holes(blocks, 3000, 4)
    lost = blocks.log_likelihood(fresh) - steps.model.log_likelihood(fresh)
    assert lost.mean() < 25 / 3000 + 4.9 * lost.std() / np.sqrt(3000)  # 21 parameters


def test_members_of_mixtures_and_files(blocks, tmp_path):
    mixture = pcircuit.Mixture([blocks, blocks.products], [0.25, 0.75])
    rows = with_holes(blocks, 50, 5)
    expected = 0.25 * np.exp(blocks.log_likelihood(rows)) + 0.75 * np.exp(
        blocks.products.log_likelihood(rows)
    )
    assert np.exp(mixture.log_likelihood(rows)) == pytest.approx(expected, rel=1e-12)
    drawn = mixture.sample(given=rows, rng=0)
    assert np.array_equal(drawn[~np.isnan(rows)], rows[~np.isnan(rows)])
    assert not np.isnan(drawn).any()
    assert mixture.num_parameters == 2 * blocks.products.num_parameters + 6
    mixture.save(tmp_path / "mixture.pcm")
    again = pcircuit.load_mixture(tmp_path / "mixture.pcm")
    assert again == mixture
    assert str(again.circuits[0]) == "NormalBlocks(2 products, 3 of 4 variables correlated)"


def test_bad_correlations_are_refused(blocks):
    wrong = np.ones((2, 3, 3))
    with pytest.raises(ValueError, match=r"`correlations` must be .* not positive definite"):
        NormalBlocks(blocks.products, wrong)
    with pytest.raises(ValueError, match=r"`correlations` must be \(2, 3, 3\) finite numbers"):
        NormalBlocks(blocks.products, np.eye(3))
    deeper = pcircuit.rat_spn([2] * 4, 2, 2)
    with pytest.raises(ValueError, match="`products` must be one sum over products of inputs"):
        NormalBlocks(deeper, np.ones((1, 2, 2)))


def test_learning_finds_linear_dependence_and_keeps_rare_categories():
    generator = np.random.default_rng(6)
    base = generator.normal(size=(300, 2))
    rows = np.column_stack(
        [base, base @ [1.0, 1.0] + generator.normal(0, 0.1, 300), np.arange(300) == 7]
    )
    rows[generator.random(rows.shape) < 0.02] = np.nan
    search = pcircuit.LearnSearch(num_latents=[2, 4], pseudocounts=[1.0], num_trees=5)
    learned = pcircuit.learn(rows, leaves="auto", search=search)
    fresh = generator.normal(size=(300, 2))
    fresh = np.column_stack([fresh, fresh @ [1.0, 1.0], np.zeros(300)])
    gained = learned.model.log_likelihood(fresh) - learned.circuit.log_likelihood(fresh)
    assert gained.mean() > 0.5
    assert any(isinstance(one, NormalBlocks) for one in learned.mixture.circuits)
