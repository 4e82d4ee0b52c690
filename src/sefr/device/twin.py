"""The board in the process: the device library itself, compiled into the package."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score

from .._system.types import Array
from ..classifier import SEFRClassifier
from ..regressor import SEFRRegressor
from .folding import fold
from .numbers import QuantisedNumbers
from .quantise import quantise


@dataclass(frozen=True)
class Loss:
    """What the board's integers cost: accuracy on both sides, and how many answers differ.

    Examples
    --------
    >>> from sefr.device import Loss
    >>> print(Loss(host=0.9, board=0.89, differing=3, rows=200))
    host 0.9000, board 0.8900: +0.0100 lost, 3 of 200 answers differ
    """

    host: float
    board: float
    differing: int
    rows: int

    @property
    def accuracy_lost(self) -> float:
        """Accuracy of the host's model minus that of the board's; below 0 where the board does better."""
        return self.host - self.board

    def __str__(self) -> str:
        return (
            f"host {self.host:.4f}, board {self.board:.4f}: {self.accuracy_lost:+.4f} lost, "
            f"{self.differing} of {self.rows} answers differ"
        )


@dataclass(frozen=True)
class NumberLoss:
    """What the board's integers cost a regressor: R2 on both sides, and how far answers are apart.

    Examples
    --------
    >>> from sefr.device import NumberLoss
    >>> print(NumberLoss(host=0.9, board=0.8999, largest=0.06, unit=0.1))
    R2: host 0.9000, board 0.8999; answers in units of 0.1, at most 0.06 from those of the host
    """

    host: float
    board: float
    largest: float
    unit: float

    def __str__(self) -> str:
        return (
            f"R2: host {self.host:.4f}, board {self.board:.4f}; answers in units of {self.unit:g}, at most "
            f"{self.largest:.3g} from those of the host"
        )


class Twin:
    """A model as a board runs it.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        Trained.
    weights : {"int8", "int16"}, default=None
        Size of a weight on the board; None chooses (see ``quantise``).
    input : {"uint8", "int16", "int32", "float"}, default=None
        Type of the raw values on the board; None chooses (see ``quantise``).
    folded : bool
        As in ``export``.
    unit : float, default=None
        Of a regressor: what an answer of 1 stands for; None chooses (see ``quantise``).

    Attributes
    ----------
    quantised : Quantised, QuantisedTable, QuantisedLine or Folded
        Weights, bias and ranges, or the table of a model with bins, as they are exported.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sefr import SEFRClassifier
    >>> from sefr.device import Twin
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = SEFRClassifier().fit(X[:1000], y[:1000])
    >>> print(Twin(clf, weights="int8").loss(X[1000:], y[1000:]))
    host 0.8281, board 0.8256: +0.0025 lost, 8 of 797 answers differ
    """

    def __init__(
        self,
        clf: SEFRClassifier | SEFRRegressor,
        weights: str | None = None,
        input: str | None = None,
        *,
        folded: bool = False,
        unit: float | None = None,
    ) -> None:
        self._clf = copy(clf)  # as it is now: what it learns later is not on the board
        self.quantised = fold(self._clf) if folded else quantise(self._clf, weights, input, unit)

    def predict(self, X: ArrayLike) -> Array:
        """Return what the board answers to raw values (n, m), to the bit; numbers times their unit."""
        if isinstance(self.quantised, QuantisedNumbers):
            return self.quantised.answers(X) * self.quantised.unit
        result: Array = self.quantised.classes[self.quantised.answers(X)]
        return result

    def scores(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the board's scores of raw values, (n, 1) for two classes or (n, K), to the bit."""
        return self.quantised.scores(X)

    def leads(self, X: ArrayLike) -> NDArray[np.uint64]:
        """Return how far each answer leads: the size of the score, or the highest score less the next.

        Below a board's ``margin`` the answer is "don't know". What ``sefr_lead`` gives is the same with int8
        weights, and a 65536th with int16.
        """
        if isinstance(self.quantised, QuantisedNumbers):
            raise ValueError("a model that predicts numbers has no leads: there is no other answer")
        scores = np.sort(self.scores(X), axis=1)
        if scores.shape[1] == 1:
            return np.abs(scores[:, 0]).astype(np.uint64)
        # the lowest number of the type stands for a class that never wins: subtract without a sign
        result: NDArray[np.uint64] = scores[:, -1].astype(np.uint64) - scores[:, -2].astype(np.uint64)
        return result

    def margin(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        accuracy: float | None = None,
        coverage: float | None = None,
    ) -> int:
        """Choose the margin below which a board says "don't know".

        Give either ``accuracy``: the least margin with which the answers that remain are that accurate on
        ``X`` and ``y``; or ``coverage``: the largest margin with which at least this share of ``X`` is
        answered.
        """
        if (accuracy is None) == (coverage is None):
            raise ValueError("give either accuracy or coverage")
        leads = self.leads(X)
        if len(leads) == 0:
            raise ValueError("no rows to choose a margin from")
        order = np.argsort(leads, kind="stable")
        if coverage is not None:
            if not 0 < coverage <= 1:
                raise ValueError(f"coverage must be above 0 and at most 1, not {coverage!r}")
            return int(leads[order[int(len(leads) * (1 - coverage) + 1e-9)]])
        wanted = float(accuracy or 0)
        right = (self.predict(X) == np.asarray(y))[order]
        remaining = np.cumsum(right[::-1])[::-1] / np.arange(len(right), 0, -1)
        first = np.r_[True, np.diff(leads[order]) > 0]  # equal leads are answered together or not at all
        found = np.flatnonzero((remaining >= wanted) & first)
        if len(found) == 0:
            raise ValueError(
                f"no margin reaches an accuracy of {wanted:g}: the clearest answers have "
                f" {remaining[first][-1]:.4f}"
            )
        return 0 if found[0] == 0 else int(leads[order[found[0]]])

    def loss(self, X: ArrayLike, y: ArrayLike) -> Loss | NumberLoss:
        """Return what quantisation costs on rows with known labels or numbers, before anything is flashed."""
        host, board = self._clf.predict(X), self.predict(X)
        y = np.asarray(y)
        if isinstance(self.quantised, QuantisedNumbers):
            on_host, on_board = (float(r2_score(y, side)) for side in (host, board))
            return NumberLoss(on_host, on_board, float(np.abs(host - board).max()), self.quantised.unit)
        return Loss(
            float(np.mean(host == y)), float(np.mean(board == y)), int(np.sum(host != board)), len(board)
        )
