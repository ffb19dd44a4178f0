"""Products and overlaps of circuits: against enumeration, against closed forms, and one against the other."""

import itertools
import math

import naive
import numpy as np
import precise
import pytest
import scipy.sparse
import zoo
from hypothesis import given
from hypothesis import strategies as st

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree, multiply, overlap

ALL = {
    **zoo.circuits(),
    **{f"unnormalized_{name}": c for name, c in zoo.unnormalized_circuits().items()},
}


def companion(circuit, seed, *, zeros=False):
    """Another random circuit on the same v-tree and categories; other numbers of units, both weight forms."""
    rng = np.random.default_rng(seed)

    def table(*shape):
        return rng.gamma(1.0, size=shape) * (rng.random(shape) < (0.6 if zeros else 1.0))

    regions = []
    for r, region in enumerate(circuit.regions):
        K = 1 if r == circuit.vtree.root else int(rng.integers(1, 4))
        if isinstance(region, InputRegion):
            regions.append(InputRegion(region.variable, table(K, region.num_categories)))
            continue
        P = int(rng.integers(1, 5))
        shown = [regions[c].num_units for c in circuit.vtree.children(r)]
        products = np.stack([rng.integers(0, units, size=P) for units in shown], axis=1)
        weights = table(K, P) if rng.random() < 0.5 else scipy.sparse.csr_array(table(K, P))
        regions.append(InnerRegion(products, weights))
    return Circuit(circuit.vtree, regions)


def ones(circuit):
    """The constant 1 on the same v-tree."""
    return Circuit(
        circuit.vtree,
        [
            InputRegion(region.variable, np.ones((1, region.num_categories)))
            if isinstance(region, InputRegion)
            else InnerRegion(np.zeros((1, region.products.shape[1]), dtype=int), [[1.0]])
            for region in circuit.regions
        ],
    )


def two_classes(vtree, probs, weights, *, sparse=False):
    """Mixture of two classes, in each of which all variables are independent and have ``probs[class]``."""
    regions = []
    for r, v in enumerate(vtree.variables):
        if v >= 0:
            regions.append(InputRegion(v, probs))
        else:
            products = np.repeat([[0], [1]], len(vtree.children(r)), axis=1)
            table = np.array([weights]) if r == vtree.root else np.eye(2)
            regions.append(
                InnerRegion(products, scipy.sparse.csr_array(table) if sparse else table)
            )
    return Circuit(vtree, regions)


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


# -- overlap ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_overlap_by_enumeration(name):
    a = ALL[name]
    b, c = companion(a, 1), companion(a, 2, zeros=True)
    for factors in ((a, a), (a, b), (b, c), (a, a, a), (a, b, c), (b, a, a)):
        expected = naive.overlap(*factors)
        assert_close(overlap(*factors), expected)
        if expected > 0:
            assert_close(math.exp(overlap(*factors, log=True)), expected)
        else:
            assert overlap(*factors, log=True) == -math.inf


@given(zoo.circuit_strategy(), st.integers(0, 2**32 - 1), st.booleans())
def test_overlap_of_random_circuits(a, seed, zeros):
    b, c = companion(a, seed, zeros=zeros), companion(a, seed + 1)
    assert_close(overlap(a, b), naive.overlap(a, b))
    assert_close(overlap(a, b, c), naive.overlap(a, b, c))
    for order in itertools.permutations((a, b, c)):
        assert_close(overlap(*order), overlap(a, b, c))
    assert_close(overlap(b, a), overlap(a, b))
    assert_close(overlap(a, b, ones(a)), overlap(a, b))


@pytest.mark.parametrize("sparse", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "vtree",
    [
        VTree.right_linear(1000),
        VTree.balanced(1000),
        VTree.from_nested(list(range(1000))),
        VTree.from_nested([list(range(300)), *range(300, 1000)]),
    ],
    ids=repr,
)
def test_overlap_of_a_thousand_variables(vtree, sparse):
    # sum_x a b = sum_kl w_k w_l (p_k . p_l)**V; with three circuits (sum_x p_k p_l p_m)**V takes its place
    probs, weights = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([0.25, 0.75])
    V = vtree.num_variables
    circuit = two_classes(vtree, probs, weights, sparse=sparse)
    two = V * np.log(probs @ probs.T) + np.log(np.outer(weights, weights))
    three = V * np.log(np.einsum("kx,lx,mx->klm", probs, probs, probs)) + np.log(
        np.einsum("k,l,m->klm", weights, weights, weights)
    )
    assert_close(overlap(circuit, circuit, log=True), np.logaddexp.reduce(two.ravel()))
    assert_close(overlap(circuit, circuit, circuit, log=True), np.logaddexp.reduce(three.ravel()))
    assert overlap(circuit, circuit, circuit) == 0.0


@pytest.mark.parametrize("power", [10, 200, 307])
def test_weights_of_any_size_against_decimals(power):
    """Parameters between 10**-power and 10**power, a fifth of them zero."""
    rng, zeros = np.random.default_rng(power), 0

    def table(shape):
        return 10.0 ** rng.uniform(-power, power, shape) * (rng.random(shape) < 0.8)

    for _ in range(60):
        vtree = VTree.from_nested([[0], [0, 1], [[0, 1], 2]][rng.integers(3)])
        circuits = []
        for _ in range(3):
            regions = []
            for r, v in enumerate(vtree.variables.tolist()):
                K, P = 1 if r == vtree.root else int(rng.integers(1, 4)), int(rng.integers(1, 5))
                if v >= 0:
                    regions.append(InputRegion(v, table((K, 2))))
                    continue
                units = np.stack(
                    [rng.integers(0, regions[c].num_units, P) for c in vtree.children(r)], axis=1
                )
                regions.append(InnerRegion(units, table((K, P))))
            circuits.append(Circuit(vtree, regions))
        for factors in (circuits, circuits[:2], circuits[:1] * 2):
            expected = float(precise.logs(precise.overlap(*factors)))
            zeros += expected == -math.inf
            assert overlap(*factors, log=True) == pytest.approx(expected, rel=1e-13, abs=1e-12)
    assert 0 < zeros < 90


def test_logarithm_near_one():
    circuit = ALL["rat_like"]
    assert abs(overlap(circuit, ones(circuit), log=True)) < 1e-14
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5 + 2.0**-30]])])
    assert_close(overlap(coin, ones(coin), log=True), math.log1p(2.0**-30))
    assert isinstance(overlap(circuit, circuit), float)
    assert isinstance(overlap(circuit, circuit, log=True), float)


# -- multiply --------------------------------------------------------------------------------------


@given(zoo.circuit_strategy(), st.integers(0, 2**32 - 1), st.booleans())
def test_product_and_overlap_agree(a, seed, zeros):
    b, c = companion(a, seed, zeros=zeros), companion(a, seed + 1)
    product = multiply(a, b)
    states = naive.states(a)
    assert_close(
        naive.likelihood(product, states), naive.likelihood(a, states) * naive.likelihood(b, states)
    )
    assert_close(overlap(product, ones(a)), overlap(a, b))
    assert_close(overlap(product, c), overlap(a, b, c))
    assert_close(overlap(multiply(b, a), c), overlap(a, b, c))


def reachable(a, b):
    """Per region the sets of reachable pairs of shown units and of products, by following every edge."""
    units, products = [set() for _ in a.regions], [set() for _ in a.regions]
    units[-1].add((0, 0))
    for r in reversed(range(len(a.regions))):
        if isinstance(a.regions[r], InputRegion):
            continue
        left, right = a.regions[r].dense_weights(), b.regions[r].dense_weights()
        for k, l in units[r]:
            products[r] |= set(itertools.product(np.flatnonzero(left[k]), np.flatnonzero(right[l])))
        for p, q in products[r]:
            for c, child in enumerate(a.vtree.children(r)):
                units[child].add(
                    (int(a.regions[r].products[p, c]), int(b.regions[r].products[q, c]))
                )
    return units, products


@given(zoo.circuit_strategy(zeros=True))
def test_only_reachable_pairs_are_made(circuit):
    units, products = reachable(circuit, circuit)
    square = multiply(circuit, circuit)
    for r, region in enumerate(square.regions):
        assert region.num_units == len(units[r])
        if not isinstance(region, InputRegion):
            assert region.num_products == len(products[r])


# -- errors ----------------------------------------------------------------------------------------


def test_products_beyond_doubles_are_refused_and_those_below_them_are_zero():
    """Without a warning of NumPy's, which would come first."""

    def pair(entry, weight):
        inputs = [InputRegion(v, [[entry, 1.0]]) for v in range(2)]
        return Circuit(VTree.from_nested([0, 1]), [*inputs, InnerRegion([[0, 0]], [[weight]])])

    for large in (pair(1e200, 1.0), pair(1.0, 1e200)):
        with pytest.raises(StructureError, match="found inf at row 0, column 0"):
            multiply(large, large)
    small = pair(1e-200, 1.0)
    assert multiply(small, small).regions[0].probs.tolist() == [[0.0, 1.0]]
    assert_close(overlap(small, small), 1.0)


def test_errors():
    a = ALL["two_coins"]
    other_order = Circuit(VTree.from_nested([1, 0]), [a.regions[1], a.regions[0], a.regions[2]])
    three = Circuit(a.vtree, [a.regions[0], InputRegion(1, np.full((2, 3), 1 / 3)), a.regions[2]])
    for call in (multiply, overlap):
        with pytest.raises(
            StructureError, match=r"`a` is on .* and `b` on .*: circuits can be multiplied"
        ):
            call(a, other_order)
        with pytest.raises(
            ValueError, match="`b` has 3 categories of variable 1, expected 2 as in `a`"
        ):
            call(a, three)
        with pytest.raises(TypeError, match=r"`b` must be a pcircuit.Circuit, found VTree"):
            call(a, a.vtree)
        with pytest.raises(TypeError, match=r"`a` must be a pcircuit.Circuit, found list"):
            call([a], a)
    with pytest.raises(StructureError, match=r"`a` is on .* and `c` on "):
        overlap(a, a, other_order)
    with pytest.raises(TypeError, match=r"`c` must be a pcircuit.Circuit, found bool"):
        overlap(a, a, True)


ZOO = zoo.circuits()
ZOO = zoo.all_circuits()


@pytest.mark.parametrize("name", ZOO)
def test_mixtures_and_powers_are_what_they_say(name):
    circuit = ZOO[name]
    other = Circuit(
        circuit.vtree,
        [
            InputRegion(r.variable, r.probs[:, ::-1]) if isinstance(r, InputRegion) else r
            for r in circuit.regions
        ],
    )
    f, g = naive.values(circuit), naive.values(other)
    mixed = pcircuit.mixture([circuit, other], [0.3, 2.0])
    np.testing.assert_allclose(naive.values(mixed), 0.3 * f + 2 * g, rtol=1e-12)
    np.testing.assert_allclose(naive.values(pcircuit.mixture([circuit])), f, rtol=1e-13)
    np.testing.assert_allclose(
        naive.values(pcircuit.power(circuit, 2)), f**2, rtol=1e-12, atol=1e-300
    )
    np.testing.assert_allclose(
        naive.values(pcircuit.power(circuit, 3)), f**3, rtol=1e-12, atol=1e-300
    )


def test_bad_mixtures_and_powers_get_one_sentence():
    circuit = ZOO["two_coins"]
    with pytest.raises(ValueError, match="needs at least one"):
        pcircuit.mixture([])
    for function in (pcircuit.mixture, pcircuit.Mixture):
        with pytest.raises(
            TypeError, match="`circuits` must be a sequence of circuits, found ndarray"
        ):
            function(np.array(circuit))
    with pytest.raises(ValueError, match="2 finite numbers of at least 0"):
        pcircuit.mixture([circuit, circuit], [1.0, -1.0])
    with pytest.raises(ValueError, match="whole number of at least 1, found 0"):
        pcircuit.power(circuit, 0)
