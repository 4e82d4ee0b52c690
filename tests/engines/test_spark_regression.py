"""SEFRRegressor as an Estimator of spark.ml."""

import numpy as np
import pandas as pd
import pytest

from sefr import SEFRRegressor
from sefr.engines.error import EngineError

pytestmark = [pytest.mark.needs("spark"), pytest.mark.slow]
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 50, (400, 3)).astype(float)
    y = 3 * X[:, 0] - X[:, 1] + rng.integers(0, 9, 400)
    return pd.DataFrame(X, columns=NAMES).assign(load=y, w=rng.integers(1, 3, 400))


def assembled(spark, table):
    from pyspark.ml.feature import VectorAssembler

    return VectorAssembler(inputCols=NAMES, outputCol="features").transform(spark.createDataFrame(table))


def predicted(model, frame):
    return model.transform(frame).toPandas().sort_values(["w", *NAMES, "load"])


def test_a_line_goes_through_a_pipeline_an_evaluator_and_a_file(spark, table, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.feature import VectorAssembler

    from sefr.engines.spark_regression import SEFRRegression

    assembler = VectorAssembler(inputCols=NAMES, outputCol="features")
    stages = [assembler, SEFRRegression(labelCol="load", weightCol="w", predictionCol="answer")]
    frame = spark.createDataFrame(table)
    Pipeline(stages=stages).fit(frame).write().overwrite().save(str(tmp_path / "m"))
    pipeline = PipelineModel.load(str(tmp_path / "m"))
    model = pipeline.stages[-1]
    expected = SEFRRegressor().fit(table[NAMES], table["load"], table["w"])
    assert model.summary == expected.summary_
    assert model.numFeatures == 3
    assert list(model.regressor().feature_names_in_) == NAMES
    np.testing.assert_allclose(model.coefficients.toArray(), expected.coef_, rtol=1e-9)
    assert model.intercept == pytest.approx(expected.intercept_, rel=1e-9)
    found = predicted(pipeline, frame)
    np.testing.assert_allclose(found["answer"], expected.predict(found[NAMES]), rtol=1e-9)
    evaluator = RegressionEvaluator(labelCol="load", predictionCol="answer", metricName="r2")
    score = evaluator.evaluate(pipeline.transform(frame))
    assert score == pytest.approx(expected.score(table[NAMES], table["load"]), abs=1e-9)


def test_curves_and_interactions_are_scored_by_our_kernel(spark, table):
    from sefr.engines import spark_ml as scoring
    from sefr.engines.spark_regression import SEFRRegression

    frame = assembled(spark, table)
    known = SEFRRegression(labelCol="load", bins=16, scale="0:50").fit(frame)
    expected = SEFRRegressor(bins=16, scale=(0.0, 50.0)).fit(table[NAMES], table["load"])
    assert known.summary == expected.summary_
    assert scoring.ScoringModel.of(expected, NAMES).size > scoring.NARROW
    found = predicted(known, frame)
    np.testing.assert_allclose(found["prediction"], expected.predict(found[NAMES]), rtol=1e-9)
    ferns = SEFRRegression(labelCol="load", bins=16).setParams(interactions=4).fit(frame).regressor()
    assert ferns.score(table[NAMES], table["load"]) > 0.9
    # rows drawn for bins tell how far predictions are from those held out, as they do in memory
    expected = SEFRRegressor(auto=True).fit(table[NAMES], table["load"])
    auto = SEFRRegression(labelCol="load").setAuto(True).fit(frame).regressor()
    mine, theirs = (model.predict(table[NAMES], interval=0.5) for model in (auto, expected))
    np.testing.assert_allclose(mine, theirs, rtol=1e-7)


def test_what_is_wrong(spark, table):
    from sefr.engines.spark_regression import SEFRRegression

    frame = assembled(spark, table.assign(same=1.0, text="x"))
    for column, words in [
        ("text", "column 'text' is string, not a number"),
        ("gone", "no label column 'gone'"),
    ]:
        with pytest.raises(EngineError, match=words):
            SEFRRegression(labelCol=column).fit(frame)
    with pytest.raises(ValueError, match="column 'same'"):
        SEFRRegression(labelCol="same").fit(frame)
    model = SEFRRegression(labelCol="load").fit(frame)
    with pytest.raises(EngineError, match="there is no feature column 'x'"):
        model.setFeaturesCol("x").transform(frame)


def test_every_setting_has_a_parameter_a_keyword_and_a_setter(spark):
    """Of both estimators; its default is that of the scikit-learn estimator."""
    from sefr import SEFRClassifier
    from sefr.engines.spark import SEFR
    from sefr.engines.spark_ml import parameter_name
    from sefr.engines.spark_regression import SEFRRegression
    from sefr.settings import NumberSettings, Settings, kinds

    others = {"scale": "0:100", "epsilon": 0.5, "missing": "ignore", "class_weight": "balanced"}
    others |= {"bins": 6, "interactions": 4, "passes": 3, "moments": 2, "auto": True}
    for kind, settings, plain in (
        (SEFR, Settings, SEFRClassifier),
        (SEFRRegression, NumberSettings, SEFRRegressor),
    ):
        defaults = plain().get_params()
        names = [name for name, _, own in kinds(settings) if own.from_text is not None]
        assert kind().settings() == {name: defaults[name] for name in names}
        for name in names:
            own = parameter_name(name)
            by_keyword = kind(**{own: others[name]})
            by_setter = getattr(kind(), f"set{own[0].upper()}{own[1:]}")(others[name])
            assert by_keyword.settings() == by_setter.settings()
            assert by_setter.getOrDefault(own) == others[name]
            assert by_setter.getParam(own).doc
