"""Columns: shares, direction and words."""

import numpy as np
import pytest

from hld.answers.column_shifts import column_shifts, from_to, labels_of, percent
from hld.answers.profile import profile_of
from hld.tables.schemas.learn_schema import fit_encoder


@pytest.fixture(scope="module")
def encoder():
    rng = np.random.default_rng(0)
    rows = [
        [float(x), str(c), int(k)]
        for x, c, k in zip(
            rng.normal(size=400), rng.choice(["a", "b"], 400), rng.integers(0, 3, 400), strict=True
        )
    ]
    return fit_encoder(rows, names=["size", "kind", "count"]), rows


def shifts(encoder, before, after):
    profiles = [
        profile_of(encoder.encode(rows)[0], encoder.num_categories, []) for rows in (before, after)
    ]
    counts = list(zip(*(one.counts for one in profiles), strict=True))
    return {one.name: one for one in column_shifts(encoder.columns, counts)}


def test_a_rise_is_named_and_measured(encoder):
    encoder, rows = encoder
    found = shifts(encoder, rows, [[x + 1, c, k] for x, c, k in rows])
    assert found["size"].direction == "higher"
    assert found["size"].adjusted < 1e-6
    before = np.array([row[0] for row in rows])
    codes = np.searchsorted(encoder.columns[0].edges, [before, before + 1], side="right")
    greater = (codes[1][:, None] > codes[0]).mean() + (codes[1][:, None] == codes[0]).mean() / 2
    assert found["size"].above == pytest.approx(greater, abs=1e-12)
    assert found["kind"].pvalue == found["count"].pvalue == 1
    assert found["kind"].describe() == "as expected"
    assert shifts(encoder, rows, [[x - 1, c, k] for x, c, k in rows])["size"].direction == "lower"


def test_shares_differences_and_missing_cells(encoder):
    encoder, rows = encoder
    found = shifts(encoder, rows, [[None, "new", k] for _, _, k in rows])
    assert found["size"].describe().startswith("(missing) 0% -> 100%")
    assert found["size"].difference == found["kind"].difference == 1
    assert found["kind"].describe().startswith("(unseen) 0% -> 100%")
    assert found["size"].above is None
    values = found["kind"].to_dict()
    assert sum(level["observed"] for level in values["levels"]) == 1
    assert [level["label"] for level in values["levels"]] == ["a", "b", "(unseen)", "(missing)"]


def test_labels_of_close_edges_differ():
    encoder = fit_encoder([[1 + k * 1e-9] for k in range(50)], continuous=[0])
    labels = labels_of(encoder.columns[0])
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("cells", "direction"),
    [
        (lambda k: 10 * k, ""),
        (lambda k: min(k + 1, 2), "higher"),
        (lambda k: k and 7, ""),
        (lambda k: max(k - 1, 0), "lower"),
    ],
)
def test_new_whole_numbers_do_not_turn_the_direction_unsaid(encoder, cells, direction):
    """Only the zeros were left among the known levels, which were called lower."""
    encoder, rows = encoder
    found = shifts(encoder, rows, [[x, c, cells(k)] for x, c, k in rows])["count"]
    assert found.direction == direction
    assert (found.above is None) == (direction == "")


def test_shares_of_nearly_all_rows_are_not_those_of_all_nor_small_ones_of_none():
    assert [percent(share) for share in (0.9949, 0.9951, 0.9996, 1 - 1e-7, 1 - 2e-16, 1.0)] == [
        "99%",
        "99.5%",
        "99.96%",
        "99.99999%",
        "100%",
        "100%",
    ]
    assert [
        from_to(*pair)
        for pair in ((0.9996, 1.0), (0.99949, 0.99951), (1.0, 1 - 1e-7), (4.12e-7, 4.13e-7))
    ] == ["99.96% -> 100%", "99.949% -> 99.951%", "100% -> 99.99999%", "4.12e-05% -> 4.13e-05%"]


def test_a_level_of_empty_text_is_seen_in_words():
    encoder = fit_encoder(
        [["", "x\ny"], ["a", "b"], ["", "b"], [" ", "b"]], names=["empty", "word"]
    )
    found = shifts(encoder, [["", "b"]] * 40 + [[" ", "x\ny"]] * 20, [["a", "b"]] * 30)
    assert found["empty"].describe() == "a 0% -> 100%; '' 67% -> 0%"
    assert found["word"].describe() == r"b 67% -> 100%; x\ny 33% -> 0%"


def test_no_two_levels_of_a_column_have_one_name():
    """The number 1, the text "1", and texts that look like what is no level: of which one was read as another."""
    cells = [[1], ["1"], ["(unseen)"], ["(missing)"], ["a"]]
    encoder = fit_encoder(np.array(cells * 2, dtype=object))
    labels = labels_of(encoder.columns[0])
    assert sorted(labels[:5]) == ["'(missing)'", "'(unseen)'", "'1'", "1", "a"]
    assert labels[5:] == ("(unseen)", "(missing)")
    found = shifts(encoder, np.array([[1]] * 9, dtype=object), np.array([["1"]] * 9, dtype=object))
    assert next(iter(found.values())).describe() == "1 100% -> 0%; '1' 0% -> 100%"
