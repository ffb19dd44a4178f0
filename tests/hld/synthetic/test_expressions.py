"""Conditions: their probability by enumeration of rows, and texts that are none."""

import datetime as dt
import itertools

import numpy as np
import pytest
from binomial_bounds import at_least, at_most

import pcircuit
from hld.detector import HLDDetector
from hld.schemas.encoder import fit_encoder
from hld.synthetic.drawing import condition_probability
from hld.synthetic.expressions import MOST_BOXES, _checked, read_condition
from hld.synthetic.values import grids


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
        for row in detector.sample(20_000, rng=1).tolist()
    ]


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("age > 40", "age > 40"),
        ("age >= 41", "age >= 41"),
        ("age <= 40", "age <= 40"),
        ("40 < age", "40 < age"),
        ("30 <= age < 47", "30 <= age < 47"),
        ("age == 44", "age == 44"),
        ("age != 44", "age != 44"),
        ('sex == "F"', 'sex == "F"'),
        ('"F" == sex', 'sex == "F"'),
        ("`num-kids` in (0, 2)", "kids in (0, 2)"),
        ("`num-kids` not in [1]", "kids not in [1]"),
        ("member == True", "member == True"),
        ("not age > 40", "not age > 40"),
        ('age > 40 and sex == "F"', 'age > 40 and sex == "F"'),
        ('age > 40 or sex == "F"', 'age > 40 or sex == "F"'),
        (
            '(age > 40 or x < 0.5) and (sex == "F" or not x >= -1)',
            '(age > 40 or x < 0.5) and (sex == "F" or not x >= -1)',
        ),
        ("not (age > 40 and x > 0 and `num-kids` >= 1)", "not (age > 40 and x > 0 and kids >= 1)"),
        (
            "x > -0.5 or x > 0.5 or age < 25 or `num-kids` == 1",
            "x > -0.5 or x > 0.5 or age < 25 or kids == 1",
        ),
    ],
)
def test_probabilities_are_those_of_rows(detector, drawn, text, python):
    """By Python's own meaning of the text, over rows drawn without it; unseen levels (None) fulfil no comparison."""
    code = compile(python, "condition", "eval")
    known = [row for row in drawn if None not in row.values()]
    share = np.mean([eval(code, {}, row) for row in known])
    exact = detector.probability(text)
    assert abs(share - exact) < 4.5 * np.sqrt(max(exact * (1 - exact), 1e-4) / len(known)) + 1.5 * (
        1 - len(known) / len(drawn)
    )


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("age > 40", "age > 40"),
        ('age > 40 and sex == "F"', 'age > 40 and sex == "F"'),
        ("x < 0.37 or age == 44", "x < 0.37 or age == 44"),
        ("0.1 <= x <= 0.2", "0.1 <= x <= 0.2"),
        ("`num-kids` >= 1 and not x > 0.5", "kids >= 1 and not x > 0.5"),
        ("24 < age < 26", "24 < age < 26"),
    ],
)
def test_every_drawn_row_fulfils_the_condition(detector, text, python):
    rows = detector.sample(500, where=text, rng=2).tolist()
    assert len(rows) == 500
    for row in rows:
        assert eval(
            python, {}, dict(zip(("age", "sex", "kids", "member", "x"), row, strict=True))
        ), row


def test_opposites_and_unions_add_up(detector):
    one, other = 'age > 40 and sex == "F"', "x > 0.2 or member == True"
    P = detector.probability
    assert P(one) + P(f"not ({one})") == pytest.approx(1, abs=1e-9)
    assert P(f"({one}) or ({other})") == pytest.approx(
        P(one) + P(other) - P(f"({one}) and ({other})"), abs=1e-9
    )
    assert P("age > 40 and age < 30") == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read"),
        ("age", "expected comparisons"),
        ("age >", "cannot be read at character"),
        ("income > 3", "names the column 'income'"),
        ("`in come` > 3", "names the column 'in come'"),
        ('__import__("os").system("true")', "expected comparisons"),
        ("age.real > 1", "name of a column"),
        ("(lambda: 1)() == 1", "name of a column"),
        ("age > x", "expected a number, a text"),
        ("age > [1]", "expected a"),
        ("age in 3", "a list of values"),
        ("age is 3", "expected =="),
        ('sex > "A"', "by size"),
        ('sex == "D"', "none of its"),
        ("age == True", "expected a number"),
        ('age > "x"', "expected a number"),
        ("1 < 2", "name of a column"),
        ("age > -'x'", "behind the sign"),
        ("age > 1\0", "cannot be read"),
        ("(" * 2000 + "age > 1" + ")" * 2000, "where"),
        ("age > " + "9" * 400, "double precision"),
        ("x" * 10_001, "at most 10000"),
        ("[age for age in x]", "expected comp"),
    ],
)
def test_what_is_no_condition_is_refused(detector, text, message):
    with pytest.raises(ValueError, match=message):
        detector.probability(text)


def test_a_text_that_ends_too_early_is_refused_at_its_end(detector):
    with pytest.raises(ValueError, match="at character 9:"):
        detector.probability("age   > ")


@pytest.mark.parametrize(
    "text",
    [
        "größe > 5 and foo(1)",
        "   sex == foo(1)",
        "`a b` > 5 and foo(1)",
        "(sex == 'a' and\n foo(1))",
        "(`größe` > 5\r\nand `a b` > 1 and foo(1))",
        " größe > 5 and `a b` > 1 and (foo(1) > sex)",
    ],
)
def test_errors_tell_the_character_of_the_text_also_behind_blanks_letters_of_two_bytes_and_backquotes(
    text,
):
    encoder = fit_encoder(
        [[k * 0.5, "ab"[k % 2], k] for k in range(200)], names=["größe", "sex", "a b"]
    )
    with pytest.raises(ValueError, match=rf"at character {text.index('foo') + 1}: "):
        read_condition(text, encoder.columns, grids(encoder.columns, None))


def test_errors_tell_no_character_beyond_the_end():
    encoder = fit_encoder([["a"], ["b"]], names=["sex"])
    for text in ("...\\\r\n*\\  ", "(\\\r\n5\\"):  # a line that goes on in the next
        with pytest.raises(ValueError, match=rf"at character {len(text) + 1}: "):
            read_condition(text, encoder.columns, [None])


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
        ("gr\u00f6sse == 1", lambda row: row[2] == 1),
        ("`gr\u00f6sse` == 1", lambda row: row[2] == 1),
        ("\ufb01 == 2", lambda row: row[3] == 2),
        ('level == "x`y`z" and `a b` == 1', lambda row: row[4] == "x`y`z" and row[0] == 1),
        (r"level == 'it\'s `a b`'", lambda row: row[4] == "it's `a b`"),
        ("level in ('say \"`hi`\"', 'x`y`z')", lambda row: row[4] in ('say "`hi`"', "x`y`z")),
    ],
)
def test_odd_names_and_levels_mean_themselves(odd_names, text, fulfils):
    rows = odd_names.sample(200, where=text, rng=3)
    assert all(fulfils(row) for row in rows)
    drawn = odd_names.sample(4000, rng=4)
    exact = odd_names.probability(text)
    assert at_least(4000, exact) <= sum(map(fulfils, drawn)) <= at_most(4000, exact)


def test_names_that_look_the_same_are_told_apart():
    table = np.column_stack([np.zeros(60, dtype=int), np.arange(60) % 2])
    import pandas

    detector = HLDDetector(num_epochs=2).fit(pandas.DataFrame(table, columns=["\ufb01", "fi"]))
    assert set(detector.sample(50, where="fi == 1", rng=0)[:, 1]) == {1}
    assert set(detector.sample(50, where="\ufb01 == 0", rng=0)[:, 0]) == {0}


def test_conditions_of_too_many_parts_are_refused():
    assert len(_checked([{}] * MOST_BOXES)) == MOST_BOXES
    with pytest.raises(ValueError, match="splits into more than"):
        _checked([{}] * (MOST_BOXES + 1))


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
    return HLDDetector(num_epochs=3, num_latents=2).fit(frame[list(TIMES)])


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
        ("'2025-03-01' <= day < '2025-04-01'", "day.month == 3"),
        (
            "day in ['2025-03-04', '2025-03-05']",
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
        of_times.sample(4000, rng=1).tolist(),
        of_times.sample(100, where=text, rng=2).tolist(),
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
        assert read_condition(f'day == "{text}"', encoder.columns, [None]).boxes == [
            {0: frozenset([1])}
        ]
    with pytest.raises(ValueError, match="which is none of its levels"):
        read_condition('day == "2026-01-03"', encoder.columns, [None])


def test_certain_events_are_not_more_than_certain():
    """Sums of the parts' probabilities are rounded, up to 4e-16 above one."""
    encoder = fit_encoder([[level] for level in (0, 1, 2, 3)])
    texts = [
        f"x0 in {levels} or x0 not in {levels}"
        for size in (1, 2, 3)
        for levels in map(list, itertools.combinations(range(4), size))
    ]
    for shares in np.random.default_rng(0).dirichlet(np.ones(5), size=10):
        circuit = pcircuit.Circuit(pcircuit.VTree.balanced(1), [pcircuit.InputRegion(0, [shares])])
        found = [condition_probability(circuit, encoder.columns, None, text) for text in texts]
        assert max(found) <= 1
        assert min(found) == pytest.approx(1, abs=1e-12)
