"""Circuits with leaves of every family: against sums and quadrature, the NumPy engine, and tables on a grid."""

import numpy as np
import pytest
from scipy.special import logsumexp

import pcircuit
from pcircuit import Circuit, InputRegion
from pcircuit.leaves import (
    Atoms,
    Categorical,
    Gaussian,
    Histogram,
    LeafError,
    NegativeBinomial,
    Poisson,
    Rescaled,
    Tailed,
    Truncated,
)

FAMILIES = {
    "gaussian": Gaussian([0.0, 1.0, 3.0], [1.0, 0.5, 2.0]),
    "tailed": Tailed(
        Gaussian([0.0, 1.0, 3.0], [1.0, 0.5, 2.0], [1.0, 2.0, 0.04]), [0.001, 0.1, 0.6]
    ),
    "atoms": Atoms(
        [0.0, 2.0],
        [[0.2, 0.1], [0.5, 0.5], [0.0, 0.3]],
        Gaussian([1.0, 0.0, 2.0], [0.7, 1.0, 1.0]),
        0.5,
    ),
    "histogram": Histogram(
        [-2.0, 0.0, 1.0, 1.5, 6.0], np.random.default_rng(0).dirichlet(np.ones(4), 3)
    ),
    "poisson": Poisson([0.5, 3.0, 8.0]),
    "negative binomial": NegativeBinomial([0.5, 3.0, 8.0], [0.6, 2.0, 5.0]),
    "categorical": Categorical(np.random.default_rng(1).dirichlet(np.ones(5), 3)),
    "truncated": Truncated(Gaussian([0.0, 1.0, 3.0], [1.0, 0.5, 2.0]), -0.5, 2.5),
    "truncated counts": Truncated(Poisson([0.5, 3.0, 8.0]), 0.0, 6.0),
}


def points(leaves):
    """Points x and weights w with sum_x w f(x) the integral over the base measure of what is smooth between them."""
    if leaves.is_discrete or getattr(leaves, "base", leaves).is_discrete:
        return np.arange(200.0), np.ones(200)
    edges = getattr(leaves, "edges", None)
    if isinstance(leaves, Tailed):  # up to a hundred million
        edges = 2 * np.sinh(np.linspace(-18, 18, 800))
    elif edges is None:
        edges = np.unique(
            [
                -18.0,
                *np.linspace(-17.9, 28.1, 300),
                *[getattr(leaves, end, 0.0) for end in ("low", "high")],
            ]
        )
    z, w = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2
    x, w = (edges[:-1, None] + half * (z + 1)).ravel(), (half * w).ravel()
    atoms = getattr(leaves, "values", np.zeros(0))
    weight = np.full(len(atoms), getattr(leaves, "unit", 1.0))
    return np.concatenate([x, atoms]), np.concatenate([w, weight])


def circuit_of(leaves, num_variables=3, others=None):
    """A random circuit of three units a region, one variable with these leaves, the others with others."""
    base = pcircuit.rat_spn([2] * num_variables, 3, 2, rng=0)
    others = Gaussian([0.0, 2.0, -1.0], [1.0, 0.6, 0.8]) if others is None else others
    regions = [
        InputRegion(region.variable, leaves if region.variable == 1 else others)
        if region.is_input
        else region
        for region in base.regions
    ]
    return Circuit(base.vtree, regions)


def rows_of(circuit, num_rows, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    rows = circuit.sample(num_rows, rng=rng).astype(float)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def naive_logs(circuit, rows):
    """(N, units) logarithms of all units, region by region, straight from the definition."""
    shown, parts = [], []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            shown.append(region.leaves.log_density(rows[:, region.variable]))
            parts.append(shown[-1])
            continue
        product = sum(
            shown[c][:, region.products[:, a]] for a, c in enumerate(circuit.vtree.children(r))
        )
        with np.errstate(divide="ignore"):
            logs = product[:, None, :] + np.log(region.dense_weights())
        shown.append(logsumexp(logs, axis=2))
        parts += [product, shown[-1]]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("name", FAMILIES)
def test_integrals_of_a_family_are_those_of_its_density(name):
    leaves = FAMILIES[name]
    x, w = points(leaves)
    density = np.exp(leaves.log_density(x))
    assert w @ density == pytest.approx(np.ones(3), rel=1e-10)
    assert (density <= np.exp(leaves.log_bound()) * (1 + 1e-12)).all()
    reached = np.exp(leaves.log_density(leaves.mode()).diagonal())
    assert reached == pytest.approx(np.exp(leaves.log_bound()), rel=1e-9)
    assert leaves.expectation(lambda x: x**2 + x) == pytest.approx(
        w @ (density * (x**2 + x)[:, None]), rel=1e-9
    )
    assert leaves.interval(-np.inf, 1.0) + leaves.interval(1.0, np.inf) == pytest.approx(
        np.ones(3), rel=1e-12
    )
    inside = leaves.condition(0.0, 2.0)
    kept = (x > 0.0) & (x <= 2.0)
    given = np.exp(inside.log_density(x[kept])) * leaves.interval(0.0, 2.0)
    assert given == pytest.approx(density[kept], rel=1e-9, abs=1e-300)
    if name.startswith("truncated"):
        with pytest.raises(LeafError, match="Truncated have no method `overlap2`"):
            leaves.overlap2(leaves)
        return
    assert leaves.overlap2(leaves) == pytest.approx(density.T * w @ density, rel=1e-10)
    third = np.einsum("xa,xb,xc,x->abc", density, density, density, w)
    assert leaves.overlap3() == pytest.approx(third, rel=1e-10)
    if name == "tailed":
        with pytest.raises(LeafError, match="Tailed have no method `cross_entropy`"):
            leaves.cross_entropy(leaves)
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(density[:, None] > 0, leaves.log_density(x)[:, None], 0.0)
        others = np.where(density[:, :, None] > 0, leaves.log_density(x)[:, None, :], 0.0)
    cross = -np.einsum("xa,xab,x->ab", density, others, w)
    assert leaves.cross_entropy(leaves) == pytest.approx(cross, rel=1e-9), logs.shape


@pytest.mark.parametrize("least", [0.3, 1e-3, 1e-140])
def test_normal_densities_lose_no_more_than_they_say(least):
    """Rows near the column's mean are computed by an expanded square, others and those of narrow units directly."""
    mean, std = np.array([1e3 - 2.0, 1e3, 1e3 + 1.5]), np.array([1.0, 0.5, least])
    leaves = Gaussian(mean, std, [1e3, 2.0, 1e-9])
    x = np.concatenate([np.linspace(990.0, 1010.0, 101), mean, [1e3 + 1e5, np.nan]])
    z = (x.astype(np.longdouble)[:, None] - mean) / std
    expected = -z * z / 2 - np.log(std * np.sqrt(2 * np.pi))
    expected[-1] = 0.0
    error = np.abs(leaves.log_density(x) - expected)
    assert (error <= 2.0**-40 + 1e-15 * np.abs(expected)).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_follow_the_density(name):
    leaves, rng = FAMILIES[name], np.random.default_rng(2)
    drawn = leaves.sample(np.repeat(np.arange(3), 10_000), rng).reshape(3, -1)
    for cut in (0.0, 1.0, 1.7, 3.0):
        p = leaves.interval(-np.inf, cut)
        assert np.abs((drawn <= cut).mean(axis=1) - p).max() <= 4.5 * np.sqrt(0.25 / 10_000)


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_are_gradients_and_the_m_step_has_none(name):
    leaves = FAMILIES[name]
    if name.startswith("truncated"):
        return
    rng = np.random.default_rng(3)
    x = np.concatenate([leaves.sample(np.full(300, 1), rng), [np.nan]])
    flows = rng.random((301, 3))
    fitted = leaves
    hidden = {"negative binomial": 300, "tailed": 1000}  # steps: a rate, or the tail, is hidden
    for _ in range(hidden.get(name, 1)):
        fitted = fitted.maximize(fitted.statistics(x, flows), 0.0)
    gradient = np.einsum("nks,nk->ks", fitted.scores(x), flows)
    assert np.abs(gradient).max() < 1e-6 * flows.sum()
    assert not fitted.scores(x)[-1].any()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_units_of_rows_with_holes(name, engine, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    circuit = circuit_of(FAMILIES[name], 5)
    rows = rows_of(circuit, 700)
    rows[0] = np.nan
    expected = naive_logs(circuit, rows)
    assert circuit.log_likelihood(rows) == pytest.approx(expected[:, -1], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_units_far_apart_are_not_lost(engine, monkeypatch):
    # a unit that is worse by a factor of e^-100000 in one column and better in another one
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    rng = np.random.default_rng(4)
    narrow = Gaussian(rng.normal(0, 3, 3), [0.01, 0.02, 0.05])
    circuit = circuit_of(narrow, 9, Gaussian(rng.normal(0, 3, 3), [0.03, 0.01, 0.02]))
    rows = rng.normal(0, 3, (500, 9))
    expected = naive_logs(circuit, rows)[:, -1]
    assert circuit.log_likelihood(rows) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_em_never_loses_likelihood(name, engine, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    if name.startswith("truncated"):
        with pytest.raises(LeafError, match="no method `statistics`"):
            circuit_of(FAMILIES[name]).fit_em(np.ones((2, 3)))
        return
    circuit = circuit_of(FAMILIES[name])
    rows = rows_of(circuit_of(FAMILIES[name].take([2, 0, 0])), 500, 5)
    fitted, history = circuit.fit_em(rows, num_epochs=15, pseudocount=0)
    assert np.diff(history).min() > -1e-10
    assert history[-1] > history[0] + 0.01
    both = circuit.expected_flows(rows[:200]) + circuit.expected_flows(rows[200:])
    whole = circuit.expected_flows(rows)
    assert both.inputs == pytest.approx(whole.inputs, rel=1e-9, abs=1e-9)
    again = pcircuit.maximize(circuit, whole, pseudocount=0)
    assert again.log_likelihood(rows).mean() == pytest.approx(history[1], rel=1e-6)
    assert fitted.is_normalized


PAIR = {
    "gaussian": FAMILIES["gaussian"],
    "atoms": FAMILIES["atoms"],
    "histogram": FAMILIES["histogram"],
    "poisson": FAMILIES["poisson"],
    "negative binomial": FAMILIES["negative binomial"],
}


def joint(leaves):
    """A circuit of two variables with these leaves, all pairs of points, weights, and its densities there."""
    circuit = circuit_of(leaves, 2, leaves)
    x, w = points(leaves)
    if len(x) > 500:  # smooth: fewer will do
        z, w = np.polynomial.legendre.leggauss(12)
        edges = getattr(leaves, "edges", np.linspace(-12, 16, 41))
        half = np.diff(edges)[:, None] / 2
        x, w = (edges[:-1, None] + half * (z + 1)).ravel(), (half * w).ravel()
        atoms = getattr(leaves, "values", np.zeros(0))
        weight = np.full(len(atoms), getattr(leaves, "unit", 1.0))
        x, w = np.concatenate([x, atoms]), np.concatenate([w, weight])
    rows = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.multiply.outer(w, w).ravel()
    return circuit, rows, weights


@pytest.mark.parametrize("name", PAIR)
def test_moments_of_units_equal_integrals(name):
    circuit, rows, weights = joint(PAIR[name])
    units = circuit.node_likelihoods(rows)
    p = units[:, -1] * weights
    assert p.sum() == pytest.approx(1, rel=1e-10)
    moments = circuit.exact_moments(np.arange(circuit.num_nodes))
    mean = p @ units
    assert moments.mean == pytest.approx(mean, rel=1e-10)
    centred = units - mean
    covariance = centred.T @ (p[:, None] * centred)
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs(moments.covariance() - covariance).max() <= 1e-10 * size.max()
    assert moments.trace_sq == pytest.approx((covariance**2).sum(), rel=1e-9)
    vector = np.arange(1.0, circuit.num_nodes + 1)
    assert moments.operator() @ vector == pytest.approx(covariance @ vector, rel=1e-8)
    assert circuit.overlap(circuit) == pytest.approx(p @ units[:, -1], rel=1e-10)
    assert pcircuit.overlap(circuit, circuit, circuit) == pytest.approx(
        p @ units[:, -1] ** 2, rel=1e-10
    )


@pytest.mark.parametrize("name", PAIR)
def test_events_and_functions_equal_integrals(name):
    circuit, rows, weights = joint(PAIR[name])
    p = np.exp(circuit.log_likelihood(rows)) * weights
    inside = (rows[:, 0] > 0.0) & (rows[:, 0] <= 1.0) if name != "gaussian" else None
    if inside is not None and name != "atoms":
        assert np.exp(circuit.log_probability({0: (0.0, 1.0)})) == pytest.approx(
            p[inside].sum(), rel=1e-10
        )
    given = circuit.condition({0: (0.0, np.inf)})
    above = rows[rows[:, 0] > 0.0]
    expected = circuit.log_likelihood(above) - circuit.log_probability({0: (0.0, np.inf)})
    assert given.log_likelihood(above) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert given.is_normalized
    drawn = given.sample(200, rng=0)
    assert (drawn[:, 0] > 0.0).all()
    value = {1: 1.0}
    known = circuit.condition(value)
    whole = np.column_stack([rows[:50, 0], np.ones(50)])
    expected = circuit.log_likelihood(whole) - circuit.log_probability(value)
    assert known.log_likelihood(rows[:50, :1]) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    kept = circuit.condition(value, keep_known=True)
    assert kept.log_likelihood(whole) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    only = circuit.marginalize([0])
    assert only.log_likelihood(rows[:9, 1:]) == pytest.approx(
        circuit.log_likelihood(np.column_stack([np.full(9, np.nan), rows[:9, 1]])), rel=1e-12
    )
    g = [lambda x: x, lambda x: x**2]
    total = rows[:, 0] + rows[:, 1] ** 2
    mean, variance = circuit.linear_moments(g)
    assert mean == pytest.approx(p @ total, rel=1e-9)
    assert variance == pytest.approx(p @ (total - p @ total) ** 2, rel=1e-8)


@pytest.mark.parametrize("name", PAIR)
def test_units_expected_given_a_part_equal_integrals(name):
    circuit, rows, weights = joint(PAIR[name])
    units, number = circuit.node_likelihoods(rows), round(len(rows) ** 0.5)
    joined = (units[:, -1] * weights).reshape(
        number, number
    )  # rows ascend in variable 0, then in 1
    at = number // 2
    share = joined[at] / joined[at].sum()
    expected = share @ units.reshape(number, number, -1)[at]
    given = np.array([True, False])
    row = rows[at * number + 1]
    found = pcircuit.expected_node_likelihoods(circuit, [row, [row[0], np.nan]], given)
    assert found[0] == pytest.approx(expected, rel=1e-9)
    assert found[1] == pytest.approx(circuit.node_likelihoods([[row[0], np.nan]])[0], rel=1e-12)
    whole = pcircuit.expected_node_likelihoods(circuit, [row], [False, False])[0]
    assert whole == pytest.approx(circuit.exact_moments(np.arange(circuit.num_nodes)).mean)


def test_units_on_a_grid_are_those_of_tables():
    """The free oracle: normal densities times the width of a cell are tables, and sums over a grid are integrals."""
    leaves = [
        Gaussian([0.0, 0.4, -0.7], [1.0, 0.9, 1.1]),
        Gaussian([0.2, -0.5, 0.6], [0.8, 1.0, 1.2]),
    ]
    dense = circuit_of(leaves[0], 4, leaves[1])
    width, count = (
        0.25,
        120,
    )  # less than a third of the least deviation; 12 deviations on either side
    grid = width * (np.arange(count) - (count - 1) / 2)
    tables = Circuit(
        dense.vtree,
        [
            InputRegion(r.variable, np.exp(r.leaves.log_density(grid)).T * width)
            if r.is_input
            else r
            for r in dense.regions
        ],
    )
    nodes = np.arange(dense.num_nodes)
    sizes = np.array([len(dense.scope(node)) for node in nodes])
    scale = width ** sizes.astype(float)
    moments, expected = tables.exact_moments(nodes), dense.exact_moments(nodes)
    assert moments.mean == pytest.approx(expected.mean * scale, rel=1e-12)
    one, other = moments.covariance(), expected.covariance() * np.outer(scale, scale)
    size = np.sqrt(np.outer(other.diagonal(), other.diagonal()))
    assert (np.abs(one - other) / size).max() <= 1e-12
    assert tables.overlap(tables) == pytest.approx(dense.overlap(dense) * width**4, rel=1e-12)
    codes = np.random.default_rng(0).integers(40, 80, (50, 4))
    logs = dense.log_likelihood(grid[codes]) + 4 * np.log(width)
    assert tables.log_likelihood(codes) == pytest.approx(logs, rel=1e-12)


def test_products_of_normal_circuits():
    a = circuit_of(FAMILIES["gaussian"], 3)
    b = circuit_of(
        FAMILIES["gaussian"].take([2, 1, 0]), 3, Gaussian([1.0, 0.0, 0.5], [2.0, 1.0, 0.3])
    )
    rows = rows_of(a, 50, missing=0)
    product = a.multiply(b)
    assert product.log_likelihood(rows) == pytest.approx(
        a.log_likelihood(rows) + b.log_likelihood(rows), rel=1e-11
    )
    assert product.log_likelihood(np.full((1, 3), np.nan))[0] == pytest.approx(
        pcircuit.overlap(a, b, log=True), rel=1e-11
    )
    both = pcircuit.mixture([a, b], [0.3, 0.7])
    expected = np.log(0.3 * np.exp(a.log_likelihood(rows)) + 0.7 * np.exp(b.log_likelihood(rows)))
    assert both.log_likelihood(rows) == pytest.approx(expected, rel=1e-12)
    assert pcircuit.prune(both).log_likelihood(rows) == pytest.approx(expected, rel=1e-12)
    expected = pcircuit.overlap(a, b) * np.exp(product.normalize().log_likelihood(rows))
    assert expected == pytest.approx(np.exp(product.log_likelihood(rows)), rel=1e-11)
    with pytest.raises(ValueError, match="expected leaves like"):
        pcircuit.overlap(a, circuit_of(FAMILIES["poisson"], 3))
    with pytest.raises(LeafError, match="products of leaves of the family Poisson"):
        circuit_of(FAMILIES["poisson"], 3).multiply(circuit_of(FAMILIES["poisson"], 3))


def test_entropies_and_modes():
    leaves = [FAMILIES["gaussian"].take([k]) for k in (1, 2)]
    one = Circuit(
        pcircuit.VTree.from_nested([0, 1]),
        [
            *(InputRegion(v, own) for v, own in enumerate(leaves)),
            pcircuit.InnerRegion([[0, 0]], [[1.0]]),
        ],
    )
    found = one.entropy()
    assert found.method == "exact"
    assert found.value == pytest.approx(np.log(2 * np.pi * np.e * 0.5 * 2.0), rel=1e-12)
    best = one.most_probable_state()
    assert best.is_exact
    assert sorted(best.state) == [1.0, 3.0]
    mixed = circuit_of(FAMILIES["gaussian"], 3)
    found = mixed.entropy(rng=0)
    rows = rows_of(mixed, 100_000, seed=9, missing=0)
    assert abs(found.value + mixed.log_likelihood(rows).mean()) < 4.5 * found.error * 1.1
    assert pcircuit.kl_divergence(mixed, mixed, rng=0).value == 0
    information = mixed.mutual_information([0], [1, 2], rng=0)
    assert information.value > -4.5 * information.error
    best = mixed.most_probable_state()
    assert best.log_likelihood == pytest.approx(mixed.log_likelihood(best.state[None])[0])
    assert mixed.log_likelihood(rows).max() <= best.upper_bound
    assert mixed.log_likelihood(rows).max() <= best.log_likelihood + 0.2
    assert mixed.most_probable_state([np.nan, 1.0, np.nan]).state[1] == 1.0
    shares, _ = mixed.shapley_values([0.5, np.nan, 1.0])
    assert shares.sum() == pytest.approx(mixed.log_likelihood([[0.5, np.nan, 1.0]])[0], rel=1e-12)
    assert all(
        table.sum() == pytest.approx(1) for table in mixed.latent_posterior([0.5, np.nan, 1.0])
    )
    given = mixed.sample(given=[[0.5, np.nan, 1.0]] * 3, rng=1)
    assert (given[:, [0, 2]] == [0.5, 1.0]).all()
    assert not np.isnan(given).any()
    longer, shorter = mixed.sample(9, rng=5), mixed.sample(4, rng=5)
    assert (longer[:4] == shorter).all()


def test_queries_for_tables_say_so():
    circuit = circuit_of(FAMILIES["gaussian"])
    for query in (
        lambda: circuit.marginal_tables(),
        lambda: circuit.pairwise_tables([(0, 1)]),
        lambda: circuit.sum_distribution([[0, 1]] * 3),
        lambda: circuit.regions[0].probs,
    ):
        with pytest.raises(TypeError, match=r"tables of categories|leaves are no table"):
            query()


@pytest.mark.parametrize("name", FAMILIES)
def test_files_keep_every_family(name, tmp_path):
    circuit = circuit_of(FAMILIES[name])
    circuit.save(tmp_path / "circuit.pc")
    again = pcircuit.load(tmp_path / "circuit.pc")
    assert again == circuit
    mixture = pcircuit.Mixture([circuit, circuit])
    mixture.save(tmp_path / "mixture.pcm")
    assert pcircuit.load_mixture(tmp_path / "mixture.pcm") == mixture


@pytest.mark.parametrize("name", ["gaussian", "atoms", "negative binomial", "categorical"])
def test_scores_of_circuits_are_gradients_of_the_likelihood(name):
    circuit = circuit_of(FAMILIES[name])
    rows = rows_of(circuit, 40)
    found = circuit_scores = pcircuit.scores(circuit, rows)
    assert pcircuit.mean_score(circuit, rows) == pytest.approx(found.mean(axis=0), abs=1e-12)
    assert circuit_scores @ np.ones((found.shape[1], 1)) == pytest.approx(
        pcircuit.scores(circuit, rows, directions=np.ones((found.shape[1], 1))), abs=1e-9
    )
    # by differences: the mean, in units of its std, of unit 1 of the last variable with normal leaves
    region = circuit.inputs[2].leaves
    mean = region.mean.copy()
    step = 1e-6
    logs = []
    for sign in (1, -1):
        mean[1] = region.mean[1] + sign * step * region.std[1]
        moved = [
            InputRegion(2, Gaussian(mean, region.std)) if getattr(r, "variable", -1) == 2 else r
            for r in circuit.regions
        ]
        logs.append(Circuit(circuit.vtree, moved).log_likelihood(rows))
    gradient = (logs[0] - logs[1]) / (2 * step)
    column = found.shape[1] - 3 * 2 + 2  # three units of two parameters are the last ones
    assert found[:, column] == pytest.approx(gradient, abs=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_pictures_and_words_of_every_family(name, tmp_path):
    circuit = circuit_of(FAMILIES[name])
    assert type(FAMILIES[name]).__name__ in circuit.describe() or name == "categorical"
    circuit.write_html(tmp_path / "circuit.html")
    circuit.write_html(tmp_path / "row.html", row=circuit.sample(1, rng=0)[0])
    pcircuit.write_dot(circuit, tmp_path / "circuit.dot")
    assert (tmp_path / "row.html").read_text().count("<rect") > 60


def test_densities_take_the_place_of_tables_in_em():
    rows = rows_of(circuit_of(FAMILIES["gaussian"], 4), 600, 7)
    start = pcircuit.rat_spn([8] * 4, 4, 2, rng=0)
    fitted, history = start.fit_em(rows, leaves="gaussian", num_epochs=40)
    assert history[-1] > history[0]
    alone = pcircuit.hclt(rows, 1, leaves="gaussian").log_likelihood(rows).mean()
    assert history[-1] > alone + 0.02
    assert all(type(region.leaves) is Gaussian for region in fitted.inputs)
    with pytest.raises(ValueError, match="found leaves that are no tables"):
        fitted.fit_em(rows, leaves="auto")
    with pytest.raises(ValueError, match="of 4 columns, found 3 columns"):
        start.fit_em(rows[:, :3], leaves="auto")


def test_bad_evidence_is_named():
    circuit = circuit_of(FAMILIES["gaussian"])
    mixed = circuit_of(FAMILIES["categorical"])
    for given, rows, error, words in (
        (circuit, [["a", "b", "c"]], TypeError, "numbers, and NaN"),
        (circuit, [[np.inf, 0, 0]], ValueError, "row 0, column 0, expected a number of at most 1e"),
        (circuit, [[0, 1e200, 0]], ValueError, "row 0, column 1"),
        (circuit, [[0, 1]], ValueError, r"shape \(N, 3\)"),
        (circuit, [0.0, 1.0, 2.0], ValueError, r"data\[None, :\]"),
        (mixed, [[0, 7, 0]], ValueError, "a category 0..4"),
        (mixed, [[0, 1.5, 0]], ValueError, "a category 0..4"),
    ):
        with pytest.raises(error, match=words):
            given.log_likelihood(rows)
    with pytest.raises(ValueError, match="no number in column 1"):
        pcircuit.hclt([[0.0, np.nan], [1.5, np.nan]], leaves="gaussian")
    with pytest.raises(ValueError, match="says Poisson of column 0"):
        pcircuit.hclt([[0.5, 1.0], [1.5, 2.0]], leaves="poisson")


@pytest.mark.parametrize("family", [Gaussian, NegativeBinomial])
def test_units_begin_with_the_mean_and_variance_of_a_column(family):
    x = np.array([0.0, 1.0, 2.0, 5.0, 9.0, 13.0])
    units = family.like(x, 2)
    np.testing.assert_allclose(units.expectation(lambda y: y), [x.mean()] * 2, rtol=1e-6)
    np.testing.assert_allclose(
        units.expectation(lambda y: (y - x.mean()) ** 2), [x.var()] * 2, rtol=1e-6
    )


def test_constant_and_rounded_columns_get_a_floor():
    rng = np.random.default_rng(6)
    rows = np.column_stack([np.full(300, 7.5), rng.normal(size=300).round(1), rng.normal(size=300)])
    circuit, history = pcircuit.hclt(rows, 3, leaves="gaussian").fit_em(rows, num_epochs=30)
    assert np.isfinite(history).all()
    assert circuit.inputs[0].leaves.std.min() > 0
    assert circuit.inputs[1].leaves.std.min() >= 0.05


def test_rows_that_training_nearly_showed_are_never_impossible():
    """Outliers, a larger whole number, a number beside the atoms; and which family each column gets."""
    rng = np.random.default_rng(10)
    zeros = np.where(rng.random(300) < 0.7, 0.0, rng.normal(5, 1, 300))
    rare = np.where(np.arange(300) < 3, 2.0, 0.0)
    rows = np.column_stack([rng.normal(size=300), zeros, rare, rng.integers(0, 3, 300)])
    circuit, _ = pcircuit.hclt(rows, 3, leaves="auto").fit_em(rows, num_epochs=30)
    families = [type(region.leaves) for region in circuit.inputs]
    assert families == [Tailed, Atoms, Atoms, Categorical]
    usual = circuit.log_likelihood(rows).min()
    for column, value in ((0, 3000.0), (1, -200.0), (2, 9.0), (2, 1.0)):
        row = rows[:1].copy()
        row[0, column] = value
        assert circuit.log_likelihood(row)[0] > usual - 60
    spread = np.sqrt([circuit.inputs[0].leaves.expectation(lambda x: x**2)])
    assert spread.max() < 3  # nor is the tail so heavy that it decides the moments


def test_overlaps_are_integrals_in_a_measure_that_is_larger():
    leaves, x = Rescaled(FAMILIES["gaussian"], 1.3), np.linspace(-15, 20, 20_001)
    density, measure = np.exp(leaves.log_density(x)), np.exp(1.3) * (x[1] - x[0])
    assert leaves.overlap2(leaves) == pytest.approx(density.T @ density * measure, rel=1e-9)
    threes = np.einsum("nj,nk,nl->jkl", *3 * [density]) * measure
    assert leaves.overlap3() == pytest.approx(threes, rel=1e-9)


def test_learning_finds_the_groups_of_a_table():
    rng = np.random.default_rng(8)
    group = rng.integers(3, size=600)
    rows = np.column_stack(
        [rng.normal(6.0 * group[:, None], 1.0, (600, 3)), rng.poisson(group + 1), group == 1]
    )
    rows[rng.random(rows.shape) < 0.05] = np.nan
    leaves = ["gaussian", Gaussian, "gaussian", "poisson", "auto"]
    search = pcircuit.LearnSearch(
        num_latents=[1, 4], pseudocounts=[1.0], num_trees=3, num_epochs=30
    )
    learned = pcircuit.learn(rows, leaves=leaves, search=search)
    sizes = {
        size: np.mean(
            [one.best for one in learned.trials if one.num_latents == size and one.name == "tree"]
        )
        for size in (1, 4)
    }
    assert sizes[4] > sizes[1] + 1
    assert learned.model.log_likelihood(rows).mean() > sizes[1] + 1
    assert learned.validation_log_likelihood > sizes[4] - 0.1
    for start in (
        pcircuit.rat_spn(None, 4, 1, data=rows, leaves=leaves),
        pcircuit.chow_liu_circuit(rows, leaves=leaves),
    ):
        fitted, history = start.fit_em(rows, num_epochs=20, pseudocount=0.1)
        assert history[-1] > sizes[1]
        assert type(fitted.inputs[3].leaves) is Poisson
    batches, _ = start.fit_em(rows, num_epochs=5, batch_size=100, rng=0)
    assert batches.log_likelihood(rows).mean() > sizes[1]
