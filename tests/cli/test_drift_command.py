"""sefr drift and sefr predict --check."""

import json
from pathlib import Path

import numpy as np
from cli.driver import assert_one_line

from sefr import SEFRClassifier, save


def trained(sefr, frame, name):
    frame.to_csv(f"{name}.csv", index=False)
    code, _, err = sefr(
        "train", f"{name}.csv", "-l", "species", "--missing", "ignore", "--paper", "-o", f"{name}.sefr", "-q"
    )
    assert code == 0, err


def test_drift_by_exit_code_screen_json_and_page(sefr, iris):
    trained(sefr, iris.iloc[::2], "last")
    trained(sefr, iris.iloc[1::2], "this")
    code, out, err = sefr("drift", "last.sefr", "this.sefr")
    assert (code, err) == (0, "")
    assert "no drift from last.sefr to this.sefr (75 to 75 rows)" in out
    inches = iris.iloc[1::2].assign(sepal_width=lambda frame: frame.sepal_width * 2.54)
    trained(sefr, inches, "inches")
    code, out, err = sefr("drift", "last.sefr", "inches.sefr", "-o", "drift.html")
    assert code == 3, err
    assert "the mean of 'sepal_width' moved by" in out
    page = Path("drift.html").read_text()
    assert "What has changed since last.sefr" in page
    assert "sepal_width" in page
    code, out, _ = sefr("drift", "last.sefr", "inches.sefr", "--json")
    answer = json.loads(out)
    assert code == 3
    assert answer["drifted"] is True
    assert [item["feature"] for item in answer["features"] if item["drifted"]] == ["sepal_width"]
    assert sefr("drift", "last.sefr", "inches.sefr", "--quiet") == (3, "", "")
    assert sefr("drift", "last.sefr", "inches.sefr", "--mean", "9", "--quiet") == (0, "", "")


def test_drift_of_bins_has_psi_and_ks(sefr, iris):
    X, y = iris.drop(columns="species"), iris["species"]
    last = SEFRClassifier(bins=6).fit(X.iloc[::2], y.iloc[::2])
    save(last, "last.sefr")
    for name, rows in (
        ("this", X.iloc[1::2]),
        ("inches", X.iloc[1::2].assign(petal_width=X["petal_width"] / 2)),
    ):
        save(SEFRClassifier(bins=last.edges_).fit(rows, y.iloc[1::2]), f"{name}.sefr")
    code, out, err = sefr("drift", "last.sefr", "this.sefr")
    assert (code, err) == (0, "")
    assert "PSI" in out
    code, out, err = sefr("drift", "last.sefr", "inches.sefr", "-o", "drift.html")
    assert code == 3, err
    assert "'petal_width' is distributed otherwise over its bins: PSI" in out
    page = Path("drift.html").read_text()
    assert "population stability index" in page
    assert "mean moved" not in page
    assert sefr("drift", "last.sefr", "inches.sefr", "--psi", "99", "--ks", "1", "--quiet") == (0, "", "")
    answer = json.loads(sefr("drift", "last.sefr", "inches.sefr", "--json")[1])
    assert {item["feature"] for item in answer["features"] if item["drifted"]} == {"petal_width"}
    assert all(item["ks"] <= 1 for item in answer["features"])


def test_drift_of_other_features_is_one_line(sefr, iris):
    trained(sefr, iris, "last")
    trained(sefr, iris.drop(columns="sepal_width"), "fewer")
    assert_one_line(*sefr("drift", "last.sefr", "fewer.sefr"), "cannot compare Summaries of 4 and 3 features")
    assert not Path("x.html").exists()
    assert sefr("drift", "last.sefr", "last.sefr", "-o", "x.png")[0] == 2


def test_a_page_has_no_markup_of_others(sefr, iris):
    bad = "<img src=x onerror=alert(1)>"
    trained(sefr, iris.rename(columns={"sepal_width": bad}), "last")
    trained(sefr, iris.rename(columns={"sepal_width": bad}).assign(**{bad: 1000.0}), "this")
    assert sefr("drift", "last.sefr", "this.sefr", "-o", "x.html", "-q")[0] == 3
    assert bad not in Path("x.html").read_text()


def test_predict_warns_where_rows_leave_what_was_learned(sefr, iris):
    trained(sefr, iris, "last")
    new = iris.drop(columns="species")
    new.iloc[::3].to_csv("same.csv", index=False)
    assert sefr("predict", "last.sefr", "same.csv", "--check", "-o", "out.csv")[2] == "out.csv: 50 rows\n"
    new.assign(petal_width=np.where(np.arange(150) % 3, new.petal_width, np.nan)).to_csv(
        "gaps.csv", index=False
    )
    code, _, err = sefr("predict", "last.sefr", "gaps.csv", "--check", "-o", "out.csv")
    assert code == 0
    assert "warning: 'petal_width': 0.0% of the values were missing, now 33.3%" in err
    assert "warning" not in sefr("predict", "last.sefr", "gaps.csv", "-o", "out.csv")[2]
