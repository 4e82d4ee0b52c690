"""The claim that values reduced to bytes do not change accuracy.

``float``: SEFR on the values as they are. ``uint8``: every feature mapped to 0..255 by the lowest and highest
value of the training folds, rounded and clipped, then SEFR. ``int8``: the model of ``uint8`` with its weights
in one byte, answered by the device library itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laboratory import datasets as datasets
from laboratory.datasets.catalogue import GISETTE_PART
from laboratory.journal import WHOLE, Key, Row
from laboratory.measurement import quality
from laboratory.protocol import Data, Split, split, splits

VARIANTS = ("float", "uint8", "int8")


def plan(at_hand: tuple[str, ...], folds: int) -> Iterator[Key]:
    """Yield one key per dataset and kind of number; the device's only where its library is there."""
    names = list(at_hand)
    if "gisette" not in at_hand and datasets.at_hand(GISETTE_PART.name):
        names.append(GISETTE_PART.name)
    for name in names:
        for variant in VARIANTS:
            if variant != "int8" or _twin() is not None:
                yield Key("bytes", name, "sefr", variant, folds, 0, WHOLE)


def run(key: Key, data: Data) -> Row:
    """Cross-validate SEFR on one kind of number; means over the folds."""
    results = []
    for train, test in splits(data, key.folds, key.seed):
        results.append(_fold(key.variant, split(data, train, test)))
    accuracy, f1 = np.mean(results, axis=0)
    n, m = data.X.shape
    return Row(
        **asdict(key), train_records=n, test_records=n, features=m, accuracy=float(accuracy), f1=float(f1)
    )


def as_bytes(scaled: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return values of [0, 1] as 0..255, what lies outside clipped."""
    return np.clip(np.rint(scaled * 255), 0, 255).astype(np.uint8)


def _fold(variant: str, fold: Split) -> tuple[float, float]:
    from sefr import SEFRClassifier

    if variant == "float":
        model = SEFRClassifier().fit(fold.X_train, fold.y_train)
        return quality(fold.y_test, model.predict(fold.X_test))
    model = SEFRClassifier(scale=(0, 255)).fit(as_bytes(fold.X_train), fold.y_train)
    predict: Any = model.predict
    if variant == "int8":
        twin = _twin()
        if twin is None:
            raise RuntimeError("the device library is not installed")
        predict = twin(model, weights="int8").predict
    return quality(fold.y_test, predict(as_bytes(fold.X_test)))


def _twin() -> Any:
    try:
        return getattr(import_module("sefr.device"), "Twin", None)
    except ImportError:
        return None
