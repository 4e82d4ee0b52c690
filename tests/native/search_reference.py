"""The search between passes in plain numpy: what ``native/refine/search.c`` must equal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

STALLED, PARALLEL, MEMORY = 1e-4, 1e-6, 10


@dataclass
class Problem:
    """A penalised loss: of rows (n, m) at hand; steps are chosen on some of them, ``sampled``."""

    rows: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    n_scores: int
    ridge: float
    sampled: slice | None = None
    unit: float = 1.0
    prior: tuple[np.ndarray, np.ndarray] | None = None  # mean and precision

    @property
    def n_weights(self) -> int:
        return self.n_scores * self.rows.shape[1]

    @property
    def some(self) -> slice:
        """The rows that steps are chosen on."""
        return slice(None) if self.sampled is None else self.sampled

    def scores(self, point, rows=slice(None)):
        coef = point[: self.n_weights].reshape(self.n_scores, -1) * self.unit
        return self.rows[rows] @ coef.T + point[self.n_weights :]

    def of_rows(self, point):
        """Return the mean loss of all rows and its derivatives by the model."""
        loss, residual, _ = derivatives(self.scores(point), self.codes, self.weights)
        return loss, residual.T @ self.rows, residual.sum(axis=0)

    def penalty(self, point):
        """Return value and gradient."""
        gradient = self.ridge * point
        gradient[self.n_weights :] = 0
        value = gradient @ point / 2
        if self.prior is not None:
            mean, precision = self.prior
            gradient = gradient + precision * (point - mean)
            value += precision @ (point - mean) ** 2 / 2
        return value, gradient

    def at(self, point):
        """Return loss and gradient, the penalty included."""
        (loss, coef, intercept), (value, gradient) = self.of_rows(point), self.penalty(point)
        return loss + value, gradient + np.concatenate([coef.ravel() * self.unit, intercept])


def derivatives(z, codes, weights):
    """Return loss, its derivatives by the scores (n, R), and probabilities."""
    if z.shape[1] == 1:
        own = np.where(codes == 1, -z[:, 0], z[:, 0])
        likely = 1 / (1 + np.exp(-z))
        return weights @ np.logaddexp(0, own), weights[:, None] * (likely - (codes == 1)[:, None]), likely
    z = z - z.max(axis=1, keepdims=True)
    likely = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    truth = codes[:, None] == np.arange(z.shape[1])
    return -weights @ np.log(likely[truth]), weights[:, None] * (likely - truth), likely


def best_mixture(scores, codes, weights, hessian, start, slope=None):
    """Return the shares of points whose scores (q, n, R) are given, by Newton's method from ``start`` on."""
    root = np.sqrt((scores**2).sum(axis=(1, 2)) / len(codes))
    unit = 1 / np.where(root > 1e-150, root, 1.0)  # a point without scores has no size
    a, hessian, correction = start / unit, hessian * np.outer(unit, unit), 0.0
    scores = scores * unit[:, None, None]

    def at(a):
        loss, residual, likely = derivatives(np.tensordot(a, scores, 1), codes, weights)
        gradient = np.einsum("qnr,nr->q", scores, residual) + hessian @ a
        if scores.shape[2] == 1:
            curved = weights * (likely * (1 - likely))[:, 0]
            curvature = np.einsum("n,qn,pn->qp", curved, scores[..., 0], scores[..., 0])
        else:
            mean = np.einsum("nr,qnr->qn", likely, scores)
            curvature = np.einsum("n,nr,qnr,pnr->qp", weights, likely, scores, scores)
            curvature -= np.einsum("n,qn,pn->qp", weights, mean, mean)
        loss += a @ hessian @ a / 2 + np.sum(correction * (a - start / unit))
        return loss, gradient + correction, curvature + hessian

    if slope is not None:
        correction = slope * unit - at(a)[1]
    loss, gradient, curvature = at(a)
    for _ in range(25):
        least = 1e-10 * np.trace(curvature) / len(a)
        step, size = -np.linalg.solve(curvature + least * np.eye(len(a)), gradient), 1.0
        while size > 1e-4 and not at(a + size * step)[0] <= loss + 1e-4 * size * (gradient @ step):
            size /= 2
        if size <= 1e-4:
            break
        a, gain = a + size * step, loss
        loss, gradient, curvature = at(a)
        if gain - loss <= 1e-4 * abs(loss):
            break
    return a * unit


def two_loops(gradient, pairs):
    """Return the direction of L-BFGS as textbooks have it."""
    q, shares = -gradient, []
    for step, change in reversed(pairs):
        shares.append((step @ q) / (step @ change))
        q = q - shares[-1] * change
    if pairs:
        step, change = pairs[-1]
        q = q * (step @ change) / (change @ change)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        q = q + step * (share - (change @ q) / (step @ change))
    return q


@dataclass
class Search:
    """The search; ``tried`` is the point of the next pass, None at the end."""

    problem: Problem
    point: np.ndarray
    loss: float
    gradient: np.ndarray
    pairs: list = field(default_factory=list)
    failures: int = 0

    def __post_init__(self):
        self.best = (np.inf, self.point, self.gradient)
        self.failed, self.stalled, self.tried = None, 0, None

    def try_points(self, points, start=None):
        self.tried = points[0] if start is None else self.mixed(points, start) @ points

    def mixed(self, points, start, slope=None):
        p, weights = self.problem, points[:, : self.problem.n_weights]
        hessian = p.ridge * weights @ weights.T
        if p.prior is not None:
            hessian = hessian + (points * p.prior[1]) @ points.T
        scores = np.array([p.scores(point, p.some) for point in points])
        some = p.weights[p.some] / p.weights[p.some].sum()
        return best_mixture(scores, p.codes[p.some], some, hessian, start, slope)

    def make_pass(self):
        """Make a pass at the point that is tried, and choose the next; return the lowest loss so far."""
        tried = (*self.problem.at(self.tried), self.tried)
        loss, gradient, point = tried
        step, change = point - self.point, gradient - self.gradient
        if np.isfinite(self.loss) and step @ change > 1e-10 * np.linalg.norm(step) * np.linalg.norm(change):
            self.pairs = [*self.pairs, (step, change)][-MEMORY:]
        gain = min(self.loss, self.best[0]) - loss
        if loss < self.best[0]:
            self.best = (loss, point, gradient)
        if loss < self.loss:
            self.loss, self.point, self.gradient = loss, point, gradient
        small = STALLED * abs(self.best[0])
        self.failed = tried if gain < -small else None
        self.stalled = self.stalled + 1 if abs(gain) < small else 0
        return self.best[0]

    def choose(self):
        """Choose the point of the next pass."""
        self.tried = None
        if self.stalled == 2:
            return
        if self.failed is not None:
            self.failures += 1
            self.tried = self.between(*self.failed)
            return
        direction = two_loops(self.gradient, self.pairs)
        if not direction @ self.gradient < 0:
            return
        points = [self.point, direction]
        if self.pairs:
            last = self.pairs[-1][0]
            if not (last @ self.point) ** 2 >= (1 - PARALLEL) * (last @ last) * (self.point @ self.point):
                points.append(last)
        points = np.array(points)
        self.tried = self.mixed(points, np.eye(3)[0][: len(points)], points @ self.gradient) @ points

    def between(self, loss, gradient, point):
        """Return the lowest point of the cubic through two points with their slopes."""
        step = point - self.point
        down, up = self.gradient @ step, gradient @ step
        rise = 3 * (self.loss - loss) + down + up
        root = np.sqrt(max(rise * rise - down * up, 0.0))
        part = 1 - (up + root - rise) / (up - down + 2 * root) if up - down + 2 * root > 0 else 0.5
        return self.point + min(max(part, 0.1), 0.9) * step
