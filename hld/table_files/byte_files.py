"""The bytes of a file: where they are, how they are compressed, and what the first of them say."""
from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

from hld.table_files.dialect import SNIFFED, ReadOptions

BLOCK = 2 ** 20  # bytes that are read at a time
FORMS = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
MARKS, ZSTD = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}, b"\x28\xb5\x2f\xfd"  # first bytes
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def form_of(path: str, options: ReadOptions) -> str:
    """Whether a file is "csv", "parquet" or "jsonl", by its name where that is not said.

    Parameters
    ----------
    path : str
        "-" for standard input.
    options : ReadOptions

    Returns
    -------
    str

    Examples
    --------
    >>> form_of("rows.jsonl.gz", ReadOptions()), form_of("-", ReadOptions(form="parquet")), form_of("-", ReadOptions())
    ('jsonl', 'parquet', 'csv')
    """
    stem, ending = os.path.splitext(str(path).lower())
    if ending in (*OPENERS, ".zst"):
        ending = os.path.splitext(stem)[1]
    return options.form or FORMS.get(ending, "csv")


def called(path: str) -> str:
    """What a message calls the input."""
    return "standard input" if path == "-" else repr(str(path))


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """The bytes of a file, decompressed as its name says, standard input as its first bytes say."""
    if path == "-":
        yield _decompressed(sys.stdin.buffer)
        return
    # a name is given from the root on, as readers would take one such as http://... for an address and fetch it
    name = pathlib.Path(path).absolute()
    ending = name.suffix.lower()
    if ending == ".zst":
        import pyarrow
        with pyarrow.OSFile(str(name)) as raw, pyarrow.CompressedInputStream(raw, "zstd") as file:
            yield file
        return
    with OPENERS.get(ending, open)(name, "rb") as file:  # type: ignore[operator]
        yield file


def _decompressed(file: Any) -> Any:
    """Standard input, which has no name that would say how it is compressed: its first bytes do."""
    head = file.peek(8)[:8] if hasattr(file, "peek") else b""
    for mark, ending in MARKS.items():
        if head.startswith(mark):
            return OPENERS[ending](file, "rb")  # type: ignore[operator]
    if head.startswith(ZSTD):
        import pyarrow
        return pyarrow.CompressedInputStream(file, "zstd")
    return file


def with_head(file: Any) -> tuple[Any, ...]:
    """The first bytes of a file, and the file with them in front."""
    head = b""
    while len(head) < SNIFFED and (more := file.read(SNIFFED - len(head))):
        head += more
    return head, io.BufferedReader(_Replayed(head, file), BLOCK)


class _Replayed(io.RawIOBase):
    """A file of which the first bytes have been read, from its beginning."""

    def __init__(self, head: bytes, file: Any) -> None:
        self.head, self.file = head, file

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> Any:
        """Read from the head, then from the file."""
        data = self.head[:len(buffer)] if self.head else self.file.read(len(buffer))
        self.head = self.head[len(data):]
        buffer[:len(data)] = data
        return len(data)
