"""Files that are written whole or not at all.

Whoever reads a file must see the old one or the new one, never half of one, whatever happens to the writer.  So the
contents go to a temporary file in the folder of the target, are forced to disk (fsync), and the temporary file is
renamed over the target, in one step.  A writer that is killed on the way leaves a file `.pcircuit-*.tmp` behind.

A file that is replaced keeps its mode; a new one follows the umask.  A link keeps pointing to its target, and the
target is replaced.
"""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file that replaces `path` when it is complete; a context manager.

    If anything fails, or the process is killed at any moment, `path` is the old file or the new one.
    """
    path = checked_path(path)
    if path.startswith(("/dev/", "/proc/")):  # where a file, others write to it, too
        raise ValueError(
            f"`path` {path!r} is an open stream or a device, which cannot be replaced as a whole, "
            "expected the name of a file"
        )
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"`path` is in the folder {folder!r}, which does not exist: create it first"
        )
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"`path` {target!r} is a folder or a device, expected the name of a file")
    temporary = os.path.join(folder, f".pcircuit-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if os.path.exists(target):
                shutil.copymode(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in (None, temporary):
            error.filename = target  # nobody knows the temporary name
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all; raises what `replace_file` raises."""
    with replace_file(path) as file:
        file.write(text.encode("utf-8"))


def checked_path(path: object, argument: str = "path") -> str:
    """`path` as a str."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str) or not name:
        raise TypeError(f"`{argument}` must be a non-empty str or os.PathLike, found {path!r}")
    if "\0" in name:
        raise ValueError(f"`{argument}` {name!r} holds a zero byte, expected the name of a file")
    return name
