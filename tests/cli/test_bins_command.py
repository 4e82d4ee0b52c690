"""Bins and interactions from the command, from files to answers and explanations."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sefr import SEFRClassifier, load
from sefr.onnx_model import to_onnx

CUT = ("--bins", "16", "--interactions", "12")


@pytest.fixture
def crossed(rng):
    """Write rows that no sum over single features tells apart."""
    X = rng.normal(size=(900, 3)).round(3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), "odd", "even")
    frame[:600].to_csv("train.csv", index=False)
    frame[600:].to_csv("test.csv", index=False)
    return frame


@pytest.mark.parametrize("passes", [1, 4])
def test_train_writes_the_model_that_fit_learns(sefr, crossed, passes):
    code, out, _ = sefr("train", "train.csv", "--label", "kind", *CUT, "--passes", passes, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["settings"]["interactions"] == 12
    clf, rows = load("model.sefr"), crossed[["a", "b", "c"]]
    fitted = SEFRClassifier(bins=16, interactions=12, passes=passes).fit(rows[:600], crossed["kind"][:600])
    assert clf.interactions_ == fitted.interactions_
    assert clf.summary_ == fitted.summary_
    code, out, _ = sefr("predict", "model.sefr", "test.csv", "--output", "answers.csv")
    assert code == 0
    answers = pd.read_csv("answers.csv").iloc[:, 0]
    assert (answers.to_numpy() == crossed["kind"][600:].to_numpy()).mean() > 0.9


def test_evaluate_shows_them_beside_the_number_of_passes(sefr, crossed):
    code, out, _ = sefr(
        "evaluate", "train.csv", "--label", "kind", *CUT, "--passes", "1,3", "--folds", "3", "--json"
    )
    assert code == 0
    found = json.loads(out)["settings"]
    assert [row["params"]["interactions"] for row in found if row["params"]] == [12, 12]
    assert min(row["macro_f1"] for row in found if row["params"]) > 0.85
    code, out, _ = sefr("evaluate", "train.csv", "--label", "kind", *CUT, "--test", "test.csv", "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] > 0.85
    code, out, _ = sefr(
        "evaluate", "train.csv", "--label", "kind", "--bins", "16", "--test", "test.csv", "--json"
    )
    assert json.loads(out)["accuracy"] < 0.65


def test_explain_names_the_features_that_act_together(sefr, crossed):
    sefr("train", "train.csv", "--label", "kind", *CUT, "--passes", "5")
    code, out, _ = sefr("explain", "model.sefr")
    assert code == 0
    assert "a × b" in out
    code, out, _ = sefr("explain", "model.sefr", "--rows", "test.csv", "-o", "report.html", "--json")
    told = json.loads(out)
    assert code == 0
    clf = load("model.sefr")
    names = {"a", "b", "c", "a × b", "a × c", "b × c", "a × b × c"}
    strongest = told["strongest"][0]["features"]
    assert {item["feature"] for item in strongest} <= names
    assert "×" in strongest[0]["feature"]
    record = told["records"][0]
    assert sum(part["part"] for part in record["parts"]) == pytest.approx(record["score"])
    score = clf.decision_function(crossed[["a", "b", "c"]][600:601])[0]
    assert record["score"] == pytest.approx(score)
    with open("report.html") as file:
        assert "a × b" in file.read()
    code, _, err = sefr("explain", "model.sefr", "--image", "1x3")
    assert code == 1
    assert "does not fit" in err


def test_update_merge_and_forget_are_sums(sefr, crossed):
    sefr("train", "train.csv", "--label", "kind", *CUT)
    before = load("model.sefr").summary_
    assert sefr("update", "model.sefr", "test.csv")[0] == 0
    both = load("model.sefr").summary_
    assert both.n_rows == 900
    assert sefr("forget", "model.sefr", "test.csv")[0] == 0
    assert load("model.sefr").summary_ == before
    sefr("train", "test.csv", "--label", "kind", *CUT, "-o", "other.sefr")
    code, _, err = sefr("merge", "model.sefr", "other.sefr", "-o", "both.sefr")
    assert code == 1
    assert "bins=other.edges_, interactions=other.interactions_" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "train.csv", "--label", "kind", "--interactions", "5"), "--interactions needs --bins"),
        (("evaluate", "train.csv", "--label", "kind", "--interactions", "5"), "--interactions needs --bins"),
        (
            ("train", "train.csv", "--label", "kind", "--bins", "8", "--interactions", "0"),
            "than or equal to 1",
        ),
    ],
)
def test_wrong_usage_is_said(sefr, crossed, arguments, words):
    code, _, err = sefr(*arguments)
    assert code == 2
    assert words in " ".join(err.replace("│", " ").split())


def test_interactions_are_exported_to_boards_and_to_onnx(sefr, crossed):
    sefr("train", "train.csv", "--label", "kind", *CUT)
    code, _, err = sefr("export", "model.sefr", "--to", "c", "-o", "out")
    assert code == 0, err
    (header,) = Path("out").rglob("*.h")
    n = len(load("model.sefr").interactions_)
    assert f"{n} interactions. Each is 6 questions" in header.read_text()
    code, _, err = sefr("export", "model.sefr", "--to", "onnx", "-o", "model.onnx")
    assert code == 0, err
    assert Path("model.onnx").read_bytes() == to_onnx(load("model.sefr"))
