"""Coder: where each feature is cut into cells. It belongs to a Summary, and only equal coders add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._system.types import Floats, Foreign
from ..._system.value import Value
from .categories import MOST_CATEGORIES, Categories

Places = NDArray[np.int64]

# Numbers of cells are bytes.
MOST_CELLS = 256


@dataclass(frozen=True, eq=False)
class Coder(Value):
    """The edges of every feature, one after the other: those of feature j from ``starts[j]`` on.

    A value lies in the cell whose number is the count of edges at or below it. A feature with categories has
    them in ``categories``; its values are numbers of categories and its edges lie between these. With
    ``missing``, the last cell of a feature is for values that are missing.
    """

    edges: Floats
    starts: Places
    missing: bool
    categories: Mapping[int, Categories]

    @classmethod
    def of(cls, parts: Sequence[Floats | Categories], *, missing: bool) -> Coder:
        """Make a coder of the edges, or of the categories, of each feature."""
        edges = [
            np.arange(len(part)) + 0.5 if isinstance(part, Categories) else np.asarray(part, dtype=np.float64)
            for part in parts
        ]
        starts = np.concatenate([[0], np.cumsum([len(own) for own in edges])]).astype(np.int64)
        named = {j: part for j, part in enumerate(parts) if isinstance(part, Categories)}
        return cls(np.concatenate([*edges, np.empty(0)]), starts, missing, named)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.starts) - 1

    @cached_property
    def offsets(self) -> Places:
        """The first cell of each feature, and the number of cells (m + 1,)."""
        return self.starts + np.arange(len(self.starts)) * (2 if self.missing else 1)

    @property
    def n_cells(self) -> int:
        """Number of cells of all features."""
        return int(self.offsets[-1])

    @cached_property
    def feature_of(self) -> Places:
        """The feature that each cell belongs to (cells,)."""
        return np.repeat(np.arange(self.n_features), np.diff(self.offsets))

    @cached_property
    def parts(self) -> list[Floats | Categories]:
        """The edges, or the categories, of each feature: what ``of`` takes."""
        return [
            self.categories[j] if j in self.categories else self.edges[start:end]
            for j, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True))
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coder):
            return NotImplemented
        return (
            self.missing == other.missing
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.edges, other.edges)
            and dict(self.categories) == dict(other.categories)
        )

    __hash__ = None  # type: ignore[assignment]

    def difference(self, other: Coder) -> int | None:
        """Return the first feature that the other cuts elsewhere; None if there is none."""
        for j, (mine, theirs) in enumerate(zip(self.parts, other.parts, strict=False)):
            if isinstance(mine, Categories) or isinstance(theirs, Categories):
                if not (isinstance(mine, Categories) and isinstance(theirs, Categories) and mine == theirs):
                    return j
            elif not np.array_equal(mine, theirs):
                return j
        return None

    def code(self, values: Floats) -> NDArray[np.uint8]:
        """Return the cells of values (n, m) in float64; what is missing has cell 0 without a cell for it."""
        cells = np.empty(values.shape, dtype=np.uint8)
        for j, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            cells[:, j] = np.searchsorted(self.edges[start:end], values[:, j], side="right")
            gone = np.isnan(values[:, j])
            cells[gone, j] = end - start + 1 if self.missing else 0
        return cells


def check_bins(bins: Foreign) -> None:
    """Raise an error for a setting of bins that has no meaning."""
    if bins is None:
        return
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if not 2 <= bins <= MOST_CELLS:
            raise ValueError(f"bins must be from 2 to {MOST_CELLS}, not {bins!r}")
        return
    if isinstance(bins, str | bytes | bool | float) or not isinstance(bins, Sequence | np.ndarray):
        raise ValueError(f"bins must be None, a whole number or the edges of every feature, not {bins!r}")
    for j, part in enumerate(bins):
        _check_part(part, j)


def _check_part(part: Foreign, feature: int) -> None:
    if isinstance(part, Categories):
        if len(part) > MOST_CATEGORIES or len(set(part)) < len(part):
            raise ValueError(
                f"bins: feature {feature} must have at most {MOST_CATEGORIES} different categories"
            )
        return
    try:
        edges = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"bins: the edges of feature {feature} are not numbers") from None
    if edges.ndim != 1:
        raise ValueError(f"bins: the edges of feature {feature} are not a list of numbers")
    if not np.isfinite(edges).all():
        raise ValueError(f"bins: the edges of feature {feature} must be finite numbers")
    if not (edges[1:] > edges[:-1]).all():
        raise ValueError(f"bins: the edges of feature {feature} must rise")
    if len(edges) >= MOST_CELLS:
        raise ValueError(f"bins: feature {feature} has {len(edges)} edges, more than {MOST_CELLS - 1}")


def given_coder(bins: Sequence[Foreign], n_features: int, *, missing: bool) -> Coder:
    """Return the coder of edges that were given for every feature."""
    check_bins(bins)
    if len(bins) != n_features:
        raise ValueError(f"bins has edges for {len(bins)} features, but X has {n_features}")
    parts = [part if isinstance(part, Categories) else np.array(part, dtype=np.float64) for part in bins]
    for j, part in enumerate(parts):
        if missing and len(part) + 2 > MOST_CELLS:
            raise ValueError(
                f"bins: feature {j} has {len(part)} edges; with missing='ignore' at most {MOST_CELLS - 2}"
            )
    return Coder.of(parts, missing=missing)


def copies_of_parts(parts: Sequence[Floats | Categories]) -> list[Floats | Categories]:
    """Return edges and categories that their receiver may change."""
    return [part if isinstance(part, Categories) else part.copy() for part in parts]
