"""What files hold of a test given covariates: read back as it was, and refused where no rows could have given it."""

import numpy as np
import pytest

import hld
from hld.testing.conditional.conditional_test import ConditionalTest, conditional_test
from pcircuit import rat_spn, sample

CIRCUIT = rat_spn([3] * 4, num_units=2, depth=2, rng=3)
GIVEN = np.arange(4) < 2


def rows(n, seed):
    found = sample(CIRCUIT, n, rng=seed).astype(int)
    return np.where(np.random.default_rng(seed).random(found.shape) < 0.05, -1, found)


@pytest.fixture(
    scope="module", params=["euclidean", ("euclidean", "standardized")], ids=["one metric", "two"]
)
def test(request):
    inner = hld.HLDTest(
        CIRCUIT,
        metric=request.param,
        null="exact",
        reference="training",
        training_data=rows(120, 0),
        rng=0,
    )
    return conditional_test(inner, rows(120, 0), GIVEN, seed=0)


@pytest.fixture
def arrays(test):
    return test.to_arrays()


def test_all_is_read_back_as_it_was(test, arrays):
    again = ConditionalTest.from_arrays(test.inner, arrays)
    found = again.to_arrays()
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    for T in (1, 3, 30):
        assert again(rows(T, 1)).to_dict() == test(rows(T, 1)).to_dict()


def test_no_part_may_be_lacking(test, arrays):
    for name in arrays:
        rest = {key: array for key, array in arrays.items() if key != name}
        with pytest.raises(ValueError, match=name):
            ConditionalTest.from_arrays(test.inner, rest)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("given", lambda a: a[::-1]),
        ("given", lambda a: a * 0),
        ("given", lambda a: a + 3),
        ("given", lambda a: a - 1),
        ("given", lambda a: a * 1.0),
        ("num_rows", lambda a: a * 0 + 1),
        ("beta", lambda a: a * 1e6),
        ("beta", lambda a: a[:, 1:]),
        ("beta", lambda a: a[1:]),
        ("inverse", lambda a: a + np.triu(np.abs(a).max() * np.ones(a.shape), 1)),
        ("inverse", lambda a: -a),
        ("inverse", lambda a: a[1:, 1:]),
        ("norms", lambda a: -a),
        ("norms", lambda a: a[:, ::-1]),
        ("norms", lambda a: a * 1e12),
        ("norms", lambda a: a * [1, 1, 0.1]),
        ("norms", lambda a: a * [1, 0.1, 1]),
        ("fourth", lambda a: -a),
        ("fourth", lambda a: a + 1e30),
        ("stds", lambda a: -a),
        ("stds", lambda a: np.full(len(a), np.inf)),
        ("shown", lambda a: a + 1),
        ("wider", lambda a: -a),
        ("singles", lambda a: a[::-1]),
        ("singles", lambda a: a - 1),
        ("num_ranked", lambda a: a * 0 + 121),
        ("farthest", lambda a: -a),
        ("columns", lambda a: a[:, ::-1]),
        ("columns", lambda a: a[1:]),
        ("columns", lambda a: a - 1e3),
        ("bits", lambda a: a[1:]),
        ("bits", lambda a: a[:, 1:]),
        ("groups", lambda a: a + 1),
        ("groups", lambda a: a[:-1]),
        ("events", lambda a: a + 1),
        ("events", lambda a: a[:-1]),
        ("joint", lambda a: np.zeros(20_000, np.float32)),
        ("joint", lambda a: np.linspace(1, 0.1, 20_000, dtype=np.float32)),
        ("joint", lambda a: np.linspace(0.1, 1, 10, dtype=np.float32)),
        ("joint", lambda a: np.linspace(1, 2, 20_000, dtype=np.float32)),
    ],
)
def test_what_no_rows_could_have_given_is_refused(test, arrays, name, change):
    with pytest.raises(ValueError, match=f"'{name}'"):
        ConditionalTest.from_arrays(test.inner, arrays | {name: change(arrays[name])})


def test_covariates_that_the_rest_does_not_fit_are_refused(test, arrays):
    with pytest.raises(ValueError, match=r"groups|beta"):
        ConditionalTest.from_arrays(test.inner, arrays | {"given": arrays["given"][:1]})
    joint = np.linspace(0.1, 1, 20_000, dtype=np.float32)
    for one in (joint, joint[:0]):
        if (len(one) > 0) != (len(arrays["joint"]) > 0):
            with pytest.raises(ValueError, match="joint"):
                ConditionalTest.from_arrays(test.inner, arrays | {"joint": one})
