"""ScoringModel: the terms of a model over named columns, for any engine to express.

``scoring`` says it in SQL, ``expressions`` in Polars, Ibis, Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .._answers.additive import Choice, Fern, Line, Question, SlopedSteps, Steps
from .._answers.probabilities import TemperatureScaling
from .._rows.cells import Categories
from .._system.types import Floats, Label
from ..base import Learner

E = TypeVar("E")


class ExpressionBackend(Protocol[E]):
    """How an engine says what a model consists of; a value is a double, null where it is missing."""

    def value(self, name: str) -> E:
        """Return a feature as a double."""

    def line(self, x: E, base: float, coef: float, part: float) -> E:
        """Return (x - base) * coef + part."""

    def steps(self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None) -> E:
        """Return the part of the bin that a feature lies in."""

    def choice(self, name: str, categories: Categories, parts: Sequence[float], gone: float | None) -> E:
        """Return the part of the category that a column has."""

    def reached(self, name: str, edge: float, missing: bool) -> E:
        """Return whether a feature is at or above an edge; ``missing`` is the answer of a missing value."""

    def among(self, name: str, categories: Sequence[Label], others: bool) -> E:
        """Return whether a column has one of some categories; ``others``: a value that is none of them."""

    def gone(self, name: str) -> E:
        """Return whether a feature is missing."""

    def fern(self, answers: list[E], parts: Sequence[float]) -> E:
        """Return the part whose number has the answers for its bits, the first for the highest."""

    def total(self, parts: list[E], constant: float) -> E:
        """Return the sum of all."""


@dataclass(frozen=True)
class ScoringModel:
    """What a model needs to score rows: for R scores (1 for two classes, else K) of m features.

    Of numbers the scores are the predictions.
    """

    classes: list[Any]  # (K,), none of numbers
    features: tuple[str, ...]  # (m,)
    shapes: tuple[Line | Steps | SlopedSteps | Choice, ...]  # (m,)
    constant: Floats  # (R,), what the parts do not add up to, if anything
    ignore: bool  # whether a missing value is left out; else there is no answer
    calibration: TemperatureScaling | None  # of the probabilities
    ferns: tuple[Fern, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()  # of features; a score has a part of each, first of single ones

    @classmethod
    def of(
        cls, clf: Learner, features: Sequence[str] | None = None, *, probabilities: bool = False
    ) -> ScoringModel:
        """Return what scores as a model does; ``features`` names its columns where it has no names."""
        clf = copy(clf)  # as it is now: another thread may go on learning
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
        fitted = clf.fitted_
        model, labels = fitted.model, fitted.labels
        return cls(
            labels,
            tuple(names),
            model.terms.features,
            model.terms.constant,
            clf.missing == "ignore",
            fitted.known_probabilities() if probabilities and labels else None,
            model.terms.ferns,
            tuple(model.feature_sets),
        )

    @property
    def numbers(self) -> bool:
        """Whether the scores are numbers that are predicted."""
        return not self.classes

    @property
    def size(self) -> int:
        """How many constants all parts have."""
        own = sum(map(_size, self.shapes))
        return own + sum(fern.parts.size for fern in self.ferns)

    @property
    def categorical(self) -> frozenset[str]:
        """The names of features with categories."""
        pairs = zip(self.features, self.shapes, strict=True)
        return frozenset(name for name, shape in pairs if isinstance(shape, Choice))

    @property
    def names(self) -> list[str]:
        """The names of the sets of features."""
        return [" × ".join(self.features[j] for j in own) for own in self.sets]

    def scores(self, backend: ExpressionBackend[E]) -> list[E]:
        """Return the scores in an engine's backend."""
        values = {
            j: backend.value(name)
            for j, name in enumerate(self.features)
            if isinstance(self.shapes[j], Line | SlopedSteps)
        }
        found = []
        for r in range(len(self.constant)):
            constant, parts = float(self.constant[r]), []
            for j in range(len(self.sets)):
                shape = self.shapes[j] if j < len(self.shapes) else None
                if self.ignore and isinstance(shape, Line) and shape.coef[r] == 0:
                    constant += float(shape.parts[r])
                else:
                    parts.append(self.part(backend, r, j, values.get(j)))
            if not parts:  # no feature has a weight: 0 per row, which frames do not make of a number alone
                parts = [backend.fern([backend.gone(self.features[0])], [0.0, 0.0])]
            found.append(backend.total(parts, constant))
        return found

    def part(self, backend: ExpressionBackend[E], r: int, j: int, x: E | None = None) -> E:
        """Return what set j says for score r; ``x`` is its feature's value, where a line's was made."""
        own = [self._feature(backend, r, j, x)] if j < len(self.shapes) else []
        ferns = [fern for fern in self.ferns if fern.place == j]
        own += [
            backend.fern(
                [self._answer(backend, question) for question in fern.questions], fern.parts[r].tolist()
            )
            for fern in ferns
        ]
        return backend.total(own, 0.0) if len(own) > 1 else own[0]

    def _feature(self, backend: ExpressionBackend[E], r: int, j: int, x: E | None) -> E:
        shape, name = self.shapes[j], self.features[j]
        if isinstance(shape, SlopedSteps):
            value = backend.value(name) if x is None else x
            line = backend.line(value, shape.line.base, float(shape.line.coef[r]), float(shape.line.parts[r]))
            return backend.total([line, self._steps(backend, r, name, shape.steps)], 0.0)
        if isinstance(shape, Line):
            value = backend.value(name) if x is None else x
            return backend.line(value, shape.base, float(shape.coef[r]), float(shape.parts[r]))
        return self._steps(backend, r, name, shape)

    def _steps(self, backend: ExpressionBackend[E], r: int, name: str, shape: Steps | Choice) -> E:
        gone = None if shape.gone is None else float(shape.gone[r])
        if isinstance(shape, Choice):
            return backend.choice(name, shape.categories, shape.parts[r].tolist(), gone)
        return backend.steps(name, shape.edges.tolist(), shape.parts[r].tolist(), gone)

    def _answer(self, backend: ExpressionBackend[E], question: Question) -> E:
        name = self.features[question.feature]
        if question.edge is not None:
            return backend.reached(name, question.edge, self.ignore)
        if question.categories is not None:
            return backend.among(name, question.categories, question.others)
        return backend.gone(name)


def _size(shape: Line | Steps | SlopedSteps | Choice) -> int:
    """Return how many constants a part has."""
    if isinstance(shape, SlopedSteps):
        return _size(shape.line) + _size(shape.steps)
    return shape.coef.size if isinstance(shape, Line) else shape.parts.size


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
