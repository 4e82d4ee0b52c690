"""SEFR for spark.ml: an Estimator and a Model.

Features are a vector column, dense or sparse, or an array column. Training runs in the executors
(``cluster``), one job per pass. Narrow models are scored by Spark's own expressions, without Python; wide
ones by our kernel, through Arrow.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.linalg import DenseMatrix, DenseVector, VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasThresholds,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from .. import model_file
from .._answers.additive import Line
from .._summary.summary import Summary
from .._system.types import Expression, Fields, Foreign
from ..base import Learner
from ..classifier import SEFRClassifier
from ..settings import kinds
from .cluster.rows import ClusterRows
from .cluster.spark import SparkRows, refuse_types, summary_of_spark
from .columns import Columns, Summing, choose_columns
from .error import EngineError
from .expressions import SparkBackend, softmax_powers
from .scoring_model import ScoringModel
from .selection import spark_column

__all__ = ["SEFR", "SEFRModel", "summary_of_spark"]

ENGINE = "pyspark"
# Constants up to which Spark's expressions score it. HotSpot interprets methods of more than 8,000 bytes: 24
# weights make 6,613, 30 make 8,269, and rows then take five times as long as in the kernel.
NARROW = 24


class _SEFRParams(
    HasFeaturesCol,  # type: ignore[misc]
    HasLabelCol,  # type: ignore[misc]
    HasPredictionCol,  # type: ignore[misc]
    HasRawPredictionCol,  # type: ignore[misc]
    HasProbabilityCol,  # type: ignore[misc]
    HasWeightCol,  # type: ignore[misc]
    HasThresholds,  # type: ignore[misc]
):
    """Parameters that Estimator and Model share, each with its setter."""

    epsilon = Param(Params._dummy(), "epsilon", "keeps eq. 5 from dividing by zero", TypeConverters.toFloat)
    missing = Param(
        Params._dummy(), "missing", "what NaN and null mean: error or ignore", TypeConverters.toString
    )
    scale = Param(
        Params._dummy(),
        "scale",
        "how features are brought to [0, 1]: 'minmax', 'none', or 'low:high' for a known range",
        TypeConverters.toString,
    )
    passes = Param(
        Params._dummy(),
        "passes",
        "how often training may read the rows; 1 is the paper",
        TypeConverters.toInt,
    )
    bins = Param(
        Params._dummy(),
        "bins",
        "how many bins a feature is cut into at most, 2 to 256; 0 for none",
        TypeConverters.toInt,
    )
    interactions = Param(
        Params._dummy(),
        "interactions",
        "with bins: how many interactions of several features at most; 0 for none",
        TypeConverters.toInt,
    )
    classWeight = Param(  # noqa: N815
        Params._dummy(),
        "classWeight",
        "'none', or 'balanced': every class counts the same",
        TypeConverters.toString,
    )
    moments = Param(
        Params._dummy(),
        "moments",
        "1: sums of features, as in the paper; 2: also their products, for a linear discriminant",
        TypeConverters.toInt,
    )
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
        self._setDefault(epsilon=1e-7, missing="error", scale="minmax", passes=1, bins=0, probabilityCol="")
        self._setDefault(interactions=0, classWeight="none", moments=1)
        self._setDefault(labelIndexCol="", predictedLabelCol="")

    def setFeaturesCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of vectors or arrays."""
        return self._set(featuresCol=value)  # type: ignore[no-any-return]

    def setPredictionCol(self, value: str) -> Self:  # noqa: N802
        """Set the column that predictions are written to."""
        return self._set(predictionCol=value)  # type: ignore[no-any-return]

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

    def _classifier_params(self) -> Fields:
        return {
            name: kind.from_text(str(self.getOrDefault(spark_name(name))))
            for name, _, kind in kinds()
            if kind.from_text is not None
        }


def spark_name(name: str) -> str:
    """Return what a setting is called in Spark: class_weight is classWeight."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class SEFR(Estimator, _SEFRParams, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """The SEFR classifier as a spark.ml Estimator.

    ``featuresCol`` is a vector or an array column; ``labelCol`` holds numbers or strings; ``weightCol`` says
    how often a row counts. ``fit`` reads the data once. With ``passes`` above 1 the executors keep the rows
    in between, and with ``bins`` the data is read once more before, for the edges. ``probabilityCol`` asks
    for probabilities, for which up to a thousand rows come home; without it none does, unless there are
    further passes, bins or ``thresholds``. The model's features have the names that the vectors' metadata,
    as a VectorAssembler writes it, has for them.

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
        self._set(**{name: value for name, value in self._input_kwargs.items() if value is not None})

    @keyword_only  # type: ignore[untyped-decorator]
    def setParams(self, **params: Expression) -> Self:  # noqa: N802
        """Set parameters, by the names that the constructor takes."""
        return self._set(**{k: v for k, v in self._input_kwargs.items() if v is not None})  # type: ignore[no-any-return]

    def setLabelCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of labels."""
        return self._set(labelCol=value)  # type: ignore[no-any-return]

    def setWeightCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of weights."""
        return self._set(weightCol=value)  # type: ignore[no-any-return]

    def setScale(self, value: str) -> Self:  # noqa: N802
        """Set how features are brought to [0, 1]."""
        return self._set(scale=value)  # type: ignore[no-any-return]

    def setEpsilon(self, value: float) -> Self:  # noqa: N802
        """Set what keeps eq. 5 from dividing by zero."""
        return self._set(epsilon=value)  # type: ignore[no-any-return]

    def setMissing(self, value: str) -> Self:  # noqa: N802
        """Set what NaN and null mean: error or ignore."""
        return self._set(missing=value)  # type: ignore[no-any-return]

    def setPasses(self, value: int) -> Self:  # noqa: N802
        """Set how often training may read the rows."""
        return self._set(passes=value)  # type: ignore[no-any-return]

    def setBins(self, value: int) -> Self:  # noqa: N802
        """Set how many bins a feature is cut into at most; 0 for none."""
        return self._set(bins=value)  # type: ignore[no-any-return]

    def setInteractions(self, value: int) -> Self:  # noqa: N802
        """Set how many interactions of several features there are at most; 0 for none."""
        return self._set(interactions=value)  # type: ignore[no-any-return]

    def setClassWeight(self, value: str) -> Self:  # noqa: N802
        """Set how much the rows of each class count: none, or balanced."""
        return self._set(classWeight=value)  # type: ignore[no-any-return]

    def setMoments(self, value: int) -> Self:  # noqa: N802
        """Set what is added up: 1 the sums of features, 2 also their products."""
        return self._set(moments=value)  # type: ignore[no-any-return]

    def _fit(self, dataset: Foreign) -> SEFRModel:
        weight = self.getOrDefault("weightCol") if self.isDefined("weightCol") else None
        columns = choose_columns(
            ENGINE, dataset.columns, self.getLabelCol(), [self.getFeaturesCol()], weight or None
        )
        columns = replace(columns, elements=element_names(dataset.schema[self.getFeaturesCol()].metadata))
        classifier = SEFRClassifier(**self._classifier_params())
        classifier.check_params()
        rows = SparkRows(dataset, columns)
        scored = bool(self.getProbabilityCol()) or self._has_thresholds()
        if classifier.passes > 1 or classifier.bins is not None or scored:
            with rows:
                classifier.fit_from(ClusterRows(rows, columns))
        else:
            classifier = SEFRClassifier.from_summary(
                rows.summary(Summing(classifier.missing, classifier.moments)), **classifier.get_params()
            )
        labels = _label_values(dataset.schema[self.getLabelCol()].metadata, classifier.classes_)
        model: SEFRModel = self._copyValues(SEFRModel(classifier, labels))
        model._check_thresholds()
        return model


class SEFRModel(Model, _SEFRParams, MLReadable, MLWritable):  # type: ignore[misc]
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
        super().__init__()
        self._classifier = classifier
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
    def summary(self) -> Summary:
        """All that was learned in the first pass."""
        return self._classifier.summary_

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """Number of features."""
        return self.summary.n_features

    @property
    def numClasses(self) -> int:  # noqa: N802
        """Number of classes."""
        return len(self.summary.classes)

    @property
    def coefficientMatrix(self) -> DenseMatrix:  # noqa: N802
        """The weights: one row for two classes, else one per class."""
        coef = np.asarray(self._classifier.coef_)
        return DenseMatrix(*coef.shape, coef.ravel(order="F").tolist())

    @property
    def interceptVector(self) -> DenseVector:  # noqa: N802
        """What goes with ``coefficientMatrix``."""
        return DenseVector(self._classifier.intercept_)

    @property
    def coefficients(self) -> DenseVector:
        """The weights of a model of two classes."""
        self._refuse_many("coefficients", "coefficientMatrix")
        return DenseVector(self._classifier.coef_[0])

    @property
    def intercept(self) -> float:
        """The intercept of a model of two classes."""
        self._refuse_many("intercept", "interceptVector")
        return float(self._classifier.intercept_[0])

    def _refuse_many(self, name: str, other: str) -> None:
        if self.numClasses > 2:
            raise ValueError(f"a model of {self.numClasses} classes has no {name}: use {other}")

    def classifier(self) -> SEFRClassifier:
        """Return the model as a scikit-learn classifier."""
        return self._classifier.with_fitted(self._classifier.fitted_)

    def _transform(self, dataset: Foreign) -> Expression:
        name = self.getFeaturesCol()
        features = array_column(dataset, name)
        raw = self.getRawPredictionCol()
        theirs = {column.lower() for column in dataset.columns} | {raw.lower()}
        theirs |= {self.getPredictionCol().lower(), self.getProbabilityCol().lower()}
        names = [unlike(part, theirs) for part in ("features", "scores")]
        probability = self.getProbabilityCol()
        scoring = ScoringModel.of(
            self._classifier,
            [str(j) for j in range(self.numFeatures)],
            probabilities=bool(probability) or self._has_thresholds(),
        )
        found = dataset.withColumn(names[0], features)
        scores = score_column(scoring, self._classifier, F.col(names[0]), name)
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

    def _answers(self, scores: Foreign, powers: list[Expression]) -> dict[str, tuple[Expression, Fields]]:
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

    def _label_index(self, dataset: Foreign) -> tuple[Expression, Fields] | None:
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

    def write(self) -> MLWriter:
        """Return the writer: all goes into the metadata, so any file system that Spark knows will do."""
        return ModelWriter(self, self.classifier(), {"labels": self._labels})

    @classmethod
    def read(cls) -> MLReader[SEFRModel]:
        """Return the reader."""
        return ModelReader(cls, lambda classifier, extra: cls(classifier, extra.get("labels")))


def array_column(dataset: Foreign, name: str) -> Expression:
    """Return a column of vectors or arrays as arrays of doubles; another one is an error."""
    if name not in dataset.columns:
        raise EngineError(f"{ENGINE}: there is no feature column {name!r}; the columns are {dataset.columns}")
    refuse_types(dataset, Columns(ENGINE, "", (name,), None))
    features = spark_column(dataset, name)
    if isinstance(dataset.schema[name].dataType, VectorUDT):  # Spark's function stumbles over null
        return F.when(features.isNotNull(), vector_to_array(features))
    return features.cast("array<double>")


def score_column(scoring: ScoringModel, model: Learner, features: Expression, name: str) -> Expression:
    """Return the scores of arrays, one per class or output; a row that cannot be scored is an error."""
    scores = _expressions(scoring, features) if scoring.size <= NARROW else _kernel(model)(features)
    fault = f"{ENGINE}: column {name!r} has a row that is not {model.n_features_in_} finite numbers"
    return F.coalesce(scores, F.raise_error(F.lit(fault)).cast("array<double>"))


def element_names(metadata: Fields) -> tuple[str, ...] | None:
    """Return the names of a vector's elements, as a VectorAssembler writes them; None if one has none."""
    groups = metadata.get("ml_attr", {}).get("attrs", {})
    named = {
        int(each["idx"]): str(each["name"]) for group in groups.values() for each in group if "name" in each
    }
    names = tuple(named[j] for j in sorted(named))
    whole = sorted(named) == list(range(int(metadata.get("ml_attr", {}).get("num_attrs", len(named)))))
    return names if names and whole and len(set(names)) == len(names) else None


def _label_values(metadata: Fields, classes: Foreign) -> list[str] | None:
    """Return what the labels stand for, if they are indices that a StringIndexer made."""
    values = metadata.get("ml_attr", {}).get("vals")
    known = classes.dtype.kind in "fiu" and values and set(classes.tolist()) <= set(range(len(values)))
    return list(values) if known else None


def unlike(name: str, theirs: set[str]) -> str:
    """Return a name that no column has; Spark does not tell upper from lower case."""
    name = f"sefr_{name}"
    while name in theirs:
        name += "_"
    return name


def _expressions(scoring: ScoringModel, features: Foreign) -> Expression:
    """Return the scores as an array of one per class, by Spark alone; null where a row cannot be scored."""
    scores = scoring.scores(SparkBackend(scoring, lambda place: F.get(features, F.lit(int(place)))))
    both = [-scores[0], scores[0]] if len(scores) == 1 and not scoring.numbers else scores
    sound = F.size(features) == len(scoring.features)
    if not all(isinstance(shape, Line) for shape in scoring.shapes):  # infinity lies in a bin, and is none
        sound = sound & ~F.exists(features, lambda x: F.abs(x) == float("inf"))
    for score in scores:  # NaN is above every number in Spark
        sound = sound & score.isNotNull() & (F.abs(score) < float("inf"))
    return F.when(sound, F.array(*both))


def _kernel(estimator: Learner) -> Expression:
    """Return a column function: features to one score per class, null where they cannot be scored."""
    model = model_file.dump(estimator)
    models: list[Learner] = []

    def scores(features: pa.Array) -> pa.Array:
        if not models:
            models.append(model_file.parse(model))
        found, bad = _scores(models[0], features)
        flat = pa.array(found.ravel())
        lists = pa.ListArray.from_arrays(np.arange(len(found) + 1, dtype=np.int32) * found.shape[1], flat)
        return pc.if_else(pa.array(bad), pa.scalar(None, lists.type), lists)

    return F.arrow_udf(scores, T.ArrayType(T.DoubleType()))


def _scores(model: Foreign, features: pa.Array) -> tuple[Expression, Expression]:
    """Return the scores of every row, and which rows could not be scored."""
    width = model.n_features_in_
    lengths = pc.fill_null(pc.list_value_length(features), -1).to_numpy(zero_copy_only=False)
    bad = lengths != width
    X = np.full((len(features), width), np.inf)
    X[~bad] = features.filter(pa.array(~bad)).flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    bad |= (np.isinf(X) if model.missing == "ignore" else ~np.isfinite(X)).any(axis=1)
    X[bad] = 0.0
    names = getattr(model, "feature_names_in_", None)
    table = X if names is None else pd.DataFrame(X, columns=names)
    if model.predicts_numbers:
        return model.predict(table).reshape(len(X), -1), bad
    found = model.decision_function(table)
    return (np.stack([-found, found], axis=1) if found.ndim == 1 else found), bad


class ModelWriter(MLWriter):  # type: ignore[misc]
    """Writes a model's parameters, the model itself and what else belongs to it."""

    def __init__(self, model: Foreign, estimator: Learner, extra: Fields) -> None:
        super().__init__()
        self.model, self.estimator, self.extra = model, estimator, extra

    def saveImpl(self, path: str) -> None:  # noqa: N802
        """Write, as spark.ml asks."""
        extra = {"model": b64encode(model_file.dump(self.estimator)).decode(), **self.extra}
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession, extraMetadata=extra)


class ModelReader(MLReader):  # type: ignore[misc]
    """Reads what ``ModelWriter`` wrote; ``make`` makes a model of ``kind`` of the estimator and the rest."""

    def __init__(self, kind: type, make: Callable[[Foreign, Fields], Foreign]) -> None:
        super().__init__()
        self.kind, self.make = kind, make

    def load(self, path: str) -> Foreign:
        """Read, as spark.ml asks."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{self.kind.__module__}.{self.kind.__name__}"
        if metadata["class"] != name or "model" not in metadata:
            raise ValueError(f"{path} holds a {metadata['class']}, not a {name}")
        model = self.make(model_file.parse(b64decode(metadata["model"])), metadata)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


__all__ = ["SEFR", "SEFRModel"]
