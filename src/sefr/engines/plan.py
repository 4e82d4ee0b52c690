"""Plan: what an engine needs to score rows with a trained model, in any engine's words.

A score is the sum of one part per feature. A part is a line, (x - base) * coef + part at the base: the
difference from a value that was seen, so that no bits are lost to values far from zero. In a model with bins
it is a constant per bin, or per category. ``scoring`` says it in SQL, ``expressions`` in Polars, Ibis, Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .._answers.probabilities import TemperatureScaling
from .._rows.cells import Categories, Coder
from .._summary.summary import Summary
from .._system.types import Floats, Foreign
from ..classifier import SEFRClassifier

E = TypeVar("E")

ROUNDING = 1e-9


@dataclass(frozen=True)
class Line:
    """A feature's part of each of R scores: (x - base) * coef + part."""

    base: float  # a value that was seen
    coef: Floats  # (R,)
    parts: Floats  # (R,), what it says at its base


@dataclass(frozen=True)
class Steps:
    """A feature's part of each of R scores: a constant per bin, of which edge b begins number b + 1."""

    edges: Floats  # (bins - 1,)
    parts: Floats  # (R, bins)
    gone: Floats | None  # (R,), of a missing value; None: there is no answer


@dataclass(frozen=True)
class Choice:
    """A feature's part of each of R scores: a constant per category, the last one for any other value."""

    categories: Categories
    parts: Floats  # (R, categories + 1)
    gone: Floats | None  # as for Steps


class Words(Protocol[E]):
    """How an engine says what a plan consists of; a value is a double, null where it is missing."""

    def value(self, name: str) -> E:
        """Return a feature as a double."""

    def line(self, x: E, base: float, coef: float, part: float) -> E:
        """Return (x - base) * coef + part."""

    def steps(self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None) -> E:
        """Return the part of the bin that a feature lies in."""

    def choice(self, name: str, categories: Categories, parts: Sequence[float], gone: float | None) -> E:
        """Return the part of the category that a column has."""

    def total(self, parts: list[E], constant: float) -> E:
        """Return the sum of all."""


@dataclass(frozen=True)
class Plan:
    """What a model needs to score rows: for R scores (1 for two classes, else K) of m features."""

    classes: list[Any]  # (K,)
    features: tuple[str, ...]  # (m,)
    shapes: tuple[Line | Steps | Choice, ...]  # (m,)
    constant: Floats  # (R,), what the parts do not add up to, if anything
    ignore: bool  # whether a missing value is left out; else there is no answer
    calibration: TemperatureScaling | None  # of the probabilities

    @classmethod
    def of(
        cls, clf: SEFRClassifier, features: Sequence[str] | None = None, *, probabilities: bool = False
    ) -> Plan:
        """Return the plan of a trained model; ``features`` names its columns where it has no names."""
        summary = clf.summary_
        names = features if features is not None else summary.feature_names
        if names is None:
            raise ValueError("the model's features have no names: say which columns they are")
        if len(names) != summary.n_features:
            raise ValueError(
                f"{len(names)} columns were named, but the model has {summary.n_features} features"
            )
        if (unseen := summary.counts == 0).any():
            raise ValueError(
                f"class {summary.classes[unseen][0]!r} was never seen: there is nothing to score"
            )
        shapes: tuple[Line | Steps | Choice, ...]
        if summary.coder is None:
            shapes, constant = _lines(clf, summary)
        else:
            shapes = _tables(summary.coder, np.asarray(clf.fitted_.table))
            constant = np.zeros(summary.n_scores)
        return cls(
            summary.classes.tolist(),
            tuple(names),
            shapes,
            constant,
            clf.missing == "ignore",
            _calibration(clf) if probabilities else None,
        )

    @property
    def size(self) -> int:
        """How many constants all parts have."""
        return sum(shape.coef.size if isinstance(shape, Line) else shape.parts.size for shape in self.shapes)

    def scores(self, words: Words[E]) -> list[E]:
        """Return the scores in an engine's words."""
        values = {
            j: words.value(name) for j, name in enumerate(self.features) if isinstance(self.shapes[j], Line)
        }
        found = []
        for r in range(len(self.constant)):
            constant, parts = float(self.constant[r]), []
            for j, shape in enumerate(self.shapes):
                if self.ignore and isinstance(shape, Line) and shape.coef[r] == 0:
                    constant += float(shape.parts[r])
                else:
                    parts.append(self.part(words, r, j, values.get(j)))
            found.append(words.total(parts, constant))
        return found

    def part(self, words: Words[E], r: int, j: int, x: E | None = None) -> E:
        """Return what feature j says for score r; ``x`` is its value, where a line's was made already."""
        shape, name = self.shapes[j], self.features[j]
        if isinstance(shape, Line):
            value = words.value(name) if x is None else x
            return words.line(value, shape.base, float(shape.coef[r]), float(shape.parts[r]))
        gone = None if shape.gone is None else float(shape.gone[r])
        if isinstance(shape, Choice):
            return words.choice(name, shape.categories, shape.parts[r].tolist(), gone)
        return words.steps(name, shape.edges.tolist(), shape.parts[r].tolist(), gone)


def _lines(clf: SEFRClassifier, summary: Summary) -> tuple[tuple[Line, ...], Floats]:
    """Return the lines of a linear model, and what they do not add up to."""
    base = np.where(np.isfinite(summary.low), summary.low, 0.0)
    row = base[None, :] if not hasattr(clf, "feature_names_in_") else _named(base, clf)
    coef = np.asarray(clf.coef_)
    parts = np.asarray(clf.contributions(row)).reshape(coef.shape)
    scores = np.asarray(clf.decision_function(row)).reshape(len(coef))
    constant = scores - parts.sum(axis=1)
    # A score is the sum of its parts: what is left over is rounding, which would break ties.
    constant[np.abs(constant) <= ROUNDING * np.abs(parts).sum(axis=1)] = 0.0
    return tuple(Line(float(base[j]), coef[:, j], parts[:, j]) for j in range(len(base))), constant


def _tables(coder: Coder, table: Floats) -> tuple[Steps | Choice, ...]:
    """Return the constants of a model with bins."""
    coder.refuse_ferns("SQL")
    shapes: list[Steps | Choice] = []
    for j, part in enumerate(coder.parts):
        own = table[:, coder.offsets[j] : coder.offsets[j + 1]]
        gone = own[:, -1] if coder.missing else None
        entries = own[:, :-1] if coder.missing else own
        if isinstance(part, Categories):
            shapes.append(Choice(part, entries, gone))
        else:
            shapes.append(Steps(part, entries, gone))
    return tuple(shapes)


def _calibration(clf: SEFRClassifier) -> TemperatureScaling:
    scaling = clf.fitted_.probability_scaling
    if scaling is None:
        raise ValueError(
            "probabilities need rows to be fitted to, and this model comes from a Summary, which holds none: "
            "call calibrate(X, y) first"
        )
    return scaling


def _named(base: Floats, clf: SEFRClassifier) -> Foreign:
    """Return one row under the names that the model knows its features by."""
    import pyarrow as pa

    return pa.table({name: [value] for name, value in zip(clf.feature_names_in_, base, strict=True)})


def balanced(terms: Sequence[E], join: Callable[[E, E], E]) -> E:
    """Return all terms joined in a tree as flat as can be: databases refuse a chain of thousands."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return join(balanced(terms[:half], join), balanced(terms[half:], join))


def searched(edges: Sequence[float], parts: Sequence[E], below: Callable[[float, E, E], E]) -> E:
    """Return the part of a bin, found by bisection: ``below`` chooses by whether x is below an edge."""
    if not edges:
        return parts[0]
    half = len(edges) // 2
    return below(
        edges[half],
        searched(edges[:half], parts[: half + 1], below),
        searched(edges[half + 1 :], parts[half + 1 :], below),
    )
