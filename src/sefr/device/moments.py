"""Classes by second moments, as ``sefr_moments`` on a board learns them, to the bit."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .._summary.double_double import DoubleDouble
from .._summary.products import Products, pack
from .._summary.summary import Summary
from .learner import Integers, Taught, checked_half_life, symmetric, triangle, whole_row
from .regression import gauss_seidel, narrowing, rounded, shift_of
from .state import StateError

MOST = {32: 65535, 64: 8388607}  # records, by bits of a product: SEFR_MOMENT_RECORDS
MOST_CLASSES = 254
MAGIC = b"SEFM"
# magic, version, bits, classes, solved, features, sequence, id, half_life: as sefr_moments.h has it
HEAD = struct.Struct("<4sBBBBIIII")
FRACTION, RIDGE = 15, 4
LOWEST = -(1 << 31)


class Moments(Taught):
    """A linear discriminant from sums: what a board with ``sefr_moments.h`` learns.

    Beside the count and the sums of each class it keeps the sums of products of features. The header
    ``sefr_moments.h`` has the definition. Sums of several boards add up exactly (``merge``).

    Parameters
    ----------
    classes : int
        Labels are 0 to ``classes`` - 1; 2 to 254.
    half_life : int, default=None
        When 2 ``half_life`` records are learned, all count half from then on; None: the most there is.
    bits : {32, 64}
        Of a sum of products on the board: 65,535 or 8,388,607 records.

    Attributes
    ----------
    counts : array of shape (K,)
    sums : array of shape (K, m)
    squares : array of shape (m, m)
        Sums of the products of features, over all classes.
    weights, bias : arrays of shape (K, m) and (K,)
        After ``solve``.
    id : int
        What a board says its features and classes mean; 0 unless set.

    Examples
    --------
    >>> import numpy as np
    >>> from sefr.device import Moments
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 200, (400, 2))
    >>> y = (X.sum(axis=1) > 200).astype(int)
    >>> model = Moments(2).learn(X[:200], y[:200]).solve()
    >>> bool(np.mean(model.predict(X[200:]) == y[200:]) > 0.9)
    True
    """

    _kind, _magic, _head = "second moments", MAGIC, HEAD
    _targets_called = "labels"
    _added = ("counts", "sums", "squares")

    def __init__(self, classes: int, half_life: int | None = None, bits: int = 32) -> None:
        if bits not in MOST:
            raise ValueError(f"bits must be 32 or 64, not {bits!r}")
        if not 2 <= classes <= MOST_CLASSES:
            raise ValueError(f"classes must be 2 to {MOST_CLASSES}, not {classes!r}")
        most = MOST[bits] // 2
        self.bits, self.half_life = bits, checked_half_life(most if half_life is None else half_life, most)
        self.counts: Integers = np.zeros(classes, np.int64)
        self.squares: Integers = np.zeros((0, 0), np.int64)
        self.weights: Integers | None = None
        self.bias: Integers | None = None

    def solve(self) -> Moments:
        """Compute weights and bias; learning can go on."""
        if self.sums is None or np.count_nonzero(self.counts) < 2:
            raise ValueError("two classes need records first")
        counts, sums = self.counts.tolist(), self.sums.tolist()
        n, m, total = sum(counts), len(sums[0]), [sum(column) for column in zip(*sums, strict=True)]
        seen = [c for c, count in enumerate(counts) if count]
        W = [
            [value - sum(sums[c][i] * sums[c][j] // counts[c] for c in seen) for j, value in enumerate(row)]
            for i, row in enumerate(self.squares.tolist())
        ]
        t = shift_of(W)
        W = [[value >> t for value in row] for row in W]
        variances = [max(W[j][j], 0) for j in range(m)]
        diagonal = [v + (v >> RIDGE) + (n >> t >> 2) + 1 for v in variances]
        w = {}
        for c in seen:
            apart = ((n * sums[c][j] - counts[c] * total[j]) // counts[c] for j in range(m))
            w[c] = gauss_seidel(W, diagonal, [value >> t << FRACTION for value in apart])
        k = narrowing([value for row in w.values() for value in row])
        weights, bias = np.zeros((len(counts), m), np.int64), np.full(len(counts), LOWEST, np.int64)
        for c, row in w.items():
            v = [rounded(value, k) for value in row]
            own, all_of_them = (sum(a * s for a, s in zip(v, part, strict=True)) for part in (sums[c], total))
            weights[c], bias[c] = v, -((own // counts[c] + all_of_them // n) >> 1)
        self.weights, self.bias = weights, bias
        return self

    def scores(self, X: ArrayLike) -> Integers:
        """Return the score of each class for each record, as a board has them."""
        if self.weights is None or self.bias is None:
            raise ValueError("learn records and call solve() first")
        return np.asarray(self._records(X) @ self.weights.T + self.bias, np.int64)

    def predict(self, X: ArrayLike) -> Integers:
        """Return the class of each record."""
        return np.asarray(self.scores(X).argmax(axis=1), np.int64)

    def state(self) -> bytes:
        """Return what ``sefr_moments_send`` of a board with the same sums would write."""
        classes, m = self._learned.shape
        if self._n > MOST[self.bits]:
            raise ValueError(
                f"{self._n} records do not fit a board with {self.bits} bits, which holds "
                f"{MOST[self.bits]}: decay() first"
            )
        fields = (self.bits, classes, self.weights is not None, m, 0, self.id, self.half_life)
        squares = (f"<u{self.bits // 8}", triangle(self.squares))
        return self._packed(fields, ("<u4", self.counts), ("<u4", self.sums), squares)

    @classmethod
    def from_state(cls, data: bytes) -> Moments:
        """Return what a board learned, from what it sent; solved, if it was.

        Examples
        --------
        >>> from sefr.device import Moments
        >>> sent = Moments(2).learn([[10, 200], [12, 190], [60, 80], [61, 90]], [0, 0, 1, 1]).solve().state()
        >>> Moments.from_state(sent).predict([[11, 195], [59, 85]]).tolist()
        [0, 1]
        """
        bits, classes, solved, m, _, number, half_life = cls._fields(data)
        if bits not in MOST:
            raise StateError(f"the state has products of {bits} bits, not of 32 or 64")
        layout = (("<u4", classes), ("<u4", classes * m), (f"<u{bits // 8}", m * (m + 1) // 2))
        counts, sums, squares = cls._arrays(data, *layout)
        if (
            not 1 <= half_life <= MOST[bits] // 2
            or not 2 <= classes <= MOST_CLASSES
            or not 1 <= m <= cls._most_features
            or solved > 1
            or solved > (np.count_nonzero(counts) > 1)
            or counts.sum() > MOST[bits]
            or (sums.reshape(classes, m) > 255 * counts[:, None]).any()
            or (squares > 65025 * counts.sum()).any()
        ):
            raise StateError("no records could have left this state")
        found = cls(classes, half_life, bits)
        found.id, found.counts, found.sums = number, counts, sums.reshape(classes, m)
        found.squares = symmetric(squares, m)
        return found.solve() if solved else found

    def summary(
        self,
        classes: ArrayLike | None = None,
        *,
        low: ArrayLike = 0.0,
        high: ArrayLike = 255.0,
        feature_names: Sequence[str] | None = None,
    ) -> Summary:
        """Return what was learned as a Summary of second moments, for ``SEFRClassifier(moments=2)``.

        Whole numbers stay whole: it is the Summary of the records themselves, to the bit, and adds to those
        of other boards and of rows on the host.

        Parameters
        ----------
        classes : sequence of labels, default=None
            What the board's classes 0, 1, ... mean, in sorted order. None: the numbers themselves.
        low, high : number or one per feature
            The values that byte 0 and byte 255 stand for; the ranges of the Summary.
        feature_names : sequence of str, default=None
            Names of the features.

        Examples
        --------
        >>> from sefr import SEFRClassifier
        >>> from sefr.device import Moments
        >>> board = Moments(2).learn([[10, 200], [12, 190], [60, 80], [61, 90]], [0, 0, 1, 1])
        >>> clf = SEFRClassifier.from_summary(board.summary(["off", "on"]), moments=2, scale=(0, 255))
        >>> clf.predict([[11, 195], [59, 85]])
        array(['off', 'on'], dtype='<U3')
        """
        sums = self._learned
        labels = np.arange(len(self.counts)) if classes is None else np.asarray(classes)
        if labels.shape != self.counts.shape:
            raise ValueError(f"the board has {len(self.counts)} classes, but {labels.size} labels were given")
        m = sums.shape[1]
        lowest, highest = (
            np.array(np.broadcast_to(np.asarray(side, np.float64), (m,))) for side in (low, high)
        )
        if not (lowest < highest).all():
            raise ValueError("low must be below high, for every feature")
        unit = (highest - lowest) / 255.0
        products = np.empty((m + 1, m + 1))
        products[0, 0] = self.counts.sum()
        products[0, 1:] = products[1:, 0] = sums.sum(axis=0) * unit
        products[1:, 1:] = self.squares * np.outer(unit, unit)
        return Summary.from_parts(
            classes=labels,
            counts=self.counts.astype(np.float64),
            sums=self.counts[:, None] * lowest + sums * unit,
            low=lowest,
            high=highest,
            feature_names=feature_names,
            products=Products(lowest.copy(), DoubleDouble(pack(products))),
        )

    @property
    def _n(self) -> int:
        return int(self.counts.sum())

    def _shape(self, m: int) -> None:
        self.sums, self.squares = np.zeros((len(self.counts), m), np.int64), np.zeros((m, m), np.int64)

    def _add(self, records: Integers, targets: Integers, sign: int) -> None:
        self.counts = self.counts + sign * np.bincount(targets, minlength=len(self.counts))
        sums = self._learned.copy()
        np.add.at(sums, targets, sign * records)
        self.sums, self.squares = sums, self.squares + sign * (records.T @ records)

    def _halve(self) -> None:
        before, counts = int(self.counts.sum()), (self.counts + 1) // 2
        counts = np.where(self.counts > 1, counts, self.counts)
        if self.sums is not None and counts.sum() < before:
            self.sums = self.sums * counts[:, None] // np.maximum(self.counts, 1)[:, None]
            after = int(counts.sum())
            exact = [[value * after // before for value in row] for row in self.squares.tolist()]
            self.squares, self.counts = np.array(exact, np.int64), counts

    def _targets(self, y: ArrayLike) -> Integers:
        return whole_row(y, 0, len(self.counts) - 1, "y")

    def _refuse_others(self, records: Integers, targets: Integers) -> None:
        learned = self.counts
        if len(records) != len(targets) or (np.bincount(targets, minlength=len(learned)) > learned).any():
            raise ValueError("these records were not learned")
