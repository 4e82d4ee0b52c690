"""Which settings for which kind of data: macro F1 on one set per kind, into kinds.json.

    python -m benchmarks.accuracy.kinds

Five folds, stratified, shuffled, seed 0; the same folds for every method.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier

from ..machine import commit, machine
from .sets import BESIDE, load

HERE = Path(__file__).parent
MOST_ROWS = 6000


def kinds() -> Iterator[tuple[str, str, Any, Any, dict[str, Any]]]:
    """Yield the kind, the set, the rows, the labels and what the kind wants of every SEFR."""
    yield "numbers", "breast cancer", *load_breast_cancer(return_X_y=True), {}
    X, y = load_wine(return_X_y=True)
    yield "numbers", "wine", X, y, {}
    rng = np.random.default_rng(0)
    flags = rng.random((len(y), 1)) < np.where(y == 0, 0.7, 0.4)[:, None]
    yield "numbers and a yes/no column", "wine, one column added", np.hstack([X, flags]), y, {}
    for name in ("german", "adult"):
        yield "a mixed table", name, *_table(name), {}
    for name in ("phoneme", "satimage"):
        yield "numbers, not linear", name, *_table(name), {}
    for name in ("cnae_9", "basehock"):
        words, y = load(name)
        yield "text, TF-IDF", name, TfidfTransformer().fit_transform(words), y, {"scale": None}
    yield "images", "digits", *load_digits(return_X_y=True), {}
    yield "images", "semeion", *load("semeion"), {}


def _table(name: str) -> tuple[Any, Any]:
    """Return numbers as they are, and categories as one column per value."""
    with np.load(BESIDE / "tabular" / f"c_{name}.npz", allow_pickle=False) as data:
        numbers, categories, y = data["Xn"], data["Xc"], data["y"]
    chosen = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    one_hot = [categories[:, [j]] == np.unique(categories[:, j]) for j in range(categories.shape[1])]
    X = np.hstack([numbers, *one_hot])
    return X[chosen].astype(np.float64), y[chosen]


def methods(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that are compared, and two other linear methods with the scaling that suits them.

    That is standardised features; TF-IDF values stay sparse and are divided by the largest of their word.
    """
    settings: dict[str, dict[str, Any]] = {"one pass": {}, "ten passes": {"passes": 10}}
    if not wanted:
        settings |= {"bins": {"bins": 32, "passes": 10}, "auto": {"auto": True}}
    scaler = MaxAbsScaler if wanted else StandardScaler
    return {
        **{name: SEFRClassifier(**wanted, **setting) for name, setting in settings.items()},
        "LogisticRegression": make_pipeline(scaler(), LogisticRegression(max_iter=1000)),
        "LinearSVC": make_pipeline(scaler(), LinearSVC()),
    }


def main() -> None:
    """Measure and write."""
    warnings.filterwarnings("ignore")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = []
    for kind, name, X, y, wanted in kinds():
        line: dict[str, Any] = {"kind": kind, "set": name, "rows": X.shape[0], "features": X.shape[1]}
        with threadpool_limits(1):
            for method, model in methods(wanted).items():
                answers = cross_val_predict(model, X, y, cv=folds)
                line[method] = round(100 * float(f1_score(y, answers, average="macro")), 2)
        print(line, flush=True)
        found.append(line)
    results = {"machine": machine(), "commit": commit(), "kinds": found}
    (HERE / "kinds.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
