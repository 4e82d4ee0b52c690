"""SEFR on Spark: an Estimator and a Model for spark.ml, and a Summary from any Spark data frame.

Training runs our kernel in the executors (``mapInArrow``): each partition comes home as the bytes of one
Summary, whatever its number of rows, and is counted once even if Spark computed it several times. Features
are a vector column, dense or sparse, an array column, or columns of numbers. The executors need sefr.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
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

from .._summary.summary import Summary
from ..classifier import SEFRClassifier
from .batches import summary_of_batches
from .columns import Columns, chosen
from .error import EngineError, spoken_by
from .partitions import whole

ENGINE = "pyspark"
PART = "partition int, summary binary, fault string"
BATCH_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
BATCH_BYTES = 32 << 20


def summary_of_spark(frame: Any, columns: Columns, *, missing: str = "error") -> Summary:
    """Return the Summary of a Spark DataFrame's rows, added up by our kernel in the executors."""
    _refuse_types(frame, columns)
    with spoken_by(columns.engine, "add up the rows"), _small_batches(frame.sparkSession):
        wanted = [_unwrapped(frame, name) for name in columns.all]
        parts = frame.select(*wanted).mapInArrow(_partition_summary(columns, missing), PART).collect()
    return whole(((row.partition, _bytes(row.summary), row.fault) for row in parts), columns.engine)


@contextmanager
def _small_batches(session: Any) -> Iterator[None]:
    """Let Spark cut batches by size too: 10,000 rows of 5,000 features would be 400 MB in every executor."""
    before = session.conf.get(BATCH_SETTING, None)
    if before is None or not 0 < int(before.rstrip("bB")) <= BATCH_BYTES:
        session.conf.set(BATCH_SETTING, str(BATCH_BYTES))
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(BATCH_SETTING)
        else:
            session.conf.set(BATCH_SETTING, before)


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)


def _refuse_types(frame: Any, columns: Columns) -> None:
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    plain = len(columns.features) > 1
    for name in columns.all[1:]:
        kind = kinds[name]
        vector = isinstance(kind, VectorUDT) or (
            isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType | T.BooleanType)
        )
        number = isinstance(kind, T.NumericType | T.BooleanType)
        if not number and (plain or name == columns.weight or not vector):
            wanted = (
                "a number" if plain or name == columns.weight else "a number, a vector or an array of numbers"
            )
            raise EngineError(f"{columns.engine}: column {name!r} is {kind.simpleString()}, not {wanted}")


def _unwrapped(frame: Any, name: str) -> Any:
    column = frame[f"`{name}`"]
    return F.unwrap_udt(column).alias(name) if isinstance(frame.schema[name].dataType, VectorUDT) else column


def _partition_summary(
    columns: Columns, missing: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def summarise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        data = fault = None
        try:
            summary = summary_of_batches(batches, columns, missing=missing, where=f"partition {number}, ")
            data = None if summary is None else summary.to_bytes()
        except EngineError as error:  # words for the driver; an exception would be retried, then traced
            fault = str(error)
        row = [pa.array([number], pa.int32()), pa.array([data], pa.binary()), pa.array([fault], pa.string())]
        yield pa.RecordBatch.from_arrays(row, names=["partition", "summary", "fault"])

    return summarise


class _SEFRParams(HasFeaturesCol, HasLabelCol, HasPredictionCol, HasRawPredictionCol, HasWeightCol):  # type: ignore[misc]
    """Parameters that Estimator and Model share."""

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

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(epsilon=1e-7, missing="error", scale="minmax")

    def _classifier_params(self) -> dict[str, Any]:
        return {
            "epsilon": self.getOrDefault("epsilon"),
            "missing": self.getOrDefault("missing"),
            "scale": _scale(self.getOrDefault("scale")),
        }


def _scale(words: str) -> Any:
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
    how often a row counts. ``fit`` reads the data once.
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        weightCol: str | None = None,
        scale: str = "minmax",
        epsilon: float = 1e-7,
        missing: str = "error",
    ) -> None:
        super().__init__()
        given = {name: value for name, value in self._input_kwargs.items() if value is not None}
        self._set(**given)

    def _fit(self, dataset: Any) -> SEFRModel:
        weight = self.getOrDefault("weightCol") if self.isDefined("weightCol") else None
        columns = chosen(ENGINE, dataset.columns, self.getLabelCol(), [self.getFeaturesCol()], weight or None)
        params = self._classifier_params()
        summary = summary_of_spark(dataset, columns, missing=params["missing"])
        SEFRClassifier.from_summary(
            summary, **params
        )  # says now what is wrong with it, not at the first prediction
        model: SEFRModel = self._copyValues(SEFRModel(summary))
        return model


class SEFRModel(Model, _SEFRParams, MLReadable, MLWritable):  # type: ignore[misc]
    """A trained SEFR model: ``transform`` adds the scores of every class and the prediction as columns.

    The prediction is a double for numeric labels, as everywhere in spark.ml, and a string for strings.
    """

    def __init__(self, summary: Summary) -> None:
        super().__init__()
        self._summary = summary

    @property
    def summary(self) -> Summary:
        """All that was learned."""
        return self._summary

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """Number of features."""
        return self._summary.n_features

    @property
    def numClasses(self) -> int:  # noqa: N802
        """Number of classes."""
        return len(self._summary.classes)

    def classifier(self) -> SEFRClassifier:
        """Return the model as a scikit-learn classifier."""
        return SEFRClassifier.from_summary(self._summary, **self._classifier_params())

    def _transform(self, dataset: Any) -> Any:
        name = self.getFeaturesCol()
        columns = Columns(ENGINE, "", (name,), None)
        if name not in dataset.columns:
            raise EngineError(
                f"{ENGINE}: there is no feature column {name!r}; the columns are {dataset.columns}"
            )
        _refuse_types(dataset, columns)
        features = dataset[f"`{name}`"]
        if isinstance(dataset.schema[name].dataType, VectorUDT):
            features = vector_to_array(features)
        scores = _scorer(self.classifier())(features)
        fault = F.lit(f"{ENGINE}: column {name!r} has a row that is not {self.numFeatures} finite numbers")
        scores = F.when(scores.isNull(), F.raise_error(fault).cast("array<double>")).otherwise(scores)
        raw = self.getRawPredictionCol()
        dataset = dataset.withColumn(raw, scores)
        dataset = dataset.withColumn(self.getPredictionCol(), self._answer(F.col(f"`{raw}`")))
        return dataset.withColumn(raw, array_to_vector(F.col(f"`{raw}`")))

    def _answer(self, scores: Any) -> Any:
        classes = self._summary.classes.tolist()
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


def _scorer(classifier: SEFRClassifier) -> Any:
    """Return a column function: an array of features to a score a class, null where it cannot be scored."""
    summary, params = classifier.summary_.to_bytes(), classifier.get_params()
    models: list[SEFRClassifier] = []

    def scores(features: pd.Series) -> pd.Series:
        if not models:
            models.append(SEFRClassifier.from_summary(Summary.from_bytes(summary), **params))
        model = models[0]
        width, ignore = model.n_features_in_, params["missing"] == "ignore"
        X = np.full((len(features), width), np.inf)
        for i, row in enumerate(features):
            if row is not None and len(row) == width:
                X[i] = row
        bad = (np.isinf(X) if ignore else ~np.isfinite(X)).any(axis=1)
        X[bad] = model.summary_.low
        found = model.decision_function(_named(X, model))
        found = np.stack([-found, found], axis=1) if found.ndim == 1 else found
        return pd.Series(
            [None if wrong else row for row, wrong in zip(found, bad, strict=True)], dtype=object
        )

    return F.pandas_udf(scores, T.ArrayType(T.DoubleType()))


def _named(X: Any, model: SEFRClassifier) -> Any:
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


class _Writer(MLWriter):  # type: ignore[misc]
    def __init__(self, model: SEFRModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802
        data = b64encode(self.model.summary.to_bytes()).decode()
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession, extraMetadata={"summary": data})


class _Reader(MLReader):  # type: ignore[misc]
    def load(self, path: str) -> SEFRModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{SEFRModel.__module__}.{SEFRModel.__name__}"
        if metadata["class"] != name or "summary" not in metadata:
            raise ValueError(f"{path} holds a {metadata['class']}, not a {name}")
        model = SEFRModel(Summary.from_bytes(b64decode(metadata["summary"])))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


__all__ = ["SEFR", "SEFRModel"]
