"""The parts of a Summary that came from elsewhere: a file, a message, a board, a database.

They are taken for what rows could have given, or refused: a sum that no values between low and high add up to
would let one message decide every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._rows.cells import Coder
from .._rows.coding import Coding, coding_of
from .._system.types import Array, Floats, Params

# The rows of a class that a Summary may stand for, by weight: far above any data, and what is made from so
# many stays within float64.
LARGEST_COUNT = 1e290
# Sums may leave count * [low, high] by this part of count * max(|low|, |high|): rounding of long histories.
ROUNDING = 1e-6
PARTS = frozenset(["counts", "sums", "low", "high", "present", "tails", "count_tails", "present_tails"])


def check_limits(counts: Floats, sums: Floats) -> None:
    """Raise an error for more rows, or larger sums, than a Summary can hold."""
    if (counts > LARGEST_COUNT).any():
        raise ValueError(
            f"the rows of a class would count {counts.max():g} times, more than {LARGEST_COUNT:g}: divide "
            "all weights"
        )
    if not np.isfinite(sums).all():
        j = int(np.argmin(np.isfinite(sums).all(axis=0)))
        raise ValueError(f"the sums of column {j} would be larger than float64 can hold")


def checked_parts(
    classes: Any, feature_names: Sequence[str] | None, parts: Params, coder: Coder | None
) -> tuple[Array, dict[str, Floats], Coding]:
    """Return labels, parts and what their columns are, or say what is wrong.

    The parts are new arrays, without those that are None.
    """
    if unknown := set(parts) - PARTS:
        raise TypeError(f"a Summary has no part {min(unknown)!r}")
    coding = coding_of(coder, np.asarray(parts.get("low")).size)
    parts = {**parts, **coding.known_ends()}
    if absent := [name for name in ("counts", "sums", "low", "high") if parts.get(name) is None]:
        raise TypeError(f"a Summary needs its {absent[0]}")
    labels = np.array(classes)
    arrays = {name: np.array(part, dtype=np.float64) for name, part in parts.items() if part is not None}
    if labels.ndim != 1 or (len(labels) > 1 and not (labels[1:] > labels[:-1]).all()):
        raise ValueError("classes must be sorted and distinct")
    _check_shapes(len(labels), arrays)
    if feature_names is not None and len(feature_names) != coding.n_features:
        raise ValueError(f"{len(feature_names)} feature_names for {coding.n_features} features")
    _check_values(arrays)
    coding.check_counts(arrays["counts"], arrays["sums"], arrays.get("present"), ROUNDING)
    return labels, arrays, coding


def _check_shapes(n_classes: int, arrays: dict[str, Floats]) -> None:
    n_features = arrays["low"].size
    shapes = {"counts": (n_classes,), "low": (n_features,), "high": (n_features,)}
    shapes["count_tails"] = shapes["counts"]
    for name, array in arrays.items():
        expected = shapes.get(name, (n_classes, n_features))
        if array.shape != expected:
            raise ValueError(f"{name} has shape {array.shape}, expected {expected}")
        if name not in {"low", "high"} and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")


def _check_values(arrays: dict[str, Floats]) -> None:
    counts, sums, low, high = (arrays[name] for name in ("counts", "sums", "low", "high"))
    for name in ("counts", "present"):
        if name in arrays and (arrays[name] < 0).any():
            raise ValueError(f"{name} must not be negative")
    if (counts > LARGEST_COUNT).any():
        raise ValueError(f"counts must not be above {LARGEST_COUNT:g}")
    if np.isnan(low).any() or np.isnan(high).any():
        raise ValueError("low and high must not be NaN")
    seen = ~((low == np.inf) & (high == -np.inf))
    if (seen & ~((low <= high) & np.isfinite(low) & np.isfinite(high))).any():
        j = int(np.argmax(seen & ~((low <= high) & np.isfinite(low) & np.isfinite(high))))
        raise ValueError(f"low must not be above high: column {j} has {low[j]:g} and {high[j]:g}")
    cells = arrays.get("present", np.broadcast_to(counts[:, None], sums.shape))
    if (cells > counts[:, None] * (1 + ROUNDING)).any():
        raise ValueError("present must not be above counts")
    if (~seen & (cells > 0)).any():
        # a board counts a record whose sums all are zero before it has seen a value of every feature
        k, j = np.argwhere(~seen & (cells > 0))[0]
        if sums[k, j] != 0:
            raise ValueError(f"column {j} has a sum of {sums[k, j]:g}, but no lowest and highest value")
    bottom, top = np.where(seen, low, 0.0), np.where(seen, high, 0.0)
    slack = ROUNDING * cells * np.maximum(np.abs(bottom), np.abs(top))
    with np.errstate(over="ignore", invalid="ignore"):
        outside = (sums < cells * bottom - slack) | (sums > cells * top + slack)
    if outside.any():
        k, j = np.argwhere(outside)[0]
        raise ValueError(
            f"sums must lie within count * [low, high]: class {k}, column {j} has a sum of {sums[k, j]:g} "
            f"of {cells[k, j]:g} values from {low[j]:g} to {high[j]:g}"
        )
    for name in ("tails", "count_tails", "present_tails"):
        of = arrays.get({"tails": "sums", "count_tails": "counts", "present_tails": "present"}[name])
        if name in arrays and (of is None or (np.abs(arrays[name]) > ROUNDING * np.abs(of) + 1e-300).any()):
            raise ValueError(f"{name} must be small beside what they are the rounding of")
