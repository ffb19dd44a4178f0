r"""Amounts that are written as text: "EUR 139.20", "$1,299", "12,5 %", "3 kg", "1.234,56".

As levels they would all be rare, and that all of them rise by a fifth would hardly show.  So a column of which nearly
all texts are a number with a known unit, or with one and the same other text around it, becomes two: the number, under
the name of the column, and its unit, in a column of its own, so that another currency or unit is a new level:

    "EUR 139.20"  ->  139.2  and  "EUR #"

Codes such as "K371", "p037" or "A-12" are no amounts, as their text is no unit.  How the column writes numbers (which
mark is the decimal one, and whether thousands are grouped) is found once, from all of its texts, and kept as one of
`FORMS`, in which drawn rows are written, too.  The package price-parser knows currencies and reads numbers.
"""

import re
from collections import Counter
from typing import Any

import numpy as np

from hld.tables.factored import Factored, object_cells, whole_cells

UNIT = "unit"  # the part of an amount that is no number
FORMS = {  # how numbers are written: what groups thousands, and the decimal mark
    "1234.5": ("", "."),
    "1234,5": ("", ","),
    "1,234.5": (",", "."),
    "1.234,5": (".", ","),
    "1 234,5": (" ", ","),
    "1 234.5": (" ", "."),
    "1'234.5": ("'", "."),
}
AMOUNT = re.compile(r"(\D{0,12}?)(\d+(?:[.,'\s]\d+)*)(\D{0,12})")
MINUS = "-\N{MINUS SIGN}"
UNITS = """
    % ‰ bp bps pp ppm x pcs  km m cm mm µm mi yd ft in ha m² m³ m2 m3  kg g mg µg ug t lb lbs oz l ml cl dl gal mol
    h hr hrs min s sec ms us µs ns d days hours minutes seconds  °C °F C F K kWh MWh Wh kW MW W V A mA kJ J
    Hz kHz MHz GHz km/h mph m/s bpm rpm mg/dl mmol/l kcal  B kB KB MB GB TB Pa hPa bar psi mmHg
"""
NEARLY_ALL, MOSTLY = 0.95, 0.5  # shares of rows
FEWEST = 20  # rows with a text, below which nothing is read as an amount
SHOWN = 200  # rows that are looked at first
CODES = 0.01  # share of numbers with zeros in front from which they are codes


def amount_form(values: Any) -> str | None:
    """Which of `FORMS` the amounts of a column (N,) have; None if it is no column of amounts."""
    if not isinstance(values, Factored) and values.dtype.kind not in "OU":
        return None
    if _matching(whole_cells(values)[:SHOWN].tolist()) < MOSTLY:
        return None
    cells = whole_cells(values).tolist()
    texts = Counter(cell for cell in cells if isinstance(cell, str) and cell.strip())
    present = sum(texts.values())
    parts = [(*found, count) for text, count in texts.items() if (found := split(text)) is not None]
    if present < FEWEST or sum(count for *_, count in parts) < NEARLY_ALL * present:
        return None
    units = Counter[str]()
    for unit, _, _, count in parts:
        units[unit] += count
    (most, its_count), numbers = units.most_common(1)[0], [number for _, _, number, _ in parts]
    group, mark = _marks(numbers)
    are_plain = not group and mark == "."
    known = {unit for unit in units if _is_known(unit) and not (unit == "#" and are_plain)}
    is_measured = its_count >= NEARLY_ALL * present and not most.split("#")[0][-1:].isalnum()
    if is_measured and sum(mark in number for number in numbers) > MOSTLY * len(numbers):
        known.add(most) if most != "#" or not are_plain else None
    is_read = sum(units[unit] for unit in known) >= NEARLY_ALL * present
    coded = sum(number[0] == "0" and number[1:2].isdigit() for number in numbers)
    if not is_read or coded > CODES * len(numbers) or len(set(numbers)) < 2:
        return None
    return next(form for form, marks in FORMS.items() if marks == (group, mark))


def split(text: str) -> tuple[str, bool, str] | None:
    """The unit of a text such as "-EUR 1,299", "EUR #", whether it is negative, and its digits and marks; or None."""
    found = AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    before, number, after = found.groups()
    is_negative = before[:1] in MINUS or before[-1:] in MINUS if before else False
    before = before.strip(MINUS) if is_negative else before
    return None if before[-1:] in (".", ",") else (f"{before}#{after}", is_negative, number)


def amounts_of(values: Any, form: str) -> Any:
    """(N,) the numbers of a column of amounts, NaN where there are none; a column of numbers as it is."""
    if not isinstance(values, Factored) and values.dtype.kind in "biuf":
        return values
    mark, cache = FORMS[form][1], dict[Any, float]()
    cells = whole_cells(values).tolist()
    for cell in cells:
        if cell not in cache:
            cache[cell] = _number(cell, mark)
    return np.array([cache[cell] for cell in cells], dtype=np.float64)


def units_of(values: Any) -> Factored:
    """The units of a column of amounts (N,): "EUR #", "#" for a number alone, "other" for what is no amount."""
    cells = whole_cells(values).tolist()
    levels: dict[str, int] = {}
    codes = np.array(
        [
            -1 if (unit := _unit(cell)) is None else levels.setdefault(unit, len(levels))
            for cell in cells
        ]
    )
    return Factored(codes.astype(np.intp), object_cells([*levels]))


def written(number: Any, unit: Any, form: str, step: float) -> str | None:
    """An amount as its column writes it, with as many decimals as multiples of a step need; None for a hole."""
    if number is None or unit is None or "#" not in unit:
        return None
    group, mark = FORMS[form]
    digits = max(0, round(-np.log10(step))) if 0 < step < 1 else 0
    text = f"{number:,.{digits}f}" if step else f"{number:,}"
    marks = {",": group, ".": mark}
    return str(unit.replace("#", "".join(marks.get(letter, letter) for letter in text)))


def _matching(cells: list[Any]) -> float:
    """The share of texts that may be amounts."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    return sum(split(text) is not None for text in texts) / max(len(texts), 1)


def _is_known(unit: str) -> bool:
    """Whether a unit is none, one of `UNITS` behind the number, or a currency; "12A" is a code, "12 A" a current."""
    text = " ".join(unit.replace("#", " ").split())
    if unit[0] == "#" and text in UNITS.split() and not (len(unit) == 2 and text.isupper()):
        return True
    return not text or _price(f"1 {text}", ".").currency == text


def _marks(numbers: list[str]) -> tuple[str, str]:
    """What groups thousands, and the decimal mark: the one that most numbers show, a point where none does."""
    _price("1", ".")  # which says what is missing
    from price_parser.parser import get_decimal_separator

    shown = Counter(
        number[1]
        if number[0] == "0" and number[1:2] in (".", ",")
        else get_decimal_separator(number)
        for number in numbers
    )
    used = Counter(mark for number in numbers for mark in set(number) if not mark.isdigit())
    mark = max(".,", key=lambda one: (shown[one], -used[one], one == "."))
    group = next((one for one, _ in used.most_common() if one != mark), "")
    group = " " if group.isspace() else group
    return (group, mark) if (group, mark) in FORMS.values() else ("", mark)


def _number(cell: Any, mark: str) -> float:
    """The number of one cell, NaN if it is no amount."""
    if not isinstance(cell, str):
        return float(cell) if isinstance(cell, (int, float)) else np.nan
    found = split(cell)
    if found is None or (amount := _price(found[2], mark).amount_float) is None:
        return np.nan
    return -amount if found[1] else float(amount)


def _unit(cell: Any) -> str | None:
    """The unit of one cell; None for a hole."""
    if not isinstance(cell, str):
        return "#" if isinstance(cell, (int, float)) and cell == cell else None
    if not cell.strip():
        return None
    found = split(cell)
    return "other" if found is None else found[0]


def _price(text: str, mark: str) -> Any:
    """What price-parser reads; ImportError, with what to do, where it is not installed."""
    try:
        from price_parser import Price
    except ImportError:
        raise ImportError(
            "amounts that are text, such as 'EUR 139.20', are read by the package price-parser: pip install "
            "'hld[amounts]', or give them as numbers"
        ) from None
    return Price.fromstring(text, decimal_separator=mark)
