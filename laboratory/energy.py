"""Joules from a real counter, or an honest "not measured".

The counter is Linux' powercap tree (RAPL): one zone a processor package, in microjoules, which starts again
at zero past ``max_energy_range_uj``. As in the paper, the power of the idle machine is subtracted. Without a
counter there is no energy, only seconds; ``estimate`` turns CPU seconds into joules at a power that the
caller names, and marks them so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")

MEASURED = "measured"
ESTIMATED = "estimated"
NOT_MEASURED = "not measured"

# No package draws more, so reading once in half the time that this power needs to wrap the counter is enough.
_MOST_WATTS = 1000.0


@dataclass
class Energy:
    """What a piece of work cost. ``joules`` is None where ``kind`` is "not measured".

    Examples
    --------
    >>> from laboratory.energy import Energy
    >>> Energy(seconds=1.5, cpu_seconds=1.4).kind
    'not measured'
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    joules: float | None = None
    kind: str = NOT_MEASURED


@dataclass
class Zone:
    """One counter: a folder of the powercap tree."""

    path: Path
    name: str
    range_uj: int

    def read(self) -> int:
        """Return the microjoules counted so far, modulo ``range_uj``."""
        return int((self.path / "energy_uj").read_text())


@dataclass
class _Sum:
    """A running total over all zones that survives a counter's wrap-around if it is fed often enough."""

    zones: list[Zone]
    microjoules: int = 0
    _last: list[int] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._last = [zone.read() for zone in self.zones]

    def feed(self) -> None:
        with self._lock:
            for i, zone in enumerate(self.zones):
                now = zone.read()
                # The counter takes the values 0..range_uj, so one turn is range_uj + 1.
                self.microjoules += (now - self._last[i]) % (zone.range_uj + 1)
                self._last[i] = now


class Meter:
    """Measures energy where the machine can, and time everywhere.

    Parameters
    ----------
    root : Path
        The powercap tree.

    Attributes
    ----------
    zones : list of Zone
        The processor packages counted; empty where there is no counter.
    reason : str
        Why there is none, for people to read; empty where there is one.
    idle_watts : float
        Subtracted from every measurement. 0 until ``calibrate`` is called.

    Examples
    --------
    >>> from laboratory.energy import Meter
    >>> meter = Meter()
    >>> meter.kind in ("measured", "not measured")
    True
    """

    def __init__(self, root: Path = POWERCAP) -> None:
        self.idle_watts = 0.0
        self.zones, self.reason = _packages(root)

    @property
    def kind(self) -> str:
        """What ``measure`` gives: "measured" or "not measured"."""
        return MEASURED if self.zones else NOT_MEASURED

    def calibrate(self, seconds: float = 5.0) -> float:
        """Sleep, and take the power drawn meanwhile as the idle power, in watts (0 without a counter)."""
        self.idle_watts = 0.0
        if self.zones:
            with self.measure() as idle:
                time.sleep(seconds)
            assert idle.joules is not None  # noqa: S101 - there are zones
            self.idle_watts = idle.joules / idle.seconds
        return self.idle_watts

    @contextmanager
    def measure(self) -> Iterator[Energy]:
        """Measure the body of the ``with``; the Energy is complete when it has ended.

        Net joules are never below 0: a short piece of work can draw less than the noise of the idle power.
        """
        energy = Energy(kind=self.kind)
        total = _Sum(self.zones)
        stop = threading.Event()
        interval = min((zone.range_uj for zone in self.zones), default=0) / 1e6 / _MOST_WATTS / 2
        watcher = threading.Thread(target=_watch, args=(total, stop, interval), daemon=True)
        if self.zones:
            watcher.start()
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield energy
        finally:
            energy.seconds = time.perf_counter() - wall
            energy.cpu_seconds = time.process_time() - cpu
            if self.zones:
                stop.set()
                watcher.join()
                total.feed()
                gross = total.microjoules / 1e6
                energy.joules = max(0.0, gross - self.idle_watts * energy.seconds)


def estimate(energy: Energy, watts: float) -> Energy:
    """Return joules = CPU seconds x ``watts``, marked as estimated; a real measurement stays as it is.

    Examples
    --------
    >>> from laboratory.energy import Energy, estimate
    >>> estimate(Energy(seconds=2.0, cpu_seconds=1.5), watts=10).joules
    15.0
    """
    if energy.kind == MEASURED:
        return energy
    if not watts > 0:
        raise ValueError(f"watts must be above 0, not {watts}")
    return Energy(energy.seconds, energy.cpu_seconds, energy.cpu_seconds * watts, ESTIMATED)


def _watch(total: _Sum, stop: threading.Event, interval: float) -> None:
    while not stop.wait(interval):
        total.feed()


def _packages(root: Path) -> tuple[list[Zone], str]:
    """Return the zones to add up: packages only.

    Their parts (core, uncore: ``intel-rapl:0:1``) are inside them, the MMIO zones count the same packages a
    second time, and ``psys`` is the whole board, packages included.
    """
    zones = []
    for path in sorted(root.glob("intel-rapl:*")):
        if path.name.count(":") != 1 or not (path / "energy_uj").exists():
            continue
        name = (path / "name").read_text().strip()
        if not name.startswith("package"):
            continue
        zone = Zone(path, name, int((path / "max_energy_range_uj").read_text()))
        try:
            zone.read()
        except PermissionError:
            return [], f"{path / 'energy_uj'} may be read by root only"
        zones.append(zone)
    return zones, "" if zones else f"no energy counter (RAPL) under {root}"


__all__ = ["Energy", "Meter", "estimate"]
