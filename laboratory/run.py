"""Carry out a run: plan, measure what is not yet in the results file, and write the report."""

from __future__ import annotations

import json
import math
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from laboratory import datasets as datasets
from laboratory import gisette_shape
from laboratory.energy import Meter
from laboratory.journal import Journal, Key
from laboratory.machine import fingerprint
from laboratory.measurement import one_core
from laboratory.methods import METHODS
from laboratory.settings import Settings
from laboratory.tasks import Bench, plan
from sefr._system.atomic_file import atomic_file
from sefr._system.types import Fields

# After this long a quick run begins no further measurement, so that it ends within two minutes everywhere.
QUICK_SECONDS = 80.0

RESULTS = "results.csv"
CIRCUMSTANCES = "run.json"


class RunError(RuntimeError):
    """The run cannot begin; the message says why and what to do. Nothing was measured."""


@dataclass(frozen=True)
class Outcome:
    """What a run left behind, all that the report is made from."""

    settings: Settings
    journal: Journal
    at_hand: tuple[str, ...]
    missing: dict[str, str]
    not_installed: tuple[str, ...]
    left_out: int
    circumstances: Fields


Progress = Callable[[int, int, Key], None]


def measure(settings: Settings, progress: Progress, *, fresh: bool = False) -> Outcome:
    """Measure everything asked for that the results file does not have yet.

    ``progress`` is called before every measurement with its number, how many there are, and its key. An
    interrupt loses the measurement under way and nothing else.
    """
    started = time.monotonic()
    if fresh and settings.output.exists():
        _clear(settings.output)
    at_hand, missing = find(settings)
    meter = Meter()
    circumstances = _circumstances(settings, meter)
    journal = Journal(settings.output / RESULTS)
    keys = plan(settings, at_hand)
    todo = [key for key in keys if key not in journal]
    deadline = started + QUICK_SECONDS if settings.quick else math.inf
    done = 0
    if todo:
        meter.idle_watts = float(circumstances["idle_watts"])
        bench = Bench(meter)
        with one_core(), warnings.catch_warnings():
            # A class that no fold predicts is a result here, not news.
            warnings.simplefilter("ignore")
            for key in todo:
                if time.monotonic() > deadline:
                    break
                progress(len(keys) - len(todo) + done, len(keys), key)
                if not (key.experiment == "scalability" and gisette_shape.too_slow(key, journal)):
                    journal.add(bench.run(key))
                done += 1
    absent = tuple(name for name in settings.methods if not METHODS[name].installed)
    return Outcome(settings, journal, at_hand, missing, absent, len(todo) - done, circumstances)


def find(settings: Settings) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the datasets at hand, downloaded where asked for, and why the others are missing."""
    at_hand, missing = [], {}
    for name in settings.datasets:
        try:
            if settings.download or datasets.at_hand(name):
                datasets.load(name, download=settings.download)
                at_hand.append(name)
            else:
                missing[name] = "not at hand; --download fetches it"
        except datasets.DatasetError as error:
            missing[name] = str(error)
    return tuple(at_hand), missing


def write_text(path: Path, text: str) -> None:
    """Write a file of the run, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        file.write(text.encode())


def _circumstances(settings: Settings, meter: Meter) -> Fields:
    """Return machine, versions and energy counter; those of the results file where there is one already."""
    path = settings.output / CIRCUMSTANCES
    now = fingerprint()
    if path.exists():
        try:
            then: Fields = json.loads(path.read_text())
        except ValueError as error:
            raise RunError(f"{path} is damaged ({error}); use --fresh or another --output") from error
        for kind, content in now.items():
            if then.get(kind) != content:
                changes = _difference(then.get(kind, {}), content)
                raise RunError(
                    f"{settings.output} holds results of another {kind}: {changes}. "
                    "Use --fresh to begin again, or another --output."
                )
        return then
    circumstances: Fields = dict(now)
    circumstances["energy"] = meter.kind
    circumstances["energy_reason"] = meter.reason
    circumstances["idle_watts"] = meter.calibrate()
    write_text(path, json.dumps(circumstances, indent=1) + "\n")
    return circumstances


def _difference(then: dict[str, str], now: dict[str, str]) -> str:
    changed = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
    return ", ".join(f"{name} {then.get(name, 'absent')} -> {now.get(name, 'absent')}" for name in changed)


def _clear(output: Path) -> None:
    """Remove what a run leaves behind, and nothing else."""
    for name in (RESULTS, CIRCUMSTANCES, "report.html", "report.md", "semeion_weights.csv"):
        (output / name).unlink(missing_ok=True)
    shutil.rmtree(output / "figures", ignore_errors=True)
