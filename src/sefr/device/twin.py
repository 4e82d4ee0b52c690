"""The board in the process: the device library itself, compiled into the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classifier import SEFRClassifier
from . import _twin
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


class Twin:
    """A model as a board runs it.

    Parameters
    ----------
    clf : SEFRClassifier
        Trained.
    weights : {"int8", "int16"}
        Size of a weight on the board.
    input : {"uint8", "int16", "int32", "float"}, default=None
        Type of the raw values on the board; None chooses (see ``quantise``).

    Attributes
    ----------
    quantised : Quantised
        Weights, bias and ranges, as they are exported.

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

    def __init__(self, clf: SEFRClassifier, weights: str = "int8", input: str | None = None) -> None:
        self.quantised = quantise(clf, weights, input)
        self._clf = clf

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the board answers to raw values (n, m), to the bit."""
        q = self.quantised
        records = np.ascontiguousarray(q.bytes_of(X))
        answers = np.empty(len(records), np.uint8)
        weights, bias = np.ascontiguousarray(q.weights), np.array(q.bias, np.int64)
        if q.wide:
            weights = weights.astype(np.int16)
        else:
            bias = bias.astype(np.int32)
        bits = 16 if q.wide else 8
        _twin.classify(bits, q.n_features, len(q.classes), weights, bias, records, answers)
        result: NDArray[Any] = q.classes[answers]
        return result

    def loss(self, X: Any, y: Any) -> Loss:
        """Return what quantisation costs on rows with known labels, before anything is flashed."""
        host, board = self._clf.predict(X), self.predict(X)
        y = np.asarray(y)
        return Loss(
            float(np.mean(host == y)), float(np.mean(board == y)), int(np.sum(host != board)), len(board)
        )
