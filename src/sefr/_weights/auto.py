"""auto=True: how much each of several models is to say, from how well they do on rows that were held out.

The models are parts of one: a line, a curve per feature, and ferns. Their log probabilities are added, each
times a weight. A log probability is a score times a constant plus a constant, but for what is the same for
all classes, so that the sum is again a score that is a sum over the features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._system.types import Floats
from .._system.value import Value
from .hyperplanes import Hyperplanes, Scaling, planes_of

# That of a class that a part has never seen. No score of a held-out row says more, for or against: a value of
# 1e200 would, and its square is no float64.
LEAST_LOGIT = -1e3
# What people are told of the parts.
IN_WORDS = {"line": "lines", "bins": "curves", "ferns": "interactions", "sum": "sum"}


@dataclass(frozen=True)
class AutoChoice(Value):
    """What ``auto=True`` chose.

    ``weights`` say how much each part counts: "line", "bins" and "ferns", of those that there are.
    ``log_loss`` is that of each on ``n_held_out`` rows that it has not seen, and of their "sum".
    """

    weights: Mapping[str, float]
    log_loss: Mapping[str, float]
    n_ferns: int
    n_held_out: int

    @property
    def panels(self) -> tuple[tuple[str, Mapping[str, float]], ...]:
        """What a picture of it shows, in words: titles, and a value per part."""
        loss = f"log loss of {self.n_held_out:,} rows held out"
        return ("weight", _in_words(self.weights)), (loss, _in_words(self.log_loss))


@dataclass(frozen=True)
class Auto(Value):
    """What was chosen, and the lines beside the cells with their midpoints (R, m); None if they say nothing.

    ``values`` are the mean values of the rows in each cell of a feature, as in ``CellTable``.
    """

    choice: AutoChoice
    lines: Hyperplanes | None
    midpoints: Floats
    values: Floats


def _in_words(parts: Mapping[str, float]) -> dict[str, float]:
    return {IN_WORDS[part]: value for part, value in parts.items()}


def lines_of(scaling: Scaling, weights: Floats, midpoints: Floats) -> Hyperplanes:
    """Return lines that are w (x' - t), with t the midpoints."""
    return planes_of(scaling, weights, np.asarray(-(weights * midpoints).sum(axis=1)))


@dataclass(frozen=True)
class HeldOutParts:
    """What P parts say of n rows that they have not seen, beyond what is known without them.

    The probabilities of a part are the softmax of its ``logits`` (P, n, K) plus ``base`` (n, K), the
    logarithm of the shares of the classes.
    """

    logits: Floats
    base: Floats
    codes: NDArray[np.int32]
    weights: Floats

    @cached_property
    def weighed(self) -> tuple[Floats, Floats]:
        """The weights (P,), none below 0, of the least log loss, and losses (P + 1,): see ``weigh_parts``."""
        n_parts, n_classes = len(self.logits), self.base.shape[1]
        shares, losses = np.empty(n_parts), np.empty(n_parts + 1)
        known = (self.base, self.codes, self.weights)
        _native.weigh_parts(self.logits.reshape(-1, n_classes), *known, shares, losses)
        return shares, losses
