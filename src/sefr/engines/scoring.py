"""Scoring where the rows are: a trained model as one SELECT, for DuckDB, PostgreSQL and SQLite.

``ScoringModel`` has the numbers; ``sefr.engines.expressions`` makes expressions of Polars, Ibis and Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .._rows.cells import Categories
from .._system.types import Label
from .dialects import DIALECTS, boolean_number, literal, number, quoted, source_of
from .scoring_model import ScoringModel, balanced, searched

SCORED = ("duckdb", "postgresql", "sqlite")


@dataclass(frozen=True)
class Scoring:
    """The SELECT that adds what a model says of each row of a table to its columns.

    ``booleans`` are columns of that type, which PostgreSQL does not turn into numbers by itself;
    ``categories`` the features that ask for a value of a column of text, by name: (column, value); ``prefix``
    stands before the names of the columns that are added.
    """

    table: str
    model: ScoringModel
    booleans: Sequence[str] = ()
    categories: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    explain: int = 0
    prefix: str = ""

    def sql(self, dialect: str = "duckdb") -> str:
        """Return the query in a dialect: duckdb, postgresql or sqlite."""
        _refuse(dialect)
        source = source_of(self.table)
        scores = [f"{made} AS s{r}" for r, made in enumerate(self._scores(dialect))]
        inner = ",\n    ".join(scores)
        # by name: DuckDB 1 knows no sefr_scores.* without FROM
        top = ",\n    ".join([*(f"sefr_scores.s{r}" for r in range(len(scores))), *self._top(dialect)])
        outputs = self._outputs(dialect)
        if dialect == "sqlite":
            scored = f"(SELECT {top}\n  FROM (SELECT\n    {inner}) AS sefr_scores) AS sefr_tops"
            outputs = [(name, f"(SELECT {made} FROM {scored})") for name, made in outputs]
        listed = ",\n  ".join(f"{made} AS {quoted(name)}" for name, made in outputs)
        if dialect == "sqlite":
            return f"SELECT sefr_rows.*,\n  {listed}\nFROM {source} AS sefr_rows;\n"
        # OFFSET 0 keeps PostgreSQL's planner from writing the scores out wherever they are used
        once = "\n  OFFSET 0" if dialect == "postgresql" else ""
        return (
            f"SELECT sefr_rows.*,\n  {listed}\nFROM {source} AS sefr_rows,\n"
            f"LATERAL (SELECT\n    {inner}{once}) AS sefr_scores,\n"
            f"LATERAL (SELECT\n    {top}{once}) AS sefr_tops;\n"
        )

    def taken(self, columns: Sequence[str], dialect: str = "duckdb") -> list[str]:
        """Return which names of columns that are added the table has already, for itself."""

        def folded(name: str) -> str:  # only PostgreSQL tells upper from lower case in quotes
            return name if dialect == "postgresql" else name.casefold()

        theirs = set(map(folded, columns))
        return [name for name, _ in self._outputs(dialect) if folded(name) in theirs]

    def columns(self, dialect: str = "duckdb") -> list[str]:
        """Return the scores as expressions of the table's columns: one for two classes, else one per class.

        A generated column takes such an expression. Of two classes, the second is the answer above 0.
        """
        _refuse(dialect)
        return self.model.scores(_Sql(self, dialect, ""))

    def _scores(self, dialect: str) -> list[str]:
        return self.model.scores(_Sql(self, dialect))

    def _top(self, dialect: str) -> list[str]:
        """Return the highest score, and the highest logit of the probabilities."""

        def highest(terms: list[str]) -> str:
            greatest = "max" if dialect == "sqlite" else "greatest"
            return balanced(terms, lambda a, b: f"{greatest}({a}, {b})")

        if self.model.numbers:
            return ["NULL AS top", "NULL AS likeliest"]
        n_classes = len(self.model.classes)
        own = [f"sefr_scores.s{r}" for r in range(len(self.model.constant))]
        top = f"abs({own[0]})" if n_classes == 2 else highest(own)
        likeliest = (
            "NULL" if self.model.calibration is None else highest(self._logits("sefr_scores", dialect))
        )
        return [f"{top} AS top", f"{likeliest} AS likeliest"]

    def _logits(self, where: str, dialect: str) -> list[str]:
        """Return s / T + b of every class, of which probabilities are the softmax."""
        calibration = self.model.calibration
        if calibration is None:
            return []
        n_classes = len(self.model.classes)
        scores = [f"{where}.s{r}" for r in range(n_classes)]
        if n_classes == 2:
            scores = [f"-{where}.s0 / 2", f"{where}.s0 / 2"]
        return [
            f"({score} * {number(calibration.inverse, dialect)} + {number(float(offset), dialect)})"
            for score, offset in zip(scores, calibration.offsets, strict=True)
        ]

    def _by_answer(self, values: Sequence[str]) -> str:
        """Return what belongs to the answer: the first class of the highest score; NULL if it is NULL."""
        if len(self.model.classes) == 2:
            s = "sefr_tops.s0"
            return f"CASE WHEN {s} > 0 THEN {values[1]} WHEN {s} <= 0 THEN {values[0]} END"
        pairs = enumerate(values)
        cases = " ".join(f"WHEN sefr_tops.s{r} >= sefr_tops.top THEN {value}" for r, value in pairs)
        return f"CASE {cases} END"

    def _outputs(self, dialect: str) -> list[tuple[str, str]]:
        model = self.model
        if model.numbers:
            made = [(f"prediction_{r}", f"sefr_tops.s{r}") for r in range(len(model.constant))]
            made = [("prediction", "sefr_tops.s0")] if len(made) == 1 else made
            if self.explain and len(made) > 1:
                raise ValueError("a query explains predictions of one output, not of several")
        else:
            labels = [_label(label, dialect) for label in model.classes]
            score = f"sefr_tops.{'s0' if len(labels) == 2 else 'top'}"
            made = [("prediction", self._by_answer(labels)), ("score", score)]
        powers = [f"exp({logit} - sefr_tops.likeliest)" for logit in self._logits("sefr_tops", dialect)]
        if powers:
            total = balanced(powers, lambda a, b: f"({a} + {b})")
            made += [
                (f"probability_{label}", f"{power} / {total}")
                for label, power in zip(model.classes, powers, strict=True)
            ]
        for i in range(self.explain):
            made += [(f"reason_{i + 1}", self._reason(i, dialect, "feature"))]
            made += [(f"part_{i + 1}", self._reason(i, dialect, "part"))]
        return [(self.prefix + name, value) for name, value in made]

    def _reason(self, i: int, dialect: str, what: str) -> str:
        """Return the name or the part of the feature that says the i-th most about the answer."""
        model, backend = self.model, _Sql(self, dialect)
        rows = []
        for j, name in enumerate(model.names):
            made = [model.part(backend, r, j) for r in range(len(model.constant))]
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


def _refuse(dialect: str) -> None:
    if dialect not in SCORED:
        raise ValueError(f"dialect must be one of {', '.join(SCORED)}, not {dialect!r}")


class _Sql:
    """The words of a dialect for what a model consists of; ``before`` stands before the names of columns."""

    def __init__(self, scoring: Scoring, dialect: str, before: str = "sefr_rows.") -> None:
        self.scoring, self.dialect, self.before = scoring, dialect, before

    def number(self, value: float) -> str:
        """Return a number that is read to the bit."""
        return number(value, self.dialect)

    def value(self, name: str) -> str:
        """Return a feature as a double, NULL where it is missing."""
        if name in self.scoring.categories:
            column, value = self.scoring.categories[name]
            x = f"{self.before}{quoted(column)}"
            return f"CASE WHEN {x} = {literal(value)} THEN 1.0 WHEN {x} IS NOT NULL THEN 0.0 END"
        x = f"{self.before}{quoted(name)}"
        if self.dialect == "sqlite":  # text in a column of numbers is a missing value, not 0
            return f"CASE WHEN typeof({x}) IN ('integer', 'real') THEN CAST({x} AS REAL) END"
        return boolean_number(x) if name in self.scoring.booleans else DIALECTS[self.dialect].double(x)

    def line(self, x: str, base: float, coef: float, part: float) -> str:
        made = f"(({x} - {self.number(base)}) * {self.number(coef)} + {self.number(part)})"
        return f"coalesce({made}, 0)" if self.scoring.model.ignore else made

    def steps(self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None) -> str:
        x = self.value(name)

        def below(edge: float, then: str, other: str) -> str:
            return f"CASE WHEN {x} < {self.number(edge)} THEN {then} ELSE {other} END"

        found = searched(edges, [self.number(part) for part in parts], below)
        missing = "NULL" if gone is None else self.number(gone)
        return self._double(f"CASE WHEN {x} IS NULL THEN {missing} ELSE {found} END")

    def choice(self, name: str, categories: Categories, parts: Sequence[float], gone: float | None) -> str:
        x = f"{self.before}{quoted(name)}"
        pairs = zip(categories, parts, strict=False)
        cases = " ".join(
            f"WHEN {x} = {_label(value, self.dialect)} THEN {self.number(p)}" for value, p in pairs
        )
        missing = "NULL" if gone is None else self.number(gone)
        return self._double(f"CASE WHEN {x} IS NULL THEN {missing} {cases} ELSE {self.number(parts[-1])} END")

    def reached(self, name: str, edge: float, missing: bool) -> str:
        x = self.value(name)
        return f"({x} >= {self.number(edge)} OR {x} IS NULL)" if missing else f"{x} >= {self.number(edge)}"

    def among(self, name: str, categories: Sequence[Label], others: bool) -> str:
        x = f"{self.before}{quoted(name)}"
        listed = ", ".join(_label(each, self.dialect) for each in categories)
        if not categories:
            return f"{x} IS NOT NULL" if others else "1 = 0"
        return f"{x} {'NOT IN' if others else 'IN'} ({listed})"

    def gone(self, name: str) -> str:
        plain = name in self.scoring.model.categorical
        return f"{f'{self.before}{quoted(name)}' if plain else self.value(name)} IS NULL"

    def fern(self, answers: list[str], parts: Sequence[float]) -> str:
        digits = [f"CASE WHEN {a} THEN {1 << at} ELSE 0 END" for at, a in enumerate(reversed(answers))]
        place, entries = " + ".join(digits) or "0", list(map(self.number, parts))
        if self.dialect == "sqlite":
            cases = " ".join(f"WHEN {at} THEN {entry}" for at, entry in enumerate(entries))
            return f"CASE {place} {cases} END"
        # A list as text is one constant, where a list of numbers is as many as it has.
        if self.dialect == "postgresql":
            return f"(CAST('{{{', '.join(entries)}}}' AS float8[]))[1 + {place}]"
        return f"(CAST('[{', '.join(entries)}]' AS DOUBLE[]))[1 + {place}]"

    def _double(self, made: str) -> str:
        """Return a double: to PostgreSQL a number with an exponent is a decimal."""
        return f"CAST({made} AS float8)" if self.dialect == "postgresql" else made

    def total(self, parts: list[str], constant: float) -> str:
        return balanced([*parts, self.number(constant)], lambda a, b: f"({a} + {b})")


def _label(label: Label, dialect: str) -> str:
    """Return a class as a literal of its own type."""
    if isinstance(label, bool):
        return str(int(label)) if dialect == "sqlite" else str(label).upper()
    if isinstance(label, str):
        return literal(label)
    if isinstance(label, bytes):
        raise ValueError(f"the label {label!r} is of bytes, which SQL has no common word for")
    return str(label) if isinstance(label, int) else number(float(label), dialect)
