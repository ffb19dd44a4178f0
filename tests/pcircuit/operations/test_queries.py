"""Queries against sums over all states: events, tables, linear functions, entropies, most probable states, shares."""
import itertools
import math
import pathlib
import re

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree
from pcircuit.operations.properties import shared_terms

ZOO = zoo.circuits()
UNNORMALIZED = zoo.unnormalized_circuits()
ALL = {**ZOO, **{f"unnormalized {name}": circuit for name, circuit in UNNORMALIZED.items()}}
DETERMINISTIC = [name for name in ZOO if name in ("deterministic", "single_units", "one_region")]


def values(circuit):
    """f(x) of all states."""
    return naive.likelihood(circuit, naive.states(circuit))


def chow_liu(seed, V=5, C=3):
    """A deterministic circuit over a learned tree."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, C, (200, V))
    data[:, 1] = (data[:, 0] + (rng.random(200) < 0.3)) % C
    return pcircuit.chow_liu_circuit(data, num_categories=[C] * V)


# -- conditions and events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_normalised_circuits_are_proportional(name):
    circuit = ALL[name]
    f = values(circuit)
    if f.sum() == 0:
        with pytest.raises(StructureError, match="zero for every state"):
            pcircuit.normalize(circuit)
        return
    normal = pcircuit.normalize(circuit)
    assert normal.is_normalized
    np.testing.assert_allclose(values(normal), f / f.sum(), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ZOO)
def test_events_and_conditions_are_sums_over_states(name):
    circuit, rng = ZOO[name], np.random.default_rng(3)
    X, p = naive.states(circuit), values(circuit)
    for _ in range(10):
        event = {}
        for v in rng.permutation(circuit.num_variables)[:rng.integers(1, circuit.num_variables + 1)].tolist():
            levels = np.flatnonzero(rng.random(circuit.num_categories[v]) < 0.6).tolist()
            if levels:
                event[v] = levels if rng.random() < 0.7 else levels[0]
        inside = np.all([np.isin(X[:, v], levels) for v, levels in event.items()] or [np.ones(len(X), bool)], axis=0)
        total = p[inside].sum()
        assert np.exp(pcircuit.log_probability(circuit, event)) == pytest.approx(total, rel=1e-12, abs=1e-300)
        if total == 0:
            with pytest.raises(ValueError, match="probability zero"):
                pcircuit.condition(circuit, event, keep_known=True)
            continue
        given_event = pcircuit.condition(circuit, event, keep_known=True)
        assert given_event.is_normalized
        np.testing.assert_allclose(values(given_event), np.where(inside, p, 0) / total, rtol=1e-11, atol=1e-300)


def test_known_variables_are_left_out():
    circuit = ZOO["rat_like"]
    X, p = naive.states(circuit), values(circuit)
    found = pcircuit.condition(circuit, {1: 0})
    assert found.num_variables == circuit.num_variables - 1
    inside = X[:, 1] == 0
    np.testing.assert_allclose(values(found), p[inside] / p[inside].sum(), rtol=1e-12)


@pytest.mark.parametrize(("event", "error", "message"), [
    ([0, 1], TypeError, "must be a mapping from variables to levels, found list"),
    ({9: 0}, ValueError, "names the variable 9, expected one of 0..1"),
    ({0: 5}, ValueError, "names the level 5 of variable 0"),
    ({0: []}, ValueError, "allows no level of variable 0"),
    ({True: 0}, ValueError, "names the variable True"),
    ({0: 0, 1: 0}, ValueError, "fixes all variables"),
])
def test_bad_events_get_one_sentence(event, error, message):
    with pytest.raises(error, match=message):
        pcircuit.condition(ZOO["two_coins"], event)


def test_conditioning_survives_a_thousand_variables():
    circuit = pcircuit.rat_spn([4] * 1000, num_units=3, depth=3, rng=0)
    row = pcircuit.sample(circuit, 1, rng=0)[0]
    event = {v: int(row[v]) for v in range(0, 999)}
    last = pcircuit.condition(circuit, event)
    rows = np.repeat(row[None], 4, axis=0)
    rows[:, 999] = range(4)
    joint = pcircuit.log_likelihood(circuit, rows)
    np.testing.assert_allclose(np.log(last.regions[0].probs[0]), joint - np.logaddexp.reduce(joint), rtol=1e-9)


# -- tables and linear functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_tables_are_sums_over_states(name):
    circuit = ZOO[name]
    p = values(circuit).reshape(circuit.num_categories)
    for v, table in enumerate(pcircuit.marginal_tables(circuit)):
        others = tuple(u for u in range(circuit.num_variables) if u != v)
        np.testing.assert_allclose(table, p.sum(axis=others), rtol=1e-12, atol=1e-300)
    pairs = pcircuit.pairwise_tables(circuit)
    assert len(pairs) == math.comb(circuit.num_variables, 2)
    for (u, v), table in pairs.items():
        others = tuple(w for w in range(circuit.num_variables) if w not in (u, v))
        np.testing.assert_allclose(table, p.sum(axis=others), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(pcircuit.pairwise_tables(circuit, [(v, u)])[v, u], table.T, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ZOO)
def test_linear_functions_have_their_moments_and_distribution(name):
    circuit, rng = ZOO[name], np.random.default_rng(4)
    X, p = naive.states(circuit), values(circuit)
    g = [rng.integers(-2, 4, C) for C in circuit.num_categories]
    total = sum(table[X[:, v]] for v, table in enumerate(g))
    mean, variance = pcircuit.linear_moments(circuit, g)
    assert mean == pytest.approx(p @ total, rel=1e-12, abs=1e-12)
    assert variance == pytest.approx(p @ (total - p @ total) ** 2, rel=1e-10, abs=1e-12)
    support, law = pcircuit.sum_distribution(circuit, g)
    expected = [p[total == s].sum() for s in support]
    np.testing.assert_allclose(law, expected, rtol=1e-11, atol=1e-300)
    assert support[0] == sum(table.min() for table in g)
    assert support[-1] == sum(table.max() for table in g)


def test_linear_functions_are_checked():
    circuit = ZOO["two_coins"]
    with pytest.raises(ValueError, match="one array for each of the 2 variables, found 1"):
        pcircuit.linear_moments(circuit, [[0, 1]])
    with pytest.raises(ValueError, match="must hold whole numbers"):
        pcircuit.sum_distribution(circuit, [[0, 0.5], [0, 1]])
    with pytest.raises(ValueError, match="2 finite numbers for variable 1"):
        pcircuit.linear_moments(circuit, [[0, 1], [0, np.nan]])
    with pytest.raises(ValueError, match="at most 1000000 are worked with"):
        pcircuit.sum_distribution(circuit, [[0, 10**7], [0, 1]])


# -- properties ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_determinism_is_what_enumeration_says(name):
    circuit = ALL[name]
    X = naive.states(circuit)
    likelihoods = naive.node_values(circuit, X)
    first, expected = circuit.offsets, True
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InnerRegion):
            products = likelihoods[:, first[r]:first[r] + region.num_products] > 0
            used = region.dense_weights() > 0
            expected &= all((products[:, row].sum(axis=1) <= 1).all() for row in used)
    assert pcircuit.properties(circuit).deterministic == expected
    assert pcircuit.properties(circuit).normalised == circuit.is_normalized
    if not expected:
        r, k, p, q = shared_terms(circuit)
        both = likelihoods[:, first[r] + p] * likelihoods[:, first[r] + q] > 0
        assert both.any()
        assert (circuit.regions[r].dense_weights()[k, [p, q]] > 0).all()


def test_chow_liu_circuits_are_deterministic_and_hidden_ones_are_not():
    circuit = chow_liu(0)
    assert pcircuit.properties(circuit).deterministic
    hidden = pcircuit.hclt(np.random.default_rng(0).integers(0, 2, (50, 4)), num_latents=2)
    found = pcircuit.properties(hidden)
    assert not found.deterministic
    assert "mixes products" in str(found)


@pytest.mark.parametrize("name", ALL)
def test_pruned_circuits_have_the_same_values(name):
    circuit = ALL[name]
    pruned = pcircuit.prune(circuit)
    np.testing.assert_allclose(values(pruned), values(circuit), rtol=1e-13, atol=0)
    assert pruned.num_nodes <= circuit.num_nodes
    assert pcircuit.prune(pruned) == pruned


# -- entropies -----------------------------------------------------------------------------------------------------


def plain_cross_entropy(p, q):
    a, b = values(p), values(q)
    return -sum(x * math.log(y) if y > 0 else -math.inf for x, y in zip(a, b, strict=True) if x > 0)


@pytest.mark.parametrize("seed", range(4))
def test_entropies_of_deterministic_circuits_are_exact(seed, monkeypatch):
    p, q = chow_liu(seed), chow_liu(seed)
    other = pcircuit.fit_em(q, np.random.default_rng(seed).integers(0, 3, (50, 5)), num_epochs=1, pseudocount=0)[0]
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)  # the recursion, not the sum over states
    for found, expected in (
        (pcircuit.entropy(p), plain_cross_entropy(p, p)),
        (pcircuit.cross_entropy(p, other), plain_cross_entropy(p, other)),
        (pcircuit.kl_divergence(p, other), plain_cross_entropy(p, other) - plain_cross_entropy(p, p)),
    ):
        assert (found.method, found.error) == ("exact", 0.0)
        assert found.value == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", ZOO)
def test_entropies_of_small_circuits_are_sums_over_states(name):
    circuit = ZOO[name]
    expected = plain_cross_entropy(circuit, circuit)
    assert pcircuit.entropy(circuit).value == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert pcircuit.kl_divergence(circuit, circuit).value == pytest.approx(0, abs=1e-11)


def test_mass_outside_the_support_makes_the_divergence_infinite():
    fair, certain = (Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.5, 1.0))
    assert pcircuit.kl_divergence(fair, certain).value == math.inf
    assert pcircuit.kl_divergence(certain, fair).value == pytest.approx(math.log(2))


def test_estimates_lie_within_their_errors(monkeypatch):
    circuit = ZOO["hclt_like"]
    exact = pcircuit.entropy(circuit).value
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)
    found = [pcircuit.entropy(circuit, num_samples=2000, rng=seed) for seed in range(40)]
    assert {estimate.method for estimate in found} == {"monte-carlo"}
    outside = sum(abs(e.value - exact) > 1.96 * e.error for e in found)
    assert outside <= 7  # binomial(40, 0.05) exceeds 7 with probability 4e-4


@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "deterministic", "mixed_categories"])
def test_mutual_information_is_a_sum_over_states(name):
    circuit = ZOO[name]
    p = values(circuit).reshape(circuit.num_categories)
    V = circuit.num_variables
    for first, second in (([0], [1]), (range(V // 2), range(V // 2, V))):
        keep = sorted([*first, *second])
        joint = p.sum(axis=tuple(v for v in range(V) if v not in keep))
        a = joint.sum(axis=tuple(keep.index(v) for v in second), keepdims=True)
        b = joint.sum(axis=tuple(keep.index(v) for v in first), keepdims=True)
        positive = joint > 0
        expected = (joint[positive] * np.log(joint[positive] / (a * b)[positive])).sum()
        found = pcircuit.mutual_information(circuit, first, second)
        assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    with pytest.raises(ValueError, match="without a common one"):
        pcircuit.mutual_information(circuit, [0], [0, 1])


# -- mixtures and powers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_mixtures_and_powers_are_what_they_say(name):
    circuit = ALL[name]
    other = Circuit(circuit.vtree, [InputRegion(r.variable, r.probs[:, ::-1]) if isinstance(r, InputRegion) else r
                                    for r in circuit.regions])
    f, g = values(circuit), values(other)
    np.testing.assert_allclose(values(pcircuit.mixture([circuit, other], [0.3, 2.0])), 0.3 * f + 2 * g, rtol=1e-12)
    np.testing.assert_allclose(values(pcircuit.mixture([circuit])), f, rtol=1e-13)
    np.testing.assert_allclose(values(pcircuit.power(circuit, 2)), f**2, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(values(pcircuit.power(circuit, 3)), f**3, rtol=1e-12, atol=1e-300)


def test_bad_mixtures_and_powers_get_one_sentence():
    circuit = ZOO["two_coins"]
    with pytest.raises(ValueError, match="needs at least one"):
        pcircuit.mixture([])
    with pytest.raises(ValueError, match="2 finite numbers of at least 0"):
        pcircuit.mixture([circuit, circuit], [1.0, -1.0])
    with pytest.raises(ValueError, match="whole number of at least 1, found 0"):
        pcircuit.power(circuit, 0)


# -- most probable states ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_the_most_probable_state_is_the_largest_of_all(name):
    circuit, rng = ZOO[name], np.random.default_rng(5)
    X, p = naive.states(circuit), values(circuit)
    for _ in range(6):
        row = np.where(rng.random(circuit.num_variables) < 0.3, X[rng.choice(len(X), p=p / p.sum())], -1)
        agrees = ((row < 0) | (row == X)).all(axis=1)
        found = pcircuit.most_probable_state(circuit, row)
        assert found.is_exact
        assert np.exp(found.log_likelihood) == pytest.approx(p[agrees].max(), rel=1e-11)
        assert ((row < 0) | (found.state == row)).all()
        assert np.exp(naive.log_likelihood(circuit, found.state[None])[0]) == pytest.approx(p[agrees].max(), rel=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_deterministic_circuits_need_one_pass(seed):
    circuit = chow_liu(seed)
    found = pcircuit.most_probable_state(circuit, must_be_exact=True)
    assert found.num_evaluations == 1
    assert found.log_likelihood == pytest.approx(naive.log_likelihood(circuit, naive.states(circuit)).max(), rel=1e-12)


def test_a_search_that_is_given_up_says_so():
    circuit = pcircuit.rat_spn([3] * 60, num_units=6, depth=4, rng=1)
    found = pcircuit.most_probable_state(circuit, max_evaluations=500)
    assert not found.is_exact
    assert found.upper_bound > found.log_likelihood
    with pytest.raises(StructureError, match=r"not deterministic \(sum .* share a row\), and 500 evaluations"):
        pcircuit.most_probable_state(circuit, max_evaluations=500, must_be_exact=True)


def test_impossible_evidence_has_no_most_probable_completion():
    certain = Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])])
    with pytest.raises(ValueError, match="`evidence` has probability zero"):
        pcircuit.most_probable_state(certain, [1])


# -- explanations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_latent_posteriors_are_flows_of_the_row(name):
    circuit, rng = ZOO[name], np.random.default_rng(6)
    X, p = naive.states(circuit), values(circuit)
    row = np.where(rng.random(circuit.num_variables) < 0.3, -1, X[rng.choice(len(X), p=p / p.sum())])
    flows = naive.flows(circuit, row[None])
    posterior = pcircuit.latent_posterior(circuit, row)
    for r, region in enumerate(circuit.regions):
        assert posterior[r].sum() == pytest.approx(1, rel=1e-12)
        if isinstance(region, InnerRegion):
            np.testing.assert_allclose(posterior[r], flows[r].sum(axis=1), rtol=1e-9, atol=1e-12)


def plain_shapley(circuit, row):
    V = len(row)
    value = {}
    for S in itertools.chain.from_iterable(itertools.combinations(range(V), n) for n in range(V + 1)):
        part = np.full(V, -1)
        part[list(S)] = row[list(S)]
        value[frozenset(S)] = naive.log_likelihood(circuit, part[None])[0]
    orders = list(itertools.permutations(range(V)))
    shares = np.zeros(V)
    for order in orders:
        for n, i in enumerate(order):
            shares[i] += value[frozenset(order[:n + 1])] - value[frozenset(order[:n])]
    return shares / len(orders)


@pytest.mark.parametrize("name", ["two_coins", "hclt_like", "rat_like", "nary"])
def test_shapley_values_are_means_over_all_orders(name, monkeypatch):
    circuit = ZOO[name]
    if circuit.num_variables > 6:
        circuit = pcircuit.marginalize(circuit, keep=range(6))
    X, p = naive.states(circuit), values(circuit)
    row = X[p.argmax()]
    expected = plain_shapley(circuit, row)
    found, error = pcircuit.shapley_values(circuit, row)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert not error.any()
    assert found.sum() == pytest.approx(np.log(p.max()), rel=1e-10)
    monkeypatch.setattr("pcircuit.operations.explanations.MOST_SUBSETS", 1)
    drawn, error = pcircuit.shapley_values(circuit, row, num_orders=400, rng=0)
    assert drawn.sum() == pytest.approx(np.log(p.max()), rel=1e-10)
    assert (np.abs(drawn - expected) <= 4.5 * error + 1e-12).all()  # 4.5 sigma: 7e-6 a variable


def test_missing_entries_have_no_share():
    row = np.array([0, -1])
    assert pcircuit.shapley_values(ZOO["two_coins"], row)[0][1] == 0


@given(st.integers(0, 2**32 - 1))
def test_queries_agree_with_each_other(seed):
    rng = np.random.default_rng(seed)
    circuit = zoo.random_circuit(rng, num_variables=4, max_units=3)
    tables = pcircuit.pairwise_tables(circuit)
    marginals = pcircuit.marginal_tables(circuit)
    for (u, v), table in tables.items():
        np.testing.assert_allclose(table.sum(axis=1), marginals[u], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(table.sum(axis=0), marginals[v], rtol=1e-10, atol=1e-14)
    c = int(marginals[0].argmax())
    assert np.exp(pcircuit.log_probability(circuit, {0: c})) == pytest.approx(marginals[0][c], rel=1e-11)
    given_c = pcircuit.condition(circuit, {0: c})
    np.testing.assert_allclose(pcircuit.marginal_tables(given_c)[0], tables[0, 1][c] / marginals[0][c], rtol=1e-9,
                               atol=1e-13)


def test_the_table_of_queries_names_functions_that_there_are():
    page = pathlib.Path(__file__).parents[3] / "docs" / "queries.md"
    rows = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| ")][2:]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    assert len(named) > 20
    assert all(callable(getattr(pcircuit, name)) for name in named)
