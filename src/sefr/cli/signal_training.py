"""``sefr train --signal``: recordings of a sensor, cut into windows, as bytes that a board computes too."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from .. import model_file
from .._system.lock import locked
from .._system.types import Array, Fields
from ..classifier import SEFRClassifier
from ..files import ColumnRecipe, SourceError
from ..signals import SignalFeatures, cut
from ..signals.plan import SignalPlan
from ..signals.sampling import Sampling
from . import options
from .recordings import NO_RECORDINGS, Recordings, samples_in, too_short
from .screen import Screen, seconds
from .task import words_of

FOLDS = 5
MOST_HELD = 1 << 28  # bytes of features that stay in memory; beyond, files are read again
BATCH_BYTES = 1 << 20


@dataclass(frozen=True)
class SignalTraining:
    """What ``sefr train --signal`` is asked."""

    data: list[str]
    reading: options.ReadingOptions
    label: str | None
    settings: options.TrainingOptions
    rate: float
    length: int
    hop: int
    range: tuple[float, float] | None

    @property
    def recordings(self) -> Recordings:
        """The files."""
        return Recordings(self.data, self.reading, self.rate, self.label)


@dataclass
class RecordingSurvey:
    """What one reading of all recordings tells: their labels and lengths, and the extremes of their axes."""

    length: int
    hop: int
    axes: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)  # of recordings that are long enough
    windows: list[int] = field(default_factory=list)
    count: int = 0
    longest: int = 0
    extremes: Array | None = None  # per axis the lowest value, the highest, and one that is not whole, or 0

    def add(self, axes: list[str], label: str, values: NDArray[np.float64]) -> None:
        """Count a recording."""
        self.axes = axes
        self.count += 1
        self.longest = max(self.longest, len(values))
        windows = cut(values, self.length, self.hop)
        if not len(windows):
            return
        self.labels.append(label)
        self.windows.append(len(windows))
        low, high = windows.min(axis=(0, 2)), windows.max(axis=(0, 2))
        broken = (
            np.where(np.floor(windows) == windows, 0.0, windows).transpose(1, 0, 2).reshape(len(axes), -1)
        )
        fraction = broken[np.arange(len(axes)), np.argmax(broken != 0, axis=1)]
        before = np.stack([low, high, fraction]) if self.extremes is None else self.extremes
        known = np.where(before[2], before[2], fraction)
        self.extremes = np.stack([np.minimum(before[0], low), np.maximum(before[1], high), known])

    def features(self, range: tuple[float, float] | None) -> SignalFeatures:
        """Return what ``SignalFeatures`` learns from all windows: three with their extremes tell as much."""
        low, high, fraction = np.asarray(self.extremes)
        told = np.stack([low, high, np.where(fraction, fraction, low)])
        windows = np.repeat(told[:, :, None], self.length, axis=2)
        return SignalFeatures(self.length, len(self.axes), axis_names=self.axes, range=range).fit(windows)


class TrainingWindows:
    """The windows of recordings as batches: in memory if they are few, else from the files each time."""

    def __init__(self, training: SignalTraining, plan: SignalPlan, n_windows: int) -> None:
        self._training = training
        self._plan = plan
        self._kept: list[tuple[str, Array]] | None = None
        if n_windows * plan.n_features <= MOST_HELD:
            self._kept = list(self._read())

    def each(self) -> Iterator[tuple[str, Array]]:
        """Yield the label and the features of every recording that is long enough."""
        yield from self._read() if self._kept is None else self._kept

    def batches(
        self, chosen: Callable[[int], bool] = lambda number: True
    ) -> Iterator[tuple[pa.Table, Array]]:
        """Yield rows and labels of the recordings with chosen numbers."""
        names = self._plan.names()
        waiting: list[Array] = []
        labels: list[str] = []
        for number, (label, X) in enumerate(self.each()):
            if not chosen(number):
                continue
            waiting.append(X)
            labels += [label] * len(X)
            if len(labels) * len(names) >= BATCH_BYTES:
                yield _table(names, waiting), np.array(labels)
                waiting, labels = [], []
        if waiting:
            yield _table(names, waiting), np.array(labels)

    def _read(self) -> Iterator[tuple[str, Array]]:
        for _, recording in self._training.recordings:
            samples = samples_in(self._plan, recording, self._training.hop)
            if len(samples):
                yield str(recording.label), self._plan.features_of(samples)


def _table(names: Sequence[str], parts: list[Array]) -> pa.Table:
    return pa.table(dict(zip(names, np.concatenate(parts).T, strict=True)))


def carry_out(screen: Screen, training: SignalTraining, path: str) -> None:
    """Read the recordings, learn their windows, write the model and show what it has learned."""
    started = time.perf_counter()
    params = training.settings.params()
    survey = _survey(screen, training)
    plan = survey.features(training.range).plan_
    _note_clipped(screen, training, plan)
    windows = TrainingWindows(training, plan, sum(survey.windows))
    clf = SEFRClassifier(**params).fit_batches(windows.batches)
    sampling = Sampling(plan, training.hop, training.rate)
    columns = ColumnRecipe(None, tuple(plan.names())).member() | {"signal": sampling.plain()}
    with locked(path, lambda: screen.note(f"waiting for another process that changes {path}")):
        model_file.save(model_file.with_columns(clf, columns), path)
    accuracy = _left_out(params, windows, np.array(survey.labels))
    elapsed = time.perf_counter() - started
    screen.line(
        f"{path}: {len(survey.labels)} recordings, {sum(survey.windows):,} windows of {training.length} "
        f"samples, {len(clf.classes_)} classes, {plan.n_features} features, {seconds(elapsed)}"
    )
    if accuracy is not None:
        screen.line(f"accuracy on recordings that were left out: {accuracy:.3f}")
    words_of(clf).show_strongest(screen)
    screen.note(f"next: {shlex.join([options.program(), 'export', path, '--to', 'arduino'])}")
    screen.json(_told(path, clf, survey, accuracy, elapsed))


def _survey(screen: Screen, training: SignalTraining) -> RecordingSurvey:
    """Read all recordings once, one file at a time, or say what is wrong with them."""
    survey = RecordingSurvey(training.length, training.hop)
    labels: set[str] = set()
    for axes, recording in training.recordings:
        survey.add(axes, str(recording.label), recording.values)
        labels.add(str(recording.label))
    if not survey.count:
        raise SourceError(NO_RECORDINGS)
    if len(labels) < 2:
        raise SourceError(f"all recordings have the label {labels.pop()!r}; at least two are needed")
    if not survey.labels:
        raise SourceError(too_short(training.length, survey.longest))
    if (left := survey.count - len(survey.labels)) > 0:
        screen.note(f"{left} of {survey.count} recordings are shorter than a window and left out")
    if len(set(survey.labels)) < 2:
        raise SourceError(
            f"all recordings that are as long as a window of {training.length} samples have the label "
            f"{survey.labels[0]!r}; at least two are needed"
        )
    return survey


def _told(
    path: str, clf: SEFRClassifier, survey: RecordingSurvey, accuracy: float | None, elapsed: float
) -> Fields:
    return {
        "model": path,
        "recordings": len(survey.labels),
        "windows": sum(survey.windows),
        "features": clf.n_features_in_,
        "classes": clf.classes_.tolist(),
        "accuracy": accuracy,
        "seconds": elapsed,
    }


def _note_clipped(screen: Screen, training: SignalTraining, plan: SignalPlan) -> None:
    """Name recordings in which the sensor was at its end; only a range that was said can be reached."""
    if training.range is None:
        return
    size = plan.axes * plan.length
    for _, recording in training.recordings:
        samples = samples_in(plan, recording, training.hop)
        clipped = int(plan.clipped(samples).max()) if len(samples) else 0
        if clipped > plan.most_clipped:
            screen.note(
                f"{recording.name}: {clipped} of {size} samples of a window lie at an end of the range: "
                "is the sensor saturated?"
            )


def _left_out(params: Fields, windows: TrainingWindows, labels: Array) -> float | None:
    """Return the accuracy on windows of recordings that a model has not seen; None if there are too few."""
    counts = [int((labels == label).sum()) for label in np.unique(labels)]
    if min(counts) < 2:
        return None
    from sklearn.model_selection import StratifiedKFold

    right = total = 0
    folds = StratifiedKFold(min(FOLDS, *counts), shuffle=True, random_state=0)
    for _, other in folds.split(labels, labels):
        held = set(other.tolist())
        clf = SEFRClassifier(**params).fit_batches(
            lambda held=held: windows.batches(lambda number: number not in held)
        )
        for X, truth in windows.batches(held.__contains__):
            right += int((clf.predict(X) == truth).sum())
            total += len(truth)
    return right / total


def window_of(text: str | None) -> tuple[int, int]:
    """Return LENGTH and HOP of ``--window``."""
    length, _, hop = (text or "").partition(":")
    if not (length.isdecimal() and (hop.isdecimal() or not hop)):
        raise typer.BadParameter(f"--window takes LENGTH:HOP, for example 64:32, not {text!r}")
    return int(length), int(hop or length)


def range_of(text: str | None) -> tuple[float, float] | None:
    """Return the ends of ``--range``."""
    if text is None:
        return None
    try:
        low, high = (float(side) for side in text.split(":"))
    except ValueError:
        raise typer.BadParameter(f"--range takes LOW:HIGH, for example 0:1023, not {text!r}") from None
    return low, high
