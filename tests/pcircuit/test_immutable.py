"""What cannot change stays so in copies and in what comes out of a pickle."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse
import zoo

from pcircuit import Circuit, InnerRegion, Mixture, StructureError, fit_em, rat_spn

SPARSE = InnerRegion([[0, 0], [1, 1], [0, 1]], scipy.sparse.csr_array([[0.25, 0.0, 0.75]]))
COINS = zoo.two_coins()
VALUES = {
    "v-tree": COINS.vtree,
    "input region": COINS.regions[0],
    "inner region": COINS.regions[2],
    "sparse region": SPARSE,
    "circuit": COINS,
    "sparse circuit": Circuit(COINS.vtree, [*COINS.regions[:2], SPARSE]),
    "fitted": fit_em(COINS, [[0, 1], [1, 1]], num_epochs=1)[0],
    "mixture": Mixture([COINS, rat_spn([2, 2], rng=1), COINS], [0.1, 0.2, 0.7]),
}


def arrays(value):
    """All arrays in a value."""
    if isinstance(value, np.ndarray):
        return [value]
    if scipy.sparse.issparse(value):
        return [value.data, value.indices, value.indptr]
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays(part)]
    if not dataclasses.is_dataclass(value):
        return []
    return [
        array for field in dataclasses.fields(value) for array in arrays(getattr(value, field.name))
    ]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", VALUES)
def test_what_comes_out_of_a_pickle_is_equal_and_read_only(name, protocol):
    value = VALUES[name]
    again = pickle.loads(pickle.dumps(value, protocol))
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    assert len(arrays(again)) == len(arrays(value)) > 0
    assert not any(array.flags.writeable for array in arrays(again))
    for ours, theirs in zip(arrays(value), arrays(again), strict=True):
        np.testing.assert_array_equal(theirs, ours, strict=True)
    assert again == value


@pytest.mark.parametrize("name", VALUES)
def test_each_is_its_own_copy(name):
    assert copy.copy(VALUES[name]) is VALUES[name]
    assert copy.deepcopy([VALUES[name]])[0] is VALUES[name]


def test_a_pickle_that_was_tampered_with_is_refused():
    negative = pickle.dumps(COINS).replace(np.float64(0.25).tobytes(), np.float64(-0.25).tobytes())
    with pytest.raises(StructureError, match="`weights` must be"):
        pickle.loads(negative)
