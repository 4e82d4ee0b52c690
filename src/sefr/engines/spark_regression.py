"""SEFRRegressor for spark.ml: an Estimator and a Model, beside those of the classifier in ``spark``.

Training is one pass in the executors, with bins one more for their edges; no row is kept or comes home but a
sample for these edges.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.linalg import DenseVector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasWeightCol
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsWritable,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as F  # noqa: N812

from .._summary.summary import Summary
from .._system.types import Expression, Fields, Foreign
from ..regressor import SEFRRegressor
from ..settings import NumberSettings, kinds
from .cluster.rows import ClusterRows
from .cluster.spark import SparkRows
from .columns import choose_columns
from .scoring_model import ScoringModel
from .spark import ENGINE, ModelReader, ModelWriter, array_column, element_names, score_column, unlike

__all__ = ["SEFRRegression", "SEFRRegressionModel"]


class _RegressionParams(
    HasFeaturesCol,  # type: ignore[misc]
    HasLabelCol,  # type: ignore[misc]
    HasPredictionCol,  # type: ignore[misc]
    HasWeightCol,  # type: ignore[misc]
):
    """Parameters that Estimator and Model share."""

    missing = Param(
        Params._dummy(), "missing", "what NaN and null mean: error or ignore", TypeConverters.toString
    )
    scale = Param(
        Params._dummy(),
        "scale",
        "the ranges of features: 'minmax', or 'low:high' for a known one",
        TypeConverters.toString,
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
    moments = Param(
        Params._dummy(), "moments", "what is added up: 2, the products of features", TypeConverters.toInt
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(missing="error", scale="minmax", bins=0, interactions=0, moments=2)

    def setFeaturesCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of vectors or arrays."""
        return self._set(featuresCol=value)  # type: ignore[no-any-return]

    def setPredictionCol(self, value: str) -> Self:  # noqa: N802
        """Set the column that predictions are written to."""
        return self._set(predictionCol=value)  # type: ignore[no-any-return]

    def _regressor_params(self) -> Fields:
        return {
            name: kind.from_text(str(self.getOrDefault(name)))
            for name, _, kind in kinds(NumberSettings)
            if kind.from_text is not None
        }


class SEFRRegression(Estimator, _RegressionParams, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """The SEFR regressor as a spark.ml Estimator: ridge regression, or with ``bins`` a curve per feature.

    ``featuresCol`` is a vector or an array column, ``labelCol`` the numbers to predict, ``weightCol`` says
    how often a row counts.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from sefr.engines.spark_regression import SEFRRegression
    >>> local = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 1)
    >>> spark = local.getOrCreate()  # doctest: +SKIP
    >>> rows = [([1.0, 8.0], 2.0), ([3.0, 6.0], 6.5), ([2.0, 9.0], 4.0)]
    >>> rows += [([5.0, 5.0], 10.0), ([4.0, 2.0], 8.0)]
    >>> frame = spark.createDataFrame(rows, ["features", "label"])  # doctest: +SKIP
    >>> model = SEFRRegression().fit(frame)  # doctest: +SKIP
    >>> [round(row.prediction, 1) for row in model.transform(frame).collect()]  # doctest: +SKIP
    [2.1, 6.1, 4.1, 10.1, 8.1]
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        weightCol: str | None = None,
        scale: str = "minmax",
        missing: str = "error",
        bins: int = 0,
        interactions: int = 0,
        moments: int = 2,
    ) -> None:
        super().__init__()
        self._set(**{name: value for name, value in self._input_kwargs.items() if value is not None})

    @keyword_only  # type: ignore[untyped-decorator]
    def setParams(self, **params: Expression) -> Self:  # noqa: N802
        """Set parameters, by the names that the constructor takes."""
        return self._set(**{k: v for k, v in self._input_kwargs.items() if v is not None})  # type: ignore[no-any-return]

    def setLabelCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of numbers to predict."""
        return self._set(labelCol=value)  # type: ignore[no-any-return]

    def setWeightCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of weights."""
        return self._set(weightCol=value)  # type: ignore[no-any-return]

    def _fit(self, dataset: Foreign) -> SEFRRegressionModel:
        weight = self.getOrDefault("weightCol") if self.isDefined("weightCol") else None
        names = [self.getFeaturesCol()]
        columns = choose_columns(
            ENGINE, dataset.columns, self.getLabelCol(), names, weight or None, numbers=True
        )
        columns = replace(columns, elements=element_names(dataset.schema[names[0]].metadata))
        regressor = SEFRRegressor(**self._regressor_params())
        with SparkRows(dataset, columns) as rows:
            regressor.fit_from(ClusterRows(rows, columns))
        model: SEFRRegressionModel = self._copyValues(SEFRRegressionModel(regressor))
        return model


class SEFRRegressionModel(Model, _RegressionParams, MLReadable, MLWritable):  # type: ignore[misc]
    """A trained regressor: ``transform`` adds the predictions as a column of doubles.

    Examples
    --------
    >>> from sefr import SEFRRegressor
    >>> from sefr.engines.spark_regression import SEFRRegressionModel
    >>> reg = SEFRRegressor().fit([[1, 8], [3, 6], [2, 9]], [2, 6, 4])
    >>> SEFRRegressionModel(reg).numFeatures  # doctest: +SKIP
    2
    """

    def __init__(self, regressor: SEFRRegressor) -> None:
        super().__init__()
        self._regressor = regressor

    @property
    def summary(self) -> Summary:
        """All that was learned."""
        return self._regressor.summary_

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """Number of features."""
        return self.summary.n_features

    @property
    def coefficients(self) -> DenseVector:
        """The weights of the features; not with bins."""
        return DenseVector(self._regressor.coef_)

    @property
    def intercept(self) -> float:
        """What is added to the weighted features; not with bins."""
        return float(self._regressor.intercept_)

    def regressor(self) -> SEFRRegressor:
        """Return the model as a scikit-learn regressor."""
        return self._regressor.with_fitted(self._regressor.fitted_)

    def _transform(self, dataset: Foreign) -> Expression:
        name, made = self.getFeaturesCol(), self.getPredictionCol()
        own = unlike("features", {column.lower() for column in [*dataset.columns, made]})
        scoring = ScoringModel.of(self._regressor, [str(j) for j in range(self.numFeatures)])
        found = dataset.withColumn(own, array_column(dataset, name))
        scores = score_column(scoring, self._regressor, F.col(own), name)
        return found.withColumn(made, scores[0]).drop(own)

    def write(self) -> MLWriter:
        """Return the writer: all goes into the metadata, so any file system that Spark knows will do."""
        return ModelWriter(self, self.regressor(), {})

    @classmethod
    def read(cls) -> MLReader[SEFRRegressionModel]:
        """Return the reader."""
        return ModelReader(cls, lambda regressor, extra: cls(regressor))
