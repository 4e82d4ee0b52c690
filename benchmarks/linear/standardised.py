"""``python -m benchmarks.linear.standardised``: sparse features as they are, and standardised.

sefr's further passes standardise features, so that a weight on a rare word may be large. The sparse tables of
this benchmark are drawn with weights that are as large for rare words as for frequent ones, which a penalty
on features as they are expects. Here scikit-learn's logistic regression has both penalties, each with the C
that is best for the rows held out, on drawn tables and on two sets of texts, features in units of a typical
row's length. sefr stands between both: weights of rare features are expected to be smaller. Beside it are its
losses without that, and without more sampled rows if these are sparse, too. Written beside this file:
``standardised.csv``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sefr import SEFRClassifier
from sefr._rows import labelled
from sefr._weights.refine import standardise

from ..machine import commit, machine
from ..tables import write_lines
from .sets import QUICK, SHAPES, table

HERE = Path(__file__).parent
COSTS = tuple(10.0 ** (k / 2) for k in range(-5, 6))
TEXTS = ("basehock", "cnae_9")
# Words that occur in fewer rows than this are left as they are: nothing is known of how they vary.
FEWEST = 2


def main(data: Path) -> None:
    """Write the least held-out loss of each penalty, and that of sefr, per table."""
    found = []
    for name, X, y, X_new, y_new in _tables(data):
        spread = _spread(X)
        scaled, scaled_new = (Z @ sparse.diags(1 / spread) for Z in (X, X_new))
        usual = patch.object(labelled, "SPARSE", 0.0)
        alike = patch.object(standardise, "RARE", standardise.RAREST)
        with usual, alike:
            neither = _sefr(X, y, X_new, y_new)
        with alike:
            more_rows = _sefr(X, y, X_new, y_new)
        found.append(
            {
                "table": name,
                "as_they_are": f"{_least(X, y, X_new, y_new):.4f}",
                "standardised": f"{_least(scaled, y, scaled_new, y_new):.4f}",
                "sefr_neither": f"{neither:.4f}",
                "sefr_more_rows": f"{more_rows:.4f}",
                "sefr": f"{_sefr(X, y, X_new, y_new):.4f}",
                "machine": machine(),
                "commit": commit(),
            }
        )
        print(found[-1], flush=True)
    write_lines(HERE / "standardised.csv", found)


def _tables(data: Path) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    for shape in (QUICK[-1], SHAPES[3]):
        yield (shape.name, *table(shape))
    for name in TEXTS:
        z = np.load(data / f"{name}.npz")
        parts = (z["data"], z["indices"].astype(np.int32), z["indptr"]) if "data" in z else z["X"]
        X = sparse.csr_matrix(parts, shape=tuple(z["shape"]) if "shape" in z else None).astype(float)
        X, X_new, y, y_new = train_test_split(X, z["y"], test_size=0.3, random_state=0, stratify=z["y"])
        yield name, X, y, X_new, y_new


def _spread(X: Any) -> Any:
    mean = np.asarray(X.mean(axis=0)).ravel()
    variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    often = np.diff(X.tocsc().indptr) >= FEWEST
    return np.where(often & (variance > 0), np.sqrt(np.maximum(variance, 0)), 1.0)


def _sefr(X: Any, y: Any, X_new: Any, y_new: Any) -> float:
    return float(log_loss(y_new, SEFRClassifier(passes=20).fit(X, y).predict_proba(X_new)))


def _least(X: Any, y: Any, X_new: Any, y_new: Any) -> float:
    """Return the least loss on the rows held out, over penalties."""
    length = np.sqrt(X.multiply(X).sum(axis=1).mean())
    losses = []
    for cost in COSTS:
        model = LogisticRegression(C=cost, max_iter=300).fit(X / length, y)
        losses.append(log_loss(y_new, model.predict_proba(X_new / length)))
    return min(losses)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[2] / "shared" / "datasets")
