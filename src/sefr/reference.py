"""The paper, in two passes over the data, one line per equation: the oracle for every other path.

Never optimise this file. It says what SEFR is; everything else says how to get there faster and must agree.
Scores keep the paper's sign: in the multiclass case classifier k has class k as negative, so the lowest wins.

Beside it, as plain: ``discriminant`` and ``ridge_regression``, what second moments are solved for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearReference", "Reference", "discriminant", "fit", "ridge_regression"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """A trained model: one hyperplane for two classes, one per class for more.

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


@dataclass(frozen=True)
class LinearReference:
    """A linear model of second moments: a score, or a number, per row of ``weights`` (K, m).

    ``ridge`` (K,) is the penalty per row that each was solved with. ``classes`` is None for numbers.

    Examples
    --------
    >>> from sefr.reference import ridge_regression
    >>> model = ridge_regression([[1.0], [2.0], [3.0], [4.0]], [[2.0], [4.1], [5.9], [8.0]])
    >>> model.scores([[5.0]]).round().tolist()
    [[10.0]]
    """

    weights: Floats
    centre: Floats
    bias: Floats
    ridge: Floats
    classes: NDArray[Any] | None = None

    def scores(self, X: Any) -> Floats:
        """Return w·(x - centre) + b for every record and every class or target: the highest score wins."""
        return (np.asarray(X, dtype=np.float64) - self.centre) @ self.weights.T + self.bias

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every record, or its numbers."""
        e = self.scores(X)
        return e if self.classes is None else np.asarray(self.classes[np.argmax(e, axis=1)])


# The ridges, per row of the data, among which the likeliest is taken: four per decade.
RIDGES = 10.0 ** (np.arange(29) / 4 - 5)


def centred(X: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return x - mean and the mean, in two parts: as float64 has it, and what that leaves of it."""
    mean = weights @ X / weights.sum()
    moved = X - mean
    rest = weights @ moved / weights.sum()
    return moved - rest, mean, rest


def standardised(X: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (x - mean) / sd, the means in two parts, and the sds, with sd^2 = sum_i v_i (x_i - mean)^2 / N.

    v_i are the weights of rows, which add up to N. A constant column has sd 0, and stays 0.
    """
    moved, mean, rest = centred(X, weights)
    sd = np.sqrt(weights @ moved**2 / weights.sum())
    sd[np.ptp(X[weights > 0], axis=0) == 0] = 0
    return np.divide(moved, sd, out=np.zeros_like(moved), where=sd > 0), mean, rest, sd


def restricted_likelihood(Z: Floats, Y: Floats, weights: Floats, ridge: float) -> Floats:
    """Return -2 log of the restricted likelihood of each target (K,), but for a constant.

    Targets Y (n, K) of mean 0 are Z b + noise, with b ~ N(0, s^2 / (N ridge)) and noise ~ N(0, s^2). With V
    the diagonal matrix of the weights of rows, N their sum, C = Z'VZ and R = Z'VY:
        left = Y'VY - R'(C + N ridge I)^-1 R,
        -2 log likelihood = (N - 1) log(left / (N - 1)) + log det(I + C / (N ridge)).
    """
    n = weights.sum()
    C, R, power = Z.T @ (weights[:, None] * Z), Z.T @ (weights[:, None] * Y), weights @ Y**2
    left = power - (R * np.linalg.solve(C + n * ridge * np.eye(len(C)), R)).sum(axis=0)
    left = np.maximum(left, 1e-12 * power)
    determinant = np.linalg.slogdet(np.eye(len(C)) + C / (n * ridge))[1]
    return np.asarray((n - 1) * np.log(left / (n - 1)) + determinant)


def likeliest_ridge(losses: Any, n: float) -> float:
    """Return the one of ``RIDGES`` with the lowest -2 log likelihood, the strongest of those that are as low.

    Of two rows every ridge is as likely as another, and of fewer rows than features all small ones are.
    """
    losses = np.asarray(losses)
    return float(max(RIDGES[losses <= losses.min() + 1e-6 + 1e-10 * (n - 1)]))


def discriminant(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    ridge: float | None = None,
    power: float = 0.5,
    alike: float | None = None,
) -> LinearReference:
    """Train a linear discriminant: classes with one covariance, and a ridge on standardised features.

    With z = (x - mean) / sd, the class means mu_k of z, the rows N_k of each class, N of all, C = sum of
    z_i z_i' and the columns N_k mu_k of S: A = (C + N ridge I)^-1 S is the ridge regression of the classes
    as targets of 0 and 1, and L = diag(N_k) - S'A what it leaves over. The weights for z are w = N L^-1 A',
    and the score of a class is w_k·z - w_k·mu_k / 2 + power log(N_k / N).

    By Woodbury's identity w_k = (W + ridge I)^-1 mu_k, with W the covariance within the classes. But with
    nearly as many degrees of freedom f = trace((C + N ridge I)^-1 C) as rows nothing is left over that says
    how classes differ. So L is moved towards its mean diagonal times I, all the way if f = N, and the scores
    are then those of the ridge regression: L becomes (1 - alike) L + alike trace(L) / K I, alike = (f / N)^2.

    The ridge is the one of ``RIDGES`` with the highest restricted likelihood of all classes together, each a
    target of 0 and 1.

    Examples
    --------
    >>> from sefr.reference import discriminant
    >>> model = discriminant([[1, 8], [3, 6], [2, 7], [4, 7]], ["dry", "wet", "dry", "wet"])
    >>> model.predict([[3, 6], [1, 8]]).tolist()
    ['wet', 'dry']
    """
    X = np.asarray(X, dtype=np.float64)
    weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    Z, mean, rest, sd = standardised(X, weights)
    Y = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
    if ridge is None:
        T = centred(Y, weights)[0]
        losses = [restricted_likelihood(Z, T, weights, each).sum() for each in RIDGES]
        ridge = likeliest_ridge(losses, weights.sum())
    counts = weights @ Y
    n = counts.sum()
    S = Z.T @ (weights[:, None] * Y)
    C = Z.T @ (weights[:, None] * Z)
    penalised = C + n * ridge * np.eye(len(C))
    A = np.linalg.solve(penalised, S)
    L = np.diag(counts) - S.T @ A
    if alike is None:
        alike = min(np.trace(np.linalg.solve(penalised, C)) / n, 1.0) ** 2
    L = (1 - alike) * L + alike * np.trace(L) / len(L) * np.eye(len(L))
    w = n * np.linalg.solve(L, A.T)
    mu = S.T / counts[:, None]
    bias = -(w * mu).sum(axis=1) / 2 + power * np.log(counts / counts.sum())
    w = np.divide(w, sd, out=np.zeros_like(w), where=sd > 0)
    return LinearReference(w, mean, bias - w @ rest, np.full(len(classes), ridge), classes)


def marginal_regression(X: Any, y: Any, sample_weight: Any = None) -> LinearReference:
    """Train a regression of one target (n,) or several (n, K) from each feature by itself.

    With z = (x - mean) / sd, r_j the correlation of z_j and y, drawn to 0 by what N rows have by chance,
    r <- r max(0, 1 - (1 - r^2) / ((N - 2) r^2)), and v_j = r_j / (1 - r_j^2): if the features err
    independently about y, Bayes' rule predicts y, in units of its sd, by v·z / (1 + v·r). If all of them are
    the same, v·z (v·r) / (sum_j |v_j|)^2 is the regression line. Predictions are the mean of both.

    Examples
    --------
    >>> from sefr.reference import marginal_regression
    >>> marginal_regression([[1], [2], [3], [4]], [2, 4, 6, 8]).predict([[5]]).round(3).tolist()
    [[10.0]]
    """
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    n = weights.sum()
    Z, mean, rest, sd = standardised(X, weights)
    T, level, more = centred(Y.reshape(len(Y), -1), weights)
    w = []
    for target in T.T:
        spread = np.sqrt(weights @ target**2 / n)
        r = Z.T @ (weights * target) / n / spread
        r = np.array(
            [0.0 if each == 0 else each * max(0.0, 1 - (1 - each**2) / ((n - 2) * each**2)) for each in r]
        )
        v = r / np.maximum(1 - r**2, 1e-9)
        told, size = v @ r, np.abs(v).sum()
        w.append(spread * v * (1 / (1 + told) + (told / size**2 if size else 0.0)) / 2)
    by_column = np.divide(w, sd, out=np.zeros((len(w), len(sd))), where=sd > 0)
    return LinearReference(by_column, mean, level + (more - by_column @ rest), np.zeros(len(w)))


def ridge_regression(
    X: Any, y: Any, sample_weight: Any = None, ridge: float | None = None
) -> LinearReference:
    """Train a ridge regression of one target (n,) or several (n, K) on standardised features.

    With z = (x - mean) / sd and C = sum_i z_i z_i', w = (C + N ridge I)^-1 sum_i z_i (y_i - mean of y), and a
    prediction is mean of y + w·z. The ridge of each target is the one of ``RIDGES`` with the highest
    restricted likelihood.

    Examples
    --------
    >>> from sefr.reference import ridge_regression
    >>> ridge_regression([[1], [2], [3], [4]], [2, 4, 6, 8]).predict([[5]]).round(3).tolist()
    [[10.0]]
    """
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    Z, mean, rest, sd = standardised(X, weights)
    T, level, more = centred(Y.reshape(len(Y), -1), weights)
    ridges = np.full(T.shape[1], ridge)
    if ridge is None:
        losses = np.array([restricted_likelihood(Z, T, weights, each) for each in RIDGES])
        ridges = np.array([likeliest_ridge(own, weights.sum()) for own in losses.T])
    C, R, n = Z.T @ (weights[:, None] * Z), Z.T @ (weights[:, None] * T), weights.sum()
    w = np.array(
        [np.linalg.solve(C + n * own * np.eye(len(C)), r) for own, r in zip(ridges, R.T, strict=True)]
    )
    w = np.divide(w, sd, out=np.zeros_like(w), where=sd > 0)
    return LinearReference(w, mean, level + (more - w @ rest), ridges)
