"""What fitting learns: from which rows, with which learner, and what becomes of the column of groups."""

import warnings

import numpy as np
import pytest

import hld
import pcircuit
from hld.detector.file import PARTS, detector_parts
from hld.detector.learning import learn_detector, without_column
from hld.tables.cells import Columns
from hld.tables.schemas.schema import GROUPING, LEFT_OUT


def learned(table, groups=None, order=None, learner=None, **options):
    """All that a detector would hold, and its options."""
    few = {"num_latents": 2, "num_epochs": 2, "num_resamples": 19, "rng": 0, "pseudocount": 0.1}
    params = hld.HLDDetector(**few | options).get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of few groups
        return learn_detector(
            params, table, groups, order, False, learner, lambda text: None
        ), params


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 120)
    return {
        "k": np.array(["a", "b", "c"])[k],
        "n": k + rng.integers(0, 2, 120),
        "day": np.repeat(np.arange(40), 3),
    }


def watching(seen):
    """A learner that keeps what it was given, and learns as fitting does by itself."""

    def learner(start, codes, encoder):
        seen.append((start, codes, encoder))
        circuit, history = pcircuit.fit_em(start, codes, num_epochs=2, pseudocount=0.1)
        return circuit, history, len(codes)

    return learner


def test_all_is_there_that_a_file_needs(table):
    found, params = learned(table)
    assert set(found) == {*PARTS}
    header, arrays = detector_parts(params, found)
    assert header["num_train"] == 120
    np.testing.assert_array_equal(arrays["history"], found["history"])
    with pytest.raises(ValueError, match="read-only"):
        found["history"][0] = 0.0


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({"reference": "training"}, 120),
        ({"reference": "held-out"}, 60),
        ({"reference": "circuit"}, 120),
    ],
)
def test_a_learner_gets_the_codes_of_the_rows_to_learn_from_and_no_others(table, options, number):
    seen = []
    found, _ = learned(table, learner=watching(seen), **options)
    ((start, codes, encoder),) = seen
    assert codes.shape == (number, 3)
    every = sorted(map(tuple, encoder.encode(table)[0].tolist()))
    assert not set(map(tuple, codes.tolist())) - set(every)
    assert (
        start.num_categories == encoder.num_categories == found["schema"].encoder().num_categories
    )
    assert found["num_train"] == 120
    own, _ = learned(table, **options)  # a learner that does the same changes nothing
    assert own["test"].fingerprint == found["test"].fingerprint
    np.testing.assert_array_equal(own["history"], found["history"])
    assert (own["schema"], own["offset"]) == (found["schema"], found["offset"])


def test_a_learner_may_learn_from_more_rows_and_keeps_its_history(table):
    history = np.array([-3.0, -2.0])
    for told in (history, [-3.0, -2.0]):
        found, _ = learned(
            table,
            learner=lambda start, codes, encoder, told=told: (start, told, 1000),
            reference="held-out",
        )
        assert found["num_train"] == 60 + 1000  # and 60 rows that are kept
        assert found["history"].tolist() == [-3.0, -2.0]
    history[0] = 0.0  # which had become read-only


@pytest.mark.parametrize("groups", ["day", 2, np.int64(2)])
def test_the_column_of_groups_is_left_out_and_a_batch_may_have_it(table, groups):
    seen = []
    found, _ = learned(table, groups, learner=watching(seen))
    column = found["schema"]["day"]
    assert (column.kind, column.note, column.optional) == (LEFT_OUT, GROUPING, True)
    assert seen[0][2].names == found["schema"].encoder().names == ("k", "n")
    assert found["judge"].kind == "groups"
    assert (
        found["test"].fingerprint
        == learned({name: table[name] for name in "kn"}, table["day"])[0]["test"].fingerprint
    )


def test_a_schema_of_the_whole_table_may_name_the_groups(table):
    whole = hld.TableSchema(tuple(hld.ColumnSchema(name, "categorical") for name in table))
    found, _ = learned(table, "day", schema=whole)
    assert {column.name: column.kind for column in found["schema"].columns} == {
        "k": "categorical",
        "n": "categorical",
        "day": LEFT_OUT,
    }


def test_groups_are_learned_or_kept_whole(table):
    """With the day as a column of its own, whose codes tell which groups the learner saw."""
    seen, twice = [], {**table, "again": table["day"]}
    learned(twice, "day", learner=watching(seen), categorical=["again"], max_categories=50)
    counts = np.unique(seen[0][1][:, 2], return_counts=True)[1]
    assert counts.tolist() == [3] * 20


def test_in_order_of_time_the_first_half_is_learned_from(table):
    seen = []
    found, _ = learned({name: table[name] for name in "kn"}, order="time", learner=watching(seen))
    np.testing.assert_array_equal(
        seen[0][1], seen[0][2].encode({name: table[name][:60] for name in "kn"})[0]
    )
    assert found["judge"].kind == "time"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda t: learned({"k": ["a"]}),
            "`table` has 1 row: one sample is too few to learn a distribution of",
        ),
        (
            lambda t: learned(t, "day", covariates=["k"]),
            "`groups` and `covariates` answer different questions: fit one",
        ),
        (
            lambda t: learned(t, order="time", covariates=["k"]),
            "`order` and `covariates` answer different questions",
        ),
        (
            lambda t: learned(t, "day", tolerance=0.3),
            "`tolerance` is for batches of independent rows, found 0.3 with `groups`: leave",
        ),
        (lambda t: learned(t, order="time", tolerance=0.3), "`tolerance` .* with `order`"),
        (
            lambda t: learned(t, covariates=["k"], tolerance=0.3),
            "`tolerance` .* with `covariates`",
        ),
        (lambda t: learned(t, "week"), "`groups` names the column 'week'"),
        (
            lambda t: learned(t, "day", reference="training"),
            "`groups` compares with rows that nothing was learned",
        ),
        (lambda t: learned(t, categorical=["x"]), "'x'"),
    ],
)
def test_what_cannot_be_learned_is_refused(table, make, said):
    with pytest.raises(ValueError, match=said):
        make(table)


@pytest.mark.parametrize(
    ("chosen", "names", "expected"),
    [
        ([0, 2], None, [0, 1]),
        ((2, "x0"), None, [1, "x0"]),
        ([0, 2], ("a", "b", "c"), ["a", "c"]),
        (np.array([2]), None, [1]),
        (None, None, None),
    ],
)
def test_choices_in_a_table_are_choices_without_its_column_of_groups(chosen, names, expected):
    columns = Columns(names, 2, [np.zeros(2)] * 3, [False] * 3)
    assert without_column(chosen, "categorical", columns, 1) == expected
    for wrong, said in (
        ([1], "` holds position 1, the column of `groups`"),
        ([0, 3], r"\[1\]` must be a whole number of at least 0 and at most 2, f"),
    ):
        with pytest.raises(ValueError, match=f"^`categorical{said}"):
            without_column(wrong, "categorical", columns, 1)
