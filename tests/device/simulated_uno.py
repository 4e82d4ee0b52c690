"""A simulated Uno that a sketch runs on as on a real one: sensors, buttons, LED, EEPROM, serial line."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import tty
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sefr.device.board import WALL_LIMIT, BuildError, build_runner

RUNNER = Path(__file__).with_name("uno_runner.c")


@dataclass(frozen=True)
class Event:
    """What happens to the board, and when."""

    milliseconds: int
    what: str

    @staticmethod
    def analog(milliseconds: int, channel: int, code: int) -> Event:
        """Make ``analogRead`` give this code, 0 to 1023, from then on."""
        return Event(milliseconds, f"adc {channel} {code}")

    @staticmethod
    def pin(milliseconds: int, number: int, level: int) -> Event:
        """Press (0) or let go (1, as at the start) a button at pin 2 to 7."""
        return Event(milliseconds, f"pin {number} {level}")

    @staticmethod
    def send(milliseconds: int, text: str) -> Event:
        """Type a line into the serial line."""
        return Event(milliseconds, f"send {text}")


@dataclass(frozen=True)
class UnoRun:
    """What the sketch wrote to the serial line, and the LED: (milliseconds, level) at each change."""

    text: str
    led: tuple[tuple[int, int], ...]


def run_uno(
    image: str | os.PathLike[str],
    events: Iterable[Event] = (),
    seconds: float = 1.0,
    eeprom: str | os.PathLike[str] = "-",
) -> UnoRun:
    """Run a program for some seconds of the board's time."""
    with tempfile.NamedTemporaryFile("w", prefix="sefr-events-") as file:
        file.writelines(f"{event.milliseconds} {event.what}\n" for event in events)
        file.flush()
        command = [build_runner(RUNNER), str(image), str(eeprom), str(seconds), file.name]
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=WALL_LIMIT, check=False
        )
    report = done.stderr.decode(errors="replace")
    if done.returncode:
        raise BuildError(f"the program failed in simavr with code {done.returncode}: {report[-2000:]}")
    words = (line.split() for line in report.splitlines() if line.startswith("led "))
    led = tuple((int(time), int(level)) for _, time, level in words)
    return UnoRun(done.stdout.decode(errors="replace"), led)


@contextlib.contextmanager
def plugged_in(
    image: str | os.PathLike[str], events: Iterable[Event] = (), eeprom: str | os.PathLike[str] = "-"
) -> Iterator[Path]:
    """Run a program in real time behind a pseudo terminal, and give the path to open as a serial port."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    path = Path(os.ttyname(theirs))
    with tempfile.NamedTemporaryFile("w", prefix="sefr-events-") as file:
        file.writelines(f"{event.milliseconds} {event.what}\n" for event in events)
        file.flush()
        command = [build_runner(RUNNER), str(image), str(eeprom), "0", file.name]
        board = subprocess.Popen(command, stdin=ours, stdout=ours, stderr=subprocess.DEVNULL)
        try:
            yield path
        finally:
            board.terminate()
            board.wait()
            os.close(ours)
            os.close(theirs)
