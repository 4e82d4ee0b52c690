"""A lock that keeps two processes from changing one file at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PATIENCE = 1.0  # seconds of waiting before the user is told why


@contextmanager
def locked(path: str | os.PathLike[str], waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep other processes that ask for the same lock from changing a file in the meantime.

    The lock is a file beside the one that it guards, ``.NAME.lock``, locked by the operating system, which
    lets go of it however the process ends. Its holder removes it before letting go; whoever waited for a
    lock file that is gone by then starts over. What is not a regular file, such as a device, is not locked.

    Parameters
    ----------
    path : path
        The file; it need not exist. A link is followed.
    waiting : callable
        Called once if another process holds the lock for more than a second.
    """
    target = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(target):
        yield
        return
    from filelock import FileLock, Timeout  # an extra: only who changes model files needs it

    folder, name = os.path.split(target)
    lock = FileLock(os.path.join(folder, f".{name}.lock"), mode=0o600)
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        waiting()
        lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes it on release
            os.unlink(lock.lock_file)
        lock.release()
