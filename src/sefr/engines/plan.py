"""Plan: what an engine needs to score rows with a trained model, in any engine's words.

A score is the sum of one part per feature. A part is a line, (x - base) * coef + part at the base: the
difference from a value that was seen, so that no bits are lost to values far from zero. In a model with bins
it is a constant per bin, or per category; interactions are parts of several features, a constant per cell.
``scoring`` says it in SQL, ``expressions`` in Polars, Ibis, Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .._answers.probabilities import TemperatureScaling
from .._rows.cells import Categories, Coder
from .._summary.summary import Summary
from .._system.types import Floats, Foreign, Label
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


@dataclass(frozen=True)
class Question:
    """Whether a feature is at or above an edge, or one of some categories; without either, if it is missing.

    With ``others``, whether it has a value that is none of the categories.
    """

    feature: int
    edge: float | None = None
    categories: tuple[Label, ...] | None = None
    others: bool = False


@dataclass(frozen=True)
class Fern:
    """What several features say together: a constant per cell, whose number has the answers for its bits."""

    questions: tuple[Question, ...]  # the first has the highest bit
    parts: Floats  # (R, 2**questions)
    place: int  # of the set of its features among all


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
class Plan:
    """What a model needs to score rows: for R scores (1 for two classes, else K) of m features."""

    classes: list[Any]  # (K,)
    features: tuple[str, ...]  # (m,)
    shapes: tuple[Line | Steps | Choice, ...]  # (m,)
    constant: Floats  # (R,), what the parts do not add up to, if anything
    ignore: bool  # whether a missing value is left out; else there is no answer
    calibration: TemperatureScaling | None  # of the probabilities
    ferns: tuple[Fern, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()  # of features; a score has a part of each, first of single ones

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
        ferns: tuple[Fern, ...] = ()
        sets: list[tuple[int, ...]] = [(j,) for j in range(summary.n_features)]
        if summary.coder is None:
            shapes, constant = _lines(clf, summary)
        else:
            table = np.asarray(clf.fitted_.table)
            shapes, ferns = _tables(summary.coder, table), _ferns(summary.coder, table)
            constant, sets = np.zeros(summary.n_scores), summary.coder.feature_sets
        return cls(
            summary.classes.tolist(),
            tuple(names),
            shapes,
            constant,
            clf.missing == "ignore",
            _calibration(clf) if probabilities else None,
            ferns,
            tuple(sets),
        )

    @property
    def size(self) -> int:
        """How many constants all parts have."""
        own = sum(shape.coef.size if isinstance(shape, Line) else shape.parts.size for shape in self.shapes)
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

    def scores(self, words: Words[E]) -> list[E]:
        """Return the scores in an engine's words."""
        values = {
            j: words.value(name) for j, name in enumerate(self.features) if isinstance(self.shapes[j], Line)
        }
        found = []
        for r in range(len(self.constant)):
            constant, parts = float(self.constant[r]), []
            for j in range(len(self.sets)):
                shape = self.shapes[j] if j < len(self.shapes) else None
                if self.ignore and isinstance(shape, Line) and shape.coef[r] == 0:
                    constant += float(shape.parts[r])
                else:
                    parts.append(self.part(words, r, j, values.get(j)))
            found.append(words.total(parts, constant))
        return found

    def part(self, words: Words[E], r: int, j: int, x: E | None = None) -> E:
        """Return what set j says for score r; ``x`` is its feature's value, where a line's was made."""
        own = [self._feature(words, r, j, x)] if j < len(self.shapes) else []
        ferns = [fern for fern in self.ferns if fern.place == j]
        own += [
            words.fern([self._answer(words, question) for question in fern.questions], fern.parts[r].tolist())
            for fern in ferns
        ]
        return words.total(own, 0.0) if len(own) > 1 else own[0]

    def _feature(self, words: Words[E], r: int, j: int, x: E | None) -> E:
        shape, name = self.shapes[j], self.features[j]
        if isinstance(shape, Line):
            value = words.value(name) if x is None else x
            return words.line(value, shape.base, float(shape.coef[r]), float(shape.parts[r]))
        gone = None if shape.gone is None else float(shape.gone[r])
        if isinstance(shape, Choice):
            return words.choice(name, shape.categories, shape.parts[r].tolist(), gone)
        return words.steps(name, shape.edges.tolist(), shape.parts[r].tolist(), gone)

    def _answer(self, words: Words[E], question: Question) -> E:
        name = self.features[question.feature]
        if question.edge is not None:
            return words.reached(name, question.edge, self.ignore)
        if question.categories is not None:
            return words.among(name, question.categories, question.others)
        return words.gone(name)


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


def _ferns(coder: Coder, table: Floats) -> tuple[Fern, ...]:
    """Return the constants of the cells of ferns, and the questions that lead to them."""
    found = []
    for t, comparisons in enumerate(coder.ferns.parts if coder.ferns else ()):
        column = coder.n_features + t
        own = table[:, coder.offsets[column] : coder.offsets[column + 1]]
        parts = own.reshape(len(own), *[2] * len(comparisons))
        questions: list[Question] = []
        for feature, number in comparisons:
            if number == 0 and feature not in coder.categories:  # true of every row
                parts = np.take(parts, 1, axis=1 + len(questions))
            else:
                questions.append(_question(coder, feature, number))
        found.append(Fern(tuple(questions), parts.reshape(len(own), -1), int(coder.set_of[column])))
    return tuple(found)


def _question(coder: Coder, feature: int, number: int) -> Question:
    """Return what a comparison with a bin asks: see ``Ferns``. A missing value lies after all other bins."""
    part = coder.parts[feature]
    if not isinstance(part, Categories):
        return Question(feature, None if number > len(part) else float(part[number - 1]))
    if number > len(part):
        return Question(feature)
    values = tuple(part)
    return Question(
        feature, None, values if number == len(part) else values[number : number + 1], number == len(part)
    )


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
