"""Time, energy and quality of one fit and one prediction, on one core."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from laboratory.energy import Energy, Meter
from laboratory.protocol import Split
from sefr._system.types import Array, Estimator

# A fit of a millisecond is repeated until the whole took this long, and the median is kept.
_ENOUGH_SECONDS = 0.1
_MOST_LOOPS = 50


@dataclass(frozen=True)
class Measurement:
    """Seconds are medians over ``loops``; CPU seconds and joules are means over them."""

    accuracy: float
    f1: float
    fit_seconds: float
    predict_seconds: float
    energy: Energy
    loops: int


@contextmanager
def one_core() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread; the methods themselves are made with one."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield


def quality(truth: Array, answer: Array) -> tuple[float, float]:
    """Return accuracy and macro F1 in percent."""
    from sklearn.metrics import f1_score

    answer = np.ravel(answer)
    return 100 * float(np.mean(answer == truth)), 100 * float(f1_score(truth, answer, average="macro"))


def measure(make: Callable[[], Estimator], split: Split, meter: Meter) -> Measurement:
    """Train and predict, repeated where that is quick; quality is that of the last repetition."""
    fits: list[float] = []
    predictions: list[float] = []
    with meter.measure() as energy:
        while not fits or (sum(fits) + sum(predictions) < _ENOUGH_SECONDS and len(fits) < _MOST_LOOPS):
            model = make()
            start = time.perf_counter()
            model.fit(split.X_train, split.y_train)
            trained = time.perf_counter()
            answer = model.predict(split.X_test)
            fits.append(trained - start)
            predictions.append(time.perf_counter() - trained)
    loops = len(fits)
    energy.seconds /= loops
    energy.cpu_seconds /= loops
    if energy.joules is not None:
        energy.joules /= loops
    accuracy, f1 = quality(split.y_test, answer)
    fit, predict = statistics.median(fits), statistics.median(predictions)
    return Measurement(accuracy, f1, fit, predict, energy, loops)
