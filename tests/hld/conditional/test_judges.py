"""Which test judges batches: the one that is made of what is known of the rows, with their seed."""

import numpy as np
import pytest

import hld
from hld.conditional.conditional_test import ConditionalTest, conditional_test
from hld.conditional.judges import build_judge
from hld.variation.group_test import GroupTest, group_test
from hld.variation.time_test import TimeTest, time_test
from pcircuit import rat_spn, sample

CIRCUIT = rat_spn([2] * 4, num_units=2, depth=1, rng=0)
ROWS = sample(CIRCUIT, 80, rng=1).astype(int)
LABELS, GIVEN = np.arange(80) // 10, np.arange(4) < 2
TEST = hld.HLDTest(
    CIRCUIT, metric="euclidean", null="exact", reference="training", training_data=ROWS, rng=7
)


@pytest.fixture(autouse=True)
def _few_groups(monkeypatch):
    monkeypatch.setattr(
        "hld.conditional.few_rows.NUM_GROUPS", 9
    )  # whose number takes most of the time


def same(one, other):
    """Whether two judges hold the same numbers."""
    one, other = one.to_arrays(), other.to_arrays()
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


@pytest.mark.parametrize(
    ("labels", "given", "order", "kind", "make"),
    [
        (LABELS, None, None, GroupTest, lambda seed: group_test(TEST, ROWS, LABELS, seed=seed)),
        (None, None, "time", TimeTest, lambda seed: time_test(TEST, ROWS)),
        (
            None,
            GIVEN,
            None,
            ConditionalTest,
            lambda seed: conditional_test(TEST, ROWS, GIVEN, seed=seed),
        ),
    ],
)
def test_groups_order_and_covariates_have_judges_of_their_own(labels, given, order, kind, make):
    judge = build_judge(TEST, ROWS, labels, given, order)
    assert type(judge) is kind
    assert judge.inner is TEST
    assert same(judge, make(TEST.settings.seed))
    assert same(judge, make(TEST.settings.seed + 1)) == (kind is TimeTest)  # which draws nothing


def test_of_independent_rows_the_test_itself_is_the_judge():
    assert build_judge(TEST, ROWS, None, None, None) is TEST
    assert build_judge(hld.HLDTest(CIRCUIT), None, None, None, None).reference == "circuit"


@pytest.mark.parametrize(
    ("labels", "given", "order"),
    [(None, None, None), (LABELS, None, None), (None, None, "time"), (None, GIVEN, None)],
)
def test_every_judge_gives_results_and_says_what_it_is(labels, given, order):
    judge = build_judge(TEST, ROWS, labels, given, order)
    found = judge(ROWS[:30], 0.01)
    assert isinstance(found, hld.HLDResult)
    assert (found.alpha, found.num_samples, found.reject) == (0.01, 30, found.pvalue <= 0.01)
    assert (found.context is None) == (judge is TEST)
    assert found.context is None or found.context.kind == judge.kind
    assert isinstance(judge.describe(), str)
    assert judge(ROWS[:30]).alpha == 0.05
