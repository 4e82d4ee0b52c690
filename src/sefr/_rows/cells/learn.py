"""Where to cut features: equal widths of known ranges, or quantiles of a sample of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ..._system.types import Floats, Indices, Rows
from ..batches import Gatherer
from ..labelled import Labelled
from ..matrix import Matrix
from ..ranges import known_ranges
from .categories import Categories, categories_of, joined_categories
from .coder import MOST_CELLS, Coder, check_bins, given_coder
from .ferns import check_interactions, given_ferns
from .grow import FERN_ROWS, MOMENTS_ROWS, Growing, grow_ferns

# Rows whose quantiles are the edges. Of 32 bins each has 256 rows of the sample: its share is known to 6 %.
EDGE_ROWS = 1 << 13
FEWEST_EDGE_ROWS = 512
EDGE_VALUES = 1 << 24
# Values that are sorted at a time.
SORTED_CELLS = 1 << 22
GOLDEN = (5**0.5 - 1) / 2


Batches: TypeAlias = Iterable[tuple[Labelled, Mapping[int, Categories]]]


class Cutter(Protocol):
    """What says how rows are counted: settings of bins, or a coder that was learned before."""

    def categories_in(self, X: Rows, stored: list[Any] | None = None) -> Mapping[int, Categories]:
        """Return the categories of the columns of X that have some, by their numbers.

        ``stored`` are the arrays of a pandas frame, if they are at hand.
        """

    def applied(self, rows: Labelled, categories: Mapping[int, Categories]) -> Labelled:
        """Return rows as they are counted; features with categories come as numbers of these."""


class AnyCut(Cutter, Protocol):
    """How settings cut features: ``Cut``, or ``NoCut`` without bins."""

    @property
    def readings(self) -> int:
        """How often rows are read before they are added up, to learn where features are cut."""

    @property
    def fixed(self) -> bool:
        """Whether the rows have no say in the cells."""

    @property
    def grows(self) -> bool:
        """Whether ferns are grown on the rows, rather than given or none."""

    @property
    def given(self) -> dict[int, Categories] | None:
        """The categories of features where edges are given, by their numbers; None where they are learned."""

    @property
    def sample_rows(self) -> int:
        """How many rows cells are learned from, at most."""

    def learn(self, rows: Labelled, categories: Mapping[int, Categories]) -> Coder | None:
        """Return what rows are counted into: cells of features, and of ferns if there are interactions."""

    def learn_from_batches(self, batches: Batches) -> Coder | None:
        """Return the same of batches of rows and the categories in each; None without rows."""


class NoCut:
    """The settings of a model without bins: features stay as they come."""

    readings = sample_rows = 0
    fixed = True
    grows = False
    given: ClassVar[dict[int, Categories] | None] = {}

    def categories_in(self, X: Rows, stored: list[Any] | None = None) -> Mapping[int, Categories]:
        """Return none: text is an error."""
        return {}

    def applied(self, rows: Labelled, categories: Mapping[int, Categories]) -> Labelled:
        """Return the rows."""
        return rows

    def learn(self, rows: Labelled, categories: Mapping[int, Categories]) -> None:
        """Return no coder."""

    def learn_from_batches(self, batches: Batches) -> None:
        """Return no coder, and read no batch."""


NO_CUT = NoCut()


class Cut(NamedTuple):
    """How features are to be cut: the settings of a model that say so.

    With ``auto``, frequent values have a bin of their own. ``most_cells``: features have fewer bins if there
    are many of them, so that together they have about so many cells.
    """

    bins: Any
    scale: Any
    missing: str
    interactions: Any = None
    moments: int | None = 1
    auto: bool = False
    most_cells: int | None = None

    @classmethod
    def of(
        cls,
        bins: Any,
        scale: Any,
        missing: str,
        interactions: Any = None,
        moments: int | None = 1,
    ) -> AnyCut:
        """Return how settings cut features."""
        return NO_CUT if bins is None else cls(bins, scale, missing, interactions, moments)

    @property
    def readings(self) -> int:
        """Once."""
        return 1

    @property
    def given(self) -> dict[int, Categories] | None:
        """See ``AnyCut``, as of what follows."""
        if isinstance(self.bins, int | np.integer):
            return None
        return {j: part for j, part in enumerate(self.bins) if isinstance(part, Categories)}

    @property
    def grows(self) -> bool:
        """Whether ferns are grown on the rows, rather than given or none."""
        return isinstance(self.interactions, int | np.integer)

    @property
    def fixed(self) -> bool:
        """Whether the rows have no say in the cells."""
        edges = not isinstance(self.bins, int | np.integer) or not isinstance(self.scale, str | None)
        return edges and not self.grows

    @property
    def fern_rows(self) -> int:
        """How many rows ferns are grown on, at most."""
        return MOMENTS_ROWS if self.moments == 2 else FERN_ROWS

    @property
    def sample_rows(self) -> int:
        """How many rows cells are learned from, at most."""
        return max(EDGE_ROWS, self.fern_rows) if self.grows else EDGE_ROWS

    def categories_in(self, X: Rows, stored: list[Any] | None = None) -> Mapping[int, Categories]:
        """Return the categories that were given with the edges, or those of X."""
        given = self.given
        return categories_of(X, stored=stored) if given is None else given

    def applied(self, rows: Labelled, categories: Mapping[int, Categories]) -> Labelled:
        """Return the rows in the cells that they ask for."""
        return self.learn(rows, categories).applied(rows, categories)

    def learn(self, rows: Labelled, categories: Mapping[int, Categories]) -> Coder:
        """Return what rows are counted into: cells of features, and of ferns if there are interactions."""
        coder = _learn_edges(rows, self, categories)
        if self.interactions is None:
            return coder
        check_interactions(self.interactions, self.bins)
        if not self.grows:
            return replace(coder, ferns=given_ferns(self.interactions, np.diff(coder.offsets)))
        sample = rows_for_ferns(rows, self.fern_rows)
        weight = len(sample.codes) if sample.weights is None else float(sample.weights.sum())
        how = Growing.of(min(weight, self.fern_rows))
        return replace(
            coder, ferns=grow_ferns(sample, coder, int(self.interactions), how=how, moments=self.moments)
        )

    def learn_from_batches(self, batches: Batches) -> Coder | None:
        """Return the same of batches.

        All rows are read, unless edges are given or follow from known ranges. Up to ``sample_rows`` rows they
        are those of all rows together.
        """
        gatherer, known = Gatherer(self.sample_rows), dict[int, Categories]()
        labels = []
        for rows, categories in batches:
            known = {j: joined_categories(known.get(j), own) for j, own in categories.items()}
            if self.fixed:
                return self.learn(rows, known)
            gatherer.add(rows)
            labels.append(rows.classes)
        if not labels:
            return None
        return self.learn(gatherer.rows(np.unique(np.concatenate(labels))), known)


def rows_for_ferns(rows: Labelled, most: int = MOMENTS_ROWS) -> Labelled:
    """Return those of the rows that ferns are grown on, a part of which is held out."""
    at, weights = sample_of_values(rows, most)
    return rows.take(at)._replace(weights=weights)


def _learn_edges(rows: Labelled, cut: Cut, categories: Mapping[int, Categories]) -> Coder:
    matrix = rows.matrix
    missing = cut.missing == "ignore"
    if not isinstance(cut.bins, int | np.integer):
        return given_coder(cut.bins, matrix.shape[1], missing=missing)
    check_bins(cut.bins)
    most = int(cut.bins)
    if cut.most_cells is not None:
        most = int(np.clip(cut.most_cells // matrix.shape[1], 2, most))
    if missing and most == MOST_CELLS:
        most -= 1  # a cell number is a byte, and one is for missing values
    if cut.scale is None or isinstance(cut.scale, str):
        at, weights = sample_of_values(rows)
        if not categories and weights is None and len(at) * matrix.shape[1] <= SORTED_CELLS:
            values = _values(matrix, at, range(matrix.shape[1]))
            return Coder(*_edges(values, most, alone=cut.auto), missing, {})
        numbers = [j for j in range(matrix.shape[1]) if j not in categories]
        edges = iter(quantile_edges(matrix, numbers, at, weights, most, alone=cut.auto))
        parts = [categories[j] if j in categories else next(edges) for j in range(matrix.shape[1])]
    else:
        ranges = equal_edges(*known_ranges(cut.scale, matrix.shape[1]), most)
        parts = [categories.get(j, own) for j, own in enumerate(ranges)]
    return Coder.of(parts, missing=missing)


def equal_edges(low: Floats, high: Floats, most: int) -> list[Floats]:
    """Return the edges that cut each range into parts of the same width."""
    part = np.arange(1, most) / most
    return [np.unique(low[j] + (high[j] - low[j]) * part) for j in range(len(low))]


def sample_of_values(rows: Labelled, rows_at_most: int = EDGE_ROWS) -> tuple[Indices, Floats | None]:
    """Return the rows that cells are learned from, and their weights: all that count, or some, by weight.

    Some are spread with a step that is never even, so that no period of the rows meets it.
    """
    most = min(max(EDGE_VALUES // rows.matrix.shape[1], FEWEST_EDGE_ROWS), rows_at_most)
    n = len(rows.codes)
    if n > most and rows.weights is None and rows.codes.min() >= 0:
        return (_uneven(most) * n).astype(np.int64), None  # all count: none need be looked for
    live = rows.codes >= 0
    if rows.weights is not None:
        live &= rows.weights > 0
    at = live.nonzero()[0]
    if len(at) <= most:
        return at, None if rows.weights is None else rows.weights[at]
    places = _uneven(most)
    if rows.weights is None:
        return at[(places * len(at)).astype(np.int64)], None
    ends = np.cumsum(rows.weights[at])
    return at[np.minimum(np.searchsorted(ends, places * ends[-1], side="right"), len(at) - 1)], None


@lru_cache(maxsize=4)
def _uneven(count: int) -> Floats:
    return np.asarray((np.arange(count) + np.arange(count) * GOLDEN % 1) / count)


def quantile_edges(
    matrix: Matrix,
    features: Sequence[int],
    at: Indices,
    weights: Floats | None,
    most: int,
    *,
    alone: bool = False,
) -> list[Floats]:
    """Return edges that cut each of some features into at most ``most`` cells of about as many rows.

    Each edge is a value that occurs. If there are few values, every one but the lowest is an edge. With
    ``alone``, a value that is as frequent as a cell has one of its own.
    """
    found: list[Floats] = []
    step = max(1, SORTED_CELLS // max(1, len(at)))
    for first in range(0, len(features), step):
        values = _values(matrix, at, features[first : first + step])
        if weights is None:
            edges, starts = _edges(values, most, alone=alone)
            found += [edges[start:end] for start, end in pairwise(starts.tolist())]
        else:
            found += _weighted_edges(values, weights, most, alone=alone)
    return found


def _values(matrix: Matrix, at: Indices, features: Sequence[int]) -> Floats:
    return matrix.by_feature(
        slice(None) if len(at) == matrix.shape[0] else at,
        slice(None) if len(features) == matrix.shape[1] else np.array(features),
    )


def _edges(values: Floats, most: int, *, alone: bool = False) -> tuple[Floats, NDArray[np.int64]]:
    """Return the edges of values (m, n) that may be sorted, one after the other, and where each begin."""
    values.sort(axis=1)
    if not np.isfinite(values[:, :: max(1, values.shape[1] - 1)]).all():  # NaN lies at the end
        values[np.isinf(values)] = np.nan
        values.sort(axis=1)
    edges, starts = np.empty(len(values) * (most - 1)), np.empty(len(values) + 1, dtype=np.int64)
    _native.find_edges(values, most, alone, edges, starts)
    return edges[: starts[-1]].copy(), starts


def _weighted_edges(values: Floats, weights: Floats, most: int, *, alone: bool = False) -> list[Floats]:
    """Return the same for rows that count several times: with weights of 1, what ``_edges`` returns."""
    found = []
    values[np.isinf(values)] = np.nan
    for own in values:
        order = np.argsort(own, kind="stable")
        order = order[: np.count_nonzero(~np.isnan(own))]
        rising, ends = own[order], np.cumsum(weights[order])
        edges = np.unique(rising)[1:]
        if len(edges) >= most and alone:
            edges = _edges_beside(rising, weights[order], most)
        elif len(edges) >= most:
            # the least value with k / most of the weight at or below it
            at = np.searchsorted(ends * most, np.arange(1, most) * ends[-1], side="left")
            edges = np.unique(rising[np.minimum(at, len(rising) - 1)])
            edges = edges[edges > rising[0]]
        found.append(edges)
    return found


def _edges_beside(rising: Floats, weights: Floats, most: int) -> Floats:
    """Return the edges of one feature if frequent values have a cell each: as ``find_edges`` does."""
    distinct, starts = np.unique(rising, return_index=True)
    counts = np.add.reduceat(weights, starts)
    rest, bins, before = float(counts.sum()), most, -1
    while bins != before:
        before, share = bins, rest / bins
        frequent = counts >= share
        rest, bins = float(counts[~frequent].sum()), most - int(frequent.sum())
    least, held, found = rest / max(1, 2 * bins - most), 0.0, list[float]()
    for i, count in enumerate(counts.tolist()):
        if len(found) == most - 1:
            break
        if i and (frequent[i] or frequent[i - 1] or held + count / 2 >= least):
            found.append(float(distinct[i]))
            held = 0.0
        held += count
    return np.array(found)
