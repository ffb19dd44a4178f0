"""The encoder as JSON, and back.

    {"format": "hld table encoder", "version": 2, "by_name": true, "columns": [
        {"name": "size", "kind": "continuous", "edges": ["0x1.8p+0"], "low": "0x1p+0", "high": "0x1p+1"},
        {"name": "hue", "kind": "categorical", "levels": [["str", "red"], ["str", "tan"]], "merged": false,
         "rare": "q83vASNFZ4k="}]}

Columns of the training table that were left out or are parts of others, and those that a table may have as well, are
under further keys, where there are any:

    "table_names": ["id", "size", "hue", "when"], "optional": ["day"],
    "derived": [{"name": "when weekday", "source": "when", "part": "weekday"}]

Version 1 had no digests of rare levels: its columns have none.  The digests are in base 64.  Dates, durations and times
of the day with bins have edges in seconds.  A column whose unseen values are made missing or refused says so
("unseen": "missing").

Levels carry their type, because 1, 1.0 and true print differently although they compare equal, and
floats are hexadecimal text, so that every bit is restored. Whole numbers are JSON numbers up to 20 characters;
longer ones, which JSON readers refuse or round, are hexadecimal text, too: ["int", "0x1000000000000000f"].

Reading trusts nothing: types and keys are checked here, the values by the columns themselves,
and every defect is a ValueError naming its place.

Functions: `encoder_form`, `read_form`.
"""

from __future__ import annotations

import base64
import re
import reprlib
from typing import Any

from hld.schemas.columns import BINNED, BinColumn, LevelColumn
from hld.tables.calendar import PARTS, Derived

_FORMAT, _VERSION = "hld table encoder", 2
_SHORT = 20  # characters of a whole number that is written as such
_LONG = re.compile("-?0x[0-9a-f]{1,256}")  # levels are in the range of float64
_KEYS = {"format", "version", "by_name", "columns"}
_LISTS = ("table_names", "derived", "optional")  # keys that are there where they say something
_DERIVED_KEYS = {"name", "source", "part"}
_BIN_KEYS = {"name", "kind", "edges", "low", "high"}
_LEVEL_KEYS = {
    1: {"name", "kind", "levels", "merged"},
    2: {"name", "kind", "levels", "merged", "rare"},
}


def encoder_form(encoder: Any) -> dict[str, Any]:
    """Plain dicts, lists, str, int and bool for an encoder."""
    form = {
        "format": _FORMAT,
        "version": _VERSION,
        "by_name": encoder.by_name,
        "columns": [_column_form(column) for column in encoder.columns],
    }
    lists = {
        "table_names": list(encoder.table_names) if encoder.table_names != encoder.names else [],
        "derived": [one._asdict() for one in encoder.derived],
        "optional": list(encoder.optional),
    }
    return form | {key: found for key, found in lists.items() if found}


def _column_form(column: Any) -> dict[str, Any]:
    """JSON form of one column."""
    policy = {} if column.unseen == "keep" else {"unseen": column.unseen}
    if column.kind in BINNED:
        return {
            "name": column.name,
            "kind": column.kind,
            "edges": [edge.hex() for edge in column.edges],
            "low": column.low.hex(),
            "high": column.high.hex(),
            **policy,
        }
    levels = [[type(one).__name__, _level_form(one)] for one in column.levels]
    return {
        "name": column.name,
        "kind": column.kind,
        "levels": levels,
        "merged": column.merged,
        "rare": base64.b64encode(column.rare).decode("ascii"),
        **policy,
    }


def _level_form(level: Any) -> int | str:
    """JSON form of the value of a level."""
    if isinstance(level, float):
        return level.hex()
    return hex(level) if isinstance(level, int) and len(str(level)) > _SHORT else level


def read_form(form: dict[str, Any]) -> tuple[Any, ...]:
    """The fields of an encoder from what `encoder_form` returned; ValueError for anything else."""
    if not isinstance(form, dict) or set(form) - set(_LISTS) != _KEYS:
        raise ValueError(
            f"the encoder is {reprlib.repr(form)}, expected an object with the keys {sorted(_KEYS)}"
        )
    version = form["version"]
    if form["format"] != _FORMAT or type(version) is not int or version not in _LEVEL_KEYS:
        raise ValueError(
            f"the encoder has format {reprlib.repr(form['format'])} and version "
            f"{reprlib.repr(version)}, expected {_FORMAT!r} and at most {_VERSION}: it may have "
            f"been written by another program or a later version"
        )
    if not isinstance(form["columns"], list) or not isinstance(form["by_name"], bool):
        raise ValueError(
            f"the encoder has columns of type {type(form['columns']).__name__} and by_name of "
            f"type {type(form['by_name']).__name__}, expected a list and true or false"
        )
    places = [f"columns[{v}] of the encoder" for v in range(len(form["columns"]))]
    columns = tuple(
        _column(column, where, version)
        for column, where in zip(form["columns"], places, strict=True)
    )
    return columns, form["by_name"], *_others(form, [column.name for column in columns])


def _others(form: dict[str, Any], names: list[str]) -> tuple[Any, ...]:
    """The names of the table, derived columns and those that it may have as well."""
    derived = form.get("derived", [])
    if not isinstance(derived, list) or not all(
        isinstance(one, dict)
        and set(one) == _DERIVED_KEYS
        and all(isinstance(text, str) for text in one.values())
        and one["name"] in names
        and one["part"] in PARTS
        for one in derived
    ):
        raise ValueError(
            f"the encoder has derived columns {reprlib.repr(derived)}, expected a list of objects with "
            f"the name of a column, its source and its part, one of {', '.join(PARTS)}"
        )
    for key in ("table_names", "optional"):
        texts = form.get(key, [])
        if (
            not isinstance(texts, list)
            or not all(isinstance(one, str) for one in texts)
            or len({*texts}) < len(texts)
        ):
            raise ValueError(
                f"the encoder has {key} {reprlib.repr(texts)}, expected a list of different texts"
            )
    own = set(names) - {one["name"] for one in derived}
    if form.get("table_names") and not own <= set(form["table_names"]):
        raise ValueError(
            f"the encoder has table_names {reprlib.repr(form['table_names'])}, expected among them its "
            f"columns {reprlib.repr(sorted(own))}"
        )
    return (
        tuple(form.get("table_names", ())),
        tuple(Derived(**one) for one in derived),
        tuple(form.get("optional", ())),
    )


def _column(form: dict[str, Any], where: str, version: int) -> Any:
    """`LevelColumn` or `BinColumn` from its JSON form."""
    keys = (
        _BIN_KEYS if isinstance(form, dict) and form.get("kind") in BINNED else _LEVEL_KEYS[version]
    )
    if not isinstance(form, dict) or set(form) - {"unseen"} != keys:
        raise ValueError(
            f"{where} is {reprlib.repr(form)}, expected an object with the keys {sorted(keys)}"
        )
    name, kind, unseen = form["name"], form["kind"], form.get("unseen", "keep")
    if not isinstance(name, str) or not isinstance(kind, str):
        raise ValueError(
            f"{where} has name {reprlib.repr(name)} and kind {reprlib.repr(kind)}, expected text"
        )
    if not isinstance(form["edges" if keys is _BIN_KEYS else "levels"], list):
        raise ValueError(f"{where} has no list of edges or levels, expected one")
    if keys is _BIN_KEYS:
        edges = tuple(_double(edge, where) for edge in form["edges"])
        return BinColumn(
            name, edges, _double(form["low"], where), _double(form["high"], where), kind, unseen
        )
    if not isinstance(form["merged"], bool):
        raise ValueError(
            f"{where} has merged {reprlib.repr(form['merged'])}, expected true or false"
        )
    return LevelColumn(
        name,
        kind,
        tuple(_level(entry, where) for entry in form["levels"]),
        form["merged"],
        _bytes(form.get("rare", ""), where),
        unseen,
    )


def _level(entry: list[Any], where: str) -> int | str:
    """Plain value from its pair of type name and value."""
    if (
        not isinstance(entry, list)
        or len(entry) != 2
        or entry[0] not in ("bool", "int", "float", "str")
    ):
        raise ValueError(
            f'{where} has level {reprlib.repr(entry)}, expected a pair such as ["str", "a"]'
        )
    tag, value = entry
    if tag == "float":
        return _double(value, where)
    if tag == "int" and isinstance(value, str) and _LONG.fullmatch(value):
        value = int(value, 16)
    if type(value).__name__ != tag:
        raise ValueError(
            f"{where} has level {reprlib.repr(entry)}, expected a value of the type it names"
        )
    if tag == "int" and value.bit_length() > 1024:
        raise ValueError(
            f"{where} has an integer level of {value.bit_length()} bits, expected at most 1024"
        )
    return value


def _bytes(text: str, where: str) -> bytes:
    """Bytes from their text in base 64."""
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (AttributeError, ValueError):
        raise ValueError(
            f"{where} has rare levels {reprlib.repr(text)}, expected digests in base 64"
        ) from None


def _double(text: Any, where: Any) -> Any:
    """Float from its hexadecimal text."""
    try:
        return float.fromhex(text)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f'{where} has {reprlib.repr(text)}, expected a number in hexadecimal such as "0x1.8p+0"'
        ) from None
