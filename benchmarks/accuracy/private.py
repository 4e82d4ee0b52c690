"""Accuracy against epsilon: private Summaries beside diffprivlib's GaussianNB and LogisticRegression.

Writes ``private.csv`` beside this file: for each set, epsilon and method the mean accuracy over five random
splits (70 % training), each with three draws of the noise. Ranges are those of each feature over the whole
set, as if they had been known; diffprivlib is given the same rows, scaled by them to 0..1, its GaussianNB the
bounds and its logistic regression the norm of a row. Delta is 1e-6 for the Summary; the others need none.
Run it by ``make bench-private``, which makes an environment of its own: diffprivlib needs scikit-learn 1.6.
``--ours`` measures the Summaries alone, a minute without diffprivlib, and leaves the other lines as they are.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable
from functools import partial
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedShuffleSplit

from sefr import SEFRClassifier, Summary

HERE = Path(__file__).parent
DELTA, DRAWS, SPLITS = 1e-6, 3, 5
EPSILONS = (0.5, 1.0, 3.0, 10.0, inf)
Rows = tuple[NDArray[Any], NDArray[Any]]


def sets(folder: Path) -> dict[str, Rows]:
    """Return the sets that are at hand, features in 0..1."""
    found: dict[str, Rows] = {
        "digits": load_digits(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
    }
    if (path := folder / "waveform_5000.npz").exists():
        with np.load(path, allow_pickle=False) as arrays:
            found["waveform_5000"] = (arrays["X"].astype(float), arrays["y"])
    scaled = {}
    for name, (X, y) in found.items():
        low, high = X.min(axis=0), X.max(axis=0)
        scaled[name] = ((X - low) / np.where(high > low, high - low, 1), np.unique(y, return_inverse=True)[1])
    return scaled


def summary(X: NDArray[Any], y: NDArray[Any], epsilon: float, moments: int = 1) -> Any:
    """Return the model of a private Summary; of an exact one where epsilon is infinite."""
    exact = Summary.of(X, y, moments=moments)
    noisy = exact if epsilon == inf else exact.private(epsilon, DELTA, (0, 1))
    return SEFRClassifier.from_summary(noisy, scale=(0, 1), moments=moments)


def naive_bayes(X: NDArray[Any], y: NDArray[Any], epsilon: float) -> Any:
    """Return diffprivlib's naive Bayes."""
    from diffprivlib.models import GaussianNB

    return GaussianNB(epsilon=epsilon, bounds=(0, 1)).fit(X, y)


def logistic(X: NDArray[Any], y: NDArray[Any], epsilon: float) -> Any:
    """Return diffprivlib's logistic regression; a row of m values in 0..1 has a norm of at most sqrt(m)."""
    from diffprivlib.models import LogisticRegression

    return LogisticRegression(epsilon=epsilon, data_norm=sqrt(X.shape[1]), max_iter=300).fit(X, y)


OURS = {
    "private Summary": summary,
    "private Summary, `moments=2`": partial(summary, moments=2),
}
METHODS: dict[str, Callable[[NDArray[Any], NDArray[Any], float], Any]] = {
    **OURS,
    "diffprivlib GaussianNB": naive_bayes,
    "diffprivlib LogisticRegression": logistic,
}
FIELDS = ["set", "rows", "features", "classes", "epsilon", "method", "accuracy"]


def known() -> dict[tuple[str, str, str], str]:
    """Return the accuracies that the file has, by set, epsilon and method."""
    with (HERE / "private.csv").open(newline="") as file:
        return {(row["set"], row["epsilon"], row["method"]): row["accuracy"] for row in csv.DictReader(file)}


def main(folder: Path, *, ours: bool) -> None:
    """Measure, and write the figures; with ``ours``, those of diffprivlib are kept."""
    warnings.filterwarnings("ignore")
    before = known() if ours else {}
    lines = []
    for name, (X, y) in sets(folder).items():
        cut = StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0)
        for epsilon in EPSILONS:
            for method, make in METHODS.items():
                if ours and method not in OURS:
                    accuracy = before[name, str(epsilon), method]
                else:
                    scores = [
                        (make(X[train], y[train], epsilon).predict(X[test]) == y[test]).mean()
                        for train, test in cut.split(X, y)
                        for _ in range(1 if epsilon == inf else DRAWS)
                    ]
                    accuracy = f"{np.mean(scores):.3f}"
                lines.append([name, *X.shape, len(np.unique(y)), epsilon, method, accuracy])
                print(*lines[-1], flush=True)
    with (HERE / "private.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([FIELDS, *lines])


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--ours"]
    main(Path(given[0] if given else "../shared/datasets"), ours="--ours" in sys.argv)
