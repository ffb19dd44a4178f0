"""What `fit` says of columns: clocks are named once, unless somebody asked for them."""

import itertools
import pathlib
import re
import warnings

import binomial_bounds as bounds
import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

import hld
from hld import TableSchema, calendar_columns
from hld.detector.learning import is_repeated, multiplicities

N = 240
HOURS = pd.date_range("2024-01-01", periods=N, freq="h")
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"when": HOURS, "day": HOURS.strftime("%Y-%m-%d"), "x": RNG.integers(0, 3, N)})


def said(table, **options):
    """The warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=99, **options).fit(table)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("table", [TABLE, TABLE[::-1]], ids=["oldest first", "newest first"])
def test_columns_by_which_the_rows_are_sorted_are_named(table):
    assert said(table) == [
        "`table` has columns that are left out: 'when' (orders the rows: dates in the order of the rows), 'day' "
        "(orders the rows: dates in the order of the rows); to keep numbers and dates name them in `continuous`, "
        "others in `categorical`; for weekdays and hours of dates: `calendar_columns`"
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"continuous": ["when", "day"]},
        {"categorical": ["day"], "continuous": [0]},
        {
            "schema": TableSchema(
                (*calendar_columns("when"), *calendar_columns("day", ["weekday"], keep=True))
            )
        },
    ],
    ids=["continuous", "by position", "calendar"],
)
def test_nothing_is_said_of_columns_that_were_asked_for(options):
    assert said(TABLE, **options) == []


def test_records_that_come_in_nearly_in_order_are_named_too():
    """As scheduled flights in the order of their departure, or a log to which rows are late."""
    (shuffled,) = said(TABLE.sample(frac=1, random_state=0))
    assert (
        "'when' (orders the rows: times of which 240 of 240 are in one row only), 'day' ("
        in shuffled
    )
    assert said(TABLE[["x", "day"]].sample(frac=1, random_state=0)) == []
    assert said(TABLE[["x"]].assign(day="2024-01-01")) == []
    late = HOURS + pd.to_timedelta(RNG.integers(0, 24, N), unit="h")
    assert (
        "'when' (orders the rows: dates nearly in the order"
        in said(TABLE[["x"]].assign(when=late))[0]
    )
    mixed = (HOURS + pd.to_timedelta(RNG.integers(0, 2000, N), unit="h")).floor("D")
    assert said(TABLE[["x"]].assign(when=mixed)) == []
    few = TABLE[["x"]].head(12).assign(when=HOURS[[0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11]])
    assert not any("order" in one for one in said(few))


@pytest.mark.parametrize(
    ("known", "is_named"),
    [
        ([1, 2], False),
        ([2, 1], False),
        ([1, 2, 3, 4, 5, 6], False),
        ([7, 6, 5, 4, 3, 2, 1], True),
        ([1, 1, 1, 1, 1, 2, 2], False),
        ([1] * 6 + [2] * 6, False),
        ([1] * 7 + [2] * 7, True),
    ],
)
def test_nothing_is_said_of_so_few_dates_that_they_may_be_in_order_by_chance(known, is_named):
    """Random orders have 2, 6, 7 dates oldest or newest first with probability 1, 1/360, 1/2520; 6 + 6 with 1/462."""
    ended = [f"2024-01-{day:02}" for day in known] + [None] * (N - len(known))
    found = said(TABLE[["x"]].assign(ended=ended))
    assert any("'ended' (orders the rows: dates in" in one for one in found) == is_named


@pytest.mark.parametrize("form", ["%m/%d/%Y", "%d-%m-%Y 12:30"])
@pytest.mark.parametrize("count", [N, N // 8])
def test_dates_that_are_not_read_are_told_alike_with_repeats_and_without(form, count):
    """Unique ones had been called such as only tell rows apart, of others nothing was said."""
    days = pd.date_range("2017-01-02", periods=count).strftime(form).tolist()
    example = min(days)
    table = TABLE[["x"]].assign(when=(days * 8)[: N - 2] + ["never", None])
    assert said(table) == [
        "`table` has columns of dates in a form that is not read, as 01/02/2026 may be one of two days: 'when' (such "
        f"as '{example}'); write them as 2026-02-01"
    ]
    assert said(table, categorical=["when"]) == []


@pytest.mark.parametrize("text", ["{}-{}-1234", "{}/{}/20171", "a {}/{}/2017", "{}/{}"])
def test_texts_that_only_begin_like_dates_are_not_called_so(text):
    table = TABLE[["x"]].assign(code=[text.format(1 + i % 12, 1 + i % 28) for i in range(N)])
    assert not any("dates" in one for one in said(table))


@pytest.mark.parametrize(
    ("text", "others", "detail"),
    [
        ("{:.2f}", ["Total"], "others are 'Total' in row 239"),
        (
            "{:.2f}",
            ["-", "-", "?", "lost", "void"],
            r"others are '-' in row 235, '\?' in row 237, 'lost' in row 238, ...",
        ),
    ],
)
def test_numbers_that_are_text_and_left_out_are_told_from_identifiers(text, others, detail):
    amounts = [
        text.format(1000 * x) for x in np.random.default_rng(1).gamma(2, size=N - len(others))
    ]
    table = TABLE[["x"]].assign(amount=[*amounts, *others])
    (found,) = said(table)
    assert re.search(r"left out: 'amount' \(numbers as text: .*; " + detail + r"\); to keep", found)
    with pytest.raises(
        TypeError, match=r"'amount' holds text \('" + re.escape(others[0] if others else "$")
    ):
        said(table, continuous=["amount"])
    detector = fitted_quietly(table)
    assert "amount" not in detector.encoder_.names
    note = detector.schema_.left_out[0].note
    assert note.startswith(f"numbers as text: {N - len(others)} of {N} values read as numbers")
    assert not any(cell in note for cell in others)  # which the model file keeps


def fitted_quietly(table):
    """A detector of a table, whatever is said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=99).fit(table)


def fitted(table, **options):
    """What was said while a small detector was fitted."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        hld.HLDDetector(num_latents=2, num_epochs=1, metric="likelihoods", num_resamples=19).fit(
            table, **options
        )
    return [one for one in found if "copies of rows" in str(one.message)]


@pytest.mark.parametrize("copies", [2, 3, 10])
def test_a_table_in_which_every_row_stands_more_than_once_is_reported(copies):
    table = np.random.default_rng(0).integers(0, 4, size=(300, 8))
    assert not fitted(table)
    (said,) = fitted(np.tile(table, (copies, 1)))
    assert f"of {300 * copies:,} rows {len(np.unique(table, axis=0))} are different" in str(
        said.message
    )
    assert pathlib.Path(said.filename).name == pathlib.Path(__file__).name
    assert len(fitted(np.repeat(table, copies, axis=0))) == 1
    counts = np.unique(table[:, :4], axis=0, return_counts=True)[1]
    assert sorted(multiplicities(table[:, :4])) == sorted(counts)


@pytest.mark.parametrize(("singles", "least"), [(0, 42), (1_000, 237), (10_000, 639)])
def test_the_questions_of_users_say_how_many_copies_are_seen(singles, least):
    assert not is_repeated(np.array([1] * singles + [2] * (least - 1)))
    assert is_repeated(np.array([1] * singles + [2] * least))


def test_groups_and_series_may_hold_equal_rows():
    table = np.repeat(np.random.default_rng(2).integers(0, 4, size=(300, 8)), 2, axis=0)
    assert not fitted(table, groups=np.arange(600) // 20)
    assert not fitted(table, order="time")


@pytest.mark.parametrize(
    ("columns", "levels", "skew"), list(itertools.product((1, 3, 6, 12), (2, 4), (0.1, 1.0, 9.0)))
)
def test_independent_rows_are_not_reported(columns, levels, skew):
    """From columns of few levels, which make nearly all rows equal, to many, which make none equal."""
    rng, trials, reported = np.random.default_rng(3), 40, 0
    for _ in range(trials):
        shares = rng.dirichlet(np.full(levels, skew), size=columns)
        rows = np.stack([rng.choice(levels, 1000, p=p) for p in shares], axis=1)
        reported += is_repeated(multiplicities(rows))
    assert reported <= bounds.at_most(trials, 1e-4)


@pytest.mark.parametrize("mean", [0.5, 2.0, 10.0])
def test_counts_of_the_poisson_law_are_no_sign_of_copies(mean):
    k = np.arange(1, 40)
    numbers = np.round(80_000 * poisson.pmf(k, mean)).astype(int)
    assert not is_repeated(np.repeat(k, numbers))


@pytest.mark.parametrize("mean", [0.5, 1.0, 2.0, 5.0, 40.0])
def test_rows_that_are_equally_frequent_meet_the_bound_with_equality(mean):
    """Then counts are nearly Poisson with one mean, and the inequality is an equation: the hardest case."""
    rng, trials = np.random.default_rng(4), 200
    tables = (rng.integers(0, int(4000 / mean), size=(4000, 1)) for _ in range(trials))
    reported = sum(is_repeated(multiplicities(table)) for table in tables)
    assert reported <= bounds.at_most(trials, 1e-4)


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        (["kg", *["1", "2", "3"] * 40], "'kg' in row 0"),
        ([*[1.5, 2.5, 3.25] * 40, "Total"], "'Total' in row 120"),
        ([*[1, 2, None] * 5, "?", 2], "'?' in row 15"),
        (["1", "2", "3"] * 40, None),
        (["1", "2", "n/a"] * 40, None),
        (["a", "b", "3"] * 40, None),
        ([True, False, "3"] * 40, None),
    ],
)
def test_one_odd_cell_that_makes_numbers_text_is_named_with_its_row(cells, named):
    """A row of units, or of totals: also in a column of few levels."""
    said_of_it = [
        one for one in said({"weight": cells, "x": RNG.integers(0, 3, len(cells))}) if "text" in one
    ]
    assert len(said_of_it) == (named is not None)
    assert all(
        f"most of which are numbers: 'weight' (others are {named})" in one for one in said_of_it
    )


def test_columns_without_a_value_are_left_out_and_named():
    """They had been learned without a word, and the first value was a shift."""
    table = TABLE[["x"]].assign(a=None, b=np.nan, c="", d=pd.Categorical([None] * N))
    assert said(table) == [
        "`table` has columns that are left out: "
        + ", ".join(f"{name!r} (no value in training)" for name in "abcd")
        + "; to keep numbers and dates name them in `continuous`, others in `categorical`; for weekdays and hours of "
        "dates: `calendar_columns`"
    ]
    detector = fitted_quietly(table)
    assert [one.note for one in detector.schema_.left_out] == ["no value in training"] * 4
    assert detector.encoder_.names == ("x",)
    assert detector.test(table.assign(a=1.0, b=2.5)).pvalue == detector.test(table).pvalue
    assert said(table, categorical=["a", "b", "c", "d"]) == []


def test_what_runs_with_a_clock_is_left_out_with_it_and_hours_and_measurements_are_not():
    """Numbers that ascend, the month and the weekday; not prices that rise, nor a table sorted by a level."""
    when = pd.date_range("2024-01-01", periods=600, freq="3h")
    table = pd.DataFrame(
        {
            "when": when,
            "number": 5 * np.arange(600) + RNG.integers(0, 50, 600),
            "month": when.strftime("%Y-%m"),
            "weekday": when.strftime("%A"),
            "hour": when.hour,
            "level": np.sort(RNG.integers(0, 3, 600)),
            "price": np.arange(600) + RNG.normal(0, 200, 600),
        }
    )
    detector = fitted_quietly(table)
    assert detector.encoder_.names == ("hour", "level", "price")
    assert fitted_quietly(table.drop(columns="when")).encoder_.names[-1] == "price"
    notes = {one.name: one.note for one in detector.schema_.left_out}
    assert notes["number"] == "orders the rows: runs with 'when'"
    assert notes["month"] == notes["weekday"] == "orders the rows: is written of 'when'"
    kept = hld.HLDDetector(num_epochs=1, continuous=["when"], categorical=["weekday"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert set(kept.fit(table).encoder_.names) >= {"when", "weekday"}
