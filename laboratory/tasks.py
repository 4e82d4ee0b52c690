"""The measurements of a run: a plan of keys, and what each of them does. A task makes exactly one CSV row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from laboratory import bytes_claim, gisette_shape, protocol_study
from laboratory import datasets as datasets
from laboratory.datasets.catalogue import entry
from laboratory.energy import Meter
from laboratory.journal import Key, Row
from laboratory.measurement import measure
from laboratory.methods import METHODS
from laboratory.protocol import Data, prepare, split, splits
from laboratory.settings import Settings


def plan(settings: Settings, at_hand: tuple[str, ...]) -> list[Key]:
    """Return every measurement, dataset by dataset, the methods of a fold one after the other.

    Interleaving the methods is what makes their ratios hold on a machine whose speed drifts. A quick run,
    which ends when its time is up, has small data first and the slow methods last.
    """
    methods = [name for name in settings.methods if METHODS[name].installed]
    keys: list[Key] = []
    if {"accuracy", "runtime"} & set(settings.parts):
        keys += _folds(settings, at_hand, methods)
    if "protocol" in settings.parts:
        keys += protocol_study.plan(at_hand, settings.folds, seeds=2 if settings.quick else 10)
    if "bytes" in settings.parts:
        keys += bytes_claim.plan(at_hand, settings.folds)
    if "scalability" in settings.parts:
        name = "gisette" if "gisette" in at_hand else gisette_shape.NAME
        keys += gisette_shape.plan(name, methods, settings.quick)
    return sorted(keys, key=_haste) if settings.quick else keys


def _haste(key: Key) -> tuple[bool, int]:
    """Return what puts quick methods on small data first."""
    shape = gisette_shape.parse(key.variant) if key.experiment == "scalability" else entry(key.dataset).shape
    return not METHODS[key.method].quick, shape[0] * shape[1]


def _folds(settings: Settings, at_hand: tuple[str, ...], methods: list[str]) -> Iterator[Key]:
    for dataset in at_hand:
        for seed in range(settings.seeds):
            for fold in range(settings.folds):
                for method in methods:
                    # In a quick run the slow methods do one fold.
                    if not settings.quick or METHODS[method].quick or fold == 0:
                        yield Key("folds", dataset, method, "", settings.folds, seed, fold)


class Bench:
    """Carries out tasks; keeps the dataset in use and the energy meter."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._name = ""
        self._data: Data | None = None

    def run(self, key: Key) -> Row:
        """Measure one key."""
        data = self._load(key.dataset)
        if key.experiment == "protocol":
            return protocol_study.run(key, data)
        if key.experiment == "bytes":
            return bytes_claim.run(key, data)
        if key.experiment == "scalability":
            data = gisette_shape.part(data, key.variant)
        return self._fold(key, data)

    def _load(self, name: str) -> Data:
        if name != self._name or self._data is None:
            if name == gisette_shape.NAME:
                self._data = gisette_shape.make()
            else:
                loaded = datasets.load(name, download=False)
                self._data = prepare(loaded.X, loaded.y)
            self._name = name
        return self._data

    def _fold(self, key: Key, data: Data) -> Row:
        train, test = list(splits(data, key.folds, key.seed))[key.fold]
        method = METHODS[key.method]
        got = measure(lambda: method.make(key.seed), split(data, train, test), self._meter)
        return Row(
            **asdict(key),
            train_records=len(train),
            test_records=len(test),
            features=data.X.shape[1],
            accuracy=got.accuracy,
            f1=got.f1,
            fit_seconds=got.fit_seconds,
            predict_seconds=got.predict_seconds,
            cpu_seconds=got.energy.cpu_seconds,
            joules=got.energy.joules,
            energy=got.energy.kind,
            loops=got.loops,
            note=data.note,
        )
