"""The same Summary from every engine, the numpy path's, and one clear error for what is wrong."""

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sefr import SEFRClassifier, Summary
from sefr.engines import frames
from sefr.engines.error import EngineError

FEATURES = ["count", "gaps", "winged", "maybe", "halves", "single", "bytes"]


def test_every_kind_of_column_is_treated_alike(engine, as_frame, mixed, numbers):
    frame = as_frame(engine, mixed)
    summary = Summary.of_frame(frame, "species", FEATURES, missing="ignore")
    expected = Summary.of(numbers(mixed, FEATURES), mixed["species"].to_pylist(), missing="ignore")
    assert summary.feature_names == tuple(FEATURES)
    assert summary == named(expected)


def test_weights_count_as_in_numpy(engine, as_frame, mixed, numbers):
    frame = as_frame(engine, mixed)
    summary = Summary.of_frame(frame, "species", FEATURES, "weight", missing="ignore")
    weights = mixed["weight"].to_numpy()
    expected = Summary.of(numbers(mixed, FEATURES), mixed["species"].to_pylist(), weights, missing="ignore")
    assert summary == named(expected)


def test_floats_far_from_zero_keep_their_bits(engine, as_frame, rng):
    n = 2000
    columns = {
        "time": 1.7e9 + rng.random(n) * 60,
        "pressure": 101325 + rng.normal(size=n),
        "plain": rng.normal(size=n),
        "large": rng.random(n) * 1e12,
    }
    y = rng.integers(0, 3, n)
    summary = Summary.of_frame(as_frame(engine, pa.table(columns | {"y": y})))
    expected = Summary.of(np.stack(list(columns.values()), axis=1), y)
    scale = np.abs(np.stack(list(columns.values()))).sum(axis=1) / 3
    assert (np.abs(summary.sums - expected.sums) <= 1e-12 * scale).all()
    for name in ("counts", "low", "high"):
        np.testing.assert_array_equal(getattr(summary, name), getattr(expected, name))
    # What the weights are made from: the distance of the mean from the lowest value.
    one, other = (distance(s) for s in (summary, expected))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def distance(summary):
    tails = 0 if summary.tails is None else summary.tails
    return (summary.sums - summary.counts[:, None] * summary.low) + tails


@pytest.mark.parametrize("labels", [[True, False], [3, -1], [2.0, 5.0], ["b", "a"]])
def test_labels_of_every_kind(engine, as_frame, labels):
    y = labels * 4
    summary = Summary.of_frame(as_frame(engine, pa.table({"x": range(8), "y": y})))
    assert summary.classes.tolist() == sorted(labels)
    assert summary == named(Summary.of(np.arange(8)[:, None], np.array(y)), ["x"])


def test_a_wide_table(engine, as_frame, rng):
    m = frames.WIDE + 6
    X, y = rng.integers(-9, 9, (60, m)), rng.choice(["p", "q"], 60)
    table = pa.table({f"c{j}": X[:, j] for j in range(m)} | {"y": y, "w": np.arange(60) % 3})
    frame = as_frame(engine, table)
    names = [f"c{j}" for j in range(m)]
    assert Summary.of_frame(frame, features=names) == named(Summary.of(X, y), names)
    weighted = Summary.of_frame(frame, weight="w")
    assert weighted == named(Summary.of(X, y, np.arange(60) % 3), names)
    broken = as_frame(
        engine, table.set_column(3, "c3", pa.array([None if i == 50 else 1.0 for i in range(60)]))
    )
    with pytest.raises(EngineError, match=r"column 3 \('c3'\)"):
        Summary.of_frame(broken, weight="w")


def test_fit_frame_is_fit(engine, as_frame, mixed, numbers):
    names = ["count", "winged", "bytes"]
    clf = SEFRClassifier().fit_frame(as_frame(engine, mixed), "species", names)
    X, y = numbers(mixed, names), np.array(mixed["species"].to_pylist())
    expected = SEFRClassifier().fit(X, y)
    np.testing.assert_array_equal(clf.coef_, expected.coef_)
    assert clf.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="at least two classes"):
        clf.fit_frame(pa.table({"y": [1, 1], "a": [1, 2]}))
    np.testing.assert_array_equal(clf.coef_, expected.coef_)


def test_what_is_wrong_is_said_in_one_sentence(engine, as_frame, mixed):
    name = str(nw.from_native(as_frame(engine, mixed)).implementation)
    n = mixed.num_rows
    text = mixed.append_column("name", pa.array(["x"] * n))
    infinite = mixed.append_column("far", pa.array([np.inf, *np.zeros(n - 1)]))
    negative = mixed.append_column("w", pa.array([-1.0, *np.ones(n - 1)]))
    unlabelled = mixed.set_column(0, "species", pa.array([None, *mixed["species"].to_pylist()[1:]]))
    continuous = mixed.append_column("target", pa.array(np.linspace(0, 1, n)))
    cases = [
        (mixed, {"label": "genus"}, "no label column 'genus'"),
        (mixed, {"features": ["count", "legs"]}, "no feature column 'legs'"),
        (mixed, {"weight": "mass"}, "no weight column 'mass'"),
        (mixed, {"features": ["species"]}, "'species' is named twice"),
        (mixed, {"features": ["gaps"]}, "NaN.*'gaps'"),
        (mixed, {"features": ["halves"]}, "NaN.*'halves'"),
        (mixed, {"features": ["single"]}, "NaN.*'single'"),
        (text, {"features": ["count", "name"]}, "'name' is String, not a number"),
        (infinite, {"features": ["far"]}, "infinity.*'far'"),
        (infinite, {"features": ["far"], "missing": "ignore"}, "infinity.*'far'"),
        (negative, {"features": ["count"], "weight": "w"}, "'w'.*finite and not negative"),
        (unlabelled, {"features": ["count"]}, "'species'"),
        (continuous, {"features": ["count"], "label": "target"}, "'target'.*continuous"),
        (mixed.slice(0, 0), {"features": ["count"]}, "no rows"),
    ]
    for table, how, words in cases:
        with pytest.raises(EngineError, match=rf"(?s)^{name}.*{words}") as caught:
            Summary.of_frame(as_frame(engine, table), **({"label": "species"} | how))
        assert "Traceback" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_feature_far_from_zero_may_have_missing_values(engine, as_frame):
    """It is asked for twice, the second time as distances: NaN must be left out both times."""
    times = np.array([1e9, 1e9 + 3, np.nan, 1e9 + 1, np.nan, 1e9 + 2])
    table = pa.table({"time": times, "y": ["a", "a", "a", "b", "b", "b"]})
    found = Summary.of_frame(as_frame(engine, table), "y", missing="ignore")
    assert found == Summary.of(pd.DataFrame({"time": times}), table["y"].to_pylist(), missing="ignore")


def test_what_is_not_a_frame():
    with pytest.raises(TypeError, match="data frame that narwhals knows"):
        Summary.of_frame([[1, 2]])
    with pytest.raises(ValueError, match="missing must be"):
        Summary.of_frame(pa.table({"y": [1], "a": [1]}), missing="drop")


def test_an_engine_that_fails_says_so_in_one_line(tmp_path):
    import polars as pl

    gone = pl.scan_parquet(tmp_path / "gone.parquet")
    with pytest.raises(EngineError, match=r"^polars: could not read the columns of the table: .*") as caught:
        Summary.of_frame(gone)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def named(summary, names=None):
    """Return the Summary with names for its features."""
    return Summary.from_parts(
        classes=summary.classes,
        counts=summary.counts,
        sums=summary.sums,
        tails=summary.tails,
        present=summary.present,
        low=summary.low,
        high=summary.high,
        feature_names=names or FEATURES,
    )
