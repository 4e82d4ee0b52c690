"""What the protocol does to SEFR's rows: each choice changed alone, over several seeds.

The paper says "10-fold cross-validation" and "min-max normalization before running algorithms", and no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

from laboratory.journal import WHOLE, Key, Row
from laboratory.measurement import quality
from laboratory.protocol import Data, splitter
from sefr._system.types import Array

OURS = "ours"

# Variant: what it does otherwise than ours.
VARIANTS = {
    OURS: "stratified, shuffled, scaled by the training folds",
    "scaled_before": "scaled once by all records, test folds included",
    "not_stratified": "shuffled, but classes in no fixed proportion",
    "not_shuffled": "stratified, records in the order of the file",
    "not_scaled": "values as they are (where none is negative)",
    "tie_positive": "a score of exactly 0 is positive (two classes)",
    "gap": "each score divided by the gap between the two sides' means (more than two classes)",
}


def plan(at_hand: tuple[str, ...], folds: int, seeds: int) -> Iterator[Key]:
    """Yield one key per dataset, variant and seed; variants without chance have one seed."""
    for dataset in at_hand:
        for variant in VARIANTS:
            for seed in range(1 if variant == "not_shuffled" else seeds):
                yield Key("protocol", dataset, "sefr", variant, folds, seed, WHOLE)


def run(key: Key, data: Data) -> Row:
    """Cross-validate SEFR under one variant; a variant that says nothing of the data gives NaN and a note."""
    reason = _meaningless(key.variant, data)
    if reason:
        return _row(key, data, np.nan, np.nan, reason)
    X = MinMaxScaler(clip=True).fit_transform(data.X) if key.variant == "scaled_before" else data.X
    results = [
        quality(data.y[test], _answer(key.variant, X[train], data.y[train], X[test]))
        for train, test in _splitter(key).split(X, data.y)
    ]
    accuracy, f1 = np.mean(results, axis=0)
    return _row(key, data, float(accuracy), float(f1))


def _row(key: Key, data: Data, accuracy: float, f1: float, note: str = "") -> Row:
    n, m = data.X.shape
    size = {"train_records": n, "test_records": n, "features": m}
    return Row(**asdict(key), **size, accuracy=accuracy, f1=f1, note=note)


def _meaningless(variant: str, data: Data) -> str:
    classes = len(np.unique(data.y))
    if variant == "not_scaled" and data.X.min() < 0:
        return "has negative values"
    if variant == "tie_positive" and classes > 2:
        return "more than two classes"
    if variant == "gap" and classes == 2:
        return "two classes"
    return ""


def _splitter(key: Key) -> Any:
    if key.variant == "not_stratified":
        return KFold(key.folds, shuffle=True, random_state=key.seed)
    if key.variant == "not_shuffled":
        return StratifiedKFold(key.folds)
    return splitter(key.folds, key.seed)


def _answer(variant: str, X: Array, y: Array, X_test: Array) -> Array:
    from sefr import SEFRClassifier

    model = SEFRClassifier(scale=None if variant in ("scaled_before", "not_scaled") else "minmax").fit(X, y)
    if variant == "tie_positive":
        return np.asarray(model.classes_[(model.decision_function(X_test) >= 0).astype(int)])
    if variant == "gap":
        return _by_gap(model, X, y, X_test)
    return np.asarray(model.predict(X_test))


def _by_gap(model: Any, X: Array, y: Array, X_test: Array) -> Array:
    """Answer with the lowest e_k / (tau_pos - tau_neg), e_k being the paper's score of classifier k."""
    trained = -model.decision_function(X)
    gaps = [
        trained[y != label, k].mean() - trained[y == label, k].mean()
        for k, label in enumerate(model.classes_)
    ]
    return np.asarray(model.classes_[np.argmin(-model.decision_function(X_test) / gaps, axis=1)])
