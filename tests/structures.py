"""What the tests of learned and drawn structures share."""

import naive
import numpy as np
import pytest

from pcircuit import InputRegion


def counts(circuit):
    """Number of input, sum and product units."""
    return tuple(
        int(np.count_nonzero(circuit.nodes.kind == kind)) for kind in ("input", "sum", "product")
    )


def assert_elementwise(circuit, num_units):
    """K products, number k multiplying the units k; K sums over all of them, one at the root; no zeros."""
    for r, region in enumerate(circuit.regions):
        shown = 1 if r == circuit.vtree.root else num_units
        if isinstance(region, InputRegion):
            assert region.num_units == shown
            assert region.probs.min() > 0
        else:
            children = circuit.vtree.children(r)
            expected = np.arange(num_units)[:, None].repeat(len(children), axis=1)
            assert np.array_equal(region.products, expected)
            assert region.weights.shape == (shown, num_units)
            assert region.weights.min() > 0


def assert_sums_to_one(circuit):
    assert circuit.is_normalized
    assert naive.likelihood(circuit, naive.states(circuit)).sum() == pytest.approx(1, rel=1e-12)
