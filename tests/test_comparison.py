"""compare: the same numbers as scikit-learn's cross-validation, one recommendation, one table."""

import time

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sefr import SEFRClassifier, compare, comparison
from sefr.comparison import dealt_folds

mpl.use("Agg")


def test_each_row_is_what_scikit_learn_says():
    X, y = load_breast_cancer(return_X_y=True)
    splits = PredefinedSplit(dealt_folds(y, 5))
    for row in compare(X, y, cv=5, settings={"one": {}, "three": {"passes": 3}}):
        clf = SEFRClassifier(**row.params)
        answers = cross_val_predict(clf, X, y, cv=splits)
        np.testing.assert_array_equal(row.predictions, answers)
        assert row.accuracy == accuracy_score(y, answers)
        assert row.macro_f1 == f1_score(y, answers, average="macro")
        shares = cross_val_predict(clf, X, y, cv=splits, method="predict_proba")
        assert row.log_loss == pytest.approx(log_loss(y, np.clip(shares, 1e-15, 1)), rel=1e-9)


def test_folds_are_stratified_and_nearly_equal(rng):
    codes = rng.integers(0, 3, 500)
    folds = dealt_folds(codes, 10)
    for k in range(3):
        counts = np.bincount(folds[codes == k], minlength=10)
        assert counts.max() - counts.min() <= 1


def test_any_table_and_any_splitter(rng):
    X = rng.random((60, 4))
    y = np.where(X[:, 0] > 0.5, "a", "b")
    plain = compare(X, y, cv=KFold(3))
    for other in (sparse.csr_array(X), pd.DataFrame(X, columns=list("pqrs"))):
        again = compare(other, y, cv=KFold(3))
        assert [row.accuracy for row in again] == [row.accuracy for row in plain]


def test_missing_values_are_no_obstacle(rng):
    X = rng.random((80, 3))
    y = (X[:, 0] > 0.5).astype(int)
    X[::7, 1] = np.nan
    table = compare(X, y, cv=4, missing="ignore")
    assert table.recommended.macro_f1 > 0.8
    with pytest.raises(ValueError, match=r"NaN|missing"):
        compare(X, y, cv=4)


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_categories_are_for_bins_and_one_hot_for_the_others(rng, kind):
    number = rng.integers(0, 300, 900)
    X = pd.DataFrame({"size": rng.random(900), "colour": pd.Categorical([f"c{k:03}" for k in number])})
    X.loc[::50, "colour"] = None
    y = np.where((number % 10 < 4) ^ (X["size"] > 0.8), "dear", "cheap")
    codes = np.unique(y, return_inverse=True)[1]
    rows = X if kind == "pandas" else pa.Table.from_pandas(X)
    found = compare(rows, y, cv=4, missing="ignore")
    spread = pd.get_dummies(X["colour"]).astype(float)
    spread[X["colour"].isna()] = np.nan
    linear = compare(pd.concat([X[["size"]], spread], axis=1), y, cv=4, missing="ignore")
    splits = PredefinedSplit(dealt_folds(codes, 4))
    for row, other in zip(found, linear, strict=True):
        if row.params.get("bins") is None and not row.params.get("auto"):
            np.testing.assert_array_equal(row.predictions, other.predictions)
        else:
            answers = cross_val_predict(SEFRClassifier(**row.params), X, y, cv=splits)
            np.testing.assert_array_equal(row.predictions, answers)


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_an_error_names_the_row_and_the_column_of_the_frame(rng, kind):
    fare = rng.random(60)
    fare[50] = np.inf
    X = pd.DataFrame({"cabin": [f"c{i % 20}" for i in range(60)], "fare": fare})
    if kind != "pandas":
        X = pa.Table.from_pandas(X) if kind == "arrow" else pytest.importorskip("polars").from_pandas(X)
    with pytest.raises(ValueError, match=r"infinity: row 50, column 20 \('fare'\)"):
        compare(X, np.arange(60) % 2, cv=4)


def test_columns_of_one_name_are_compared(rng):
    X = pd.DataFrame({"a": ["b", "c"] * 30, "a=b": rng.random(60)})
    assert compare(X, np.arange(60) % 2, cv=4, settings={"one pass": {}})[0].accuracy == 1


def test_a_dearer_setting_must_bring_more(rng):
    y = np.arange(200) % 2
    X = np.column_stack([y + rng.normal(0, 0.05, 200), rng.random(200)])
    table = compare(X, y)
    assert table.recommended.name == "one pass"
    assert table.recommendation.startswith("Use one pass")


def test_features_that_tell_nothing_are_said(rng):
    X, y = np.zeros((90, 2)), np.repeat([0, 1], [80, 10])
    table = compare(X, y, cv=5)
    assert table.recommended.name == "base rate"
    assert "do not separate the classes" in table.recommendation


def test_it_shows_itself_as_a_table_and_draws_itself():
    table = compare(*load_iris(return_X_y=True))
    text = repr(table)
    assert text.splitlines()[0].split() == [
        *("setting", "macro", "F1", "accuracy", "log", "loss", "to", "train", "model")
    ]
    assert len({len(line) for line in text.splitlines()[: len(table) + 1]}) == 1
    axis = table.plot()
    assert [label.get_text() for label in axis.get_yticklabels()] == [row.name for row in table]
    assert [float(text.get_text().split(",")[0]) for text in axis.texts] == [
        round(row.macro_f1, 3) for row in table
    ]
    assert table[0].name == "base rate"


def test_a_setting_that_this_version_does_not_know_is_left_out():
    X, y = load_iris(return_X_y=True)
    table = compare(X, y, cv=3, settings={"one": {}, "wings": {"wings": 2}})
    assert [row.name for row in table] == ["one"]
    with pytest.raises(ValueError, match="no settings"):
        compare(X, y, settings={"wings": {"wings": 2}})
    with pytest.raises(ValueError, match="one class only"):
        compare(X, np.zeros(150))
    with pytest.raises(ValueError, match="two folds"):
        compare(X, y, cv=1)


def test_other_methods_have_the_same_folds_and_are_never_recommended():
    X, y = load_breast_cancer(return_X_y=True)
    table = compare(X, y, cv=4, settings={"base rate": None, "auto": {"auto": True}}, others=True)
    other = next(row for row in table if row.name == "logistic regression")
    assert other.is_other
    assert table.recommended.name == "auto"
    assert "logistic" not in table.recommendation
    splits = list(PredefinedSplit(dealt_folds(y, 4)).split())[: other.n_folds]
    truth, given = [], []
    for train, test in splits:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X[train], y[train])
        given += model.predict(X[test]).tolist()
        truth += y[test].tolist()
    assert other.accuracy == accuracy_score(truth, given)
    assert [row.n_folds for row in table if not row.is_other] == [4, 4]


def test_a_method_that_takes_too_long_is_tested_on_some_folds(monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setattr(comparison, "SHARES", {"logistic regression": 0.0, "LightGBM": 0.0})
    seen = []
    table = compare(X, y, cv=5, settings={"paper": {}}, others=True, tick=seen.append)
    others = [row for row in table if row.is_other]
    assert [row.n_folds for row in others] == [1] * len(others)
    assert seen == ["paper"] * 5 + [row.name for row in others]
    assert all(row.accuracy > 0.9 for row in others)


def test_missing_values_sparse_rows_and_frames_are_for_other_methods_too(rng):
    X = rng.random((60, 4)) * (rng.random((60, 4)) < 0.7)
    y = np.where(X[:, 0] > 0.3, "a", "b")
    found = [
        compare(rows, y, cv=3, settings={"paper": {}}, others=True)[1].n_folds
        for rows in (sparse.csr_array(X), pd.DataFrame(X, columns=list("pqrs")), X.tolist())
    ]
    assert min(found) >= 1
    X[::9, 1] = np.nan
    assert compare(X, y, cv=3, settings={"paper": {}}, others=True, missing="ignore")[1].accuracy > 0.7


def test_second_moments_of_very_many_columns_are_left_out(rng, monkeypatch):
    X = rng.random((60, 4))
    y = (X[:, 0] > 0.5).astype(int)
    names = [row.name for row in compare(X, y, cv=3)]
    assert "second moments" in names
    monkeypatch.setattr(comparison, "MOST_WITH_MOMENTS", 3)
    assert [row.name for row in compare(X, y, cv=3)] == [name for name in names if name != "second moments"]


def test_settings_for_numbers_are_compared_as_those_for_classes(rng):
    """R2 and the errors are those of scikit-learn, of predictions for rows that were not in training."""
    from sklearn.metrics import mean_absolute_error, r2_score
    from sklearn.model_selection import KFold, cross_val_predict

    from sefr import SEFRRegressor

    X = rng.normal(size=(120, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=120)
    table = compare(X, y, cv=5, task="regress", others=True)
    rows = {row.name: row for row in table}
    assert list(rows)[:5] == ["mean", "line", "32 bins", "32 bins, 60 interactions", "auto"]
    assert "linear regression" in rows
    folds = KFold(5, shuffle=True, random_state=0)
    given = cross_val_predict(SEFRRegressor(auto=True), X, y, cv=folds)
    auto = rows["auto"]
    np.testing.assert_allclose(auto.predictions, given, rtol=1e-9)
    np.testing.assert_allclose(auto.errors.r2, r2_score(y, given), rtol=1e-9)
    np.testing.assert_allclose(auto.errors.mae, mean_absolute_error(y, given), rtol=1e-9)
    assert rows["mean"].errors.r2 < 0.05 < rows["line"].errors.r2 < auto.errors.r2
    assert isinstance(table.best_estimator(), SEFRRegressor)
    assert "R2" in repr(table)
    assert "<th>R2</th>" in table._repr_html_()
    with pytest.raises(ValueError, match="task must be"):
        compare(X, y, task="numbers")


def test_a_raw_frame_is_compared_as_it_is(rng):
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(90) < 0.2, np.nan, rng.normal(40, 10, 90)),
            "sex": rng.choice(["m", "f", None], 90),
            "place": rng.integers(1, 4, 90),
        }
    )
    y = np.where(frame["sex"] == "f", "yes", "no")
    settings = {"one pass": {"passes": 1}, "bins": {"bins": 8}}
    for X in (frame, pa.Table.from_pandas(frame)):
        table = compare(X, y, cv=3, settings=settings)
        assert {row.params["missing"] for row in table} == {"ignore"}
    whole = compare(frame[["place"]], y, cv=3, settings=settings)
    assert all("missing" not in row.params for row in whole)
    for X, params in ((frame, {"missing": "error"}), (frame[["age"]].to_numpy(), {})):
        with pytest.raises(ValueError, match="contains NaN"):
            compare(X, y, cv=3, settings=settings, **params)


def test_a_machine_that_is_busy_with_other_work_has_no_say_in_which_folds_are_tested(rng, monkeypatch):
    fit = LinearRegression.fit

    def fit_late(*args, **kwargs):
        time.sleep(0.3)  # as if the processor had been given to somebody else
        return fit(*args, **kwargs)

    monkeypatch.setattr(LinearRegression, "fit", fit_late)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2, 3] + rng.normal(size=60)
    table = compare(X, y, task="regress", cv=4, settings={"auto": {"auto": True}}, others=True)
    assert {row.name: row.n_folds for row in table}["linear regression"] == 4
