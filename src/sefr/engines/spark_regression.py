"""SEFRRegressor for spark.ml: an Estimator and a Model, beside those of the classifier in ``spark``.

Training is one pass in the executors, with bins one more for their edges; no row is kept, and none comes to
the driver but a sample for these edges.
"""

from __future__ import annotations

from typing import Any

from pyspark import keyword_only
from pyspark.ml.linalg import DenseVector
from pyspark.sql import functions as F  # noqa: N812

from .._system.types import Expression
from ..regressor import SEFRRegressor
from ..settings import NumberSettings
from .cluster.rows import ClusterRows
from .cluster.spark import SparkRows
from .spark_ml import LearnerEstimator, LearnerModel, LearnerParams, array_column, score_column, unlike

__all__ = ["SEFRRegression", "SEFRRegressionModel"]


class _RegressionParams(LearnerParams, settings=NumberSettings):
    """Parameters that Estimator and Model share."""


class SEFRRegression(LearnerEstimator, _RegressionParams):
    """The SEFR regressor as a spark.ml Estimator: ridge regression, or with ``bins`` a curve per feature.

    ``auto=True`` has nothing else to choose: lines, curves and interactions.

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
        passes: int = 1,
        auto: bool = False,
    ) -> None:
        super().__init__()
        self._set_given()

    def _fit(self, dataset: Any) -> SEFRRegressionModel:
        columns = self._columns(dataset, numbers=True)
        regressor = SEFRRegressor(**self.settings())
        with SparkRows(dataset, columns) as rows:
            regressor.fit_from(ClusterRows(rows, columns))
        model: SEFRRegressionModel = self._copyValues(SEFRRegressionModel(regressor))
        return model


class SEFRRegressionModel(LearnerModel, _RegressionParams):
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
        super().__init__(regressor)

    @property
    def coefficients(self) -> DenseVector:
        """The weights of the features; not with bins."""
        return DenseVector(self._learner.coef_)

    @property
    def intercept(self) -> float:
        """What is added to the weighted features; not with bins."""
        return float(self._learner.intercept_)

    def regressor(self) -> SEFRRegressor:
        """Return the model as a scikit-learn regressor."""
        return self._learner.with_fitted(self._learner.fitted_)

    def _transform(self, dataset: Any) -> Expression:
        name, made = self.getFeaturesCol(), self.getPredictionCol()
        own = unlike("features", {column.lower() for column in [*dataset.columns, made]})
        found = dataset.withColumn(own, array_column(dataset, name))
        scores = score_column(self._scoring(), self._learner, F.col(own), name)
        return found.withColumn(made, scores[0]).drop(own)
