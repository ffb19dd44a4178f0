"""Conditions: their probability by enumeration of rows, and texts that are none."""

import datetime as dt
import time

import numpy as np
import pytest
from binomial_bounds import at_least, at_most

from hld.detector.detector import HLDDetector
from hld.tables.drawing import read_condition
from hld.tables.schemas.learn_schema import fit_encoder


def plain(frame):
    """Rows of a frame as objects, None where a cell is missing."""
    return frame.astype(object).where(frame.notna(), None).to_numpy()


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 400)
    table = [
        [int(age), str(sex), int(k), bool(b), float(x)]
        for age, sex, k, b, x in zip(
            20 + 10 * kind + rng.integers(0, 30, 400) + 65 * (rng.random(400) < 0.3),
            rng.choice(["F", "M"], 400),
            kind,
            kind > 1,
            np.round(rng.normal(kind), 2),
            strict=True,
        )
    ]
    import pandas

    frame = pandas.DataFrame(table, columns=["age", "sex", "num-kids", "member", "x"])
    return HLDDetector(num_epochs=5, num_latents=2, max_categories=20).fit(frame)


@pytest.fixture(scope="module")
def drawn(detector):
    return [
        dict(zip(("age", "sex", "kids", "member", "x"), row, strict=True))
        for row in plain(detector.sample(20_000, rng=1)).tolist()
    ]


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("age > 40", "age > 40"),
        ("age >= 41", "age >= 41"),
        ("age <= 40", "age <= 40"),
        ("age >= 30 and age < 47", "30 <= age < 47"),
        ("age == 44", "age == 44"),
        ("age != 44 and age != 40", "age not in (40, 44)"),
        ("age in (44, 40, 4.5e1)", "age in (40, 44, 45)"),
        ('sex == "F"', 'sex == "F"'),
        ("num-kids in (0, 2)", "kids in (0, 2)"),
        ("`num-kids` >= +1", "kids >= 1"),
        ("member == True", "member"),
        ('age > 40 and sex == "F" and x > -.5', 'age > 40 and sex == "F" and x > -0.5'),
        ("x < 0.37 and x != 0.3 and x > -1", "-1 < x < 0.37 and x != 0.3"),
        ("age > 24 and age < 26", "24 < age < 26"),
    ],
)
def test_probabilities_are_those_of_rows_and_every_drawn_row_fulfils(detector, drawn, text, python):
    """By Python's own meaning of the text, over rows drawn without it; unseen levels (None) fulfil no comparison."""
    code = compile(python, "condition", "eval")
    known = [row for row in drawn if None not in row.values()]
    share = np.mean([eval(code, {}, row) for row in known])
    exact = detector.probability(text)
    assert abs(share - exact) < 4.5 * np.sqrt(max(exact * (1 - exact), 1e-4) / len(known)) + 1.5 * (
        1 - len(known) / len(drawn)
    )
    rows = plain(detector.sample(300, where=text, rng=2)).tolist()
    assert len(rows) == 300
    for row in rows:
        named = dict(zip(("age", "sex", "kids", "member", "x"), row, strict=True))
        assert None in row or eval(code, {}, named), row


def test_opposites_add_up(detector):
    P = detector.probability
    for one, other in (
        ("age > 40", "age <= 40"),
        ('sex == "F"', 'sex != "F"'),
        ("x < 0.3", "x >= 0.3"),
    ):
        assert P(one) + P(other) == pytest.approx(1, abs=1e-9)
        assert P(f"{one} and {other}") == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read from character 1 on: expected comparisons"),
        ("age", "character 1 on: expected comparisons"),
        ("age   > ", "character 1 on"),
        ("age = 40", "character 1 on: expected comparisons such as .* =="),
        ("age > 40 or x > 1", "character 1 on: expected comparisons .* joined by `and` alone"),
        ("x > 1 and not age > 40", "character 10 on: expected"),
        ("(age > 40)", "character 1 on"),
        ("age > 40)", "character 1 on"),
        ("age > 40 + 1", "character 1 on"),
        ("30 < age < 47", "character 1 on"),
        ("sex not in ('F',)", "character 1 on"),
        ("income > 3", "names the column 'income'"),
        ("`in come` > 3", "names the column 'in come'"),
        ("Age > 3", "expected one of 'age', "),
        ('__import__("os").system("true")', "character 1 on"),
        (
            "age > x",
            "the value x, expected a number that double precision can hold, a text in quotes",
        ),
        ("age > nan", "expected a number"),
        ("age > " + "9" * 400, "double precision"),
        ("age > " + "0" * 9000, "double precision"),
        ("age in ()", "character 1 on"),
        ("age > 1 and", "character 12 on"),
        ('sex > "A"', "by size"),
        ('sex == "D"', "none of its"),
        ("age == True", "expected a number"),
        ('age > "x"', "expected a number"),
        ("age > 1\0", "expected a number"),
        ("(" * 5000 + "age > 1", "character 1 on"),
        ("x in (" + "1," * 4000, "character 1 on"),
        ("x == '" + "\\'" * 4000, "character 1 on"),
        ("x" * 10_001, "at most 10000"),
    ],
)
def test_what_is_no_condition_is_refused_in_a_sentence_at_its_place(detector, text, message):
    with pytest.raises(ValueError, match=message):
        detector.probability(text)


def test_many_conditions_take_no_time(detector):
    """Seven hundred had taken 70 seconds."""
    text = " and ".join(f"x!={k / 100 - 3:.2f}" for k in range(700))
    longest = "x in (" + ", ".join(map(str, range(1500))) + ")"
    start = time.process_time()
    assert 0 < detector.probability(text) < 0.5
    assert 0 < detector.probability(longest) < 0.5
    assert len(detector.sample(10, where=text, rng=0)) == 10
    assert time.process_time() - start < 1


@pytest.fixture(scope="module")
def odd_names():
    """Names like stand-ins of backquoted ones, or with letters that Python replaces; levels with backquotes."""
    import pandas

    rng = np.random.default_rng(1)
    frame = pandas.DataFrame(
        {
            "a b": rng.integers(0, 3, 300),
            "column_0_": rng.integers(0, 3, 300),
            "gro\u0308sse": rng.integers(0, 3, 300),
            "\ufb01": rng.integers(0, 3, 300),
            "level": rng.choice(["x`y`z", "it's `a b`", 'say "`hi`"'], 300),
        }
    )
    return HLDDetector(num_epochs=2, num_latents=2).fit(frame)


@pytest.mark.parametrize(
    ("text", "fulfils"),
    [
        ("`a b` == 1 and column_0_ == 2", lambda row: row[0] == 1 and row[1] == 2),
        ("`a b` != 1 and `column_0_` == 2", lambda row: row[0] != 1 and row[1] == 2),
        ("gro\u0308sse == 1", lambda row: row[2] == 1),
        ("`gro\u0308sse` == 1", lambda row: row[2] == 1),
        ("\ufb01 == 2", lambda row: row[3] == 2),
        ('level == "x`y`z" and `a b` == 1', lambda row: row[4] == "x`y`z" and row[0] == 1),
        (r"level == 'it\'s `a b`'", lambda row: row[4] == "it's `a b`"),
        ("level in ('say \"`hi`\"', 'x`y`z')", lambda row: row[4] in ('say "`hi`"', "x`y`z")),
    ],
)
def test_odd_names_and_levels_mean_themselves(odd_names, text, fulfils):
    rows = plain(odd_names.sample(200, where=text, rng=3))
    assert all(fulfils(row) for row in rows)
    drawn = plain(odd_names.sample(4000, rng=4))
    exact = odd_names.probability(text)
    assert at_least(4000, exact) <= sum(map(fulfils, drawn)) <= at_most(4000, exact)


def test_conditions_are_text_and_possible(detector):
    with pytest.raises(TypeError, match="`where` is 3"):
        detector.sample(1, where=3)
    with pytest.raises(ValueError, match="probability zero"):
        detector.sample(1, where="age > 40 and age < 30")


TIMES = ("when", "day", "stay", "clock")


@pytest.fixture(scope="module")
def of_times():
    rng = np.random.default_rng(0)
    import pandas

    when = pandas.Timestamp("2025-01-01") + pandas.to_timedelta(
        rng.integers(0, 365 * 24 * 60, 600), unit="min"
    )
    frame = pandas.DataFrame(
        {
            "when": when,
            "day": when.normalize(),
            "clock": when.time,
            "stay": pandas.to_timedelta(rng.integers(0, 2 * 86400, 600), unit="s"),
        }
    )
    return HLDDetector(num_epochs=3, num_latents=2, continuous=["when", "day"]).fit(
        frame[list(TIMES)]
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("when >= '2025-07-01'", "when >= dt.datetime(2025, 7, 1)"),
        ("when < '2025-07-01T12:30Z'", "when < dt.datetime(2025, 7, 1, 12, 30)"),
        (
            "when < '2025-07-01 12:30:00.5+0200'",
            "when < dt.datetime(2025, 7, 1, 10, 30, 0, 500000)",
        ),
        ("when >= '1.7.2025 12:30'", "when >= dt.datetime(2025, 7, 1, 12, 30)"),
        ("day == '2025/03/04'", "day == dt.datetime(2025, 3, 4)"),
        ("day >= '2025-03-01' and day < '2025-04-01'", "day.month == 3"),
        (
            "day in ('2025-03-04', '2025-03-05')",
            "day in (dt.datetime(2025, 3, 4), dt.datetime(2025, 3, 5))",
        ),
        (
            "day != '2025-03-04' and clock > '12:00'",
            "day != dt.datetime(2025, 3, 4) and clock > dt.time(12)",
        ),
        ("clock <= '06:30:30'", "clock <= dt.time(6, 30, 30)"),
        ("stay > '1 day, 6:00:00'", "stay > dt.timedelta(hours=30)"),
        ("stay > '30:00'", "stay > dt.timedelta(hours=30)"),
        ("stay > '1 days 06:00:00'", "stay > dt.timedelta(hours=30)"),
        ("stay <= 3600", "stay <= dt.timedelta(hours=1)"),
    ],
)
def test_times_are_compared_with_texts_as_files_have_them(of_times, text, python):
    every, given = (
        of_times.sample(4000, rng=1).astype(object).to_numpy().tolist(),
        of_times.sample(100, where=text, rng=2).astype(object).to_numpy().tolist(),
    )
    fulfilled = eval(f"lambda when, day, stay, clock: {python}", {"dt": dt})
    assert all(fulfilled(*row) for row in given)
    exact, share = of_times.probability(text), np.mean([fulfilled(*row) for row in every])
    assert abs(share - exact) < 4.5 * np.sqrt(exact * (1 - exact) / len(every)) + 1e-3


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("day > 2025", "date"),
        ("day > '2025'", "date"),
        ("day > '2025-13-01'", "date"),
        ("day > '01/02/2025'", "date"),
        ("day > '0000-01-01'", "date"),
        ("clock > '25:00'", "time"),
        ("clock > 12", "time"),
        ("stay > 'long'", "duration"),
        ("stay > True", "duration"),
        ("clock == ''", "time"),
    ],
)
def test_texts_that_are_no_times_are_refused(of_times, text, kind):
    with pytest.raises(ValueError, match=f"expected a {kind} such as"):
        of_times.probability(text)


def test_levels_that_are_times_are_compared_by_their_time():
    encoder = fit_encoder({"day": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]}, categorical=["day"])
    for text in ("2026-01-02", "2026-01-02 00:00:00", "02.01.2026"):
        assert read_condition(f'day == "{text}"', encoder.columns, [None]).box == {
            0: frozenset([1])
        }
    with pytest.raises(ValueError, match="which is none of its levels"):
        read_condition('day == "2026-01-03"', encoder.columns, [None])
