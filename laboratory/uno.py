"""Tables 4 and 5: the device benchmark's times on a simulated Uno beside the published ones."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from laboratory import published

PHASES = {"train": "table4", "test": "table5"}
COLUMNS = ("phase", "records", "features", "milliseconds")


class UnoError(RuntimeError):
    """The device benchmark's CSV cannot be read; the message names the line."""


@dataclass(frozen=True)
class UnoTable:
    """One table: ``ours`` and ``published`` in milliseconds, rows by records, columns by features."""

    phase: str
    records: list[int]
    features: list[int]
    published: list[list[float]]
    ours: list[list[float | None]]

    @property
    def measured(self) -> bool:
        """Whether any cell has a number of ours."""
        return any(cell is not None for row in self.ours for cell in row)


def tables(path: Path | None) -> list[UnoTable]:
    """Return Tables 4 and 5; ``path`` is the device benchmark's CSV (columns ``COLUMNS``), or None.

    Of several ways to do the same job the fastest counts.
    """
    found = {} if path is None else _read(path)
    result = []
    for phase, name in PHASES.items():
        table = published.tables()[name]
        ours = [[found.get((phase, r, f)) for f in table["features"]] for r in table["records"]]
        result.append(UnoTable(phase, table["records"], table["features"], table["milliseconds"], ours))
    return result


def _read(path: Path) -> dict[tuple[str, int, int], float]:
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise UnoError(f"{path} cannot be read: {error.strerror}") from error
    reader = csv.DictReader(lines)
    lacking = set(COLUMNS) - set(reader.fieldnames or ())
    if lacking:
        raise UnoError(f"{path} lacks the column {sorted(lacking)[0]!r}")
    found: dict[tuple[str, int, int], float] = {}
    for number, row in enumerate(reader, start=2):
        try:
            phase, records, features, milliseconds = (row[name] for name in COLUMNS)
            place = phase, int(records), int(features)
            found[place] = min(float(milliseconds), found.get(place, math.inf))
        except (TypeError, ValueError) as error:
            raise UnoError(f"{path}, line {number}: {error}") from error
    return found
