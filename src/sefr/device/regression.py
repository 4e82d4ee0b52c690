"""Least squares in integers, as ``sefr_regress`` on a board learns numbers, to the bit."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .learner import Integers, Taught, checked_half_life, symmetric, triangle, whole_row
from .state import StateError

MOST = 65535  # SEFR_REGRESS_RECORDS
MAGIC = b"SEFL"
# magic, version, solved, half_life, inputs, sequence, id, count, sum of y: as sefr_regress.h has it
HEAD = struct.Struct("<4sBBHIIIIi")
FRACTION, RIDGE, ROUNDS, MOST_WEIGHT = 10, 10, 30, 1 << 25


class Regression(Taught):
    """Numbers learned from records of bytes by least squares: what a board with ``sefr_regress.h`` has.

    The header ``sefr_regress.h`` has the definition. Sums of several boards add up exactly (``merge``), and a
    board goes on from them (``state``).

    Parameters
    ----------
    half_life : int, default=32767
        When 2 ``half_life`` records are learned, they count half from then on; 1 to 32767.

    Attributes
    ----------
    count : int
        Records learned.
    total : int
        Sum of y.
    sums, products : arrays of shape (m,)
        Sums of the inputs, and of each input times y.
    squares : array of shape (m, m)
        Sums of the products of inputs.
    weights : array of shape (m,)
        After ``solve``: in units of y per step of an input, times 2**``shift``.
    bias, shift : int
        After ``solve``.
    id : int
        What a board says its inputs and y mean; 0 unless set.

    Examples
    --------
    >>> import numpy as np
    >>> from sefr.device import Regression
    >>> X = np.random.default_rng(0).integers(0, 256, (200, 2))
    >>> model = Regression().learn(X, 30 * X[:, 0] - 7 * X[:, 1] + 500).solve()
    >>> model.predict([[10, 0], [0, 100]])
    array([ 802, -196])
    """

    _axes = ("features",)
    _kind, _magic, _head = "a regression", MAGIC, HEAD
    _targets_called = "numbers"
    _added = ("count", "total", "sums", "squares", "products")

    def __init__(self, half_life: int = MOST // 2) -> None:
        self.half_life = checked_half_life(half_life, MOST // 2)
        self.count = self.total = 0
        self.squares: Integers = np.zeros((0, 0), np.int64)
        self.products: Integers = np.zeros(0, np.int64)
        self.weights: Integers | None = None
        self.bias = self.shift = 0

    def solve(self) -> Regression:
        """Compute weights and bias; learning can go on."""
        n = self.count
        if self.sums is None or n < 2:
            raise ValueError(f"two records are needed, {n} were learned")
        S, Q, P = self.sums.tolist(), self.squares.tolist(), self.products.tolist()
        m = len(S)
        A = [[n * Q[i][j] - S[i] * S[j] for j in range(m)] for i in range(m)]
        t = shift_of(A)
        A = [[value >> t for value in row] for row in A]
        b = [(n * P[j] - S[j] * self.total) >> t << FRACTION for j in range(m)]
        w = gauss_seidel(A, [d + (d >> RIDGE) + 1 if d > 0 else 0 for d in (A[j][j] for j in range(m))], b)
        k = narrowing(w)
        weights = [rounded(value, k) for value in w]
        self.weights = np.array(weights, np.int64)
        self.bias = ((self.total << FRACTION >> k) - sum(v * s for v, s in zip(weights, S, strict=True))) // n
        self.shift = FRACTION - k
        return self

    def predict(self, X: ArrayLike) -> Integers:
        """Return the answer of a board for each record, in the unit of y."""
        if self.weights is None:
            raise ValueError("learn records and call solve() first")
        sums = self._records(X) @ self.weights + self.bias
        if self.shift > 0:
            sums = (sums + (1 << (self.shift - 1))) >> self.shift
        return np.asarray(np.clip(sums << max(-self.shift, 0), -32768, 32767), np.int64)

    def state(self) -> bytes:
        """Return what ``sefr_regress_send`` of a board with the same sums would write."""
        if self.count > MOST:
            raise ValueError(f"{self.count} records do not fit a board, which holds {MOST}: decay() first")
        solved, m = self.weights is not None, len(self._learned)
        fields = (solved, self.half_life, m, 0, self.id, self.count, self.total)
        arrays = (("<u4", self.sums), ("<u4", triangle(self.squares)), ("<i5", self.products))
        return self._packed(fields, *arrays)

    @classmethod
    def from_state(cls, data: bytes) -> Regression:
        """Return what a board learned, from what it sent; solved, if it was.

        Examples
        --------
        >>> from sefr.device import Regression
        >>> sent = Regression().learn([[10], [20], [30]], [100, 200, 300]).solve().state()
        >>> Regression.from_state(sent).predict([[25]]).tolist()
        [250]
        """
        solved, half_life, m, _, number, count, total = cls._fields(data)
        layout = (("<u4", m), ("<u4", m * (m + 1) // 2), ("<i5", m))
        sums, squares, products = cls._arrays(data, *layout)
        if (
            not 1 <= half_life <= MOST // 2
            or not 2 * (solved == 1) <= count <= MOST
            or solved > 1
            or not 1 <= m <= cls._most_features
            or not -32768 * count <= total <= 32767 * count
            or (sums > 255 * count).any()
            or (squares > 65025 * count).any()
            or ((products > 255 * 32767 * count) | (products < -255 * 32768 * count)).any()
        ):
            raise StateError("no records could have left this state")
        found = cls(half_life)
        found.id, found.count, found.total = number, count, total
        found.sums, found.squares, found.products = sums, symmetric(squares, m), products
        return found.solve() if solved else found

    @property
    def _n(self) -> int:
        return self.count

    def _shape(self, m: int) -> None:
        self.sums, self.products = np.zeros((2, m), np.int64)
        self.squares = np.zeros((m, m), np.int64)

    def _add(self, records: Integers, targets: Integers, sign: int) -> None:
        self.count += sign * len(records)
        self.total += sign * int(targets.sum())
        self.sums = self._learned + sign * records.sum(axis=0)
        self.squares = self.squares + sign * (records.T @ records)
        self.products = self.products + sign * (records.T @ targets)

    def _targets(self, y: ArrayLike) -> Integers:
        return whole_row(y, -32768, 32767, "y")

    def _refuse_others(self, records: Integers, targets: Integers) -> None:
        if len(records) != len(targets) or len(records) > self.count:
            raise ValueError(f"{len(records)} records, {len(targets)} numbers, {self.count} were learned")


def shift_of(A: list[list[int]]) -> int:
    """Return the least shift that makes every cell of the diagonal fit 31 bits."""
    return max(0, max(max(row[j] for j, row in enumerate(A)), 1).bit_length() - 31)


def gauss_seidel(A: list[list[int]], diagonal: list[int], b: list[int]) -> list[int]:
    """Return w of A w = b by the rounds of ``body/gauss_seidel.h``.

    ``diagonal`` is that of A with its ridge, 0 for an empty column; b is in the fractions of a weight.
    """
    m = len(b)
    w = [0] * m
    for _ in range(ROUNDS):
        before = w[:]
        for j, d in enumerate(diagonal):
            if d > 0:
                left = b[j] - sum(A[j][k] * w[k] for k in range(m) if k != j)
                w[j] = min(max((2 * left + d) // (2 * d), -MOST_WEIGHT), MOST_WEIGHT)
        if w == before:
            break
    return w


def rounded(value: int, k: int) -> int:
    """Return the value over 2**k to the nearest."""
    return (value + (1 << k >> 1)) >> k


def narrowing(w: Sequence[int]) -> int:
    """Return the least k that makes every weight fit 16 bits."""
    return min(k for k in range(12) if all(-32768 <= rounded(value, k) <= 32767 for value in w))


def hats(values: ArrayLike, n_hats: int) -> NDArray[np.uint8]:
    """Return a sensor's bytes (n,) as ``n_hats`` inputs, for a curve: ``sefr_regress_hats``.

    Examples
    --------
    >>> from sefr.device import hats
    >>> hats([0, 32, 255], 5)
    array([[255,   0,   0,   0,   0],
           [127, 128,   0,   0,   0],
           [  0,   0,   0,   0, 255]], dtype=uint8)
    """
    if not 2 <= n_hats <= 17:
        raise ValueError(f"n_hats must be 2 to 17, not {n_hats!r}")
    codes = whole_row(values, 0, 255, "values")
    place = codes * (n_hats - 1)
    hat, right = place // 255, place % 255
    result, rows = np.zeros((len(codes), n_hats + 1), np.uint8), np.arange(len(codes))
    result[rows, hat + 1] = right
    result[rows, hat] = 255 - right
    return result[:, :n_hats]
