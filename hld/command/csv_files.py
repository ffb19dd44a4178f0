"""Tables of the command line: CSV files in, CSV rows out.

A training table is read as pandas reads it: a column is numbers, booleans or text, whichever all its cells
can be, and empty cells (or NA, NaN, null, ...) are missing.  A batch must not be read that way.  If the
training column held "1", "2" and "x", it is text; a batch that happens to hold only "1" and "2" would become
numbers, none of which is a level of the column, and what has changed is the reading, not the data.  So a
batch is read as text, and each column is then turned into what it was when the detector was fitted: numbers
where the column's levels or bins are numbers, text otherwise.
"""
from __future__ import annotations

import csv
import io
import pathlib
import re
import sys
import warnings

import pcircuit
from hld.command.output import check_output, shown

UNSEEN = "<unseen>"  # how `TableEncoder.decode` writes the category of levels that training did not have
WHOLE = re.compile(r"[+-]?[0-9]{1,400}")  # longer numbers are infinite as doubles
WORDS = {"True": "1", "TRUE": "1", "true": "1", "False": "0", "FALSE": "0", "false": "0", UNSEEN: "inf"}


def read_training(path, separator=","):
    """A CSV file as a data frame, with the types that pandas finds.

    Parameters
    ----------
    path : str
        File, possibly compressed; "-" is standard input.
    separator : str
        One character.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ImportError
        If pandas is missing.
    OSError, ValueError
        If the file cannot be read or is not a table.
    """
    # in pieces, one column could get two types; plain types would round whole numbers beside a missing cell
    table = _read(path, separator, low_memory=False, dtype_backend="numpy_nullable")
    for name in table.columns:
        if table[name].dtype == "string":  # empty cells among numbers beyond int64, which become text
            table[name] = table[name].mask(table[name] == "")
    return table


def read_batch(path, encoder, separator=","):
    """A CSV file as a data frame whose columns have the types that the encoder was fitted to.

    Parameters
    ----------
    path : str or io.StringIO
        File, possibly compressed; "-" is standard input; or text of standard input.
    encoder : hld.tables.encoder.TableEncoder
        Encoder of the detector that will read the table.
    separator : str
        One character.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ImportError
        If pandas is missing.
    OSError, ValueError
        If the file cannot be read, is not a table, or has text in a column of numbers.
    """
    table = _read(path, separator, dtype=str)
    # Names that do not match are left alone: the encoder says what is wrong with them.
    fitted = {column.name: column for column in encoder.columns}
    if not encoder.by_name and len(table.columns) == len(encoder.columns):
        fitted = dict(zip(table.columns, encoder.columns, strict=True))
    for name in table.columns:
        if name in fitted:
            table[name] = _as_fitted(table[name], fitted[name])
    return table


def write_rows(names, rows, path=None, separator=","):
    """Write rows as CSV with a header.

    Parameters
    ----------
    names : sequence of V str
        The header.
    rows : (N, V) iterable
        Cells; None is an empty one.
    path : str, optional
        The file, written all or nothing; by default standard output.  To a terminal text goes without control
        characters, see `shown`; into files and pipes exactly as it is.
    separator : str
        One character.
    """
    if path is None and sys.stdout.isatty():
        names, rows = map(shown, names), ([shown(c) if isinstance(c, str) else c for c in row] for row in rows)
    if path is None:
        _write(names, rows, sys.stdout, separator)
        return
    with pcircuit.replace_file(check_output(path)) as binary:
        file = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        _write(names, rows, file, separator)
        file.detach()  # which flushes, and leaves the file open


def _read(path, separator, **options):
    """The data frame in a file; what pandas only warns of, such as too long rows, is an error."""
    try:
        import pandas
    except ImportError:
        raise ImportError("reading CSV files needs pandas, which is not installed: "
                          "pip install 'hld[cli]'") from None
    # Standard input is read here, as an interrupt inside pandas' parser would become an error in the table.
    # A name is given from the root on, as pandas would take one such as http://... for an address and fetch it.
    source = path if isinstance(path, io.StringIO) else (
        io.BytesIO(sys.stdin.buffer.read()) if path == "-" else pathlib.Path(path).absolute())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            return pandas.read_csv(source, sep=separator, index_col=False, **options)
    except pandas.errors.EmptyDataError:
        raise ValueError(f"{_called(path)} is empty: expected a header and rows") from None
    except UnicodeDecodeError:
        raise ValueError(f"{_called(path)} is not text in UTF-8: expected a CSV file") from None
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise ValueError(f"{_called(path)} is not a table separated by {separator!r}: {error}") from None


def _called(path) -> str:
    """What a message calls the input."""
    return "standard input" if path == "-" or isinstance(path, io.StringIO) else repr(str(path))


def _as_fitted(cells, column):
    """Text cells (N,) as the numbers, or the text, that a fitted column consists of."""
    levels = () if column.kind == "continuous" else column.levels
    if column.kind != "continuous" and (not levels or any(isinstance(level, str) for level in levels)):
        numbers = {str(level): level for level in levels if not isinstance(level, str)}
        return _translated(cells, numbers) if numbers else cells
    import pandas
    text = cells if column.kind == "continuous" else _translated(cells, WORDS)
    numbers = pandas.to_numeric(text, errors="coerce")
    odd = (numbers.isna() & cells.notna()).to_numpy().nonzero()[0]
    if len(odd):
        raise ValueError(f"column {column.name!r} holds {cells.iloc[odd[0]]!r} in data row {odd[0] + 1}, but "
                         f"only numbers or booleans in training: correct the cell, or leave it empty if "
                         f"nothing is known")
    return numbers if column.kind == "continuous" else _exact(numbers, text)


def _exact(numbers, text):
    """Numbers (N,), with Python's whole numbers where a double would round the text of one."""
    large = (numbers.abs() >= 2 ** 53).to_numpy().nonzero()[0]
    if numbers.dtype.kind != "f" or not len(large):
        return numbers
    exact = numbers.astype(object)
    for i in large:
        if WHOLE.fullmatch(str(text.iloc[i])):
            exact.iloc[i] = int(text.iloc[i])
    return exact


def _translated(cells, words):
    """Cells (N,) with those that are keys of a dictionary replaced by its values."""
    return cells.astype(object).map(lambda cell: words.get(cell, cell))


def _write(names, rows, file, separator):
    """Header and rows to an open text file."""
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
