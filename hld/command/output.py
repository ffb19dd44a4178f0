"""What the command line hands out: text and tables for people, one JSON object for programs, whole files.

Tables are drawn by `rich` where a person looks at a terminal, and are plain aligned text in a file or a pipe.
JSON has no numbers for NaN and the infinities, so they become null.  A file is written under another name and
takes its own when it is complete.
"""
from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import sys
import tempfile


def print_text(text):
    """Print lines; what the terminal's encoding cannot show is escaped, as it is no reason to fail."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def print_json(value):
    """Print one JSON object, see `plain_json`."""
    print(json.dumps(plain_json(value), indent=2, allow_nan=False))


def print_table(header, rows):
    """Print a table.

    Parameters
    ----------
    header : sequence of str
        One heading for each column.
    rows : sequence of sequences
        Cells: text is set to the left, numbers to the right, with four digits where they are not whole.
    """
    right = [bool(rows) and not any(isinstance(row[i], str) for row in rows) for i in range(len(header))]
    texts = [list(header), *([_cell(cell) for cell in row] for row in rows)]
    if sys.stdout is not None and sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            _print_rich(texts, right)
            return
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = [cell.rjust(width) if number else cell.ljust(width)
                 for cell, width, number in zip(row, widths, right, strict=True)]
        print_text("  ".join(cells).rstrip())


def plain_json(value):
    """A value as JSON can hold it: arrays become lists, NaN and infinities null, other objects their text."""
    if isinstance(value, dict):
        return {str(key): plain_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain_json(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


@contextlib.contextmanager
def replacing(path):
    """The name of a temporary file in the folder of `path`, which replaces `path` if all goes well."""
    path = check_output(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def check_output(path) -> pathlib.Path:
    """The path of a file that can be written, so that long work does not end with a wrong name."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder: expected the name of a file to write")
    if not path.parent.is_dir():
        raise ValueError(f"{str(path)!r} cannot be written, as there is no folder {str(path.parent)!r}: "
                         f"create it")
    return path


def _cell(value) -> str:
    """The text of a cell."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_rich(texts, right):
    """The table, header first, as rich draws it; `right` says which columns are numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    table = Table()
    for name, number in zip(texts[0], right, strict=True):
        table.add_column(Text(name), justify="right" if number else "left")
    for row in texts[1:]:
        table.add_row(*map(Text, row))  # Text, as names may look like markup
    Console().print(table)


def _umask() -> int:
    """Permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
