"""Archives with right checksums and any contents: what the fuzzer writes, whether or not a writer ever would."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np

RAW = "@raw@"  # stands in a header for text that is no JSON value


def npy(array) -> bytes:
    """Bytes of a .npy file, version 1.0."""
    array = np.asarray(array)
    fortran = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    head = f"{{'descr': '{array.dtype.str}', 'fortran_order': {fortran}, 'shape': {array.shape}, }}"
    head = head.ljust(128 - 11 + (len(head) // 128) * 128) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + array.tobytes("A")


def pack(members: dict) -> bytes:
    """An uncompressed zip archive with right checksums."""
    parts, directory, place = [], [], 0
    for name, data in members.items():
        encoded = name.encode("utf-8", "replace")
        sizes = struct.pack(
            "<5H3L2H",
            20,
            0x800 * (not name.isascii()),
            0,
            0,
            33,
            zlib.crc32(data),
            len(data),
            len(data),
            len(encoded),
            0,
        )
        parts += [b"PK\x03\x04", sizes, encoded, data]
        rest = struct.pack("<3H2L", 0, 0, 0, 0o644 << 16, place)
        directory += [b"PK\x01\x02", struct.pack("<H", 0x314), sizes, rest, encoded]
        place += 30 + len(encoded) + len(data)
    listed = b"".join(directory)
    count = len(members)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(listed), place, 0)
    return b"".join(parts) + listed + end


def members_of(header: dict, arrays: dict, raw: str | None = None) -> dict:
    """Members of an archive; `raw` takes the place of RAW in the header."""
    text = json.dumps({"library": "fuzz", "arrays": sorted(arrays), **header})
    if raw is not None:
        text = text.replace(json.dumps(RAW), raw, 1)
    members = {f"{name}.npy": npy(array) for name, array in arrays.items()}
    return {"header.json": text.encode("utf-8", "surrogatepass"), **members}
