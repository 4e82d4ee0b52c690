"""Two Summaries brought to the same classes, or the reason why they cannot be added."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from .._rows.inputs import describe_feature
from .._rows.labels import are_alike, union_of_labels
from .._system.types import Floats
from .double_double import DoubleDouble

if TYPE_CHECKING:
    from .summary import Summary


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
    if a.coder != b.coder:
        _refuse_other_edges(a, b, verb)
    if np.array_equal(a.classes, b.classes):
        return a, b
    if not are_alike(a.classes, b.classes):
        raise ValueError(
            f"cannot {verb} Summaries with labels of different kinds: "
            f"{a.classes[0]!r} ({a.classes.dtype}) and {b.classes[0]!r} ({b.classes.dtype})"
        )
    classes = union_of_labels(a.classes, b.classes)
    return a.over(classes), b.over(classes)


def checked_cells(a: Summary, left: DoubleDouble, slack: Floats) -> DoubleDouble:
    """Return what is left of the rows in each cell; more rows taken away than it had are an error."""
    if a.coder is not None and (left.head < -slack).any():
        k, cell = np.argwhere(left.head < -slack)[0]
        features = a.coder.feature_sets[a.coder.set_of[a.coder.column_of[cell]]]
        where = " and ".join(describe_feature(j, a.feature_names) for j in features)
        raise ValueError(
            f"cannot take away more rows of class {a.classes[k]} in a bin of {where} than were learned"
        )
    return left.zero_where(left.head <= slack)


def _refuse_other_edges(a: Summary, b: Summary, verb: str) -> NoReturn:
    if a.coder is None or b.coder is None:
        raise ValueError(
            f"cannot {verb} a Summary with bins and one without: one counts rows, the other adds values"
        )
    j = a.coder.difference(b.coder)
    if j is None and a.coder.ferns != b.coder.ferns:
        raise ValueError(
            f"cannot {verb} Summaries of other interactions: learn both with the same ones: "
            "bins=other.edges_, interactions=other.interactions_"
        )
    if j is None:
        raise ValueError(
            f"cannot {verb} Summaries of which only one has bins for missing values: learn both with the "
            "same setting of missing"
        )
    raise ValueError(
        f"cannot {verb} Summaries of other bins: {describe_feature(j, a.feature_names)} is cut at other "
        "edges; learn both with the same ones: bins=other.edges_"
        f"{', interactions=other.interactions_' if a.coder.ferns or b.coder.ferns else ''}"
    )
