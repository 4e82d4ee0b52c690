"""A trained model as an expression of Polars, Ibis or Spark: rows are scored where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._system.types import Expression, Foreign
from ..classifier import SEFRClassifier
from .scoring import Plan, balanced

KINDS = ("prediction", "scores", "probabilities")


def expression(
    clf: SEFRClassifier, engine: str, kind: str = "prediction", *, features: Sequence[str] | None = None
) -> Expression:
    """Return what a model says of a row, as an expression over the columns of its features.

    Parameters
    ----------
    clf : SEFRClassifier
        A trained model.
    engine : {"polars", "ibis", "pyspark"}
        Whose expression.
    kind : {"prediction", "scores", "probabilities"}
        The label; the scores as a list (one for two classes, else one per class); or the probability of every
        class as a list.
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
    plan = Plan.of(clf, features, probabilities=kind == "probabilities")
    return MAKERS[engine](plan, kind)


def _polars(plan: Plan, kind: str) -> Expression:
    import polars as pl

    def value(name: str) -> Expression:
        return pl.col(name).cast(pl.Float64).fill_nan(None)

    def part(x: Expression, base: float, coef: float, part: float) -> Expression:
        made = (x - base) * coef + part
        return made.fill_null(0.0) if plan.ignore else made

    def total(parts: list[Expression], constant: float) -> Expression:
        return balanced([*parts, pl.lit(constant)], lambda a, b: a + b)

    scores = plan.scores(value, part, total)
    if kind == "scores":
        return pl.concat_list(scores).alias("scores")
    if kind == "probabilities":
        powers = softmax_powers(plan, scores, pl.max_horizontal, lambda x: x.exp())
        total_of = balanced(powers, lambda a, b: a + b)
        return pl.concat_list([power / total_of for power in powers]).alias(kind)
    if len(plan.classes) == 2:
        place = (scores[0] > 0).cast(pl.UInt32)
    else:
        place = pl.concat_list(scores).list.arg_max()
    known = pl.when(scores[0].is_not_null()).then(place)
    return pl.lit(pl.Series(plan.classes)).gather(known).alias(kind)


def _ibis(plan: Plan, kind: str) -> Expression:
    import ibis

    def value(name: str) -> Expression:
        x = ibis._[name].cast("float64")
        return ibis.ifelse(x.isnan(), ibis.null("float64"), x)

    def part(x: Expression, base: float, coef: float, part: float) -> Expression:
        made = (x - base) * coef + part
        return ibis.coalesce(made, 0.0) if plan.ignore else made

    def total(parts: list[Expression], constant: float) -> Expression:
        return balanced([*parts, ibis.literal(constant)], lambda a, b: a + b)

    scores = plan.scores(value, part, total)
    if kind == "scores":
        return ibis.array(scores).name("scores")
    return _by_cases(plan, kind, scores, _Ibis(ibis)).name(kind)


def spark_scores(plan: Plan, value: Callable[[str], Expression]) -> list[Expression]:
    """Return the scores as Spark columns; ``value`` makes a double of a feature, null where it is missing."""
    from pyspark.sql import functions as F  # noqa: N812

    def part(x: Expression, base: float, coef: float, part: float) -> Expression:
        made = (x - F.lit(base)) * F.lit(coef) + F.lit(part)
        return F.coalesce(made, F.lit(0.0)) if plan.ignore else made

    def total(parts: list[Expression], constant: float) -> Expression:
        return balanced([*parts, F.lit(constant)], lambda a, b: a + b)

    return plan.scores(value, part, total)


def _spark(plan: Plan, kind: str) -> Expression:
    from pyspark.sql import functions as F  # noqa: N812

    def value(name: str) -> Expression:
        return F.nullif(F.col(f"`{name.replace('`', '``')}`").cast("double"), F.lit(float("nan")))

    scores = spark_scores(plan, value)
    if kind == "scores":
        return F.array(*scores).alias("scores")
    return _by_cases(plan, kind, scores, _Spark(F)).alias(kind)


class _Ibis:
    """The words of Ibis for what ``_by_cases`` needs."""

    def __init__(self, ibis: Foreign) -> None:
        self.literal, self.array, self.greatest = ibis.literal, lambda parts: ibis.array(parts), ibis.greatest
        self.exp: Callable[[Expression], Expression] = lambda x: x.exp()
        self._ibis = ibis

    def cases(self, pairs: list[tuple[Expression, Expression]]) -> Expression:
        return self._ibis.cases(*pairs)


class _Spark:
    """The words of Spark for what ``_by_cases`` needs."""

    def __init__(self, functions: Foreign) -> None:
        self.literal, self.exp = functions.lit, functions.exp
        self.array: Callable[[list[Expression]], Expression] = lambda parts: functions.array(*parts)
        self.greatest = functions.greatest
        self._when = functions.when

    def cases(self, pairs: list[tuple[Expression, Expression]]) -> Expression:
        made = self._when(*pairs[0])
        for pair in pairs[1:]:
            made = made.when(*pair)
        return made


def _by_cases(plan: Plan, kind: str, scores: list[Expression], words: Foreign) -> Expression:
    """Return the prediction or the probabilities from scores, in the words of an engine."""
    if kind == "probabilities":
        powers = softmax_powers(plan, scores, words.greatest, words.exp)
        total = balanced(powers, lambda a, b: a + b)
        return words.array([power / total for power in powers])
    if len(plan.classes) == 2:
        conditions = [scores[0] <= 0, scores[0] > 0]
    else:
        top = words.greatest(*scores)
        conditions = [score >= top for score in scores]
    return words.cases([(c, words.literal(label)) for c, label in zip(conditions, plan.classes, strict=True)])


def softmax_powers(
    plan: Plan,
    scores: list[Expression],
    greatest: Callable[..., Expression],
    exp: Callable[[Expression], Expression],
) -> list[Expression]:
    """Return what the probabilities are the shares of: exp(s / T + b), in units of the likeliest class."""
    calibration = plan.calibration
    if calibration is None:
        return []
    per_class = [scores[0] * -0.5, scores[0] * 0.5] if len(plan.classes) == 2 else scores
    logits = [
        score * calibration.inverse + float(offset)
        for score, offset in zip(per_class, calibration.offsets, strict=True)
    ]
    likeliest = greatest(*logits)
    return [exp(logit - likeliest) for logit in logits]


MAKERS: dict[str, Callable[[Plan, str], Expression]] = {"polars": _polars, "ibis": _ibis, "pyspark": _spark}
