"""Every engine does what the guide's table says it does, and refuses what it says it does not."""

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.capabilities import CAPABILITIES, ENGINES, cells
from sefr import SEFRClassifier, SEFRRegressor, Summary, cross_validate
from sefr.engines.error import EngineError
from sefr.engines.scoring import Scoring
from sefr.engines.scoring_model import ScoringModel
from sefr.engines.sql import Query, summaries_of_result

NEEDED = {"pyspark": [pytest.mark.slow, pytest.mark.needs("spark")], "dask": [pytest.mark.needs("dask")]}
NAMES = ["a", "b", "c", "d"]


def on(engine, *more):
    return pytest.param(*more, engine, marks=NEEDED.get(engine, []), id="-".join([*more, engine]))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 50, (600, 4)).astype(float)
    y = np.where((X[:, 0] > 25) ^ (rng.random(600) < 0.1), "yes", "no")
    gaps = [None if i % 9 == 0 else v for i, v in enumerate(X[:, 3])]
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    more = {"gaps": pa.array(gaps), "w": rng.integers(1, 4, 600), "fold": np.arange(600) % 3, "y": y}
    return pa.table(columns | more)


class Source:
    """The rows on an engine: what the checks ask of it."""

    def __init__(self, engine, rows, as_frame):
        self.engine, self.rows, self.as_frame = engine, rows, as_frame
        self.X, self.y = rows.select(NAMES).to_pandas(), np.array(rows["y"].to_pylist())

    @property
    def frame(self):
        return self.as_frame("duckdb" if self.engine == "sql" else self.engine, self.rows)

    def query(self, **options):
        import duckdb

        connection = duckdb.connect()
        connection.register("t", self.rows)
        return connection.execute(Query("t", **({"label": "y", "features": NAMES} | options)).sql("duckdb"))

    def summary(self, names=NAMES, weight=None, missing="error", moments=1):
        if self.engine == "sql":
            found = self.query(features=names, weight=weight, moments=moments)
            return Summary.of_query(found, missing=missing)
        return Summary.of_frame(self.frame, "y", names, weight, missing=missing, moments=moments)

    def fit(self, **settings):
        if self.engine == "sql":
            return SEFRClassifier.from_summary(self.summary(), **settings)
        return SEFRClassifier(**settings).fit_frame(self.frame, "y", NAMES)

    def in_memory(self, **settings):
        return SEFRClassifier(**settings).fit(self.X, self.y)


def check_one_pass(at):
    np.testing.assert_array_equal(at.fit().coef_, at.in_memory().coef_)


def check_passes(at):
    found, expected = at.fit(passes=5), at.in_memory(passes=5)
    assert found.n_passes_ > 1
    assert found.score(at.X, at.y) == pytest.approx(expected.score(at.X, at.y), abs=0.02)
    assert found.score(at.X, at.y) > at.fit().score(at.X, at.y) - 0.02


def check_bins(at):
    found = at.fit(bins=8, scale=(0.0, 50.0))
    assert found.summary_ == at.in_memory(bins=8, scale=(0.0, 50.0)).summary_


def check_interactions(at):
    found = at.fit(bins=8, interactions=5)
    assert found.summary_.coder.n_cells > at.fit(bins=8).summary_.coder.n_cells
    assert found.score(at.X, at.y) > 0.85


def check_moments(at):
    assert at.summary(moments=2) == Summary.of(at.X, at.y, moments=2)


def check_missing(at):
    X = at.rows.select([*NAMES, "gaps"]).to_pandas().astype(float)
    assert at.summary([*NAMES, "gaps"], missing="ignore") == Summary.of(X, at.y, missing="ignore")
    with pytest.raises(EngineError, match="'gaps'"):
        at.summary([*NAMES, "gaps"])


def check_weights(at):
    assert at.summary(weight="w") == Summary.of(at.X, at.y, at.rows["w"].to_numpy())


def check_class_weight(at):
    weights = {"no": 1.0, "yes": 5.0}
    found = at.fit(class_weight=weights)
    np.testing.assert_array_equal(found.coef_, at.in_memory(class_weight=weights).coef_)
    np.testing.assert_array_equal(found.intercept_, at.in_memory(class_weight=weights).intercept_)
    assert found.intercept_ != at.fit().intercept_


def check_probabilities(at):
    found = at.fit().predict_proba(at.X)
    np.testing.assert_allclose(found.mean(axis=0), [np.mean(at.y == c) for c in ("no", "yes")], atol=0.05)


def check_auto(at):
    found, expected = at.fit(auto=True), at.in_memory(auto=True)
    np.testing.assert_allclose(found.decision_function(at.X), expected.decision_function(at.X), rtol=1e-9)


def check_cross_validate(at):
    if at.engine == "pandas":
        found = cross_validate(SEFRClassifier(), at.frame[NAMES], at.y, cv=3)
        np.testing.assert_array_equal(
            found["test_score"], cross_validate(SEFRClassifier(), at.X.to_numpy(), at.y, cv=3)["test_score"]
        )
        return
    folds = summaries_of_result(at.query(group="fold"))
    total = Summary.of(at.X, at.y)
    for fold, summary in folds.items():
        here = at.rows["fold"].to_numpy() == fold
        clf = SEFRClassifier.from_summary(total - summary)
        alone = SEFRClassifier().fit(at.X[~here], at.y[~here])
        assert clf.score(at.X[here], at.y[here]) == alone.score(at.X[here], at.y[here])


def check_contributions(at):
    if at.engine == "pandas":
        clf = at.fit()
        parts = clf.contributions(at.frame[NAMES])
        np.testing.assert_allclose(parts.sum(axis=-1), clf.decision_function(at.X), rtol=1e-12, atol=1e-12)
        return
    import duckdb

    clf = at.in_memory()
    connection = duckdb.connect()
    connection.register("t", at.rows)
    found = connection.execute(Scoring("t", ScoringModel.of(clf), explain=1).sql("duckdb")).df()
    parts = clf.contributions(at.X).reshape(len(at.X), -1)
    np.testing.assert_allclose(np.abs(found["part_1"]), np.abs(parts).max(axis=1), rtol=1e-12)


def scored(at, model):
    """Return what a model says of every row, computed by the engine if it can."""
    if at.engine in ("duckdb", "sql"):
        import duckdb

        connection = duckdb.connect()
        connection.register("t", at.rows)
        return connection.execute(Scoring("t", ScoringModel.of(model)).sql("duckdb")).df()["prediction"]
    names = list(model.feature_names_in_)
    if at.engine == "pandas":
        return model.predict(at.frame[names])
    if at.engine == "dask":
        return at.frame[names].astype(float).map_partitions(model.predict).compute()
    kind = at.engine.split()[0]
    found = at.frame.select(model.expression(kind))
    collect = {"polars": "collect", "ibis": "to_pandas", "pyspark": "toPandas"}[kind]
    return getattr(found, collect)()["prediction"]


def check_scoring(at):
    clf = at.in_memory()
    assert list(scored(at, clf)) == list(clf.predict(at.X))


def check_scoring_of_numbers(at):
    X = at.X[NAMES[:3]]
    for settings in ({}, {"bins": 6, "interactions": 2}):
        model = SEFRRegressor(**settings).fit(X, at.X["d"])
        np.testing.assert_allclose(scored(at, model), model.predict(X), rtol=1e-9)


def check_drift(at):
    before = at.summary()
    assert not before.compare(at.summary()).findings
    moved = Summary.of(at.X + np.array([30, 0, 0, 0]), at.y)
    assert any("'a'" in finding for finding in before.compare(moved).findings)


def check_private(at):
    pytest.importorskip("opendp", reason="needs opendp: make test-all installs it")
    released = at.summary().private(5.0, 1e-6, (0.0, 50.0))
    exact = Summary.of(at.X, at.y)
    assert not np.array_equal(released.sums, exact.sums)
    np.testing.assert_allclose(released.counts, exact.counts, atol=60)


def check_categories(at):
    """Of text, of which some is missing; one value is frequent, and says which class it is."""
    colours = [None if i % 50 == 7 else f"{y} {i % 3}" for i, y in enumerate(at.y)]
    rows = at.rows.append_column("colour", pa.array(colours))
    model = SEFRClassifier(bins=8, missing="ignore", passes=3)
    found = model.fit_frame(at.as_frame(at.engine, rows), "y", ["b", "colour"])
    assert found.edges_[1] == tuple(f"{y} {i}" for y in ("no", "yes") for i in range(3))
    assert found.summary_.counts.sum() == 600
    X = rows.select(["b", "colour"]).to_pandas()
    assert found.score(X, at.y) > 0.95
    again = SEFRClassifier(bins=found.edges_, missing="ignore")  # categories that are known before
    again.fit_frame(at.as_frame(at.engine, rows), "y", ["b", "colour"])
    assert again.summary_ == found.summary_
    X["colour"] = X["colour"].astype("category")
    assert again.summary_ == SEFRClassifier(bins=found.edges_, missing="ignore").fit(X, at.y).summary_


def regressed(at, **settings):
    """Return the regressors of the engine and of this process that predict d from a, b and c."""
    expected = SEFRRegressor(**settings).fit(at.X[NAMES[:3]], at.X["d"], at.rows["w"].to_numpy())
    if at.engine == "sql":
        result = at.query(label=None, features=NAMES, weight="w", moments=2)
        return SEFRRegressor.from_summary(Summary.of_query(result, target="d"), **settings), expected
    return SEFRRegressor(**settings).fit_frame(at.frame, "d", NAMES[:3], "w"), expected


def check_regression(at):
    found, expected = regressed(at)
    assert found.summary_ == expected.summary_
    X = at.X[NAMES[:3]]
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)
    if at.engine != "sql":
        summary = Summary.of_frame(at.frame, "d", NAMES[:3], "w", numbers=True)
        assert summary == expected.summary_


def check_several_outputs(at):
    """Two columns are predicted from the others, by one model, weighted."""
    X, Y, weights = at.X[["a", "b"]], at.X[["c", "d"]], at.rows["w"].to_numpy()
    expected = SEFRRegressor().fit(X, Y, weights)
    if at.engine == "sql":
        result = at.query(label=None, features=NAMES, weight="w", moments=2)
        found = SEFRRegressor.from_summary(Summary.of_query(result, target=["c", "d"]))
    else:
        found = SEFRRegressor().fit_frame(at.frame, ["c", "d"], ["a", "b"], "w")
        cut = {"bins": 6, "scale": (0.0, 50.0)}
        curves = SEFRRegressor(**cut).fit_frame(at.frame, ["c", "d"], ["a", "b"], "w")
        assert curves.summary_ == SEFRRegressor(**cut).fit(X, Y, weights).summary_
        with pytest.raises(EngineError, match="'gaps'"):
            Summary.of_frame(at.frame, ["d", "gaps"], ["a"], numbers=True)
        with pytest.raises(EngineError, match="one column has the labels, not 2: 'y', 'fold'"):
            Summary.of_frame(at.frame, ["y", "fold"], ["a"])
    assert found.summary_ == expected.summary_
    assert found.predict(X).shape == (600, 2)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)


def check_regression_with_bins(at):
    found, expected = regressed(at, bins=6, scale=(0.0, 50.0))
    assert found.summary_ == expected.summary_
    grown, _ = regressed(at, bins=6, interactions=3)
    assert grown.summary_.coder.n_features == 3
    assert np.isfinite(grown.predict(at.X[NAMES[:3]])).all()


def check_regression_in_passes(at):
    for cut in ({}, {"bins": 6, "scale": (0.0, 50.0)}):
        found, expected = regressed(at, moments=1, passes=4, **cut)
        assert found.n_passes_ > 1
        X = at.X[NAMES[:3]]
        np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-4)


@pytest.mark.parametrize(("capability", "engine_name"), [on(engine, name) for name, engine in cells()])
def test_it_does(capability, engine_name, rows, as_frame):
    globals()[f"check_{capability.replace(' ', '_')}"](Source(engine_name, rows, as_frame))


@pytest.mark.parametrize("engine_name", [on(engine) for engine in ENGINES[:-1]])
def test_it_refuses_text_without_bins_and_as_a_number_to_predict(engine_name, rows, as_frame):
    text = rows.append_column("colour", pa.array(["red", "blue"] * 300))
    with pytest.raises(EngineError, match=r"'colour' is (string|String), not a number"):
        SEFRClassifier().fit_frame(as_frame(engine_name, text), "y", ["a", "colour"])
    with pytest.raises(EngineError, match=r"'y'.*(must be numbers|not a number)"):
        SEFRRegressor().fit_frame(as_frame(engine_name, text), "y", ["a"])
    with pytest.raises(EngineError, match=r"'y'.*(must be numbers|not a number)"):
        Summary.of_frame(as_frame(engine_name, text), "y", ["a"], numbers=True)
    with pytest.raises(EngineError, match="'gaps'"):
        SEFRRegressor(missing="ignore").fit_frame(as_frame(engine_name, text), "gaps", ["a"])


@pytest.mark.parametrize("engine_name", [on(engine) for engine in ENGINES[1:-1]])
def test_cross_validate_and_contributions_take_rows_in_this_process(engine_name, rows, as_frame):
    frame = as_frame(engine_name, rows.select(NAMES))
    assert CAPABILITIES["cross_validate"][engine_name] is not True
    with pytest.raises(TypeError, match="collect it first, learn from it with fit_frame"):
        cross_validate(SEFRClassifier(), frame, rows["y"].to_pylist())
    scored = {"duckdb": "sefr sql --predict", "dask": "map_partitions"}.get(engine_name, "model.expression")
    with pytest.raises(TypeError, match=f"collect it first, .* or score it where it is with .*{scored}"):
        Source(engine_name, rows, as_frame).in_memory().contributions(frame)


@pytest.mark.parametrize("engine_name", [on("dask"), on("pyspark")])
def test_auto_needs_all_rows_in_this_process(engine_name, rows, as_frame):
    assert CAPABILITIES["auto"][engine_name] is not True
    with pytest.raises(ValueError, match="auto=True looks at all rows at once"):
        Source(engine_name, rows, as_frame).fit(auto=True)


REFUSED_BY_A_QUERY = {
    "passes": (lambda at: at.fit(passes=5), "no rows for further passes"),
    "bins": (lambda at: at.fit(bins=8), "sums of values, not of bins"),
    "interactions": (lambda at: at.fit(bins=8, interactions=3), "sums of values, not of bins"),
    "categories": (lambda at: at.summary(["a", "colour"]), "colour"),
    "probabilities": (lambda at: at.fit().predict_proba(at.X), "calibrate"),
    "auto": (lambda at: at.fit(auto=True), "no rows to weigh parts on"),
    "regression with bins": (lambda at: regressed(at, bins=6), "sums of values, not of bins"),
    "regression in passes": (lambda at: regressed(at, moments=1, passes=4), "no rows for further passes"),
}


@pytest.mark.parametrize("capability", [name for name, row in CAPABILITIES.items() if row["sql"] is not True])
def test_a_query_refuses_what_needs_rows(capability, rows, as_frame):
    text = rows.append_column("colour", pa.array(["red", "blue"] * 300))
    attempt, sentence = REFUSED_BY_A_QUERY[capability]
    with pytest.raises(Exception, match=sentence):
        attempt(Source("sql", text, as_frame))
