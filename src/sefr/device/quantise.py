"""A trained model in the board's integers: bytes in, int8 or int16 weights, an integer bias.

The weights are not computed here but by the device library itself (``_twin.solve``), from the model's
Summary turned into sums of bytes; so a model trained on the host and one trained on a board follow one
definition, that of sefr.h. A model with bins is a table instead: see ``tables``.
"""

from __future__ import annotations

import functools
import math
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._answers.additive import TableModel
from .._rows.ranges import known_ranges
from .._summary.summary import score_count
from .._system.types import Array
from .._weights.solve import means, scaling_of
from ..classifier import SEFRClassifier
from ..regressor import SEFRRegressor
from . import _twin
from .leads import mean_leads
from .mapping import Mapping, float_bytes, float_mapping, integer_mapping, not_held
from .numbers import QuantisedLine, quantise_numbers
from .raw_values import INPUTS, checked_values, raw_values, whole_range
from .tables import QuantisedTable, quantise_table

WEIGHT_BITS = {"int8": 8, "int16": 16}
MAX_CLASSES = 254
MAX_RECORDS = 1 << 24  # SEFR_MAX_RECORDS with 32-bit sums
MAX_NARROW = 32767  # features whose score stays within 32 bits with int8 weights: SEFR_MAX_FEATURES
MAX_WIDE = 65534
MAX_EPSILON = 1e-4

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Quantised:
    """A model as the board has it.

    Attributes
    ----------
    classes : labels, in the order of the board's numbers 0, 1, ...
    input : type of the raw values, one of ``INPUTS``.
    low, high : the range of each feature that becomes 0..255; the values themselves are the bytes for
    "uint8".
    ranges : low and high of each feature as bytes (2, m) where scaling is folded into the weights; else None.
    counts, sums : what was learned, in bytes, times a power of two.
    factor : that power.
    weights, bias : of shape (1, m) and (1,) for two classes, else (K, m) and (K,).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import SEFRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from sefr.device import quantise
    >>> model = quantise(SEFRClassifier().fit(X, y))
    >>> model.weights.shape, model.input
    ((3, 4), 'float')
    """

    classes: Array
    feature_names: tuple[str, ...] | None
    input: str
    low: Array
    high: Array
    ranges: Bytes | None
    counts: NDArray[np.uint32]
    sums: NDArray[np.uint32]
    factor: float
    weight_bits: int
    weights: Array
    bias: tuple[int, ...]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.weights.shape[1])

    @property
    def wide(self) -> bool:
        """Whether a score needs 64 bits."""
        return self.weight_bits == 16 or self.n_features > MAX_NARROW

    @functools.cached_property
    def mapping(self) -> Mapping:
        """How a raw value becomes a byte."""
        if self.input == "float":
            return float_mapping(self.low, self.high)
        return integer_mapping(self.low, self.high, int(np.iinfo(np.dtype(self.input)).max))

    def bytes_of(self, X: Any) -> Bytes:
        """Return raw values as the bytes the board makes of them, or say which value it cannot take."""
        X = checked_values(X, self.input, self.n_features)
        out = np.empty(X.shape, np.uint8)
        if self.input == "float":
            return float_bytes(np.ascontiguousarray(X, np.float32), self.mapping)
        if self.input == "uint8":
            out[:] = X
            return out
        values, low, high = (np.ascontiguousarray(part, np.int32) for part in (X, self.low, self.high))
        _twin.bytes_of_integers(self.n_features, values, low, high, out)
        return out

    def raw_of(self, X: Any) -> Array:
        """Return raw values in the type the board reads."""
        self.bytes_of(X)  # says which value does not fit
        return raw_values(X, self.input)

    takes_missing = False

    def scores(self, X: Any) -> NDArray[np.int64]:
        """Return the board's scores of raw values, (n, 1) for two classes or (n, K), to the bit."""
        records, weights = self.bytes_of(X).astype(np.int64), self.weights.astype(np.int64)
        result: NDArray[np.int64] = records @ weights.T + np.array(self.bias, np.int64)
        return result

    def answers(self, X: Any) -> Bytes:
        """Return the numbers of the classes that the board answers, by the device library itself."""
        records = np.ascontiguousarray(self.bytes_of(X))
        answers = np.empty(len(records), np.uint8)
        weights = np.ascontiguousarray(self.weights, np.int16 if self.wide else np.int8)
        bias = np.array(self.bias, np.int64 if self.wide else np.int32)
        _twin.classify(
            16 if self.wide else 8, self.n_features, len(self.classes), weights, bias, records, answers
        )
        return answers

    @property
    def clear(self) -> tuple[int, ...]:
        """By how much the mean record of each class leads; 1 where it does not."""
        means = np.floor(self.sums / np.maximum(self.counts, 1)[:, None]).astype(np.int64)
        return mean_leads(means @ self.weights.T.astype(np.int64) + np.array(self.bias, np.int64))


def quantise(
    clf: SEFRClassifier | SEFRRegressor,
    weights: str | None = None,
    input: str | None = None,
    unit: float | None = None,
) -> Quantised | QuantisedTable | QuantisedLine:
    """Turn a trained model into the board's integers.

    One with bins becomes a ``QuantisedTable``, a regressor a ``QuantisedLine`` or ``NumberTable``.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        Trained. The epsilon of a classifier must be small (at most 1e-4): a board divides exactly and has
        none. A regressor has one output.
    weights : {"int8", "int16"}, default=None
        Size of a weight; with bins, of an entry of the table. None: int8 of a classifier; int16 of a
        regressor with bins. Without bins, a regressor has weights of 32 bits.
    input : {"uint8", "int16", "int32", "float"}, default=None
        Type of the raw values on the board. None chooses the smallest integer type if everything learned is
        whole, else float. With bins, edges tell: int16 or int32 if all are whole numbers, else float. A
        regressor without bins takes no int32.
    unit : float, default=None
        What an answer of 1 of a regressor stands for; None: the smallest power of ten with which 16
        bits hold every prediction, or the mean of y and eight standard deviations to either side.

    Examples
    --------
    >>> from sefr import SEFRClassifier
    >>> from sefr.device import quantise
    >>> clf = SEFRClassifier(scale=(0, 255)).fit([[200, 3], [20, 60], [180, 10]], [1, 0, 1])
    >>> model = quantise(clf)
    >>> model.weights.tolist(), model.input
    ([[103, -102]], 'uint8')
    """
    check_is_fitted(clf)
    clf = copy(clf)  # as it is now: another thread may go on learning
    if weights is not None and weights not in WEIGHT_BITS:
        raise ValueError(f"weights must be one of {list(WEIGHT_BITS)}, not {weights!r}")
    if input is not None and input not in INPUTS:
        raise ValueError(f"input must be one of {list(INPUTS)}, not {input!r}")
    if isinstance(clf, SEFRRegressor):
        return quantise_numbers(clf, None if weights is None else WEIGHT_BITS[weights], input, unit)
    if unit is not None:
        raise ValueError("unit goes with a regressor: a classifier answers with a class")
    weight_bits = WEIGHT_BITS[weights or "int8"]
    if clf.epsilon > MAX_EPSILON:
        raise ValueError(
            f"a board has no epsilon; at most {MAX_EPSILON:g} can be neglected, not {clf.epsilon:g}"
        )
    summary = clf.summary_
    if not 2 <= len(clf.classes_) <= MAX_CLASSES:
        raise ValueError(f"a board knows 2 to {MAX_CLASSES} classes, not {len(clf.classes_)}")
    if isinstance(model := clf.fitted_.model, TableModel):
        return quantise_table(clf, model, weight_bits, input)
    low: Array
    high: Array
    low, high = _raw_range(clf)
    kind = input or _smallest_input(clf, low, high)
    ranges = None
    if kind == "uint8":
        _check_bytes(clf)
        if clf.scale is not None and ((low != 0) | (high != 255)).any():
            ranges = np.stack([low, high]).astype(np.uint8)
    elif kind != "float":
        low, high = whole_range(low, high, kind, (1 << 24) - 1)
    else:
        low, high = _float_range(low, high)
    counts, sums, factor = _byte_sums(clf, kind, low, high)
    # the sums of a board count no missing values: what they would give is another model
    if clf.fitted_.is_paper and summary.present is None:
        matrix, bias = solve_bytes(weight_bits, counts, sums, ranges)
    else:
        matrix, bias = _refined_bytes(clf, weight_bits, kind, low, high)
    result = Quantised(
        clf.classes_,
        summary.feature_names,
        kind,
        low,
        high,
        ranges,
        counts,
        sums,
        factor,
        weight_bits,
        matrix,
        bias,
    )
    if kind != "uint8":
        _ = result.mapping  # says which range a board cannot hold
    return result


def _raw_range(clf: SEFRClassifier) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high that become 0 and 1; without scaling, 0 and one common top."""
    m = clf.n_features_in_
    if clf.scale is None:
        top = max(float(clf.summary_.high.max(initial=0)), 0.0)
        return np.zeros(m), np.full(m, top)
    if isinstance(clf.scale, str):
        scaling = scaling_of(clf.summary_, clf.scale)
        return scaling.low, scaling.low + scaling.span
    return known_ranges(clf.scale, m)


def _smallest_input(clf: SEFRClassifier, low: Array, high: Array) -> str:
    whole = (clf.summary_.sums, low, high)
    if any((part != np.floor(part)).any() for part in whole) or clf.summary_.tails is not None:
        return "float"
    for kind in ("uint8", "int16", "int32"):
        limits = np.iinfo(np.dtype(kind))
        if low.min() >= limits.min and high.max() <= limits.max and (high - low).max() < 1 << 24:
            return kind
    return "float"


def _check_bytes(clf: SEFRClassifier) -> None:
    low, high = clf.summary_.low.min(), clf.summary_.high.max()
    if low < 0 or high > 255:
        raise ValueError(
            f"input='uint8' takes values from 0 to 255, but the model learned from {low:g} to {high:g}"
        )


def _float_range(low: Array, high: Array) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    limit = float(np.finfo(np.float32).max)
    bottom, top = (np.clip(side, -limit, limit).astype(np.float32) for side in (low, high))
    lost = np.flatnonzero((np.abs([low, high]) > limit).any(axis=0) | ((low < high) & (bottom >= top)))
    if len(lost):
        raise ValueError(not_held(lost[0], low[lost[0]], high[lost[0]]))
    return bottom, top


def _byte_sums(
    clf: SEFRClassifier, kind: str, low: Array, high: Array
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], float]:
    summary = clf.fitted_.weighted  # class weights multiplied in
    if kind == "uint8" and summary.present is None:
        sums = summary.sums
    else:
        average = np.nan_to_num(means(summary, scaling_of(summary, clf.scale)))
        if clf.scale is None:  # the means of values as they are
            average = average / max(float(high.max()), 1e-300)
        if kind == "uint8":
            span = high - low if clf.scale is not None else np.full(len(high), float(high.max()))
            sums = (low + average * span) * summary.counts[:, None]
        else:
            sums = 255 * average * summary.counts[:, None]
    room = MAX_RECORDS * min(1.0, MAX_WIDE / summary.n_features) - len(summary.classes)
    factor = 2.0 ** math.floor(math.log2(room / summary.n_rows))
    counts = np.where(summary.counts > 0, np.maximum(np.rint(summary.counts * factor), 1), 0)
    sums = np.clip(np.rint(sums * factor), 0, 255 * counts[:, None])
    return counts.astype(np.uint32), sums.astype(np.uint32), factor


def solve_bytes(
    weight_bits: int, counts: NDArray[np.uint32], sums: NDArray[np.uint32], ranges: Bytes | None
) -> tuple[Array, tuple[int, ...]]:
    """Return weights and bias from counts and sums, by the device library with 32-bit sums."""
    classes, features = sums.shape
    rows = score_count(classes)
    weights = np.empty((rows, features), np.int8 if weight_bits == 8 else np.int16)
    bias = np.empty(rows, np.int32 if weight_bits == 8 else np.int64)
    status = _twin.solve(
        weight_bits, 32, features, classes, np.ascontiguousarray(sums), counts, ranges, weights, bias
    )
    if status:
        raise ValueError("a board needs records of two classes at least")
    if weight_bits == 8 and features > MAX_NARROW:
        return weights, tuple(_long_bias(weights, counts, sums))
    return weights, tuple(int(value) for value in bias)


def _refined_bytes(
    clf: SEFRClassifier, weight_bits: int, kind: str, low: Array, high: Array
) -> tuple[Array, tuple[int, ...]]:
    """Return weights and bias of a refined model: its own, for bytes, the largest being ONE.

    A byte is the value itself, or 255 (x - low) / (high - low).
    """
    weights, bias = clf.coef_, clf.intercept_
    if kind != "uint8":
        weights = clf.coef_ * (high.astype(np.float64) - low) / 255
        bias = clf.intercept_ + clf.coef_ @ low.astype(np.float64)
    one, dtype = (127, np.int8) if weight_bits == 8 else (32767, np.int16)
    largest = float(np.abs(weights).max())
    loudest = largest or float(np.abs(bias[np.isfinite(bias)]).max(initial=0)) or 1.0
    matrix = np.rint(weights / loudest * one).astype(dtype)
    unit, whole = Fraction(one) / Fraction(loudest), math.floor if len(clf.classes_) == 2 else math.ceil
    exact = [-whole(Fraction(-float(b)) * unit) if np.isfinite(b) else None for b in bias]
    return matrix, tuple(_bounded_bias(matrix, exact))


def _bounded_bias(weights: Array, bias: list[int | None]) -> list[int]:
    """Return biases of the same answers that a score's bits hold: at most 255 sum |w| + 1.

    Beyond that a bias decides alone. Two classes: it is moved to where it just does. More: scores count from
    the best of the lowest scores, and a class that can never reach it stays just below.
    """
    rows = weights.astype(np.int64)
    down, up = (255 * np.where(rows * sign > 0, rows, 0).sum(axis=1) for sign in (-1, 1))
    if len(bias) == 1:
        value = 0 if bias[0] is None else bias[0]
        return [min(max(value, -int(up[0])), 1 - int(down[0]))]
    floor = max(b + int(low) for b, low in zip(bias, down, strict=True) if b is not None)
    return [
        -1 - int(high) if b is None else max(b - floor, -1 - int(high))
        for b, high in zip(bias, up, strict=True)
    ]


def _long_bias(weights: Array, counts: NDArray[np.uint32], sums: NDArray[np.uint32]) -> list[int]:
    """Return the bias by the definition in sefr.h, where 32 bits may not hold it."""
    binary = len(counts) == 2
    total, n_all = sums.astype(np.int64).sum(axis=0), int(counts.sum(dtype=np.int64))
    result = []
    for row, weight in enumerate(weights.astype(np.int64)):
        positive = sums[1 if binary else row].astype(np.int64)
        n_p = int(counts[1 if binary else row])
        if n_p == 0:
            result.append(-(1 << 63))
            continue
        n_q = n_all - n_p
        t_p, t_q = int(weight @ positive), int(weight @ (total - positive))
        numerator, denominator = t_p * n_q**2 + t_q * n_p**2, n_p * n_q * n_all
        result.append(-(numerator // denominator) if binary else -numerator // denominator)
    return result
