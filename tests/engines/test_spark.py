"""spark.ml's Estimator and Model, wide vectors, and an executor that dies in mid-job."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from known_rows import KnownRows

from sefr import SEFRClassifier, Summary
from sefr._rows.labelled import Labelled
from sefr._rows.matrix import Dense
from sefr.engines.error import EngineError

pytestmark = [pytest.mark.needs("spark"), pytest.mark.slow]
cloudpickle = pytest.importorskip("pyspark.cloudpickle")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors cannot import this file


def whole_numbers(start, stop, width):
    """Return rows start..stop of a table that anyone can make: features of whole numbers, and labels."""
    i, j = np.arange(start, stop)[:, None], np.arange(width)[None, :]
    return (i * 7919 + j * 104729 + i * j) % 1009 - 300, np.arange(start, stop) % 3


def vectors(spark, n, width, partitions, before=lambda number: None):
    """Return a data frame of arrays, made in the executors."""

    def make(batches):
        from pyspark import TaskContext

        before(TaskContext.get().partitionId())
        for batch in batches:
            ids = batch.column("id").to_numpy()
            X, y = whole_numbers(ids[0], ids[-1] + 1, width)
            features = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel().astype(np.float64)), width)
            features = features.cast(pa.list_(pa.float64()))
            yield pa.RecordBatch.from_arrays(
                [features, pa.array(y.astype(np.float64))], ["features", "label"]
            )

    return spark.range(0, n, 1, partitions).mapInArrow(make, "features array<double>, label double")


def small(spark, n, width):
    """Return a data frame of arrays, made on the driver, in two partitions."""
    X, y = whole_numbers(0, n, width)
    table = pa.table({"features": X.astype(np.float64).tolist(), "label": y.astype(np.float64)})
    return spark.createDataFrame(table)


def test_five_thousand_features(spark):
    from sefr.engines.spark import SEFR

    setting = "spark.sql.execution.arrow.maxBytesPerBatch"
    before = spark.conf.get(setting, None)
    model = SEFR().fit(vectors(spark, 600, 5000, 3))
    assert spark.conf.get(setting, None) == before
    assert model.summary == Summary.of(*whole_numbers(0, 600, 5000))
    assert (model.numFeatures, model.numClasses) == (5000, 3)


def test_wide_rows_come_in_small_batches(spark):
    """A partition of 60 MB arrives in more than one batch, so that no executor has to hold a large one."""
    from sefr.engines.spark import SEFR

    rows = vectors(spark, 1500, 5000, 1).selectExpr(
        "transform(features, x -> if(label = 2, double('NaN'), x)) f", "label"
    )
    rows = rows.orderBy("label")  # the bad rows come last
    with pytest.raises(EngineError, match=r"batch [1-9]: Input X contains NaN"):
        SEFR(featuresCol="f").fit(rows)


def test_an_executor_that_is_killed_in_mid_job_changes_nothing(spark, tmp_path):
    from sefr.engines.spark import SEFR

    note = str(tmp_path / "executor")

    def linger(number):
        """The first attempt at partition 2 says in which JVM it runs, and waits to be killed with it."""
        if number != 2 or os.path.exists(note):
            return
        pid = os.getpid()
        while Path(f"/proc/{pid}/comm").read_text().strip() != "java":
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        with open(note + ".new", "w") as file:
            file.write(str(pid))
        os.rename(note + ".new", note)
        time.sleep(300)
        raise RuntimeError("nobody killed this executor")

    killed = []

    def killer():
        for _ in range(2400):
            if os.path.exists(note):
                pid = int(Path(note).read_text())
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
            time.sleep(0.1)

    thread = threading.Thread(target=killer)
    thread.start()
    model = SEFR().fit(vectors(spark, 4000, 8, 8, linger))
    thread.join()
    assert len(killed) == 1
    assert model.summary == Summary.of(*whole_numbers(0, 4000, 8))


def test_dense_and_sparse_vectors_and_weights(spark, rng):
    from pyspark.ml.linalg import Vectors

    from sefr.engines.spark import SEFR

    X = rng.integers(0, 3, (90, 6)).astype(float)
    y, w = rng.integers(0, 2, 90), rng.integers(0, 4, 90)
    rows = []
    for i, x in enumerate(X):
        at = np.flatnonzero(x)
        vector = Vectors.sparse(6, at.tolist(), x[at].tolist()) if i % 2 else Vectors.dense(x)
        rows.append((vector, float(y[i]), int(w[i])))
    frame = spark.createDataFrame(rows, ["v", "l", "w"])
    model = SEFR(featuresCol="v", labelCol="l", weightCol="w").fit(frame)
    assert model.summary == Summary.of(X, y.astype(float), w)
    expected = SEFRClassifier().fit(X, y, w)
    answers = model.transform(frame).toPandas()
    assert (answers["prediction"] == expected.predict(X)).all()
    scores = np.array([v.toArray() for v in answers["rawPrediction"]])
    np.testing.assert_allclose(scores[:, 1], expected.decision_function(X), rtol=1e-12, atol=1e-12)


def test_a_pipeline_is_saved_and_loaded(as_frame, tmp_path, mixed):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    from sefr.engines.spark import SEFR, SEFRModel

    names = ["count", "bytes", "weight"]
    frame = as_frame("pyspark", mixed.select(["species", *names]))
    assembler = VectorAssembler(inputCols=names, outputCol="features")
    pipeline = Pipeline(
        stages=[assembler, StringIndexer(inputCol="species", outputCol="label"), SEFR(epsilon=1e-6)]
    )
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit(frame)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    assert isinstance(loaded.stages[-1], SEFRModel)
    assert loaded.stages[-1].summary == model.stages[-1].summary
    assert loaded.stages[-1].getOrDefault("epsilon") == 1e-6
    answers = loaded.transform(frame)
    score = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(answers)
    X = np.stack([mixed[name].to_numpy() for name in names], axis=1)
    indexed = np.array(answers.select("label").toPandas()["label"])
    assert score == SEFRClassifier(epsilon=1e-6).fit(X, indexed).score(X, indexed)


def test_labels_that_are_text(as_frame, mixed):
    """The prediction is an index, as Spark's evaluators and IndexToString want it."""
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import IndexToString

    from sefr.engines.spark import SEFR

    frame = as_frame("pyspark", mixed.select(["species", "count", "bytes"]))
    frame = frame.selectExpr("array(count, bytes) as features", "species as label")
    model = SEFR(predictedLabelCol="named", labelIndexCol="index").fit(frame)
    scored = model.transform(frame)
    answers = scored.toPandas()
    X = np.stack([mixed["count"].to_numpy(), mixed["bytes"].to_numpy()], axis=1)
    y = np.array(mixed["species"].to_pylist())
    expected = SEFRClassifier().fit(X, y)
    assert (answers["named"] == expected.predict(X)).all()
    assert (expected.classes_[answers["prediction"].astype(int)] == answers["named"]).all()
    assert (expected.classes_[answers["index"].astype(int)] == y).all()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy", labelCol="index")
    assert evaluator.evaluate(scored) == expected.score(X, y)
    back = IndexToString(inputCol="prediction", outputCol="back").transform(scored).toPandas()["back"]
    assert (back == answers["named"]).all()
    other = frame.selectExpr("features", "'moth' as label")
    assert model.transform(other).toPandas()["index"].isna().all()


def test_names_attributes_and_thresholds(as_frame, tmp_path, mixed):
    """A VectorAssembler's names are the features'; a StringIndexer's labels those of the predictions."""
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    from sefr.engines.spark import SEFR, SEFRModel

    names = ["count", "bytes", "weight"]
    frame = as_frame("pyspark", mixed.select(["species", *names]))
    frame = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
    frame = StringIndexer(inputCol="species", outputCol="label").fit(frame).transform(frame)
    model = SEFR(thresholds=[1.0, 0.5, 0.2], probabilityCol="p", moments=2).fit(frame)
    assert model.summary.feature_names == tuple(names)
    assert model.summary.moments == 2
    model.write().overwrite().save(str(tmp_path / "model"))
    scored = SEFRModel.load(str(tmp_path / "model")).transform(frame)
    labels = frame.schema["label"].metadata["ml_attr"]["vals"]
    assert scored.schema["prediction"].metadata["ml_attr"] == {
        "type": "nominal",
        "name": "prediction",
        "vals": labels,
    }
    assert scored.schema["p"].metadata["ml_attr"] == {"num_attrs": 3}
    answers = scored.toPandas()
    shares = np.stack(answers["p"])
    np.testing.assert_array_equal(answers["prediction"], np.argmax(shares / [1.0, 0.5, 0.2], axis=1))
    assert (answers["prediction"] != shares.argmax(axis=1)).any()
    never = model.copy().setThresholds([1.0, 0.0, 1.0]).transform(frame).toPandas()["prediction"]
    assert (never == 1).all()
    with pytest.raises(ValueError, match="thresholds must be 3 numbers, one per class"):
        SEFR(thresholds=[0.5, 0.5]).fit(frame)


def test_many_wide_partitions_come_to_a_small_driver(tmp_path):
    """Summaries of 150 partitions of 1,000 features are more than the driver takes, unless joined before."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: make engine-tools installs it")
    script = tmp_path / "driver.py"
    script.write_text(SMALL_DRIVER)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert run.stdout.split() == ["refused", "added"], run.stderr[-2000:]


SMALL_DRIVER = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession, functions as F
from sefr import Summary
from sefr.engines.cluster import jobs
from sefr.engines.error import EngineError


def scattered(i, j):  # Spark compresses what a driver collects
    return (i * j * j * 7919 + i * i * 104729 + j * 7) % 1000003


local = SparkSession.builder.master("local[2]").config("spark.driver.maxResultSize", "1500k")
spark = local.config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
values = F.transform(F.sequence(F.lit(1), F.lit(1000)), lambda j: scattered(F.col("id"), j).cast("double"))
frame = spark.range(0, 600, 1, 150).select(values.alias("x"), (F.col("id") % 2).alias("y"))
few = jobs.FEW_BYTES
jobs.FEW_BYTES = 1 << 60
try:
    Summary.of_frame(frame, "y", ["x"])
except EngineError as error:
    print("refused" if "maxResultSize" in str(error) else error)
jobs.FEW_BYTES = few
found = Summary.of_frame(frame, "y", ["x"])
import numpy as np
ids = np.arange(600)[:, None]
expected = Summary.of(scattered(ids, np.arange(1, 1001)).astype(float), np.arange(600) % 2)
print("added" if found == expected else "wrong")
spark.stop()
"""


def test_what_is_wrong_is_said_without_a_stack_trace(spark):
    from sefr.engines.spark import SEFR

    good = small(spark, 12, 3)
    cases = [
        (good, {"featuresCol": "x"}, "no feature column 'x'"),
        (good, {"labelCol": "y"}, "no label column 'y'"),
        (good.selectExpr("'a' as features", "label"), {}, "'features' is string"),
        (good.selectExpr("array('a') as features", "label"), {}, r"'features' is array<string>"),
        (good.selectExpr("if(label = 1, null, features) as features", "label"), {}, "'features'.*null"),
        (
            good.selectExpr("if(label = 1, array(1D), features) as features", "label"),
            {},
            "vectors of 3 and, in row 1, of 1",
        ),
        (good.selectExpr("array(1D, double('NaN')) as features", "label"), {}, r"partition \d.*NaN"),
        (good.selectExpr("features", "cast(null as string) as label"), {}, "label column 'label'.*NaN"),
        (
            good.selectExpr("features", "label", "-1 as w"),
            {"weightCol": "w"},
            "weight column 'w'.*not negative",
        ),
        (good.where("label > 5"), {}, "no rows"),
        (good.where("label = 1"), {}, "two classes"),
    ]
    for frame, how, words in cases:
        with pytest.raises(ValueError, match=words) as caught:
            SEFR(**how).fit(frame)
        assert "Traceback" not in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(EngineError, match=r"partition \d: cannot add Summaries of 3 and 2 features"):
        SEFR().fit(good.union(small(spark, 12, 2)))
    model = SEFR().fit(good)
    with pytest.raises(Exception, match="column 'features' has a row that is not 3 finite numbers"):
        model.transform(good.selectExpr("array(1D, double('NaN'), 2D) as features")).collect()


def separable(n, width, n_classes, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, width)) + y[:, None] * rng.normal(size=width) * 0.4, y


def as_vectors(spark, X, y, **columns):
    from pyspark.ml.functions import array_to_vector

    table = pa.table({"a": X.tolist(), "label": y.astype(np.float64)} | columns)
    frame = spark.createDataFrame(table).repartition(5)
    return frame.select(array_to_vector("a").alias("features"), "label", *columns)


@pytest.mark.parametrize(("width", "n_classes"), [(6, 2), (6, 4), (700, 2)])
def test_vectors_read_from_parquet_are_scored(spark, tmp_path, width, n_classes):
    """Narrow models by Spark's expressions, wide ones by our kernel: both equal to the classifier."""
    from sefr.engines.spark import SEFR

    X, y = separable(200, width, n_classes)
    as_vectors(spark, X, y, id=np.arange(200)).write.parquet(str(tmp_path / "v"))
    frame = spark.read.parquet(str(tmp_path / "v"))
    model = SEFR(probabilityCol="probability").fit(frame)
    answers = model.transform(frame).orderBy("id").toPandas()
    assert list(answers.columns) == ["features", "label", "id", "prediction", "probability", "rawPrediction"]
    clf = model.classifier()
    scores = clf.decision_function(X)
    scores = np.stack([-scores, scores], axis=1) if n_classes == 2 else scores
    np.testing.assert_allclose(np.stack(answers["rawPrediction"]), scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.stack(answers["probability"]), clf.predict_proba(X), rtol=1e-7, atol=1e-9)
    assert (answers["prediction"] == clf.predict(X)).all()


def test_a_model_scores_no_narrow_row_in_python(spark):
    from sefr.engines.spark import SEFR

    frame = as_vectors(spark, *separable(60, 4, 2))
    plan = SEFR().fit(frame).transform(frame)._jdf.queryExecution().toString()
    assert "Python" not in plan
    assert "ArrowEval" not in plan


def longest_method(frame):
    """Return the bytes of the longest method that Spark generates for a query."""
    module = frame.sparkSession._jvm.java.lang.Class.forName("org.apache.spark.sql.execution.debug.package$")
    debug = module.getField("MODULE$").get(None)
    parts = debug.codegenStringSeq(frame._jdf.queryExecution().executedPlan())
    assert parts.size()
    return max(parts.apply(i)._3().maxMethodCodeSize() for i in range(parts.size()))


@pytest.mark.parametrize(("width", "bins", "n_classes"), [(24, None, 2), (6, None, 4), (6, 4, 2), (4, 2, 3)])
def test_java_compiles_what_is_generated(spark, width, bins, n_classes):
    """Models as large as Spark's expressions take, each with all that can be asked of it."""
    from pyspark.sql import functions as F  # noqa: N812

    from sefr.engines.scoring_model import ScoringModel
    from sefr.engines.spark import SEFRModel
    from sefr.engines.spark_ml import NARROW

    X, y = separable(400, width, n_classes)
    clf = SEFRClassifier(bins=bins).fit(X, y)
    assert ScoringModel.of(clf, [str(j) for j in range(width)]).size == NARROW
    model = SEFRModel(clf).setProbabilityCol("probability")
    features = F.array(*(F.rand(j) for j in range(width)))  # not of rows here, which no code is generated for
    frame = model.transform(spark.range(10).select(features.alias("features")))
    spark.conf.set("spark.sql.codegen.wholeStage", "true")  # the tests' session does without
    try:
        assert 1000 < longest_method(frame) < 8000  # HotSpot's HugeMethodLimit
        assert "ArrowEval" not in frame._jdf.queryExecution().toString()
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", "false")


@pytest.mark.parametrize(("bins", "n_classes"), [(4, 2)])
def test_bins_are_learned_and_scored(spark, tmp_path, bins, n_classes):
    """A few bins are scored by Spark's expressions: what the classifier says."""
    from sefr.engines.spark import SEFR, SEFRModel

    X, y = separable(400, 6, n_classes)
    frame = as_vectors(spark, X, y, id=np.arange(400))
    model = SEFR(probabilityCol="probability").setBins(bins).setPasses(3).fit(frame)
    clf = model.classifier()
    assert clf.bins == bins
    np.testing.assert_array_equal(clf.edges_[2], SEFRClassifier(bins=bins).fit(X, y).edges_[2])
    model.write().overwrite().save(str(tmp_path / "m"))
    answers = SEFRModel.load(str(tmp_path / "m")).transform(frame).orderBy("id").toPandas()
    assert (answers["prediction"] == clf.predict(X)).all()
    np.testing.assert_allclose(np.stack(answers["probability"]), clf.predict_proba(X), rtol=1e-9, atol=1e-12)
    X[7, 2] = np.inf
    with pytest.raises(Exception, match="has a row that is not 6 finite numbers"):
        model.transform(as_vectors(spark, X, y)).collect()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_passes_are_those_of_one_process(spark, n_classes, monkeypatch):
    """On the same sample of rows, which comes from the executors."""
    from sefr.engines.cluster import rows as cluster_rows
    from sefr.engines.spark import SEFR

    X, y = separable(5000, 8, n_classes)
    samples = []
    drawn = cluster_rows._sample

    def kept(summary, replies):
        samples.append(drawn(summary, replies))
        return samples[-1]

    monkeypatch.setattr(cluster_rows, "_sample", kept)
    model = SEFR(passes=8).fit(as_vectors(spark, X, y))
    rows = Labelled(Dense(X), np.unique(y).astype(np.float64), y.astype(np.int32), None)
    alone = SEFRClassifier(passes=8).fit_from(KnownRows(model.summary, [rows], samples[0]))
    found = model.classifier()
    assert found.n_passes_ == alone.n_passes_ > 2
    # The kernel's gradient is of float32: where the rows are cut moves its last bits.
    np.testing.assert_allclose(found.coef_, alone.coef_, atol=1e-6 * np.abs(alone.coef_).max())
    np.testing.assert_allclose(found.loss_curve_, alone.loss_curve_, rtol=1e-8)
    one = SEFRClassifier().fit(X, y).score(X, y)
    assert found.score(X, y) >= one - 0.01


def test_the_manners_of_spark_ml(spark, tmp_path):
    from sefr.engines.spark import SEFR, SEFRModel

    X, y = separable(80, 3, 2)
    frame = as_vectors(spark, X, y).withColumnRenamed("features", "a.`b").withColumnRenamed("label", "l.l")
    estimator = SEFR().setFeaturesCol("a.`b").setLabelCol("l.l").setEpsilon(1e-6).setMissing("ignore")
    estimator = estimator.setScale("minmax").setPasses(3).setPredictionCol("p.q").setRawPredictionCol("r")
    model = estimator.setParams(probabilityCol="share").fit(frame)
    clf = model.classifier()
    assert (clf.epsilon, clf.missing, clf.passes) == (1e-6, "ignore", 3)
    np.testing.assert_array_equal(model.coefficients.toArray(), clf.coef_[0])
    np.testing.assert_array_equal(model.coefficientMatrix.toArray(), clf.coef_)
    assert model.intercept == clf.intercept_[0] == model.interceptVector[0]
    assert set(model.transform(frame).columns) == {"a.`b", "l.l", "p.q", "r", "share"}
    model.write().overwrite().save(str(tmp_path / "m"))
    again = SEFRModel.load(str(tmp_path / "m"))
    rows = [
        [row.share.toArray() for row in m.transform(frame).select("share").collect()] for m in (model, again)
    ]
    np.testing.assert_array_equal(*rows)
    many = SEFR().fit(as_vectors(spark, *separable(80, 3, 3)))
    with pytest.raises(ValueError, match="3 classes has no coefficients: use coefficientMatrix"):
        _ = many.coefficients
    with pytest.raises(ValueError, match="probabilities need rows"):
        many.setProbabilityCol("share").transform(frame.withColumnRenamed("a.`b", "features"))


@pytest.mark.parametrize("setting", [None, "64m", "2MB"])
def test_the_session_is_as_before_when_several_threads_train(spark, setting):
    """One of them fails; while any works, batches are small, also where the user's own are smaller."""
    from sefr.engines.cluster.spark import BATCH_BYTES, BATCH_SETTING
    from sefr.engines.spark import SEFR

    before = spark.conf.get(BATCH_SETTING, None)
    frames = [small(spark, 30 + i, 3) for i in range(3)]
    seen, faults = [], []

    def train(frame, label="label"):
        try:
            SEFR(labelCol=label).fit(frame)
        except ValueError as fault:
            faults.append(str(fault))
        seen.append(spark.conf.get(BATCH_SETTING, None))

    bad = frames[0].selectExpr("features", "cast(null as string) as label")
    if setting is not None:
        spark.conf.set(BATCH_SETTING, setting)
    try:
        threads = [threading.Thread(target=train, args=(frame,)) for frame in [*frames, bad]]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        for thread in threads:
            thread.join()
        assert spark.conf.get(BATCH_SETTING, None) == (setting or before)
    finally:
        spark.conf.unset(BATCH_SETTING)
    assert len(faults) == 1
    assert set(seen) <= {setting or before, str(BATCH_BYTES)}
    if setting == "2MB":
        assert set(seen) == {setting}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_wide_models_with_bins_are_scored_by_the_kernel(spark, tmp_path, n_classes):
    """More table entries than Spark's expressions take: through Arrow, and what the classifier says."""
    from sefr.engines.spark import SEFRModel

    X, y = separable(200, 120, n_classes)
    X[3, 5] = X[40, 0] = np.nan
    clf = SEFRClassifier(bins=8, passes=2, missing="ignore").fit(X, y)
    model = SEFRModel(clf).setProbabilityCol("probability")
    as_vectors(spark, X, y, id=np.arange(200)).write.parquet(str(tmp_path / "v"))
    found = model.transform(spark.read.parquet(str(tmp_path / "v")))
    assert "ArrowEval" in found._jdf.queryExecution().toString()
    answers = found.orderBy("id").toPandas()
    assert (answers["prediction"] == clf.predict(X)).all()
    np.testing.assert_allclose(np.stack(answers["probability"]), clf.predict_proba(X), rtol=1e-7, atol=1e-9)
    scores = clf.decision_function(X)
    wanted = np.stack([-scores, scores], axis=1) if n_classes == 2 else scores
    np.testing.assert_allclose(np.stack(answers["rawPrediction"]), wanted, rtol=1e-9, atol=1e-9)
    X[7, 2] = np.inf
    with pytest.raises(Exception, match="has a row that is not 120 finite numbers"):
        model.transform(as_vectors(spark, X, y).coalesce(1)).collect()


@pytest.mark.parametrize("width", [3, 700])
def test_null_vectors(spark, width):
    """One sentence for null in training, one in scoring, narrow or wide."""
    from sefr.engines.spark import SEFR, SEFRModel

    X, y = separable(40, width, 2)
    frame = as_vectors(spark, X, y).coalesce(1)  # a task that fails is tried four times
    frame = frame.selectExpr("if(rand(1) < 0.2, null, features) as features", "label")
    for how in ({}, {"passes": 2}, {"passes": 2, "bins": 4}) if width == 3 else ({},):
        with pytest.raises(EngineError, match=r"column 'features'.*null") as caught:
            SEFR(**how).fit(frame)
        assert "\n" not in str(caught.value)
    model = SEFRModel(SEFRClassifier().fit(X, y))
    with pytest.raises(Exception, match=f"column 'features' has a row that is not {width} finite numbers"):
        model.transform(frame).collect()


def test_every_setting_of_the_command_is_one_of_spark_too(spark):
    """Each reaches the classifier under its name in Spark's manner."""
    from sefr.engines.spark import SEFR
    from sefr.engines.spark_ml import parameter_name
    from sefr.settings import kinds

    others = {"scale": "-100:100", "epsilon": 0.5, "missing": "ignore", "class_weight": "balanced"}
    others |= {"bins": 6, "interactions": 4, "passes": 3, "moments": 1}
    texts = {name: kind for name, _, kind in kinds() if kind.from_text is not None}
    assert set(others) == set(texts)
    X, y = separable(300, 4, 2)
    model = SEFR(**{parameter_name(name): value for name, value in others.items()}).fit(
        as_vectors(spark, X, y)
    )
    clf = model.classifier()
    for name, value in others.items():
        assert getattr(clf, name) == texts[name].from_text(str(value))
        assert getattr(clf.fitted_.settings, name) == getattr(clf, name)
    assert SEFR(moments=2).fit(as_vectors(spark, X, y)).classifier().fitted_.settings.moments == 2
    assert clf.interactions_
