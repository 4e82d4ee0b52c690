"""Recordings of a sensor in files: read one file at a time, checked, and cut into windows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._system.types import Array
from ..classifier import SEFRClassifier
from ..files import SourceError
from ..files.reader import NUMBER, TEXT
from ..model_file import columns_of
from ..signals import cut
from ..signals.plan import SignalPlan
from ..signals.sampling import Sampling
from . import options
from .screen import Screen

# Columns that say when a sample was taken, with their units per second, if known; all others are axes.
TIMES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("t", "time", "timestamp"), (1.0, 1e3, 1e6)),
    **dict.fromkeys(("s", "seconds"), (1.0,)),
    **dict.fromkeys(("ms", "millis", "milliseconds"), (1e3,)),
    **dict.fromkeys(("us", "micros", "microseconds"), (1e6,)),
}
TOLERATED = 0.05  # how far the rate of a recording may be from what was said
GAP = 1.5  # steps


@dataclass(frozen=True)
class Recording:
    """Samples of one situation, without a gap."""

    name: str
    label: str | None
    values: NDArray[np.float64]  # (samples, axes)


@dataclass(frozen=True)
class Recordings:
    """Files with recordings.

    Parameters
    ----------
    data : files, or folders with files or with a folder per label.
    reading : how files are read.
    rate : samples per second that are expected.
    label : the column of labels. None: the folder that a file lies in, if ``labelled``.
    labelled : whether labels are needed.
    axes : columns that are needed. None: all but label and time, the same in every file.
    """

    data: Sequence[str]
    reading: options.ReadingOptions
    rate: float
    label: str | None = None
    labelled: bool = True
    axes: tuple[str, ...] | None = None

    def __iter__(self) -> Iterator[tuple[list[str], Recording]]:
        """Yield the names of the axes and a recording, or say which one does not go with the others."""
        before: list[str] | None = None if self.axes is None else list(self.axes)
        for file, label in self._files():
            axes, found = self._read(file, label)
            if before is not None and axes != before:
                raise SourceError(
                    f"{file} has the axes {', '.join(axes)}; the recordings before have {', '.join(before)}"
                )
            before = axes
            for recording in found:
                yield axes, recording

    def _files(self) -> Iterator[tuple[str, str | None]]:
        """Yield files and their labels: the folder that a file lies in, or None."""
        for path in self.data:
            if not os.path.isdir(path) or self.label is not None:
                if self.labelled and self.label is None:
                    raise SourceError(
                        f"{path} is no folder with a folder per label: which column is the label? (--label)"
                    )
                yield path, None
                continue
            for entry in _shown(Path(path)):
                if entry.is_dir():
                    yield from ((str(file), entry.name) for file in _shown(entry) if file.is_file())
                elif not self.labelled:
                    yield str(entry), None

    def _read(self, file: str, label: str | None) -> tuple[list[str], list[Recording]]:
        dataset = self.reading.open([file])
        column = None if self.label is None else dataset.label_name(self.label)
        known = dataset.readers[0].columns
        times = [name for name in known if name.strip().lower() in TIMES]
        axes = self._axes_of(file, [name for name in known if name != column and name not in times])
        text = [name for name in axes if known[name] != NUMBER]
        if text:
            raise SourceError(f"{file}: column {text[0]!r} is not of numbers")
        wanted = dict.fromkeys([*axes, *times], NUMBER) | ({} if column is None else {column: TEXT})
        rows = pa.concat_tables(batch.rows for batch in dataset.batches(wanted))
        values = np.column_stack([_numbers(rows, name, file) for name in axes])
        clocks = {name: _numbers(rows, name, file) for name in times}
        found = []
        for start, end, own in _runs(rows, column, file) if column is not None else [(0, len(values), label)]:
            for name, clock in clocks.items():
                self._check_times(clock[start:end], name, f"{file}, column {name!r}", start)
            place = file if column is None else f"{file}, from row {start + 1}"
            found.append(Recording(place, own, values[start:end]))
        return axes, found

    def _axes_of(self, file: str, columns: list[str]) -> list[str]:
        if self.axes is None:
            if not columns:
                raise SourceError(f"{file} has no column of samples")
            return columns
        missing = [name for name in self.axes if name not in columns]
        if missing:
            raise SourceError(
                f"{file} has no axis {missing[0]!r}; the model was trained on {', '.join(self.axes)}"
            )
        return list(self.axes)

    def _check_times(self, times: Array, name: str, where: str, start: int) -> None:
        """Say if samples come at another rate than was said, or with a gap."""
        steps = np.diff(times)
        if not len(steps):
            return
        middle = float(np.median(steps))
        units = TIMES[name.strip().lower()]
        if not any(abs(middle * self.rate / unit - 1) <= TOLERATED for unit in units):
            raise SourceError(f"{where}: {_rate_text(middle, units)}, not {self.rate:g}")
        far = np.flatnonzero((steps > GAP * middle) | (steps <= 0))
        if len(far):
            row = start + int(far[0]) + 1
            raise SourceError(
                f"{where}: rows {row} and {row + 1} are {steps[far[0]]:g} apart, not {middle:g}: "
                "cut the recording at the gap"
            )


def _rate_text(step: float, units: tuple[float, ...]) -> str:
    if step <= 0:
        return f"samples come every {step:g}, backwards"
    supposed = " if that is seconds" if len(units) > 1 else ""
    return f"samples come every {step:g}, {units[0] / step:g} per second{supposed}"


def _shown(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def _runs(rows: pa.Table, column: str, file: str) -> list[tuple[int, int, str]]:
    """Return start, end and label of neighbouring rows of one label."""
    told = rows.column(column).cast(pa.string())
    if told.null_count:
        row = told.is_null().to_pylist().index(True) + 1
        raise SourceError(f"{file}: row {row} has no label in column {column!r}")
    labels = np.array(told.to_pylist(), dtype=object)
    ends = [0, *(np.flatnonzero(labels[1:] != labels[:-1]) + 1).tolist(), len(labels)]
    return [(start, end, str(labels[start])) for start, end in pairwise(ends)]


def _numbers(rows: pa.Table, name: str, file: str) -> NDArray[np.float64]:
    values = np.asarray(rows.column(name).cast(pa.float64(), safe=False).to_numpy(), float)
    gaps = np.flatnonzero(~np.isfinite(values))
    if len(gaps):
        raise SourceError(
            f"{file}: row {gaps[0] + 1} has no number in column {name!r}: cut the recording at the gap"
        )
    return values


def sampling_of(clf: SEFRClassifier) -> Sampling | None:
    """Return how the sensor of a model is sampled that was trained with ``--signal``; else None."""
    columns = columns_of(clf)
    return None if columns is None or "signal" not in columns else Sampling.from_plain(columns["signal"])


@dataclass(frozen=True)
class Windows:
    """The windows of one recording as features, and those that a board answers."""

    recording: Recording
    features: NDArray[np.uint8]
    answered: NDArray[np.bool_]  # false: too many samples lie at the ends of the range


@dataclass
class RecordingReader:
    """The recordings that a model is asked about, window by window, and what is to be said of them."""

    sampling: Sampling
    short: int = 0
    saturated: int = 0
    read: int = 0

    @classmethod
    def of(
        cls, clf: SEFRClassifier, data: Sequence[str], reading: options.ReadingOptions
    ) -> RecordingReader | None:
        """Return a reader if the model is one of a signal and the data are not its features already."""
        sampling = sampling_of(clf)
        if sampling is None:
            return None
        first = data[0]
        if not os.path.isdir(first):
            known = reading.open([first]).readers[0].columns if first != "-" else {}
            if sampling.plan.names()[0] in known:
                return None
        return cls(sampling)

    def windows(
        self,
        data: Sequence[str],
        reading: options.ReadingOptions,
        label: str | None = None,
        *,
        labelled: bool,
    ) -> Iterator[Windows]:
        """Yield the windows of every recording that is as long as one."""
        plan, hop = self.sampling.plan, self.sampling.hop
        source = Recordings(data, reading, self.sampling.rate, label, labelled, plan.axis_names)
        longest = 0
        for _, recording in source:
            self.read += 1
            longest = max(longest, len(recording.values))
            samples = samples_in(plan, recording, hop)
            if not len(samples):
                self.short += 1
                continue
            answered = plan.clipped(samples) <= plan.most_clipped
            self.saturated += int(np.count_nonzero(~answered))
            yield Windows(recording, plan.features_of(samples), answered)
        if self.short == self.read:
            raise SourceError(too_short(plan.length, longest) if self.read else NO_RECORDINGS)

    def tell(self, screen: Screen) -> None:
        """Say what was left out."""
        if self.short:
            screen.note(f"{self.short} of {self.read} recordings are shorter than a window and left out")
        if self.saturated:
            screen.note(
                f"{self.saturated} windows have no answer: too many of their samples lie at the ends of the "
                "range; is the sensor saturated?"
            )


NO_RECORDINGS = "there are no recordings: a folder with a folder per label, or a file with --label"


def too_short(length: int, longest: int) -> str:
    """Return what is wrong with recordings of which none is as long as a window."""
    return f"no recording is as long as a window of {length} samples; the longest has {longest}"


def samples_in(plan: SignalPlan, recording: Recording, hop: int) -> Array:
    """Return the windows of a recording as a board samples them."""
    return plan.samples_of(cut(recording.values, plan.length, hop))
