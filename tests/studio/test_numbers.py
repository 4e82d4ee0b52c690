"""A label that is a quantity: the page predicts a number, as SEFRRegressor does from the same file."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from steps import give, saved

from sefr import SEFRRegressor, load


@pytest.fixture
def houses(tmp_path, rng):
    """Write prices far from zero, with a curve, categories, empty cells and two rows without a price."""
    n = 400
    size = rng.uniform(30, 200, n).round(1)
    age = rng.integers(0, 90, n).astype(float)
    place = rng.choice(["Bonn", "Köln", "Trier"], n)
    price = 1e6 + 2500 * size - 40 * (age - 40) ** 2 + 3e4 * (place == "Köln") + rng.normal(0, 9000, n)
    age[rng.random(n) < 0.1] = np.nan
    price[[5, 50]] = np.nan
    frame = pd.DataFrame({"nr": np.arange(n), "size": size, "age": age, "place": place, "price": price})
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path, frame


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_a_quantity_is_predicted_as_a_number(open_page, houses, tmp_path):
    path, frame = houses
    page = open_page()
    assert give(page, path) is None
    page.select_option("#label", "price")
    page.wait_for_selector("#figure-r2")
    page.wait_for_selector("#save-model")
    assert re.match(r"'price' has fractions, for example \d+", page.inner_text("#quantity"))
    assert float(page.inner_text("#figure-r2")) > 0.95
    assert "2 rows without a label left out" in page.inner_text("#decided")
    assert page.locator("#board").is_hidden()
    assert page.locator("#curves figure").count() == 3
    content = saved(page, "save-model")[1]
    file = tmp_path / "page.sefr"
    file.write_bytes(content)
    reg = load(file)
    assert isinstance(reg, SEFRRegressor)
    rows = frame[frame["price"].notna()]
    hot = pd.concat(
        [
            rows[["size", "age"]],
            *((rows["place"] == place).rename(f"place={place}") for place in ("Bonn", "Köln", "Trier")),
        ],
        axis=1,
    ).astype(float)
    own = SEFRRegressor(auto=True, missing="ignore").fit(hot, rows["price"])
    assert_same_numbers(reg, own, hot)
    ours = own.predict(hot)
    assert json.loads(content)["columns"]["left_out"] == {"nr": "a number per row"}
    # what the page itself predicts for its first row, in four digits
    said = page.inner_text("#what-if-answer")
    line, predicted = (
        int(re.search(r"line (\d+)", said)[1]),
        float(re.search(r"predicted (\S+?),", said)[1]),
    )
    assert predicted == pytest.approx(ours[rows.index.get_loc(line - 2)], rel=5e-3)
    parts = [
        float(text.replace("−", "-").replace("+", ""))
        for text in page.locator("#contributions .number").all_inner_texts()
    ]
    assert own.base_ + sum(parts) == pytest.approx(predicted, rel=5e-3)


def test_dates_are_learned_by_their_parts(open_page, tmp_path, rng):
    n = 400
    sold = pd.Series(pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"))
    price = 500 + 90 * sold.dt.month + 40 * (sold.dt.day_of_week > 4) + rng.normal(0, 3, n)
    path = tmp_path / "sales.csv"
    frame = pd.DataFrame({"sold": sold.dt.strftime("%d/%m/%Y"), "x": rng.normal(size=n), "price": price})
    frame.to_csv(path, index=False)
    page = open_page()
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    assert "1 date learned as year, month and weekday: sold" in page.inner_text("#decided")
    file = tmp_path / "page.sefr"
    file.write_bytes(saved(page, "save-model")[1])
    words = [sys.executable, "-m", "sefr.cli", "predict", str(file), str(path)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    theirs = pd.read_csv(io.StringIO(done.stdout))["prediction"]
    parts = pd.DataFrame(
        {
            "x": frame["x"],
            "sold year": sold.dt.year,
            "sold month": sold.dt.month,
            "sold weekday": sold.dt.day_of_week + 1,
        }
    ).astype(float)
    ours = SEFRRegressor(auto=True).fit(parts, price).predict(parts)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9 * np.ptp(ours))


@pytest.mark.parametrize("rows", [300, 9000])
@pytest.mark.parametrize("gaps", [False, True])
def test_auto_is_that_of_python(open_page, tmp_path, rng, rows, gaps):
    """What several columns say together; more rows than edges and interactions are learned from."""
    X = pd.DataFrame(rng.normal(size=(rows, 5)).round(3), columns=list("abcde"))
    X["e"] = rng.integers(0, 3, rows)
    y = 5000 + X.a * X.b + 2 * (X.c > 0) * (X.e > 1) + X.d**2 + rng.normal(0, 0.3, rows)
    if gaps:
        X = X.mask(rng.random(X.shape) < 0.1)
    path = tmp_path / "t.csv"
    X.assign(y=y).to_csv(path, index=False)
    page = open_page(words="#label=y")
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    own = SEFRRegressor(auto=True, missing="ignore" if gaps else "error").fit(X, y)
    assert_same_numbers(number_model(page, tmp_path), own, X)
    assert f"{len(own.interactions_)} interactions" in page.inner_text("#chosen")
    page.select_option("#method", "exact")
    page.wait_for_selector("#compared", state="detached")
    page.wait_for_selector("#save-model")
    curves = SEFRRegressor(bins=32, missing="ignore" if gaps else "error")
    found = number_model(page, tmp_path)
    assert found.get_params() == curves.get_params()


def number_model(page, folder):
    """Return the model that the page offers."""
    file = folder / "page.sefr"
    file.write_bytes(saved(page, "save-model")[1])
    return load(file)


def assert_same_numbers(found, own, X):
    """Compare the cells, the interactions and the predictions of a model of the page with Python's."""
    assert found.get_params() == own.get_params()
    assert found.interactions_ == own.interactions_
    for theirs, ours in zip(found.edges_, own.edges_, strict=True):
        np.testing.assert_array_equal(theirs, ours)
    ours = own.predict(X)
    np.testing.assert_allclose(found.predict(X), ours, rtol=0, atol=1e-9 * np.ptp(ours))


def test_r2_is_that_of_folds_of_the_package(open_page, houses):
    path, frame = houses
    frame = frame[frame["price"].notna()][["size", "age", "price"]].reset_index(drop=True).fillna({"age": 40})
    frame.to_csv(path, index=False)
    page = open_page()
    assert give(page, path) is None
    page.select_option("#label", "price")
    page.wait_for_selector("#figure-r2")
    X, y = frame[["size", "age"]], frame["price"]
    shown = [float(text) for text in page.locator("#compared td:nth-child(2)").all_inner_texts()]
    for found, how in zip(shown, ({"bins": 32}, {"auto": True}), strict=True):
        given = np.empty(len(frame))
        for fold in range(10):
            out = np.arange(len(frame)) % 10 == fold
            given[out] = SEFRRegressor(**how).fit(X[~out], y[~out]).predict(X[out])
        expected = 1 - ((y - given) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        assert found == pytest.approx(expected, abs=6e-4)
    assert float(page.inner_text("#figure-r2")) == shown[1]


def test_a_slider_and_a_menu_move_the_prediction(open_page, houses):
    page = open_page()
    assert give(page, houses[0]) is None
    page.select_option("#label", "price")
    page.wait_for_selector("#figure-r2")  # until then the sliders are those of the column guessed before
    before = page.inner_text("#what-if-answer strong")
    page.locator("#what-if .slider input").first.focus()
    for _ in range(10):
        page.keyboard.press("PageUp")
    higher = page.inner_text("#what-if-answer strong")
    assert float(higher) > float(before)
    menu = page.locator("#what-if .slider select")
    menu.select_option(label="Köln")
    cologne = float(page.inner_text("#what-if-answer strong"))
    menu.select_option(label="Bonn")
    assert cologne > float(page.inner_text("#what-if-answer strong"))


def test_hundreds_of_numbers_are_no_classes(open_page, houses):
    path, frame = houses
    frame["price"] = (frame["price"] // 1000).astype("Int64")
    frame.to_csv(path, index=False)
    page = open_page()
    assert give(page, path) is None
    page.select_option("#label", "price")
    page.wait_for_selector("#figure-r2")
    assert "more than 30 different numbers" in page.inner_text("#quantity")
    page.select_option("#task", "classes")
    refusal = page.wait_for_selector("#data .refusal").inner_text()
    assert "predicts it badly; predict it as a number" in refusal
    assert page.locator("#board").is_hidden()
    assert page.locator("#train").is_hidden()
    page.select_option("#task", "number")
    page.wait_for_selector("#figure-r2")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["1.5"] * 40, "column 'y' is 1.5 in every row: two different numbers are needed"),
        (["0.5", "inf"] * 20, "line 3: the value of column 'y' is infinite"),
    ],
)
def test_a_quantity_that_cannot_be_learned_is_refused(open_page, tmp_path, values, said):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i % 7},{value}\n" for i, value in enumerate(values))
    path.write_text("a,y\n" + rows)
    assert said in give(open_page(), path)
