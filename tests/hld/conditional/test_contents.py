"""What files hold of a test given covariates: read back as it was, and refused where no rows could have given it."""

import numpy as np
import pytest

import hld
from hld.testing.conditional.conditional_test import ConditionalTest, conditional_test
from hld.testing.conditional.contents import read_contents
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "hld.testing.conditional.few_rows.NUM_GROUPS", 9
        )  # whose number takes most of the time
        return conditional_test(inner, rows(120, 0), GIVEN, seed=0)


@pytest.fixture
def arrays(test):
    return test.to_arrays()


def test_all_is_read_back_as_it_was(test, arrays):
    again = ConditionalTest(test.inner, *read_contents(test.inner, arrays))
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
            read_contents(test.inner, rest)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("given", lambda a: a[::-1], "the covariates of the test must be ascending columns"),
        ("given", lambda a: a * 0, "the covariates of the test must be ascending columns"),
        ("given", lambda a: a + 3, "the covariates of the test must be ascending columns"),
        ("given", lambda a: a - 1, "the covariates of the test must be ascending columns"),
        ("given", lambda a: a[:1], "does not fit its covariates|array 'groups' must hold"),
        ("given", lambda a: a * 1.0, "'given'"),
        ("num_rows", lambda a: a * 0 + 1, "are not those of rows"),
        ("beta", lambda a: a * 1e6, "array 'beta' holds"),
        ("beta", lambda a: a[:, 1:], "'beta'"),
        ("beta", lambda a: a[1:], "the regression of the test does not fit its covariates"),
        (
            "inverse",
            lambda a: a + np.triu(np.abs(a).max() * np.ones(a.shape), 1),
            "the inverse of the test",
        ),
        (
            "inverse",
            lambda a: -a,
            "the inverse of the test given covariates is not that of sums of products",
        ),
        ("inverse", lambda a: a[1:, 1:], "'inverse'"),
        (
            "norms",
            lambda a: -a,
            "the norms of the test given covariates are not those of a covariance",
        ),
        (
            "norms",
            lambda a: a[:, ::-1],
            "the norms of the test given covariates are not those of a covariance",
        ),
        (
            "norms",
            lambda a: a * 1e12,
            "the norms of the test given covariates are not those of a covariance",
        ),
        (
            "norms",
            lambda a: a * [1, 1, 0.1],
            "the norms of the test given covariates are not those of a covariance",
        ),
        (
            "norms",
            lambda a: a * [1, 0.1, 1],
            "the norms of the test given covariates are not those of a covariance",
        ),
        ("fourth", lambda a: -a, "the sums of the test given covariates are not those of rows"),
        (
            "fourth",
            lambda a: a + 1e30,
            "the norms of the test given covariates are not those of a covariance",
        ),
        ("stds", lambda a: -a, "the sums of the test given covariates are not those of rows"),
        ("stds", lambda a: np.full(len(a), np.inf), "'stds'"),
        ("shown", lambda a: a + 1, "the sums of the test given covariates are not those of rows"),
        ("wider", lambda a: -a, "the sums of the test given covariates are not those of rows"),
        ("singles", lambda a: a[::-1], "the p-values of single rows must ascend from 0 to 1"),
        ("several2", lambda a: a + 1, "the p-values of few rows must ascend from 0 to 1"),
        (
            "num_ranked",
            lambda a: a * 0 + 121,
            "the farthest rows of the test given covariates are not those of its rows",
        ),
        (
            "farthest",
            lambda a: -a,
            "the farthest rows of the test given covariates are not those of its rows",
        ),
        (
            "columns",
            lambda a: a[:, ::-1],
            "the distances of rows in single columns must ascend from 0",
        ),
        ("columns", lambda a: a[1:], "'columns'"),
        (
            "columns",
            lambda a: a - 1e3,
            "the distances of rows in single columns must ascend from 0",
        ),
        ("bits", lambda a: a[1:], "'bits'"),
        ("bits", lambda a: a[:, 1:], "'bits'"),
        ("groups", lambda a: a + 1, "groups"),
        ("groups", lambda a: a[:-1], "groups"),
        ("singles", lambda a: a - 1, "the p-values of single rows must ascend from 0 to 1"),
    ],
)
def test_what_no_rows_could_have_given_is_refused(test, arrays, name, change, said):
    with pytest.raises(ValueError, match=said):
        read_contents(test.inner, arrays | {name: change(arrays[name])})


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a * 0,
        lambda a: a * 1000,
        lambda a: -a,
        lambda a: a[::-1],
        lambda a: a[:10],
        lambda a: np.append(0, a[1:]),
    ],
)
def test_the_joint_law_of_metrics_is_of_numbers_that_harmonic_means_of_p_values_can_be(
    test, arrays, change
):
    """Zeros had been taken, and divided by."""
    if len(arrays["joint"]):
        arrays["joint"] = change(arrays["joint"]).astype(np.float32)
    else:
        arrays["joint"] = np.linspace(
            0.1, 1, 20_000, dtype=np.float32
        )  # of one metric there is none
    with pytest.raises(
        ValueError, match="the joint law of the metrics given covariates must be ascending numbers"
    ):
        read_contents(test.inner, arrays)
