"""Scoring where the rows are: a trained model as one SELECT, for DuckDB, PostgreSQL and SQLite.

The score is the sum of one part per feature, (x - base) * coef + part at the base: the difference from a
value that was seen, so that no bits are lost to values far from zero. A missing value is a part left out.
``Plan`` has these numbers; ``sefr.engines.expressions`` makes Polars, Ibis and Spark expressions of the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from .._answers.probabilities import TemperatureScaling
from .._system.types import Floats, Foreign, Label
from ..classifier import SEFRClassifier
from .dialects import DIALECTS, boolean_number, literal, number, quoted

E = TypeVar("E")

ROUNDING = 1e-9
SCORED = ("duckdb", "postgresql", "sqlite")


@dataclass(frozen=True)
class Plan:
    """What a linear model needs to score rows: for R scores (1 for two classes, else K) of m features."""

    classes: list[Any]  # (K,)
    features: tuple[str, ...]  # (m,)
    base: Floats  # (m,), a value of each feature that was seen
    coef: Floats  # (R, m)
    parts: Floats  # (R, m), what each feature says at its base
    constant: Floats  # (R,), what the parts do not add up to, if anything
    ignore: bool  # whether a missing value is left out; else there is no answer
    calibration: TemperatureScaling | None  # of the probabilities

    @classmethod
    def of(
        cls, clf: SEFRClassifier, features: Sequence[str] | None = None, *, probabilities: bool = False
    ) -> Plan:
        """Return the plan of a trained model; ``features`` names its columns where it has no names."""
        summary = clf.summary_
        if summary.coder is not None:
            raise ValueError("a model with bins cannot be scored by an engine: its features have curves")
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
        base = np.where(np.isfinite(summary.low), summary.low, 0.0)
        row = base[None, :] if not hasattr(clf, "feature_names_in_") else _named(base, clf)
        coef = np.asarray(clf.coef_)
        parts = np.asarray(clf.contributions(row)).reshape(coef.shape)
        scores = np.asarray(clf.decision_function(row)).reshape(len(coef))
        constant = scores - parts.sum(axis=1)
        # A score is the sum of its parts: what is left over is rounding, which would break ties.
        constant[np.abs(constant) <= ROUNDING * np.abs(parts).sum(axis=1)] = 0.0
        return cls(
            summary.classes.tolist(),
            tuple(names),
            base,
            coef,
            parts,
            constant,
            clf.missing == "ignore",
            _calibration(clf) if probabilities else None,
        )

    def scores(
        self, value: Callable[[str], E], part: Callable[[E, float, float, float], E], total: Callable[..., E]
    ) -> list[E]:
        """Return the scores: ``part`` makes one of a feature's value, base, coef and part, ``total`` adds."""
        found = []
        values = [value(name) for name in self.features]
        for r in range(len(self.coef)):
            used = np.flatnonzero(self.coef[r]) if self.ignore else range(len(values))
            parts = [
                part(values[j], float(self.base[j]), float(self.coef[r, j]), float(self.parts[r, j]))
                for j in used
            ]
            fixed = 0.0 if not self.ignore else float(self.parts[r, self.coef[r] == 0].sum())
            found.append(total(parts, float(self.constant[r]) + fixed))
        return found


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


@dataclass(frozen=True)
class Scoring:
    """The SELECT that adds what a model says of each row of a table to its columns.

    ``booleans`` are columns of that type, which PostgreSQL does not turn into numbers by itself;
    ``categories`` the features that ask for a value of a column of text, by name: (column, value).
    """

    table: str
    plan: Plan
    booleans: Sequence[str] = ()
    categories: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    explain: int = 0

    def sql(self, dialect: str = "duckdb") -> str:
        """Return the query in a dialect: duckdb, postgresql or sqlite."""
        if dialect not in SCORED:
            raise ValueError(f"dialect must be one of {', '.join(SCORED)}, not {dialect!r}")
        source = self.table
        if not any(c in self.table for c in "('\""):
            source = ".".join(map(quoted, self.table.split(".")))
        scores = [f"{made} AS sefr_s{r}" for r, made in enumerate(self._scores(dialect))]
        inner, top = ",\n    ".join(scores), ",\n    ".join(self._top(dialect))
        outputs = self._outputs(dialect)
        if dialect == "duckdb":
            hidden = ", ".join([*(f"sefr_s{r}" for r in range(len(scores))), "sefr_top", "sefr_likeliest"])
            listed = ",\n  ".join(f"{made} AS {quoted(name)}" for name, made in outputs)
            return (
                f"SELECT * EXCLUDE ({hidden}),\n  {listed}\nFROM (\n  SELECT *,\n    {top}\n  FROM (\n"
                f"    SELECT *,\n    {inner}\n    FROM {source} AS sefr_rows\n"
                "  ) AS sefr_rows\n) AS sefr_rows;\n"
            )
        if dialect == "postgresql":
            listed = ",\n  ".join(f"{made} AS {quoted(name)}" for name, made in outputs)
            return (  # OFFSET 0 keeps the planner from writing the scores out wherever they are used
                f"SELECT sefr_rows.*,\n  {listed}\nFROM {source} AS sefr_rows,\n"
                f"LATERAL (SELECT\n    {inner}\n  OFFSET 0) AS sefr_scores,\n"
                f"LATERAL (SELECT\n    {top}\n  OFFSET 0) AS sefr_tops;\n"
            )
        listed = ",\n  ".join(
            f"(SELECT {made} FROM (SELECT *,\n    {top}\n  FROM (SELECT\n    {inner}))) AS {quoted(name)}"
            for name, made in outputs
        )
        return f"SELECT sefr_rows.*,\n  {listed}\nFROM {source} AS sefr_rows;\n"

    def _value(self, name: str, dialect: str) -> str:
        """Return a feature as a double, NULL where it is missing."""
        if name in self.categories:
            column, value = self.categories[name]
            x = f"sefr_rows.{quoted(column)}"
            return f"CASE WHEN {x} = {literal(value)} THEN 1.0 WHEN {x} IS NOT NULL THEN 0.0 END"
        x = f"sefr_rows.{quoted(name)}"
        if dialect == "sqlite":  # text in a column of numbers is a missing value, not 0
            return f"CASE WHEN typeof({x}) IN ('integer', 'real') THEN CAST({x} AS REAL) END"
        return boolean_number(x) if name in self.booleans else DIALECTS[dialect].double(x)

    def _part(self, x: str, base: float, coef: float, part: float) -> str:
        made = f"(({x} - {number(base)}) * {number(coef)} + {number(part)})"
        return f"coalesce({made}, 0)" if self.plan.ignore else made

    def _scores(self, dialect: str) -> list[str]:
        def total(parts: list[str], constant: float) -> str:
            return balanced([*parts, number(constant)], lambda a, b: f"({a} + {b})")

        return self.plan.scores(lambda name: self._value(name, dialect), self._part, total)

    def _top(self, dialect: str) -> list[str]:
        """Return the highest score, and the highest logit of the probabilities."""

        def highest(terms: list[str]) -> str:
            greatest = "max" if dialect == "sqlite" else "greatest"
            return balanced(terms, lambda a, b: f"{greatest}({a}, {b})")

        n_classes = len(self.plan.classes)
        top = "abs(sefr_s0)" if n_classes == 2 else highest([f"sefr_s{r}" for r in range(n_classes)])
        likeliest = "NULL" if self.plan.calibration is None else highest(self._logits())
        return [f"{top} AS sefr_top", f"{likeliest} AS sefr_likeliest"]

    def _logits(self) -> list[str]:
        """Return s / T + b of every class, of which probabilities are the softmax."""
        calibration = self.plan.calibration
        if calibration is None:
            return []
        n_classes = len(self.plan.classes)
        scores = (
            ["-sefr_s0 / 2", "sefr_s0 / 2"] if n_classes == 2 else [f"sefr_s{r}" for r in range(n_classes)]
        )
        return [
            f"({score} * {number(calibration.inverse)} + {number(float(offset))})"
            for score, offset in zip(scores, calibration.offsets, strict=True)
        ]

    def _by_answer(self, values: Sequence[str]) -> str:
        """Return what belongs to the answer: the first class of the highest score; NULL if it is NULL."""
        if len(self.plan.classes) == 2:
            return f"CASE WHEN sefr_s0 > 0 THEN {values[1]} WHEN sefr_s0 <= 0 THEN {values[0]} END"
        cases = " ".join(f"WHEN sefr_s{r} >= sefr_top THEN {value}" for r, value in enumerate(values))
        return f"CASE {cases} END"

    def _outputs(self, dialect: str) -> list[tuple[str, str]]:
        plan = self.plan
        labels = [_label(label, dialect) for label in plan.classes]
        score = "sefr_s0" if len(labels) == 2 else "sefr_top"
        made = [("prediction", self._by_answer(labels)), ("score", score)]
        powers = [f"exp({logit} - sefr_likeliest)" for logit in self._logits()]
        if powers:
            total = balanced(powers, lambda a, b: f"({a} + {b})")
            made += [
                (f"probability_{label}", f"{power} / {total}")
                for label, power in zip(plan.classes, powers, strict=True)
            ]
        for i in range(self.explain):
            made += [(f"reason_{i + 1}", self._reason(i, dialect, "feature"))]
            made += [(f"part_{i + 1}", self._reason(i, dialect, "part"))]
        return made

    def _reason(self, i: int, dialect: str, what: str) -> str:
        """Return the name or the part of the feature that says the i-th most about the answer."""
        plan = self.plan
        rows = []
        for j, name in enumerate(plan.features):
            x = self._value(name, dialect)
            base, coef, parts = float(plan.base[j]), plan.coef[:, j].tolist(), plan.parts[:, j].tolist()
            made = [self._part(x, base, w, part) for w, part in zip(coef, parts, strict=True)]
            own = [f"coalesce({part}, 0)" for part in made]
            part = own[0] if len(own) == 1 else self._by_answer(own)
            rows.append((j, literal(name), part))
        if dialect == "duckdb":
            listed = ", ".join(
                f"{{'size': abs({p}), 'place': {-j}, 'feature': {n}, 'part': {p}}}" for j, n, p in rows
            )
            return f"list_reverse_sort([{listed}])[{i + 1}].{what}"
        values = ", ".join(f"({j}, {name}, {part})" for j, name, part in rows)
        if dialect == "sqlite":
            column = {"feature": "column2", "part": "column3"}[what]
            return (
                f"(SELECT {column} FROM (VALUES {values}) ORDER BY abs(column3) DESC, column1 "
                f"LIMIT 1 OFFSET {i})"
            )
        return (
            f"(SELECT {what} FROM (VALUES {values}) AS sefr_parts(place, feature, part) "
            f"ORDER BY abs(part) DESC, place LIMIT 1 OFFSET {i})"
        )


def _label(label: Label, dialect: str) -> str:
    """Return a class as a literal of its own type."""
    if isinstance(label, bool):
        return str(int(label)) if dialect == "sqlite" else str(label).upper()
    if isinstance(label, str):
        return literal(label)
    if isinstance(label, bytes):
        raise ValueError(f"the label {label!r} is of bytes, which SQL has no common word for")
    return str(label) if isinstance(label, int) else number(float(label))
