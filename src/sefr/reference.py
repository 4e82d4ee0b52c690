"""The paper, in two passes over the data, one line an equation: the oracle for every other path.

Never optimise this file. It says what SEFR is; everything else says how to get there faster and must agree.
Scores keep the paper's sign: in the multiclass case classifier k has class k as negative, so the lowest wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Reference", "fit"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """A trained model: one hyperplane for two classes, one a class for more.

    Examples
    --------
    >>> from sefr.reference import fit
    >>> model = fit([[1, 8], [3, 6], [2, 7]], ["dry", "wet", "dry"])
    >>> model.predict([[3, 6], [1, 8]]).tolist()
    ['wet', 'dry']
    """

    classes: NDArray[Any]
    low: Floats
    span: Floats
    weights: Floats
    bias: Floats

    def scaled(self, X: Any) -> Floats:
        """Return the features in [0, 1], a constant feature as 0."""
        return scaled(np.asarray(X, dtype=np.float64), self.low, self.span)

    def scores(self, X: Any) -> Floats:
        """Return w·x + b for every record and hyperplane, in the paper's sign."""
        return self.scaled(X) @ self.weights.T + self.bias  # eq. 1

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every record."""
        e = self.scores(X)
        if len(self.classes) == 2:
            return np.asarray(self.classes[(e[:, 0] > 0).astype(int)])  # a score of exactly 0 is negative
        return np.asarray(self.classes[np.argmin(e, axis=1)])


def scaled(X: Floats, low: Floats, span: Floats) -> Floats:
    """Return (x - low) / span, and 0 where the span is 0."""
    moved = X - low
    return np.divide(moved, span, out=np.zeros_like(moved), where=np.broadcast_to(span > 0, moved.shape))


def hyperplane(D: Floats, positive: NDArray[np.bool_], epsilon: float) -> tuple[Floats, float]:
    """Return weights and bias for records ``D`` in [0, n], labelled positive or not."""
    p = positive.astype(np.float64)  # eq. 2
    n_pos, n_neg = p.sum(), (1 - p).sum()
    mu_pos = (D * p[:, None]).sum(axis=0) / n_pos  # eq. 3
    mu_neg = (D * (1 - p)[:, None]).sum(axis=0) / n_neg  # eq. 4
    divisor = mu_pos + mu_neg + epsilon
    w = np.divide(mu_pos - mu_neg, divisor, out=np.zeros_like(divisor), where=divisor != 0)  # eq. 5
    e = D @ w  # eq. 6
    tau_pos = (e * p).sum() / n_pos  # eq. 7
    tau_neg = (e * (1 - p)).sum() / n_neg  # eq. 8
    b = -(tau_pos * n_neg + tau_neg * n_pos) / (n_neg + n_pos)  # eq. 9
    return w, float(b)


def fit(X: Any, y: Any, scale: Any = "minmax", epsilon: float = 1e-7) -> Reference:
    """Train on records ``X`` (n, m) with labels ``y``.

    ``scale`` is "minmax", a pair (low, high) of known ranges, or None for values that are already in [0, n].

    Examples
    --------
    >>> from sefr.reference import fit
    >>> fit([[0, 1], [1, 1], [1, 0]], ["no", "yes", "yes"]).weights.round(2).tolist()
    [[1.0, -0.33]]
    """
    X = np.asarray(X, dtype=np.float64)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    m = X.shape[1]
    if scale is None:
        low, span = np.zeros(m), np.ones(m)
    elif isinstance(scale, str):
        low, span = X.min(axis=0), X.max(axis=0) - X.min(axis=0)
    else:
        low, high = (np.broadcast_to(np.asarray(side, dtype=np.float64), (m,)) for side in scale)
        span = high - low
    D = scaled(X, low, span)
    if len(classes) == 2:
        planes = [hyperplane(D, codes == 1, epsilon)]
    else:
        planes = [hyperplane(D, codes != k, epsilon) for k in range(len(classes))]
    return Reference(classes, low, span, np.array([w for w, _ in planes]), np.array([b for _, b in planes]))
