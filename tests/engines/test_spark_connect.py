"""Spark Connect: the same as with a session of this process, through a server and without its JVM."""

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.needs("spark"), pytest.mark.slow]

# A process has either kind of session, so that this one is run by itself.
SCRIPT = """
import sys
import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from sefr import SEFRClassifier, Summary
from sefr.engines.expressions import expression
from sefr.engines.spark import SEFR

builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
session = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1").getOrCreate()
assert type(session).__module__.startswith("pyspark.sql.connect"), type(session)
rng = np.random.default_rng(3)
y = rng.integers(0, 3, 800)
X = rng.integers(0, 50, (800, 4)) + 5 * y[:, None]
names = ["a", "b.c", "d", "flag"]
table = pa.table({name: X[:, j].astype(float) for j, name in enumerate(names)} | {"y": y})
frame = session.createDataFrame(table).repartition(3).cache()
expected = Summary.of(table.select(names), y)
assert Summary.of_frame(frame, "y", names) == expected
lists = session.createDataFrame(pa.table({"f": X.astype(float).tolist(), "y": y.astype(float)}))
assert (Summary.of_frame(lists, "y").sums == expected.sums).all()
for settings in ({"passes": 4}, {"passes": 4, "bins": 6}):
    clf = SEFRClassifier(**settings).fit_frame(frame, "y", names)
    assert clf.summary_.n_rows == 800
    here = SEFRClassifier(**settings).fit(table.select(names), y)
    assert abs(clf.score(table.select(names), y) - here.score(table.select(names), y)) < 0.02
    shares = clf.predict_proba(table.select(names))
    assert shares.shape == (800, 3)
    found = frame.select("*", expression(clf, "pyspark")).toArrow()
    assert (found["prediction"].to_numpy() == clf.predict(found.select(names))).all()
model = SEFR(featuresCol="f", labelCol="y", passes=3).fit(lists)
answers = model.transform(lists).toPandas()
assert (answers["prediction"] == model.classifier().predict(X.astype(float))).all()
print("all is well")
"""


def test_a_session_through_a_server(tmp_path):
    pytest.importorskip("grpc")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: make engine-tools installs it")
    script = tmp_path / "connect.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all is well" in done.stdout
