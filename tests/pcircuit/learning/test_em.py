"""EM: the M-step against counting by hand, monotonicity, options, and real structure."""

import io

import naive
import numpy as np
import pytest
import zoo
from engines import needs_numba
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import (
    Circuit,
    InputRegion,
    Mixture,
    StructureError,
    VTree,
    expected_flows,
    fit_em,
    fit_mixture,
    hclt,
    log_likelihood,
    maximize,
)
from pcircuit.kernels.packing import pack
from pcircuit.learning import em


def possible_rows(circuit, rng, N):
    """Rows with holes that the circuit allows."""
    data = zoo.rows_with_holes(circuit, rng, 3 * N)
    return data[log_likelihood(circuit, data) > -np.inf][:N]


@pytest.mark.parametrize("name", zoo.circuits())
def test_one_step_is_normalised_enumerated_flow(name, engine, rng):
    circuit, pseudocount = zoo.circuits()[name], 0.7
    data = possible_rows(circuit, rng, 10)
    fitted, history = fit_em(circuit, data, num_epochs=1, pseudocount=pseudocount)
    assert history[0] == pytest.approx(naive.log_likelihood(circuit, data).mean(), rel=1e-12)
    assert history[1] == pytest.approx(naive.log_likelihood(fitted, data).mean(), rel=1e-12)
    for old, new, flow in zip(
        circuit.regions, fitted.regions, naive.flows(circuit, data), strict=True
    ):
        if isinstance(old, InputRegion):
            pattern, result = np.ones_like(flow), new.probs
        else:
            pattern = (old.dense_weights() > 0) * 1.0 if old.is_sparse else np.ones_like(flow)
            result = new.dense_weights()
        size = pattern.sum(axis=1, keepdims=True)
        expected = (
            pattern * (flow + pseudocount / size) / (flow.sum(axis=1, keepdims=True) + pseudocount)
        )
        np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-14)


@given(zoo.circuit_strategy(max_variables=5), st.integers(0, 2**32))
def test_likelihood_never_decreases_without_pseudocount(circuit, seed):
    data = possible_rows(circuit, np.random.default_rng(seed), 8)
    if len(data) == 0:
        return
    fitted, history = fit_em(circuit, data, num_epochs=8, pseudocount=0)
    assert (np.diff(history) >= -1e-10).all()
    assert fitted.is_normalized


def test_result_is_the_same_for_any_number_of_threads_and_engine(monkeypatch, rng):
    circuit = zoo.random_circuit(rng, num_variables=8, max_units=4)
    data = zoo.rows_with_holes(circuit, rng, 1500)
    monkeypatch.setattr("pcircuit.inference.flows.LEAST_WORK", 0)  # else one thread would do it
    one, history = fit_em(circuit, data, num_epochs=5, n_jobs=1)
    many, _ = fit_em(circuit, data, num_epochs=5, n_jobs=4)
    assert one == many
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    _, plain = fit_em(circuit, data, num_epochs=5)
    np.testing.assert_allclose(plain, history, rtol=1e-11)


def test_row_weights_count_as_repetitions(rng):
    circuit = zoo.circuits()["hclt_like"]
    data = zoo.rows_with_holes(circuit, rng, 30)
    weights = rng.integers(0, 4, size=30)
    weighted, a = fit_em(circuit, data, num_epochs=4, weights=weights)
    repeated, b = fit_em(circuit, np.repeat(data, weights, axis=0), num_epochs=4)
    np.testing.assert_allclose(a, b, rtol=1e-11)
    for left, right in zip(weighted.regions, repeated.regions, strict=True):
        if isinstance(left, InputRegion):
            np.testing.assert_allclose(left.probs, right.probs, rtol=1e-9)


@pytest.mark.parametrize("step_size", [None, 0.3])
def test_minibatches_average_flows(rng, step_size):
    circuit = zoo.circuits()["rat_like"]
    data = zoo.rows_with_holes(circuit, rng, 50)
    order, expected = np.random.default_rng(5).permutation(50), circuit
    average = 50 * expected_flows(circuit, [[-1] * circuit.num_variables])
    for number, first in enumerate(range(0, 50, 20)):
        rows = data[order[first : first + 20]]
        weight = (number + 2) ** -0.6 if step_size is None else step_size
        average = (1 - weight) * average + weight * (
            50 / len(rows) * expected_flows(expected, rows)
        )
        expected = maximize(expected, average, pseudocount=0.3)
    fitted, _ = fit_em(
        circuit, data, num_epochs=1, pseudocount=0.3, batch_size=20, step_size=step_size, rng=5
    )
    for one, other in zip(fitted.regions, expected.regions, strict=True):
        mine, others = (
            part.probs if isinstance(part, InputRegion) else part.dense_weights()
            for part in (one, other)
        )
        np.testing.assert_allclose(mine, others, rtol=1e-10)


def test_a_pseudocount_per_step_is_added_to_the_flows_of_each_minibatch(rng):
    """Steps of size 1 forget what was before: each is an M-step on the flows of its own 20, 20 and 10 rows."""
    circuit = zoo.circuits()["rat_like"]
    data = zoo.rows_with_holes(circuit, rng, 50)
    order, expected = np.random.default_rng(5).permutation(50), circuit
    for first in range(0, 50, 20):
        rows = data[order[first : first + 20]]
        expected = maximize(expected, expected_flows(expected, rows), pseudocount=0.3)
    options = {"num_epochs": 1, "pseudocount": 0.3, "batch_size": 20, "step_size": 1, "rng": 5}
    fitted, _ = fit_em(circuit, data, pseudocount_per="step", **options)
    found, wanted = (np.exp(log_likelihood(one, data)) for one in (fitted, expected))
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    once, _ = fit_em(circuit, data, **options)  # the control smooths less
    assert not np.allclose(np.exp(log_likelihood(once, data)), found, rtol=1e-3)
    full = [
        fit_em(circuit, data, num_epochs=2, pseudocount_per=per)[0] for per in ("epoch", "step")
    ]
    assert full[0] == full[1]  # with all rows in each step a step is an epoch


def test_what_the_first_minibatch_does_not_show_stays_possible(rng):
    rows = np.zeros((400, 3), dtype=int)
    rows[-1] = 1  # once in 400 rows
    fitted, history = fit_em(
        hclt(rows, 2, rng=0), rows, num_epochs=3, batch_size=10, pseudocount=0, rng=0
    )
    assert np.isfinite(history).all()
    assert np.isfinite(log_likelihood(fitted, rows)).all()


def test_early_stop_and_callback(rng):
    circuit = zoo.circuits()["hclt_like"]
    data = zoo.rows_with_holes(circuit, rng, 40)
    _, history = fit_em(circuit, data, num_epochs=500, tolerance=1e-3)
    assert 2 < len(history) < 501
    assert history[-2] - history[-3] < 1e-3
    seen = []
    _, history = fit_em(
        circuit,
        data,
        num_epochs=50,
        callback=lambda epoch, value: seen.append((epoch, value)) or epoch == 3,
    )
    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3]
    assert len(history) == 5
    np.testing.assert_array_equal([value for _, value in seen], history[:4])


def test_units_that_nothing_reaches_keep_their_parameters():
    circuit = zoo.circuits()["two_coins"]
    blocked = Circuit(circuit.vtree, [InputRegion(0, [[1, 0], [0, 1]]), *circuit.regions[1:]])
    fitted, _ = fit_em(blocked, [[0, 0], [0, 1]], num_epochs=1, pseudocount=0)
    np.testing.assert_array_equal(fitted.regions[1].probs[1], circuit.regions[1].probs[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_epochs": -1}, "`num_epochs`"),
        ({"pseudocount": -1}, "`pseudocount`"),
        ({"pseudocount": np.nan}, "`pseudocount`"),
        ({"weights": [0.0, 0.0]}, "`weights` must not all be zero"),
    ],
)
def test_bad_options_name_the_argument(options, message):
    with pytest.raises(ValueError, match=message):
        fit_em(zoo.circuits()["two_coins"], [[0, 0], [1, 1]], **options)


def test_no_rows_and_unnormalised_circuits_are_refused():
    circuit = zoo.circuits()["two_coins"]
    with pytest.raises(ValueError, match="`data` has no rows"):
        fit_em(circuit, np.empty((0, 2), dtype=int))
    with pytest.raises(StructureError, match="not normalised"):
        fit_em(next(iter(zoo.unnormalized_circuits().values())), [[0, 0, 0]])


@needs_numba
@given(zoo.circuit_strategy(max_variables=6), st.sampled_from([0.0, 0.7]), st.integers(0, 2**32))
def test_compiled_step_equals_the_numpy_text(circuit, pseudocount, seed):
    if len(circuit.regions) == 1:
        return
    rng, packed = np.random.default_rng(seed), pack(circuit)
    edges = rng.random(len(packed.weights)) ** 50 * (
        rng.random(len(packed.weights)) < 0.7
    )  # some nearly or all zero
    num_inputs = sum(
        region.probs.size for region in circuit.regions if isinstance(region, InputRegion)
    )
    inputs = rng.random(num_inputs) ** 50 * (rng.random(num_inputs) < 0.7)
    plain = em._step_in_numpy(packed, edges, inputs, pseudocount)
    compiled = em._step_by_kernel(packed, edges, inputs, pseudocount)
    for name in ("weights", "tables", "floors"):
        np.testing.assert_allclose(
            getattr(compiled, name), getattr(plain, name), rtol=1e-12, atol=0, err_msg=name
        )
    np.testing.assert_array_equal(compiled.rescale, plain.rescale)
    np.testing.assert_array_equal(compiled.check_sums, plain.check_sums)


@pytest.mark.parametrize("pseudocount", [0, 0.3])
@pytest.mark.parametrize("name", zoo.circuits())
def test_a_step_from_added_flows_is_an_epoch(name, pseudocount, rng):
    circuit = zoo.circuits()[name]
    rows = possible_rows(circuit, rng, 40)
    first, second, third = (expected_flows(circuit, part) for part in np.array_split(rows, 3))
    flows = first + second + third
    here = maximize(circuit, flows, pseudocount=pseudocount)
    there, history = fit_em(circuit, rows, num_epochs=1, pseudocount=pseudocount)
    assert flows.mean_log_likelihood == pytest.approx(history[0], rel=1e-12)
    for own, expected in zip(here.regions, there.regions, strict=True):
        assert own.is_sparse == expected.is_sparse
        name = "probs" if own.is_input else "weights"
        found, wanted = (np.asarray(getattr(part, name).data) for part in (own, expected))
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-15)


def test_flows_of_another_circuit_are_refused(rng):
    first, other = zoo.two_coins(), next(c for c in zoo.circuits().values() if c.num_variables > 2)
    flows = expected_flows(other, zoo.rows_with_holes(other, rng, 5))
    with pytest.raises(ValueError, match="must be those of this circuit"):
        maximize(first, flows)
    with pytest.raises(TypeError, match="Flows, found list"):
        maximize(first, [flows])


def test_what_a_callback_returns_is_one_truth_value():
    with pytest.raises(
        TypeError, match="`callback` must return what is true, to stop, or false, found ndarray"
    ):
        fit_em(
            zoo.circuits()["two_coins"], [[0, 0], [1, 1]], callback=lambda epoch, value: np.zeros(2)
        )


def test_em_with_a_tolerance_and_an_impossible_row_goes_on_and_warns_of_nothing():
    """NumPy would warn of the difference of two infinities."""
    circuit = zoo.circuits()["two_coins"]
    certain = fit_em(circuit, [[0, 0]], num_epochs=1, pseudocount=0)[0]
    for options in ({}, {"batch_size": 1, "rng": 0}):
        _, history = fit_em(
            certain, [[0, 0], [1, 1]], num_epochs=3, pseudocount=0, tolerance=1e-3, **options
        )
        assert history.tolist() == [-np.inf] * 4


def test_progress_shows_the_log_likelihood_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    _, history = fit_em(
        zoo.circuits()["two_coins"], [[0, 0], [1, 1], [0, 1]], num_epochs=2, progress=True
    )
    assert f"EM, log-likelihood {history[-2]:.4f}" in terminal.getvalue()


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"batch_size": 0}, ValueError),
        ({"batch_size": 2.0}, TypeError),
        ({"step_size": 0}, ValueError),
        ({"step_size": 1.01}, ValueError),
        ({"pseudocount_per": "batch"}, ValueError),
        ({"tolerance": -1e-9}, ValueError),
        ({"tolerance": np.nan}, ValueError),
        ({"progress": 1}, TypeError),
        ({"callback": "print"}, TypeError),
    ],
)
def test_each_bad_option_names_itself(option, error):
    with pytest.raises(error, match=f"`{next(iter(option))}` must be"):
        fit_em(zoo.circuits()["two_coins"], [[0, 0], [1, 1]], **option)


def certain(value):
    """A circuit of one variable that has this value, 0 or 1."""
    return Circuit(VTree([-1], [0]), [InputRegion(0, [np.eye(2)[value]])])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "rows", "weights", "first"),
    [
        ([0, 0], [[1], [1]], [0.25, 0.75], -np.inf),  # no circuit explains any row: all stays
        ([0, 1], [[0], [0]], [1, 0], np.log(0.25)),  # no row comes from a circuit
        ([0, 0], [[0], [1]], [0.25, 0.75], -np.inf),  # an impossible row counts for none
    ],
)
def test_impossible_rows_and_circuits_leave_parameters_as_they_are(values, rows, weights, first):
    mixture = Mixture([certain(value) for value in values], [0.25, 0.75])
    fitted, history = fit_mixture(mixture, rows, num_epochs=3, pseudocount=0)
    np.testing.assert_allclose(fitted.weights, weights, rtol=1e-12)
    assert fitted.circuits == mixture.circuits
    assert history[0] == pytest.approx(first)


@pytest.mark.parametrize("num_epochs", [0, 1])
def test_a_pseudocount_out_of_range_is_refused_however_few_the_epochs(num_epochs):
    with pytest.raises(ValueError, match="`pseudocount` must be a finite number of at least 0"):
        fit_mixture(Mixture([certain(0)]), [[0]], num_epochs=num_epochs, pseudocount=-1)
