"""What a batch among others is said to be compared with: each kind, size and law in its words, and ready for JSON."""

import json
from dataclasses import fields, replace

import pytest

from hld.variation.context import GroupContext

GROUPS = GroupContext("groups", 40, 1 / 41, 1.234, 0.5, 12.3456)
TIME = replace(GROUPS, kind="time")


@pytest.mark.parametrize(
    ("context", "others"),
    [
        (GROUPS, "groups of this size"),
        (replace(GROUPS, most_rows=20), "groups of at most 20 rows"),
        (TIME, "stretches of time of this size"),
        (replace(TIME, most_rows=64), "stretches of time of 64 rows, scaled to this size"),
    ],
)
def test_it_says_what_the_batch_was_compared_with(context, others):
    assert context.lines() == [
        f"among 40 {others}: 1.2 times their typical distance; the rows are worth 12.3 "
        "independent ones; no p-value is below 0.024"
    ]


def test_it_says_whether_a_law_goes_below_the_ranks():
    (line,) = replace(TIME, has_law=True).lines()
    assert line.endswith("p-values go by rank down to 0.024 and by a normal law below")


def test_it_says_where_adjusted_p_values_come_from():
    assert GROUPS.procedure == "ranks among groups"
    assert TIME.procedure == "ranks among stretches of time"


def test_it_is_ready_for_json_with_all_of_its_fields():
    saved = json.loads(json.dumps(replace(GROUPS, most_rows=20).to_dict(), allow_nan=False))
    assert saved.keys() == {one.name for one in fields(GroupContext)}
    assert GroupContext(**saved) == replace(GROUPS, most_rows=20)
