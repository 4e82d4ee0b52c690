"""A model over raw whole numbers: scaling is folded into int16 weights, and no value becomes a byte first.

A score is the bias and a product per feature. Nothing is clipped: a value outside of what was learned goes on
along the line, as on the host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._system.types import Array, Floats
from ..classifier import SEFRClassifier
from .leads import answered, mean_leads
from .raw_values import checked_values, raw_values

MOST_WEIGHT = 32767
MOST_SCORE = (1 << 31) - 1
FARTHEST = 32768  # a value of 16 bits, without its sign


@dataclass(frozen=True)
class Folded:
    """A model of int16 weights over raw values of 16 bits.

    Attributes
    ----------
    weights, bias : of shape (1, m) and (1,) for two classes, else (K, m) and (K,).
    clear : by how much the mean record of each class leads; 1 where it does not.

    Examples
    --------
    >>> from sefr import SEFRClassifier
    >>> from sefr.device.folding import fold
    >>> model = fold(SEFRClassifier(scale=(0, 1023)).fit([[800, 12], [80, 240], [720, 40]], [1, 0, 1]))
    >>> model.scores([[800, 12], [80, 240]]).ravel() > 0
    array([ True, False])
    """

    classes: Array
    feature_names: tuple[str, ...] | None
    weights: NDArray[np.int16]
    bias: tuple[int, ...]
    clear: tuple[int, ...]

    input = "int16"
    weight_bits = 16
    wide = False  # a score never needs 64 bits
    takes_missing = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.weights.shape[1])

    def raw_of(self, X: Any) -> Array:
        """Return raw values in the type the board reads, or say which value it cannot take."""
        return raw_values(checked_values(X, self.input, self.n_features), self.input)

    def scores(self, X: Any) -> NDArray[np.int64]:
        """Return the board's scores of raw values, (n, 1) or (n, K), to the bit."""
        values = self.raw_of(X).astype(np.int64)
        result: NDArray[np.int64] = values @ self.weights.T.astype(np.int64) + np.array(self.bias, np.int64)
        return result

    def answers(self, X: Any) -> NDArray[np.uint8]:
        """Return the numbers of the classes that the board answers."""
        return answered(self.scores(X))


def fold(clf: SEFRClassifier) -> Folded:
    """Turn a trained model into int16 weights over raw values, or say why it cannot be."""
    check_is_fitted(clf)
    clf.summary_.coding.refuse_cells("a model with bins is a table, and has no weights to fold scaling into")
    coef, intercept = clf.coef_, clf.intercept_
    weights, bias = _whole(coef, intercept)
    means = np.rint(clf.summary_.sums / np.maximum(clf.summary_.counts, 1)[:, None]).astype(np.int64)
    clear = mean_leads(means @ weights.T.astype(np.int64) + np.array(bias))
    return Folded(clf.classes_, clf.summary_.feature_names, weights, tuple(bias), clear)


def _whole(coef: Floats, intercept: Floats) -> tuple[NDArray[np.int16], list[int]]:
    """Return weights and bias whose scores fit 32 bits for any values of 16 bits.

    A score is at most 32768 times the sizes of its weights together, and the bias; rounding adds half a step
    per weight. Two classes: above 0 exactly where the sum is above what the bias stands for.
    """
    known = np.where(np.isfinite(intercept), np.abs(intercept), 0.0)
    reach = float((FARTHEST * np.abs(coef).sum(axis=1) + known).max())
    room = MOST_SCORE - FARTHEST * (coef.shape[1] + 1)
    if room <= 0:
        raise ValueError(f"{coef.shape[1]} features are too many to fold scaling into weights of 16 bits")
    largest = float(np.abs(coef).max())
    unit = min(room / reach, MOST_WEIGHT / largest) if largest else 1.0
    weights = np.rint(coef * unit).astype(np.int16)
    whole = math.floor if len(coef) == 1 else math.ceil
    bias = [
        -whole(Fraction(-float(b)) * Fraction(unit)) if np.isfinite(b) else -MOST_SCORE for b in intercept
    ]
    return weights, bias
