"""What a run of the paper is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from laboratory import datasets as datasets
from laboratory.methods import METHODS
from laboratory.protocol import FOLDS

# What can be asked for, and the tables and figures of the paper that it makes.
PARTS = {
    "accuracy": "Tables 2 and 2m: accuracy and macro F1",
    "runtime": "Tables 3 and 3m: run time and energy",
    "scalability": "Figure 1: run time by records and by features",
    "weights": "Figure 2: the weights of Semeion",
    "bytes": "float against byte data against the int8 device model",
    "protocol": "the SEFR rows under other protocols",
    "uno": "Tables 4 and 5: the Arduino Uno",
}


class SettingsError(ValueError):
    """Something was asked for that does not exist; the message lists what does."""


@dataclass(frozen=True)
class Settings:
    """The options of ``python -m laboratory``, checked."""

    output: Path
    parts: tuple[str, ...] = tuple(PARTS)
    datasets: tuple[str, ...] = datasets.NAMES
    methods: tuple[str, ...] = tuple(METHODS)
    folds: int = FOLDS
    seeds: int = 1
    quick: bool = False
    watts: float | None = None
    download: bool = False
    device_results: Path | None = None

    def __post_init__(self) -> None:
        _known("part", self.parts, tuple(PARTS))
        _known("dataset", self.datasets, datasets.NAMES)
        _known("method", self.methods, tuple(METHODS))
        for name, value, least in (("folds", self.folds, 2), ("seeds", self.seeds, 1)):
            if value < least:
                raise SettingsError(f"{name} must be at least {least}, not {value}")
        if self.watts is not None and not self.watts > 0:
            raise SettingsError(f"watts must be above 0, not {self.watts}")


def _known(kind: str, asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        if name not in known:
            raise SettingsError(f"no {kind} {name!r}; there are {', '.join(known)}")
