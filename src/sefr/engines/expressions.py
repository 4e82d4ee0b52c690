"""A trained model as an expression of Polars, Ibis or Spark: rows are scored where they are.

Not through narwhals, though it knows all three: it turns no expression of its own into one of theirs without
a frame, makes no list of expressions (scores, probabilities), and looks nothing up by its place in a list.
``Backend`` says once what these engines have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, or_
from typing import Any

from .._rows.cells import Categories
from .._system.types import Expression, Label
from ..base import Learner
from .error import EngineError
from .scoring_model import ScoringModel, balanced, searched
from .selection import polars_column, spark_name

KINDS = ("prediction", "scores", "probabilities")
Pairs = Sequence[tuple[Expression, Expression]]  # of a condition and a value


def expression(
    clf: Learner, engine: str, kind: str = "prediction", *, features: Sequence[str] | None = None
) -> Expression:
    """Return what a model says of a row, as an expression over the columns of its features.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        A trained model.
    engine : {"polars", "ibis", "pyspark"}
        Whose expression.
    kind : {"prediction", "scores", "probabilities"}
        The label; the scores as a list (one for two classes, else one per class); or the probability of every
        class as a list. A regressor has predictions only: a number, or a list of several outputs.
    features : list of str, default=None
        The columns, where the model's features have no names or other ones.

    Notes
    -----
    Null and NaN are missing values: left out by a model of ``missing="ignore"``, else the answer is null.

    Examples
    --------
    >>> import polars as pl
    >>> from sefr import SEFRClassifier
    >>> rows = pl.DataFrame({"x": [1, 2, 5, 6], "y": ["a", "a", "b", "b"]})
    >>> clf = SEFRClassifier().fit(rows.select("x"), rows["y"])
    >>> rows.lazy().select(expression(clf, "polars")).collect()["prediction"].to_list()
    ['a', 'a', 'b', 'b']
    """
    if engine not in BACKENDS:
        raise ValueError(f"engine must be one of {', '.join(BACKENDS)}, not {engine!r}")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    model = ScoringModel.of(clf, features, probabilities=kind == "probabilities")
    if model.numbers and kind != "prediction":
        raise ValueError(f"kind must be prediction for a regressor, not {kind!r}")
    backend = BACKENDS[engine](model)
    return backend.named(_answer(model, backend, kind), kind)


def _answer(model: ScoringModel, backend: Backend, kind: str) -> Expression:
    scores = model.scores(backend)
    if model.numbers:
        return scores[0] if len(scores) == 1 else backend.array(scores)
    if kind == "scores":
        return backend.array(scores)
    if kind == "prediction":
        return backend.label(scores, model.classes)
    powers = softmax_powers(model, scores, backend.greatest, backend.exp)
    total = balanced(powers, add)
    return backend.array([power / total for power in powers])


class Backend:
    """What a model consists of, in the words of an engine, which a subclass has."""

    lit: Callable[[Any], Expression]  # a constant; None is a missing double
    column: Callable[[str], Expression]
    value: Callable[[str], Expression]  # a feature as a double, null if it is NaN
    is_null: Callable[[Expression], Expression]
    coalesce: Callable[..., Expression]
    cases: Callable[[Pairs, Expression | None], Expression]  # the first that holds, else the other
    lookup: Callable[[Sequence[Any], Expression], Expression]  # the constant at a place, counted from 0
    array: Callable[[list[Expression]], Expression]
    greatest: Callable[..., Expression]
    exp: Callable[[Expression], Expression]
    named: Callable[[Expression, str], Expression]

    def __init__(self, model: ScoringModel) -> None:
        self.ignore, self.categorical = model.ignore, model.categorical

    def label(self, scores: list[Expression], classes: Sequence[Label]) -> Expression:
        """Return the first class of the highest score."""
        if len(classes) == 2:
            conditions = [scores[0] <= 0, scores[0] > 0]
        else:
            top = self.greatest(*scores)
            conditions = [score >= top for score in scores]
        return self.cases(list(zip(conditions, map(self.lit, classes), strict=True)), None)

    def line(self, x: Expression, base: float, coef: float, part: float) -> Expression:
        """Return (x - base) * coef + part."""
        made = (x - self.lit(base)) * self.lit(coef) + self.lit(part)
        return self.coalesce(made, self.lit(0.0)) if self.ignore else made

    def steps(
        self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None
    ) -> Expression:
        """Return the part of the bin that a feature lies in."""
        x = self.value(name)

        def below(edge: float, then: Expression, other: Expression) -> Expression:
            return self.cases([(x < self.lit(edge), then)], other)

        found = searched(edges, list(map(self.lit, parts)), below)
        return self.cases([(self.is_null(x), self.lit(gone))], found)

    def category(self, name: str, categories: Sequence[Label]) -> Expression:
        """Return a column as it is compared with categories."""
        return self.column(name)

    def choice(
        self, name: str, categories: Categories, parts: Sequence[float], gone: float | None
    ) -> Expression:
        """Return the part of the category that a column has."""
        x, lit = self.category(name, categories), self.lit
        pairs = [(x == lit(value), lit(part)) for value, part in zip(categories, parts, strict=False)]
        return self.cases([(self.is_null(x), lit(gone)), *pairs], lit(parts[-1]))

    def reached(self, name: str, edge: float, missing: bool) -> Expression:
        """Return whether a feature is at or above an edge."""
        return self.coalesce(self.value(name) >= self.lit(edge), self.lit(missing))

    def among(self, name: str, categories: Sequence[Label], others: bool) -> Expression:
        """Return whether a column has one of some categories, or a value that is none of them."""
        x, no = self.category(name, categories), self.lit(False)
        found = balanced([no, *(x == self.lit(value) for value in categories)], or_)
        return self.coalesce(~found & ~self.is_null(x) if others else found, no)

    def gone(self, name: str) -> Expression:
        """Return whether a feature is missing."""
        return self.is_null(self.column(name) if name in self.categorical else self.value(name))

    def fern(self, answers: list[Expression], parts: Sequence[float]) -> Expression:
        """Return the part whose number has the answers for its bits."""
        if not answers:
            return self.lit(parts[0])
        lit = self.lit
        digits = [self.cases([(yes, lit(1 << at))], lit(0)) for at, yes in enumerate(reversed(answers))]
        return self.lookup(parts, balanced(digits, add))

    def total(self, parts: list[Expression], constant: float) -> Expression:
        """Return the sum of all."""
        return balanced([*parts, self.lit(constant)], add)


class PolarsBackend(Backend):
    """The words of Polars."""

    def __init__(self, model: ScoringModel) -> None:
        import polars as pl

        super().__init__(model)
        self.pl, self.column, self.is_null = pl, polars_column, pl.Expr.is_null
        self.lit = lambda value: pl.lit(value, dtype=pl.Float64 if value is None else None)
        self.value = lambda name: polars_column(name).cast(pl.Float64).fill_nan(None)
        self.cases = lambda pairs, other: reduce(lambda a, b: a.when(b[0]).then(b[1]), pairs, pl).otherwise(
            other
        )
        self.lookup = lambda constants, place: pl.lit(pl.Series(constants)).gather(place)
        self.array, self.greatest, self.coalesce = pl.concat_list, pl.max_horizontal, pl.coalesce
        self.exp, self.named = pl.Expr.exp, pl.Expr.alias

    def label(self, scores: list[Expression], classes: Sequence[Label]) -> Expression:
        """Return the class, looked up: cases would go as deep as there are classes."""
        place = scores[0] > 0 if len(classes) == 2 else self.array(scores).list.arg_max()
        known = self.pl.when(scores[0].is_not_null()).then(place.cast(self.pl.UInt32))
        return self.lookup(classes, known)

    def category(self, name: str, categories: Sequence[Label]) -> Expression:
        """Return a column as it is compared with categories: text, if all of them are."""
        x = polars_column(name)
        return x.cast(self.pl.String) if all(isinstance(c, str) for c in categories) else x


class IbisBackend(Backend):
    """The words of Ibis."""

    def __init__(self, model: ScoringModel) -> None:
        import ibis

        super().__init__(model)
        self.lit = lambda value: ibis.null("float64") if value is None else ibis.literal(value)
        self.column, self.is_null = lambda name: ibis._[name], lambda x: x.isnull()
        self.value = lambda name: ibis.ifelse(self.number(name).isnan(), self.lit(None), self.number(name))
        self.cases = lambda pairs, other: ibis.cases(*pairs, else_=other)
        self.lookup = lambda constants, place: place.cases(*enumerate(map(self.lit, constants)))
        self.array, self.greatest, self.coalesce = ibis.array, ibis.greatest, ibis.coalesce
        self.exp, self.named = lambda x: x.exp(), lambda x, name: x.name(name)

    def number(self, name: str) -> Expression:
        """Return a column as a double."""
        return self.column(name).pipe(_ibis_number)

    def steps(
        self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None
    ) -> Expression:
        """Return the part of a bin by one case with all bins: cases within cases take Ibis much longer."""
        x, lit = self.number(name), self.lit
        pairs = [(x < edge, lit(part)) for edge, part in zip(edges, parts, strict=False)]
        return self.cases([(x.isnull() | x.isnan(), lit(gone)), *pairs], lit(parts[-1]))


def _ibis_number(x: Expression) -> Expression:
    """Return a column as a double; PostgreSQL does not make one of a boolean itself."""
    return (x.ifelse(1, 0) if x.type().is_boolean() else x).cast("float64")


class SparkBackend(Backend):
    """The words of Spark; ``column`` makes a column of a feature's name."""

    def __init__(self, model: ScoringModel, column: Callable[[str], Expression] | None = None) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        super().__init__(model)
        try:
            missing, nan = F.lit(None).cast("double"), F.lit(float("nan"))
        except AssertionError:  # so Spark says it
            raise EngineError(
                "there is no Spark session, and its expressions need one: start it first"
            ) from None
        self.lit = lambda value: missing if value is None else F.lit(value)
        self.column = column or (lambda name: F.col(spark_name(name)))
        self.is_null = lambda x: x.isNull()
        self.value = lambda name: F.nullif(self.column(name).cast("double"), nan)
        self.array, self.greatest, self.coalesce = F.array, F.greatest, F.coalesce
        self.exp, self.named = F.exp, lambda x, name: x.alias(name)
        self.cases = lambda pairs, other: reduce(lambda a, b: a.when(*b), pairs, F).otherwise(other)
        # as text: each number by itself would be a call of Java
        self.lookup = lambda constants, place: F.get(F.expr(f"array({_doubles(constants)})"), place)


def _doubles(constants: Sequence[float]) -> str:
    """Return numbers as Spark's SQL writes doubles."""
    return ", ".join(f"{float(constant)!r}D" for constant in constants)


def softmax_powers(
    model: ScoringModel,
    scores: list[Expression],
    greatest: Callable[..., Expression],
    exp: Callable[[Expression], Expression],
) -> list[Expression]:
    """Return what the probabilities are the shares of: exp(s / T + b), in units of the likeliest class."""
    calibration = model.calibration
    if calibration is None:
        return []
    per_class = [scores[0] * -0.5, scores[0] * 0.5] if len(model.classes) == 2 else scores
    logits = [
        score * calibration.inverse + float(offset)
        for score, offset in zip(per_class, calibration.offsets, strict=True)
    ]
    likeliest = greatest(*logits)
    return [exp(logit - likeliest) for logit in logits]


BACKENDS: dict[str, type[Backend]] = {
    "polars": PolarsBackend,
    "ibis": IbisBackend,
    "pyspark": SparkBackend,
}
