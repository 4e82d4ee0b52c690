"""A board on a serial port with a sketch of ``export``: its sensors, what it is taught, its state."""

from __future__ import annotations

import binascii
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .._system.installation import install_line
from .._system.types import Fields, Label

BAUD = 115200
RESET_LIMIT = 10.0  # seconds; the Uno restarts when its port is opened, and its boot loader waits for two
ANSWER_LIMIT = 5.0
TRIES = 3
MOST_FEATURES, MOST_CLASSES = 65_535, 255  # an answer in 5 s has 57,600 bytes at most, two per value


class BoardError(ValueError):
    """The board does not answer, or answers that it cannot do what it was told."""


STATUS = {
    1: "there is no such class",
    2: "two classes need records first",
    5: "the state has another shape",
    7: "the state is damaged",
    8: "the EEPROM is too small for two states",
    9: "the EEPROM does not keep what is written",
    10: "the state belongs to another model",
    100: "the line was damaged on its way",
}
# Of saving: what is in the EEPROM is that of another model.
FOREIGN = {"5", "6", "10"}


def checked(line: str) -> str:
    """Return a line with the checksum that a sketch compares: CRC-16 (XMODEM) of all before the star."""
    return f"{line}*{binascii.crc_hqx(line.encode('ascii'), 0):04X}"


@dataclass(frozen=True)
class Sketch:
    """What an exported sketch says of itself (model.json, base.state)."""

    name: str
    features: int
    classes: tuple[Label, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    feature_names: tuple[str, ...] | None
    sum_bits: int
    id: int
    base: bytes

    @staticmethod
    def read(folder: str | Path) -> Sketch:
        """Read the folder of a sketch that was exported to learn."""
        try:
            about = json.loads((Path(folder) / "model.json").read_text())
            base = (Path(folder) / "base.state").read_bytes()
            names = about["feature_names"]
            return Sketch(
                about["name"],
                about["features"],
                tuple(about["classes"]),
                tuple(about["low"]),
                tuple(about["high"]),
                None if names is None else tuple(names),
                about["sum_bits"],
                about["id"],
                base,
            )
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise BoardError(
                f"{folder} is not a sketch that learns ({error}): export one with --to arduino --learn"
            ) from None

    @property
    def meaning(self) -> Fields:
        """What ``read_state`` must know of the board's bytes."""
        return {
            "classes": self.classes,
            "low": self.low,
            "high": self.high,
            "feature_names": self.feature_names,
        }


@dataclass(frozen=True)
class Identity:
    """What a board says it is."""

    id: int
    features: int
    classes: int
    input: str


class SerialBoard:
    """A conversation with a board: a command, and its answer.

    Opening waits until the sketch answers, since an Uno restarts when its port is opened.
    """

    def __init__(self, port: str, reset_limit: float = RESET_LIMIT) -> None:
        try:
            import serial
        except ImportError:
            raise ImportError(f"a serial port needs pyserial: {install_line('board')}") from None
        self._lost: tuple[type[Exception], ...] = (serial.SerialException, OSError)
        self.port = port
        try:
            self._line = serial.Serial(port, BAUD, timeout=0.25, write_timeout=ANSWER_LIMIT)
        except self._lost as error:
            raise BoardError(f"{port}: {error}") from None
        try:
            self.identity = self._connect(reset_limit)
        except BaseException:
            self._line.close()
            raise

    def __enter__(self) -> SerialBoard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the board answer by itself again, and close the port."""
        try:
            self._line.write(b"a\n")
        except self._lost:
            pass  # it was unplugged: there is nobody to tell
        finally:
            self._line.close()

    def values(self) -> list[float]:
        """Return what the sensors show."""
        text = self._ask("v", "values ")
        try:
            row = [float(word) for word in text.split(",")]
        except ValueError:
            raise BoardError(f"{self.port}: these are no values: {text[:80]!r}") from None
        if len(row) != self.identity.features:
            raise BoardError(f"{self.port}: {len(row)} values of {self.identity.features} arrived")
        return row

    def teach(self, label: int, row: Sequence[float]) -> None:
        """Let the board learn a record; ``solve`` when the answers should follow."""
        if len(row) != self.identity.features:
            raise BoardError(f"the board takes {self.identity.features} values, not {len(row)}")
        numbers = ",".join(f"{value:.9g}" for value in row)
        self._do(checked(f"t{label} {numbers}"), f"learning {numbers[:40]}")

    def solve(self) -> None:
        """Make the answers follow what was learned."""
        self._do("s", "solving")

    def save(self) -> None:
        """Keep what was learned over a restart."""
        self._do("w", "saving", FOREIGN)

    def discard(self) -> None:
        """Forget what is in the EEPROM, of whatever model."""
        self._do("d", "discarding")

    def state(self) -> bytes:
        """Return all that the board learned, for ``read_state``."""
        text = self._ask("x", "state ")
        if not re.fullmatch(r"([0-9A-F]{2})+", text):
            raise BoardError(f"{self.port}: the state did not arrive whole; try again")
        return bytes.fromhex(text)

    def push(self, state: bytes) -> None:
        """Give the board another state of its model, in place of its own."""
        self._do(f"p{state.hex()}", "taking the state")

    def _connect(self, limit: float) -> Identity:
        end = time.monotonic() + limit
        while time.monotonic() < end:
            self._send("q")
            self._send("?")
            line = self._read("sefr ", 0.75)
            found = line and re.fullmatch(r"([0-9A-F]{1,8}) ([0-9]{1,20}) ([0-9]{1,20}) (\w+)", line)
            if found:
                time.sleep(0.1)
                self._line.reset_input_buffer()  # answers to earlier tries
                features, classes = int(found[2]), int(found[3])
                if features > MOST_FEATURES or classes > MOST_CLASSES:
                    raise BoardError(
                        f"{self.port}: it claims {features:,} features and {classes:,} classes, but a board "
                        f"has at most {MOST_FEATURES:,} and {MOST_CLASSES}"
                    )
                return Identity(int(found[1], 16), features, classes, found[4])
        raise BoardError(
            f"{self.port}: no answer within {limit:.0f} s; is a sketch of `sefr export --to arduino` "
            "on the board?"
        )

    def _send(self, text: str) -> None:
        try:
            self._line.write(f"{text}\n".encode("ascii"))
        except self._lost as error:
            raise BoardError(f"{self.port}: the board is gone ({error})") from None

    def _read(self, start: str, limit: float = ANSWER_LIMIT) -> str | None:
        """Return the rest of the next line that begins so."""
        end = time.monotonic() + limit
        text: bytes = b""
        while time.monotonic() < end:
            try:
                text += self._line.read_until(b"\n")
            except self._lost as error:
                raise BoardError(f"{self.port}: the board is gone ({error})") from None
            if not text.endswith(b"\n"):
                continue
            line: str = text.decode("ascii", "replace").strip()
            text = b""
            if line.startswith(start):
                return line[len(start) :]
        return None

    def _ask(self, command: str, start: str) -> str:
        for _ in range(TRIES):  # asking twice changes nothing
            self._send(command)
            answer = self._read(start)
            if answer is not None:
                return answer
        raise BoardError(f"{self.port}: no answer to {command!r}")

    def _do(self, command: str, what: str, foreign: frozenset[str] | set[str] = frozenset()) -> None:
        self._send(command)
        answer = self._read("status ")
        if answer is None:
            raise BoardError(f"{self.port}: no answer while {what}; it may have been done")
        if answer in foreign:
            raise BoardError(
                f"{self.port}: {what} failed: the EEPROM holds what another model learned; d in a serial "
                "monitor discards it"
            )
        if answer != "0":
            reason = STATUS.get(int(answer) if answer.isdecimal() else -1, f"status {answer[:20]!r}")
            raise BoardError(f"{self.port}: {what} failed: {reason}")
