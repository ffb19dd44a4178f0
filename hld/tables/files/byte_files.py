"""The bytes of a file: where they are, how they are compressed, and what the first of them say."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import pathlib
import sys
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from hld.tables.files.dialect import SNIFFED, ReadOptions
from hld.tables.shown_names import listed

BLOCK = 2**20  # bytes that are read at a time
FORMS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
# how a compressed file begins, and what opens one
MARKS = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"} | {
    b"BZh%d1AY&SY" % level: ".bz2" for level in range(1, 10)
}
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMPRESSED = (*OPENERS, ".zst", ".zip")
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


def form_of(path: str, options: ReadOptions) -> str:
    """Whether a file is "csv", "parquet", "jsonl" or "json", by its name where that is not said."""
    stem, ending = os.path.splitext(str(path).lower())
    if ending == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            stem = "".join(_names_in(archive)[:1]).lower()
    ending = os.path.splitext(stem)[1] if ending in COMPRESSED else ending
    return options.form or FORMS.get(ending, "csv")


def called(path: str) -> str:
    """What a message calls the input."""
    return "standard input" if path == "-" else repr(str(path))


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """The bytes of a file, decompressed as its name says, or else its first bytes; ValueError if they are damaged."""
    with contextlib.ExitStack() as stack:
        try:
            yield _decompressed(path, stack)
        except (*DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            # of a decompressor, not of the system
            said = str(error).strip() or type(error).__name__
            raise ValueError(
                f"{called(path)} is damaged or incomplete, or not compressed as its name says: {said}"
            ) from None


def _decompressed(path: str, stack: contextlib.ExitStack) -> Any:
    """An open file of plain bytes, closed with the stack."""
    if path == "-" and (sys.stdin is None or sys.stdin.closed):
        raise ValueError(
            "standard input is closed, expected a table: give one, or the name of a file"
        )
    if path == "":
        raise ValueError(
            "the name of the table is empty, expected that of a file, or '-' for standard input"
        )
    if os.path.isdir(path):
        raise ValueError(
            f"{called(path)} is a folder, expected one file: give its files one by one, or test all of "
            "them as a query (--sql \"SELECT * FROM 'FOLDER/*.parquet'\")"
        )
    if path == "-":
        file: Any = sys.stdin.buffer
    else:
        # from the root on, as readers would take a name such as http://... for an address and fetch it
        file = stack.enter_context(pathlib.Path(path).absolute().open("rb"))
    head = file.peek(10)[:10] if hasattr(file, "peek") else b""
    ending = "" if path == "-" else pathlib.Path(path).suffix.lower()
    if ending not in COMPRESSED:
        ending = next((found for mark, found in MARKS.items() if head.startswith(mark)), "")
    if ending == ".zip":
        return stack.enter_context(_unpacked(stack.enter_context(zipfile.ZipFile(file)), path))
    if ending == ".zst":
        import pyarrow

        stream = stack.enter_context(pyarrow.CompressedInputStream(file, "zstd"))
        return io.BufferedReader(stream, BLOCK)
    return stack.enter_context(OPENERS[ending](file, "rb")) if ending else file  # type: ignore[operator]


def _unpacked(archive: zipfile.ZipFile, path: str) -> Any:
    """The only file of a ZIP archive, open; ValueError if there is another number of them, or it cannot be read."""
    found = _names_in(archive)
    if len(found) != 1:
        some = f" ({listed(found, 5)})" if found else ""
        raise ValueError(f"{called(path)} must hold one file, found {len(found)}{some}: unpack it")
    try:
        return archive.open(found[0])
    except (RuntimeError, NotImplementedError) as error:  # a password, a method that is not known
        raise ValueError(f"{called(path)} cannot be unpacked: {error}") from None


def _names_in(archive: zipfile.ZipFile) -> list[str]:
    """The files of an archive, without folders and what a Mac adds to them."""
    return [
        name
        for name in archive.namelist()
        if not name.startswith("__MACOSX/") and not name.endswith("/")
    ]


def with_head(file: Any) -> tuple[bytes, Any]:
    """The first bytes of a file, and the file with them in front."""
    head = b""
    while len(head) < SNIFFED and (more := file.read(SNIFFED - len(head))):
        head = (head + more).lstrip(b"\r\n")
    return head, io.BufferedReader(_Replayed(head, file), BLOCK)


class _Replayed(io.RawIOBase):
    """A file of which the first bytes have been read, from its beginning; it remembers the last ones."""

    def __init__(self, head: bytes, file: Any) -> None:
        self.head, self.file, self.tail = head, file, b""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> Any:
        """Read from the head, then from the file."""
        data = self.head[: len(buffer)] if self.head else self.file.read(len(buffer))
        self.head, self.tail = self.head[len(data) :], (self.tail + data[-64:])[-64:]
        buffer[: len(data)] = data
        return len(data)
