"""Dates become numbers: the same parts at training and at predicting, whatever the format and the order."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sefr import load
from sefr.files import open_dataset

PARTS = ["sold year", "sold month", "sold weekday"]


@pytest.fixture
def shop():
    """Write a table in which the weekday and the month decide."""
    rng = np.random.default_rng(3)
    sold = pd.Series(pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 900, 400), "D"))
    frame = pd.DataFrame({"price": rng.normal(size=400).round(3), "sold": sold})
    late = (sold.dt.day_of_week >= 5) | (sold.dt.month == 12)
    frame["busy"] = np.where(late, "yes", "no")
    return frame


def written(frame, form, name="shop.csv"):
    frame.assign(sold=frame["sold"].dt.strftime(form)).to_csv(name, index=False)


def answers(sefr, *arguments):
    code, out, err = sefr("predict", "model.sefr", *arguments)
    assert code == 0, err
    return [row["prediction"] for row in csv.DictReader(io.StringIO(out))]


def numbers_of(path, dates):
    table = open_dataset([path], dates=dates)
    rows = pd.concat([b.rows.to_pandas() for b in table.batches(dict.fromkeys(PARTS, "number"))])
    return rows.to_numpy()


@pytest.mark.parametrize(
    ("form", "order"),
    [("%Y-%m-%d", "ymd"), ("%d.%m.%Y", "dmy"), ("%d.%m.%y", "dmy"), ("%m/%d/%Y", "mdy"), ("%d/%m/%Y", "dmy")],
)
def test_a_date_is_learned_by_its_parts(sefr, shop, form, order):
    written(shop, form)
    code, _out, err = sefr("train", "shop.csv", "--label", "busy")
    assert code == 0, err
    assert "1 date learned as year, month and weekday: sold\n" in err
    clf = load("model.sefr")
    assert list(clf.summary_.feature_names) == ["price", *PARTS]
    when = shop["sold"].dt
    expected = np.column_stack([when.year, when.month, when.day_of_week + 1])
    np.testing.assert_array_equal(numbers_of("shop.csv", {"sold": order}), expected)
    right = np.mean(np.array(answers(sefr, "shop.csv")) == shop["busy"])
    assert right > 0.95, right


def test_other_rows_are_read_as_those_of_training(sefr, shop):
    """Of a few rows alone nobody could tell day and month apart; the model can."""
    written(shop, "%d/%m/%Y")
    assert sefr("train", "shop.csv", "--label", "busy")[0] == 0
    every = answers(sefr, "shop.csv")
    few = shop[shop["sold"].dt.day <= 12]
    written(few, "%d/%m/%Y", "few.csv")
    assert answers(sefr, "few.csv") == [every[i] for i in few.index]
    code, out, err = sefr("predict", "model.sefr", "few.csv", "--keep", "sold")
    assert code == 0, err
    assert [row["sold"] for row in csv.DictReader(io.StringIO(out))] == list(
        few["sold"].dt.strftime("%d/%m/%Y")
    )


def test_answers_have_quotes_only_if_they_need_them(sefr):
    Path("t.csv").write_text(
        "x,note,y\n" + "".join(f'{i},"a, ""b"" {i % 3}",{"ab"[i % 2]}\n' for i in range(60))
    )
    assert sefr("train", "t.csv", "--label", "y", "--paper", "--features", "x")[0] == 0
    Path("one.csv").write_text('x,note\n1,"a, ""b"""\n2,plain\n3,\n')
    _code, out, _err = sefr("predict", "model.sefr", "one.csv", "--keep", "x,note")
    assert out.splitlines() == ["x,note,prediction", '1,"a, ""b""",a', "2,plain,a", "3,,a"]


def test_dates_of_parquet_give_the_same_model(sefr, shop):
    written(shop, "%Y-%m-%d")
    assert sefr("train", "shop.csv", "--label", "busy", "-o", "text.sefr")[0] == 0
    shop.assign(sold=shop["sold"].dt.date).to_parquet("shop.parquet")
    code, _out, err = sefr("train", "shop.parquet", "--label", "busy")
    assert code == 0, err
    assert "1 date learned as year, month and weekday: sold" in err
    assert load("model.sefr").summary_ == load("text.sefr").summary_
    assert answers(sefr, "shop.parquet")


def test_times_give_the_hour(sefr, shop):
    written(shop.assign(sold=shop["sold"] + pd.to_timedelta(np.arange(400) % 24, "h")), "%Y-%m-%d %H:%M")
    code, _out, err = sefr("train", "shop.csv", "--label", "busy", "--exact")
    assert code == 0, err
    assert "1 date learned as year, month, weekday and hour: sold" in err
    clf = load("model.sefr")
    at = list(clf.summary_.feature_names).index("sold hour")
    assert (clf.summary_.low[at], clf.summary_.high[at]) == (0, 23)


def test_every_command_that_reads_rows_for_a_model_knows_its_dates(sefr, shop):
    written(shop, "%d.%m.%Y")
    assert sefr("train", "shop.csv", "--label", "busy", "--exact")[0] == 0
    for command in (
        ["update", "model.sefr", "shop.csv"],
        ["forget", "model.sefr", "shop.csv"],
        ["evaluate", "shop.csv", "--model", "model.sefr"],
        ["evaluate", "shop.csv", "--label", "busy", "--folds", "3"],
        ["evaluate", "shop.csv", "--label", "busy", "--test", "shop.csv"],
        ["explain", "model.sefr", "--rows", "shop.csv", "--json"],
    ):
        code, out, err = sefr(*command)
        assert code == 0, (command, err)
    parts = json.loads(out)["records"][0]["parts"]
    assert {part["name"] for part in parts} == {"price", *PARTS}


def test_what_is_asked_of_a_date_is_done(sefr, shop):
    written(shop, "%Y-%m-%d")
    assert sefr("train", "shop.csv", "--label", "busy", "--features", "sold", "--exact")[0] == 0
    assert list(load("model.sefr").summary_.feature_names) == PARTS
    for option in (["--drop", "sold"], ["--drop-text"]):
        assert sefr("train", "shop.csv", "--label", "busy", *option, "--exact")[0] == 0
        assert list(load("model.sefr").summary_.feature_names) == ["price"]
    code, _out, err = sefr("train", "shop.csv", "--label", "busy", "--strict")
    assert (code, "column 'sold'" in err) == (1, True)


def test_a_model_says_which_date_is_missing(sefr, shop):
    written(shop, "%Y-%m-%d")
    assert sefr("train", "shop.csv", "--label", "busy", "--exact")[0] == 0
    shop[["price"]].to_csv("no.csv", index=False)
    code, _out, err = sefr("predict", "model.sefr", "no.csv")
    assert (code, err.strip()) == (1, "sefr: no.csv: column 'sold' is missing; the model needs it")
    # a date that is none is a missing value
    Path("bad.csv").write_text("price,sold\n1,2024-02-30\n")
    code, _out, err = sefr("predict", "model.sefr", "bad.csv")
    assert (code, "bad.csv, line 2: the value of column 'sold year' is missing" in err) == (1, True)


def test_strict_training_says_all_that_is_wrong_at_once(sefr, shop):
    written(shop.assign(colour="red"), "%d.%m.%Y")
    text = Path("shop.csv").read_text().splitlines()
    text[3] = "," + text[3].split(",", 1)[1]
    Path("shop.csv").write_text("\n".join(text) + "\n")
    code, _out, err = sefr("train", "shop.csv", "--label", "busy", "--strict")
    assert code == 1
    assert "columns 'sold', 'colour'" in err
    assert "1 empty cell: price (1): --missing ignore leaves them out" in err
    code, _out, err = sefr("train", "shop.csv", "--label", "busy", "--strict", "--missing", "ignore")
    assert (code, "empty" in err) == (1, False)
