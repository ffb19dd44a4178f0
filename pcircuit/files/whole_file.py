"""Files that are written whole or not at all.

Whoever reads a file must see the old one or the new one, never half of one, whatever happens to the writer.

1. The contents go to a file without a name, in the folder of the target (O_TMPFILE of Linux; elsewhere, and on file
   systems that have no such files, to one with a temporary name).
2. They are forced to disk (fsync).
3. The file gets a temporary name and is renamed over the target, in one step.
4. The folder is forced to disk.  When the writer returns, the new file survives a loss of power.

A writer killed before step 3 leaves nothing: the system frees a file without a name.  One killed between naming and
renaming, some microseconds later, leaves a file `.pcircuit-*.tmp`, and so does one killed while writing on systems
without unnamed files.  The next writer in that folder removes it.  A lock (flock), which the system releases when a
process ends, however it ends, distinguishes an abandoned file from one that is being written.

A file that is replaced keeps its mode, its access list, and its owner and group as far as the process may set them;
a new one follows the umask.  A link keeps pointing to its target, and the target is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be removed there, which is as good as a lock
    fcntl = None  # type: ignore[assignment]

OPEN_FILES = re.compile(r"/proc/\d+(/task/\d+)?/fd|/dev/fd")  # folders of what a process has open
FULL = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))
LEFTOVER = re.compile(r"\.pcircuit-[0-9a-f]{16}\.tmp")
ACCESS_LIST = "system.posix_acl_access"


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file that replaces `path` when it is complete; a context manager.

    Contents and folder are forced to disk before the block is left, which takes some milliseconds.  If the process is
    killed at any moment, `path` is the old file or the new one; what a killed writer left is removed by the next.
    """
    target = _checked_target(path)
    folder = os.path.dirname(target)
    _remove_leftovers(folder)
    before = os.stat(target) if os.path.exists(target) else None
    try:
        temporary, file = _opened(folder, private=before is not None)
    except OSError as error:
        error.filename = target  # nobody knows the temporary name
        raise
    try:
        yield file
        file.flush()
        if before is not None:
            _keep_access(file.fileno(), target, before)
        os.fsync(file.fileno())
        _name(file.fileno(), temporary)
        if os.name == "nt":  # an open file cannot be renamed there
            file.close()
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):  # what is still to be written may not fit either
            file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            error.filename = target
        if (
            isinstance(error, OSError) and error.filename == temporary
        ):  # and the target is its second name
            error.filename = target
            del error.filename2
        raise
    file.close()
    _force_folder(folder)


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


def _checked_target(path: str | os.PathLike[str]) -> str:
    """The real path of the file to write, links resolved; raises unless there can be a file."""
    path = checked_path(path)
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError(
                f"`path` {path!r} is a link that leads back to itself, expected the name of a "
                "file: remove the link"
            ) from None
        mode = (
            stat.S_IFREG
        )  # what is wrong with the folder is said below, all else by the system on opening
    if _is_stream(path):
        raise ValueError(
            f"`path` {path!r} is an open stream, which cannot be replaced as a whole, expected the name "
            "of a file"
        )
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"`path` is in the folder {folder!r}, which does not exist: create it first"
        )
    if not stat.S_ISREG(mode) or os.path.basename(path) in (
        "",
        os.curdir,
        os.pardir,
    ):  # of a folder to come, too
        raise ValueError(f"`path` {target!r} is a folder or a device, expected the name of a file")
    return target


def _is_stream(path: str) -> bool:
    """Whether links lead from a path to what a process has open, as from /dev/stdout to /proc/self/fd/1.

    Where that is a file, replacing it would take from it what others have written and will write.
    """
    for _ in range(40):  # links that the system follows
        folder = os.path.realpath(os.path.dirname(path))
        if OPEN_FILES.fullmatch(folder):
            return True
        path = os.path.join(folder, os.path.basename(path))
        if not os.path.islink(path):
            return False
        path = os.path.join(folder, os.readlink(path))
    return False


def _remove_leftovers(folder: str) -> None:
    """Remove the temporary files of writers that were killed; those of living writers are locked."""
    try:
        names = [name for name in os.listdir(folder) if LEFTOVER.fullmatch(name)]
    except OSError:  # the folder may be written but not listed
        return
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(
            OSError
        ):  # of another user, or just removed or renamed by its writer
            opened = os.open(
                path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
            )
            try:
                if fcntl is not None:
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(opened)


def _opened(folder: str, *, private: bool) -> tuple[str, BinaryIO]:
    """A temporary name, not yet used if the system has files without names, and the empty file, locked.

    A `private` file can be opened by nobody else until `_keep_access`.
    """
    mode = 0o600 if private else 0o666
    temporary = os.path.join(folder, f".pcircuit-{secrets.token_hex(8)}.tmp")
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # not on this file system
            opened = os.open(folder, os.O_TMPFILE | os.O_RDWR, mode)
            _lock(opened)
            return temporary, os.fdopen(opened, "w+b")
    opened = os.open(
        temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), mode
    )
    _lock(opened)
    if not os.path.exists(
        temporary
    ):  # between the two lines another writer took it for a left file
        os.close(opened)
        return _opened(folder, private=private)
    return temporary, os.fdopen(opened, "w+b")


def _lock(opened: int) -> None:
    """Lock a file until it is closed, where there are locks; nobody else can hold this one but for a moment."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)


def _name(opened: int, temporary: str) -> None:
    """Give a file without a name its temporary one."""
    if os.path.exists(temporary):
        return
    folder = os.open(os.path.dirname(temporary), os.O_RDONLY | os.O_DIRECTORY)
    try:  # with a folder given, os.link follows the link in /proc, else not
        os.link(f"/proc/self/fd/{opened}", os.path.basename(temporary), dst_dir_fd=folder)
    finally:
        os.close(folder)


def _keep_access(opened: int, target: str, before: os.stat_result) -> None:
    """Owner, group, mode and access list of the file that is about to be replaced."""
    if not hasattr(os, "fchown"):
        return
    mode = stat.S_IMODE(before.st_mode)
    try:
        os.fchown(opened, before.st_uid, before.st_gid)
    except PermissionError:
        mode &= 0o777
        try:
            os.fchown(opened, -1, before.st_gid)
        except PermissionError:  # another group than before gets no more than everybody
            os.fchmod(opened, mode & (0o707 | (mode & 0o007) << 3))
            return
    os.fchmod(opened, mode)
    if hasattr(os, "getxattr"):
        with contextlib.suppress(OSError):  # it has none, or there are none here
            os.setxattr(opened, ACCESS_LIST, os.getxattr(target, ACCESS_LIST))


def _force_folder(folder: str) -> None:
    """Force the names in a folder to disk, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        with contextlib.suppress(OSError):
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)
