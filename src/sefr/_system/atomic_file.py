"""A file that is written whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

# What is being written: the temporary file, the file whose place it will take, its device and inode number.
_unfinished: dict[str, tuple[str, tuple[int, int]]] = {}
_written: set[str] = set()
NOWHERE = (-1, -1)
EXCHANGE = 2  # RENAME_EXCHANGE of Linux
STREAM = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]+)")


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` when the block ends without an error.

    Until then the old file, if any, stays as it is; after an error the new one is gone. Killed at any moment,
    the process leaves the old or the new file behind, whole. Mode and owner of an old file are kept (the
    owner where the process may give files away), a new one follows the umask, and a link is followed. What
    is not a regular file, such as a device, a pipe or ``/dev/stdout``, is written to directly.
    """
    stream = open_stream(path)
    old = None if stream is not None else _status(path)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if stream is not None or (old is not None and not stat.S_ISREG(old.st_mode)):
        with open(path, "wb") if stream is None else os.fdopen(os.dup(stream), "wb") as device:
            yield device
        _written.add(os.path.realpath(path))
        return
    target = os.path.realpath(path)
    temporary = _name_beside(target)
    _unfinished[temporary] = target, NOWHERE  # before it is there: a signal may come in between
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600)
        created = os.fstat(descriptor)
        _unfinished[temporary] = target, (created.st_dev, created.st_ino)
        with os.fdopen(descriptor, "wb") as file:
            if old is not None:
                _be_like(file.fileno(), old)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        _settle(temporary)
    _sync_folder(Path(target).parent)


def replace_folder(fresh: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Put a folder in the place of another, if there is one; the old one is then where the fresh one was.

    Linux exchanges both in one step. Elsewhere there is a moment without either; after an error the old one
    is back.
    """
    here, there = os.path.abspath(fresh), os.path.realpath(path)
    found = os.stat(here)
    _unfinished[here] = there, (found.st_dev, found.st_ino)
    try:
        if not os.path.exists(there):
            os.replace(here, there)
        elif not _exchanged(here, there):
            aside = f"{here}.old"
            os.replace(there, aside)
            try:
                os.replace(here, there)
            except BaseException:
                os.replace(aside, there)
                raise
            os.replace(aside, here)
    finally:
        _settle(here)


def _exchanged(one: str, other: str) -> bool:
    """Exchange two paths in one step; False where the system cannot."""
    if sys.platform != "linux":
        return False
    function = getattr(ctypes.CDLL(None), "renameat2", None)
    here = -100  # AT_FDCWD
    return function is not None and not function(here, os.fsencode(one), here, os.fsencode(other), EXCHANGE)


def open_stream(path: str | os.PathLike[str]) -> int | None:
    """Return the descriptor that a path such as /dev/stdout means: what this process has open already."""
    found = STREAM.fullmatch(os.fspath(path))
    if found is None:
        return None
    return {"stdout": 1, "stderr": 2}.get(found[1]) or int(found[2])


def forget_written(path: str | os.PathLike[str]) -> None:
    """Let ``was_written`` speak only of what is written from now on."""
    _written.discard(os.path.realpath(path))


def was_written(path: str | os.PathLike[str]) -> bool:
    """Say whether this process has written a file, whole, and it is in its place.

    The file itself is asked, so that the answer is right also in the moment after the renaming.
    """
    for temporary in list(_unfinished):
        _note_if_in_place(temporary)
    return os.path.realpath(path) in _written


def discard_unfinished() -> None:
    """Remove what is being written, for a process that ends without unwinding."""
    for temporary in list(_unfinished):
        with suppress(OSError):
            os.unlink(temporary)


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return what is known of an old file; a loop of links is an error."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _name_beside(target: str) -> str:
    """Return a name for a file beside another that no other process can have thought of."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}.part")


def _be_like(descriptor: int, old: os.stat_result) -> None:
    """Give a new file the owner, as far as that is allowed, and the mode of an old one."""
    if hasattr(os, "fchown"):
        with suppress(PermissionError):
            os.fchown(descriptor, -1, old.st_gid)
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, -1)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _note_if_in_place(temporary: str) -> None:
    target, identity = _unfinished[temporary]
    with suppress(OSError):
        found = os.stat(target)
        if (found.st_dev, found.st_ino) == identity:
            _written.add(target)


def _settle(temporary: str) -> None:
    """Note whether a file came into its place, and that it is no longer being written."""
    _note_if_in_place(temporary)
    _unfinished.pop(temporary, None)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut; a file system that cannot do so is no error."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
