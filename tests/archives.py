"""Archives taken apart and put together again, with right checksums whatever they hold."""

import io
import re
import struct
import zipfile

import numpy as np
import pytest
import zoo

from pcircuit import load, save


def members_of(path):
    """Name -> bytes of the members of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def pack(path, members, *, compression=zipfile.ZIP_STORED):
    """A zip archive with right checksums, whatever its members hold."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def npy(array, **options):
    """Bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def saved(path, circuit=None):
    """Members of a saved circuit, to be changed and packed again."""
    save(zoo.irregular_csr() if circuit is None else circuit, path)
    return members_of(path)


def refused(path, message):
    """The file is refused with its name and this message, in one line."""
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load(path)
    assert str(caught.value).startswith(f"cannot read {str(path)!r}: ")
    assert "\n" not in str(caught.value)


def raw_npy(header, data=b"", *, version=b"\x01\x00"):
    """Bytes with the outside of a .npy file and any header."""
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + data


def outcome(path, data):
    """What `load` makes of these bytes: a circuit, or None if it refuses them with a ValueError."""
    path.write_bytes(data)
    try:
        return load(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith(f"cannot read {str(path)!r}: ")
    assert "\n" not in message
    return None
