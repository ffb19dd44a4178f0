"""The functions that residuals are regressed on: indicators, grouped where values are many, as many as rows allow."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hld
from hld.conditional.covariate_functions import choose_functions, value_groups
from tests import binomial_bounds


@given(st.lists(st.integers(0, 50), min_size=3, max_size=40), st.sampled_from([2, 4, 8]))
@settings(max_examples=200, deadline=None)
def test_groups_ascend_without_gaps_and_are_few(counts, num_groups):
    groups = value_groups(np.array(counts), num_groups)
    assert groups.shape == (len(counts),)
    assert groups[:2].tolist() == [0, 1]
    assert set(np.diff(groups).tolist()) <= {0, 1}
    assert groups[-1] <= num_groups
    if len(counts) - 1 <= num_groups:
        assert groups.tolist() == list(range(len(counts)))


def test_groups_have_about_equal_numbers_of_rows():
    counts = np.concatenate([[3], np.full(64, 10)])
    np.testing.assert_array_equal(
        np.bincount(value_groups(counts, 8), weights=counts), [3, *[80] * 8]
    )


def test_each_row_has_one_value_of_each_covariate_and_pair():
    """Written out once more with loops."""
    rng, num_categories = np.random.default_rng(0), [3, 30, 2, 12]
    rows = np.column_stack([rng.integers(-1, C, 4000) for C in num_categories])
    given_columns = np.array([True, True, False, True])
    functions = choose_functions(rows, given_columns, num_categories, 400)
    found = functions(rows)
    expected, places = [np.ones(len(rows))], [0, 1, 3]
    groups = dict(zip(places, functions.groups, strict=True))
    for v in places:
        expected += [rows[:, v] == value for value in range(-1, num_categories[v])]
    sizes = {v: groups[v][-1] + 1 for v in places}
    pairs = sorted(
        itertools.combinations(places, 2), key=lambda pair: sizes[pair[0]] * sizes[pair[1]]
    )
    for v, w in pairs:
        one, other = (groups[u][rows[:, u] + 1] for u in (v, w))
        expected += [(one == a) & (other == b) for a in range(sizes[v]) for b in range(sizes[w])]
    np.testing.assert_array_equal(found, np.array(expected).T)
    assert groups[1][-1] == groups[3][-1] == 8


@pytest.mark.parametrize(("most", "group_count"), [(2000, 8), (150, 4), (100, 2)])
def test_groups_get_coarser_until_all_pairs_fit(most, group_count):
    rows = np.random.default_rng(0).integers(0, 16, size=(5000, 3))
    functions = choose_functions(rows, np.ones(3, bool), [16] * 3, most)
    assert {int(one[-1]) for one in functions.groups} == {group_count}
    assert functions.num_functions == 1 + 3 * 17 + 3 * (group_count + 1) ** 2 <= most


def test_covariates_of_many_values_that_act_together_keep_the_level():
    """What the rest is, depends on the product of two covariates of fifty values, which a small circuit cannot say."""
    rng, trials = np.random.default_rng(1), 40

    def rows(n, tilt):
        pool = rng.integers(0, 50, size=(12 * n, 2))
        weights = np.exp(tilt * pool.sum(axis=1) / 50)
        x = pool[rng.choice(len(pool), n, replace=False, p=weights / weights.sum())]
        y = rng.random((n, 3)) < np.where((x[:, :1] > 24) == (x[:, 1:] > 24), 0.8, 0.2)
        return {"a": x[:, 0], "b": x[:, 1], **{f"y{i}": y[:, i] for i in range(3)}}

    detector = hld.HLDDetector(
        num_latents=2, num_epochs=5, null="exact", covariates=["a", "b"]
    ).fit(rows(8000, 0.0))
    judge, found = detector.judge_, []
    assert len(judge.beta) == 1 + 52 + 52 + 81  # with the unseen values and a hole
    for _ in range(trials):
        batch = rows(1000, 1.5)
        object.__setattr__(
            judge, "covariate_pvalue", lambda codes: 1.0
        )  # which takes most of the time
        found.append(detector.test(batch).pvalue)
    assert sum(p <= 0.05 for p in found) <= binomial_bounds.at_most(trials, 0.05)
    assert detector.test(rows(1000, 1.5) | {"y0": rng.random(1000) < 0.5}).reject


def test_files_keep_groups_and_those_without_have_one_for_each_value(tmp_path):
    rng = np.random.default_rng(2)
    table = {
        "a": rng.integers(0, 30, 2400),
        "b": rng.integers(0, 3, 2400),
        "y": rng.integers(0, 2, 2400),
    }
    detector = hld.HLDDetector(
        num_latents=2, num_epochs=2, null="exact", covariates=["a", "b"]
    ).fit(table)
    detector.save(tmp_path / "m.hld")
    again = hld.load(tmp_path / "m.hld")
    for one, other in zip(
        detector.judge_.functions.groups, again.judge_.functions.groups, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    batch = {name: cells[:50] for name, cells in table.items()}
    assert again.test(batch).pvalue == detector.test(batch).pvalue
    arrays = detector.judge_.to_arrays()
    kind = type(detector.judge_)
    old = {name: array for name, array in arrays.items() if name != "groups"}
    with pytest.raises(ValueError, match="does not fit its covariates"):  # other functions
        kind.from_arrays(detector.test_, old)
    end = 1 + 32 + 5
    old |= {"beta": old["beta"][:end], "inverse": old["inverse"][:end, :end]}
    plain = kind.from_arrays(detector.test_, old).functions
    assert [one[-1] for one in plain.groups] == [31, 4]
    for bad in (arrays["groups"] + 1, arrays["groups"] * 2, arrays["groups"][:-1]):
        with pytest.raises(ValueError, match="groups"):
            kind.from_arrays(detector.test_, arrays | {"groups": bad})
