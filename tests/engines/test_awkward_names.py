"""Columns whose names have dots, backticks, quotes and spaces: every verb of every engine takes them."""

import numpy as np
import pyarrow as pa
import pytest

from sefr import SEFRClassifier, Summary
from sefr.engines.passes import fit_frame

NAMES = ["a.b", "`c`", "d.`e", 'f "g"', "a"]
LABEL, WEIGHT = "the.`label`", "w.w"


@pytest.fixture
def rows(rng):
    """Return whole numbers under these names, with labels and weights."""
    y = rng.integers(0, 2, 300)
    X = rng.integers(0, 40, (300, len(NAMES))) + 9 * y[:, None]
    columns = {name: X[:, j].astype(float) for j, name in enumerate(NAMES)}
    return pa.table(columns | {LABEL: y, WEIGHT: rng.integers(1, 3, 300)})


def test_they_are_learned_from(engine, as_frame, rows):
    frame = as_frame(engine, rows)
    X = np.stack([rows[name].to_numpy() for name in NAMES], axis=1)
    y, w = rows[LABEL].to_numpy(), rows[WEIGHT].to_numpy()
    found = Summary.of_frame(frame, LABEL, NAMES, WEIGHT)
    expected = Summary.of(X, y, w)
    assert found.feature_names == tuple(NAMES)
    np.testing.assert_array_equal(found.sums, expected.sums)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for settings in ({"passes": 2}, {"passes": 2, "bins": 4}):
        clf = fit_frame(SEFRClassifier(**settings), frame, LABEL, NAMES, WEIGHT)
        assert clf.summary_.counts.tolist() == expected.counts.tolist()
        assert clf.score(rows.select(NAMES), y) >= 0.8


def test_they_are_scored(where, as_frame, rows):
    clf = SEFRClassifier().fit(rows.select(NAMES), rows[LABEL].to_numpy())
    frame, made = as_frame(where, rows), clf.expression(where)
    if where == "pyspark":
        found = [row.p for row in frame.select(made.alias("p")).collect()]
    elif where == "ibis":
        found = frame.mutate(p=made).execute()["p"].tolist()
    else:
        found = frame.select(made.alias("p"))["p"].to_list()
    assert found == clf.predict(rows.select(NAMES)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("width", [4, 700])
def test_sparks_estimator_and_model_take_them(spark, width, rng):
    """A narrow model is scored by expressions, a wide one by our kernel."""
    from sefr.engines.spark import SEFR

    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, width)) + y[:, None]
    table = pa.table({"f.`f": X.tolist(), LABEL: y.astype(float), WEIGHT: rng.integers(1, 3, 80)})
    names = {"featuresCol": "f.`f", "labelCol": LABEL, "weightCol": WEIGHT, "predictionCol": "p.`q`"}
    names |= {"probabilityCol": "s.`", "rawPredictionCol": "r.r"}
    model = SEFR(passes=2, **names).fit(spark.createDataFrame(table))
    answers = model.transform(spark.createDataFrame(table)).toPandas()
    assert set(answers.columns) == {"f.`f", LABEL, WEIGHT, "p.`q`", "s.`", "r.r"}
    expected = model.classifier()
    assert (answers["p.`q`"] == expected.predict(X)).all()
    np.testing.assert_allclose(np.stack(answers["s.`"]), expected.predict_proba(X), rtol=1e-7, atol=1e-9)
