"""SEFR on a stream, with river's interface: a row at a time, features by name, constant memory."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from river import base
from river.utils.dataframe import into_frame, into_series, to_native_frame, to_native_series

from .._rows.inputs import matrix_of
from .._rows.labelled import Labelled
from .._rows.labels import encode
from .._summary.summary import Summary
from .._system.types import Label, Scale
from .._weights.loss import softmax
from .correction import Correction
from .river_regression import SEFRStreamRegressor
from .running_summary import RunningSummary

if TYPE_CHECKING:
    from collections.abc import Sequence


# Batches of fewer values are learned faster row by row than by the kernel, whose Summary must be made first.
FEW_CELLS = 256


class SEFRStream(base.MiniBatchClassifier):  # type: ignore[misc]
    """The SEFR classifier for streams.

    Exact: after any number of rows it equals a ``SEFRClassifier`` fitted on all of them. A feature that a row
    lacks, or that is None or NaN, contributes nothing to a score.

    Parameters
    ----------
    scale : "minmax", (low, high) or None
        How features are brought to [0, 1]: by the extremes seen so far, by a known range of all, or not.
    epsilon : float
        Keeps eq. 5 of the paper from dividing by zero.
    half_life : float or None
        Rows after which a row counts half; None never forgets. The extremes of "minmax" are not forgotten, so
        give a known range where they drift. A class or feature not seen for 50 half-lives is dropped.
    drift_detector : river.drift detector or None
        Is told of every row whether it was predicted wrongly, before it is learned.
    on_drift : "reset" or "decay"
        What happens when it detects a drift: everything learned is dropped, or counts ``drift_factor`` times.
    drift_factor : float
        See ``on_drift``.
    correct : bool
        Whether answers come from weights that also learn from each error (see
        :mod:`sefr.engines.correction`): more accurate where features are correlated, at half the speed. What
        ``summary`` returns stays the same.

    Notes
    -----
    ``predict_proba_one`` is the logistic function of the score (softmax for more classes): it orders rows as
    the score does and is not calibrated. A stream has one thread, as everywhere in river; threads may share a
    ``SEFRClassifier``.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from sefr.engines.river import SEFRStream
    >>> evaluate.progressive_val_score(datasets.Phishing(), SEFRStream(), metrics.Accuracy())
    Accuracy: 87.03%
    """

    def __init__(
        self,
        scale: Scale = "minmax",
        epsilon: float = 1e-7,
        half_life: float | None = None,
        drift_detector: Any = None,
        on_drift: str = "reset",
        drift_factor: float = 0.1,
        correct: bool = False,
    ) -> None:
        if half_life is not None and not half_life > 0:
            raise ValueError(f"half_life must be a number of rows above 0, not {half_life!r}")
        if on_drift not in ("reset", "decay"):
            raise ValueError(f"on_drift must be 'reset' or 'decay', not {on_drift!r}")
        if not 0 < drift_factor <= 1:
            raise ValueError(f"drift_factor must be above 0 and up to 1, not {drift_factor!r}")
        self.scale = scale
        self.epsilon = epsilon
        self.half_life = half_life
        self.drift_detector = drift_detector
        self.on_drift = on_drift
        self.drift_factor = drift_factor
        self.correct = correct
        self.n_drifts = 0
        self._sums = RunningSummary(scale, epsilon, half_life)
        self._correction = Correction(half_life) if correct else None

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Label, w: float = 1.0) -> None:
        """Learn a row; ``w`` is how often it counts."""
        if self.drift_detector is not None:
            self._look_for_drift(x, y)
        self._sums.learn(x, y, w)
        if self._correction is not None and w:
            self._correct(x, y, w)

    def _correct(self, x: dict[Any, Any], y: Label, w: float) -> None:
        sums, correction = self._sums, cast(Correction, self._correction)
        values, n_classes, place = sums.values(x), len(sums.counts), sums.labels[y]
        if n_classes == 2 and not correction.places:
            correction.learn(values, place == 1, w)
        elif n_classes > 1:
            correction.learn_of_many(values, place, n_classes, w)

    def _look_for_drift(self, x: dict[Any, Any], y: Label) -> None:
        answer = self.predict_one(x)
        if answer is None:
            return
        self.drift_detector.update(int(answer != y))
        if self.drift_detector.drift_detected:
            self.n_drifts += 1
            if self.on_drift == "reset":
                self._sums.clear()
            else:
                self._sums.decay(self.drift_factor)
            if self._correction is not None:
                self._correction.clear() if self.on_drift == "reset" else self._correction.decay(
                    self.drift_factor
                )

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the label of a row; None before any row was learned."""
        order = self._sums.order
        if len(order) < 2:
            return order[0][0] if order else None
        scores = self._scores(x)
        return order[scores.index(max(scores))][0] if len(order) > 2 else order[scores[1] > 0][0]

    def _scores(self, x: dict[Any, Any]) -> list[float]:
        """Return a score for each class in sorted order."""
        correction = self._correction
        if correction is None:
            return self._sums.scores(x)
        values, order = self._sums.values(x), self._sums.order
        if len(order) == 2 and not correction.places:
            score = correction.score(values) * (1 if order[1][1] == 1 else -1)
            return [-score, score]
        scores = correction.scores(values)
        return [float(scores[k]) for _, k in order]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return a number in [0, 1] for each label seen; they add up to 1."""
        order = self._sums.order
        if len(order) < 2:
            return {label: 1.0 for label, _ in order}
        scores = self._scores(x)
        if len(order) == 2:
            scores = [0.0, scores[1]]
        highest = max(scores)
        powers = [exp(score - highest) for score in scores]
        total = sum(powers)
        return {label: power / total for (label, _), power in zip(order, powers, strict=True)}

    def learn_many(self, X: Any, y: Label) -> None:
        """Learn a data frame's rows: equal to ``learn_one`` of each in turn, and faster."""
        n, width = X.shape
        if self.drift_detector is not None or self.correct or n * width <= FEW_CELLS:
            self._learn_each(X, y)
            return
        frame, labels = into_frame(X), into_series(y)
        sums = self._sums
        weights = None
        if self.half_life is not None:
            weights = np.power(sums.growth, np.arange(n) - float(n - 1))
            sums.age(n - 1)
        classes, codes = encode(labels.to_numpy())
        summary = Summary.of_rows(Labelled.of(matrix_of(X), classes, codes, weights), missing="ignore")
        sums.absorb(summary, frame.columns)
        sums.age(1)

    def _learn_each(self, X: Any, y: Label) -> None:
        """Learn rows one by one, after all of them were looked at: a batch is learned whole or not at all."""
        if hasattr(X, "to_dict") and hasattr(y, "tolist"):  # pandas, without a detour that costs as much
            rows, labels = _records(X), y.tolist()
        else:
            rows, labels = into_frame(X).rows(named=True), into_series(y).to_list()
        checked = [self._sums.check(x, label) for x, label in zip(rows, labels, strict=True)]
        if self.drift_detector is None and self._correction is None:
            for values, label in zip(checked, labels, strict=True):
                self._sums.add(values, label)
        else:
            for x, label in zip(rows, labels, strict=True):
                self.learn_one(x, label)

    def predict_many(self, X: Any) -> Any:
        """Return the labels of a data frame's rows."""
        frame = into_frame(X)
        scores, labels = self._scores_of_many(frame)
        answers = [labels[k] for k in scores.argmax(axis=1)] if len(labels) else [None] * frame.shape[0]
        return to_native_series(np.array(answers), name=None, like=frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a column of numbers in [0, 1] for each label seen."""
        frame = into_frame(X)
        scores, labels = self._scores_of_many(frame)
        if len(labels) == 2:
            scores = scores * [0.0, 1.0]
        shares = softmax(scores) if len(labels) else scores
        return to_native_frame({label: shares[:, k] for k, label in enumerate(labels)}, like=frame)

    def _scores_of_many(self, frame: Any) -> tuple[Any, Sequence[Any]]:
        labels = [label for label, _ in self._sums.order]
        n = frame.shape[0]
        if len(labels) < 2:
            return np.zeros((n, len(labels))), labels
        X = np.empty(frame.shape)
        for rows, block in matrix_of(frame.to_native()).blocks():
            X[rows] = block
        if self._correction is not None:
            places = [k for _, k in self._sums.order]
            return self._correction.scores_of_rows(X, frame.columns, len(labels))[:, places], labels
        scores = self._sums.solved().scores(X, frame.columns)
        return (np.concatenate([-scores, scores], axis=1) if len(labels) == 2 else scores), labels

    def summary(self, features: Sequence[str] | None = None) -> Summary:
        """Return what was learned, to be added to other Summaries, saved or sent.

        ``features`` gives their order, that of their appearance if None; to be added, it must be the same.
        """
        if not self._sums.order:
            raise ValueError("river: nothing was learned yet")
        return self._sums.summary(features)

    def learn_summary(self, summary: Summary, features: Sequence[str] | None = None) -> None:
        """Add what was learned elsewhere; ``features`` are the names of its features if it has none."""
        self._sums.absorb(summary, features)


def _records(X: Any) -> list[dict[Any, Any]]:
    """Return the rows of a pandas frame as dicts; where all are floats, without pandas' way per cell."""
    names = list(X.columns)
    if set(X.dtypes) == {np.dtype(np.float64)} and len(set(names)) == len(names):
        return [dict(zip(names, row, strict=True)) for row in X.to_numpy().tolist()]
    return list(X.to_dict("records"))


__all__ = ["SEFRStream", "SEFRStreamRegressor"]
