"""Compressed files: told by their names or their first bytes, and refused in one sentence where they are damaged."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile

import pyarrow as pa
import pytest

from hld.tables.files.byte_files import form_of, opened, with_head
from hld.tables.files.dialect import SNIFFED, ReadOptions

TEXT = b"number,word\n" + b"".join(
    b"%d,%s\n" % (i * i, b"ab"[i % 2 : i % 2 + 1]) for i in range(5000)
)


def zipped(data, names=("rows.csv",)):
    """An archive in which each file has the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, data)
    return file.getvalue()


COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": zipped,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_file_is_decompressed_by_its_name(tmp_path, ending):
    path = tmp_path / f"rows.csv{ending}"
    path.write_bytes(COMPRESS[ending](TEXT))
    with opened(str(path)) as file:
        assert file.read() == TEXT


@pytest.mark.parametrize("ending", [ending for ending in COMPRESS if ending != ".zip"])
def test_without_such_a_name_the_first_bytes_say_it(tmp_path, monkeypatch, ending):
    path = tmp_path / "rows.csv"
    path.write_bytes(COMPRESS[ending](TEXT))
    with opened(str(path)) as file:
        assert file.read() == TEXT
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(path.read_bytes())))
    )
    with opened("-") as file:
        assert file.read() == TEXT


@pytest.mark.parametrize("ending", COMPRESS)
def test_damaged_bytes_are_refused_in_one_sentence(tmp_path, ending):
    path, whole = tmp_path / f"rows.csv{ending}", COMPRESS[ending](TEXT)
    bad = bytearray(whole)
    bad[len(bad) // 2] ^= 255
    bad[len(bad) // 2 + 7] ^= 255
    for data in (whole[: len(whole) // 2], bytes(bad), TEXT):
        path.write_bytes(data)
        said = (
            rf"rows.csv\{ending}' is damaged or incomplete, or not compressed as its name says: \S"
        )
        with pytest.raises(ValueError, match=said), opened(str(path)) as file:
            file.read()


def test_what_the_system_refuses_stays_what_it_is(tmp_path):
    with pytest.raises(FileNotFoundError), opened(str(tmp_path / "none.csv.gz")):
        pass


def test_a_folder_is_told_how_to_be_read(tmp_path):
    with (
        pytest.raises(ValueError, match=r"is a folder, expected one file: .*--sql"),
        opened(str(tmp_path)),
    ):
        pass


def test_an_archive_must_hold_one_file(tmp_path):
    path = tmp_path / "rows.zip"
    path.write_bytes(zipped(TEXT, ("folder/", "__MACOSX/._rows.jsonl", "folder/rows.jsonl")))
    with opened(str(path)) as file:
        assert file.read() == TEXT
    assert form_of(str(path), ReadOptions()) == "jsonl"
    assert form_of(str(path), ReadOptions(form="csv")) == "csv"
    for names, said in (
        (("a", "b"), r"one file, found 2 \('a', 'b'\): unpack"),
        ((), "one file, found 0: unpack"),
    ):
        path.write_bytes(zipped(TEXT, names))
        with pytest.raises(ValueError, match=said), opened(str(path)):
            pass


def test_an_archive_with_a_password_is_refused(tmp_path):
    path = tmp_path / "rows.zip"
    data = bytearray(zipped(TEXT))
    for mark, at in (
        (b"PK\x03\x04", 6),
        (b"PK\x01\x02", 8),
    ):  # the flags of the file, here and in the list of files
        data[data.index(mark) + at] |= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"cannot be unpacked: .* is encrypted"), opened(str(path)):
        pass


def test_a_row_of_a_large_archive_does_not_need_all_of_it_in_memory(tmp_path):
    path = tmp_path / "rows.csv.zip"
    path.write_bytes(zipped(b"0," * 10**8))  # 200 MB in 200 kB
    import tracemalloc

    tracemalloc.start()
    with opened(str(path)) as file:
        assert len(file.read(1000)) == 1000
    assert tracemalloc.get_traced_memory()[1] < 2 * 10**7
    tracemalloc.stop()


def test_the_first_bytes_of_a_file_are_looked_at_and_read_again():
    for data in (b"a,b\n1,2\n", b"a,b\n" + b"1,2\n" * SNIFFED):
        head, file = with_head(io.BytesIO(data))
        assert head == data[:SNIFFED]
        assert file.read() == data
