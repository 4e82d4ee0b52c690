"""Two Summaries brought to the same classes, and what one leaves of the other; or why that cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import Coder
from .._rows.inputs import describe_feature
from .._rows.labels import are_alike, union_of_labels
from .._system.types import Floats
from .double_double import DoubleDouble
from .parts import ROUNDING

if TYPE_CHECKING:
    from .summary import Summary

# The part of a count that rounding may leave over when rows with weights are taken away.
COUNT_SLACK = 1e-9


def aligned(a: Summary, b: Summary, verb: str) -> tuple[Summary, Summary]:
    """Return both over the classes of both; other features or bins are an error: ``verb`` cannot be done."""
    if a.n_features != b.n_features:
        raise ValueError(
            f"cannot {verb} Summaries of {a.n_features} and {b.n_features} features: they must be the same"
        )
    mine, theirs = a.feature_names, b.feature_names
    if mine is not None and theirs is not None and mine != theirs:
        j = next(j for j in range(a.n_features) if mine[j] != theirs[j])
        raise ValueError(f"cannot {verb} Summaries of other features: {mine[j]!r} meets {theirs[j]!r}")
    if a.coding != b.coding:
        raise ValueError(f"cannot {verb} {a.coding.difference_in_words(b.coding, a.feature_names)}")
    if a.moments != b.moments and verb != "compare":
        raise ValueError(
            f"cannot {verb} Summaries of moments={a.moments} and moments={b.moments}: learn both with the "
            "same, or use first_moments() of the other"
        )
    _check_targets(a, b, verb)
    if np.array_equal(a.classes, b.classes):
        return a, b
    if not are_alike(a.classes, b.classes):
        raise ValueError(
            f"cannot {verb} Summaries with labels of different kinds: "
            f"{a.classes[0]!r} ({a.classes.dtype}) and {b.classes[0]!r} ({b.classes.dtype})"
        )
    classes = union_of_labels(a.classes, b.classes)
    return a.over(classes), b.over(classes)


def _check_targets(a: Summary, b: Summary, verb: str) -> None:
    mine, theirs = a.n_targets, b.n_targets
    if mine != theirs:
        kinds = " and ".join(f"{n} targets" if n else "classes" for n in (mine, theirs))
        raise ValueError(f"cannot {verb} Summaries of {kinds}")


def count_slack(a: DoubleDouble, b: DoubleDouble, rows: Floats) -> Floats:
    """Return what rounding may leave of counts ``a`` less ``b``: nothing of whole numbers."""
    return np.where(_whole(a) & _whole(b), 0.0, COUNT_SLACK * rows)


def _whole(numbers: DoubleDouble) -> NDArray[np.bool_]:
    head, tail = numbers
    whole = np.asarray(head == np.rint(head))
    return whole if tail is None else whole & (tail == np.rint(tail))


def checked_sums(a: Summary, b: Summary, left: DoubleDouble, cells: Floats) -> DoubleDouble:
    """Return the sums that are left of ``a`` without ``b``, of so many values, or of rows in each cell.

    Sums that the values left cannot have, since others were taken away than were learned, are an error.
    """
    if a.coder is None:
        return _checked_values(a, left, cells)
    return _checked_cells(a, a.coder, left, count_slack(a.double_sums, b.double_sums, a.counts[:, None]))


def _checked_values(a: Summary, left: DoubleDouble, cells: Floats) -> DoubleDouble:
    """Return the sums that are left of so many values, moved into their range if they rounded out of it."""
    seen = a.low <= a.high
    low, high = np.where(seen, a.low, 0.0), np.where(seen, a.high, 0.0)
    with np.errstate(over="ignore"):
        bottom, top = cells * low, cells * high
        size = ROUNDING * np.maximum(np.abs(low), np.abs(high))
        # what Summary.from_parts takes for rounding, and what the rows before may have rounded by
        moved, outside = (
            (left.head < bottom - slack) | (left.head > top + slack)
            for slack in (cells * size, a.value_counts.head * size)
        )
    if outside.any():
        k, j = np.argwhere(outside)[0]
        raise ValueError(
            f"cannot take away rows that were not learned: of class {a.classes[k]}, "
            f"{describe_feature(int(j), a.feature_names)}, {np.broadcast_to(cells, left.head.shape)[k, j]:g} "
            f"values from {low[j]:g} to {high[j]:g} would have a sum of {left.head[k, j]:g}"
        )
    if not moved.any():
        return left
    inside = np.where(moved, np.clip(left.head, bottom, top), left.head)
    return DoubleDouble(inside, None if left.tail is None else np.where(moved, 0.0, left.tail))


def _checked_cells(a: Summary, coder: Coder, left: DoubleDouble, slack: Floats) -> DoubleDouble:
    """Return what is left of the rows in each cell; more rows taken away than it had are an error."""
    if (left.head < -slack).any():
        k, cell = np.argwhere(left.head < -slack)[0]
        features = coder.feature_sets[coder.set_of[coder.column_of[cell]]]
        where = " and ".join(describe_feature(j, a.feature_names) for j in features)
        raise ValueError(
            f"cannot take away more rows of class {a.classes[k]} in a bin of {where} than were learned"
        )
    return left.zero_where(left.head <= slack)
