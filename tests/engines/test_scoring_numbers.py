"""A regressor as ONNX, as SQL and as expressions of engines: run there, the same predictions."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from engines.test_scoring import DIALECTS, in_database

from sefr import SEFRRegressor
from sefr.engines.expressions import expression
from sefr.engines.scoring import Scoring
from sefr.engines.scoring_model import ScoringModel
from sefr.onnx_model import to_onnx

NAMES = ["a", 'half "quoted"', "it's", "flat", "time"]
CASES = [(1, None, "error"), (1, None, "ignore"), (3, None, "ignore"), (1, 6, "error"), (2, 6, "ignore")]


@pytest.fixture(params=CASES, ids=str)
def trained(request, rng):
    """Return a model and rows to score, with values far away, and missing where they may be."""
    k, bins, missing = request.param
    X = rng.normal(size=(300, 5))
    y = X @ rng.normal(size=(5, k)) + rng.normal(size=(300, k)) - 1e6
    X[:, 3] = 3.0
    X[:, 4] += 1.7e9
    rows = pd.DataFrame(X, columns=NAMES)
    if missing == "ignore":
        rows.iloc[::9, 2] = np.nan
    reg = SEFRRegressor(bins=bins, missing=missing).fit(rows, y)
    asked = rows.iloc[:40].copy()
    asked.iloc[0] = 1e6
    if missing == "ignore":
        asked.iloc[1] = np.nan
    return reg, asked


def assert_same(found, reg, rows):
    expected = reg.predict(rows)
    np.testing.assert_allclose(np.asarray(found, dtype=float), expected, rtol=1e-14, atol=1e-8)


def test_onnx(trained):
    onnxruntime = pytest.importorskip("onnxruntime")
    reg, rows = trained
    content = to_onnx(reg)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["prediction"]
    (found,) = session.run(None, {"X": rows.to_numpy()})
    assert found.shape == reg.predict(rows).shape
    assert_same(found, reg, rows)
    props = session.get_modelmeta().custom_metadata_map
    assert json.loads(props["feature_names"]) == NAMES
    assert "classes" not in props


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_select(dialect, trained, request):
    reg, rows = trained
    run = in_database(dialect, rows, request)
    several = reg.fitted_.n_outputs > 1
    result = run(Scoring("scored", ScoringModel.of(reg), explain=0 if several else 2).sql(dialect))
    if several:
        names = [f"prediction_{r}" for r in range(reg.fitted_.n_outputs)]
        assert_same(result[names], reg, rows)
        with pytest.raises(ValueError, match="one output"):
            Scoring("scored", ScoringModel.of(reg), explain=1).sql(dialect)
        return
    assert_same(result["prediction"], reg, rows)
    parts = reg.contributions(rows)
    order = np.argsort(-np.abs(parts), axis=1, kind="stable")
    for i in range(2):
        expected = np.take_along_axis(parts, order[:, i : i + 1], axis=1)[:, 0]
        np.testing.assert_allclose(result[f"part_{i + 1}"].astype(float), expected, rtol=1e-6, atol=1e-9)


def test_polars(trained):
    reg, rows = trained
    frame = pl.from_pandas(rows, nan_to_null=True).lazy().select(reg.expression("polars"))
    assert_same(frame.collect()["prediction"].to_list(), reg, rows)
    for kind in ("scores", "probabilities"):
        with pytest.raises(ValueError, match="prediction for a regressor"):
            expression(reg, "polars", kind)


def test_ibis(trained):
    ibis = pytest.importorskip("ibis")
    reg, rows = trained
    table = ibis.memtable(rows)
    found = table.select(reg.expression("ibis")).execute()["prediction"].to_list()
    assert_same(found, reg, rows)


@pytest.mark.needs("spark")
def test_spark(trained, spark):
    reg, rows = trained
    frame = spark.createDataFrame(rows.rename(columns={'half "quoted"': "half"}))
    names = [name.replace('half "quoted"', "half") for name in NAMES]
    found = frame.select(reg.expression("pyspark", features=names)).toPandas()["prediction"].tolist()
    assert_same(found, reg, rows)
