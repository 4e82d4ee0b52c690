"""A trained model as an expression of Polars, Ibis or Spark: rows are scored where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._rows.cells import Categories
from .._system.types import Expression, Label
from ..base import Learner
from .error import EngineError
from .scoring_model import ScoringModel, balanced, searched
from .selection import polars_column, spark_name

KINDS = ("prediction", "scores", "probabilities")


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
    if engine not in MAKERS:
        raise ValueError(f"engine must be one of {', '.join(MAKERS)}, not {engine!r}")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    probabilities = kind == "probabilities" and not clf.predicts_numbers
    model = ScoringModel.of(clf, features, probabilities=probabilities)
    if model.numbers and kind != "prediction":
        raise ValueError(f"kind must be prediction for a regressor, not {kind!r}")
    return MAKERS[engine](model, kind)


def _polars(model: ScoringModel, kind: str) -> Expression:
    import polars as pl

    scores = model.scores(_PolarsBackend(model))
    if model.numbers:
        return (scores[0] if len(scores) == 1 else pl.concat_list(scores)).alias(kind)
    if kind == "scores":
        return pl.concat_list(scores).alias("scores")
    if kind == "probabilities":
        powers = softmax_powers(model, scores, pl.max_horizontal, lambda x: x.exp())
        total_of = balanced(powers, lambda a, b: a + b)
        return pl.concat_list([power / total_of for power in powers]).alias(kind)
    if len(model.classes) == 2:
        place = (scores[0] > 0).cast(pl.UInt32)
    else:
        place = pl.concat_list(scores).list.arg_max()
    known = pl.when(scores[0].is_not_null()).then(place)
    return pl.lit(pl.Series(model.classes)).gather(known).alias(kind)


class _PolarsBackend:
    """The words of Polars for what a model consists of; a bin is looked up, not asked for edge by edge."""

    def __init__(self, model: ScoringModel) -> None:
        import polars

        self.pl, self.ignore, self.categorical = polars, model.ignore, model.categorical

    def value(self, name: str) -> Expression:
        return polars_column(name).cast(self.pl.Float64).fill_nan(None)

    def line(self, x: Expression, base: float, coef: float, part: float) -> Expression:
        made = (x - base) * coef + part
        return made.fill_null(0.0) if self.ignore else made

    def steps(
        self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None
    ) -> Expression:
        pl, x = self.pl, self.value(name)
        place = pl.lit(pl.Series(edges, dtype=pl.Float64)).search_sorted(x.fill_null(0.0), side="right")
        found = pl.lit(pl.Series(parts)).gather(place)
        return pl.when(x.is_null()).then(pl.lit(gone, dtype=pl.Float64)).otherwise(found)

    def choice(
        self, name: str, categories: Categories, parts: Sequence[float], gone: float | None
    ) -> Expression:
        pl, x = self.pl, self._category(name, categories)
        made = pl.lit(parts[-1])
        for value, part in zip(categories, parts, strict=False):
            made = pl.when(x == value).then(pl.lit(part)).otherwise(made)
        return pl.when(x.is_null()).then(pl.lit(gone, dtype=pl.Float64)).otherwise(made)

    def _category(self, name: str, categories: Sequence[Label]) -> Expression:
        x = polars_column(name)
        return x.cast(self.pl.String) if all(isinstance(c, str) for c in categories) else x

    def reached(self, name: str, edge: float, missing: bool) -> Expression:
        return (self.value(name) >= edge).fill_null(missing)

    def among(self, name: str, categories: Sequence[Label], others: bool) -> Expression:
        x = self._category(name, categories)
        found = self.pl.lit(value=False)
        for value in categories:
            found |= x == value
        return (~found & x.is_not_null() if others else found).fill_null(False)

    def gone(self, name: str) -> Expression:
        x = polars_column(name)
        return x.is_null() if name in self.categorical else self.value(name).is_null()

    def fern(self, answers: list[Expression], parts: Sequence[float]) -> Expression:
        pl, place = self.pl, self.pl.lit(0, dtype=self.pl.UInt32)
        for answer in answers:
            place = place * 2 + answer.cast(pl.UInt32)
        return pl.lit(pl.Series(parts)).gather(place)

    def total(self, parts: list[Expression], constant: float) -> Expression:
        return balanced([*parts, self.pl.lit(constant)], lambda a, b: a + b)


def _ibis(model: ScoringModel, kind: str) -> Expression:
    import ibis

    scores = model.scores(_IbisBackend(model))
    if model.numbers:
        return (scores[0] if len(scores) == 1 else ibis.array(scores)).name(kind)
    if kind == "scores":
        return ibis.array(scores).name("scores")
    return _by_cases(model, kind, scores, _Ibis(ibis)).name(kind)


def _ibis_number(x: Expression) -> Expression:
    """Return a column as a double; PostgreSQL does not make one of a boolean itself."""
    return (x.ifelse(1, 0) if x.type().is_boolean() else x).cast("float64")


class _IbisBackend:
    """The words of Ibis for what a model consists of."""

    def __init__(self, model: ScoringModel) -> None:
        import ibis

        self.ibis, self.ignore, self.categorical = ibis, model.ignore, model.categorical

    def value(self, name: str) -> Expression:
        x = self.ibis._[name].pipe(_ibis_number)
        return self.ibis.ifelse(x.isnan(), self.ibis.null("float64"), x)

    def line(self, x: Expression, base: float, coef: float, part: float) -> Expression:
        made = (x - base) * coef + part
        return self.ibis.coalesce(made, 0.0) if self.ignore else made

    def steps(
        self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None
    ) -> Expression:
        # One case with all bins: Ibis takes much longer to write cases within cases.
        x, ibis = self.ibis._[name].pipe(_ibis_number), self.ibis
        cases = [(x < edge, ibis.literal(part)) for edge, part in zip(edges, parts, strict=False)]
        missing = (x.isnull() | x.isnan(), self._gone(gone))
        return ibis.cases(missing, *cases, else_=ibis.literal(parts[-1]))

    def choice(
        self, name: str, categories: Categories, parts: Sequence[float], gone: float | None
    ) -> Expression:
        x, ibis = self.ibis._[name], self.ibis
        pairs = [(x == value, ibis.literal(part)) for value, part in zip(categories, parts, strict=False)]
        found = ibis.cases(*pairs, else_=ibis.literal(parts[-1]))
        return ibis.ifelse(x.isnull(), self._gone(gone), found)

    def reached(self, name: str, edge: float, missing: bool) -> Expression:
        return self.ibis.coalesce(self.value(name) >= edge, missing)

    def among(self, name: str, categories: Sequence[Label], others: bool) -> Expression:
        x = self.ibis._[name]
        found = x.isin(list(categories))
        return self.ibis.coalesce(~found if others else found, False)

    def gone(self, name: str) -> Expression:
        return (self.ibis._[name] if name in self.categorical else self.value(name)).isnull()

    def fern(self, answers: list[Expression], parts: Sequence[float]) -> Expression:
        literal = self.ibis.literal
        if not answers:
            return literal(parts[0])
        digits = [answer.ifelse(1 << at, 0) for at, answer in enumerate(reversed(answers))]
        place = balanced(digits, lambda a, b: a + b)
        return place.cases(*((literal(at), literal(part)) for at, part in enumerate(parts)))

    def _gone(self, gone: float | None) -> Expression:
        return self.ibis.null("float64") if gone is None else self.ibis.literal(gone)

    def total(self, parts: list[Expression], constant: float) -> Expression:
        return balanced([*parts, self.ibis.literal(constant)], lambda a, b: a + b)


def _spark(model: ScoringModel, kind: str) -> Expression:
    from pyspark.sql import functions as F  # noqa: N812

    try:
        scores = model.scores(SparkBackend(model))
    except AssertionError:  # so Spark says it
        raise EngineError("there is no Spark session, and its expressions need one: start it first") from None
    if model.numbers:
        return (scores[0] if len(scores) == 1 else F.array(*scores)).alias(kind)
    if kind == "scores":
        return F.array(*scores).alias("scores")
    return _by_cases(model, kind, scores, _Spark(F)).alias(kind)


class SparkBackend:
    """The words of Spark for what a model consists of; ``column`` makes a column of a feature's name."""

    def __init__(self, model: ScoringModel, column: Callable[[str], Expression] | None = None) -> None:
        from pyspark.sql import functions

        self.F, self.ignore, self.categorical = functions, model.ignore, model.categorical
        self.column = column or (lambda name: functions.col(spark_name(name)))

    def value(self, name: str) -> Expression:
        """Return a feature as a double."""
        return self.F.nullif(self.column(name).cast("double"), self.F.lit(float("nan")))

    def line(self, x: Expression, base: float, coef: float, part: float) -> Expression:
        """Return (x - base) * coef + part."""
        lit = self.F.lit
        made = (x - lit(base)) * lit(coef) + lit(part)
        return self.F.coalesce(made, lit(0.0)) if self.ignore else made

    def steps(
        self, name: str, edges: Sequence[float], parts: Sequence[float], gone: float | None
    ) -> Expression:
        """Return the part of the bin that a feature lies in."""
        lit, x = self.F.lit, self.value(name)

        def below(edge: float, then: Expression, other: Expression) -> Expression:
            return self.F.when(x < lit(edge), then).otherwise(other)

        found = searched(edges, list(map(lit, parts)), below)
        return self.F.when(x.isNull(), lit(gone).cast("double")).otherwise(found)

    def choice(
        self, name: str, categories: Categories, parts: Sequence[float], gone: float | None
    ) -> Expression:
        """Return the part of the category that a column has."""
        x, lit = self.column(name), self.F.lit
        made = self.F.when(x.isNull(), lit(gone).cast("double"))
        for value, part in zip(categories, parts, strict=False):
            made = made.when(x == lit(value), lit(part))
        return made.otherwise(lit(parts[-1]))

    def reached(self, name: str, edge: float, missing: bool) -> Expression:
        """Return whether a feature is at or above an edge."""
        return self.F.coalesce(self.value(name) >= self.F.lit(edge), self.F.lit(missing))

    def among(self, name: str, categories: Sequence[Label], others: bool) -> Expression:
        """Return whether a column has one of some categories, or a value that is none of them."""
        found = self.column(name).isin(list(categories))
        return self.F.coalesce(~found if others else found, self.F.lit(False))

    def gone(self, name: str) -> Expression:
        """Return whether a feature is missing."""
        return (self.column(name) if name in self.categorical else self.value(name)).isNull()

    def fern(self, answers: list[Expression], parts: Sequence[float]) -> Expression:
        """Return the part whose number has the answers for its bits."""
        place = self.F.lit(0)
        for at, answer in enumerate(reversed(answers)):
            place = place + self.F.when(answer, self.F.lit(1 << at)).otherwise(self.F.lit(0))
        # as text: each number by itself would be a call of Java
        return self.F.get(self.F.expr(f"array({', '.join(f'{float(part)!r}D' for part in parts)})"), place)

    def total(self, parts: list[Expression], constant: float) -> Expression:
        """Return the sum of all."""
        return balanced([*parts, self.F.lit(constant)], lambda a, b: a + b)


class _Ibis:
    """The words of Ibis for what ``_by_cases`` needs."""

    def __init__(self, ibis: Any) -> None:
        self.literal, self.array, self.greatest = ibis.literal, lambda parts: ibis.array(parts), ibis.greatest
        self.exp: Callable[[Expression], Expression] = lambda x: x.exp()
        self._ibis = ibis

    def cases(self, pairs: list[tuple[Expression, Expression]]) -> Expression:
        return self._ibis.cases(*pairs)


class _Spark:
    """The words of Spark for what ``_by_cases`` needs."""

    def __init__(self, functions: Any) -> None:
        self.literal, self.exp = functions.lit, functions.exp
        self.array: Callable[[list[Expression]], Expression] = lambda parts: functions.array(*parts)
        self.greatest = functions.greatest
        self._when = functions.when

    def cases(self, pairs: list[tuple[Expression, Expression]]) -> Expression:
        made = self._when(*pairs[0])
        for pair in pairs[1:]:
            made = made.when(*pair)
        return made


def _by_cases(model: ScoringModel, kind: str, scores: list[Expression], backend: Any) -> Expression:
    """Return the prediction or the probabilities from scores, in the words of an engine."""
    if kind == "probabilities":
        powers = softmax_powers(model, scores, backend.greatest, backend.exp)
        total = balanced(powers, lambda a, b: a + b)
        return backend.array([power / total for power in powers])
    if len(model.classes) == 2:
        conditions = [scores[0] <= 0, scores[0] > 0]
    else:
        top = backend.greatest(*scores)
        conditions = [score >= top for score in scores]
    return backend.cases(
        [(c, backend.literal(label)) for c, label in zip(conditions, model.classes, strict=True)]
    )


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


MAKERS: dict[str, Callable[[ScoringModel, str], Expression]] = {
    "polars": _polars,
    "ibis": _ibis,
    "pyspark": _spark,
}
