"""One service for the monitor of a model: two that write one file would undo each other's updates.

The lock (flock) is on a file beside the states, one for each name of a model, so that services of other models may use
the same folder.  The system releases it when the process ends, however it ends.  Where there is no flock (Windows), an
open file cannot be removed, which is as good as a lock: what can be removed was left by a process that has ended.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import pathlib
import socket

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

LOG = logging.getLogger("hld.serve")
HELD = (errno.EWOULDBLOCK, errno.EACCES)
LONGEST_HOLDER = 200  # bytes


class StateLock:
    """Held from its making to `close`, or to the end of the process."""

    def __init__(self, folder: str | os.PathLike[str], name: str) -> None:
        path = pathlib.Path(folder) / f"{name}.lock"
        try:
            self._file: int | None = _opened(path) if fcntl is not None else _opened_anew(path)
        except _HeldError:
            raise ValueError(
                f"`state` {str(folder)!r} is used for the model {name!r} by another service"
                f"{_holder(path)}: stop that one first, or give this one a folder of its own"
            ) from None
        except OSError as error:
            raise ValueError(
                f"`state` {str(folder)!r} cannot be written ({error.strerror or error}), expected a "
                "folder for the states of the monitors: change its access, or name another one"
            ) from None
        with contextlib.suppress(
            OSError
        ):  # only for the message of a service that comes later; the disk may be full
            os.ftruncate(self._file, 0)
            os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}".encode())

    def close(self) -> None:
        """Let another service have it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class _HeldError(Exception):
    """Somebody else has the lock."""


def _opened(path: pathlib.Path) -> int:
    """The file, locked."""
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            os.close(opened)
            raise _HeldError from None
        LOG.warning(
            "%s is on a file system without locks (%s): make sure that no other service uses the folder",
            path,
            error.strerror,
        )
    return opened


def _opened_anew(path: pathlib.Path) -> int:
    """The file, made by this process where none of another one is open."""
    try:
        path.unlink(missing_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except (PermissionError, FileExistsError):
        if path.exists():
            raise _HeldError from None
        raise


def _holder(path: pathlib.Path) -> str:
    """Who has the lock, as far as the file says so."""
    with contextlib.suppress(OSError):
        text = path.read_bytes()[:LONGEST_HOLDER].decode("ascii", "replace")
        return f" ({text})" if text.isprintable() and text else ""
    return ""
