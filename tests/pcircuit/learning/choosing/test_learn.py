"""Learning in one call: what it chooses, that it is repeatable, and mixtures over several v-trees."""
import itertools
import warnings

import naive
import numpy as np
import pytest

from pcircuit import (
    Circuit,
    InputRegion,
    LearnSearch,
    Mixture,
    StructureError,
    VTree,
    chow_liu_circuit,
    exact_moments,
    fit_em,
    fit_mixture,
    hclt,
    learn,
    load_mixture,
    log_likelihood,
    sample,
    save_mixture,
)
from pcircuit.learning.mixture_em import row_shares

SMALL = LearnSearch(num_latents=[1, 2, 4], pseudocounts=[0.1], num_trees=3, num_epochs=40)


def groups(rng, N, V=6):
    """Rows of two groups: columns that agree with a hidden bit nine times in ten."""
    hidden = rng.integers(2, size=(N, 1))
    return (rng.random((N, V)) < 0.1 + 0.8 * hidden).astype(np.int64)


def mixed(rng, V=5):
    """A mixture of two trees on different v-trees, and rows for it."""
    rows = groups(rng, 60, V)
    chain, star = np.arange(-1, V - 1), np.array([-1] + [0] * (V - 1))
    return Mixture([hclt(rows, 2, 2, tree=chain, rng=1), hclt(rows, 3, 2, tree=star, rng=2)], [0.3, 0.7]), rows


def test_likelihoods_of_a_mixture_are_those_of_enumeration(rng):
    mixture, rows = mixed(rng)
    rows[rng.random(rows.shape) < 0.3] = -1
    expected = sum(w * naive.likelihood(c, rows) for c, w in zip(mixture.circuits, mixture.weights, strict=True))
    np.testing.assert_allclose(np.exp(log_likelihood(mixture, rows)), expected, rtol=1e-12)
    states = naive.states(mixture.circuits[0])
    assert np.exp(log_likelihood(mixture, states)).sum() == pytest.approx(1, abs=1e-12)


def test_a_mixture_of_weight_zero_and_of_impossible_rows():
    sure = [chow_liu_circuit([[x, x]] * 4, num_categories=2, pseudocount=0) for x in (0, 1)]
    mixture = Mixture(sure, [1, 0])
    assert log_likelihood(mixture, [[0, 0], [1, 1], [0, 1]]).tolist() == [0, -np.inf, -np.inf]
    assert (sample(mixture, 200, rng=0) == 0).all()
    assert sample(mixture, evidence=[[0, -1]], rng=0).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="probability zero at row 1"):
        sample(mixture, evidence=[[0, -1], [1, -1]])


def chi_square_tail(counts, expected):
    """p-value of Pearson's test of counts against expected counts."""
    from scipy.stats import chi2
    keep = expected > 0
    assert (counts[~keep] == 0).all()
    return chi2.sf(((counts[keep] - expected[keep]) ** 2 / expected[keep]).sum(), keep.sum() - 1)


@pytest.mark.parametrize("evidence", [[-1] * 5, [-1, 1, -1, 0, -1]])
def test_samples_of_a_mixture_follow_it(rng, evidence):
    mixture, _ = mixed(rng)
    N, states = 20_000, naive.states(mixture.circuits[0])
    observed = np.array(evidence)
    agrees = ((states == observed) | (observed < 0)).all(axis=1)
    share = np.exp(log_likelihood(mixture, states)) * agrees
    rows = sample(mixture, N, rng=3) if (observed < 0).all() else sample(mixture, N, evidence=[evidence], rng=3)
    counts = np.bincount(rows @ (2 ** np.arange(5)[::-1]), minlength=32)
    assert chi_square_tail(counts, N * share / share.sum()) > 1e-6
    shifted = np.roll(share, 1) + 0.02 * agrees  # the test can fail
    assert chi_square_tail(counts * agrees, N * shifted * agrees / (shifted * agrees).sum()) < 1e-6


def test_an_epoch_of_a_mixture_is_its_enumerated_step(rng):
    mixture, rows = mixed(rng)
    weights = rng.random(len(rows))
    fitted, history = fit_mixture(mixture, rows, num_epochs=1, pseudocount=0.2, weights=weights)
    values = np.stack([w * naive.likelihood(c, rows) for c, w in zip(mixture.circuits, mixture.weights, strict=True)])
    shares = weights * values / values.sum(axis=0)
    np.testing.assert_allclose(row_shares(mixture, rows, weights)[0], shares, rtol=1e-12)
    np.testing.assert_allclose(fitted.weights, shares.sum(axis=1) / weights.sum(), rtol=1e-12)
    assert history[0] == pytest.approx(np.log(values.sum(axis=0)) @ weights / weights.sum(), rel=1e-12)
    for old, new, share in zip(mixture.circuits, fitted.circuits, shares, strict=True):
        alone, _ = fit_em(old, rows, num_epochs=1, pseudocount=0.2, weights=share)
        np.testing.assert_allclose(naive.values(new), naive.values(alone), rtol=1e-12)


def test_em_of_a_mixture_never_loses(rng):
    mixture, rows = mixed(rng)
    _, history = fit_mixture(mixture, rows, num_epochs=15, pseudocount=0)
    assert (np.diff(history) > -1e-12).all()
    assert history[-1] > history[0]


def test_learning_finds_the_hidden_group(rng):
    """Chow-Liu trees, K = 1 with the tree of independent columns, are worse than two states by far."""
    rows, held = groups(rng, 1500), groups(rng, 500)
    learned = learn(rows, held, search=SMALL)
    truth = np.log([np.mean([np.prod(np.where(x == z, 0.9, 0.1)) for z in (0, 1)]) for x in held])
    assert abs(learned.validation_log_likelihood - truth.mean()) < 5 * learned.standard_error
    assert max(trial.num_latents for trial in learned.trials) > 1
    sizes = {trial.num_latents: trial.best for trial in learned.trials if trial.name == "size"}
    assert sizes[2] > sizes[1] + 0.1
    assert learned.validation_log_likelihood == log_likelihood(learned.model, held).mean()
    assert exact_moments(learned.circuit).mean.shape[0] > 0
    assert str(learned).count("\n") == len(learned.trials) + 1


def test_learning_repeats_to_the_last_bit_with_any_threads(rng):
    rows = groups(rng, 300)
    first, second = (learn(rows, search=SMALL, rng=5, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(log_likelihood(first.model, rows), log_likelihood(second.model, rows))
    assert [trial.best for trial in first.trials] == [trial.best for trial in second.trials]


def test_the_picture_has_a_curve_for_each_trial(rng):
    pytest.importorskip("matplotlib")
    learned = learn(groups(rng, 200), search=SMALL)
    lines = learned.plot().get_lines()
    assert len(lines) == len(learned.trials)
    np.testing.assert_array_equal(lines[0].get_ydata(), learned.trials[0].validation)


def share_of_ones(circuit, column):
    """What the circuit says about one column."""
    evidence = np.full((1, circuit.num_variables), -1)
    evidence[0, column] = 1
    return np.exp(log_likelihood(circuit, evidence)[0])


def test_the_smoothing_that_validation_rows_choose_does_not_bias_the_circuit():
    """With independent columns, few rows and many states, more smoothing is best for single rows, but it makes what
    never occurs as frequent as 8 / 2 rows of 108: the last step has at most the first pseudocount."""
    rng, shares = np.random.default_rng(2), [0.2, 0.4, 0.6, 0.8, 0]
    rows, held = ((rng.random((N, 5)) < shares).astype(int) for N in (100, 2000))
    search = LearnSearch(num_latents=[8], pseudocounts=[0.1, 1.0], num_trees=1, num_epochs=100)
    found = learn(rows, held, num_categories=2, search=search)
    best = max(found.trials, key=lambda trial: trial.best)
    smooth, _ = fit_em(hclt(rows, 8, 2, rng=0), rows, num_epochs=100, pseudocount=1)
    assert best.pseudocount == 1
    assert share_of_ones(smooth, 4) > 0.03
    assert share_of_ones(found.circuit, 4) < 8 * 0.1 / 100
    assert found.validation_log_likelihood == log_likelihood(found.circuit, held).mean() > best.best


def test_the_rows_that_chose_are_learned_from_at_last(rng):
    """Shares of a column are those of all rows, not of nine tenths of them."""
    rows = (rng.random((300, 5)) < [0.2, 0.4, 0.6, 0.8, 0]).astype(int)
    search = LearnSearch(num_latents=[2], pseudocounts=[1e-3], num_trees=1, num_epochs=10)
    found = learn(rows, num_categories=2, search=search)
    for column in range(5):
        assert share_of_ones(found.circuit, column) == pytest.approx(rows[:, column].mean(), abs=1e-3)


def test_the_mixture_is_kept_only_where_it_is_better(rng):
    rows, held = groups(rng, 400), groups(rng, 400)
    learned = learn(rows, held, search=SMALL)
    single = log_likelihood(learned.circuit, held).mean()
    if learned.mixture is None:
        assert learned.validation_log_likelihood == single
    else:
        assert learned.validation_log_likelihood > single + SMALL.tolerance
    assert learn(rows, held, search=LearnSearch(num_latents=[2], num_trees=1, num_epochs=20)).mixture is None


def test_rows_with_holes_and_other_categories(rng):
    rows = groups(rng, 200)
    rows[rng.random(rows.shape) < 0.2] = -1
    held = groups(rng, 50)
    held[0, 0] = 4
    learned = learn(rows, held, search=LearnSearch(num_latents=[2], num_trees=1, num_epochs=10))
    assert learned.circuit.num_categories[0] == 5
    assert np.isfinite(learned.validation_log_likelihood)


def test_held_out_rows_that_are_impossible_without_smoothing():
    """Column 1 is constant where EM sees it: no size, no mixture makes the held-out row possible."""
    rows = np.column_stack([np.arange(40) % 2, np.zeros(40, dtype=int)])
    search = LearnSearch(num_latents=[1, 2, 4], pseudocounts=[0], num_trees=2, num_parts=(), num_epochs=10,
                         bandwidths=())
    with pytest.warns(UserWarning, match="`validation` has 1 row that is impossible"):
        found = learn(rows, [[0, 1], [1, 0]], search=search)
    assert found.validation_log_likelihood == -np.inf
    assert len([trial for trial in found.trials if trial.name == "size"]) == 2
    assert np.isfinite(log_likelihood(found.circuit, rows)).all()


def test_one_row_one_column_and_constant_columns():
    search = LearnSearch(num_latents=[1, 2], num_trees=2, num_epochs=10)
    assert learn([[0]], [[1]], search=search).circuit.num_variables == 1
    assert learn(np.zeros((5, 3), dtype=int), search=search).validation_log_likelihood <= 0
    with pytest.raises(ValueError, match="two rows"):
        learn([[0, 1]])


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: learn([[0, 1], [1, 0]], [[0, 1, 1]]), ValueError, "`validation` must have the 2 columns"),
    (lambda: learn([[0, 1], [1, 0]], search={}), TypeError, "`search` must be"),
    (lambda: LearnSearch(num_latents=[]), TypeError, "at least one"),
    (lambda: LearnSearch(num_latents=[0]), ValueError, r"num_latents\[0\]"),
    (lambda: LearnSearch(num_trees=0), ValueError, "num_trees"),
    (lambda: LearnSearch(pseudocounts=[0.1, 1e200]), ValueError, r"`pseudocounts\[1\]` must .* at most 1e\+100"),
    (lambda: Mixture([]), ValueError, "at least one"),
    (lambda: Mixture([1]), TypeError, r"circuits\[0\]"),
    (lambda: Mixture([chow_liu_circuit([[0, 1]] * 2), chow_liu_circuit([[0, 2]] * 2)]), ValueError,
     "3 and 2 categories of variable 1"),
    (lambda: Mixture([chow_liu_circuit([[0, 1]] * 2)] * 2, [0.5, 0.6]), ValueError, "sum 1.1"),
    (lambda: exact_moments(Mixture([chow_liu_circuit([[0, 1]] * 2)])), TypeError, "Circuit, found Mixture"),
    (lambda: fit_mixture(chow_liu_circuit([[0, 1]] * 2), [[0, 1]]), TypeError, "Mixture, found Circuit"),
])
def test_bad_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_the_choices_of_a_search_may_be_arrays():
    search = LearnSearch(num_latents=np.array([2, 4]), pseudocounts=np.array([0.5]), num_parts=np.array([], int))
    assert search == LearnSearch(num_latents=(2, 4), pseudocounts=(0.5,), num_parts=())


def test_unnormalised_circuits_are_refused():
    with pytest.raises(StructureError, match="not normalised"):
        Mixture([Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.6]])])])


def test_a_mixture_and_its_file(tmp_path, rng):
    mixture, rows = mixed(rng)
    save_mixture(mixture, tmp_path / "m.pcm", provenance={"rows": 60})
    again = load_mixture(tmp_path / "m.pcm")
    assert np.array_equal(log_likelihood(mixture, rows), log_likelihood(again, rows))
    assert np.array_equal(mixture.weights, again.weights)


def test_hostile_files_of_mixtures(tmp_path, rng):
    from pcircuit import read_archive, write_archive
    mixture, _ = mixed(rng)
    save_mixture(mixture, tmp_path / "m.pcm")
    header, arrays = read_archive(tmp_path / "m.pcm", "pcircuit.mixture", 1)
    damaged = [
        {name: array for name, array in arrays.items() if name != "1.probs"}, arrays | {"2.probs": arrays["1.probs"]},
        arrays | {"weights": np.array([0.5, np.nan])}, arrays | {"weights": np.array([[0.5, 0.5]])},
        arrays | {"weights": np.array([0.5])}, arrays | {"weights": np.array([1, 0])},
        {name: array for name, array in arrays.items() if name != "weights"},
        arrays | {"0.probs": arrays["0.probs"] * 2}]
    for parts, extra in itertools.chain(zip(damaged, [{}] * len(damaged), strict=True), [(arrays, {"more": 1})]):
        write_archive(tmp_path / "bad.pcm", {key: header[key] for key in ("format", "version")} | extra, parts)
        with pytest.raises(ValueError, match="cannot read"):
            load_mixture(tmp_path / "bad.pcm")


@pytest.mark.parametrize(("held", "words"), [
    ([[0, 0], [1, 0]], "`validation` has 1 row that is impossible"),
    ([[1, 0], [1, 0], [0, 0]], "`validation` has 2 rows that are impossible")])
def test_rows_that_no_model_allows_are_said_to_compare_nothing(held, words):
    rows = np.array([[0, 0], [0, 1]] * 10)                       # the first column is never 1
    without = LearnSearch(num_latents=[1, 2], pseudocounts=[0.0], num_trees=1, num_epochs=10)
    with pytest.warns(UserWarning, match=words) as found:
        learned = learn(rows, held, search=without)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert learned.validation_log_likelihood == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(rows, held, search=SMALL)
        learn(rows, rows, search=without)
    with pytest.warns(UserWarning, match="`data` has among the rows set apart to choose by 1 row that is impossible"):
        learn(np.arange(10)[:, None], search=without)            # no row is like another
