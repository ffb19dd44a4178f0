"""Amounts that are text: what is one, its number and unit, and rows drawn as the table writes them."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import hld
from hld.tables.cells import column_cells
from hld.tables.derived import amount_form, amounts_of, split, units_of, written

pytest.importorskip("price_parser")
X = np.random.default_rng(0).gamma(2, 700, 300)


def column(write, numbers=X):
    """Texts of numbers."""
    return column_cells([write(x) for x in numbers])


def german(x):
    """1.234,56"""
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.mark.parametrize(
    ("write", "form", "unit", "digits"),
    [
        (lambda x: f"EUR {x:.2f}", "1234.5", "EUR #", 2),
        (lambda x: f"${x:,.0f}", "1,234.5", "$#", 0),
        (lambda x: f"{x:.1f} %".replace(".", ","), "1234,5", "# %", 1),
        (lambda x: f"{x:.0f} kg", "1234.5", "# kg", 0),
        (german, "1.234,5", "#", 2),
        (lambda x: f"{german(x)} €", "1.234,5", "# €", 2),
        (lambda x: f"CHF {x:,.2f}".replace(",", "'"), "1'234.5", "CHF #", 2),
        (lambda x: f"{x - 1000:.2f} USD", "1234.5", "# USD", 2),
        (lambda x: f"Rate: {x:.2f}", "1234.5", "Rate: #", 2),
    ],
)
def test_numbers_and_units_are_those_that_were_written_and_are_written_again(
    write, form, unit, digits
):
    cells = column(write)
    assert amount_form(cells) == form
    numbers = X - 1000 if "USD" in unit else X
    np.testing.assert_allclose(
        amounts_of(cells, form), [round(x, digits) for x in numbers], atol=1e-9
    )
    assert units_of(cells).tolist() == [unit] * len(cells)
    again = [written(x, unit, form, 10.0**-digits) for x in amounts_of(cells, form)]
    assert again == cells.tolist()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: f"K{x:.0f}",
        lambda x: f"p{x:05.0f}",
        lambda x: f"A-{x:.0f}",
        lambda x: f"{x:.0f}A",
        lambda x: f"{x:.0f} High Street",
        lambda x: f"10.0.{x:.0f}.3",
        lambda x: f"{x:.0f}/{x:.0f}",
        lambda x: f"v{x:.2f}",
        lambda x: f"{x:.2f}",
        lambda x: f"call {x:.0f} times",
        lambda x: "3 kg",
        lambda x: f"{x:.0f} kg" if x > 500 else "none",
    ],
)
def test_codes_addresses_versions_plain_numbers_and_mixtures_are_no_amounts(write):
    assert amount_form(column(write)) is None


def test_signs_holes_and_other_cells():
    assert split("-EUR 5") == ("EUR #", True, "5")
    assert split("EUR \N{MINUS SIGN}5") == ("EUR #", True, "5")
    assert split(".75 kg") is None
    cells = np.array(["-5 kg", None, "", "lost", 3, np.nan], dtype=object)
    np.testing.assert_array_equal(
        amounts_of(cells, "1234.5"), [-5, np.nan, np.nan, np.nan, 3, np.nan]
    )
    assert units_of(cells).tolist() == ["# kg", None, None, "other", "#", None]
    assert written(3.0, "other", "1234.5", 1.0) is None


def fitted(table):
    """A detector, and what it said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return hld.HLDDetector(num_latents=2, num_epochs=5).fit(table), [
            str(w.message) for w in said
        ]


def orders(n, seed, factor=1.0, other=0.0):
    """Orders with prices as text, some of which are in another currency."""
    rng = np.random.default_rng(seed)
    unit = np.where(rng.random(n) < other, "USD", "EUR")
    price = factor * rng.gamma(4, 20, n)
    return pd.DataFrame(
        {
            "price": [f"{u} {p:.2f}" for u, p in zip(unit, price, strict=True)],
            "kind": rng.choice(["a", "b"], n),
        }
    )


def test_a_rise_and_another_currency_are_found_and_the_file_keeps_both(tmp_path):
    detector, said = fitted(orders(3000, 0))
    assert said[0].startswith(
        "`table` has columns of amounts that are text, which are read as numbers: 'price' (such"
    )
    assert detector.encoder_.names == ("price", "kind", "price_unit")
    detector.save(tmp_path / "m.hld")
    detector = hld.load(tmp_path / "m.hld")
    assert not detector.test(orders(600, 1)).reject
    dearer, foreign = detector.test(orders(600, 2, 1.19)), detector.test(orders(600, 3, other=0.1))
    assert dearer.reject
    assert dearer.columns[0].name == "price"
    assert "higher" in dearer.columns[0].describe()
    assert foreign.reject
    assert foreign.columns[0].name == "price_unit"
    drawn = detector.sample(200, rng=0)
    assert [*drawn] == ["price", "kind"]
    assert drawn["price"].str.fullmatch(r"EUR \d+\.\d\d").all()
    assert not detector.test(drawn).reject
    high = detector.sample(50, where="price > 100", rng=0)["price"]
    assert high.str[4:].astype(float).min() > 100
    rows = orders(50, 4)
    want = detector.test(rows).pvalue
    assert detector.test(rows[["kind", "price"]].to_dict("list")).pvalue == want


def test_categorical_keeps_the_texts_and_positions_work_without_names():
    table = orders(300, 0)
    kept = hld.HLDDetector(num_epochs=1, categorical=["price"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert kept.fit(table).encoder_.names == ("price", "kind")
    detector, _ = fitted(table.to_numpy())
    assert detector.encoder_.names == ("x0", "x1", "x0_unit")
    assert detector.sample(3, rng=0).shape == (3, 2)
    assert detector.test(table.to_numpy()[:50]).pvalue > 0.01


def test_without_the_package_a_fit_says_so_and_a_test_is_refused(monkeypatch):
    detector, _ = fitted(orders(300, 0))
    monkeypatch.setitem(sys.modules, "price_parser", None)
    again, said = fitted(orders(300, 0))
    assert any("pip install 'hld[amounts]'" in one for one in said)
    assert "price_unit" not in again.encoder_.names
    with pytest.raises(ImportError, match=r"pip install 'hld\[amounts\]', or give them as numbers"):
        detector.test(orders(50, 1))
