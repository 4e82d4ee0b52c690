"""Ctrl-C and SIGTERM: the command says so and ends at once, also while it waits for data that do not come."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .._system.text import visible
from .outcome import kept

PATIENCE = 1.0  # seconds that the main thread has to end by itself
SIGNALS = (signal.SIGINT, signal.SIGTERM)
MOST_SAID = 2_000

_parting = "interrupted; nothing was written"


class Interrupted(BaseException):
    """The user or the system wants the command to end: not KeyboardInterrupt, which typer keeps to itself."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``Interrupted`` in the main thread on a signal; if that waits in C, end all the same."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = [signal.signal(number, _interrupt) for number in SIGNALS]
    old = signal.set_wakeup_fd(writer)
    watcher = threading.Thread(target=_watch, args=(reader,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(old)
        os.close(writer)
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


def part_with(message: str) -> None:
    """Set what is said when the command is interrupted."""
    global _parting
    _parting = message


def leave() -> NoReturn:
    """End an interrupted command; the exit code tells what became of the file."""
    done = kept()
    say(_parting if done is None else f"interrupted, but {done} was written")
    exit_now(130 if done is None else 0)


def exit_now(code: int) -> NoReturn:
    """End without waiting for threads that still read."""
    from .._system.atomic_file import discard_unfinished

    discard_unfinished()
    atexit._run_exitfuncs()
    os._exit(code)


def say(message: str) -> None:
    """Say what went wrong, in one line."""
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble(("sefr: ", "bold red"), visible(" ".join(message.splitlines()), MOST_SAID))
    try:
        Console(stderr=True, highlight=False, soft_wrap=True).print(line)
    except OSError:  # nobody listens: the exit code has to do
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise Interrupted


def _watch(reader: int) -> None:
    with os.fdopen(reader, "rb", buffering=0) as signals:
        while number := signals.read(1):
            if number[0] in SIGNALS:
                time.sleep(PATIENCE)
                leave()
