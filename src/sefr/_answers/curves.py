"""Curves: what each feature adds to the scores over its range, if features are cut into bins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .._rows.cells import Categories, Coder
from .._summary.summary import Summary
from .._system.types import Floats
from .._system.value import Value


@dataclass(frozen=True)
class Curve(Value):
    """The effect of one feature.

    ``effects`` (R, bins) is what a value of each bin adds to each score, ``rows`` (bins,) how many training
    rows lie in the bin, by weight. Bins are cut at ``edges``, one fewer than there are bins; a feature with
    ``categories`` has a bin for each, and a last one for any other value. What a missing value adds, and how
    many there were, is ``missing_effects`` (R,) and ``missing_rows``, None if it has no cell. With
    ``auto=True`` a line beside the bins may add more within a bin: ``effects`` has its mean there.
    """

    name: str
    edges: Floats
    categories: Categories | None
    effects: Floats
    rows: Floats
    missing_effects: Floats | None
    missing_rows: float | None

    def ends(self) -> Floats:
        """Return where bins begin and end (bins + 1,): categories at 0, 1, ..., outer bins as the usual."""
        if self.categories is not None or not len(self.edges):
            return np.arange(len(self.rows) + 1.0)
        edges = self.edges
        width = float(np.median(np.diff(edges))) if len(edges) > 1 else max(1.0, abs(float(edges[0])))
        return np.concatenate([[edges[0] - width], edges, [edges[-1] + width]])

    def describe_bin(self, number: int) -> str:
        """Return a bin in words: a category, or from where to where its values lie."""
        if self.categories is not None:
            return self.categories.describe(number)
        if not len(self.edges):
            return "any value"
        low = f"from {self.edges[number - 1]:.6g}" if number else ""
        high = f"below {self.edges[number]:.6g}" if number < len(self.edges) else ""
        return f"{low} {high}".strip()

    @property
    def importance(self) -> float:
        """How much the feature moves the scores: the mean size of its effect over the training rows."""
        effects, rows = self.effects, self.rows
        if self.missing_effects is not None and self.missing_rows is not None:
            effects = np.column_stack([effects, self.missing_effects])
            rows = np.append(rows, self.missing_rows)
        total = rows.sum()
        return float((np.abs(effects) @ rows).mean() / total) if total else 0.0


def curves_of(coder: Coder, table: Floats, summary: Summary) -> list[Curve]:
    """Return the curve of every feature from what its cells add (R, cells), without what ferns add."""
    rows = summary.sums.sum(axis=0)
    names = summary.feature_names
    found = []
    for j, (first, end) in enumerate(pairwise(coder.offsets[: coder.n_features + 1])):
        last = end - 1 if coder.missing else end
        found.append(
            Curve(
                str(j) if names is None else names[j],
                coder.edges[coder.starts[j] : coder.starts[j + 1]],
                coder.categories.get(j),
                table[:, first:last],
                rows[first:last],
                table[:, last] if coder.missing else None,
                float(rows[last]) if coder.missing else None,
            )
        )
    return found
