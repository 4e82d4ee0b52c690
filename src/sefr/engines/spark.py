"""SEFR for spark.ml: an Estimator and a Model of classes.

Features are a vector column, dense or sparse, or an array column. Training runs in the executors
(``cluster``), one job per pass; ``spark_ml`` has what regression shares.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from pyspark import keyword_only
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseMatrix, DenseVector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasProbabilityCol, HasRawPredictionCol, HasThresholds
from pyspark.sql import functions as F  # noqa: N812

from .._system.types import Expression, Fields
from ..classifier import SEFRClassifier
from ..settings import Settings
from .cluster.rows import ClusterRows
from .cluster.spark import SparkRows
from .columns import Summing
from .expressions import softmax_powers
from .selection import spark_column
from .spark_ml import LearnerEstimator, LearnerModel, LearnerParams, array_column, score_column, unlike

__all__ = ["SEFR", "SEFRModel"]


class _SEFRParams(
    LearnerParams,
    HasRawPredictionCol,  # type: ignore[misc]
    HasProbabilityCol,  # type: ignore[misc]
    HasThresholds,  # type: ignore[misc]
    settings=Settings,
):
    """Parameters that Estimator and Model share, each with its setter."""

    labelIndexCol = Param(  # noqa: N815
        Params._dummy(),
        "labelIndexCol",
        "if labels are text: where to write the index of each row's label, for evaluators; '' for nowhere",
        TypeConverters.toString,
    )
    predictedLabelCol = Param(  # noqa: N815
        Params._dummy(),
        "predictedLabelCol",
        "where to write the predicted label itself, also if it is text; '' for nowhere",
        TypeConverters.toString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(probabilityCol="", labelIndexCol="", predictedLabelCol="")

    def setRawPredictionCol(self, value: str) -> Self:  # noqa: N802
        """Set the column that scores are written to."""
        return self._set(rawPredictionCol=value)  # type: ignore[no-any-return]

    def setProbabilityCol(self, value: str) -> Self:  # noqa: N802
        """Set the column that probabilities are written to; "" for none."""
        return self._set(probabilityCol=value)  # type: ignore[no-any-return]

    def setThresholds(self, value: list[float]) -> Self:  # noqa: N802
        """Set a number per class: the answer is the class whose probability is the most times its own."""
        return self._set(thresholds=value)  # type: ignore[no-any-return]

    def setLabelIndexCol(self, value: str) -> Self:  # noqa: N802
        """Set the column that indices of labels that are text are written to; "" for none."""
        return self._set(labelIndexCol=value)  # type: ignore[no-any-return]

    def setPredictedLabelCol(self, value: str) -> Self:  # noqa: N802
        """Set the column that predicted labels are written to as they are; "" for none."""
        return self._set(predictedLabelCol=value)  # type: ignore[no-any-return]

    def _has_thresholds(self) -> bool:
        return bool(self.isDefined("thresholds") and self.getThresholds())


class SEFR(LearnerEstimator, _SEFRParams):
    """The SEFR classifier as a spark.ml Estimator.

    ``featuresCol`` is a vector or an array column; ``labelCol`` holds numbers or strings; ``weightCol`` says
    how often a row counts. ``fit`` reads the data once. With ``passes`` above 1 the executors keep the rows
    in between, and with ``bins`` the data is read once more before, for the edges. ``probabilityCol`` asks
    for probabilities, for which up to a thousand rows come to the driver; without it none does, unless there
    are further passes, bins or ``thresholds``. The model's features have the names that the vectors'
    metadata, as a VectorAssembler writes it, has for them.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from sefr.engines.spark import SEFR
    >>> local = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 1)
    >>> spark = local.getOrCreate()  # doctest: +SKIP
    >>> rows = [([1.0, 8.0], "dry"), ([3.0, 6.0], "wet"), ([2.0, 7.0], "dry")]
    >>> frame = spark.createDataFrame(rows, ["features", "label"])  # doctest: +SKIP
    >>> model = SEFR(labelCol="label").fit(frame)  # doctest: +SKIP
    >>> [row.prediction for row in model.transform(frame).collect()]  # doctest: +SKIP
    [0.0, 1.0, 0.0]
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        probabilityCol: str = "",
        weightCol: str | None = None,
        scale: str = "minmax",
        epsilon: float = 1e-7,
        missing: str = "error",
        passes: int = 1,
        bins: int = 0,
        interactions: int = 0,
        classWeight: str = "none",
        moments: int = 1,
        thresholds: list[float] | None = None,
        labelIndexCol: str = "",
        predictedLabelCol: str = "",
    ) -> None:
        super().__init__()
        self._set_given()

    def _fit(self, dataset: Any) -> SEFRModel:
        columns = self._columns(dataset)
        classifier = SEFRClassifier(**self.settings())
        settings = classifier.settings()
        rows = SparkRows(dataset, columns)
        scored = bool(self.getProbabilityCol()) or self._has_thresholds()
        if settings.readings > 1 or scored:
            with rows:
                classifier.fit_from(ClusterRows(rows, columns))
        else:
            classifier = SEFRClassifier.from_summary(
                rows.summary(Summing(settings.missing, settings.moments)), **settings.params()
            )
        labels = _label_values(dataset.schema[self.getLabelCol()].metadata, classifier.classes_)
        model: SEFRModel = self._copyValues(SEFRModel(classifier, labels))
        model._check_thresholds()
        return model


class SEFRModel(LearnerModel, _SEFRParams):
    """A trained SEFR model: ``transform`` adds the scores of every class and the prediction as columns.

    The prediction is a double, as everywhere in spark.ml: the label if that is a number, else its index among
    the sorted labels. The column's metadata has the labels of the indices, as a StringIndexer writes it, so
    that IndexToString turns them back; ``predictedLabelCol`` has the labels themselves. ``labelIndexCol`` has
    the indices of the rows' own labels, which Spark's evaluators compare with the predictions.

    Examples
    --------
    >>> from sefr import SEFRClassifier
    >>> from sefr.engines.spark import SEFRModel
    >>> clf = SEFRClassifier().fit([[1, 8], [3, 6], [2, 7]], ["dry", "wet", "dry"])
    >>> model = SEFRModel(clf)  # doctest: +SKIP
    >>> model.numClasses, model.numFeatures  # doctest: +SKIP
    (2, 2)
    """

    def __init__(self, classifier: SEFRClassifier, labels: list[str] | None = None) -> None:
        super().__init__(classifier)
        self._labels = labels  # what numbers that are indices stand for, if a StringIndexer made them

    @property
    def labels(self) -> list[str] | None:
        """The labels that indices in the prediction column stand for; None if predictions are labels."""
        return list(map(str, self.summary.classes.tolist())) if self._text else self._labels

    @property
    def _text(self) -> bool:
        return isinstance(self.summary.classes.tolist()[0], str)

    def _check_thresholds(self) -> None:
        if not self._has_thresholds():
            return
        found = self.getThresholds()
        if len(found) != self.numClasses or min(found) < 0 or sum(t == 0 for t in found) > 1:
            raise ValueError(
                f"thresholds must be {self.numClasses} numbers, one per class, none negative and at most one "
                f"0, not {found}"
            )

    @property
    def numClasses(self) -> int:  # noqa: N802
        """Number of classes."""
        return len(self.summary.classes)

    @property
    def coefficientMatrix(self) -> DenseMatrix:  # noqa: N802
        """The weights: one row for two classes, else one per class."""
        coef = np.asarray(self._learner.coef_)
        return DenseMatrix(*coef.shape, coef.ravel(order="F").tolist())

    @property
    def interceptVector(self) -> DenseVector:  # noqa: N802
        """What goes with ``coefficientMatrix``."""
        return DenseVector(self._learner.intercept_)

    @property
    def coefficients(self) -> DenseVector:
        """The weights of a model of two classes."""
        self._refuse_many("coefficients", "coefficientMatrix")
        return DenseVector(self._learner.coef_[0])

    @property
    def intercept(self) -> float:
        """The intercept of a model of two classes."""
        self._refuse_many("intercept", "interceptVector")
        return float(self._learner.intercept_[0])

    def _refuse_many(self, name: str, other: str) -> None:
        if self.numClasses > 2:
            raise ValueError(f"a model of {self.numClasses} classes has no {name}: use {other}")

    def classifier(self) -> SEFRClassifier:
        """Return the model as a scikit-learn classifier."""
        return self._learner.with_fitted(self._learner.fitted_)

    def _transform(self, dataset: Any) -> Expression:
        name = self.getFeaturesCol()
        features = array_column(dataset, name)
        raw = self.getRawPredictionCol()
        theirs = {column.lower() for column in dataset.columns} | {raw.lower()}
        theirs |= {self.getPredictionCol().lower(), self.getProbabilityCol().lower()}
        names = [unlike(part, theirs) for part in ("features", "scores")]
        probability = self.getProbabilityCol()
        scoring = self._scoring(probabilities=bool(probability) or self._has_thresholds())
        found = dataset.withColumn(names[0], features)
        scores = score_column(scoring, self._learner, F.col(names[0]), name)
        found = found.withColumn(names[1], scores)
        scores = F.col(names[1])
        powers = []
        if scoring.calibration is not None:
            each = [scores[1]] if self.numClasses == 2 else [scores[k] for k in range(self.numClasses)]
            powers = softmax_powers(scoring, each, F.greatest, F.exp)
        made = self._answers(scores, powers)
        if probability:
            total = sum(powers[1:], powers[0])
            made[probability] = array_to_vector(F.array(*(p / total for p in powers))), self._size_metadata()
        made[raw] = array_to_vector(scores), self._size_metadata()
        if (index := self._label_index(dataset)) is not None:
            made[self.getOrDefault("labelIndexCol")] = index
        for column, (value, metadata) in made.items():
            found = found.withColumn(column, value.alias(column, metadata=metadata))
        return found.drop(*names)

    def _answers(self, scores: Any, powers: list[Expression]) -> dict[str, tuple[Expression, Fields]]:
        """Return the columns of the answer, each with its metadata; ``powers`` are as probabilities."""
        classes = self.summary.classes.tolist()
        if self._has_thresholds():
            self._check_thresholds()
            pairs = zip(powers, self.getThresholds(), strict=True)
            most = F.array(*(p / t if t else F.when(p > 0, float("inf")).otherwise(0.0) for p, t in pairs))
            at = F.array_position(most, F.array_max(most)).cast("int") - 1
        elif len(classes) == 2:
            at = F.when(scores[1] > 0, 1).otherwise(0)
        else:
            at = F.array_position(scores, F.array_max(scores)).cast("int") - 1
        numbers = at.cast("double") if self._text else F.array(*map(F.lit, map(float, classes)))[at]
        made = {self.getPredictionCol(): (numbers, self._label_metadata(self.getPredictionCol()))}
        if column := self.getOrDefault("predictedLabelCol"):
            made[column] = F.array(*map(F.lit, classes))[at], {}
        return made

    def _label_index(self, dataset: Any) -> tuple[Expression, Fields] | None:
        """Return the index of each row's own label, null if it is none of the model's."""
        column, label = self.getOrDefault("labelIndexCol"), self.getLabelCol()
        if not column or label not in dataset.columns:
            return None
        listed = F.array(*map(F.lit, self.summary.classes.tolist()))
        place = F.array_position(listed, spark_column(dataset, label))
        return F.nullif(place - 1, F.lit(-1)).cast("double"), self._label_metadata(column)

    def _label_metadata(self, column: str) -> Fields:
        """Return what a column of labels is, as spark.ml reads it."""
        values = {} if self.labels is None else {"vals": self.labels}
        return {"ml_attr": {"type": "nominal", "name": column, **values}}

    def _size_metadata(self) -> Fields:
        return {"ml_attr": {"num_attrs": self.numClasses}}

    def _extra(self) -> Fields:
        return {"labels": self._labels}

    @classmethod
    def _made(cls, learner: SEFRClassifier, extra: Fields) -> Self:
        return cls(learner, extra.get("labels"))


def _label_values(metadata: Fields, classes: Any) -> list[str] | None:
    """Return what the labels stand for, if they are indices that a StringIndexer made."""
    values = metadata.get("ml_attr", {}).get("vals")
    known = classes.dtype.kind in "fiu" and values and set(classes.tolist()) <= set(range(len(values)))
    return list(values) if known else None
