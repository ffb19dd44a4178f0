"""A schema as plain JSON, and back.

    {"format": "hld table schema", "version": 1, "by_name": true, "num_rows": 1000, "columns": [
        {"name": "size", "kind": "continuous", "edges": [1.5], "low": 1.0, "high": 2.0, "missing": 3},
        {"name": "hue", "kind": "categorical", "levels": ["red", "tan"], "missing": 0, "rare": "q83vASNFZ4k="},
        {"name": "id", "kind": "left out", "note": "nearly unique"}]}

Defaults are not written, so that a schema is short to read and to write by hand.  Numbers are written with
enough digits to restore every bit.  Two kinds of level have a form of their own, because JSON readers refuse or
round them: ``{"int": "0x1000000000000000f"}`` for whole numbers of more than 20 characters, ``{"float": "inf"}`` for
infinities.

Reading trusts nothing: keys and types are checked here, the values by the columns themselves, and
every defect is a ValueError naming its place.
"""

from __future__ import annotations

import base64
import math
import re
import reprlib
import sys
from collections.abc import Callable
from typing import Any

FORMAT, VERSION = "hld table schema", 1
_KEYS = {"format", "version", "by_name", "num_rows", "columns"}
_SHORT = 20  # characters of a whole number that is written as such
_LONG = re.compile("-?0x[0-9a-f]{1,256}")
_NAMES: dict[str, str] = {
    "num_missing": "missing",
    "policy": "unseen",
}  # attributes that JSON calls otherwise


def schema_form(by_name: bool, num_rows: int | None, columns: list[Any]) -> dict[str, Any]:
    """The JSON object of a schema."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "by_name": by_name,
        "num_rows": num_rows,
        "columns": columns,
    }


def column_form(column: Any) -> dict[str, Any]:
    """The JSON object of a `ColumnSchema`: what is not the default."""
    form = {"name": column.name}
    for name in ("kind", "low", "high", "num_missing"):
        if getattr(column, name) is not None:
            form[_NAMES.get(name, name)] = getattr(column, name)
    if column.levels is not None:
        form["levels"] = [_level_form(level) for level in column.levels]
    if column.edges is not None:
        form["edges"] = list(column.edges)
    for name, default in (
        ("policy", "keep"),
        ("merged", False),
        ("note", ""),
        ("source", None),
        ("part", None),
        ("optional", False),
    ):
        if getattr(column, name) != default:
            form[_NAMES.get(name, name)] = getattr(column, name)
    return form | ({"rare": base64.b64encode(column.rare).decode("ascii")} if column.rare else {})


def _level_form(level: int | str) -> Any:
    """JSON form of a level."""
    if isinstance(level, float) and not math.isfinite(level):
        return {"float": repr(level)}
    return {"int": hex(level)} if type(level) is int and len(str(level)) > _SHORT else level


def read_schema(form: dict[str, bool | int | str]) -> tuple[Any, ...]:
    """The flag, the rows, and the attributes of each column; ValueError for anything that is no schema."""
    if (
        not isinstance(form, dict)
        or set(form) - _KEYS
        or not {"format", "version", "columns"} <= set(form)
    ):
        raise ValueError(
            f"the schema is {reprlib.repr(form)}, expected an object with the keys {sorted(_KEYS)}"
        )
    if form["format"] != FORMAT or type(form["version"]) is not int or form["version"] != VERSION:
        raise ValueError(
            f"the schema has format {reprlib.repr(form['format'])} and version "
            f"{reprlib.repr(form['version'])}, expected {FORMAT!r} and {VERSION}"
        )
    by_name, num_rows = form.get("by_name", True), form.get("num_rows")
    if not isinstance(form["columns"], list) or not isinstance(by_name, bool):
        raise ValueError("the schema must have a list of columns, and true or false for by_name")
    if num_rows is not None:
        _count(num_rows, 1, "num_rows of the schema")
    columns = [
        _column(one, f"columns[{v}] of the schema", num_rows)
        for v, one in enumerate(form["columns"])
    ]
    return by_name, num_rows, columns


def _column(form: Any, where: str, num_rows: int | None) -> dict[str, Any]:
    """The attributes of a column."""
    if not isinstance(form, dict) or "name" not in form or set(form) - set(_READERS):
        raise ValueError(
            f"{where} is {reprlib.repr(form)}, expected an object with a name and some of "
            f"{sorted(set(_READERS) - {'name'})}"
        )
    attributes = {json: attribute for attribute, json in _NAMES.items()}
    found: dict[str, Any] = {
        attributes.get(key) or key: _READERS[key](value, f"{key} of {where}")
        for key, value in form.items()
    }
    if num_rows is not None and (found.get("num_missing") or 0) > num_rows:
        raise ValueError(f"{where} has more missing cells than there are rows")
    return found


def _text(value: str, where: str) -> str:
    """Text as it is."""
    if not isinstance(value, str):
        raise ValueError(f"{where} must be text, found {reprlib.repr(value)}")
    return value


def _flag(value: Any, where: Any) -> Any:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be true or false, found {reprlib.repr(value)}")
    return value


def _count(value: int, least: int, where: str) -> int:
    """A whole number."""
    if type(value) is not int or not least <= value <= 2**53:
        raise ValueError(
            f"{where} must be a whole number of at least {least}, found {reprlib.repr(value)}"
        )
    return value


def _number(value: float, where: Any) -> float:
    """A finite number as a double."""
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{where} must be a finite number, found {reprlib.repr(value)}")
    return float(value)


def _list(read: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of lists."""

    def items(value: list[Any], where: str) -> Any:
        if not isinstance(value, list):
            raise ValueError(f"{where} must be a list, found {reprlib.repr(value)}")
        return tuple(read(one, where) for one in value)

    return items


def _level(value: int | str, where: str) -> int | str:
    """A level: text, a flag, a number, or one of the two forms for numbers that JSON does not hold."""
    if (
        isinstance(value, dict)
        and list(value) == ["int"]
        and isinstance(value["int"], str)
        and _LONG.fullmatch(value["int"])
    ):
        value = int(value["int"], 16)
    elif isinstance(value, dict) and value in ({"float": "inf"}, {"float": "-inf"}):
        value = float(value["float"])
    if (
        type(value) not in (str, bool, int, float)
        or value != value
        or (type(value) is int and value.bit_length() > 1024)
    ):
        raise ValueError(
            f"{where} must hold text, numbers, true or false, found {reprlib.repr(value)}"
        )
    return value


def _bytes(text: Any, where: Any) -> Any:
    """Bytes from their text in base 64."""
    try:
        return base64.b64decode(_text(text, where).encode("ascii"), validate=True)
    except UnicodeEncodeError:
        raise ValueError(f"{where} must be digests in base 64") from None
    except ValueError:
        raise ValueError(
            f"{where} must be digests in base 64, found {reprlib.repr(text)}"
        ) from None


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "name": _text,
    "kind": _text,
    "levels": _list(_level),
    "edges": _list(_number),
    "low": _number,
    "high": _number,
    "missing": lambda value, where: _count(value, 0, where),
    "unseen": _text,
    "rare": _bytes,
    "merged": _flag,
    "note": _text,
    "source": _text,
    "part": _text,
    "optional": _flag,
}
