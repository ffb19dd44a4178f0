"""The options for reading a table, which several commands share."""

from __future__ import annotations

import argparse
import csv
import warnings
from typing import TYPE_CHECKING, Any

NEAREST = 3  # names in an error
if TYPE_CHECKING:
    from hld.detector import HLDDetector
    from hld.schemas.encoder import TableEncoder
    from hld.table_files.dialect import ReadOptions


# options and their defaults: those on the format of text, and all
OF_TEXT: dict[str, Any] = {
    "sep": None,
    "no_header": False,
    "decimal": None,
    "encoding": "utf-8",
    "na_values": [],
}
OF_FILES: dict[str, Any] = OF_TEXT | {"columns": None, "drop": [], "format": None}


def add_reading_options(
    command: Any, of_format: str = "default: by the extension of the name"
) -> None:
    """``--sep`` and the other options on the format of a table, with the help of ``--format``."""
    group = command.add_argument_group("format of the table (detected where not given)")
    group.add_argument(
        "--sep", type=separator, help=r"separates cells: one character ('\t' is a tab)"
    )
    group.add_argument(
        "--no-header", action="store_true", help="the first row is data: columns are x0, x1, ..."
    )
    group.add_argument(
        "--decimal", choices=(".", ","), metavar="MARK", help="decimal mark: '.' or ','"
    )
    group.add_argument("--encoding", default="utf-8", help="encoding (default utf-8)")
    group.add_argument(
        "--na-values",
        metavar="A,B",
        type=names,
        default=[],
        help="texts that mean a missing cell, besides empty ones, NA, NaN, null and the like",
    )
    group.add_argument("--columns", metavar="A,B", type=names, help="read these columns only")
    group.add_argument(
        "--drop", metavar="A,B", type=names, default=[], help="do not read these columns"
    )
    group.add_argument("--format", choices=("csv", "parquet", "jsonl", "json"), help=of_format)


def reading_options(args: argparse.Namespace, encoder: TableEncoder | None = None) -> ReadOptions:
    """The `ReadOptions` of parsed arguments."""
    from hld.table_files.byte_files import form_of
    from hld.table_files.dialect import ReadOptions

    if args.columns == []:
        raise ValueError(
            "--columns is empty, expected names of columns to read: leave it out to read all of them"
        )
    found = ReadOptions(
        args.sep,
        not args.no_header,
        args.decimal,
        args.encoding,
        tuple(args.na_values),
        None if args.columns is None else tuple(args.columns),
        tuple(args.drop),
        args.format,
    )
    table = getattr(args, "table", None)
    if table is not None and (form := form_of(table, found)) != "csv":
        refuse_options(args, OF_TEXT, f"is for CSV, and {table!r} is read as {form}")
    if encoder is not None:
        _warn_of_unread(found, encoder)
    return found


def _warn_of_unread(options: ReadOptions, encoder: TableEncoder) -> None:
    """Warn of columns of a model that are not read of a batch: whoever leaves one out wants it not to be tested."""
    from hld.tables.shown_names import listed

    parts = {one.name: one.source for one in encoder.derived}
    used = dict.fromkeys(parts.get(name, name) for name in encoder.names)
    unread = [
        name
        for name in used
        if name in options.drop or (options.columns is not None and name not in options.columns)
    ]
    if unread and (encoder.by_name or parts):
        warnings.warn(
            f"columns of the model that are not read count as missing in all rows: {listed(unread)}; to test "
            "the others alone, fit a model without them",
            UserWarning,
            stacklevel=4,
        )


def load_model(path: str) -> HLDDetector:
    """The detector of a model file; ValueError where the file is a table, of which one is made first."""
    from hld.model_files import load
    from hld.table_files.byte_files import called

    try:
        return load(path)
    except ValueError as error:
        if "not a zip archive" not in str(error):
            raise
        raise ValueError(
            f"{called(path)} is not a model file, or a damaged one, expected a model first: make one of a "
            "table with hld fit TABLE -o MODEL"
        ) from None


def check_edits(edits: list[str] | None, detector: HLDDetector) -> list[str]:
    """The texts of --edit, if any; ValueError, with the nearest names first, where one is of no column of the model."""
    import difflib

    names = [*detector.encoder_.names]
    for edit in edits or ():
        column = edit.partition("=")[0]
        if "=" in edit and column not in names:
            near = difflib.get_close_matches(column, names, NEAREST, 0.0)
            raise ValueError(
                f"--edit names the column {column!r}, which the model does not have, expected one such as "
                f"{', '.join(map(repr, near))}: see hld info"
            )
    return edits or []


def refuse_options(args: argparse.Namespace, options: dict[str, Any], why: str) -> None:
    """Raise where one of some options was given."""
    for name, default in options.items():
        if getattr(args, name) != default:
            raise ValueError(f"--{name.replace('_', '-')} {why}: leave it out")


def given_options(args: argparse.Namespace) -> list[str]:
    """The options for reading a table that were given, as arguments that give them again."""
    found = []
    for name, default in OF_FILES.items():
        option, value = f"--{name.replace('_', '-')}", getattr(args, name)
        if value == default:
            continue
        if value is True:
            found.append(option)
            continue
        text = value if isinstance(value, str) else ",".join(map(_as_name, value))
        text = r"\t" if text == "\t" else text
        found += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return found


def _as_name(name: str) -> str:
    """A name as `names` reads it in a list."""
    is_plain = name and name == name.strip() and not set(name) & set(',"\r\n')
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def words(argument: str) -> str:
    """What an argument says about the table: UTF-8, of which Python keeps the bytes where the locale is ASCII."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def names(argument: str) -> list[str]:
    """Column names in a list separated by commas; a name with a comma is put in double quotes."""
    try:
        return next(csv.reader([words(argument)], skipinitialspace=True), [])
    except csv.Error:
        raise argparse.ArgumentTypeError(
            f"expected names separated by commas, found {argument!r}: put a name with a "
            "line break in double quotes"
        ) from None


def separator(argument: str) -> str:
    """One character; backslash t is a tab."""
    text = "\t" if argument == r"\t" else words(argument)
    if len(text) != 1 or text in '\r\n"':
        raise argparse.ArgumentTypeError(f"expected one character, found {text!r}")
    return text
