"""Error-driven steps on a stream: logistic regression a row at a time, for ``SEFRStream(correct=True)``.

Each feature is standardised by its mean and variance so far. Every row moves the weights against the gradient
of its log loss, each weight by a step of its own that shrinks as it has moved (AdaGrad, Duchi et al., 2011),
so that there is no learning rate to tune per stream. For two classes all is plain Python numbers: that is
faster than an array per row. A feature that a row lacks is neither used nor moved.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._system.types import Floats

Row = Mapping[Any, Any]

# The first step of a weight, in standard deviations of its feature.
STEP = 0.3
STEP_OF_TWO = 2 * STEP  # the one weight of two classes is the difference of two
# A feature's record: mean, variance, 1 / standard deviation, weight, sum of squared gradients.
MEAN, VARIANCE, INVERSE, WEIGHT, SQUARES = range(5)
# A score beyond this is as sure as a float can tell.
SUREST = 30.0


class Correction:
    """Weights that learn from each error; labels are known by their places in order of appearance."""

    def __init__(self, half_life: float | None = None) -> None:
        self.keep = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.rows = 0.0
        self.features: dict[Hashable, list[float]] = {}
        self.bias, self.bias_squares = 0.0, 0.0
        # From the third class on: mean, variance and 1 / standard deviation of each feature; a row per class.
        self.places: dict[Hashable, int] = {}
        self.usual: tuple[Hashable, ...] = ()
        self.moments = np.zeros((3, 0))
        self.weights, self.squares = np.zeros((2, 0)), np.zeros((2, 0))
        self.biases, self.bias_squares_of_many = np.zeros(2), np.zeros(2)

    def decay(self, factor: float) -> None:
        """Let later rows move the weights as if those so far counted ``factor`` times."""
        self.rows *= factor
        self.bias_squares *= factor
        for record in self.features.values():
            record[SQUARES] *= factor
        self.squares *= factor
        self.bias_squares_of_many *= factor

    def _rate(self) -> float:
        """Return how much of a mean the newest row is."""
        self.rows = self.rows * self.keep + 1.0
        return 1.0 / self.rows

    def score(self, x: Row) -> float:
        """Return the log odds of the class that appeared second."""
        total, features = self.bias, self.features
        for name, value in x.items():
            record = features.get(name)
            if record is not None:
                total += (value - record[0]) * record[2] * record[3]
        return total

    def learn(self, x: Row, second: bool, weight: float = 1.0) -> None:
        """Move the weights of two classes by one row."""
        rate, features, keep = self._rate(), self.features, self.keep
        total, used = self.bias, []
        for name, value in x.items():
            record = features.get(name)
            if record is None:
                features[name] = [value, 0.0, 0.0, 0.0, 0.0]
                continue
            away = value - record[0]
            record[0] += rate * away
            record[1] += rate * (away * (value - record[0]) - record[1])
            if record[1] > 0.0:
                record[2] = inverse = 1.0 / sqrt(record[1])
                z = (value - record[0]) * inverse
                total += z * record[3]
                used.append((record, z))
        error = _sigmoid(total) - second
        if weight != 1.0:
            error *= weight
        self.bias_squares = self.bias_squares * keep + error * error
        if error:
            self.bias -= STEP_OF_TWO * error / sqrt(self.bias_squares)
            for record, z in used:
                gradient = error * z
                record[4] = squares = record[4] * keep + gradient * gradient
                if squares:
                    record[3] -= STEP_OF_TWO * gradient / sqrt(squares)

    def scores(self, x: Row) -> Floats:
        """Return a score per class, in order of appearance, of three classes or more."""
        at, values = self._known(x)
        z = (values - self.moments[0, at]) * self.moments[2, at]
        return np.asarray(self.weights[:, at] @ z + self.biases)

    def learn_of_many(self, x: Row, place: int, n_classes: int, weight: float = 1.0) -> None:
        """Move the weights of three classes or more by one row."""
        if len(self.weights) < n_classes or not self.places:
            self._widen(n_classes)
        if not self.places.keys() >= x.keys():
            for name, value in x.items():
                self._new_feature(name, value)
        at, values = self._known(x)
        rate, moments = self._rate(), self.moments
        mean = moments[0, at]
        away = values - mean
        mean = mean + rate * away
        away *= values - mean
        variance = moments[1, at]
        variance = variance + rate * (away - variance)
        inverse = (variance > 0) / np.sqrt(np.maximum(variance, 1e-300))
        moments[0, at], moments[1, at], moments[2, at] = mean, variance, inverse
        z = (values - mean) * inverse
        weights = self.weights[:, at]
        scores = weights @ z + self.biases
        error = np.exp(scores - scores.max())
        error *= weight / error.sum()
        error[place] -= weight
        gradient = error[:, None] * z
        if self.keep != 1.0:
            self.squares *= self.keep
            self.bias_squares_of_many *= self.keep
        squares = self.squares[:, at] + gradient * gradient
        self.squares[:, at] = squares
        self.weights[:, at] = weights - STEP * gradient / np.sqrt(squares + 1e-300)
        self.bias_squares_of_many += error * error
        self.biases -= STEP * error / np.sqrt(self.bias_squares_of_many + 1e-300)

    def _known(self, x: Row) -> tuple[NDArray[np.intp] | slice, Floats]:
        """Return where the weights of a row's features are, and its values."""
        keys = tuple(x)
        if keys != self.usual:
            places = self.places
            if keys != tuple(places):
                known = [(places[name], value) for name, value in x.items() if name in places]
                at = np.array([j for j, _ in known], dtype=np.intp)
                return at, np.array([value for _, value in known], dtype=np.float64)
            self.usual = keys
        return slice(None), np.fromiter(x.values(), np.float64, len(keys))

    def _new_feature(self, name: Hashable, value: float) -> None:
        if name in self.places:
            return
        self.places[name] = j = len(self.places)
        self.usual = ()
        self.moments = np.insert(self.moments, j, [value, 0.0, 0.0], axis=1)
        self.weights = np.insert(self.weights, j, 0.0, axis=1)
        self.squares = np.insert(self.squares, j, 0.0, axis=1)

    def _widen(self, n_classes: int) -> None:
        """Make room for classes; the two that were alone so far share what they have learned."""
        if not self.places and self.features:
            for name, record in self.features.items():
                self._new_feature(name, record[MEAN])
                j = self.places[name]
                self.moments[1:, j] = record[VARIANCE], record[INVERSE]
                self.weights[:2, j] = -record[WEIGHT] / 2, record[WEIGHT] / 2
                self.squares[:2, j] = record[SQUARES]
            self.biases[:2] = -self.bias / 2, self.bias / 2
            self.bias_squares_of_many[:2] = self.bias_squares
        more = n_classes - len(self.weights)
        if more > 0:
            room = np.zeros((more, self.weights.shape[1]))
            self.weights, self.squares = np.vstack([self.weights, room]), np.vstack([self.squares, room])
            self.biases = np.append(self.biases, np.zeros(more))
            self.bias_squares_of_many = np.append(self.bias_squares_of_many, np.zeros(more))

    def scores_of_rows(self, X: Floats, names: Sequence[Hashable], n_classes: int) -> Floats:
        """Return the scores (n, K) of many rows, classes in order of appearance; NaN is a missing value."""
        if n_classes == 2:
            records = [self.features.get(name, [0.0] * 5) for name in names]
            mean, _, inverse, weight, _ = np.array(records, dtype=np.float64).reshape(-1, 5).T
            score = np.nan_to_num((X - mean) * (inverse * weight)).sum(axis=1) + self.bias
            return np.column_stack([-score, score])
        used = [i for i, name in enumerate(names) if name in self.places]
        at = np.array([self.places[names[i]] for i in used], dtype=np.intp)
        mean, _, inverse = self.moments[:, at]
        z = np.nan_to_num((X[:, used] - mean) * inverse)
        return np.asarray(z @ self.weights[:, at].T + self.biases)


def _sigmoid(score: float) -> float:
    if score > SUREST:
        return 1.0
    return 0.0 if score < -SUREST else 1.0 / (1.0 + exp(-score))
