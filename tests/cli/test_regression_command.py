"""A label of numbers: sefr train, evaluate, predict and explain, and who says that it is regression."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.driver import assert_one_line
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict

from sefr import SEFRRegressor, load, save
from sefr.files import dataset, numbers

PRICE = ("--label", "price")


@pytest.fixture
def houses():
    """Write a table of prices: two numbers, one of them with a curve, a category, gaps, and names."""
    rng = np.random.default_rng(4)
    n = 400
    frame = pd.DataFrame(
        {
            "name": [f"house {i}" for i in range(n)],
            "area": rng.uniform(30, 200, n).round(1),
            "age": rng.integers(0, 100, n),
            "town": np.array(["north", "south", "west"])[rng.integers(0, 3, n)],
        }
    )
    frame["price"] = (
        3 * frame["area"] + np.abs(frame["age"] - 50) + 40 * (frame["town"] == "west") + rng.normal(0, 9, n)
    ).round(2)
    frame.loc[::40, "area"] = None
    frame.to_csv("houses.csv", index=False)
    return frame


def features(frame):
    return frame[["area", "age", "town"]].assign(town=frame["town"].astype("category"))


def one_hot(frame):
    hot = pd.get_dummies(frame["town"], dtype=float).add_prefix("town=")
    return pd.concat([frame[["area", "age"]], hot], axis=1)


def test_a_column_with_fractions_is_predicted_as_a_number(sefr, houses):
    code, out, err = sefr("train", "houses.csv", *PRICE)
    assert code == 0, err
    assert re.match(r"regression: 'price' has fractions, for example [\d.]+ \(--task classify", err)
    assert "left out: name (a name per row)" in err
    assert "model.sefr: 400 rows, numbers of mean" in out
    reg = load("model.sefr")
    same = SEFRRegressor(auto=True, missing="ignore").fit(features(houses), houses["price"])
    assert reg.get_params() == same.get_params()
    assert reg.summary_ == same.summary_
    np.testing.assert_allclose(reg.predict(features(houses)), same.predict(features(houses)), rtol=1e-9)
    code, out, err = sefr("predict", "model.sefr", "houses.csv")
    assert code == 0, err
    np.testing.assert_allclose(
        pd.read_csv(io.StringIO(out))["prediction"], same.predict(features(houses)), rtol=1e-9
    )


@pytest.mark.parametrize(("words", "params"), [(["--exact"], {}), (["--bins", "8"], {"bins": 8})])
def test_words_and_dials_are_those_of_the_regressor(sefr, houses, words, params):
    code, _, err = sefr("train", "houses.csv", *PRICE, *words)
    assert code == 0, err
    X = features(houses) if params else one_hot(houses)
    same = SEFRRegressor(missing="ignore", **params).fit(X, houses["price"])
    reg = load("model.sefr")
    np.testing.assert_allclose(reg.predict(X), same.predict(X), rtol=1e-9)
    assert reg.get_params() == same.get_params()


def test_the_task_is_what_is_said(sefr, houses):
    whole = houses.assign(price=houses["price"].round().astype(int))
    for name, labels, is_number in (
        ("many", whole["price"], True),
        ("few", whole["price"] % 30, False),
        ("thirty_one", np.arange(400) % 31, True),
        ("floats", (whole["price"] % 5).astype(float), False),
        ("text", np.where(whole["price"] > 300, "dear", "cheap"), False),
    ):
        whole.assign(price=labels).to_csv(f"{name}.csv", index=False)
        code, _, err = sefr("train", f"{name}.csv", *PRICE, "-o", f"{name}.sefr")
        assert code == 0, err
        assert load(f"{name}.sefr").predicts_numbers is is_number, name
        assert err.startswith("regression: ") is is_number
    assert sefr("train", "few.csv", *PRICE, "--task", "regress")[0] == 0
    assert load("model.sefr").predicts_numbers
    assert sefr("train", "thirty_one.csv", *PRICE, "--task", "classify", "--paper")[0] == 0
    assert len(load("model.sefr").classes_) == 31
    assert_one_line(*sefr("train", "text.csv", *PRICE, "--task", "regress"), "text.csv.*'price'")


def test_of_a_large_table_the_first_rows_tell_the_task(sefr, houses, monkeypatch):
    monkeypatch.setattr(dataset, "batch_rows", lambda columns: 100)
    houses.assign(price=np.r_[np.arange(399) % 2, 0.5]).to_csv("late.csv", index=False)
    assert sefr("train", "late.csv", *PRICE)[0] == 0
    assert load("model.sefr").predicts_numbers
    monkeypatch.setattr(numbers, "SURVEYED_VALUES", 1)
    assert_one_line(*sefr("train", "late.csv", *PRICE), "line 401: .*0.5, a fraction.*--task regress")
    assert sefr("train", "late.csv", *PRICE, "--task", "regress")[0] == 0


def test_evaluate_says_what_scikit_learn_says(sefr, houses):
    code, out, err = sefr("evaluate", "houses.csv", *PRICE, "--folds", "4", "--json")
    assert code == 0, err
    told = json.loads(out)
    rows = {row["name"]: row for row in told["settings"]}
    assert {"mean", "linear regression", "exact", "auto"} <= set(rows)
    assert min(rows["auto"]["r2"], rows["exact"]["r2"]) > 0.9
    assert told["r2"] == rows["auto"]["r2"]
    assert abs(rows["mean"]["r2"]) < 0.05
    filled = one_hot(houses).fillna({"area": houses["area"].mean()})
    folds = KFold(4, shuffle=True, random_state=0)
    linear = cross_val_predict(LinearRegression(), filled, houses["price"], cv=folds)
    assert rows["linear regression"]["r2"] == pytest.approx(r2_score(houses["price"], linear), abs=1e-3)
    ours = SEFRRegressor(auto=True, missing="ignore")
    given = cross_val_predict(ours, features(houses), houses["price"], cv=folds)
    assert told["r2"] == pytest.approx(r2_score(houses["price"], given))
    assert told["mae"] == pytest.approx(mean_absolute_error(houses["price"], given))
    assert told["rmse"] == pytest.approx(root_mean_squared_error(houses["price"], given))
    code, out, err = sefr("evaluate", "houses.csv", *PRICE, "--folds", "4")
    assert err.startswith("regression: 'price' has fractions")
    for words in ("R2", "MAE", "RMSE", "linear regression"):
        assert words in out
    (hint,) = [line for line in err.splitlines() if line.startswith("next: ")]
    assert sefr(*hint.split()[2:])[0] == 0


def test_a_model_and_a_test_file(sefr, houses):
    houses[:300].to_csv("train.csv", index=False)
    houses[300:].to_csv("test.csv", index=False)
    code, out, err = sefr("evaluate", "train.csv", *PRICE, "--test", "test.csv", "--json")
    assert code == 0, err
    assert sefr("train", "train.csv", *PRICE)[0] == 0
    _, again, _ = sefr("evaluate", "test.csv", "--model", "model.sefr", "--json")
    expected = load("model.sefr").score(features(houses[300:]), houses["price"][300:])
    assert json.loads(out)["r2"] == pytest.approx(json.loads(again)["r2"]) == pytest.approx(expected)


def test_predictions_with_intervals(sefr, houses):
    sefr("train", "houses.csv", *PRICE)
    code, out, err = sefr("predict", "model.sefr", "houses.csv", "--interval", "0.8", "--keep", "name")
    assert code == 0, err
    answers = pd.read_csv(io.StringIO(out))
    assert answers.columns.tolist() == ["name", "prediction", "low", "high"]
    mean, low, high = load("model.sefr").predict(features(houses), interval=0.8)
    np.testing.assert_allclose(answers[["prediction", "low", "high"]], np.column_stack([mean, low, high]))
    for words in (["--probabilities"], ["--scores"], ["--check"]):
        assert_one_line(*sefr("predict", "model.sefr", "houses.csv", *words), f"{words[0]}")
    sefr("train", "houses.csv", "--label", "town", "--features", "area,age", "-o", "town.sefr")
    assert_one_line(*sefr("predict", "town.sefr", "houses.csv", "--interval", "0.8"), "--probabilities")


def test_explanations_add_up_to_the_prediction(sefr, houses):
    sefr("train", "houses.csv", *PRICE, "--exact")
    code, out, err = sefr("explain", "model.sefr")
    assert code == 0, err
    assert "standard error" in out
    told = json.loads(sefr("explain", "model.sefr", "--rows", "houses.csv", "--json")[1])
    shares = {one["feature"]: one["share"] for one in told["importances"]}
    assert max(shares, key=shares.get) == "area"
    assert sum(shares.values()) == pytest.approx(1)
    first = told["records"][1]
    assert first["answer"] == pytest.approx(told["mean"] + sum(part["part"] for part in first["parts"]))
    assert first["truth"] == houses["price"][1]
    assert sefr("explain", "model.sefr", "--rows", "houses.csv")[0] == 0
    sefr("train", "houses.csv", *PRICE)
    told = json.loads(sefr("explain", "model.sefr", "--json")[1])
    assert told["importances"][0]["feature"] == "area"
    assert sefr("explain", "model.sefr", "-o", "x.html")[0] == 0
    assert "It predicts <b>price</b>" in Path("x.html").read_text()


def test_a_query_predicts_the_same_numbers(sefr, houses):
    duckdb = pytest.importorskip("duckdb")
    for words in ([], ["--exact"]):
        sefr("train", "houses.csv", *PRICE, *words)
        code, query, err = sefr("sql", "--predict", "model.sefr", "--table", "houses", "--dialect", "duckdb")
        assert code == 0, err
        found = duckdb.sql(query).df()["prediction"]
        expected = pd.read_csv(io.StringIO(sefr("predict", "model.sefr", "houses.csv")[1]))["prediction"]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    words = ("sql", "--predict", "model.sefr", "--table", "houses", "--probabilities")
    assert sefr(*words)[0] == 2


def test_commands_that_do_not_take_numbers_say_so(sefr, houses):
    sefr("train", "houses.csv", *PRICE, "--exact")
    before = Path("model.sefr").read_bytes()
    words = ("drift", "model.sefr", "model.sefr")
    assert_one_line(*sefr(*words), "a model that predicts numbers, which this command does not take")
    assert Path("model.sefr").read_bytes() == before


def test_a_model_of_numbers_is_exported_to_a_board(sefr, houses):
    sefr("train", "houses.csv", *PRICE, "--exact")
    assert sefr("export", "model.sefr", "--to", "c", "--unit", "1000")[0] == 0
    assert "#define model_UNIT 1000.0".lower() in Path("model.h").read_text().lower()
    assert_one_line(
        *sefr("export", "model.sefr", "--to", "c", "--unit", "0"), "unit must be a number above 0"
    )


@pytest.mark.parametrize("words", [[], ["--exact"], ["--bins", "8"]], ids=["auto", "exact", "bins"])
def test_a_model_of_numbers_learns_more_and_forgets_exactly(sefr, houses, words):
    houses[:300].to_csv("first.csv", index=False)
    houses[300:].to_csv("rest.csv", index=False)
    sefr("train", "first.csv", *PRICE, *words)

    def predictions():
        return pd.read_csv(io.StringIO(sefr("predict", "model.sefr", "houses.csv")[1]))["prediction"]

    before = predictions()
    code, out, err = sefr("update", "model.sefr", "rest.csv", "--once", "rest")
    assert (code, out) == (0, "model.sefr: learned 100 rows, now 400 rows\n"), err
    grown = predictions()
    assert np.abs(grown - before).max() > 0.1
    assert "nothing changed" in sefr("update", "model.sefr", "rest.csv", "--once", "rest")[1]
    sefr("train", "houses.csv", *PRICE, *words, "-o", "whole.sefr")
    if words == ["--exact"]:
        np.testing.assert_allclose(load("model.sefr").coef_, load("whole.sefr").coef_, rtol=1e-9)
    code, out, err = sefr("forget", "model.sefr", "rest.csv", "--certificate", "gone.json")
    assert (code, out) == (0, "model.sefr: forgot 100 rows, now 300 rows\n"), err
    np.testing.assert_allclose(predictions(), before, rtol=1e-9)
    assert sefr("verify", "gone.json", "model.sefr", "--rows", "rest.csv")[0] == 0
    sefr("update", "model.sefr", "rest.csv")
    np.testing.assert_allclose(predictions(), grown, rtol=1e-9)
    assert_one_line(*sefr("verify", "gone.json", "model.sefr"), "it was changed since")


def test_models_of_numbers_merge(sefr, houses):
    houses[:300].to_csv("first.csv", index=False)
    houses[300:].to_csv("rest.csv", index=False)
    for name in ("first", "rest", "houses"):
        sefr("train", f"{name}.csv", *PRICE, "--exact", "-o", f"{name}.sefr")
    assert sefr("merge", "first.sefr", "rest.sefr", "-o", "both.sefr")[:2] == (0, "both.sefr: 400 rows\n")
    both, whole = (load(f"{name}.sefr") for name in ("both", "houses"))
    np.testing.assert_allclose(both.coef_, whole.coef_, rtol=1e-9)
    houses.assign(price=houses["town"]).to_csv("towns.csv", index=False)
    sefr("train", "towns.csv", *PRICE, "--exact", "-o", "towns.sefr")
    words = ("merge", "first.sefr", "towns.sefr", "-o", "x.sefr")
    assert_one_line(*sefr(*words), "one predicts numbers, the other classes")
    assert not Path("x.sefr").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--paper"], "--paper goes with classes"),
        (["--passes", "3", "--moments", "2"], "--moments 2 is solved from one pass"),
        (["--class-weight", "balanced"], "--class-weight goes with classes"),
        (["--engine", "duckdb", "--task", "regress"], "--task regress goes without"),
    ],
)
@pytest.mark.usefixtures("houses")
def test_what_numbers_do_not_have_is_wrong_usage(sefr, words, message):
    for command in ("train", "evaluate") if "--engine" not in words else ("train",):
        code, _, err = sefr(command, "houses.csv", *PRICE, *words)
        assert code == 2
        assert message in re.sub(r"[\s│]+", " ", err)
    assert not Path("model.sefr").exists()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--passes", "3"], "3 passes"),
        (["--moments", "1"], "first moments"),
        (["--moments", "1", "--bins", "8"], "8 bins, first moments"),
        (["--passes", "3", "--bins", "8"], "8 bins, 3 passes"),
    ],
)
@pytest.mark.usefixtures("houses")
def test_first_moments_and_passes_of_numbers_are_trained_evaluated_and_explained(sefr, words, name):
    code, out, err = sefr("train", "houses.csv", *PRICE, *words)
    assert code == 0, err
    assert "area" in out
    reg = load("model.sefr")
    assert (reg.moments, reg.passes) == (1, 3 if "--passes" in words else 1)
    code, out, err = sefr("evaluate", "houses.csv", *PRICE, *words)
    assert code == 0, err
    assert f"{name}: R2 0." in out
    told = json.loads(sefr("explain", "model.sefr", "--json")[1])
    assert (told["noise"] is None) == ("--passes" not in words)
    assert told["importances"][0].keys() == {"feature", "share"} | ({"weight"} if len(words) == 2 else set())


def test_bad_numbers_name_their_line_and_write_nothing(sefr, houses):
    for value, message in (("inf", "line 7: column 'price' is infinite"), ("", "line 7: there is no number")):
        text = houses.assign(price=houses["price"].astype(str))
        text.loc[5, "price"] = value
        text.to_csv("bad.csv", index=False)
        words = ("train", "bad.csv", *PRICE, "--strict", "--features", "age", "--missing", "ignore")
        assert_one_line(*sefr(*words), message)
    houses.assign(price=1.5).to_csv("same.csv", index=False)
    assert_one_line(*sefr("train", "same.csv", *PRICE), "every one in column 'price' is 1.5")
    assert not Path("model.sefr").exists()
    text.to_csv("gap.csv", index=False)  # without --strict rows without a number are left out
    code, _, err = sefr("train", "gap.csv", *PRICE)
    assert code == 0, err
    assert load("model.sefr").summary_.n_rows == 399


def test_a_model_made_in_python_is_read(sefr, houses):
    save(SEFRRegressor().fit(houses[["age"]], houses["price"]), "own.sefr")
    code, out, err = sefr("predict", "own.sefr", "houses.csv")
    assert code == 0, err
    assert len(out.splitlines()) == 401
    code, _, err = sefr("evaluate", "houses.csv", "--model", "own.sefr", *PRICE)
    assert code == 0, err
    code, _, err = sefr("evaluate", "houses.csv", "--model", "own.sefr")
    assert (code, err.splitlines()[-1]) == (1, "sefr: which column is the label? (--label)")
    save(SEFRRegressor().fit(houses[["age"]], houses[["price", "age"]]), "two.sefr")
    assert_one_line(*sefr("predict", "two.sefr", "houses.csv"), "several numbers per row")
