"""What models that a board learns from bytes have in common: sums that add, are halved, and go to bytes."""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .state import StateError, head_of, refuse_damage, sealed

Integers = NDArray[np.int64]


class Learner:
    """Sums over records of bytes; a subclass says what is summed, and solves.

    Every state begins alike: magic, version, then what ``_head`` names, among it ``solved``.
    """

    _kind: ClassVar[str]  # in messages, as the next
    _noun: ClassVar[str] = "records"
    _axes: ClassVar[tuple[str, ...]] = ("classes", "features")  # of the sums
    _magic: ClassVar[bytes]
    _version: ClassVar[int] = 1
    _head: ClassVar[struct.Struct]
    _most_features: ClassVar[int] = 120
    _added: ClassVar[tuple[str, ...]]  # the attributes that are sums

    half_life: int
    id = 0
    sums: Integers | None = None

    @property
    def _n(self) -> int:
        """Records learned, of all classes."""
        raise NotImplementedError

    def _shape(self, m: int) -> None:
        """Make sums of 0 for m features."""
        raise NotImplementedError

    def _add(self, records: Integers, targets: Integers, sign: int) -> None:
        """Add records with a sign."""
        raise NotImplementedError

    def _halve(self) -> None:
        """Let what was learned count half."""
        self._scale((self._n + 1) // 2, self._n)

    def _learn(self, X: ArrayLike, targets: Integers | None = None, names: str = "targets") -> Self:
        """Add records in their order; halve them whenever there are 2 ``half_life``."""
        records = self._records(X)
        numbers = np.zeros(len(records), np.int64) if targets is None else targets
        if len(records) != len(numbers):
            raise ValueError(f"{len(records)} records and {len(numbers)} {names}")
        while len(records):
            if self._n >= 2 * self.half_life:
                self._halve()
            room = 2 * self.half_life - self._n
            self._add(records[:room], numbers[:room], 1)
            records, numbers = records[room:], numbers[room:]
        return self

    def _merge(self, other: Self) -> Self:
        """Add all that another learned."""
        if other.sums is None:
            return self
        if self.sums is None:
            self._shape(other.sums.shape[-1])
        if self._learned.shape != other.sums.shape:
            raise ValueError(f"one has {self._sizes(self._learned)}, the other {self._sizes(other.sums)}")
        if self.id != other.id:
            raise ValueError(f"one is of model {self.id:08x}, the other of {other.id:08x}")
        for name in self._added:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def _sizes(self, sums: Integers) -> str:
        return " and ".join(f"{n} {axis}" for n, axis in zip(sums.shape, self._axes, strict=True))

    def _scale(self, part: int, whole: int) -> None:
        """Multiply every sum by part / whole, rounded down."""
        for name in self._added:
            setattr(self, name, getattr(self, name) * part // whole)

    @property
    def _learned(self) -> Integers:
        """The sums of the features, once there are any."""
        if self.sums is None:
            raise ValueError(f"learn {self._noun} first")
        return self.sums

    def _records(self, X: ArrayLike) -> Integers:
        """Return records as whole numbers, or say what is wrong; the first ones decide how many features."""
        values, m = np.asarray(X), None if self.sums is None else self.sums.shape[-1]
        if values.ndim != 2 or values.shape[1] != (m or values.shape[1]) or not values.shape[1]:
            raise ValueError(f"records have the shape {values.shape}, expected (n, {m or 'features'})")
        if values.shape[1] > self._most_features:
            raise ValueError(f"a record has up to {self._most_features} features, not {values.shape[1]}")
        found = whole(values, 0, 255)
        if m is None:
            self._shape(values.shape[1])
        return found

    def _packed(self, fields: tuple[int, ...], *arrays: tuple[str, Any]) -> bytes:
        """Return a state of what its head says and of whole numbers in the given types."""
        body = b"".join(_written(kind, values) for kind, values in arrays)
        return sealed(self._head.pack(self._magic, self._version, *fields) + body)

    @classmethod
    def _fields(cls, data: bytes) -> tuple[Any, ...]:
        """Return what the head of a state says after magic and version."""
        return head_of(data, cls._head, cls._magic, cls._version, cls._kind)

    @classmethod
    def _arrays(cls, data: bytes, *layout: tuple[str, int]) -> list[Integers]:
        """Return the arrays behind the head of a state by their types and lengths; it must be whole."""
        at, found = cls._head.size, []
        size = at + sum(_width(kind) * n for kind, n in layout) + 4
        if len(data) != size:
            raise StateError(f"the state has {len(data)} bytes; {layout[0][1]} features take {size}")
        refuse_damage(data)
        for kind, n in layout:
            end = at + _width(kind) * n
            found.append(_read(kind, data[at:end]))
            at = end
        return found


class Taught(Learner):
    """A learner of records with a target each: a label, or a number."""

    _targets_called: ClassVar[str]

    def _targets(self, y: ArrayLike) -> Integers:
        """Return targets as whole numbers, or say what is wrong."""
        raise NotImplementedError

    def _refuse_others(self, records: Integers, targets: Integers) -> None:
        """Raise an error for records that cannot have been learned."""
        raise NotImplementedError

    def learn(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add records, rows of bytes, with their labels or numbers, in their order."""
        return self._learn(X, self._targets(y), self._targets_called)

    def forget(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take records back that were learned; exact if nothing was halved since."""
        records, targets = self._records(X), self._targets(y)
        self._refuse_others(records, targets)
        self._add(records, targets, -1)
        return self

    def decay(self) -> Self:
        """Halve everything: what was learned so far counts half beside what comes."""
        if self._n >= 2:
            self._halve()
        return self

    def merge(self, other: Self) -> Self:
        """Add all that another learned, exactly; here the number of records has no limit."""
        return self._merge(other)


def _width(kind: str) -> int:
    return int(kind[2:])


def _written(kind: str, values: Any) -> bytes:
    """Return whole numbers as ``<u2``, ``<u4``, ``<u8`` or ``<i5``, which is a sum of 40 bits."""
    if kind == "<i5":
        return b"".join(int(value).to_bytes(5, "little", signed=True) for value in values)
    return np.asarray(values).astype(kind).tobytes()


def _read(kind: str, data: bytes) -> Integers:
    if kind == "<i5":
        parts = (data[at : at + 5] for at in range(0, len(data), 5))
        return np.array([int.from_bytes(part, "little", signed=True) for part in parts], np.int64)
    return np.frombuffer(data, kind).astype(np.int64)


def triangle(squares: Integers) -> Integers:
    """Return the lower half of a symmetric matrix, row by row."""
    return squares[np.tril_indices(len(squares))]


def symmetric(triangle: Integers, m: int) -> Integers:
    """Return the matrix of a lower half."""
    squares = np.zeros((m, m), np.int64)
    squares[np.tril_indices(m)] = triangle
    return squares + np.tril(squares, -1).T


def checked_half_life(half_life: int, most: int) -> int:
    """Return a half-life within its limits, or say that it is not."""
    if not 1 <= half_life <= most:
        raise ValueError(f"half_life must be 1 to {most}, not {half_life!r}")
    return half_life


def whole(values: NDArray[Any], low: int, high: int) -> Integers:
    """Return whole numbers of a range, or say which value is none."""
    if values.dtype.kind not in "iufb":
        raise ValueError(f"values must be numbers, not {values.dtype}")
    bad = ~((values >= low) & (values <= high))
    bad |= np.floor(np.where(bad, 0, values)) != np.where(bad, 0, values)
    if bad.any():
        row, *column = place = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f"row {row}" + "".join(f", feature {j}" for j in column)
        raise ValueError(f"{where}: {values[place]} is not a whole number from {low} to {high}")
    return values.astype(np.int64)


def whole_row(values: ArrayLike, low: int, high: int, name: str) -> Integers:
    """Return a row of whole numbers of a range."""
    found = np.asarray(values)
    if found.ndim != 1:
        raise ValueError(f"{name} must be a row of numbers, not of shape {found.shape}")
    return whole(found, low, high)
