"""What is normal: one class, as ``sefr_normal`` on a board learns it, to the bit."""

from __future__ import annotations

import math
import os
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._system.atomic_file import atomic_file
from .learner import Integers, Learner, checked_half_life
from .names import c_rows, identifier
from .state import StateError

MOST = 256  # SEFR_NORMAL_RECORDS
# magic, version, solved, half_life, features, sequence, id, threshold, count: as sefr_normal.h has it
HEAD = struct.Struct("<4sBBHIIIII")
HEADER = """/* What is normal, learned from {count} records of {m} bytes; flagged above {threshold}.
 * sefr_normal_check(&{name}_model, record) says SEFR_UNKNOWN where a record is not; learning can go on. */
#ifndef {guard}_SEFR_NORMAL_H
#define {guard}_SEFR_NORMAL_H

#include <sefr_normal.h>

typedef char {name}_does_not_fit[SEFR_FITS(SEFR_NORMAL_BYTES({m}), {m}, 2) ? 1 : -1];
{tables}
static sefr_normal {name}_model = {{
    {m}, {count}, {half_life}, 1, {threshold}UL, {name}_sums, {name}_squares, {name}_means, {name}_scales,
#ifndef SEFR_NO_STATE
    0x{id:08x}UL,
#endif
}};

#endif
"""


class Normal(Learner):
    """A model of normal records, to flag the others.

    The score of a record is the sum of its squared distances from the means, each in sixteenths of a standard
    deviation; the header ``sefr_normal.h`` has the definition.

    Parameters
    ----------
    half_life : int, default=128
        When 2 ``half_life`` records are learned, they count half from then on; 1 to 128.

    Attributes
    ----------
    means, scales : arrays of shape (m,)
        Of each feature, after ``solve``.
    threshold : int
        A record that scores above it is not normal.
    id : int
        What a board says the features mean, of ``from_state``; 0 for one that learned by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sefr.device import Normal
    >>> rng = np.random.default_rng(0)
    >>> hum = rng.integers(95, 106, (300, 8))
    >>> normal = Normal().learn(hum[:100]).solve().choose(hum[100:], false_alarms=0.02)
    >>> bool(normal.check([[100] * 8])[0]), bool(normal.check([[100] * 7 + [180]])[0])
    (True, False)
    """

    _kind, _magic, _head = "a one-class model", b"SEFN", HEAD
    _noun, _axes = "normal records", ("features",)
    _most_features = 32767  # SEFR_MAX_FEATURES
    _added = ("count", "sums", "squares")

    def __init__(self, half_life: int = MOST // 2) -> None:
        self.half_life = checked_half_life(half_life, MOST // 2)
        self.count = self.threshold = 0
        self.squares: Integers = np.zeros(0, np.int64)
        self.means: Integers | None = None
        self.scales: Integers | None = None

    def learn(self, X: ArrayLike) -> Normal:
        """Add normal records, rows of bytes, in their order."""
        return self._learn(X)

    def solve(self) -> Normal:
        """Compute means and scales; learning can go on."""
        n = self.count
        if self.sums is None or n < 2:
            raise ValueError(f"two normal records are needed, {n} were learned")
        variance = np.maximum(n * self.squares - self.sums**2, n * n // 4)
        fine = variance < 1 << 24
        roots = [math.isqrt(v) for v in np.where(fine, 256 * variance, variance).tolist()]
        self.means = (self.sums + n // 2) // n
        self.scales = np.where(fine, n << 16, n << 12) // np.array(roots)
        return self

    def score(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return how far each record lies from the normal ones: about 256 per feature for those."""
        if self.means is None or self.scales is None:
            raise ValueError("learn normal records and call solve() first")
        z = np.minimum(np.abs(self._records(X) - self.means) * self.scales >> 8, 255)
        result: NDArray[np.int64] = (z * z).sum(axis=1)
        return result

    def watch(self, X: ArrayLike) -> Normal:
        """Raise the threshold to the highest score of these normal records, as a board does.

        With C records that were not learned, a further one lies above with a probability of at most
        1 / (C + 1).
        """
        self.threshold = max(self.threshold, int(self.score(X).max(initial=0)))
        return self

    def choose(self, X: ArrayLike, false_alarms: float) -> Normal:
        """Set the threshold so that at most this share of normal records is flagged.

        ``X`` are normal records that were not learned, C of them: the threshold is the
        ceil((1 - false_alarms) (C + 1))-th lowest of their scores (split conformal prediction), which holds
        for whatever distribution they come from.
        """
        if not 0 < false_alarms < 1:
            raise ValueError(f"false_alarms must be between 0 and 1, not {false_alarms!r}")
        scores = np.sort(self.score(X))
        rank = math.ceil(round((1 - false_alarms) * (len(scores) + 1), 9))
        if rank > len(scores):
            raise ValueError(
                f"{len(scores)} normal records cannot tell a rate of {false_alarms:g}: "
                f"{math.ceil(round(1 / false_alarms, 9)) - 1} are needed"
            )
        self.threshold = int(scores[max(rank, 1) - 1])
        return self

    def check(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return which records are normal."""
        result: NDArray[np.bool_] = self.score(X) <= self.threshold
        return result

    def state(self) -> bytes:
        """Return what ``sefr_normal_send`` of a board with the same records would write."""
        solved, m = self.means is not None, len(self._learned)
        fields = (solved, self.half_life, m, 0, self.id, self.threshold, self.count)
        return self._packed(fields, ("<u2", self.sums), ("<u4", self.squares))

    @classmethod
    def from_state(cls, data: bytes) -> Normal:
        """Return what a board learned, from what it sent; solved, if it was.

        Examples
        --------
        >>> from sefr.device import Normal
        >>> sent = Normal().learn([[10, 20], [12, 18], [11, 22]]).solve().state()
        >>> Normal.from_state(sent).means.tolist()
        [11, 20]
        """
        solved, half_life, m, _, number, threshold, count = cls._fields(data)
        sums, squares = cls._arrays(data, ("<u2", m), ("<u4", m))
        if (
            not 1 <= half_life <= MOST // 2
            or not 2 * (solved == 1) <= count <= 2 * half_life
            or solved > 1
            or m < 1
            or (sums > 255 * count).any()
            or (squares > 65025 * count).any()
        ):
            raise StateError("no records could have left this state")
        found = cls(half_life)
        found.count, found.threshold, found.id = count, threshold, number
        found.sums, found.squares = sums, squares
        return found.solve() if solved else found

    def export(self, directory: str | os.PathLike[str], name: str = "normal") -> Path:
        """Write a header for the device library: what was learned, solved, with its threshold."""
        if self.sums is None or self.means is None or self.scales is None:
            raise ValueError("learn normal records and call solve() first")
        name = identifier(name)
        columns = {
            "uint16_t": [("sums", self.sums), ("scales", self.scales)],
            "uint32_t": [("squares", self.squares)],
            "uint8_t": [("means", self.means)],
        }
        tables = "\n".join(
            f"static {kind} {name}_{suffix}[] = {{\n{c_rows(map(str, values.tolist()))}}};"
            for kind, parts in columns.items()
            for suffix, values in parts
        )
        text = HEADER.format(
            count=self.count,
            m=len(self.sums),
            threshold=self.threshold,
            half_life=self.half_life,
            id=zlib.crc32(self.state()),
            name=name,
            guard=name.upper(),
            tables=tables,
        )
        path = Path(directory) / f"{name}.h"
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(text.encode())
        return path

    @property
    def _n(self) -> int:
        return self.count

    def _shape(self, m: int) -> None:
        self.sums, self.squares = np.zeros((2, m), np.int64)

    def _add(self, records: Integers, targets: Integers, sign: int) -> None:
        self.count += sign * len(records)
        self.sums = self._learned + sign * records.sum(axis=0)
        self.squares = self.squares + sign * (records * records).sum(axis=0)
