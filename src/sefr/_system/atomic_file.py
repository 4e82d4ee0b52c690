"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_unfinished: set[str] = set()


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` when the block ends without an error.

    Until then the old file, if any, stays as it is; after an error the new one is gone. Killed at any moment,
    the process leaves the old or the new file behind, whole. The mode of an old file is kept, and a link is
    followed. What is not a regular file, such as a device or a pipe, is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as device:
            yield device
        return
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    _unfinished.add(temporary)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), _mode(target))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        _unfinished.discard(temporary)
    _sync_folder(target.parent)


def discard_unfinished() -> None:
    """Remove what is being written, for a process that ends without unwinding."""
    for temporary in list(_unfinished):
        with suppress(OSError):
            os.unlink(temporary)


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut; a file system that cannot do so is no error."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
