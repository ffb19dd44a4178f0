r"""Columns that are parts of others: of a date its weekday, hour or month; of an amount its number and its unit.

A part is derived from its column whenever a table is read, in training and later.

**The calendar.**  A date never comes back: every later batch lies beyond the range of training, and a column of dates
says only that time has passed.  What does come back is the calendar, so that "as many visits on Saturdays as ever" can
be learned and tested.

========  =================================  ===================================================
part      values                             at time s, in seconds since 1970
========  =================================  ===================================================
weekday   Mon, Tue, Wed, Thu, Fri, Sat, Sun  (floor(s / 86400) + 3) mod 7, counted from Monday
hour      0 .. 23                            floor(s / 3600) mod 24
month     1 .. 12                            of the Gregorian calendar
========  =================================  ===================================================

Times with a zone are converted to UTC: remove the zone first where hours should be local.

**Amounts** that are written as text: "EUR 139.20", "$1,299", "12,5 %", "3 kg", "1.234,56".  As levels they would all
be rare, and that all of them rise by a fifth would hardly show.  So a column of which nearly all texts are a number
with a known unit, or with one and the same other text around it, becomes two: the number, under the name of the column,
and its unit, in a column of its own, so that another currency or unit is a new level:

    "EUR 139.20"  ->  139.2  and  "EUR #"

Codes such as "K371", "p037" or "A-12" are no amounts, as their text is no unit.  How the column writes numbers (which
mark is the decimal one, and whether thousands are grouped) is found once, from all of its texts, and kept as one of
`FORMS`, in which drawn rows are written, too.  The package price-parser knows currencies and reads numbers.
"""

import datetime
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hld.tables.cells import Columns, factored
from hld.tables.factored import Factored, object_cells
from hld.tables.times import as_seconds

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PARTS = {"weekday": WEEKDAYS, "hour": tuple(range(24)), "month": tuple(range(1, 13))}
# how people write a part of a date in a column of its own
DAY_FORMS = ("%d", "%a", "%A", "%j", "%u", "%w", "%b %d", "%Y-%m-%d")
MONTH_FORMS = ("%m", "%b", "%B", "%Y-%m", "%Y%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y")
DATE_FORMS = (*DAY_FORMS, *MONTH_FORMS, "%Y", "%V", "%G-W%V", "W%V")
EPOCH = datetime.date(1970, 1, 1)

UNIT = "unit"  # the part of an amount that is no number
# how numbers are written: what groups thousands, and the decimal mark
FORMS = ("1234.5", "1234,5", "1,234.5", "1.234,5", "1 234,5", "1 234.5", "1'234.5")
AMOUNT = re.compile(r"(\D{0,12}?)(\d+(?:[.,'\s]\d+)*)(\D{0,12})")
MINUS = "-\N{MINUS SIGN}"
UNITS = """
    % ‰ bp bps pp ppm x pcs  km m cm mm µm mi yd ft in ha m² m³ m2 m3  kg g mg µg ug t lb lbs oz l ml cl dl gal mol
    h hr hrs min s sec ms us µs ns d days hours minutes seconds  °C °F C F K kWh MWh Wh kW MW W V A mA kJ J
    Hz kHz MHz GHz km/h mph m/s bpm rpm mg/dl mmol/l kcal  B kB KB MB GB TB Pa hPa bar psi mmHg
"""
NEARLY_ALL, MOSTLY = 0.95, 0.5  # shares of rows
FEWEST = 20  # rows with a text, below which nothing is read as an amount
CODES = 0.01  # share of numbers with zeros in front from which they are codes


class Derived(NamedTuple):
    """A column that is a part of another one, or, under the name of that, stands in its place."""

    name: str
    source: str
    part: str


def with_parts(columns: Columns, derived: Any) -> Columns:
    """A table with its derived columns behind the others; one that it has under that name already stays."""
    if not derived:
        return columns
    names = columns.names or ()
    arrays = dict(zip(names, columns.arrays, strict=True))
    new = {
        one.name: part_of(arrays[one.source], one.part)
        for one in derived
        if one.source in arrays and (one.name not in arrays or one.name == one.source)
    }
    arrays |= new
    declared = [*columns.declared, *[False] * (len(arrays) - len(names))]
    return Columns(tuple(arrays), columns.num_rows, [*arrays.values()], declared)


def part_of(values: Any, part: str) -> Any:
    """A part of each date, or amount, of a column (N,), missing where the cell is none."""
    if part not in PARTS:
        return units_of(values) if part == UNIT else amounts_of(values, part)
    if values.dtype.kind == "M":  # as a double, 23:59:59.999999999 would be the next day
        values = values.astype("M8[s]")
    seconds = as_seconds(values, "date")[0]
    is_known = np.isfinite(seconds)
    whole = np.floor(np.where(is_known, seconds, 0)).astype(np.int64)
    if part == "weekday":
        codes = (whole // 86400 + 3) % 7
    elif part == "hour":
        codes = whole // 3600 % 24
    else:
        codes = whole.astype("M8[s]").astype("M8[M]").astype(np.int64) % 12
    return Factored(np.where(is_known, codes, -1).astype(np.intp), object_cells(PARTS[part]))


def is_written_of(pairs: Sequence[tuple[float, Any]]) -> bool:
    """Whether a cell is what is written of its day (a number since 1970), in one of `DATE_FORMS` for all pairs."""
    try:
        days = [EPOCH + datetime.timedelta(days=day) for day, _ in pairs]
    except OverflowError:  # beyond the years of Python
        return False
    cells = [_plain(cell) for _, cell in pairs]
    return bool(pairs) and any(
        all(_plain(day.strftime(form)) == cell for day, cell in zip(days, cells, strict=True))
        for form in DATE_FORMS
    )


def _plain(cell: Any) -> str:
    """The text of a cell: 2, 2.0 and "02" alike."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).lstrip("0")


# -- amounts -----------------------------------------------------------------------------------------------------------


def amount_form(values: Any) -> str | None:
    """Which of `FORMS` the amounts of a column (N,) have; None if it is no column of amounts."""
    if not isinstance(values, Factored):
        return None
    present, numbers, units = 0, list[str](), Counter[str]()
    for text, count in zip(values.levels.tolist(), values.counts().tolist(), strict=True):
        if count and isinstance(text, str) and text.strip():
            present += count
            if (found := split(text)) is not None:
                units[found[0]] += count
                numbers.append(found[2])
    if present < FEWEST or units.total() < NEARLY_ALL * present or len({*numbers}) < 2:
        return None
    form, ((most, its_count),) = _form_of(numbers), units.most_common(1)
    known = {unit for unit in units if _is_known(unit)}
    is_measured = its_count >= NEARLY_ALL * present and not most.split("#")[0][-1:].isalnum()
    if is_measured and sum(form[-2] in number for number in numbers) > MOSTLY * len(numbers):
        known.add(most)
    if form == FORMS[0]:  # plain numbers are read as such elsewhere
        known.discard("#")
    coded = sum(number[0] == "0" and number[1:2].isdigit() for number in numbers)
    is_read = sum(units[unit] for unit in known) >= NEARLY_ALL * present
    return form if is_read and coded <= CODES * len(numbers) else None


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
    if values.dtype.kind in "biuf":
        return values
    values = factored(values)
    numbers = [_number(cell, form[-2]) for cell in values.levels.tolist()]
    return values.spread(np.array(numbers, dtype=np.float64), np.nan)


def units_of(values: Any) -> Factored:
    """The units of a column of amounts (N,): "EUR #", "#" for a number alone, "other" for what is no amount."""
    values = factored(values)
    units = Factored.of(_unit(cell) for cell in values.levels.tolist())
    return Factored(values.spread(units.codes, -1), units.levels)


def written(number: Any, unit: Any, form: str, step: float) -> str | None:
    """An amount as its column writes it, with as many decimals as multiples of a step need; None for a hole."""
    if number is None or unit is None or "#" not in unit:
        return None
    digits = max(0, round(-np.log10(step))) if 0 < step < 1 else 0
    text = f"{number:,.{digits}f}" if step else f"{number:,}"
    return str(unit.replace("#", text.translate({ord(","): form[1:-5], ord("."): form[-2]})))


def _is_known(unit: str) -> bool:
    """Whether a unit is none, one of `UNITS` behind the number, or a currency; "12A" is a code, "12 A" a current."""
    text = " ".join(unit.replace("#", " ").split())
    if unit[0] == "#" and text in UNITS.split() and not (len(unit) == 2 and text.isupper()):
        return True
    return not text or _price(f"1 {text}", ".").currency == text


def _form_of(numbers: list[str]) -> str:
    """The one of `FORMS` with the decimal mark that most numbers show, a point where none does."""
    _price("1", ".")  # which says what is missing
    from price_parser.parser import get_decimal_separator

    shown = Counter(
        number[1]
        if number[0] == "0" and number[1:2] in (".", ",")
        else get_decimal_separator(number)
        for number in numbers
    )
    used = Counter(mark for number in numbers for mark in {*number} if not mark.isdigit())
    mark = max(".,", key=lambda one: (shown[one], -used[one], one == "."))
    group = next((one for one, _ in used.most_common() if one != mark), "")
    form = f"1{' ' if group.isspace() else group}234{mark}5"
    return form if form in FORMS else f"1234{mark}5"


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
