"""Ferns: cells that several features choose together, if a sum over single features is not enough.

A fern makes a few comparisons of the bins that a row lies in, and the answers are the number of its cell. The
comparisons are fixed before rows are counted, so that cells of ferns are counted, added and taken back as
those of features are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._system.value import ArrayValue

# The number of a cell is a byte, and an answer a bit of it.
MOST_COMPARISONS = 8
MOST_FERNS = 1000
Comparison = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Ferns(ArrayValue):
    """The comparisons of every fern, one after the other: those of fern t from ``starts[t]`` on.

    A comparison asks whether a row lies in bin ``bounds[c]`` of feature ``features[c]`` or in a higher one;
    of a feature with categories, whether it lies in that very bin. The first answer is the highest bit.
    """

    features: NDArray[np.int32]
    bounds: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[Sequence[Comparison]]) -> Self | None:
        """Make the ferns of lists of (feature, bin); None of no list."""
        if not parts:
            return None
        pairs = np.array([pair for part in parts for pair in part], dtype=np.int32).reshape(-1, 2)
        starts = np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)
        return cls(pairs[:, 0].copy(), pairs[:, 1].copy(), starts)

    @cached_property
    def parts(self) -> list[list[Comparison]]:
        """The comparisons of each fern as (feature, bin): what ``of`` takes."""
        pairs = list(zip(self.features.tolist(), self.bounds.tolist(), strict=True))
        return [pairs[start:end] for start, end in pairwise(self.starts.tolist())]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many cells each fern has (T,)."""
        return np.left_shift(1, np.diff(self.starts))

    @cached_property
    def feature_sets(self) -> list[tuple[int, ...]]:
        """The features that each fern looks at, rising."""
        return [tuple(sorted({feature for feature, _ in part})) for part in self.parts]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def code(self, cells: NDArray[np.uint8], *, equal: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the cell of every fern (n, T) of rows in bins (n, m); ``equal`` (m,) have categories."""
        own = cells[:, self.features]
        answers = np.where(equal[self.features], own == self.bounds, own >= self.bounds)
        out = np.zeros((len(cells), len(self)), dtype=np.uint8)
        for t, (start, end) in enumerate(pairwise(self.starts)):
            for c in range(start, end):
                out[:, t] = 2 * out[:, t] + answers[:, c]
        return out


def check_interactions(interactions: Any, bins: Any) -> None:
    """Raise an error for a setting of interactions that has no meaning."""
    if interactions is None:
        return
    if bins is None:
        raise ValueError("interactions need bins: set them too, for example bins=32")
    if isinstance(interactions, int | np.integer) and not isinstance(interactions, bool):
        if not 1 <= interactions <= MOST_FERNS:
            raise ValueError(f"interactions must be from 1 to {MOST_FERNS}, not {interactions!r}")
        return
    if isinstance(interactions, str | bytes | bool | float) or not isinstance(interactions, Sequence):
        raise ValueError(
            "interactions must be None, a whole number or lists of (feature, bin), for example "
            f"interactions_ of another model, not {interactions!r}"
        )
    if len(interactions) > MOST_FERNS:
        raise ValueError(f"interactions has {len(interactions)} lists, more than {MOST_FERNS}")
    for t, part in enumerate(interactions):
        if not isinstance(part, Sequence) or not 1 <= len(part) <= MOST_COMPARISONS:
            raise ValueError(
                f"interactions: list {t} must have 1 to {MOST_COMPARISONS} comparisons (feature, bin)"
            )
        for pair in part:
            if not (isinstance(pair, Sequence) and len(pair) == 2 and all(map(_is_whole, pair))):
                raise ValueError(f"interactions: list {t} has {pair!r}, which is no (feature, bin)")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def given_ferns(interactions: Sequence[Any], n_bins: NDArray[np.int64]) -> Ferns | None:
    """Return the ferns that were given, for features of so many bins; a bin that is not there is an error."""
    for t, part in enumerate(interactions):
        for feature, number in part:
            if not 0 <= feature < len(n_bins):
                raise ValueError(f"interactions: list {t} has feature {feature} of {len(n_bins)}")
            if not 0 <= number < n_bins[feature]:
                raise ValueError(
                    f"interactions: list {t} has bin {number} of feature {feature}, which has "
                    f"{n_bins[feature]}; interactions of another model go with its edges: bins=other.edges_"
                )
    return Ferns.of([[(int(feature), int(number)) for feature, number in part] for part in interactions])
