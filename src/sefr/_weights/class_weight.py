"""How often the rows of each class count: scikit-learn's ``class_weight``, for a Summary."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from .._rows.inputs import SMALLEST_WEIGHT
from .._summary.parts import LARGEST_COUNT
from .._summary.summary import Summary
from .._system.types import Floats


def class_weights(setting: Any, summary: Summary) -> Floats | None:
    """Return the weight of every class (K,); None where all are 1.

    Examples
    --------
    >>> summary = Summary.of([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "b"])
    >>> class_weights("balanced", summary)
    array([2.        , 0.66666667])
    """
    if setting is None:
        return None
    counts = summary.counts
    if isinstance(setting, str) and setting == "balanced":
        seen = counts > 0
        even = counts.sum() / max(1, int(seen.sum()))
        return _checked(np.divide(even, counts, out=np.ones_like(counts), where=seen), summary)
    if not isinstance(setting, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict of weights, not {setting!r}")
    labels = summary.classes.tolist()
    for label, weight in setting.items():
        if label not in labels:
            raise ValueError(f"class_weight names the class {label!r}, which is not among the labels")
        if not isinstance(weight, Real) or not 0 < float(weight) < np.inf:
            raise ValueError(f"class_weight: class {label!r} has {weight!r}; weights are numbers above 0")
        if float(weight) < SMALLEST_WEIGHT:
            raise ValueError(
                f"class_weight: class {label!r} has {weight!r}: below {SMALLEST_WEIGHT:g} float64 has too "
                "few digits left; multiply all weights"
            )
    return _checked(np.array([float(setting.get(label, 1.0)) for label in labels]), summary)


def _checked(weights: Floats, summary: Summary) -> Floats:
    """Return the weights; raise an error if the Summary cannot be multiplied by them."""
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(summary.sums * weights[:, None]).all(axis=1)
        held = finite & (summary.counts * weights <= LARGEST_COUNT)
    if not held.all():
        k = int(np.argmin(held))
        raise ValueError(
            f"class_weight: class {summary.classes.tolist()[k]!r} has {weights[k]:g}: float64 cannot hold "
            "the counts and sums of its rows times this weight; divide all weights"
        )
    return weights
