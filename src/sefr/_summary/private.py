"""Private Summaries: one release with noise, after which no single person's rows can be told from it.

The promise is (epsilon, delta) differential privacy under adding or removing all rows of one person: whoever
sees the release learns almost the same whether that person was among the rows or not. It holds where the
ranges, the classes and the features were chosen without looking at the rows, no row counts more than once,
each person has at most ``rows_per_person`` of them, and the Summary was added up from rows by this package,
in any number of parts, without rows taken away. It says nothing of a second release of the same rows: their
epsilons add up.

A row adds 1 to one count and, measured from the middle of its range, at most half a range to each sum of its
class. With bins it adds 1 to one cell of each feature instead. With second moments it adds at most a quarter
of two ranges to each product, or 1 to one pair of cells of every two features (``private_products``). All of
these are one vector of integers, and the discrete Gaussian mechanism of OpenDP adds noise to it once; nothing
else is taken from the rows. What follows (no negative count, sums within count * range, no negative variance)
is arithmetic on what was released and costs nothing.

Rounding is part of what one person can change, in every class: without their rows the others are added up in
other blocks, and measured from another lowest value. For a class of at most n rows, with u = 2**-53:

- A Summary adds the values themselves or, if its lowest value lies further from zero than ``DELICATE`` mean
  distances from it, these distances, each rounded once (``accumulate``). n numbers of at most A each, added
  up in float64 in any order, are off by less than u n (n + 1) A (Higham, *Accuracy and Stability of Numerical
  Algorithms*, section 4.2). A is the width of the range if all of it lies further from zero than
  ``FAR_RANGES`` widths, since then only distances are added, else its largest value. Integers and float32 of
  such a range are added up as they are only if their sums do not round.
- Parts are joined, and the middle is taken away, in double-double: fewer than n + 1 times, each time off by
  less than 2**-103 n M, with M the largest value of the range.
- What is left, at most n / 2 ranges, is rounded to float64 and divided: off by less than n 2**-36 steps of
  1 / ``STEPS`` of a range. It is then rounded to whole steps.

``_rounding`` adds these up for ``most_rows`` rows. The Summary with the person and the one without are each
off by no more than that and half a step, in every class and feature. Sums and products move by at most the
root of the sum of squares of how far each of them does.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import hypot, isfinite, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import Categories, Coder
from .._rows.cells.learn import equal_edges
from .._system.value import Value
from .accumulate import DELICATE
from .double_double import DoubleDouble, Totals, full, two_sum
from .private_products import (
    ProductIntegers,
    cell_integers,
    product_integers,
    product_rounding,
    refuse_products,
    released_cells,
    released_products,
)
from .products import Products
from .summary import Summary

Floats = NDArray[np.float64]

# Integer steps per range; and per row in a cell, if there are products of cells.
STEPS = 1 << 16
CELL_STEPS = 1 << 8
# The most rows of a class that any bound may allow, and the bound if none is given.
MOST_ROWS = 1 << 36
USUAL_ROWS = 1 << 20
# Beyond this many widths of its range from zero, a feature is summed from its lowest value (see DELICATE); 3
# more are for the rounding of the mean that is compared with it, of at most MOST_ROWS rows.
FAR_RANGES = DELICATE + 3
# Beyond these, products of counts and ranges are not exact in double-double.
SMALLEST_RANGE, LARGEST_VALUE = 1e-250, 1e250
# The noise of a count beside that of a sum: a count enters every feature's mean.
COUNT_SHARE = 0.5


@dataclass(frozen=True)
class Release(Value):
    """What one release has spent, and on what.

    Attributes
    ----------
    epsilon, delta : float
        What was promised.
    rows_per_person : int
        How many rows of one person it covers.
    count_noise, sum_noise : float
        Standard deviations of the noise: of a count, in rows; of a sum, in ranges of its feature, or of the
        rows in a cell.
    mechanism : str
        How the noise was drawn.
    id : str
        Random; by it a release is known again in a sum of Summaries.
    product_noise : float, or None
        With second moments, that of a product, in ranges of its two features, or of the rows in two cells.
    """

    epsilon: float
    delta: float
    rows_per_person: int
    count_noise: float
    sum_noise: float
    mechanism: str
    id: str
    product_noise: float | None = None


def release(
    summary: Summary,
    epsilon: float,
    delta: float,
    ranges: Any,
    rows_per_person: int = 1,
    most_rows: int = USUAL_ROWS,
) -> PrivateSummary:
    """Return a noisy copy of a Summary that may be published.

    Parameters
    ----------
    summary : Summary
        Of rows that count once each and lack no value; with bins there may be a bin for missing ones. Its
        second moments, if it has them, are part of the one release, and have their share of the noise:
        ``summary.first_moments()`` is released without them.
    epsilon, delta : float
        The promise: small is private. Epsilon is usually from 0.1 to 10, delta well below one in the number
        of people.
    ranges : (low, high)
        Numbers, or one per feature, known without looking at the rows. A Summary with values outside is
        refused: clip the rows first. With bins, its edges must be the equal widths of these ranges.
    rows_per_person : int, default=1
        The most rows that belong to one person.
    most_rows : int, default=1048576
        No class has more rows than this, with second moments all classes together, which must be known
        without looking at them: sums of more rows round more, and the noise covers that. With bins nothing
        rounds, and it is not asked.
    """
    low, high = _checked(summary, epsilon, delta, ranges, rows_per_person)
    released = _sums_of(summary, low, high, rows_per_person, most_rows)
    released.check()
    (vector, weight, distance), step = released.integers(), released.step
    n_classes = len(summary.classes)
    extra = None if summary.products is None else released.products(summary.products)
    if extra is not None:
        finer = released.finer
        vector, weight, step, distance = vector * finer, weight * finer, step * finer, distance * finer
        vector, distance = np.concatenate([vector, extra.vector]), hypot(distance, extra.distance)
    noisy, scale = _with_noise(vector, distance, epsilon, delta)
    counts = np.maximum(noisy[:n_classes] / weight, 1.0)
    end = n_classes + summary.sums.size
    noisy_sums = noisy[n_classes:end].reshape(summary.sums.shape) / step
    noisy_products = None if extra is None else (noisy[end:] / extra.unit, scale / extra.unit)
    sums, products = released.from_noisy(counts, noisy_sums, noisy_products)
    spent = Release(
        float(epsilon),
        float(delta),
        int(rows_per_person),
        float(scale / weight),
        float(scale / step),
        "discrete Gaussian, OpenDP",
        secrets.token_hex(8),
        None if extra is None else float(scale / extra.unit),
    )
    plain = Summary.from_doubles(
        summary.classes.copy(),
        Totals(DoubleDouble(counts), sums),
        released.ends(),
        summary.feature_names,
        summary.coding,
        products,
    )
    return marked(plain, (spent,))


@dataclass(frozen=True)
class _Sums:
    """The sums of a Summary as integers, and what they are with noise; ``most`` is what a row adds to one."""

    summary: Summary
    low: Floats
    high: Floats
    rows_per_person: int
    most_rows: int

    step: ClassVar[int]  # integer steps per range, or per row in a cell
    most: ClassVar[float]
    finer: ClassVar[int]  # how many times as many steps, if there are products

    def check(self) -> None:
        """Raise an error for what cannot be released."""
        raise NotImplementedError

    def integers(self) -> tuple[Floats, int, float]:
        """Return counts and sums as integers, what a count is multiplied by, and what one person moves.

        That is by the person's own rows, and by what rounding may change in every class.
        """
        n_features = self.summary.n_features
        weight = max(1, round(COUNT_SHARE * self.most * sqrt(n_features)))
        sums, rounding = self.sums()
        vector = np.concatenate([np.rint(self.summary.counts) * weight, sums.ravel()])
        return vector, weight, self.rows_per_person * sqrt(weight**2 + n_features * self.most**2) + rounding

    def sums(self) -> tuple[Floats, float]:
        """Return the sums as integers (K, q), and how far rounding may move them."""
        raise NotImplementedError

    def products(self, products: Products) -> ProductIntegers:
        """Return the products as integers."""
        raise NotImplementedError

    def from_noisy(
        self, counts: Floats, sums: Floats, products: tuple[Floats, float] | None
    ) -> tuple[DoubleDouble, Products | None]:
        """Return sums and products as rows could have them; those of noisy ones, and the products' noise."""
        raise NotImplementedError

    def ends(self) -> tuple[Floats, Floats]:
        """Return the ends of the ranges."""
        raise NotImplementedError


class _Values(_Sums):
    """Sums of values, measured from the middle of their known range."""

    step, most, finer = STEPS, STEPS / 2, 1

    def check(self) -> None:
        _refuse_extremes(self.summary, self.low, self.high)
        _check_rows(self.summary, self.most_rows)

    def sums(self) -> tuple[Floats, float]:
        middle, half = _middle(self.low, self.high)
        counts = self.summary.double_counts.each(lambda part: part[:, None])
        whole = (self.summary.double_sums - counts * middle).rounded
        rounded = 2 * _rounding(self.low, self.high, self.most_rows) * STEPS + 1
        rounding = sqrt(len(self.summary.classes) * float(rounded @ rounded))
        return np.rint(whole / (2 * half) * STEPS), rounding

    def products(self, products: Products) -> ProductIntegers:
        refuse_products(self.summary, self.low, self.high, self.most_rows)
        rounding = product_rounding(self.low, self.high, self.most_rows)
        middle = _middle(self.low, self.high)
        return product_integers(products, *middle, rounding, STEPS, self.rows_per_person)

    def from_noisy(
        self, counts: Floats, sums: Floats, products: tuple[Floats, float] | None
    ) -> tuple[DoubleDouble, Products | None]:
        middle, half = _middle(self.low, self.high)
        moved = np.clip(sums, -counts[:, None] / 2, counts[:, None] / 2) * (2 * half)
        totals = DoubleDouble(full(counts[:, None], moved.shape)) * middle + DoubleDouble(moved)
        return totals, products and released_products(*products, counts, moved, middle, 2 * half)

    def ends(self) -> tuple[Floats, Floats]:
        return self.low.copy(), self.high.copy()


class _CellSums(_Sums):
    """Rows in cells, whose edges follow from the known ranges: counts, which do not round."""

    step, most, finer = 1, 1.0, CELL_STEPS

    @property
    def coder(self) -> Coder:
        """Where features are cut."""
        return self.summary.coding.known_coder("bins")

    def check(self) -> None:
        _refuse_edges_of_rows(self.coder, self.low, self.high)

    def sums(self) -> tuple[Floats, float]:
        return np.rint(self.summary.sums), 0.0

    def products(self, products: Products) -> ProductIntegers:
        return cell_integers(products, self.coder, CELL_STEPS, self.rows_per_person)

    def from_noisy(
        self, counts: Floats, sums: Floats, products: tuple[Floats, float] | None
    ) -> tuple[DoubleDouble, Products | None]:
        cells = _as_rows(sums, counts, self.coder)
        return DoubleDouble(cells), products and released_cells(*products, counts, cells, self.coder)

    def ends(self) -> tuple[Floats, Floats]:
        return self.summary.low.copy(), self.summary.high.copy()


def _sums_of(summary: Summary, low: Floats, high: Floats, rows_per_person: int, most_rows: int) -> _Sums:
    """Return the sums of a Summary as they are released."""
    kind = _Values if summary.coder is None else _CellSums
    return kind(summary, low, high, rows_per_person, most_rows)


def _middle(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return a float near the middle of each range, and what no value of it is further away than."""
    middle = low + (high - low) / 2
    sides = [two_sum(high, -middle), two_sum(middle, -low)]
    return middle, np.maximum(*(np.where(lost > 0, np.nextafter(side, np.inf), side) for side, lost in sides))


def _rounding(low: Floats, high: Floats, most_rows: int) -> Floats:
    """Return what a sum of so many rows may be off by, in ranges (m,): see above.

    2 % are for terms of u squared, and for the rounding of these lines.
    """
    width = high - low
    size = np.maximum(np.abs(low), np.abs(high))
    nearest = np.where((low > 0) | (high < 0), np.minimum(np.abs(low), np.abs(high)), 0.0)
    added = np.where(nearest > FAR_RANGES * width, width, size)
    parts = most_rows * (most_rows + 1.0) * 2.0**-53 * (added + size * 2.0**-50) / width
    return np.asarray(1.02 * (parts + most_rows * 2.0**-36 / STEPS))


def _with_noise(vector: Floats, distance: float, epsilon: float, delta: float) -> tuple[Floats, float]:
    """Return integers with noise, and its scale: one person moves them by at most ``distance``."""
    scale = _scale(distance, epsilon, delta)
    noisy = _mechanism(scale, delta)([int(value) for value in vector])
    return np.array(noisy, dtype=np.float64), scale


def _mechanism(scale: float, delta: float) -> Any:
    from opendp import prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    noise = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
    return dp.c.make_fix_delta(noise, delta)


@lru_cache(maxsize=64)  # the search takes half a second
def _scale(distance: float, epsilon: float, delta: float) -> float:
    """Return the scale of the noise that keeps the promise where one person moves the integers so far."""
    from opendp import prelude as dp

    # rho of zCDP, from both sides: rho + 2 sqrt(rho ln(1 / delta)) always suffices (Bun and Steinke, 2016).
    log = -np.log(delta)
    enough, not_enough = (sqrt(log + epsilon) - sqrt(log)) ** 2, 4 * epsilon + 10
    bounds = (distance / sqrt(2 * not_enough), 1.01 * distance / sqrt(2 * enough))
    return float(
        dp.binary_search_param(
            lambda scale: _mechanism(scale, delta), d_in=distance, d_out=(epsilon, delta), bounds=bounds
        )
    )


def _refuse_edges_of_rows(coder: Coder, low: Floats, high: Floats) -> None:
    """Raise an error unless the bins follow from the ranges: edges learned from rows would tell of them."""
    coder.refuse_ferns("a private Summary")
    for j, part in enumerate(coder.parts):
        if isinstance(part, Categories):
            raise ValueError(f"column {j} has categories, which come from the rows: release it without them")
        most = len(part) + 1
        known = equal_edges(low[j : j + 1], high[j : j + 1], most)[0]
        if not np.array_equal(part, known):
            raise ValueError(
                f"column {j} is cut at edges that do not follow from its range from {low[j]:g} to "
                f"{high[j]:g}: learn with bins and scale=(low, high), which reveal nothing about the rows"
            )


def _as_rows(released: Floats, counts: Floats, coder: Coder) -> Floats:
    """Return cells as rows could fill them: none below 0, and those of a feature add up to the count."""
    cells = np.maximum(released, 0.0)
    cells += 1e-9 * (counts[:, None] + 1)  # a feature whose cells all came out negative
    total = np.add.reduceat(cells, coder.offsets[:-1], axis=1)
    return np.asarray(cells * (counts[:, None] / total)[:, coder.column_of])


def _checked(
    summary: Summary, epsilon: float, delta: float, ranges: Any, rows_per_person: int
) -> tuple[Floats, Floats]:
    """Return the ranges, one per feature; say what cannot be released."""
    if isinstance(summary, PrivateSummary):
        raise ValueError("this Summary is noisy already: release the rows, or publish it as it is")
    if not isinstance(epsilon, int | float) or not 1e-6 <= epsilon <= 100:
        raise ValueError(
            f"epsilon must be a number from 1e-6 to 100, above which it promises nothing, not {epsilon!r}"
        )
    if not isinstance(delta, int | float) or not 1e-50 <= delta <= 0.01:
        raise ValueError(f"delta must be a number from 1e-50 to 0.01, not {delta!r}")
    if not isinstance(rows_per_person, int) or isinstance(rows_per_person, bool) or rows_per_person < 1:
        raise ValueError(f"rows_per_person must be a whole number from 1 up, not {rows_per_person!r}")
    if summary.n_targets:
        raise ValueError("a private Summary is of classes: numbers to predict have no range that is known")
    try:
        low, high = (
            np.array(np.broadcast_to(np.asarray(side, dtype=np.float64), (summary.n_features,)))
            for side in ranges
        )
    except (TypeError, ValueError):
        raise ValueError(
            f"ranges must be a pair (low, high) of numbers or of one value per feature ({summary.n_features})"
        ) from None
    if not (np.isfinite(low) & np.isfinite(high) & (low < high) & np.isfinite(high - low)).all():
        j = int(np.argmin(np.isfinite(low) & np.isfinite(high) & (low < high)))
        raise ValueError(f"ranges must be finite, low below high: column {j} has {low[j]:g} and {high[j]:g}")
    if summary.present is not None and (summary.present != summary.counts[:, None]).any():
        raise ValueError("a private Summary needs every value: fill in the missing ones first")
    if (summary.counts != np.rint(summary.counts)).any():
        raise ValueError("a private Summary needs rows that count once each, without weights or decay")
    if (summary.counts > MOST_ROWS).any():
        raise ValueError(f"a private Summary takes at most {MOST_ROWS:,} rows per class")
    return low, high


def _refuse_extremes(summary: Summary, low: Floats, high: Floats) -> None:
    """Raise an error for ranges whose rounding is not known, or that values lie outside."""
    extreme = (high - low < SMALLEST_RANGE) | (np.maximum(np.abs(low), np.abs(high)) > LARGEST_VALUE)
    if extreme.any():
        j = int(np.argmax(extreme))
        raise ValueError(
            f"column {j} has the range from {low[j]:g} to {high[j]:g}: rounding is known for ranges wider "
            f"than {SMALLEST_RANGE:g} of values up to {LARGEST_VALUE:g}"
        )
    outside = (summary.low < low) | (summary.high > high)
    if outside.any():
        j = int(np.argmax(outside))
        raise ValueError(
            f"column {j} has values from {summary.low[j]:g} to {summary.high[j]:g}, outside the range from "
            f"{low[j]:g} to {high[j]:g}: clip the rows before they are summarised"
        )


def _check_rows(summary: Summary, most_rows: int) -> None:
    """Raise an error where a class has more rows than the noise covers the rounding of."""
    if not isinstance(most_rows, int) or isinstance(most_rows, bool) or not 1 <= most_rows <= MOST_ROWS:
        raise ValueError(f"most_rows must be a whole number from 1 to {MOST_ROWS:,}, not {most_rows!r}")
    if (summary.counts > most_rows).any():
        raise ValueError(
            f"a class has more than most_rows={most_rows:,} rows, for which the noise covers rounding: pass "
            "a larger bound that is known without looking at the rows"
        )


class PrivateSummary(Summary):
    """A Summary with noise in it: it adds and multiplies, but is never taken away from exact rows.

    Attributes
    ----------
    releases : tuple of Release
        Whose noise it holds, each once.
    mixed : bool
        Whether exact rows were added to it. Then it must not be published.
    """

    __slots__ = ("mixed", "releases")

    releases: tuple[Release, ...]
    mixed: bool

    @property
    def spent(self) -> dict[str, float]:
        """What the releases have spent: on one person's rows if all are the same, and if no two are.

        ``same_rows`` epsilon and delta add up; where the releases are of different people the largest counts.
        """
        epsilons, deltas = ([getattr(one, name) for one in self.releases] for name in ("epsilon", "delta"))
        return {
            "epsilon_same_rows": sum(epsilons),
            "delta_same_rows": sum(deltas),
            "epsilon_other_people": max(epsilons),
            "delta_other_people": max(deltas),
        }

    def __add__(self, other: object) -> Summary:
        if not isinstance(other, Summary):
            return super().__add__(other)
        theirs = other.releases if isinstance(other, PrivateSummary) else ()
        if twice := {one.id for one in self.releases} & {one.id for one in theirs}:
            raise ValueError(f"the release {min(twice)} would be added twice")
        mixed = self.mixed or not isinstance(other, PrivateSummary) or other.mixed
        return marked(_plain(self) + _plain(other), (*self.releases, *theirs), mixed=mixed)

    __radd__ = __add__

    def __sub__(self, other: object) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        gone = {one.id for one in other.releases} if isinstance(other, PrivateSummary) else set()
        known = {one.id for one in self.releases}
        if not gone or not gone <= known or (isinstance(other, PrivateSummary) and other.mixed):
            raise ValueError(
                "cannot take this away from a private Summary: only a release that was added to it can be, "
                "as its noise is known; other rows need a release without them"
            )
        left = tuple(one for one in self.releases if one.id not in gone)
        rest = _plain(self) - _plain(other)
        return marked(rest, left, mixed=self.mixed) if left else rest

    def __rsub__(self, other: object) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        raise ValueError(
            "cannot take a private Summary away from exact rows: its noise would stay behind, and the "
            "difference would reveal the rows"
        )

    def reweighted(self, weights: Floats) -> Summary:
        """Return this Summary with the rows of each class counting ``weights`` (K,) times."""
        return marked(_plain(self).reweighted(weights), self.releases, mixed=self.mixed)

    def __mul__(self, factor: object) -> Summary:
        less = _plain(self) * factor
        return marked(less, self.releases, mixed=self.mixed)

    __rmul__ = __mul__

    def first_moments(self) -> Summary:
        """Return this Summary without the products of features."""
        return marked(_plain(self).first_moments(), self.releases, mixed=self.mixed)

    def _each(self, classes: NDArray[Any], change: Any) -> Summary:
        return marked(_plain(self)._each(classes, change), self.releases, mixed=self.mixed)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PrivateSummary) and (other.releases, other.mixed) != (self.releases, self.mixed):
            return False
        return super().__eq__(other)

    __hash__ = None

    def __repr__(self) -> str:
        return super().__repr__().replace("<Summary:", f"<PrivateSummary of {len(self.releases)} releases:")

    def __getstate__(self) -> dict[str, Any]:
        return _plain(self).__getstate__() | {"mixed": self.mixed, "releases": self.releases}


def refuse_facts_of_rows(summary: Summary) -> None:
    """Raise an error for a Summary that may be published: what exact rows tell is not stored beside it."""
    if isinstance(summary, PrivateSummary) and not summary.mixed:
        raise ValueError(
            "this model may be published, since its Summary is private: probabilities fitted to exact rows "
            "would reveal them; use its answers and scores"
        )


def marked(summary: Summary, releases: Sequence[Release], *, mixed: bool = False) -> PrivateSummary:
    """Return the same Summary, known to hold the noise of these releases."""
    new = object.__new__(PrivateSummary)
    for name in Summary.__slots__:
        object.__setattr__(new, name, getattr(summary, name))
    object.__setattr__(new, "releases", tuple(releases))
    object.__setattr__(new, "mixed", mixed)
    return new


def noise_of(summary: Summary) -> dict[str, Any] | None:
    """Return the mark of a noisy Summary as plain values; None where it has none."""
    if not isinstance(summary, PrivateSummary):
        return None
    return {"mixed": summary.mixed, "releases": [one.__getstate__() for one in summary.releases]}


def summary_of(*, noise: object = None, **parts: Any) -> Summary:
    """Return the Summary of parts that came from elsewhere, marked by what came with them."""
    return with_noise(Summary.from_parts(**parts), noise)


def with_noise(summary: Summary, noise: object) -> Summary:
    """Return a Summary marked by what ``noise_of`` returned; anything else is a ``ValueError``."""
    if noise is None:
        return summary
    try:
        if not isinstance(noise, Mapping) or not isinstance(noise["mixed"], bool):
            raise TypeError
        releases = tuple(_release(one) for one in noise["releases"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("the mark of a noisy Summary is damaged") from None
    if not releases or len({one.id for one in releases}) < len(releases):
        raise ValueError("the mark of a noisy Summary names no release, or one twice")
    return marked(summary, releases, mixed=noise["mixed"])


def _release(fields: Mapping[str, Any]) -> Release:
    made = Release(**fields)
    numbers: list[Any] = [made.epsilon, made.delta, made.count_noise, made.sum_noise]
    numbers += [] if made.product_noise is None else [made.product_noise]
    if not all(isinstance(number, int | float) and isfinite(number) and number >= 0 for number in numbers):
        raise ValueError
    if not isinstance(made.rows_per_person, int) or not all(
        isinstance(t, str) for t in (made.mechanism, made.id)
    ):
        raise TypeError
    return made


def _plain(summary: Summary) -> Summary:
    """Return the Summary without its mark, for arithmetic."""
    if not isinstance(summary, PrivateSummary):
        return summary
    new = object.__new__(Summary)
    for name in Summary.__slots__:
        object.__setattr__(new, name, getattr(summary, name))
    return new
