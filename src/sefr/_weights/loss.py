"""The loss of labels: the logistic one of a single score (two classes), softmax of one score per class.

Here it is for a few rows in float64; passes over all rows are made by ``native/``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._system.types import Floats


def softmax(logits: Floats) -> Floats:
    """Return the probability of every class (n, K), in the place of the logits."""
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def row_losses(scores: Floats, codes: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return the loss of each row (n,), and probabilities (n, R), of several scores in the place of these."""
    if scores.shape[1] == 1:
        own = np.where(codes == 1, -scores[:, 0], scores[:, 0])
        return np.logaddexp(0, own), np.asarray(expit(scores))
    scores -= scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(codes)), codes]
    likely = np.exp(scores, out=scores)
    total = likely.sum(axis=1)
    likely /= total[:, None]
    return np.log(total) - own, likely
