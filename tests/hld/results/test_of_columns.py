"""What results say of columns: those with counts and those without, in the order that the verdict asks for."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import zoo

import hld
from hld.answers.words import headline, in_words
from hld.results.of_columns import PARTS, OfColumns
from hld.results.shared_level import scaled_level
from hld.schemas.counts import compare_missing


@dataclass(frozen=True, repr=False)
class Found(OfColumns):
    """A result with the fields that it has to have."""

    evidence: Any = None
    reject: bool = False
    alpha: float = 0.01
    data_quality: Any = None
    largest_count: Any = None
    largest_dependence: Any = None
    context: Any = None


class Counts:
    """Evidence that says how it was asked."""

    columns, pairs = ["by p-value"], ("pair",)

    def moved_first(self, alpha):
        return ["likeliest", alpha]


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    table = {"kind": rng.choice(["a", "b"], 300), "size": rng.normal(size=300)}
    detector = hld.HLDDetector(num_latents=1, num_epochs=2, null="exact").fit(table)
    return detector.test({"kind": ["a"] * 40, "size": rng.normal(size=40)})


def test_the_likeliest_columns_come_first_only_where_the_batch_is_rejected():
    assert Found(Counts()).columns == ("by p-value",)
    assert Found(Counts(), reject=True).columns == ("likeliest", 0.01)
    assert Found(Counts()).pairs == ("pair",)


def test_without_counts_there_are_no_columns_and_a_frame_without_rows():
    bare = hld.HLDTest(zoo.circuits()["two_coins"])([[0, 1]] * 9)
    assert (bare.columns, bare.pairs, bare.parts_to_dict()) == ((), (), {})
    frame = bare.to_frame()
    assert (len(frame), frame.columns[0]) == (0, "column")
    assert bare.scaled_alpha == bare.alpha == 0.05


def test_the_scaled_level_is_that_of_all_that_was_tested_beside_the_distance():
    tests = [compare_missing(1000, [100], 50, [j]) for j in (5, 9)]
    assert Found(largest_count=tests[0], largest_dependence=tests[1]).scaled_alpha == scaled_level(
        0.01, *tests
    )


def test_a_frame_has_a_row_for_each_column_the_smallest_p_value_first(result):
    frame = result.to_frame()
    assert frame["column"].tolist() == [one.name for one in result.columns] == ["kind", "size"]
    assert frame["pvalue"].tolist() == [one.pvalue for one in result.columns]
    assert frame["pvalue"].is_monotonic_increasing


def test_parts_are_named_as_the_fields_and_ready_for_json(result):
    parts = result.parts_to_dict()
    known = {name for name in PARTS if getattr(result, name) is not None}
    assert parts.keys() == known | {"columns", "pairs"}
    assert {"data_quality", "largest_count"} <= known
    assert parts["largest_count"] == result.largest_count.to_dict()
    assert [one["name"] for one in parts["columns"]] == ["kind", "size"]
    assert json.loads(json.dumps(parts, allow_nan=False)) == json.loads(json.dumps(parts))


def test_printed_it_is_all_that_is_to_say_and_shown_one_line_of_it(result):
    assert (str(result), repr(result)) == (in_words(result), headline(result))
    assert str(result).startswith(repr(result))
    assert "\n" not in repr(result)
    assert "kind" in str(result)
