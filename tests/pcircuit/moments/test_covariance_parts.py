"""The parts of the covariance of each region: columns against enumeration, and the covariances they are made for."""

import naive
import numpy as np
import pytest
import zoo

from pcircuit import InputRegion
from pcircuit.moments.covariance_parts import covariance_parts, no_columns
from pcircuit.moments.plan import make_plan
from pcircuit.moments.unit_pairs import as_pairs, lift

CIRCUITS = {
    name: zoo.circuits()[name]
    for name in ("two_coins", "irregular_csr", "nary", "mixed_categories", "unary", "zero_rows")
}
NAMES = list(CIRCUITS)


def plan_of(circuit, nodes=None):
    """The plan of some units, by default all, with weights from 1 to 2."""
    nodes = np.arange(circuit.num_nodes) if nodes is None else nodes
    return make_plan(circuit, nodes, np.linspace(1.0, 2.0, len(nodes)))


class Enumerated:
    """Sums over all states: of the weighted, centred likelihoods l_j - mu_j of all units."""

    def __init__(self, plan):
        circuit, x = plan.circuit, naive.states(plan.circuit)
        self.values, self.p = naive.node_values(circuit, x), naive.likelihood(circuit, x)
        likelihoods = self.values[:, plan.nodes] * plan.weights
        self.mean = self.p @ likelihoods
        self.centred = likelihoods - self.mean
        self.covariance = self.centred.T @ (self.p[:, None] * self.centred)
        self.circuit, self.scale = circuit, np.abs(self.covariance).max()

    def columns(self, r, here):
        """D (K, n) and V (pairs, n) of the coordinates `here` at region r, from its scope alone."""
        others = set(range(self.circuit.num_variables)) - set(self.circuit.vtree.scope(r))
        copies = np.prod(
            [self.circuit.num_categories[v] for v in others]
        )  # of each state of the scope
        shown = self.values[
            :,
            self.circuit.offsets[r + 1] - self.circuit.regions[r].num_units : self.circuit.offsets[
                r + 1
            ],
        ]
        pairs = np.einsum("xa,xb,xj->abj", shown, shown, self.centred[:, here]) / copies
        return shown.T @ self.centred[:, here] / copies, as_pairs(pairs)


def assert_same_up_to_a_power_of_two(found, expected):
    largest = np.abs(expected).max(initial=0.0)
    if largest < 1e-14:
        np.testing.assert_allclose(found, 0, atol=1e-12)
        return
    power = 2.0 ** np.rint(np.log2(largest / np.abs(found).max()))
    np.testing.assert_allclose(found * power, expected, rtol=1e-10, atol=1e-12 * largest)


@pytest.mark.parametrize("name", NAMES)
def test_own_columns_means_and_covariances_are_those_of_enumeration(name):
    plan = plan_of(CIRCUITS[name])
    sums = Enumerated(plan)
    for r, parts in covariance_parts(plan, compress=False):
        own = slice(plan.start[r], plan.start[r + 1])
        d, v = sums.columns(r, own)
        np.testing.assert_allclose(parts.own.mean, sums.mean[own], rtol=1e-12)
        np.testing.assert_allclose(
            parts.own.covariance, sums.covariance[own, own], atol=1e-12 * sums.scale
        )
        np.testing.assert_allclose(parts.own.d, d, atol=1e-13)
        if plan.needed[r]:
            assert_same_up_to_a_power_of_two(parts.own.v, v)
        else:
            assert len(parts.own.v) == 0


@pytest.mark.parametrize("name", NAMES)
def test_covariances_that_meet_in_a_region_are_read_off_the_columns_of_its_children(name):
    """Where all children are leaves: of two children, of own sums and own products with those below."""
    plan = plan_of(CIRCUITS[name])
    circuit, sums = plan.circuit, Enumerated(plan)
    found = dict(covariance_parts(plan, compress=False))
    over_leaves = [
        r
        for r in range(circuit.num_regions)
        if not isinstance(circuit.regions[r], InputRegion)
        and all(isinstance(circuit.regions[c], InputRegion) for c in circuit.vtree.children(r))
    ]
    assert over_leaves
    for r in over_leaves:
        parts, region, children = found[r], circuit.regions[r], circuit.vtree.children(r).tolist()
        own, *below = (slice(plan.start[c], plan.start[c + 1]) for c in (r, *children))
        here = [found[c].own.d[units] for c, units in zip(children, region.products.T, strict=True)]
        if len(children) > 1:
            np.testing.assert_allclose(
                (here[0] * parts.qp[:, None]).T @ here[1],
                sums.covariance[below[0], below[1]],
                atol=1e-12 * sums.scale,
            )
        np.testing.assert_allclose(parts.excess, region.dense_weights() - parts.qp, atol=1e-15)
        d, _ = sums.columns(r, below[0])
        np.testing.assert_allclose(parts.excess @ here[0], d, atol=1e-13)
        for c, units, factor, product_rows, at in zip(
            children, region.products.T, parts.factors, parts.product_rows, below, strict=True
        ):
            lifted = lift(found[c].own.v, units, factor, region.weights)
            rows = np.concatenate([product_rows @ found[c].own.v, parts.sum_rows @ lifted])
            np.testing.assert_allclose(rows, sums.covariance[own, at], atol=1e-12 * sums.scale)


@pytest.mark.parametrize("name", ["mixed_categories", "irregular_csr"])
def test_compressed_columns_are_fewer_and_have_the_same_gram_matrices(name):
    plan = plan_of(CIRCUITS[name])
    whole, some = (dict(covariance_parts(plan, compress=compress)) for compress in (False, True))
    fewer = 0
    for r, region in enumerate(plan.circuit.regions):
        for one, other in (whole[r].own.d, some[r].own.d), (whole[r].own.v, some[r].own.v):
            np.testing.assert_allclose(
                other @ other.T, one @ one.T, atol=1e-13 * max(1, np.abs(one @ one.T).max())
            )
        np.testing.assert_array_equal(some[r].own.covariance, whole[r].own.covariance)
        if isinstance(region, InputRegion) and region.num_units >= region.num_categories:
            assert some[r].own.d.shape[1] < region.num_categories
            fewer += 1
    assert fewer


def test_regions_come_in_the_order_of_the_plan_and_only_those_that_matter():
    circuit = CIRCUITS["nary"]
    plan = plan_of(circuit, np.array([0]))
    found = dict(covariance_parts(plan, compress=False))
    above = [0]
    while above[-1] != circuit.vtree.root:
        above.append(circuit.vtree.parent(above[-1]))
    assert list(found) == above
    for r in above[1:]:  # only an input is selected: no overlaps of inner units are needed
        assert found[r].factors == found[r].product_rows == ()
        assert found[r].own.d.shape == (circuit.regions[r].num_units, 0)
    everything = [r for r, _ in covariance_parts(plan_of(circuit), compress=False)]
    assert everything == plan.order.tolist()


def test_a_region_without_selected_units_has_columns_of_no_width():
    own = no_columns(3)
    assert [part.shape for part in (own.mean, own.covariance, own.d, own.v)] == [
        (0,),
        (0, 0),
        (3, 0),
        (0, 0),
    ]
