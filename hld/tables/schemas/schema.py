r"""The schema of a table: what each column is, learned from rows or written by hand.

A schema is the part of a fitted detector that its user can read and change: names and kinds, levels or bin edges, how
much was missing in training, and what happens to values that training did not show.

=============  =====================================================================
kind           columns of
=============  =====================================================================
categorical    text, objects, declared categories
boolean        booleans
integer        few different whole numbers
constant       one number
continuous     numbers, cut into bins
date           dates and times, cut into bins; edges are seconds since 1970 (UTC)
duration       durations, likewise; edges are seconds
time           times of day, likewise; edges are seconds since midnight
left out       whatever takes no part
=============  =====================================================================

What a schema written by hand leaves open (the kind, the levels, the edges) is learned from the training table, and so
is every column that it does not mention. A column that is nearly unique, an identifier or free text, is left out when
a schema is learned, unless its kind is given; `note` says why, and none of its values is kept.

`policy` of a column says what becomes of a level, or of a number out of range, that training did not show: "keep", it
counts in the category of unseen levels or in the outermost bin; "missing", it counts as missing; "refuse", an error.

As plain JSON:

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
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from hld.tables.cells import NUMERIC, level_order
from hld.tables.column_names import is_sequence
from hld.tables.derived import FORMS, PARTS, UNIT, Derived
from hld.tables.schemas.columns import BINNED, SIZE, UNSEEN, BinColumn, LevelColumn, as_mark
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.quality import DataQuality, data_quality
from hld.tables.shown_names import in_one_line, listed
from pcircuit.arguments import check_flag, check_whole_number

LEFT_OUT = "left out"
GROUPING = "names the groups"  # the note of the column that `groups` was
ALL_PARTS = (*PARTS, *FORMS, UNIT)
OF_LEVELS = ("categorical", "boolean", "integer", "constant")
KINDS = (*OF_LEVELS, *BINNED, LEFT_OUT)


@dataclass(frozen=True)
class ColumnSchema:
    """What one column is; None stands for what is still to be learned.

    Attributes
    ----------
    name : str
        Its name in a table; x0, x1, ... where the training table had none.
    kind : str or None
        See the module.
    levels : tuple or None
        For a column of levels: text, booleans or numbers, in any order.
    edges : tuple of float or None
        For a binned column: ascending.  Times may be text, such as "2020-01-31".
    low, high : float or None
        For a binned column: the range in training.  Likewise.
    num_missing : int or None
        Missing cells in training.
    policy : "keep", "missing" or "refuse"
        What becomes of values that training did not show.
    rare : bytes
        Digests of rare levels (`schemas.columns`).
    note : str
        Why a column is left out.
    optional : bool
        For a column that is left out: whether it is none of the table's own.  A table with names may have it.
    source, part : str or None
        The column that this one is derived from, perhaps itself, and which part of it (`hld.tables.derived`).
    """

    name: str
    kind: str | None = None
    levels: tuple[Any, ...] | None = None
    edges: tuple[Any, ...] | None = None
    low: float | None = None
    high: float | None = None
    num_missing: int | None = None
    policy: str = "keep"
    rare: bytes = b""
    note: str = ""
    source: str | None = None
    part: str | None = None
    optional: bool = False

    def __post_init__(self) -> None:
        for name in ("name", "note", "source"):
            if not isinstance(getattr(self, name), (str, type(_DEFAULTS[name]))):
                raise TypeError(
                    f"`{name}` of column {self.name!r} must be text, found {getattr(self, name)!r}"
                )
        choices = {"kind": (None, *KINDS), "policy": UNSEEN, "part": (None, *ALL_PARTS)}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"`{name}` of column {self.name!r} must be one of {', '.join(map(repr, known))}, found "
                    f"{getattr(self, name)!r}"
                )
        if (self.source is None) != (self.part is None):
            raise ValueError(
                f"`part` of column {self.name!r} must be that of a `source`, found {self.part!r} of {self.source!r}"
            )
        if check_flag(self.optional, "optional") and self.kind != LEFT_OUT:
            raise ValueError(
                f"`optional` is for columns that are left out, found it for {self.name!r}, which is not"
            )
        for name in ("levels", "edges", "low", "high"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._read(name, getattr(self, name)))
        if self.num_missing is not None:
            count = check_whole_number(self.num_missing, "num_missing", 0, 2**53)
            object.__setattr__(self, "num_missing", count)

    def _read(self, name: str, value: Any) -> Any:
        """Levels, edges or an end of the range as they are kept."""
        kinds = OF_LEVELS if name == "levels" else BINNED
        if self.kind not in (*kinds, LEFT_OUT):
            raise ValueError(
                f"`{name}` of column {self.name!r} of the schema needs a `kind` out of "
                f"{', '.join(map(repr, kinds))}, found {self.kind!r}: give one, or leave `{name}` out"
            )
        if name in ("low", "high"):
            return as_mark(value, name, self.name, self.kind)
        if not is_sequence(value):
            raise TypeError(f"`{name}` of column {self.name!r} must be a sequence, found {value!r}")
        if name == "levels":
            return tuple(_plain(one, self.name) for one in value)
        return tuple(as_mark(one, name, self.name, self.kind) for one in value)

    @classmethod
    def of(cls, column: BinColumn | LevelColumn, num_missing: int | None = None) -> ColumnSchema:
        """The schema of a column of an encoder."""
        known = {one.name: getattr(column, one.name) for one in fields(column)}
        return cls(**known, num_missing=num_missing)

    @property
    def is_learned(self) -> bool:
        """Whether nothing is left to be learned: a kind, and edges with a range, or levels (bool)."""
        binned = None not in (self.edges, self.low, self.high)
        return self.kind is not None and (
            binned if self.kind in BINNED else self.levels is not None
        )

    def column(self) -> BinColumn | LevelColumn:
        """The column of an encoder; ValueError where the parts do not fit together."""
        known: Any = self  # what is not is refused by the column
        if self.kind in BINNED:
            return BinColumn(self.name, known.edges, known.low, known.high, known.kind, self.policy)
        levels = tuple(sorted(known.levels, key=level_order))
        return LevelColumn(self.name, known.kind, levels, self.rare, self.policy)

    def values_text(self) -> str:
        """Levels or edges in one line of text, as printing the schema shows them; else `note`, or "to be learned"."""
        if self.kind == LEFT_OUT or not self.is_learned:
            return self.note or ("to be learned" if self.kind != LEFT_OUT else "")
        if self.kind in BINNED:
            column: Any = self.column()
            low, *cuts, high = column.texts([column.low, *column.edges, column.high])
            return in_one_line(f"{low} .. {high}{' cut at ' * bool(cuts)}{', '.join(cuts)}")
        rare = f" and {len(self.rare) // SIZE} rare" if self.rare else ""
        return in_one_line(", ".join(map(repr, self.levels or ()))) + rare


@dataclass(frozen=True)
class TableSchema:
    """What the columns of a table are; immutable.

    Parameters
    ----------
    columns : sequence of ColumnSchema
        In the order of the table.
    num_rows : int or None
        Rows of training.
    by_name : bool
        Whether later tables with names are matched by name; else by position.

    Examples
    --------
    >>> import hld
    >>> schema = hld.learn_schema([["red", 1.5, True], ["blue", 2.5, True], ["red", None, False]],
    ...                           names=["colour", "size", "new"])
    >>> print(schema)
    column  kind         categories  missing  unseen  values
    colour  categorical  3           0        keep    'blue', 'red'
    size    continuous   2           0.333    keep    1.5 .. 2.5 cut at 2
    new     boolean      3           0        keep    False, True
    >>> edited = schema.replace("size", edges=(2.0,), policy="missing").replace("new", kind="left out")
    >>> edited["size"].edges, edited.encoder().names
    ((2.0,), ('colour', 'size'))
    >>> TableSchema.from_dict(edited.to_dict()) == edited
    True
    """

    columns: tuple[Any, ...]
    num_rows: int | None = None
    by_name: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if odd := [column for column in self.columns if not isinstance(column, ColumnSchema)]:
            raise TypeError(f"`columns` of a schema must be of ColumnSchema, found {odd[0]!r}")
        if not self.columns or len(set(self.names)) < len(self.columns):
            raise ValueError(
                f"`columns` of a schema must have distinct names, found {list(self.names)}"
            )
        check_flag(self.by_name, "by_name")
        if self.num_rows is not None:
            least = max(1, *(column.num_missing or 0 for column in self.columns))
            object.__setattr__(
                self, "num_rows", check_whole_number(self.num_rows, "num_rows", least, 2**53)
            )

    @property
    def names(self) -> tuple[Any, ...]:
        """Names of all columns, also of those that are derived or left out, in order: a tuple of str."""
        return tuple(column.name for column in self.columns)

    @property
    def table_names(self) -> tuple[Any, ...]:
        """Names of the columns of the table itself, those that are neither derived nor optional: a tuple of str."""
        return tuple(
            column.name
            for column in self.columns
            if column.source in (None, column.name) and not column.optional
        )

    @property
    def derived(self) -> tuple[Any, ...]:
        """Name, source and part of each derived column that takes part, as the encoder needs them: a tuple."""
        return tuple(
            Derived(column.name, column.source, column.part)
            for column in self.columns
            if column.source is not None and column.kind != LEFT_OUT
        )

    @property
    def left_out(self) -> tuple[Any, ...]:
        """The `ColumnSchema` of each column that takes no part: a tuple."""
        return tuple(column for column in self.columns if column.kind == LEFT_OUT)

    def __getitem__(self, name: str) -> ColumnSchema:
        found = self.find(name)
        if found is None:
            raise KeyError(
                f"the schema has no column {name!r}, expected one of {listed(self.names, near=name)}"
            )
        return found

    def find(self, name: str) -> ColumnSchema | None:
        """The `ColumnSchema` of that name, None if there is none; ``schema[name]`` raises KeyError instead."""
        return next((column for column in self.columns if column.name == name), None)

    def replace(self, name: str, **changes: Any) -> TableSchema:
        """The schema with one column changed.

        A column that gets another kind and nothing else loses levels, edges and note, which are learned again.

        Parameters
        ----------
        name : str
            Of the column.
        **changes
            Attributes of `ColumnSchema`.

        Returns
        -------
        TableSchema

        Raises
        ------
        TypeError, ValueError, KeyError
            If there is no such column or attribute, or the value does not fit.
        """
        old = self[name]
        forgotten: tuple[str, ...] = ()
        if changes.get("kind", old.kind) != old.kind:
            forgotten = ("levels", "edges", "low", "high", "rare", "note")
        elif changes.get("levels") is not None:
            forgotten = ("rare",)
        cleared: dict[str, Any] = {name: _DEFAULTS[name] for name in forgotten}
        column = replace(old, **cleared | changes)
        return replace(self, columns=tuple(column if one is old else one for one in self.columns))

    def encoder(self) -> TableEncoder:
        """The map from tables to evidence; ValueError where something is left to be learned."""
        kept = [column for column in self.columns if column.kind != LEFT_OUT]
        if open_ones := [column.name for column in kept if not column.is_learned]:
            raise ValueError(
                f"`levels` or `edges` of {listed(open_ones)} are still to be learned: "
                "fit a detector with it, or give it to `learn_schema`"
            )
        return TableEncoder(
            tuple(column.column() for column in kept),
            self.by_name,
            self.table_names,
            self.derived,
            tuple(column.name for column in self.columns if column.optional),
        )

    @property
    def trained(self) -> tuple[Any, ...] | None:
        """(rows of training, tuple of missing cells of each column that takes part), all int; None if not known."""
        counts = tuple(column.num_missing for column in self.columns if column.kind != LEFT_OUT)
        return None if self.num_rows is None or None in counts else (self.num_rows, counts)

    def check(self, table: list[list[Any]]) -> DataQuality:
        """How a table differs from the schema; any table with at least one of the columns is accepted.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        DataQuality

        Raises
        ------
        TypeError, ValueError
            If it is not a table, or has none of the columns.
        """
        encoder, trained = self.encoder(), self.trained
        _, *found = encoder.encode_counting(table)
        return data_quality(encoder.columns, trained, *found, missing=trained)

    def to_dict(self) -> dict[str, Any]:
        """The schema as a dict that JSON can hold; `from_dict` makes an equal schema of it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "by_name": self.by_name,
            "num_rows": self.num_rows,
            "columns": [_column_form(column) for column in self.columns],
        }

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> TableSchema:
        """The schema of what `to_dict` returned.

        Parameters
        ----------
        form : dict

        Returns
        -------
        TableSchema

        Raises
        ------
        ValueError
            Saying where and what is wrong, for anything else.
        """
        if not isinstance(form, dict) or not _NEEDED <= form.keys() <= _KEYS:
            raise ValueError(
                f"the schema is {reprlib.repr(form)}, expected an object with the keys {sorted(_KEYS)}"
            )
        found = form["format"], form["version"]
        if found != (FORMAT, VERSION) or found[1] is True:
            raise ValueError(
                f"the schema has format {reprlib.repr(found[0])} and version {reprlib.repr(found[1])}, "
                f"expected {FORMAT!r} and {VERSION}"
            )
        if not isinstance(form["columns"], list):
            raise ValueError("the schema must have a list of columns")
        columns = [
            _read_column(one, f"columns[{v}] of the schema")
            for v, one in enumerate(form["columns"])
        ]
        try:
            schema = cls(tuple(columns), form.get("num_rows"), form.get("by_name", True))
            for column in schema.columns:
                if column.kind != LEFT_OUT and column.is_learned:
                    column.column()
        except TypeError as error:
            raise ValueError(str(error)) from None
        return schema

    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the printed table, its head first: a list of tuples of str."""
        head = ("column", "kind", "categories", "missing", "unseen", "values")
        return [head, *map(self._row, self.columns)]

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def _row(self, column: Any) -> tuple[Any, ...]:
        """The cells of a line of the printed table."""
        name, values = in_one_line(column.name), column.values_text()
        if column.kind == LEFT_OUT:
            return name, LEFT_OUT, "", "", "", values
        is_known = None not in (column.num_missing, self.num_rows)
        share = f"{column.num_missing / self.num_rows:.3g}" if is_known else ""
        count = str(column.column().num_categories) if column.is_learned else ""
        return name, column.kind or "to be learned", count, share, column.policy, values


def _plain(level: Any, name: str) -> Any:
    """A level as text, a flag or a number of Python; ValueError for anything else."""
    if isinstance(level, np.generic) and level.dtype.kind in NUMERIC + "U":
        level = level.item()
    is_long = type(level) is int and level.bit_length() > 1024
    if type(level) not in (str, bool, int, float) or level != level or is_long:
        raise ValueError(
            f"`levels` of column {name!r} must hold text, numbers, true or false, found "
            f"{reprlib.repr(level)}"
        )
    return level


FORMAT, VERSION = "hld table schema", 1
_NEEDED = {"format", "version", "columns"}
_KEYS = {*_NEEDED, "by_name", "num_rows"}
_SHORT = 20  # characters of a whole number that is written as such
_LONG = re.compile("-?0x[0-9a-f]{1,256}")
_DEFAULTS = {one.name: one.default for one in fields(ColumnSchema)}
# attributes that JSON calls otherwise
_JSON = {name: {"num_missing": "missing", "policy": "unseen"}.get(name, name) for name in _DEFAULTS}


def _column_form(column: ColumnSchema) -> dict[str, Any]:
    """The JSON object of a column: what is not the default."""
    values: dict[str, Any] = {name: getattr(column, name) for name in _DEFAULTS}
    if column.levels is not None:
        values["levels"] = [_level_form(level) for level in column.levels]
    if column.edges is not None:
        values["edges"] = list(column.edges)
    if column.rare:
        values["rare"] = base64.b64encode(column.rare).decode("ascii")
    return {_JSON[name]: value for name, value in values.items() if value != _DEFAULTS[name]}


def _level_form(level: int | str) -> Any:
    """JSON form of a level."""
    if isinstance(level, float) and not math.isfinite(level):
        return {"float": repr(level)}
    return {"int": hex(level)} if type(level) is int and len(str(level)) > _SHORT else level


def _read_column(form: Any, where: str) -> ColumnSchema:
    """The column of a JSON object."""
    if not isinstance(form, dict) or "name" not in form or set(form) - {*_JSON.values()}:
        raise ValueError(
            f"{where} is {reprlib.repr(form)}, expected an object with a name and some of "
            f"{sorted({*_JSON.values()} - {'name'})}"
        )
    values = {name: form[key] for name, key in _JSON.items() if key in form}
    for name in {"levels", "edges"} & {*values}:
        if not isinstance(values[name], list):
            raise ValueError(f"{name} of {where} must be a list, found {reprlib.repr(form[name])}")
        values[name] = tuple(map(_read_level, values[name]))
    try:
        if "rare" in values:
            values["rare"] = base64.b64decode(values["rare"], validate=True)
        return ColumnSchema(**values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def _read_level(value: Any) -> Any:
    """A level in one of the two forms for numbers that JSON does not hold; anything else as it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, text),) = value.items()
    if kind == "int" and isinstance(text, str) and _LONG.fullmatch(text):
        return int(text, 16)
    return float(text) if kind == "float" and text in ("inf", "-inf") else value
