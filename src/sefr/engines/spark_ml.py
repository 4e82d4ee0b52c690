"""What the estimators of spark.ml share, of classes (``spark``) and of numbers (``spark_regression``).

Their parameters are the settings that ``sefr.settings`` declares, under Spark's names, and the columns.
Narrow models are scored by Spark's own expressions, without Python; wide ones by our kernel, through Arrow.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasWeightCol
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
from .._system.types import Expression, Fields
from ..base import Learner
from ..settings import AnySettings, kinds
from .cluster.spark import refuse_types
from .columns import Columns, choose_columns
from .error import EngineError
from .expressions import SparkBackend
from .scoring_model import ScoringModel
from .selection import spark_column

ENGINE = "pyspark"
# A model of up to so many constants is scored by Spark's expressions. HotSpot only interprets methods of more
# than 8,000 bytes: 24 weights make 6,613, 30 make 8,269, and take five times as long as the kernel.
NARROW = 24
# How parameters that are no text are read; a whole number that may be None in Python is then 0 in Spark.
CONVERTERS = {"epsilon": TypeConverters.toFloat, "auto": TypeConverters.toBoolean} | dict.fromkeys(
    ("passes", "bins", "interactions", "moments"), TypeConverters.toInt
)


def parameter_name(name: str) -> str:
    """Return what a setting is called in Spark: class_weight is classWeight."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _is_number_or_none(name: str, default: object) -> bool:
    return name in CONVERTERS and default is None


class LearnerParams(
    HasFeaturesCol,  # type: ignore[misc]
    HasLabelCol,  # type: ignore[misc]
    HasPredictionCol,  # type: ignore[misc]
    HasWeightCol,  # type: ignore[misc]
):
    """Parameters that Estimator and Model share: the columns, and every setting that can be written as text.

    A subclass names its settings, whose parameters and defaults follow from their declarations.
    """

    SETTINGS: type[AnySettings]

    def __init_subclass__(cls, settings: type[AnySettings] | None = None) -> None:
        super().__init_subclass__()
        if settings is None:
            return
        cls.SETTINGS = settings
        for name, default, kind in kinds(settings):
            if kind.from_text is not None:
                own, convert = parameter_name(name), CONVERTERS.get(name, TypeConverters.toString)
                meaning = f"{kind.meaning} 0 is none." if _is_number_or_none(name, default) else kind.meaning
                setattr(cls, own, Param(Params._dummy(), own, meaning, convert))

    def __init__(self) -> None:
        super().__init__()
        for name, default, kind in kinds(self.SETTINGS):
            if kind.from_text is not None and kind.to_text is not None:
                own = default if name in CONVERTERS else kind.to_text(default)
                self._setDefault(**{parameter_name(name): 0 if own is None else own})

    def setFeaturesCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of vectors or arrays."""
        return self._set(featuresCol=value)  # type: ignore[no-any-return]

    def setPredictionCol(self, value: str) -> Self:  # noqa: N802
        """Set the column that predictions are written to."""
        return self._set(predictionCol=value)  # type: ignore[no-any-return]

    def settings(self) -> Fields:
        """Return the settings as keyword arguments of the scikit-learn estimator."""
        return {
            name: kind.from_text(str(self.getOrDefault(parameter_name(name))))
            for name, _, kind in kinds(self.SETTINGS)
            if kind.from_text is not None
        }


class LearnerEstimator(Estimator, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """The setters of an Estimator, which a Model does not have; the one that is trained is a ``Learner``.

    Every setting that is a parameter has one under spark.ml's name: ``setPasses``.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, _, kind in kinds(cls.SETTINGS):
            if kind.from_text is not None:
                own = parameter_name(name)
                setattr(cls, f"set{own[0].upper()}{own[1:]}", _setter(own, kind.meaning))

    @keyword_only  # type: ignore[untyped-decorator]
    def setParams(self, **params: Expression) -> Self:  # noqa: N802
        """Set parameters, by the names that the constructor takes."""
        return self._set_given()

    def _set_given(self) -> Self:
        """Set what a call by keywords was given."""
        given = {name: value for name, value in self._input_kwargs.items() if value is not None}
        return self._set(**given)  # type: ignore[no-any-return]

    def setLabelCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of labels, or of numbers to predict."""
        return self._set(labelCol=value)  # type: ignore[no-any-return]

    def setWeightCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of weights."""
        return self._set(weightCol=value)  # type: ignore[no-any-return]

    def _columns(self, dataset: Any, *, numbers: bool = False) -> Columns:
        """Return the columns to learn from; features have the names that their metadata has for them."""
        weight = self.getOrDefault("weightCol") if self.isDefined("weightCol") else None
        name = self.getFeaturesCol()
        label = self.getLabelCol()
        columns = choose_columns(ENGINE, dataset.columns, label, [name], weight or None, numbers=numbers)
        return replace(columns, elements=element_names(dataset.schema[name].metadata))


def _setter(own: str, meaning: str) -> Callable[[Any, Any], Any]:
    def setter(self: Any, value: Any) -> Any:
        return self._set(**{own: value})

    setter.__doc__ = f"Set a parameter. {meaning}"
    return setter


class LearnerModel(Model, MLReadable, MLWritable):  # type: ignore[misc]
    """A trained model of spark.ml around the ``learner`` that was trained."""

    def __init__(self, learner: Learner) -> None:
        super().__init__()
        self._learner = learner

    @property
    def summary(self) -> Summary:
        """All that was learned in the first pass."""
        return self._learner.summary_

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """Number of features."""
        return self.summary.n_features

    def _scoring(self, *, probabilities: bool = False) -> ScoringModel:
        names = [str(j) for j in range(self.numFeatures)]
        return ScoringModel.of(self._learner, names, probabilities=probabilities)

    def write(self) -> MLWriter:
        """Return the writer: all goes into the metadata, so any file system that Spark knows will do."""
        return ModelWriter(self, self._learner, self._extra())

    def _extra(self) -> Fields:
        """Return what is written beside parameters and learner."""
        return {}

    @classmethod
    def _made(cls, learner: Learner, extra: Fields) -> Self:
        """Return the model of what was read."""
        return cls(learner)

    @classmethod
    def read(cls) -> MLReader[Self]:
        """Return the reader."""
        return ModelReader(cls, cls._made)


def array_column(dataset: Any, name: str) -> Expression:
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


def unlike(name: str, theirs: set[str]) -> str:
    """Return a name that no column has; Spark does not tell upper from lower case."""
    name = f"sefr_{name}"
    while name in theirs:
        name += "_"
    return name


def _expressions(scoring: ScoringModel, features: Any) -> Expression:
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


def _scores(model: Any, features: pa.Array) -> tuple[Expression, Expression]:
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

    def __init__(self, model: Any, estimator: Learner, extra: Fields) -> None:
        super().__init__()
        self.model, self.estimator, self.extra = model, estimator, extra

    def saveImpl(self, path: str) -> None:  # noqa: N802
        """Write, as spark.ml asks."""
        extra = {"model": b64encode(model_file.dump(self.estimator)).decode(), **self.extra}
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession, extraMetadata=extra)


class ModelReader(MLReader):  # type: ignore[misc]
    """Reads what ``ModelWriter`` wrote; ``make`` makes a model of ``kind`` of the estimator and the rest."""

    def __init__(self, kind: type, make: Callable[[Any, Fields], Any]) -> None:
        super().__init__()
        self.kind, self.make = kind, make

    def load(self, path: str) -> Any:
        """Read, as spark.ml asks."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{self.kind.__module__}.{self.kind.__name__}"
        if metadata["class"] != name or "model" not in metadata:
            raise ValueError(f"{path} holds a {metadata['class']}, not a {name}")
        model = self.make(model_file.parse(b64decode(metadata["model"])), metadata)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
