"""What a command was asked to write, and whether it is there: the exit code follows from that."""

from __future__ import annotations

import os

_promised: list[str] = []


def promise(path: str) -> None:
    """Say that the command is done when this file is written, whatever happens afterwards."""
    from .._system.atomic_file import forget_written

    forget_written(path)
    _promised.append(os.path.abspath(path))


def forget_promises() -> None:
    """Start anew, for a command that is run a second time in one process."""
    _promised.clear()


def kept() -> str | None:
    """Return the file that was promised, if it was written by this process and is in its place."""
    from .._system.atomic_file import was_written

    done = bool(_promised) and all(was_written(path) for path in _promised)
    return os.path.relpath(_promised[-1]) if done else None
