"""The results file: one CSV row per measurement, written at once, so that a run can go on where it ended.

A row is on disk before the next measurement begins. A row cut short by a crash is dropped on opening.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

WHOLE = -1  # the fold of a row that covers all folds


class JournalError(RuntimeError):
    """The results file is not one of ours, or is damaged; the message names the line."""


@dataclass(frozen=True)
class Key:
    """What was measured. ``variant`` tells apart what the experiment varies, such as ``records=1000``."""

    experiment: str
    dataset: str
    method: str
    variant: str
    folds: int
    seed: int
    fold: int


@dataclass(frozen=True)
class Row(Key):
    """One measurement. Percent for accuracy and f1; seconds and joules of one fit and one prediction."""

    train_records: int
    test_records: int
    features: int
    accuracy: float
    f1: float
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    cpu_seconds: float | None = None
    joules: float | None = None
    energy: str = ""
    loops: int = 1
    note: str = ""

    @property
    def key(self) -> Key:
        """Return what was measured, without the result."""
        return Key(*astuple(self)[: len(fields(Key))])

    @property
    def seconds(self) -> float | None:
        """Return the run time: training and prediction."""
        if self.fit_seconds is None or self.predict_seconds is None:
            return None
        return self.fit_seconds + self.predict_seconds


_NAMES = [field.name for field in fields(Row)]
_TYPES = {field.name: str(field.type) for field in fields(Row)}


class Journal:
    """The rows of a run, in memory and on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[Key, Row] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.stat().st_size == 0:
            self._append(_line(_NAMES))
        else:
            self._read()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __contains__(self, key: Key) -> bool:
        return key in self._rows

    def add(self, row: Row) -> None:
        """Keep a row; it is on disk when this returns."""
        self._append(_line([_text(value) for value in asdict(row).values()]))
        self._rows[row.key] = row

    def _append(self, line: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)
        lines = content[:whole].decode().splitlines()
        if not lines or next(csv.reader([lines[0]])) != _NAMES:
            raise JournalError(f"{self.path} is not a results file of this version; use another --output")
        for number, cells in enumerate(csv.reader(lines[1:]), start=2):
            try:
                row = Row(**{name: _value(name, text) for name, text in zip(_NAMES, cells, strict=True)})
            except ValueError as error:
                raise JournalError(f"{self.path}, line {number}: {error}") from error
            self._rows[row.key] = row


def _line(cells: list[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue().encode()


def _text(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _value(name: str, text: str) -> Any:
    kind = _TYPES[name]
    if kind == "str":
        return text
    if kind == "int":
        return int(text)
    return None if text == "" and "None" in kind else float(text)
