"""SEFR for spark.ml: an Estimator and a Model.

Features are a vector column, dense or sparse, or an array column. Training runs in the executors
(``spark_rows``), one job per pass. Narrow models are scored by Spark's own expressions, without Python; wide
ones by our kernel, through Arrow.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
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
from .._summary.summary import Summary
from .._system.types import Expression, Fields, Foreign
from ..classifier import SEFRClassifier
from .columns import Columns, chosen
from .error import EngineError
from .expressions import SparkWords, softmax_powers
from .passes import fit_partitions
from .plan import Line, Plan
from .spark_rows import SparkRows, column_of, refuse_types, summary_of_spark

__all__ = ["SEFR", "SEFRModel", "summary_of_spark"]

ENGINE = "pyspark"
# Constants up to which Spark's expressions score it; its compiler gives up on much longer ones.
NARROW = 512


class _SEFRParams(
    HasFeaturesCol,  # type: ignore[misc]
    HasLabelCol,  # type: ignore[misc]
    HasPredictionCol,  # type: ignore[misc]
    HasRawPredictionCol,  # type: ignore[misc]
    HasProbabilityCol,  # type: ignore[misc]
    HasWeightCol,  # type: ignore[misc]
):
    """Parameters that Estimator and Model share, each with its setter."""

    epsilon = Param(Params._dummy(), "epsilon", "keeps eq. 5 from dividing by zero", TypeConverters.toFloat)
    missing = Param(
        Params._dummy(), "missing", "what NaN and null mean: error or ignore", TypeConverters.toString
    )
    scale = Param(
        Params._dummy(),
        "scale",
        "how features are brought to [0, 1]: 'minmax', 'none', or 'low,high' for a known range",
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

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(epsilon=1e-7, missing="error", scale="minmax", passes=1, bins=0, probabilityCol="")

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

    def _classifier_params(self) -> Fields:
        return {
            "epsilon": self.getOrDefault("epsilon"),
            "missing": self.getOrDefault("missing"),
            "scale": _scale(self.getOrDefault("scale")),
            "passes": self.getOrDefault("passes"),
            "bins": self.getOrDefault("bins") or None,
        }


def _scale(words: str) -> Expression:
    if words == "minmax":
        return words
    if words == "none":
        return None
    try:
        low, high = (float(word) for word in words.split(","))
    except ValueError:
        raise ValueError(f"scale must be 'minmax', 'none' or 'low,high', not {words!r}") from None
    return low, high


class SEFR(Estimator, _SEFRParams, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """The SEFR classifier as a spark.ml Estimator.

    ``featuresCol`` is a vector or an array column; ``labelCol`` holds numbers or strings; ``weightCol`` says
    how often a row counts. ``fit`` reads the data once. With ``passes`` above 1 the executors keep the rows
    in between, and with ``bins`` the data is read once more before, for the edges. ``probabilityCol`` asks
    for probabilities, for which up to a thousand rows come home; without it none does, unless there are
    further passes or bins.

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
    ['dry', 'wet', 'dry']
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

    def _fit(self, dataset: Foreign) -> SEFRModel:
        weight = self.getOrDefault("weightCol") if self.isDefined("weightCol") else None
        columns = chosen(ENGINE, dataset.columns, self.getLabelCol(), [self.getFeaturesCol()], weight or None)
        classifier = SEFRClassifier(**self._classifier_params())
        classifier.check_params()
        rows = SparkRows(dataset, columns)
        if classifier.passes > 1 or classifier.bins is not None or self.getProbabilityCol():
            with rows:
                classifier = fit_partitions(classifier, rows, columns)
        else:
            classifier = SEFRClassifier.from_summary(
                rows.summary(classifier.missing), **classifier.get_params()
            )
        model: SEFRModel = self._copyValues(SEFRModel(classifier))
        return model


class SEFRModel(Model, _SEFRParams, MLReadable, MLWritable):  # type: ignore[misc]
    """A trained SEFR model: ``transform`` adds the scores of every class and the prediction as columns.

    The prediction is a double for numeric labels, as everywhere in spark.ml, and a string for strings.

    Examples
    --------
    >>> from sefr import SEFRClassifier
    >>> from sefr.engines.spark import SEFRModel
    >>> clf = SEFRClassifier().fit([[1, 8], [3, 6], [2, 7]], ["dry", "wet", "dry"])
    >>> model = SEFRModel(clf)  # doctest: +SKIP
    >>> model.numClasses, model.numFeatures  # doctest: +SKIP
    (2, 2)
    """

    def __init__(self, classifier: SEFRClassifier) -> None:
        super().__init__()
        self._classifier = classifier

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
        return SEFRClassifier.from_fitted(self._classifier.fitted_, **self._classifier.get_params())

    def _transform(self, dataset: Foreign) -> Expression:
        name = self.getFeaturesCol()
        if name not in dataset.columns:
            raise EngineError(
                f"{ENGINE}: there is no feature column {name!r}; the columns are {dataset.columns}"
            )
        refuse_types(dataset, Columns(ENGINE, "", (name,), None))
        features = column_of(dataset, name)
        vector = isinstance(dataset.schema[name].dataType, VectorUDT)
        if vector:  # Spark's function stumbles over null
            features = F.when(features.isNotNull(), vector_to_array(features))
        else:
            features = features.cast("array<double>")
        raw = self.getRawPredictionCol()
        names = [f"{self.uid}_{part}" for part in ("features", "scores")]
        probability = self.getProbabilityCol()
        plan = Plan.of(
            self._classifier,
            [str(j) for j in range(self.numFeatures)],
            probabilities=bool(probability),
        )
        found = dataset.withColumn(names[0], features)
        if plan.size <= NARROW:
            scores = _expressions(plan, F.col(names[0]))
        else:
            scores = _kernel(self._classifier)(F.col(names[0]))
        fault = F.lit(f"{ENGINE}: column {name!r} has a row that is not {self.numFeatures} finite numbers")
        refused = F.raise_error(fault).cast("array<double>")
        found = found.withColumn(names[1], F.coalesce(scores, refused))
        scores = F.col(names[1])
        found = found.withColumn(self.getPredictionCol(), self._answer(scores))
        if probability:
            each = [scores[1]] if self.numClasses == 2 else [scores[k] for k in range(self.numClasses)]
            powers = softmax_powers(plan, each, F.greatest, F.exp)
            total = sum(powers[1:], powers[0])
            found = found.withColumn(probability, array_to_vector(F.array(*(p / total for p in powers))))
        return found.withColumn(raw, array_to_vector(scores)).drop(*names)

    def _answer(self, scores: Foreign) -> Expression:
        classes = self.summary.classes.tolist()
        text = isinstance(classes[0], str)
        labels = [F.lit(label if text else float(label)) for label in classes]
        if len(labels) == 2:
            return F.when(scores[1] > 0, labels[1]).otherwise(labels[0])
        return F.array(*labels)[F.array_position(scores, F.array_max(scores)).cast("int") - 1]

    def write(self) -> MLWriter:
        """Return the writer: all goes into the metadata, so any file system that Spark knows will do."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[SEFRModel]:
        """Return the reader."""
        return _Reader()


def _expressions(plan: Plan, features: Foreign) -> Expression:
    """Return the scores as an array of one per class, by Spark alone; null where a row cannot be scored."""
    scores = plan.scores(SparkWords(plan, lambda place: F.get(features, F.lit(int(place)))))
    both = [-scores[0], scores[0]] if len(scores) == 1 else scores
    sound = F.size(features) == len(plan.features)
    if not all(isinstance(shape, Line) for shape in plan.shapes):  # infinity lies in a bin, and is none
        sound = sound & ~F.exists(features, lambda x: F.abs(x) == float("inf"))
    for score in scores:  # NaN is above every number in Spark
        sound = sound & score.isNotNull() & (F.abs(score) < float("inf"))
    return F.when(sound, F.array(*both))


def _kernel(classifier: SEFRClassifier) -> Expression:
    """Return a column function: features to one score per class, null where they cannot be scored."""
    model = model_file.dump(classifier)
    models: list[SEFRClassifier] = []

    def scores(features: pa.Array) -> pa.Array:
        if not models:
            models.append(model_file.parse(model))
        found, bad = _scores(models[0], features)
        flat = pa.array(found.ravel())
        lists = pa.ListArray.from_arrays(np.arange(len(found) + 1, dtype=np.int32) * found.shape[1], flat)
        return pc.if_else(pa.array(bad), pa.scalar(None, lists.type), lists)

    return F.arrow_udf(scores, T.ArrayType(T.DoubleType()))


def _scores(model: SEFRClassifier, features: pa.Array) -> tuple[Expression, Expression]:
    """Return the scores of every row, and which rows could not be scored."""
    width = model.n_features_in_
    lengths = pc.fill_null(pc.list_value_length(features), -1).to_numpy(zero_copy_only=False)
    bad = lengths != width
    X = np.full((len(features), width), np.inf)
    X[~bad] = features.filter(pa.array(~bad)).flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    bad |= (np.isinf(X) if model.missing == "ignore" else ~np.isfinite(X)).any(axis=1)
    X[bad] = 0.0
    names = getattr(model, "feature_names_in_", None)
    found = model.decision_function(X if names is None else pd.DataFrame(X, columns=names))
    return (np.stack([-found, found], axis=1) if found.ndim == 1 else found), bad


class _Writer(MLWriter):  # type: ignore[misc]
    def __init__(self, model: SEFRModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802
        data = b64encode(model_file.dump(self.model.classifier())).decode()
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession, extraMetadata={"model": data})


class _Reader(MLReader):  # type: ignore[misc]
    def load(self, path: str) -> SEFRModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{SEFRModel.__module__}.{SEFRModel.__name__}"
        if metadata["class"] != name or "model" not in metadata:
            raise ValueError(f"{path} holds a {metadata['class']}, not a {name}")
        model = SEFRModel(model_file.parse(b64decode(metadata["model"])))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


__all__ = ["SEFR", "SEFRModel"]
