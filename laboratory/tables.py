"""From rows to the cells of the report: ours, published, their difference, and ratios to SEFR."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from laboratory import published
from laboratory.energy import Energy, estimate
from laboratory.journal import Row
from laboratory.methods import METHODS

# Points of accuracy or F1 up to which ours counts as the paper's.
CLOSE = 1.5


@dataclass(frozen=True)
class Cell:
    """One number of a table. ``folds`` of ``of`` were run; a cell with fewer is not compared."""

    ours: float | None = None
    published: float | None = None
    ours_ratio: float | None = None
    published_ratio: float | None = None
    folds: int = 0
    of: int = 0
    seeds: int = 0
    kind: str = ""

    @property
    def complete(self) -> bool:
        """Whether all folds were run."""
        return self.folds == self.of > 0

    @property
    def difference(self) -> float | None:
        """Ours minus published, or None where one of them is missing or ours is of too few folds."""
        if self.ours is None or self.published is None or not self.complete:
            return None
        return self.ours - self.published

    @property
    def mark(self) -> str:
        """How ours stands to the published number: close, above, below, or none."""
        gap = self.difference
        if gap is None:
            return "none"
        return "close" if abs(gap) <= CLOSE else "above" if gap > 0 else "below"


def signed(value: float) -> str:
    """Return a difference with its sign, a true minus; what rounds to 0 has none."""
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text in ("+0.00", "−0.00") else text


def fold_cells(
    rows: Iterable[Row], folds: int, watts: float | None = None
) -> dict[tuple[str, str], dict[str, Cell]]:
    """Return {(dataset, method): {quantity: Cell}} for accuracy, f1, seconds and joules.

    Seconds are CPU seconds: with one thread, the run time on a core of its own. Energy that was not measured
    is estimated where ``watts`` is given.
    """
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row.experiment == "folds" and row.folds == folds:
            groups[row.dataset, row.method].append(row)
    cells = {key: _cells(*key, group, watts) for key, group in groups.items()}
    for (dataset, _), quantities in cells.items():
        sefr = cells.get((dataset, "sefr"))
        quantities["seconds"] = replace(
            quantities["seconds"],
            ours_ratio=_ratio(quantities["seconds"].ours, sefr["seconds"].ours if sefr else None),
            published_ratio=_ratio(
                quantities["seconds"].published, published.number("seconds", dataset, "sefr")
            ),
        )
    return cells


def busy(rows: Iterable[Row]) -> float:
    """Return how many seconds of the clock a CPU second took: 1 on a machine that did nothing else."""
    timed = [(row.seconds, row.cpu_seconds) for row in rows if row.seconds and row.cpu_seconds]
    return sum(wall for wall, _ in timed) / sum(cpu for _, cpu in timed) if timed else 1.0


def _cells(dataset: str, method: str, rows: list[Row], watts: float | None) -> dict[str, Cell]:
    of = rows[0].folds
    seeds = len({row.seed for row in rows})
    folds = len(rows) // seeds
    paper = METHODS[method].paper

    def cell(quantity: str, value: float | None, kind: str = "") -> Cell:
        beside = published.number(quantity, dataset, paper)
        return Cell(value, beside, folds=folds, of=of, seeds=seeds, kind=kind)

    # A run time is of all folds; where fewer were run it is extrapolated, and the cell's ``folds`` says so.
    energies = [_energy(row, watts) for row in rows]
    return {
        "accuracy": cell("accuracy", statistics.fmean(row.accuracy for row in rows)),
        "f1": cell("f1", statistics.fmean(row.f1 for row in rows)),
        "seconds": cell("seconds", _mean_times([row.cpu_seconds for row in rows], of)),
        "joules": cell("joules", _mean_times([energy.joules for energy in energies], of), energies[0].kind),
    }


def _energy(row: Row, watts: float | None) -> Energy:
    energy = Energy(row.seconds or 0.0, row.cpu_seconds or 0.0, row.joules, row.energy)
    return energy if watts is None else estimate(energy, watts)


def _mean_times(values: list[float | None], times: int) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) * times if known else None


def _ratio(value: float | None, sefr: float | None) -> float | None:
    return None if value is None or not sefr else value / sefr


@dataclass(frozen=True)
class Spread:
    """Mean, lowest and highest over seeds."""

    mean: float
    low: float
    high: float
    seeds: int


def protocol_spreads(rows: Iterable[Row], folds: int) -> dict[tuple[str, str], dict[str, Spread]]:
    """Return {(dataset, variant): {accuracy, f1: Spread}} of the protocol study, NaN left out."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row.experiment == "protocol" and row.folds == folds and not math.isnan(row.accuracy):
            groups[row.dataset, row.variant].append(row)
    return {
        key: {"accuracy": _spread([r.accuracy for r in group]), "f1": _spread([r.f1 for r in group])}
        for key, group in groups.items()
    }


def _spread(values: list[float]) -> Spread:
    return Spread(statistics.fmean(values), min(values), max(values), len(values))


def byte_cells(rows: Iterable[Row], folds: int) -> dict[str, dict[str, Row]]:
    """Return {dataset: {variant: Row}} of the byte claim."""
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        if row.experiment == "bytes" and row.folds == folds:
            found[row.dataset][row.variant] = row
    return dict(found)


def ranks(cells: dict[tuple[str, str], dict[str, Cell]], dataset: str) -> list[tuple[str, int, int]]:
    """Return (method, published rank, our rank) by accuracy, best first, over the paper's eight methods.

    Only methods whose cell is complete take part, in both orders.
    """
    have = {
        method: quantities["accuracy"]
        for (name, method), quantities in cells.items()
        if name == dataset
        and METHODS[method].paper == method
        and quantities["accuracy"].difference is not None
    }
    theirs = sorted(have, key=lambda method: -(have[method].published or 0))
    mine = sorted(have, key=lambda method: -(have[method].ours or 0))
    return [(method, theirs.index(method) + 1, mine.index(method) + 1) for method in mine]
