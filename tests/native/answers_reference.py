"""Probabilities, the weights of parts and rows that are left out in plain numpy: what C must equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.special import expit, log_softmax, softmax

OFFSET_VARIANCE, TEMPERATURE_PRECISION, SURE_OF_SCORES, FARTHEST_GAPS = 25.0, 4.0, 3.0, 1e3
MOST_EVIDENCE = 2.0**30
HOLD = 2.0


def lowest(slopes, value, theta, bounded):
    """Return the minimum of a convex function, by Newton's method; some variables stay at 0 or above."""
    for _ in range(100):
        gradient, curvature = slopes(theta)
        free = ~bounded
        # the quadratic's minimum: of the free variables given the others, then of these
        inner = curvature[np.ix_(free, free)]
        across = curvature[np.ix_(free, bounded)]
        wanted = curvature @ theta - gradient
        reduced = curvature[np.ix_(bounded, bounded)] - across.T @ np.linalg.solve(inner, across)
        root = np.linalg.cholesky(reduced)
        goal = wanted[bounded] - across.T @ np.linalg.solve(inner, wanted[free])
        to = np.empty_like(theta)
        to[bounded] = nnls(root.T, np.linalg.solve(root, goal))[0]
        to[free] = np.linalg.solve(inner, wanted[free] - across @ to[bounded])
        step, shrink = to - theta, 1.0
        while value(theta + shrink * step) > value(theta) * (1 + 1e-13) and shrink > 1e-9:
            shrink /= 2
        theta = theta + shrink * step
        if np.abs(shrink * step).max() < 1e-13 * (1 + np.abs(theta).max()):
            break
    return theta


@dataclass
class Likelihood:
    """Minus the logarithm of how likely the labels are, as a function of 1 / T and the offsets."""

    gaps: np.ndarray
    size: float
    target: np.ndarray
    shares: np.ndarray
    weights: np.ndarray
    centre: np.ndarray
    precision: np.ndarray

    @classmethod
    def of(cls, scores, codes, weights, evidence, counts, prior):
        """Return it for rows, what the classes weigh, and (1 / T, offsets, precision) of earlier ones."""
        scores = np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores
        n_rows, n_classes = scores.shape
        evidence = evidence * (MOST_EVIDENCE / max(float(evidence.sum()), MOST_EVIDENCE))
        if counts is not None:
            own = np.bincount(codes, weights, minlength=n_classes)
            weights = weights * np.divide(counts, own, out=np.ones(n_classes), where=own > 0)[codes]
        weights = weights * (evidence.sum() / weights.sum())
        gaps = scores - scores.max(axis=1, keepdims=True)
        second = np.sort(gaps, axis=1)[:, -2]
        behind = np.isfinite(second) & (second < 0)
        size = -float(np.average(second[behind], weights=weights[behind])) if weights[behind].any() else 1.0
        gaps = np.maximum(gaps / size, -FARTHEST_GAPS)
        found = np.bincount(codes, evidence, minlength=n_classes)
        sure = 1 - 2 / n_classes / (found + 2)
        rows, target, rivals = np.arange(n_rows), np.zeros_like(gaps), gaps.copy()
        rivals[rows, codes] = -np.inf
        target[rows, rivals.argmax(axis=1)] = (1 - sure)[codes]
        target[rows, codes] = sure[codes]
        centre = np.zeros(n_classes + 1)
        outside = max(1.0, float(found.sum() - found.max()))
        precision = np.append(TEMPERATURE_PRECISION / outside, np.full(n_classes, 1 / OFFSET_VARIANCE))
        if prior is not None:
            known = prior[2] * np.append(1 / size**2, np.ones(n_classes))
            centre = np.append(prior[0] * size, prior[1]) * known / (precision + known)
            precision = precision + known
        shares = np.bincount(codes, weights, minlength=n_classes) / weights.sum()
        return cls(gaps, size, target, shares, weights, centre, precision)

    def value(self, theta):
        """Return what is minimised."""
        logs = log_softmax(theta[0] * self.gaps + theta[1:], axis=1)
        held = self.precision @ (theta - self.centre) ** 2 / 2
        return held - self.weights @ (self.target * logs).sum(axis=1)

    def slopes(self, theta):
        """Return its derivatives, the second ones with every class written out."""
        likely, weights = softmax(theta[0] * self.gaps + theta[1:], axis=1), self.weights
        offsets = np.eye(len(theta) - 1)[None].repeat(len(likely), 0)
        columns = np.concatenate([self.gaps[:, :, None], offsets], axis=2)
        mean = np.einsum("sk,skc->sc", likely, columns)
        error = (likely - self.target) * weights[:, None]
        gradient = np.einsum("sk,skc->c", error, columns) + self.precision * (theta - self.centre)
        moved = columns - mean[:, None]
        curvature = np.einsum("sk,skc,skd->cd", likely * weights[:, None], moved, moved)
        return gradient, curvature + np.diag(self.precision)

    def minimum(self, theta, moving):
        """Return the lowest point among those where only the first so many of theta move."""

        def whole(part):
            return np.append(part, theta[moving:])

        def slopes(part):
            gradient, curvature = self.slopes(whole(part))
            return gradient[:moving], curvature[:moving, :moving]

        bounded = np.arange(moving) == 0
        return whole(lowest(slopes, lambda part: self.value(whole(part)), theta[:moving], bounded))


def fit_scaling(scores, codes, weights, evidence, counts=None, prior=None):
    """Return 1 / T, the offsets, and how well each is known."""
    problem = Likelihood.of(scores, codes, weights, evidence, counts, prior)
    n = len(problem.centre)
    theta = problem.minimum(np.append(max(problem.centre[0], 1.0), problem.centre[1:]), n)
    if prior is None or not prior[1].any():
        of_one = np.log(max(2.0, problem.weights.sum())) / 2
        plain = problem.minimum(np.append(1.0, np.zeros(n - 1)), 1)
        if problem.value(plain) - problem.value(theta) < n - 2:
            theta = plain
        base = np.append(0.0, np.log(np.maximum(problem.shares, 1e-300)))
        if problem.value(base) - problem.value(theta) < SURE_OF_SCORES * of_one:
            theta = base
    learned = np.diag(problem.slopes(theta)[1]) - problem.precision
    learned[0] *= problem.size**2
    return theta[0] / problem.size, theta[1:], learned + (0.0 if prior is None else prior[2])


def log_loss_of(shares, logits, base, codes, weights):
    """Return the log loss of a sum of parts, each times its share."""
    logs = log_softmax(np.tensordot(shares, logits, 1) + base, axis=1)
    return -weights @ logs[np.arange(len(codes)), codes] / weights.sum()


def held_loss(shares, logits, base, codes, weights):
    """Return it with the squared distance from the last part alone."""
    away = shares - np.eye(len(logits))[-1]
    return log_loss_of(shares, logits, base, codes, weights) + HOLD / weights.sum() * away @ away


def weigh_parts(logits, base, codes, weights):
    """Return the shares, none below 0, of the lowest of these."""
    alone = np.eye(len(logits))[-1]
    hold, own = HOLD / weights.sum(), weights / weights.sum()

    def value(shares):
        return held_loss(shares, logits, base, codes, weights)

    def slopes(shares):
        likely = softmax(np.tensordot(shares, logits, 1) + base, axis=1)
        mean = (logits * likely).sum(axis=2)
        moved = logits - mean[:, :, None]
        gradient = (mean - logits[:, np.arange(len(codes)), codes]) @ own + 2 * hold * (shares - alone)
        curvature = np.einsum("s,sk,psk,qsk->pq", own, likely, moved, moved)
        return gradient, curvature + 2 * hold * np.eye(len(shares))

    return lowest(slopes, value, alone, np.ones(len(alone), dtype=bool))


def chances(scores):
    """Return the probabilities that scores stand for; of one score, that of code 1."""
    return expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1)


def moved(scores, codes, far, over):
    """Return scores that moved along their residuals."""
    likely = chances(scores)
    truth = (codes == 1)[:, None] if scores.shape[1] == 1 else np.eye(scores.shape[1])[codes]
    return scores + far[:, None] * (likely - truth) / over(likely)


def leverage_of_all(likely, pushes, shares, vectors, ridge):
    """Return the leverage of rows of two classes: x' H^-1 x, H the curvature of the loss."""
    rows = np.hstack([vectors, np.ones((len(vectors), 1))])
    curvature = (rows * (shares * likely[:, 0] * (1 - likely[:, 0]))[:, None]).T @ rows
    least = 1e-12 * np.trace(curvature) / len(curvature)
    curvature += max(ridge, least, 1e-300) * np.eye(len(curvature))
    return pushes * np.einsum("ij,ji->i", rows, np.linalg.solve(curvature, rows.T))


def leverage_of_pairs(likely, weights, pushes, lengths, ridge, width, gram, own):
    """Return the leverage of rows that share as many directions as the mean squared product of two tells."""
    own = own * (MOST_EVIDENCE / max(own.max(), MOST_EVIDENCE))
    squares = np.outer(own, own) * gram**2
    alike = max(0.0, squares.sum() - own @ np.diag(gram) ** 2)
    shared = alike / max(1e-300, (own @ np.diag(gram)) ** 2 - own @ np.diag(gram) ** 2)
    curvature = np.average((likely * (1 - likely)).mean(axis=1), weights=weights)
    return pushes * lengths / (curvature * max(shared, 1 / max(1, width)) + ridge)


def reach_of_spectrum(likely, shares, pushes, lengths, ridge, gram, own_weights, own_shares):
    """Return the reach of rows: the root of what the curvature along a score is under a weaker ridge."""
    root = np.sqrt(own_shares / own_shares.sum())
    spectrum = np.maximum(np.linalg.eigvalsh(gram * root * root[:, None]), 0)
    doubt, n_rows = (likely * (1 - likely)).mean(axis=1), max(own_weights.sum(), len(gram))
    pushes = pushes * (1 - 1 / likely.shape[1]) if likely.shape[1] > 1 else pushes

    def under(logarithm):
        weaker = np.exp(logarithm)
        determined = (spectrum / (spectrum + weaker)).sum()
        curvature = ridge * max(1 - determined / n_rows, 1 / 4) / weaker
        return pushes * (lengths / spectrum.sum() * determined + 1) / curvature, curvature

    # the least curvature is where rows alone hold their scores
    most, least = shares @ doubt, shares @ (doubt / (1 + pushes * lengths / ridge * doubt))
    low, high = np.log(ridge / most) - 20, np.log(ridge / least)
    for _ in range(60):
        reach, curvature = under((low + high) / 2)
        if curvature > shares @ (doubt / (1 + reach * doubt)):
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    return under(high)[0]


def leave_one_out(scores, codes, weights, shares, class_weights, lengths, ridge, by, width, known, *some):
    """Return scores as if each row had been left out; of ``known`` rows their weights, shares, say."""
    likely, pushes = chances(scores), class_weights[codes] * np.minimum(weights, 1)
    if by == 0:
        far = leverage_of_all(likely, pushes, shares, known, ridge)
    elif by == 1:
        far = leverage_of_pairs(likely, weights, pushes, lengths, ridge, width, known, some[0])
    else:
        far = some[2] * reach_of_spectrum(likely, shares, pushes, lengths, ridge, known, *some[:2])
        return moved(scores, codes, far, np.ones_like)
    return moved(scores, codes, far, lambda p: np.maximum(1 - far[:, None] * p * (1 - p), 0.5))
