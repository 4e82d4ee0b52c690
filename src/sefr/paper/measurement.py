"""Time, energy and quality of one fit and one prediction, on one core."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sefr.energy import Energy, Meter
from sefr.paper.protocol import Split

# A fit of a millisecond is repeated until the whole took this long, and the median is kept.
_ENOUGH_SECONDS = 0.2
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


def quality(truth: NDArray[Any], answer: Any) -> tuple[float, float]:
    """Return accuracy and macro F1 in percent."""
    from sklearn.metrics import f1_score

    answer = np.ravel(answer)
    return 100 * float(np.mean(answer == truth)), 100 * float(f1_score(truth, answer, average="macro"))


def measure(make: Callable[[], Any], split: Split, meter: Meter) -> Measurement:
    """Train and predict, repeated where that is quick; quality is that of the last repetition."""

    def once() -> tuple[float, float, Any]:
        model = make()
        start = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        trained = time.perf_counter()
        answer = model.predict(split.X_test)
        return trained - start, time.perf_counter() - trained, answer

    fits, predictions, answer, energy = repeat(once, meter)
    accuracy, f1 = quality(split.y_test, answer)
    return Measurement(
        accuracy, f1, statistics.median(fits), statistics.median(predictions), energy, len(fits)
    )


def repeat(
    once: Callable[[], tuple[float, float, Any]], meter: Meter
) -> tuple[list[float], list[float], Any, Energy]:
    """Call ``once`` until enough time has passed; returns its times, last answer, and the energy of one call."""
    fits: list[float] = []
    predictions: list[float] = []
    answer: Any = None
    with meter.measure() as energy:
        while not fits or (sum(fits) + sum(predictions) < _ENOUGH_SECONDS and len(fits) < _MOST_LOOPS):
            fit, predict, answer = once()
            fits.append(fit)
            predictions.append(predict)
    loops = len(fits)
    energy.seconds /= loops
    energy.cpu_seconds /= loops
    if energy.joules is not None:
        energy.joules /= loops
    return fits, predictions, answer, energy
