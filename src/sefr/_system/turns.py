"""A lock per object: threads that would change it take turns."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner")
P = ParamSpec("P")
R = TypeVar("R")

# Beside the objects, not in them: copies, pickles and clones have no lock to lose, and each gets its own.
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_guard = threading.Lock()


def lock_of(owner: object) -> threading.RLock:
    """Return the lock of an object, the same for as long as it lives; a thread may take it again."""
    with _guard:
        lock = _locks.get(owner)
        if lock is None:
            lock = _locks[owner] = threading.RLock()
        return lock


def in_turn(verb: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """Return a method that waits until no other thread is in such a method of the same object."""

    @functools.wraps(verb)
    def waiting(owner: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with lock_of(owner):
            return verb(owner, *args, **kwargs)

    return waiting


def _forget_locks() -> None:
    """In a forked child: whoever held a lock is not there to let go of it."""
    global _guard
    _guard = threading.Lock()
    _locks.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_forget_locks)
