"""Ferns as bytes in flash: questions about the cells that the searches of the features have found.

A board keeps the number of each feature's cell, a byte. A fern is how many questions it has, where ferns
differ in that; for each question the feature, the lowest number of a yes and, where some question needs it,
how many further numbers are a yes; then the entries, from the last cell to the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._system.types import Array
from .ferns import QuantisedFern, RangeQuestion
from .tables import QuantisedTable

MOST = 255  # the highest number of a cell


@dataclass(frozen=True)
class CellNumbers:
    """The numbers of a feature's cells: 0, 1 and so on, ``last`` for the last one, ``missing`` for NaN."""

    thresholds: Array
    last: int
    missing: int | None

    def of(self, value: float) -> int:
        """Return the number of the cell that a value lies in."""
        cell = int(np.searchsorted(self.thresholds, value, side="right"))
        return self.last if cell == len(self.thresholds) else cell

    def yes(self, question: RangeQuestion) -> tuple[int, int]:
        """Return the lowest and the highest number that a question is true for."""
        if question.high is not None and question.low > question.high:
            only = self.missing if question.missing and self.missing is not None else self._unused
            return only, only
        low = self.of(question.low)
        if question.high is not None:
            return low, self.of(question.high)
        return low, MOST if question.missing or self.missing is None else self.last

    @property
    def _unused(self) -> int:
        """A number of no cell: there is one where edges were left out, and only then nothing is a yes."""
        used = {*range(len(self.thresholds)), self.last, self.missing}
        return next(number for number in range(MOST, -1, -1) if number not in used)


@dataclass(frozen=True)
class FernCode:
    """Ferns as blocks, and what these have in common.

    Attributes
    ----------
    blocks : bytes of each fern.
    questions : how many every fern has; 0 where they differ, and each block begins with it.
    feature_bytes : of the number of a feature.
    bounded : whether a question says how many further numbers are a yes; else all are.
    """

    blocks: tuple[bytes, ...]
    questions: int
    feature_bytes: int
    bounded: bool

    @classmethod
    def of(cls, q: QuantisedTable, numbers: list[CellNumbers]) -> Self:
        """Write the ferns of a model whose features' cells have these numbers."""
        yes = [[numbers[own.feature].yes(own) for own in fern.questions] for fern in q.ferns]
        counts = {len(fern.questions) for fern in q.ferns}
        questions = counts.pop() if len(counts) == 1 else 0
        feature_bytes = 1 if q.n_features <= 1 << 8 else 2
        bounded = any(high < MOST for own in yes for _, high in own)
        blocks = []
        for fern, own in zip(q.ferns, yes, strict=True):
            block = b"" if questions else bytes([len(own)])
            for question, (low, high) in zip(fern.questions, own, strict=True):
                block += question.feature.to_bytes(feature_bytes, "little") + bytes([low])
                block += bytes([high - low]) * bounded
            blocks.append(block + _entries(fern, q.weight_bits))
        return cls(tuple(blocks), questions, feature_bytes, bounded)


def _entries(fern: QuantisedFern, weight_bits: int) -> bytes:
    half, kind = (128, "u1") if weight_bits == 8 else (32768, "<u2")
    return (fern.entries.T[::-1] + half).astype(kind).tobytes()
