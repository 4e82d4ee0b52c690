"""Standard input, output and error, also where whoever started the command has closed them."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, NoReturn

NAMES = ("standard input", "standard output", "standard error")


class OutputError(Exception):
    """Standard output takes no more: not an OSError, which typer would keep to itself."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.is_broken_pipe = error.errno == errno.EPIPE


class ClosedStream(io.TextIOBase):
    """Stands in for a standard stream that is closed: an error where it is used, and only there."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def buffer(self) -> NoReturn:
        """Refuse: there is nothing to read from or to write to."""
        raise OSError(errno.EBADF, "is closed", self.name)

    def write(self, text: str) -> NoReturn:
        """Refuse."""
        raise OSError(errno.EBADF, "is closed", self.name)

    def flush(self) -> None:
        """Do nothing."""


def open_standard_streams() -> None:
    """Make sure that descriptors 0, 1 and 2 are taken, so that no file of ours gets one of them."""
    for number, name in enumerate(NAMES):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            stands_in: Any = open(os.devnull, "w") if number == 2 else ClosedStream(name)  # noqa: SIM115
            setattr(sys, ("stdin", "stdout", "stderr")[number], stands_in)


def abandon_output() -> None:
    """Throw away what is still in the buffer of standard output, which Python would write at its end."""
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
